/* gguf.h alone, without weft: valid files of every feature, each rule of the format broken once,
 * running out of memory at every allocation, and a few thousand mutations. */
#define WEFT_GGUF_IMPLEMENTATION
#include "gguf.h"

#include "bytes.h"

enum { F32 = 0, Q4_K = 12 };

static void begin(bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys) {
    clear(b);
    put(b, "GGUF", 4);
    put_uint(b, version, 4);
    put_uint(b, n_tensors, 8);
    put_uint(b, n_keys, 8);
}
static void key(bytes *b, const char *name, uint32_t type) {
    put_string(b, name);
    put_uint(b, type, 4);
}
static void key_u32(bytes *b, const char *name, uint32_t v) {
    key(b, name, WEFT_GGUF_U32);
    put_uint(b, v, 4);
}
static void info(bytes *b, const char *name, uint64_t d0, uint64_t d1, uint32_t type,
                 uint64_t offset) {
    put_string(b, name);
    put_uint(b, d1 ? 2 : 1, 4);
    put_uint(b, d0, 8);
    if (d1)
        put_uint(b, d1, 8);
    put_uint(b, type, 4);
    put_uint(b, offset, 8);
}
static void data(bytes *b, size_t n) {
    pad(b, 32);
    for (size_t i = 0; i < n; i++)
        put_uint(b, i, 1);
}

/* One key of each type, nested arrays, two tensors. */
static void whole_file(bytes *b) {
    begin(b, 3, 2, 15);
    key(b, "u8", WEFT_GGUF_U8), put_uint(b, 200, 1);
    key(b, "i8", WEFT_GGUF_I8), put_uint(b, 0xfe, 1);
    key(b, "u16", WEFT_GGUF_U16), put_uint(b, 60000, 2);
    key(b, "i16", WEFT_GGUF_I16), put_uint(b, 0xfffe, 2);
    key(b, "u32", WEFT_GGUF_U32), put_uint(b, 4000000000u, 4);
    key(b, "i32", WEFT_GGUF_I32), put_uint(b, 0xfffffffe, 4);
    key(b, "f32", WEFT_GGUF_F32), put_uint(b, 0x3fc00000, 4);
    key(b, "bool", WEFT_GGUF_BOOL), put_uint(b, 1, 1);
    key(b, "string", WEFT_GGUF_STRING), put_string(b, "h\xc3\xa9");
    key(b, "u64", WEFT_GGUF_U64), put_uint(b, 1ull << 63, 8);
    key(b, "i64", WEFT_GGUF_I64), put_uint(b, UINT64_MAX - 1, 8);
    key(b, "f64", WEFT_GGUF_F64), put_uint(b, 0x3ff8000000000000, 8);
    key(b, "strings", WEFT_GGUF_ARRAY), put_uint(b, WEFT_GGUF_STRING, 4), put_uint(b, 3, 8);
    put_string(b, "a"), put_string(b, ""), put_string(b, "\xff\xfe");
    key(b, "numbers", WEFT_GGUF_ARRAY), put_uint(b, WEFT_GGUF_U16, 4), put_uint(b, 2, 8);
    put_uint(b, 7, 2), put_uint(b, 8, 2);
    key(b, "nested", WEFT_GGUF_ARRAY), put_uint(b, WEFT_GGUF_ARRAY, 4), put_uint(b, 2, 8);
    put_uint(b, WEFT_GGUF_U8, 4), put_uint(b, 1, 8), put_uint(b, 9, 1);
    put_uint(b, WEFT_GGUF_STRING, 4), put_uint(b, 1, 8), put_string(b, "x");
    info(b, "a.weight", 8, 3, F32, 0);
    info(b, "b.weight", 256, 0, Q4_K, 96);
    data(b, 96 + 144);
}

static weft_gguf_code parse(const bytes *b, size_t fail_at, weft_gguf *out, weft_gguf_error *error,
                            counting *count) {
    memset(count, 0, sizeof *count);
    count->fail_at = fail_at;
    weft_gguf_allocator a = {counting_alloc, counting_release, count};
    return weft_gguf_parse(b->data, b->n, &a, out, error);
}

