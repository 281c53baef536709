/* Stop strings over a stream: found wherever pieces end, held back until decided, and no longer. */
#include "test.h"
#include "base/alloc.h"
#include "engine/stops.h"

/* Pushes `text` in pieces of `step` bytes; what came out, and whether a stop string was found. */
static bool run(const char *const *strings, size_t n, const char *text, size_t step, char *out) {
    weft_allocator a = weft_allocator_system();
    weft_stops s;
    assert_weft_ok(weft_stops_init(&s, &a, strings, n, 64));
    size_t length = strlen(text), at = 0, n_out;
    const char *piece;
    bool found = false;
    for (size_t i = 0; i < length && !found; i += step) {
        size_t k = length - i < step ? length - i : step;
        found = weft_stops_push(&s, text + i, k, &piece, &n_out);
        memcpy(out + at, piece, n_out);
        at += n_out;
    }
    if (!found) {
        weft_stops_finish(&s, &piece, &n_out);
        memcpy(out + at, piece, n_out);
        at += n_out;
    }
    out[at] = 0;
    weft_stops_free(&s);
    return found;
}

static void expect(const char *const *strings, size_t n, const char *text, const char *wanted,
                   bool found) {
    char out[256];
    for (size_t step = 1; step <= strlen(text); step++) {
        assert_int_equal(run(strings, n, text, step, out), found);
        assert_string_equal(out, wanted);
    }
}

static void test_found_wherever_pieces_end(void **state) {
    (void)state;
    expect((const char *[]){"END"}, 1, "some text END more", "some text ", true);
    expect((const char *[]){"aab"}, 1, "aaaaab", "aaa", true); /* overlaps itself */
    expect((const char *[]){"abab!"}, 1, "abababab!x", "abab", true);
    expect((const char *[]){"x"}, 1, "x", "", true);
}

static void test_prefix_of_another(void **state) {
    (void)state;
    expect((const char *[]){"ENDING", "END"}, 2, "a ENDING", "a ", true);
    expect((const char *[]){"END", "ENDING"}, 2, "a ENDIN", "a ", true);
    /* The one that is completed first ends the text; of those, the one that began first. */
    expect((const char *[]){"bcd", "abcde"}, 2, "xabcde", "xa", true);
    expect((const char *[]){"cd", "abcd"}, 2, "xabcde", "x", true);
}

static void test_near_misses_come_out(void **state) {
    (void)state;
    expect((const char *[]){"END"}, 1, "EN EN ENd EN", "EN EN ENd EN", false);
    expect(NULL, 0, "plain", "plain", false);
    expect((const char *[]){"é!"}, 1, "caféé?é", "caféé?é", false);
}

static void test_only_a_possible_beginning_is_held(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_stops s;
    const char *out, *strings[] = {"STOP"};
    size_t n;
    assert_weft_ok(weft_stops_init(&s, &a, strings, 1, 64));
    assert_false(weft_stops_push(&s, "abcST", 5, &out, &n));
    assert_int_equal(n, 3);
    assert_false(weft_stops_push(&s, "O", 1, &out, &n));
    assert_int_equal(n, 0);
    assert_false(weft_stops_push(&s, "Sx", 2, &out, &n));
    assert_int_equal(n, 5);
    assert_memory_equal(out, "STOSx", 5);
    weft_stops_free(&s);
}

static void test_refused(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_stops s;
    assert_weft_fails(weft_stops_init(&s, &a, (const char *[]){""}, 1, 8), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_stops_init(&s, &a, (const char *[]){"\xa9"}, 1, 8), WEFT_E_ARGUMENT);
    assert_detail_has("within a character");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_wherever_pieces_end),
        cmocka_unit_test(test_prefix_of_another),
        cmocka_unit_test(test_near_misses_come_out),
        cmocka_unit_test(test_only_a_possible_beginning_is_held),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
