/* Rows in the file's layout as float32: small blocks with values worked out by hand, and every
 * tensor of the reference files by its SHA-256. */
#include "kernels_test.h"
#include <strings.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "loader/gguf.h"

static void dequantize(weft_dtype dtype, const uint8_t *row, size_t n_cols, float *out) {
    assert_true(weft_dequantize_row(dtype, row, n_cols, out));
}

/* f16 0x3800 is 0.5, 0x3c00 is 1, 0x4000 is 2, 0xc000 is -2. */
static void test_32_column_types(void **state) {
    (void)state;
    float y[32];
    /* Low nibbles are columns 0 … 15, high ones 16 … 31. */
    uint8_t q4_0[18] = {0x00, 0x38, 0x0f, 0x80};
    dequantize(WEFT_Q4_0, q4_0, 32, y);
    assert_true(y[0] == 0.5f * (15 - 8) && y[16] == 0.5f * (0 - 8));
    assert_true(y[1] == 0.5f * (0 - 8) && y[17] == 0.5f * (8 - 8));

    uint8_t q4_1[20] = {0x00, 0x38, 0x00, 0xc0, 0x3f};
    dequantize(WEFT_Q4_1, q4_1, 32, y);
    assert_true(y[0] == 0.5f * 15 - 2 && y[16] == 0.5f * 3 - 2 && y[31] == -2);

    /* Bit i of the four bytes is the 5th bit of column i. */
    uint8_t q5_0[22] = {0x00, 0x38, 0x01, 0x00, 0x02, 0x80, 0x0f, 0x30};
    dequantize(WEFT_Q5_0, q5_0, 32, y);
    assert_true(y[0] == 0.5f * (31 - 16) && y[1] == 0.5f * (0 - 16));
    assert_true(y[16] == 0.5f * (0 - 16) && y[17] == 0.5f * (19 - 16));
    assert_true(y[31] == 0);

    uint8_t q5_1[24] = {0x00, 0x38, 0x00, 0xc0, 0x01, 0x00, 0x02, 0x80, 0x0f, 0x30};
    dequantize(WEFT_Q5_1, q5_1, 32, y);
    assert_true(y[0] == 0.5f * 31 - 2 && y[17] == 0.5f * 19 - 2 && y[31] == 0.5f * 16 - 2);

    uint8_t q8_0[34] = {0x00, 0x38, 0x7f, 0x80, 0xff};
    dequantize(WEFT_Q8_0, q8_0, 32, y);
    assert_true(y[0] == 63.5f && y[1] == -64 && y[2] == -0.5f && y[3] == 0);

    uint8_t iq4_nl[18] = {0x00, 0x38, 0xf0};
    dequantize(WEFT_IQ4_NL, iq4_nl, 32, y);
    assert_true(y[0] == -63.5f && y[16] == 56.5f);

    /* An exponent of 128 is a scale of 2; e2m1 code 7 is 6, code 9 is -0.5. */
    uint8_t mxfp4[17] = {128, 0x97};
    dequantize(WEFT_MXFP4, mxfp4, 32, y);
    assert_true(y[0] == 12 && y[16] == -1);
}

static void test_256_column_types(void **state) {
    (void)state;
    float y[256];
    /* d 1, dmin 2; sub-block 0: scale 3, minimum 1; sub-block 5: scale 4 bits from byte 9 and 2
     * from byte 1: 5 + 16, minimum 2 + 32. */
    uint8_t q4_k[144] = {0x00, 0x3c, 0x00, 0x40};
    q4_k[4 + 0] = 3;
    q4_k[4 + 4] = 1;
    q4_k[4 + 9] = 0x25;
    q4_k[4 + 1] = 0x40;
    q4_k[4 + 5] = 0x80;
    q4_k[16] = 0x0e;          /* column 0 */
    q4_k[16 + 2 * 32] = 0x70; /* column 5 * 32 */
    dequantize(WEFT_Q4_K, q4_k, 256, y);
    assert_true(y[0] == 3 * 14 - 2 && y[1] == -2);
    assert_true(y[160] == 21 * 7 - 2 * 34 && y[161] == -2 * 34 && y[255] == 0);

    uint8_t q5_k[176] = {0x00, 0x3c, 0x00, 0x40};
    memcpy(q5_k + 4, q4_k + 4, 12);
    q5_k[16] = 0x01 | 0x20; /* 5th bits of columns 0 and 160 */
    q5_k[48] = 0x0e;
    q5_k[48 + 2 * 32] = 0x70;
    dequantize(WEFT_Q5_K, q5_k, 256, y);
    assert_true(y[0] == 3 * 30 - 2 && y[1] == -2 && y[160] == 21 * 23 - 2 * 34);

    uint8_t q6_k[210] = {0};
    q6_k[0] = 0x5f;              /* columns 0 and 64 */
    q6_k[128] = 0x02 | 0x30;     /* their high bits: 2 and 3 */
    q6_k[192 + 0] = 3;           /* scale of columns 0 … 15 */
    q6_k[192 + 4] = (uint8_t)-2; /* of columns 64 … 79 */
    q6_k[209] = 0x3c;
    dequantize(WEFT_Q6_K, q6_k, 256, y);
    assert_true(y[0] == 3 * (0x2f - 32) && y[64] == -2 * (0x35 - 32) && y[1] == 3 * -32);
}

