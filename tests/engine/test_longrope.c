/* Sessions of a model whose rope changes with the length of the text (LongRoPE): whatever way a
 * text grew or shrank, its logits are those of the same text given at once. The model's original
 * context is 32 positions (tests/data/make_attention_reference.py). */
#include "fixture.h"

enum { N_VOCAB = 64, SHORT = 20, LONG = 45 };

static fixture f;

static int open_model(void **state) {
    (void)state;
    weft_engine_options engine = weft_engine_options_default();
    engine.n_threads = 2;
    engine.numbers = WEFT_NUMBERS_REPRODUCIBLE;
    assert_weft_ok(weft_engine_create(&engine, &f.engine));
    weft_model_options options = weft_model_options_default();
    options.without_tokenizer = true;
    assert_weft_ok(
        weft_model_open(f.engine, WEFT_TEST_DATA "/reference/phi3-longrope", &options, &f.model));
    return 0;
}

static int close_model(void **state) {
    (void)state;
    fixture_close(&f);
    return 0;
}

static void make_ids(int32_t *ids) {
    for (int32_t i = 0; i < LONG; i++)
        ids[i] = 3 + (i * 17 + i / 4) % 60;
}

static void fresh_logits(const int32_t *ids, size_t n, float *out) {
    weft_session *s = session_open(&f, 64, 64);
    assert_weft_ok(weft_session_eval(s, ids, n));
    memcpy(out, weft_session_logits(s), N_VOCAB * sizeof *out);
    weft_session_release(&s);
}

static void test_growing_and_going_back(void **state) {
    (void)state;
    int32_t ids[LONG];
    float want[N_VOCAB];
    make_ids(ids);
    for (int32_t batch = 1; batch <= 16; batch *= 4) {
        weft_session *s = session_open(&f, 64, batch);
        assert_weft_ok(weft_session_eval(s, ids, SHORT));
        for (size_t n = SHORT + 1; n <= LONG; n++) { /* past 32, one by one */
            assert_weft_ok(weft_session_eval(s, ids + n - 1, 1));
            fresh_logits(ids, n, want);
            same_bits(weft_session_logits(s), want, N_VOCAB);
            assert_int_equal(weft_session_n_past(s), n);
        }
        assert_weft_ok(weft_session_truncate(s, SHORT - 1, NULL)); /* and back below */
        assert_weft_ok(weft_session_eval(s, ids + SHORT - 1, 1));
        fresh_logits(ids, SHORT, want);
        same_bits(weft_session_logits(s), want, N_VOCAB);
        weft_session_release(&s);
    }
}

static void test_a_fork_grows_alone(void **state) {
    (void)state;
    int32_t ids[LONG];
    float want[N_VOCAB];
    weft_session *s, *fork;
    make_ids(ids);
    weft_session_options options = weft_session_options_default();
    options.n_context = 128;
    options.n_batch = 16;
    options.n_sequences = 2;
    assert_weft_ok(weft_session_create(f.model, &options, &s));
    assert_weft_ok(weft_session_eval(s, ids, SHORT));
    assert_weft_ok(weft_session_fork(s, &fork));
    assert_weft_ok(weft_session_eval(fork, ids + SHORT, LONG - SHORT));
    fresh_logits(ids, LONG, want);
    same_bits(weft_session_logits(fork), want, N_VOCAB);
    assert_weft_ok(weft_session_eval(s, ids + SHORT, 1));
    fresh_logits(ids, SHORT + 1, want);
    same_bits(weft_session_logits(s), want, N_VOCAB);
    weft_session_release(&fork);
    weft_session_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_and_going_back),
        cmocka_unit_test(test_a_fork_grows_alone),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