/* Fails with this code and a message that has `part`; nothing stays allocated. */
static void refuse(bytes *b, weft_gguf_code code, const char *part) {
    bytes exact = {malloc(b->n ? b->n : 1), b->n, 0};
    memcpy(exact.data, b->data ? b->data : (unsigned char *)"", b->n);
    weft_gguf g;
    weft_gguf_error error;
    counting count;
    weft_gguf_code got = parse(&exact, SIZE_MAX, &g, &error, &count);
    if (got != code || error.code != code || !strstr(error.message, part))
        fail_msg("code %d instead of %d, or no '%s' in: %s", got, code, part, error.message);
    assert_int_equal(count.live_bytes, 0);
    assert_null(g.entries);
    for (const char *p = error.message; *p; p++)
        assert_in_range((unsigned char)*p, 0x20, 0x7e);
    free(exact.data);
    clear(b);
}

static void reads_every_value_type(void **state) {
    (void)state;
    bytes b = {0};
    weft_gguf g;
    weft_gguf_error error;
    counting count;
    int64_t i;
    whole_file(&b);
    assert_int_equal(parse(&b, SIZE_MAX, &g, &error, &count), WEFT_GGUF_OK);
    assert_int_equal(g.n_entries, 15);
    assert_int_equal(weft_gguf_find(&g, "u8")->value.as.u, 200);
    assert_true(weft_gguf_integer(&weft_gguf_find(&g, "i8")->value, &i) && i == -2);
    assert_int_equal(weft_gguf_find(&g, "u16")->value.as.u, 60000);
    assert_true(weft_gguf_integer(&weft_gguf_find(&g, "i16")->value, &i) && i == -2);
    assert_true(weft_gguf_integer(&weft_gguf_find(&g, "u32")->value, &i) && i == 4000000000);
    assert_true(weft_gguf_integer(&weft_gguf_find(&g, "i32")->value, &i) && i == -2);
    assert_true(weft_gguf_integer(&weft_gguf_find(&g, "i64")->value, &i) && i == -2);
    assert_false(weft_gguf_integer(&weft_gguf_find(&g, "u64")->value, &i)); /* 2^63 */
    assert_false(weft_gguf_integer(&weft_gguf_find(&g, "bool")->value, &i));
    assert_true(weft_gguf_find(&g, "f32")->value.as.f == 1.5);
    assert_true(weft_gguf_find(&g, "f64")->value.as.f == 1.5);
    assert_int_equal(weft_gguf_find(&g, "string")->value.as.s.n_bytes, 3);
    assert_null(weft_gguf_find(&g, "u"));
    assert_null(weft_gguf_find(&g, "u88"));
    weft_gguf_free(&g);
    assert_int_equal(count.live_bytes, 0);
    clear(&b);
}

static void walks_arrays_and_arrays_in_arrays(void **state) {
    (void)state;
    bytes b = {0};
    weft_gguf g;
    counting count;
    weft_gguf_value v, w;
    size_t at = 0, inner = 0;
    whole_file(&b);
    assert_int_equal(parse(&b, SIZE_MAX, &g, NULL, &count), WEFT_GGUF_OK);
    const weft_gguf_array *strings = &weft_gguf_find(&g, "strings")->value.as.a;
    assert_true(weft_gguf_next(strings, &at, &v) && v.as.s.n_bytes == 1);
    assert_true(weft_gguf_next(strings, &at, &v) && v.as.s.n_bytes == 0);
    assert_true(weft_gguf_next(strings, &at, &v) && v.as.s.n_bytes == 2);
    assert_false(weft_gguf_next(strings, &at, &v));
    const weft_gguf_array *nested = &weft_gguf_find(&g, "nested")->value.as.a;
    at = 0;
    assert_true(weft_gguf_next(nested, &at, &v) && v.as.a.type == WEFT_GGUF_U8);
    assert_true(weft_gguf_next(&v.as.a, &inner, &w) && w.as.u == 9);
    assert_true(weft_gguf_next(nested, &at, &v) && v.as.a.type == WEFT_GGUF_STRING);
    inner = 0;
    assert_true(weft_gguf_next(&v.as.a, &inner, &w) && w.as.s.text[0] == 'x');
    assert_false(weft_gguf_next(nested, &at, &v));
    weft_gguf_free(&g);
    clear(&b);
}