/* Types of two and three bits, and ternary ones. */
static void test_small_types(void **state) {
    (void)state;
    float y[256];
    /* Columns 16 … 31 have scale 3 and minimum 5, d is 1 and dmin 2; column 33 is bits 2 and 3. */
    uint8_t q2_k[84] = {0};
    q2_k[1] = 0x53;
    q2_k[2] = 0x01;
    q2_k[16 + 16] = 0x02; /* column 16 */
    q2_k[16 + 1] = 0x0c;  /* column 33 */
    q2_k[81] = 0x3c;
    q2_k[83] = 0x40;
    dequantize(WEFT_Q2_K, q2_k, 256, y);
    assert_true(y[0] == 0 && y[16] == 3 * 2 - 2 * 5 && y[17] == -10 && y[33] == 3 && y[34] == 0);

    /* Sub-scale 9 (columns 144 … 159): the high nibble of byte 1, bits 4 and 5 of byte 9. A mask of
     * 0 takes 4. */
    uint8_t q3_k[110] = {0};
    q3_k[96 + 1] = 0x70;
    q3_k[96 + 9] = 0x30;
    q3_k[109] = 0x3c;
    q3_k[16] = 0x10;      /* mask of column 144: row 16, bit 4 */
    q3_k[32 + 48] = 0x02; /* its quant */
    dequantize(WEFT_Q3_K, q3_k, 256, y);
    assert_true(y[144] == (0x37 - 32) * 2 && y[145] == (0x37 - 32) * -4 && y[0] == -32 * -4);

    /* 0xff is 0.99609 = 0.22222…₃: five digits 2, which stand for 1; 0x00 is all -1. */
    uint8_t tq1_0[54] = {0xff, 0x80};
    tq1_0[53] = 0x40;
    dequantize(WEFT_TQ1_0, tq1_0, 256, y);
    assert_true(y[0] == 2 && y[32] == 2 && y[128] == 2 && y[2] == -2 && y[255] == -2);
    assert_true(y[1] == 0 && y[33] == 0); /* 0.5 is 0.1111…₃ */

    uint8_t tq2_0[66] = {0x02, 0xc0};
    tq2_0[65] = 0x3c;
    dequantize(WEFT_TQ2_0, tq2_0, 256, y);
    assert_true(y[0] == 1 && y[32] == -1 && y[97] == 2);
}

