/* The metadata map keeps every kind of value, in order, and reads it with the type asked for. */
#include "test.h"
#include "base/alloc.h"
#include "base/metadata.h"

static weft_metadata *map;

static int setup(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    map = weft_metadata_create(&a);
    return map ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    weft_metadata_destroy(map);
    return 0;
}

static void put(const char *key, weft_value value) {
    assert_weft_ok(weft_metadata_put(map, key, strlen(key), &value));
}

static void scalars_are_read_by_type(void **state) {
    (void)state;
    put("u", (weft_value){.type = WEFT_VALUE_U32, .as.u = 7});
    put("i", (weft_value){.type = WEFT_VALUE_I64, .as.i = -1});
    put("big", (weft_value){.type = WEFT_VALUE_U64, .as.u = UINT64_MAX});
    put("f", (weft_value){.type = WEFT_VALUE_F32, .as.f = 0.5});
    put("b", (weft_value){.type = WEFT_VALUE_BOOL, .as.u = 1});
    put("s", (weft_value){.type = WEFT_VALUE_STRING, .as.s = {"text", 4}});
    uint32_t u;
    double f;
    bool b;
    const char *s;
    assert_weft_ok(weft_metadata_u32(map, "u", &u));
    assert_int_equal(u, 7);
    assert_weft_fails(weft_metadata_u32(map, "i", &u), WEFT_E_FORMAT);
    assert_weft_fails(weft_metadata_u32(map, "big", &u), WEFT_E_FORMAT);
    assert_detail_has("big");
    assert_weft_fails(weft_metadata_u32(map, "f", &u), WEFT_E_FORMAT);
    assert_weft_fails(weft_metadata_u32(map, "absent", &u), WEFT_E_NOT_FOUND);
    assert_weft_ok(weft_metadata_f64(map, "f", &f));
    assert_true(f == 0.5);
    assert_weft_ok(weft_metadata_f64(map, "i", &f));
    assert_true(f == -1);
    assert_weft_fails(weft_metadata_f64(map, "s", &f), WEFT_E_FORMAT);
    assert_weft_ok(weft_metadata_bool(map, "b", &b));
    assert_true(b);
    assert_weft_fails(weft_metadata_bool(map, "u", &b), WEFT_E_FORMAT);
    assert_weft_ok(weft_metadata_string(map, "s", &s));
    assert_string_equal(s, "text");
    assert_weft_fails(weft_metadata_string(map, "f", &s), WEFT_E_FORMAT);
}

static void a_string_with_a_nul_is_not_a_c_string(void **state) {
    (void)state;
    put("n", (weft_value){.type = WEFT_VALUE_STRING, .as.s = {"a\0b", 3}});
    const char *s;
    assert_weft_fails(weft_metadata_string(map, "n", &s), WEFT_E_FORMAT);
    weft_value v;
    assert_true(weft_metadata_find(map, "n", &v));
    assert_int_equal(v.as.s.n_bytes, 3);
}

static void arrays_keep_their_elements(void **state) {
    (void)state;
    int32_t numbers[] = {1, -2, 3};
    size_t lengths[] = {3, 0, 2};
    assert_weft_ok(weft_metadata_put_array(map, "n", 1, WEFT_VALUE_I32, numbers, 3));
    assert_weft_ok(weft_metadata_put_strings(map, "s", 1, "abcde", lengths, 3));
    assert_weft_ok(weft_metadata_put_array(map, "empty", 5, WEFT_VALUE_F32, NULL, 0));
    weft_value v;
    size_t i;
    assert_true(weft_metadata_index(map, "n", &i));
    assert_true(weft_metadata_item(map, i, 1, &v));
    assert_int_equal(v.as.i, -2);
    assert_false(weft_metadata_item(map, i, 3, &v));
    assert_true(weft_metadata_index(map, "s", &i));
    assert_true(weft_metadata_item(map, i, 2, &v));
    assert_int_equal(v.as.s.n_bytes, 2);
    assert_memory_equal(v.as.s.text, "de", 2);
    weft_value_type type;
    const void *data;
    size_t n;
    assert_weft_ok(weft_metadata_array(map, "empty", &type, &data, &n));
    assert_int_equal(n, 0);
    assert_weft_fails(weft_metadata_array(map, "s", &type, &data, &n), WEFT_E_FORMAT);
}

static void a_key_comes_once(void **state) {
    (void)state;
    put("k", (weft_value){.type = WEFT_VALUE_U8, .as.u = 1});
    weft_value again = {.type = WEFT_VALUE_U8, .as.u = 2};
    assert_weft_fails(weft_metadata_put(map, "k", 1, &again), WEFT_E_FORMAT);
    assert_detail_has("duplicate");
    uint32_t u;
    assert_weft_ok(weft_metadata_u32(map, "k", &u));
    assert_int_equal(u, 1);
}

static void thousands_of_keys_are_found_in_order(void **state) {
    (void)state;
    char key[32];
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "key.%u", i);
        put(key, (weft_value){.type = WEFT_VALUE_U32, .as.u = i});
    }
    assert_int_equal(weft_metadata_count(map), 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t u;
        snprintf(key, sizeof key, "key.%u", i);
        assert_weft_ok(weft_metadata_u32(map, key, &u));
        assert_int_equal(u, i);
        assert_string_equal(weft_metadata_at(map, i, NULL), key);
    }
    assert_null(weft_metadata_at(map, 5000, NULL));
}

int main(void) {
#define WITH_MAP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_MAP(scalars_are_read_by_type),
        WITH_MAP(a_string_with_a_nul_is_not_a_c_string),
        WITH_MAP(arrays_keep_their_elements),
        WITH_MAP(a_key_comes_once),
        WITH_MAP(thousands_of_keys_are_found_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