static void measures_tensors(void **state) {
    (void)state;
    bytes b = {0};
    weft_gguf g;
    counting count;
    whole_file(&b);
    assert_int_equal(parse(&b, SIZE_MAX, &g, NULL, &count), WEFT_GGUF_OK);
    const weft_gguf_tensor *t = weft_gguf_find_tensor(&g, "a.weight");
    assert_int_equal(t->n_bytes, 96);
    assert_int_equal(t->n_elements, 24);
    assert_int_equal(t->offset, g.data_offset);
    t = weft_gguf_find_tensor(&g, "b.weight");
    assert_int_equal(t->n_bytes, 144);
    assert_int_equal(t->offset + t->n_bytes, b.n); /* the last one needs no padding behind it */
    assert_null(weft_gguf_find_tensor(&g, "c.weight"));
    weft_gguf_free(&g);
    clear(&b);
}

static void knows_the_block_sizes_of_the_specification(void **state) {
    (void)state;
    assert_int_equal(weft_gguf_tensor_type(2)->block_bytes, 18);   /* Q4_0: f16 + 16 */
    assert_int_equal(weft_gguf_tensor_type(14)->block_bytes, 210); /* Q6_K */
    assert_int_equal(weft_gguf_tensor_type(42)->block_bytes, 18);  /* Q2_0: 64 elements */
    assert_null(weft_gguf_tensor_type(4));                         /* removed */
    assert_null(weft_gguf_tensor_type(43));
    assert_null(weft_gguf_tensor_type(UINT32_MAX));
}

static void names_other_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"version https://git-lfs.github.com/spec/v1\noid", "Git LFS"},
        {"<!DOCTYPE html><html>", "HTML"},
        {"tjgg\x03", "GGJT"},
        {"PK\x03\x04zip", "zip"},
        {"GGUX....", "47 47 55 58"},
        {"abcdefgh{\"a\":", "safetensors"},
        {"Z", "magic"},
    };
    bytes b = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put(&b, cases[i].text, strlen(cases[i].text));
        refuse(&b, WEFT_GGUF_NOT_GGUF, cases[i].part);
    }
    put(&b, "", 0), refuse(&b, WEFT_GGUF_TRUNCATED, "empty");
    put(&b, "GG", 2), refuse(&b, WEFT_GGUF_TRUNCATED, "magic");
}

static void refuses_headers(void **state) {
    (void)state;
    bytes b = {0};
    begin(&b, 1, 0, 0), refuse(&b, WEFT_GGUF_UNSUPPORTED, "version 1");
    begin(&b, 4, 0, 0), refuse(&b, WEFT_GGUF_UNSUPPORTED, "version 4");
    begin(&b, 0x03000000, 0, 0), refuse(&b, WEFT_GGUF_UNSUPPORTED, "big endian");
    begin(&b, 3, 1ull << 63, 0), refuse(&b, WEFT_GGUF_TRUNCATED, "tensors");
    begin(&b, 3, 0, UINT64_MAX), refuse(&b, WEFT_GGUF_TRUNCATED, "keys");
    begin(&b, 3, 0, 0), b.n -= 3, refuse(&b, WEFT_GGUF_TRUNCATED, "number of metadata keys");
}

static void accepts_files_without_tensors(void **state) {
    (void)state;
    bytes b = {0};
    weft_gguf g;
    counting count;
    begin(&b, 2, 0, 1), key_u32(&b, "a", 1);
    assert_int_equal(parse(&b, SIZE_MAX, &g, NULL, &count), WEFT_GGUF_OK);
    assert_int_equal(g.version, 2);
    assert_int_equal(g.n_tensors, 0);
    weft_gguf_free(&g);
    clear(&b);
}

