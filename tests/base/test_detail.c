/* Statuses have names and sentences; details are one clean line. */
#include "test.h"
#include "base/detail.h"

static void every_status_has_a_name_and_a_sentence(void **state) {
    (void)state;
    assert_string_equal(weft_status_name(WEFT_OK), "WEFT_OK");
    assert_string_equal(weft_status_name(WEFT_E_SAME_STORAGE), "WEFT_E_SAME_STORAGE");
    for (int s = 0; s < WEFT_STATUS_COUNT; s++) {
        assert_true(strncmp(weft_status_name((weft_status)s), "WEFT_", 5) == 0);
        assert_true(strlen(weft_status_text((weft_status)s)) > 5);
    }
    assert_string_equal(weft_status_name((weft_status)9999), "WEFT_E_UNKNOWN");
    assert_string_equal(weft_status_name((weft_status)-1), "WEFT_E_UNKNOWN");
}

static void a_detail_has_no_control_characters(void **state) {
    (void)state;
    assert_int_equal(weft_fail(WEFT_E_FORMAT, "key '%s'", "a\033[2J\nb\x7f\xc2\x85z"),
                     WEFT_E_FORMAT);
    assert_string_equal(weft_detail(), "key 'a?[2J?b???z'");
}

static void a_detail_is_valid_utf8(void **state) {
    (void)state;
    weft_fail(WEFT_E_FORMAT, "%s",
              "gr\xc3\xbc\xc3\x9f \xe6\xad \xed\xa0\x80 \xf0\x9f\x98\x80 \xff");
    assert_string_equal(weft_detail(), "gr\xc3\xbc\xc3\x9f ?? ??? \xf0\x9f\x98\x80 ?");
}

static void a_long_detail_is_cut(void **state) {
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    weft_fail(WEFT_E_FORMAT, "%s", text);
    assert_int_equal(strlen(weft_detail()), 1000);
}

static void context_goes_in_front(void **state) {
    (void)state;
    weft_fail(WEFT_E_FORMAT, "block_count is 0");
    assert_int_equal(weft_fail_in(WEFT_E_FORMAT, "%s", "model.gguf"), WEFT_E_FORMAT);
    assert_string_equal(weft_detail(), "model.gguf: block_count is 0");
    weft_fail(WEFT_E_FORMAT, "again: %s", weft_detail());
    assert_string_equal(weft_detail(), "again: model.gguf: block_count is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name_and_a_sentence),
        cmocka_unit_test(a_detail_has_no_control_characters),
        cmocka_unit_test(a_detail_is_valid_utf8),
        cmocka_unit_test(a_long_detail_is_cut),
        cmocka_unit_test(context_goes_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
