/* Ids to text: whole UTF-8 characters only, byte tokens put together, any id is fine. */
#include "text/engine_fixture.h"

static size_t next(const weft_tokenizer *t, weft_detok *d, int32_t id, bool replace, char *out) {
    return weft_detok_next(t, d, id, false, replace, out, 64);
}

static void halves_are_held_back(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    weft_detok d = {0};
    char out[64];
    assert_int_equal(next(t, &d, 0xe6, true, out), 0);
    assert_int_equal(next(t, &d, 0xad, true, out), 0);
    assert_int_equal(next(t, &d, 0xa3, true, out), 3);
    assert_memory_equal(out, "\xe6\xad\xa3", 3);
    assert_int_equal(next(t, &d, B_SPACE_THE, true, out), 4);
    assert_memory_equal(out, " the", 4);
    assert_int_equal(weft_detok_finish(&d, true, out, sizeof out), 0);
    weft_tokenizer_release(&t);
}

static void broken_bytes(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    weft_detok d = {0};
    char out[64];
    assert_int_equal(next(t, &d, 0xe6, true, out), 0);
    assert_int_equal(next(t, &d, 'x', true, out), 4);
    assert_memory_equal(out, "\xef\xbf\xbdx", 4);
    assert_int_equal(next(t, &d, 0xe6, false, out), 0);
    assert_int_equal(next(t, &d, 0xe6, false, out), 1); /* as it is */
    assert_memory_equal(out, "\xe6", 1);
    assert_int_equal(weft_detok_finish(&d, false, out, sizeof out), 1);
    assert_memory_equal(out, "\xe6", 1);
    assert_int_equal(next(t, &d, 0xf0, true, out), 0);
    assert_int_equal(next(t, &d, 0x9f, true, out), 0);
    assert_int_equal(weft_detok_finish(&d, true, out, sizeof out), 3);
    assert_memory_equal(out, "\xef\xbf\xbd", 3);
    assert_int_equal(d.n_held, 0);
    /* A surrogate and an overlong form are never handed out as if they were characters. */
    const int32_t surrogate[] = {0xed, 0xa0, 0x80, 'y'};
    char all[64];
    size_t n = 0;
    for (int i = 0; i < 4; i++)
        n += weft_detok_next(t, &d, surrogate[i], false, true, all + n, sizeof all - n);
    assert_int_equal(n, 3 * 3 + 1);
    weft_tokenizer_release(&t);
}

static void added_space_is_dropped_once(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, piece_metadata(), NULL);
    weft_detok d = {0};
    char out[64];
    assert_int_equal(next(t, &d, 1, false, out), 0); /* BOS */
    assert_int_equal(next(t, &d, S_MARK_A, false, out), 1);
    assert_memory_equal(out, "a", 1);
    assert_int_equal(next(t, &d, S_MARK_A, false, out), 2);
    assert_memory_equal(out, " a", 2);
    expect_round_trip(t, " a  b ", 6);
    expect_round_trip(t, "a", 1);
    weft_tokenizer_release(&t);
}

static void any_id_decodes(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    const int32_t odd[] = {-1, INT32_MIN, B_N, INT32_MAX};
    weft_detok d = {0};
    char out[64];
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_int_equal(next(t, &d, odd[i], true, out), 0);
        assert_false(weft_tokenizer_is_eog(t, odd[i]));
    }
    unsigned random = 7;
    for (int i = 0; i < 20000; i++) {
        random = random * 1103515245u + 12345u;
        int32_t id = (int32_t)(random >> 8) % (B_N + 20);
        const char *text = "";
        size_t n = 0;
        weft_token_bytes(t, id, true, &text, &n);
        size_t written = weft_detok_next(t, &d, id, true, i & 1, out, n + 8);
        assert_true(written <= n + 8);
    }
    weft_tokenizer_release(&t);
}

static void control_tokens_show_on_request(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    const char *text = "";
    size_t n = 0;
    weft_token_bytes(t, B_IM_END, false, &text, &n);
    assert_int_equal(n, 0);
    assert_non_null(text);
    weft_token_bytes(t, B_IM_END, true, &text, &n);
    assert_int_equal(n, 10);
    assert_memory_equal(text, "<|im_end|>", 10);
    weft_token_bytes(t, B_USER, true, NULL, &n); /* either may be of no interest */
    assert_true(n > 0);
    weft_token_bytes(t, B_USER, true, &text, NULL);
    weft_token_bytes(t, B_USER, false, &text, &n);
    assert_int_equal(n, 6);
    assert_true(weft_tokenizer_is_eog(t, B_IM_END)); /* by its spelling */
    assert_true(weft_tokenizer_is_eog(t, B_EOS));
    assert_false(weft_tokenizer_is_eog(t, B_BOS));
    assert_int_equal(weft_tokenizer_find(t, " the", 4), B_SPACE_THE);
    assert_int_equal(weft_tokenizer_find(t, "\xc4\xa0the", 5), B_SPACE_THE);
    assert_int_equal(weft_tokenizer_find(t, "<|im_end|>", 10), B_IM_END);
    assert_int_equal(weft_tokenizer_find(t, "nowhere", 7), -1);
    weft_tokenizer_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_are_held_back),           cmocka_unit_test(broken_bytes),
        cmocka_unit_test(added_space_is_dropped_once),    cmocka_unit_test(any_id_decodes),
        cmocka_unit_test(control_tokens_show_on_request),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