static void refuses_keys(void **state) {
    (void)state;
    bytes b = {0};
    begin(&b, 3, 0, 1), key_u32(&b, "", 1);
    put(&b, "padding", 7), refuse(&b, WEFT_GGUF_INVALID, "0 bytes");
    begin(&b, 3, 0, 1), put_uint(&b, 3, 8), put(&b, "a\0b", 3);
    put_uint(&b, 4, 4), put_uint(&b, 1, 4), refuse(&b, WEFT_GGUF_INVALID, "NUL");
    begin(&b, 3, 0, 1), key_u32(&b, "a\xc0\x80", 1), refuse(&b, WEFT_GGUF_INVALID, "UTF-8");
    begin(&b, 3, 0, 2), key_u32(&b, "k", 1), key_u32(&b, "k", 2);
    refuse(&b, WEFT_GGUF_INVALID, "duplicate key");
    begin(&b, 3, 0, 1), put_uint(&b, UINT64_MAX, 8), put(&b, "abcdefgh", 8);
    refuse(&b, WEFT_GGUF_TRUNCATED, "length 18446744073709551615");
    begin(&b, 3, 0, 1), key(&b, "a", 13), put_uint(&b, 1, 8);
    refuse(&b, WEFT_GGUF_INVALID, "key 'a' at offset 33: unknown value type 13");
    begin(&b, 3, 0, 1), key(&b, "esc\x1b[31m", WEFT_GGUF_BOOL), put_uint(&b, 2, 1);
    refuse(&b, WEFT_GGUF_INVALID, "bool");
    begin(&b, 3, 0, 1), key(&b, "s", WEFT_GGUF_STRING), put_uint(&b, UINT64_MAX - 7, 8);
    refuse(&b, WEFT_GGUF_TRUNCATED, "key 's'");
}

static void array_of(bytes *b, uint32_t type, uint64_t n) {
    begin(b, 3, 0, 1);
    key(b, "arr", WEFT_GGUF_ARRAY);
    put_uint(b, type, 4);
    put_uint(b, n, 8);
}

static void refuses_arrays(void **state) {
    (void)state;
    bytes b = {0};
    array_of(&b, WEFT_GGUF_U64, 1ull << 61), refuse(&b, WEFT_GGUF_TRUNCATED, "'arr'");
    array_of(&b, WEFT_GGUF_U8, UINT64_MAX), refuse(&b, WEFT_GGUF_TRUNCATED, "length");
    array_of(&b, WEFT_GGUF_STRING, (1ull << 59) + 1), refuse(&b, WEFT_GGUF_TRUNCATED, "length");
    array_of(&b, WEFT_GGUF_ARRAY, 1ull << 63), refuse(&b, WEFT_GGUF_TRUNCATED, "length");
    array_of(&b, 99, 1), put_uint(&b, 0, 8), refuse(&b, WEFT_GGUF_INVALID, "element type 99");
    array_of(&b, WEFT_GGUF_BOOL, 2), put_uint(&b, 0x0301, 2), refuse(&b, WEFT_GGUF_INVALID, "bool");
    array_of(&b, WEFT_GGUF_ARRAY, 1);
    for (int i = 0; i < 100000; i++)
        put_uint(&b, WEFT_GGUF_ARRAY, 4), put_uint(&b, 1, 8);
    refuse(&b, WEFT_GGUF_UNSUPPORTED, "nested");
}

static void accepts_alignments_of_any_integer_type(void **state) {
    (void)state;
    bytes b = {0};
    weft_gguf g;
    counting count;
    begin(&b, 3, 1, 1), key(&b, "general.alignment", WEFT_GGUF_I32), put_uint(&b, 64, 4);
    info(&b, "t", 4, 0, F32, 0), pad(&b, 64), put_uint(&b, 0, 8), put_uint(&b, 0, 8);
    assert_int_equal(parse(&b, SIZE_MAX, &g, NULL, &count), WEFT_GGUF_OK);
    assert_int_equal(g.alignment, 64);
    assert_int_equal(g.tensors[0].offset % 64, 0);
    weft_gguf_free(&g);
    clear(&b);
}

