/* safetensors.h alone, without weft: valid files, each rule of the format and of JSON broken once,
 * running out of memory at every allocation, and a few thousand mutations. */
#define WEFT_SAFETENSORS_IMPLEMENTATION
#include "safetensors.h"

#include "bytes.h"

#define T(name, begin, end)                                                                        \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}"

static void file_of(bytes *b, const char *header, size_t data_bytes) {
    clear(b);
    put_uint(b, strlen(header), 8);
    put(b, header, strlen(header));
    for (size_t i = 0; i < data_bytes; i++)
        put_uint(b, i, 1);
}

static weft_safetensors_code parse(const bytes *b, size_t fail_at, weft_safetensors *out,
                                   weft_safetensors_error *error, counting *count) {
    memset(count, 0, sizeof *count);
    count->fail_at = fail_at;
    weft_safetensors_allocator a = {counting_alloc, counting_release, count};
    return weft_safetensors_parse(b->data, b->n, &a, out, error);
}

static void refuse_bytes(bytes *b, weft_safetensors_code code, const char *part) {
    bytes exact = {malloc(b->n ? b->n : 1), b->n, 0};
    memcpy(exact.data, b->data ? b->data : (unsigned char *)"", b->n);
    weft_safetensors f;
    weft_safetensors_error error;
    counting count;
    weft_safetensors_code got = parse(&exact, SIZE_MAX, &f, &error, &count);
    if (got != code || error.code != code || !strstr(error.message, part))
        fail_msg("code %d instead of %d, or no '%s' in: %s", got, code, part, error.message);
    assert_int_equal(count.live_bytes, 0);
    for (const char *p = error.message; *p; p++)
        assert_in_range((unsigned char)*p, 0x20, 0x7e);
    free(exact.data);
    clear(b);
}

/* 16 bytes of data. */
static void refuse(const char *header, const char *part) {
    bytes b = {0};
    file_of(&b, header, 16);
    refuse_bytes(&b, WEFT_SAFETENSORS_INVALID, part);
}

static void accept(const char *header, size_t data_bytes, weft_safetensors *out) {
    bytes b = {0};
    weft_safetensors_error error;
    counting count;
    file_of(&b, header, data_bytes);
    if (parse(&b, SIZE_MAX, out, &error, &count) != WEFT_SAFETENSORS_OK)
        fail_msg("%s: %s", header, error.message);
    /* the bytes are not looked at any more: names are copies */
    clear(&b);
    static counting kept; /* what the result's allocator points at from here on */
    kept = count;
    out->allocator.ctx = &kept;
}

static const char two[] = "{\"__metadata__\":{\"format\":\"pt\",\"e\":\"\"}," T(
    "b", "8", "16") "," T("a", "0", "8") "}   ";

static void reads_tensors_and_metadata(void **state) {
    (void)state;
    weft_safetensors f;
    accept(two, 16, &f);
    assert_int_equal(f.n_tensors, 2);
    assert_string_equal(f.tensors[0].name, "b"); /* the header's order */
    const weft_safetensors_tensor *a = weft_safetensors_find(&f, "a");
    assert_int_equal(a->offset, f.data_offset);
    assert_int_equal(a->n_bytes, 8);
    assert_int_equal(a->rank, 1);
    assert_string_equal(weft_safetensors_dtype_name(a->dtype), "F32");
    assert_null(weft_safetensors_find(&f, "c"));
    assert_int_equal(f.n_pairs, 2);
    assert_string_equal(f.pairs[0].key, "format");
    assert_string_equal(f.pairs[0].value, "pt");
    weft_safetensors_free(&f);
}

static void accepts_what_the_format_allows(void **state) {
    (void)state;
    weft_safetensors f;
    accept("{}", 0, &f);
    assert_int_equal(f.n_tensors, 0);
    weft_safetensors_free(&f);
    /* a scalar, a tensor without elements, and members that this reader does not know */
    accept("{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
           "\"z\":{\"shape\":[3,0],\"dtype\":\"F16\",\"data_offsets\":[4,4],"
           "\"x\":[{\"y\":[-1.5e+3,true,null,{},[]]},\"\\ud83d\\ude00\"]}}",
           4, &f);
    assert_int_equal(weft_safetensors_find(&f, "s")->n_elements, 1);
    assert_int_equal(weft_safetensors_find(&f, "z")->n_elements, 0);
    weft_safetensors_free(&f);
    /* four-bit elements, escapes in names */
    accept("{\"\\u0061\\u00e9\\n\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]}}", 3,
           &f);
    assert_non_null(weft_safetensors_find(&f, "a\xc3\xa9\n"));
    weft_safetensors_free(&f);
}

