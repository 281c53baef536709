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

static void test_floats(void **state) {
    (void)state;
    float y[2];
    uint8_t f16[4] = {0x01, 0x00, 0x00, 0xfc}, bf16[4] = {0x80, 0x3f, 0x00, 0xc0};
    dequantize(WEFT_F16, f16, 2, y);
    assert_true(y[0] == 0x1p-24f && y[1] == -INFINITY);
    dequantize(WEFT_BF16, bf16, 2, y);
    assert_true(y[0] == 1 && y[1] == -2);
    assert_false(weft_dequantize_row(WEFT_TQ1_0, f16, 0, y));
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
    static const weft_dtype due[] = {WEFT_F32,  WEFT_F16,    WEFT_BF16,   WEFT_Q4_0,
                                     WEFT_Q4_1, WEFT_Q5_0,   WEFT_Q5_1,   WEFT_Q8_0,
                                     WEFT_Q2_K, WEFT_Q3_K,   WEFT_Q4_K,   WEFT_Q5_K,
                                     WEFT_Q6_K, WEFT_IQ4_NL, WEFT_IQ4_XS, WEFT_MXFP4};
    for (size_t i = 0; i < N_ITEMS(due); i++)
        if (!seen[due[i]])
            fail_msg("no reference tensor of type %s", weft_dtype_name(due[i]));
    print_message("%zu tensors have their digest\n", n);
    weft_json_free(&root);
    weft_file_unmap(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_32_column_types),
        cmocka_unit_test(test_256_column_types),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_reference_digests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