static void refuses_alignments(void **state) {
    (void)state;
    static const uint32_t bad[] = {0, 3, 24, UINT32_MAX};
    bytes b = {0};
    for (size_t i = 0; i < 4; i++) {
        begin(&b, 3, 1, 1), key_u32(&b, "general.alignment", bad[i]);
        info(&b, "t", 4, 0, F32, 0), data(&b, 64);
        refuse(&b, WEFT_GGUF_INVALID, "general.alignment");
    }
    begin(&b, 3, 0, 1), key(&b, "general.alignment", WEFT_GGUF_I32), put_uint(&b, 0xffffffe0, 4);
    refuse(&b, WEFT_GGUF_INVALID, "alignment -32");
    begin(&b, 3, 0, 1), key(&b, "general.alignment", WEFT_GGUF_STRING), put_string(&b, "32");
    refuse(&b, WEFT_GGUF_INVALID, "not an integer");
    begin(&b, 3, 1, 1), key_u32(&b, "general.alignment", 1u << 31);
    info(&b, "t", 4, 0, F32, 0), data(&b, 64);
    refuse(&b, WEFT_GGUF_TRUNCATED, "past the end");
}

/* One tensor "t" and 64 bytes of data. */
static void refuse_tensor(uint64_t d0, uint64_t d1, uint32_t type, uint64_t offset,
                          weft_gguf_code code, const char *part) {
    bytes b = {0};
    begin(&b, 3, 1, 0), info(&b, "t", d0, d1, type, offset), data(&b, 64);
    refuse(&b, code, part);
}

static void refuses_tensors(void **state) {
    (void)state;
    bytes b = {0};
    refuse_tensor(4, 0, 4, 0, WEFT_GGUF_UNSUPPORTED, "type 4 is no longer part");
    refuse_tensor(4, 0, 1000, 0, WEFT_GGUF_UNSUPPORTED, "type 1000 is unknown");
    refuse_tensor(0, 0, F32, 0, WEFT_GGUF_INVALID, "dimension 0 is 0");
    refuse_tensor(1ull << 40, 1ull << 40, F32, 0, WEFT_GGUF_INVALID, "overflows");
    refuse_tensor((1ull << 62) + 256, 4, F32, 0, WEFT_GGUF_INVALID, "overflows");
    refuse_tensor(1ull << 63, 0, F32, 0, WEFT_GGUF_INVALID, "overflows");
    refuse_tensor(1ull << 62, 0, F32, 0, WEFT_GGUF_INVALID, "size in bytes overflows");
    refuse_tensor(32, 2, Q4_K, 0, WEFT_GGUF_INVALID, "whole Q4_K blocks");
    refuse_tensor(4, 0, F32, 1, WEFT_GGUF_INVALID, "no multiple of the alignment");
    refuse_tensor(4, 0, F32, UINT64_MAX - 31, WEFT_GGUF_TRUNCATED, "passes the end");
    refuse_tensor(17, 0, F32, 0, WEFT_GGUF_TRUNCATED, "tensor 't'");
    begin(&b, 3, 1, 0), put_string(&b, "t"), put_uint(&b, 5, 4), data(&b, 99);
    refuse(&b, WEFT_GGUF_INVALID, "5 dimensions");
    begin(&b, 3, 1, 0), put_string(&b, "t"), put_uint(&b, 0, 4), data(&b, 99);
    refuse(&b, WEFT_GGUF_INVALID, "0 dimensions");
    begin(&b, 3, 1, 0), info(&b, "", 4, 0, F32, 0), data(&b, 64);
    refuse(&b, WEFT_GGUF_INVALID, "0 bytes");
    char name[66] = {0};
    memset(name, 'x', 65);
    begin(&b, 3, 1, 0), info(&b, name, 4, 0, F32, 0), data(&b, 64);
    refuse(&b, WEFT_GGUF_INVALID, "65 bytes");
    begin(&b, 3, 2, 0), info(&b, "t", 4, 0, F32, 0), info(&b, "t", 4, 0, F32, 32), data(&b, 64);
    refuse(&b, WEFT_GGUF_INVALID, "duplicate tensor");
    begin(&b, 3, 2, 0), info(&b, "t", 4, 0, F32, 0), info(&b, "u", 4, 0, F32, 0), data(&b, 64);
    refuse(&b, WEFT_GGUF_INVALID, "overlaps that of tensor");
    begin(&b, 3, 2, 0), info(&b, "u", 4, 0, F32, 32), info(&b, "t", 12, 0, F32, 0), data(&b, 64);
    refuse(&b, WEFT_GGUF_INVALID, "tensor 'u'");
}