static void refuses_lengths(void **state) {
    (void)state;
    static const uint64_t bad[] = {0, 1, 17, 200000000, 1ull << 63, UINT64_MAX};
    bytes b = {0};
    refuse_bytes(&b, WEFT_SAFETENSORS_TRUNCATED, "0 bytes");
    put(&b, "\x10\0\0", 3), refuse_bytes(&b, WEFT_SAFETENSORS_TRUNCATED, "3 bytes");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_uint(&b, bad[i], 8), put(&b, "{}              ", 16);
        refuse_bytes(&b, bad[i] < 2 ? WEFT_SAFETENSORS_INVALID : WEFT_SAFETENSORS_TRUNCATED,
                     "header's length");
    }
    put(&b, "version https://git-lfs.github.com/spec/v1", 42);
    refuse_bytes(&b, WEFT_SAFETENSORS_TRUNCATED, "Git LFS");
}

static void refuses_json(void **state) {
    (void)state;
    refuse("[]", "object");
    refuse(" {}", "object");
    refuse("{ ", "ends");
    refuse("{}x", "padding");
    refuse("{\"a\"}", "colon");
    refuse("{\"a\":1}", "description");
    refuse("{\"a\xff\":{}}", "UTF-8");
    refuse("{\"a\xed\xa0\x80\":{}}", "UTF-8");
    refuse("{\"a\n\":{}}", "control");
    refuse("{\"a\\x\":{}}", "escape");
    refuse("{\"\\ud800\":{}}", "surrogate");
    refuse("{\"\\ud800\\u0041\":{}}", "surrogate");
    refuse("{\"\\u00g0\":{}}", "hexadecimal");
    refuse("{\"\\u0000\":{}}", "NUL");
    refuse("{\"\":{}}", "empty");
    refuse("{" T("a", "0", "8") ",}", "name");
    refuse("{\"a\":{\"x\":[1,]}}", "value");
    refuse("{\"a\":{\"x\":01}}", "value");
    refuse("{\"a\":{\"x\":1.}}", "digit");
    refuse("{\"a\":{\"x\":[1}}", "comma");
    char deep[70000];
    memcpy(deep, "{\"a\":{\"x\":", 10);
    memset(deep + 10, '[', sizeof deep - 11);
    deep[sizeof deep - 1] = 0;
    refuse(deep, "nested");
}

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void refuses_tensors(void **state) {
    (void)state;
    bytes b = {0};
    file_of(&b, ONE("\"F31\"", "[4]", "[0,16]"), 16);
    refuse_bytes(&b, WEFT_SAFETENSORS_UNSUPPORTED,
                 "tensor 't' at header offset 22: unknown dtype 'F31'");
    file_of(&b, ONE("\"F32\"", "[1,1,1,1,1,1,1,1,4]", "[0,16]"), 16);
    refuse_bytes(&b, WEFT_SAFETENSORS_UNSUPPORTED, "dimensions");
    refuse(ONE("7", "[4]", "[0,16]"), "dtype");
    refuse(ONE("\"F32\"", "[-4]", "[0,16]"), "shape");
    refuse(ONE("\"F32\"", "[4.0]", "[0,16]"), "integer");
    refuse(ONE("\"F32\"", "[04]", "[0,16]"), "zero");
    refuse(ONE("\"F32\"", "[\"4\"]", "[0,16]"), "shape");
    refuse(ONE("\"F32\"", "[18446744073709551616]", "[0,16]"), "64 bits");
    refuse(ONE("\"F32\"", "[4294967296,4294967296]", "[0,16]"), "overflows");
    refuse(ONE("\"F32\"", "[9223372036854775807]", "[0,16]"), "overflows");
    refuse(ONE("\"F32\"", "[9223372036854775808,0]", "[0,0]"), "overflows");
    refuse(ONE("\"F32\"", "[5]", "[0,16]"), "takes 20 bytes of F32, data_offsets give 16");
    refuse(ONE("\"F4\"", "[3]", "[0,1]"), "whole number of bytes");
    refuse(ONE("\"F32\"", "[4]", "[16,0]"), "before they begin");
    refuse(ONE("\"F32\"", "[4]", "[-16,0]"), "data_offsets");
    refuse(ONE("\"F32\"", "[4]", "[0,16.5]"), "integer");
    refuse(ONE("\"F32\"", "[4]", "[0,1e400]"), "integer");
    refuse(ONE("\"F32\"", "[4]", "[0]"), "second");
    refuse(ONE("\"F32\"", "[4]", "[0,16,17]"), "end of data_offsets");
    refuse("{\"t\":{\"shape\":[4],\"data_offsets\":[0,16]}}", "dtype is missing");
    refuse("{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "duplicate member dtype");
    file_of(&b, ONE("\"F32\"", "[5]", "[0,20]"), 16);
    refuse_bytes(&b, WEFT_SAFETENSORS_TRUNCATED, "past the end");
}

static void refuses_overlaps_holes_and_duplicates(void **state) {
    (void)state;
    refuse("{" T("a", "0", "8") "," T("b", "0", "8") "}", "overlapping");
    refuse("{" T("a", "0", "8") "," T("b", "4", "12") "}", "overlapping");
    refuse("{" T("a", "8", "16") "}", "hole");
    refuse("{" T("a", "0", "8") "}", "fill 8 of 16");
    refuse("{" T("a", "0", "8") "," T("a", "8", "16") "}", "duplicate name");
    refuse("{\"__metadata__\":{\"k\":1}}", "__metadata__");
    refuse("{\"__metadata__\":[]}", "__metadata__");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", "duplicate __metadata__");
    refuse("{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", "duplicate key 'k'");
}

static void refuses_every_truncation(void **state) {
    (void)state;
    bytes b = {0};
    file_of(&b, two, 16);
    for (size_t n = 0; n < b.n; n++) {
        bytes cut = {malloc(n ? n : 1), n, 0};
        weft_safetensors f;
        counting count;
        memcpy(cut.data, b.data, n);
        assert_int_equal(parse(&cut, SIZE_MAX, &f, NULL, &count), WEFT_SAFETENSORS_TRUNCATED);
        assert_int_equal(count.live_bytes, 0);
        free(cut.data);
    }
    clear(&b);
}

static void survives_running_out_of_memory(void **state) {
    (void)state;
    bytes b = {0};
    weft_safetensors f;
    counting count;
    weft_safetensors_code code = WEFT_SAFETENSORS_MEMORY;
    size_t failures = 0;
    file_of(&b, two, 16);
    for (; code == WEFT_SAFETENSORS_MEMORY; failures++) {
        code = parse(&b, failures, &f, NULL, &count);
        assert_true(code == WEFT_SAFETENSORS_OK || count.live_bytes == 0);
    }
    assert_int_equal(code, WEFT_SAFETENSORS_OK);
    assert_in_range(failures, 4, 8);
    weft_safetensors_free(&f);
    assert_int_equal(count.live_bytes, 0);
    clear(&b);
}

static void survives_mutations(void **state) {
    (void)state;
    bytes b = {0};
    uint64_t random = 0x2545f4914f6cdd1d;
    size_t accepted = 0;
    file_of(&b, two, 16);
    for (int i = 0; i < 5000; i++) {
        bytes m = {0};
        weft_safetensors f;
        weft_safetensors_error error;
        counting count;
        m.data = mutate(&b, &random, &m.n);
        if (parse(&m, SIZE_MAX, &f, &error, &count) == WEFT_SAFETENSORS_OK) {
            uint64_t total = 0;
            for (size_t k = 0; k < f.n_tensors; k++)
                total += f.tensors[k].n_bytes;
            assert_int_equal(f.data_offset + total, m.n);
            accepted++;
        }
        weft_safetensors_free(&f);
        assert_int_equal(count.live_bytes, 0);
        free(m.data);
    }
    assert_in_range(accepted, 50, 4900);
    clear(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tensors_and_metadata),
        cmocka_unit_test(accepts_what_the_format_allows),
        cmocka_unit_test(refuses_lengths),
        cmocka_unit_test(refuses_json),
        cmocka_unit_test(refuses_tensors),
        cmocka_unit_test(refuses_overlaps_holes_and_duplicates),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(survives_running_out_of_memory),
        cmocka_unit_test(survives_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
