/* JSON values are read as they stand; what is not strict JSON is refused with its place. */
#include "test.h"
#include "base/json.h"

static weft_json *parse(const char *text) {
    weft_json *root = NULL;
    assert_weft_ok(weft_json_parse(text, strlen(text), "test", &root));
    return root;
}

static void values_are_read(void **state) {
    (void)state;
    weft_json *root = parse("{\"a\": [1, 2.5, true, null, \"x\\u0000y\"], \"b\": {\"c\": -7}}");
    const weft_json *a = weft_json_get(root, "a");
    size_t n;
    assert_int_equal(weft_json_length(a), 5);
    assert_int_equal(weft_json_integer(weft_json_item(a, 0)), 1);
    assert_true(weft_json_number(weft_json_item(a, 1)) == 2.5);
    assert_true(weft_json_bool(weft_json_item(a, 2)));
    assert_int_equal(weft_json_type_of(weft_json_item(a, 3)), WEFT_JSON_NULL);
    assert_memory_equal(weft_json_string(weft_json_item(a, 4), &n), "x\0y", 3);
    assert_int_equal(n, 3);
    assert_int_equal(weft_json_integer(weft_json_get(weft_json_get(root, "b"), "c")), -7);
    assert_null(weft_json_get(root, "absent"));
    assert_null(weft_json_get(weft_json_get(root, "absent"), "c"));
    weft_json_free(&root);
    assert_null(root);
}

static void members_come_in_order(void **state) {
    (void)state;
    weft_json *root = parse("{\"z\": 1, \"a\": 2, \"m\": 3}");
    const char *want[] = {"z", "a", "m"}, *name;
    const weft_json *value;
    void *cursor = NULL;
    for (int i = 0; i < 3; i++) {
        assert_true(weft_json_next(root, &cursor, &name, &value));
        assert_string_equal(name, want[i]);
        assert_int_equal(weft_json_integer(value), i + 1);
    }
    assert_false(weft_json_next(root, &cursor, &name, &value));
    weft_json_free(&root);
}

static void bad_json_is_refused_with_its_place(void **state) {
    (void)state;
    static const char *const bad[] = {"",      "{",        "{\"a\": 1,}",         "{'a': 1}",
                                      "[1 2]", "\"\xff\"", "{\"a\":1}{}",         "[1e400]",
                                      "[NaN]", "nul",      "{\"a\": 1, \"a\": 2}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_json *root = (void *)1;
        assert_weft_fails(weft_json_parse(bad[i], strlen(bad[i]), "config.json", &root),
                          WEFT_E_FORMAT);
        assert_null(root);
        assert_detail_has("config.json: line ");
    }
}

static void depth_is_bounded(void **state) {
    (void)state;
    char *text = malloc(60000);
    memset(text, '[', 60000);
    weft_json *root;
    assert_weft_fails(weft_json_parse(text, 60000, "deep", &root), WEFT_E_FORMAT);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(members_come_in_order),
        cmocka_unit_test(bad_json_is_refused_with_its_place),
        cmocka_unit_test(depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