/* Entries of codebooks, with their signs, and the types with scales of 16 columns. */
static void test_codebook_types(void **state) {
    (void)state;
    float y[256];
    /* Entry 0 is eight times 8; signs 0b0000001 and the parity make columns 0 and 7 negative. */
    uint8_t iq2_xxs[66] = {0x00, 0x3c};
    iq2_xxs[6] = 0x01;
    iq2_xxs[9] = 0x20; /* scale 2 of 16 */
    dequantize(WEFT_IQ2_XXS, iq2_xxs, 256, y);
    assert_true(y[0] == -2.5f / 4 * 8 && y[1] == 5 && y[7] == -5 && y[8] == 5 && y[32] == 1);

    /* Scale nibbles 1 and 3 of the halves. */
    uint8_t iq2_s[82] = {0x00, 0x3c};
    iq2_s[34] = 0x02;
    iq2_s[74] = 0x31;
    dequantize(WEFT_IQ2_S, iq2_s, 256, y);
    assert_true(y[0] == 1.5f / 4 * 8 && y[1] == -3 && y[16] == 3.5f / 4 * 8);

    /* Entry 0 of IQ3_XXS is four times 4, of IQ3_S four times 1. */
    uint8_t iq3_xxs[98] = {0x00, 0x3c};
    iq3_xxs[66 + 3] = 0x10;
    dequantize(WEFT_IQ3_XXS, iq3_xxs, 256, y);
    assert_true(y[0] == 1.5f / 2 * 4 && y[32] == 1);
    uint8_t iq3_s[110] = {0x00, 0x3c};
    iq3_s[74] = 0x10;
    iq3_s[106] = 0x30;
    dequantize(WEFT_IQ3_S, iq3_s, 256, y);
    assert_true(y[0] == 1 && y[4] == -1 && y[32] == 7);

    /* Entry 0 of IQ1 is eight times -1, shifted by an eighth up or down; IQ1_M's f16 in nibbles. */
    uint8_t iq1_s[50] = {0x00, 0x3c};
    iq1_s[35] = 0x90; /* scale 1, shift down */
    dequantize(WEFT_IQ1_S, iq1_s, 256, y);
    assert_true(y[0] == 3 * -1.125f && y[32] == -0.875f);
    uint8_t iq1_m[56] = {0};
    iq1_m[32] = 0x80; /* columns 8 … 15: shift down */
    iq1_m[48] = 0x08; /* columns 16 … 31: scale 1 */
    iq1_m[48 + 5] = 0xc0;
    iq1_m[48 + 7] = 0x30;
    dequantize(WEFT_IQ1_M, iq1_m, 256, y);
    assert_true(y[0] == -0.875f && y[8] == -1.125f && y[16] == 3 * -0.875f);

    /* A scale of 0x38 is 1, 0x7f is 0, 0x01 the least; columns 16 … 23 are low nibbles of byte 8.
     */
    uint8_t nvfp4[36] = {0x38, 0x40, 0x7f, 0x01};
    nvfp4[4] = 0x97;
    nvfp4[4 + 8] = 0x01;
    nvfp4[4 + 16] = 0x77;
    nvfp4[4 + 24] = 0x72;
    dequantize(WEFT_NVFP4, nvfp4, 64, y);
    assert_true(y[0] == 6 && y[8] == -0.5f && y[16] == 1 && y[32] == 0);
    assert_true(y[48] == 0x1p-9f && y[56] == 6 * 0x1p-9f);
}

static void test_floats(void **state) {
    (void)state;
    float y[2];
    uint8_t f16[4] = {0x01, 0x00, 0x00, 0xfc}, bf16[4] = {0x80, 0x3f, 0x00, 0xc0};
    dequantize(WEFT_F16, f16, 2, y);
    assert_true(y[0] == 0x1p-24f && y[1] == -INFINITY);
    dequantize(WEFT_BF16, bf16, 2, y);
    assert_true(y[0] == 1 && y[1] == -2);
    assert_false(weft_dequantize_row(WEFT_Q1_0, f16, 0, y));
    assert_false(weft_dequantize_row(WEFT_I32, f16, 0, y));
}

/* ---- The reference files ---- */

static void *plain_alloc(void *ctx, size_t bytes) {
    (void)ctx;
    return malloc(bytes);
}
static void plain_release(void *ctx, void *memory, size_t bytes) {
    (void)ctx;
    (void)bytes;
    free(memory);
}

static bool dtype_named(const char *name, weft_dtype *out) {
    for (int t = 0; t < WEFT_DTYPE_COUNT; t++)
        if (!strcasecmp(weft_dtype_name((weft_dtype)t), name)) {
            *out = (weft_dtype)t;
            return true;
        }
    return false;
}

/* The digest of a tensor's float32 values; also through panels, where the type has them. */
static void digest(weft_dtype dtype, const uint8_t *data, size_t n_rows, size_t n_cols, bool panels,
                   char hex[65]) {
    size_t line = row_bytes(dtype, n_cols);
    float *row = test_alloc(4 * n_cols);
    uint8_t *panel = test_alloc(panels ? weft_panel_bytes(dtype, n_cols) : 0), sum[32];
    weft_sha256 h;
    weft_sha256_start(&h);
    for (size_t r = 0; r < n_rows; r++) {
        size_t left = n_rows - r / 16 * 16;
        if (panels && r % 16 == 0)
            weft_panel_pack(dtype, data + r * line, left < 16 ? left : 16, n_cols, panel);
        if (panels)
            weft_panel_row(dtype, panel, r % 16, n_cols, row);
        else
            dequantize(dtype, data + r * line, n_cols, row);
        weft_sha256_add(&h, row, 4 * n_cols);
    }
    weft_sha256_finish(&h, sum);
    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    free(row);
    free(panel);
}

