/* Looking into files: metadata and tensors through the public API, summaries, digests, the check.
 */
#include "folder.h"
#include "base/json.h"
#include "base/file.h"
#include "base/sha256.h"
#include <weft/extra/inspect.h>

#define MODELS WEFT_SHARED_DIR "/reference/models"

static void hex_of(const uint8_t digest[32], char out[65]) {
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* The examples of FIPS 180-2, and one million 'a', in uneven pieces. */
static void sha256_matches_the_standard(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    weft_sha256 h;
    uint8_t digest[32];
    char hex[65], piece[997];
    for (size_t i = 0; i < 3; i++) {
        weft_sha256_start(&h);
        weft_sha256_add(&h, cases[i][0], strlen(cases[i][0]));
        weft_sha256_finish(&h, digest);
        hex_of(digest, hex);
        assert_string_equal(hex, cases[i][1]);
    }
    memset(piece, 'a', sizeof piece);
    weft_sha256_start(&h);
    for (size_t left = 1000000, k = 0; left > 0; k++) {
        size_t n = k % sizeof piece + 1 < left ? k % sizeof piece + 1 : left;
        weft_sha256_add(&h, piece, n);
        left -= n;
    }
    weft_sha256_finish(&h, digest);
    hex_of(digest, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* "t" [3, 2] of floats counting up, one array of every shape of value. */
static void small_file(folder *f) {
    bytes b = {0};
    put(&b, "GGUF", 4);
    put_uint(&b, 3, 4), put_uint(&b, 1, 8), put_uint(&b, 3, 8);
    put_string(&b, "general.architecture"), put_uint(&b, 8, 4), put_string(&b, "nosuch");
    gguf_key(&b, "nosuch.context_length", 4, 512, 4);
    put_string(&b, "tokens"), put_uint(&b, 9, 4), put_uint(&b, 8, 4), put_uint(&b, 2, 8);
    put_string(&b, "ab"), put_string(&b, "c");
    gguf_info(&b, "t", 2, 3, 0);
    pad(&b, 32);
    for (int i = 0; i < 6; i++) {
        float v = (float)i;
        put(&b, &v, 4);
    }
    write_bytes(f, "small.gguf", b.data, b.n);
    clear(&b);
}

static void shows_unknown_architectures(void **state) {
    folder *f = *state;
    weft_file *file;
    weft_value v;
    weft_tensor_info t;
    small_file(f);
    assert_weft_ok(weft_file_open(f->engine, f->file, &file));
    assert_int_equal(weft_file_n_metadata(file), 3);
    assert_string_equal(weft_file_metadata(file, 0, &v), "general.architecture");
    assert_int_equal(v.as.s.n_bytes, 6);
    assert_null(weft_file_metadata(file, 3, &v));
    assert_true(weft_file_array_item(file, 2, 1, &v) && v.as.s.text[0] == 'c');
    assert_false(weft_file_array_item(file, 2, 2, &v));
    assert_false(weft_file_array_item(file, 0, 0, &v));
    assert_true(weft_file_tensor(file, 0, &t));
    assert_string_equal(t.name, "t");
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.dims[1], 2);
    assert_int_equal(t.size_bytes, 24);
    assert_int_equal(t.offset % 32, 0);
    assert_false(weft_file_tensor(file, 1, &t));
    weft_file_summary s = weft_file_summarize(file, 0);
    assert_string_equal(s.format, "GGUF v3");
    assert_string_equal(s.architecture, "nosuch");
    assert_string_equal(s.name, "");
    assert_int_equal(s.n_parameters, 6);
    assert_int_equal(s.weight_bytes, 24);
    assert_true(s.bits_per_weight == 32);
    assert_int_equal(s.n_context, 512);
    assert_int_equal(s.memory_bytes, 0);
    assert_weft_fails(weft_file_check(file), WEFT_E_UNSUPPORTED);
    assert_detail_has("nosuch");
    weft_file_release(&file);
    assert_null(file);
    weft_file_release(&file);
}

static void states_the_memory_at_a_context(void **state) {
    folder *f = *state;
    weft_file *file;
    skip_without(MODELS "/llama/llama-f32.gguf");
    static const char *const paths[] = {MODELS "/llama/llama-f32.gguf", MODELS "/llama/hf"};
    for (size_t i = 0; i < 2; i++) {
        assert_weft_ok(weft_file_open(f->engine, paths[i], &file));
        weft_file_summary s = weft_file_summarize(file, 0);
        assert_string_equal(s.architecture, "llama");
        assert_int_equal(s.n_context, 256);
        assert_int_equal(s.n_context_asked, 256);
        /* 2 layers, K and V, 2 heads of 16, f16 */
        weft_file_summary twice = weft_file_summarize(file, 512);
        assert_int_equal(s.memory_bytes, s.weight_bytes + 256 * 2 * 2 * 2 * 16 * 2);
        assert_int_equal(twice.memory_bytes, s.weight_bytes + 512 * 2 * 2 * 2 * 16 * 2);
        assert_weft_ok(weft_file_check(file));
        weft_file_release(&file);
    }
}

/* Digests equal those of the reference for every tensor of `type`'s file that has one. */
static void compare_digests(folder *f, const weft_json *quant) {
    char path[1024], hex[65];
    weft_file *file;
    weft_tensor_info t;
    uint8_t digest[32];
    size_t compared = 0;
    snprintf(path, sizeof path, MODELS "/llama-k256/%s",
             weft_json_string(weft_json_get(quant, "file"), NULL));
    assert_weft_ok(weft_file_open(f->engine, path, &file));
    for (size_t i = 0; weft_file_tensor(file, i, &t); i++) {
        const weft_json *tensor = weft_json_get(weft_json_get(quant, "tensors"), t.name);
        const weft_json *expected = weft_json_get(tensor, "sha256");
        if (!expected)
            continue;
        weft_status status = weft_file_digest(file, i, digest);
        if (status == WEFT_E_UNSUPPORTED) /* a type that this version only shows */
            continue;
        assert_weft_ok(status);
        hex_of(digest, hex);
        if (strcmp(hex, weft_json_string(expected, NULL)) != 0)
            fail_msg("%s: %s (%s): %s", path, t.name, weft_dtype_name(t.dtype), hex);
        compared++;
    }
    assert_true(compared > 0);
    weft_file_release(&file);
}

static void digests_match_the_reference(void **state) {
    folder *f = *state;
    weft_mapping map;
    weft_json *root;
    skip_without(MODELS "/llama-k256/dequant.json");
    assert_weft_ok(weft_file_map(MODELS "/llama-k256/dequant.json", &map));
    assert_weft_ok(weft_json_parse((const char *)map.data, map.size_bytes, "dequant.json", &root));
    const char *name;
    const weft_json *quant;
    size_t n = 0;
    for (void *cursor = NULL; weft_json_next(weft_json_get(root, "quants"), &cursor, &name, &quant);
         n++)
        compare_digests(f, quant);
    assert_true(n >= 30);
    weft_json_free(&root);
    weft_file_unmap(&map);
}

static void checks_arguments(void **state) {
    folder *f = *state;
    weft_file *file;
    uint8_t digest[32];
    assert_weft_fails(weft_file_open(NULL, "x", &file), WEFT_E_NULL);
    assert_weft_fails(weft_file_open(f->engine, NULL, &file), WEFT_E_NULL);
    assert_weft_fails(weft_file_open(f->engine, in_folder(f, "none"), &file), WEFT_E_NOT_FOUND);
    assert_null(file);
    assert_weft_fails(weft_file_check(NULL), WEFT_E_NULL);
    assert_int_equal(weft_file_n_tensors(NULL), 0);
    assert_int_equal(weft_file_n_metadata(NULL), 0);
    small_file(f);
    assert_weft_ok(weft_file_open(f->engine, f->file, &file));
    assert_weft_fails(weft_file_digest(file, 1, digest), WEFT_E_RANGE);
    weft_file_release(&file);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_open, folder_close)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_matches_the_standard),
        TEST(shows_unknown_architectures),
        TEST(states_the_memory_at_a_context),
        TEST(digests_match_the_reference),
        TEST(checks_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