static void refuses_every_truncation(void **state) {
    (void)state;
    bytes b = {0};
    whole_file(&b);
    for (size_t n = 0; n < b.n; n++) {
        bytes cut = {malloc(n ? n : 1), n, 0};
        weft_gguf g;
        weft_gguf_error error;
        counting count;
        memcpy(cut.data, b.data, n);
        assert_int_equal(parse(&cut, SIZE_MAX, &g, &error, &count), WEFT_GGUF_TRUNCATED);
        assert_int_equal(count.live_bytes, 0);
        free(cut.data);
    }
    clear(&b);
}

static void survives_running_out_of_memory(void **state) {
    (void)state;
    bytes b = {0};
    weft_gguf g;
    weft_gguf_error error;
    counting count;
    weft_gguf_code code = WEFT_GGUF_MEMORY;
    size_t failures = 0;
    whole_file(&b);
    for (; code == WEFT_GGUF_MEMORY; failures++) {
        code = parse(&b, failures, &g, &error, &count);
        assert_true(code == WEFT_GGUF_OK || count.live_bytes == 0);
    }
    assert_int_equal(code, WEFT_GGUF_OK);
    assert_int_equal(failures, 5); /* entries, their order, tensors, their order: then it works */
    weft_gguf_free(&g);
    clear(&b);
}

/* Looks at everything that a successful parse promised. */
static void touch(const weft_gguf *g, size_t size) {
    for (size_t i = 0; i < g->n_entries; i++) {
        const weft_gguf_value *v = &g->entries[i].value;
        weft_gguf_value element;
        size_t at = 0, n = 0;
        if (v->type != WEFT_GGUF_ARRAY)
            continue;
        while (weft_gguf_next(&v->as.a, &at, &element))
            n++;
        assert_int_equal(n, v->as.a.n);
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        const weft_gguf_tensor *t = &g->tensors[i];
        assert_true(t->offset <= size && t->n_bytes <= size - t->offset);
        assert_non_null(weft_gguf_tensor_type(t->type));
    }
}

static void survives_mutations(void **state) {
    (void)state;
    bytes b = {0};
    uint64_t random = 0x9e3779b97f4a7c15;
    size_t accepted = 0;
    whole_file(&b);
    for (int i = 0; i < 5000; i++) {
        bytes m = {0};
        weft_gguf g;
        weft_gguf_error error;
        counting count;
        m.data = mutate(&b, &random, &m.n);
        if (parse(&m, SIZE_MAX, &g, &error, &count) == WEFT_GGUF_OK) {
            touch(&g, m.n);
            accepted++;
        } else {
            assert_true(strlen(error.message) > 10);
        }
        weft_gguf_free(&g);
        assert_int_equal(count.live_bytes, 0);
        free(m.data);
    }
    assert_in_range(accepted, 100, 4900); /* mutations reach past the header, and break it */
    clear(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_value_type),
        cmocka_unit_test(walks_arrays_and_arrays_in_arrays),
        cmocka_unit_test(measures_tensors),
        cmocka_unit_test(knows_the_block_sizes_of_the_specification),
        cmocka_unit_test(names_other_files),
        cmocka_unit_test(refuses_headers),
        cmocka_unit_test(accepts_files_without_tensors),
        cmocka_unit_test(refuses_keys),
        cmocka_unit_test(refuses_arrays),
        cmocka_unit_test(accepts_alignments_of_any_integer_type),
        cmocka_unit_test(refuses_alignments),
        cmocka_unit_test(refuses_tensors),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(survives_running_out_of_memory),
        cmocka_unit_test(survives_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