/* All tensors of one file whose type is defined here. Returns how many. */
static size_t check_file(const char *path, const weft_json *tensors, bool seen[WEFT_DTYPE_COUNT]) {
    const weft_gguf_allocator plain = {plain_alloc, plain_release, NULL};
    weft_mapping map;
    weft_gguf g;
    weft_gguf_error error;
    size_t checked = 0;
    assert_weft_ok(weft_file_map(path, &map));
    if (weft_gguf_parse(map.data, map.size_bytes, &plain, &g, &error) != WEFT_GGUF_OK)
        fail_msg("%s: %s", path, error.message);
    for (size_t i = 0; i < g.n_tensors; i++) {
        const weft_gguf_tensor *t = &g.tensors[i];
        char name[WEFT_GGUF_MAX_NAME + 1] = {0}, hex[65];
        memcpy(name, t->name.text, t->name.n_bytes);
        size_t n_digits;
        const char *want =
            weft_json_string(weft_json_get(weft_json_get(tensors, name), "sha256"), &n_digits);
        weft_dtype dtype;
        float none;
        if (!want || !dtype_named(weft_gguf_tensor_type(t->type)->name, &dtype) ||
            !weft_dequantize_row(dtype, map.data, 0, &none))
            continue;
        size_t n_cols = t->dims[0], n_rows = t->n_elements / n_cols;
        for (int panels = 0; panels <= (int)weft_panel_supported(dtype); panels++) {
            digest(dtype, map.data + t->offset, n_rows, n_cols, panels, hex);
            if (strcmp(hex, want))
                fail_msg("%s: %s (%s)%s has another digest", path, name, weft_dtype_name(dtype),
                         panels ? " through panels" : "");
        }
        seen[dtype] = true;
        checked++;
    }
    weft_gguf_free(&g);
    weft_file_unmap(&map);
    return checked;
}

static void test_reference_digests(void **state) {
    (void)state;
    const char *folder = WEFT_SHARED_DIR "/reference/models/llama-k256";
    const char *list = WEFT_SHARED_DIR "/reference/models/llama-k256/dequant.json";
    skip_without(list);
    weft_mapping map;
    weft_json *root;
    assert_weft_ok(weft_file_map(list, &map));
    assert_weft_ok(weft_json_parse((const char *)map.data, map.size_bytes, list, &root));
    bool seen[WEFT_DTYPE_COUNT] = {false};
    void *cursor = NULL;
    const char *name;
    const weft_json *quant;
    size_t n = 0;
    while (weft_json_next(weft_json_get(root, "quants"), &cursor, &name, &quant)) {
        char path[4096];
        size_t n_bytes;
        const char *file = weft_json_string(weft_json_get(quant, "file"), &n_bytes);
        snprintf(path, sizeof path, "%s/%s", folder, file);
        n += check_file(path, weft_json_get(quant, "tensors"), seen);
    }
    for (size_t i = 0; i < N_ITEMS(quantized_types) + N_ITEMS(float_types); i++) {
        weft_dtype due = i < N_ITEMS(quantized_types) ? quantized_types[i]
                                                      : float_types[i - N_ITEMS(quantized_types)];
        if (!seen[due])
            fail_msg("no reference tensor of type %s", weft_dtype_name(due));
    }
    print_message("%zu tensors have their digest\n", n);
    weft_json_free(&root);
    weft_file_unmap(&map);
}

/* All 256 codes of each 8-bit type as torch converts them (tests/data/make_f8_reference.py). */
static void test_8_bit_floats(void **state) {
    (void)state;
    static const weft_dtype types[] = {WEFT_F8_E4M3, WEFT_F8_E5M2, WEFT_F8_E8M0};
    const char *path = WEFT_TEST_DATA "/reference/f8-codes.json";
    weft_mapping map;
    weft_json *root;
    assert_weft_ok(weft_file_map(path, &map));
    assert_weft_ok(weft_json_parse((const char *)map.data, map.size_bytes, path, &root));
    for (size_t t = 0; t < 3; t++) {
        const weft_json *list = weft_json_get(root, weft_dtype_name(types[t]));
        assert_int_equal(weft_json_length(list), 256);
        for (size_t i = 0; i < 256; i++) {
            uint8_t code = (uint8_t)i;
            float x;
            uint32_t bits;
            assert_true(weft_dequantize_row(types[t], &code, 1, &x));
            memcpy(&bits, &x, 4);
            const weft_json *want = weft_json_item(list, i);
            if (weft_json_type_of(want) == WEFT_JSON_NULL)
                assert_true((bits & 0x7fffffff) > 0x7f800000);
            else
                assert_int_equal(bits, weft_json_integer(want));
        }
    }
    weft_json_free(&root);
    weft_file_unmap(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_32_column_types), cmocka_unit_test(test_256_column_types),
        cmocka_unit_test(test_small_types),     cmocka_unit_test(test_codebook_types),
        cmocka_unit_test(test_floats),          cmocka_unit_test(test_reference_digests),
        cmocka_unit_test(test_8_bit_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
