/* Sessions of models with recurrent states, or one latent a position: going back, prompts that
 * share a beginning, a context that is full, forks and files, all as with a fresh session. */
#include "fixture.h"

enum { N = 96, VOCAB = 320, CONTEXT = 200 };

static const char *const models[] = {"mamba",       "lfm2",           "lfm2-moe",
                                     "qwen3.5-moe", "granite-hybrid", "deepseek-v2-lite"};
#define N_MODELS (sizeof models / sizeof *models)

typedef struct opened {
    weft_engine *engine;
    weft_model *model;
    const char *name;
} opened;

static int32_t tokens[2 * CONTEXT];
static float expected[VOCAB];

static opened open_model(const char *name) {
    opened o = {.name = name};
    char path[512];
    snprintf(path, sizeof path, WEFT_TEST_DATA "/reference/%s", name);
    weft_engine_options engine = weft_engine_options_default();
    engine.n_threads = 2;
    engine.numbers = WEFT_NUMBERS_REPRODUCIBLE;
    assert_weft_ok(weft_engine_create(&engine, &o.engine));
    weft_model_options options = weft_model_options_default();
    options.without_tokenizer = true;
    assert_weft_ok(weft_model_open(o.engine, path, &options, &o.model));
    for (int i = 0; i < 2 * CONTEXT; i++)
        tokens[i] = 3 + (i * i * 7 + i * 5) % 311;
    return o;
}

static void close_model(opened *o) {
    weft_model_release(&o->model);
    weft_engine_release(&o->engine);
}

static weft_session *new_session(const opened *o, int32_t n_sequences) {
    weft_session_options options = weft_session_options_default();
    options.n_context = CONTEXT;
    options.n_batch = 16;
    options.n_sequences = n_sequences;
    weft_session *s = NULL;
    assert_weft_ok(weft_session_create(o->model, &options, &s));
    return s;
}

/* What a fresh session says after these tokens. */
static const float *fresh(const opened *o, const int32_t *ids, size_t n) {
    weft_session *s = new_session(o, 1);
    assert_weft_ok(weft_session_eval(s, ids, n));
    memcpy(expected, weft_session_logits(s), sizeof expected);
    weft_session_release(&s);
    return expected;
}

static void same_logits(const opened *o, const char *what, const weft_session *s,
                        const float *want) {
    assert_non_null(weft_session_logits(s));
    if (memcmp(weft_session_logits(s), want, sizeof expected) != 0)
        fail_msg("%s, %s: other logits", o->name, what);
}

/* Back to any length: with a position to go on from, or as if nothing more had been said. */
static void test_truncate(void **state) {
    (void)state;
    for (size_t m = 0; m < N_MODELS; m++) {
        opened o = open_model(models[m]);
        weft_session *s = new_session(&o, 1);
        for (int32_t n = N - 1; n > 0; n -= 17) {
            int32_t resume = -1;
            assert_weft_ok(weft_session_truncate(s, 0, NULL));
            assert_weft_ok(weft_session_eval(s, tokens, N));
            assert_weft_ok(weft_session_truncate(s, n, &resume));
            assert_in_range(resume, 0, n);
            assert_int_equal(weft_session_n_past(s), resume);
            size_t more = (size_t)(n + 2 - resume);
            assert_weft_ok(weft_session_eval(s, tokens + resume, more));
            same_logits(&o, "truncated", s, fresh(&o, tokens, (size_t)n + 2));

            assert_weft_ok(weft_session_eval(s, tokens + 30, 9));
            assert_weft_ok(weft_session_truncate(s, n, NULL));
            assert_int_equal(weft_session_n_past(s), n);
            assert_memory_equal(weft_session_tokens(s), tokens, (size_t)n * sizeof *tokens);
            assert_weft_ok(weft_session_eval(s, tokens + n, 2));
            same_logits(&o, "truncated to exactly there", s, expected);
        }
        weft_session_release(&s);
        close_model(&o);
    }
}

/* A failure leaves the session as it was, also after steps that succeeded. */
static void test_failed_evaluation(void **state) {
    (void)state;
    opened o = open_model("mamba");
    weft_session *s = new_session(&o, 1);
    assert_weft_ok(weft_session_eval(s, tokens, 50));
    for (size_t i = 0; i < 12; i++)
        assert_weft_ok(weft_session_eval(s, tokens + 50 + i, 1));
    weft_session_cancel(s);
    assert_weft_fails(weft_session_eval(s, tokens, 100), WEFT_E_CANCELLED);
    assert_int_equal(weft_session_n_past(s), 62);
    assert_weft_ok(weft_session_eval(s, tokens + 62, 3));
    same_logits(&o, "after a cancelled evaluation", s, fresh(&o, tokens, 65));
    assert_weft_fails(weft_session_eval(s, tokens, CONTEXT), WEFT_E_CACHE_FULL);
    assert_int_equal(weft_session_n_past(s), 65);
    weft_session_release(&s);
    close_model(&o);
}

static size_t generate(weft_session *s, const int32_t *prompt, size_t n, int32_t max, bool shift,
                       int32_t *out, weft_generate_result *result) {
    weft_generate_options options = weft_generate_options_default();
    options.max_tokens = max;
    options.context_shift = shift;
    options.n_keep = 10;
    options.ignore_eos = true;
    captured *c = calloc(1, sizeof *c);
    assert_weft_ok(weft_generate(s, prompt, n, NULL, &options, capture, c, result));
    memcpy(out, c->tokens, c->n_tokens * sizeof *out);
    n = c->n_tokens;
    free(c);
    return n;
}

/* The same prompt again finds all but its last token; a longer one goes on from what was said. */
static void test_prompts_that_share_a_beginning(void **state) {
    (void)state;
    for (size_t m = 0; m < N_MODELS; m++) {
        opened o = open_model(models[m]);
        int32_t first[16], again[16], longer[80], want[16];
        weft_generate_result r;
        weft_session *s = new_session(&o, 1), *other = new_session(&o, 1);
        assert_int_equal(generate(s, tokens, 50, 16, false, first, &r), 16);
        assert_int_equal(r.n_cached, 0);
        assert_int_equal(generate(s, tokens, 50, 16, false, again, &r), 16);
        assert_memory_equal(first, again, sizeof first);
        assert_int_equal(r.n_cached, 49);
        memcpy(longer, tokens, 50 * sizeof *longer);
        memcpy(longer + 50, first, 10 * sizeof *longer); /* part of the reply, then another turn */
        memcpy(longer + 60, tokens + 100, 20 * sizeof *longer);
        generate(s, longer, 80, 16, false, again, &r);
        assert_in_range(r.n_cached, 50, 60);
        generate(other, longer, 80, 16, false, want, &r);
        assert_memory_equal(again, want, sizeof want);
        weft_session_release(&s);
        weft_session_release(&other);
        close_model(&o);
    }
}

/* A full context drops its oldest part: what follows is that of a fresh run on what stays. */
static void test_context_shift(void **state) {
    (void)state;
    for (size_t m = 0; m < N_MODELS; m++) {
        opened o = open_model(models[m]);
        weft_session *s = new_session(&o, 1);
        int32_t out[128], want[1];
        weft_generate_result r;
        size_t n = generate(s, tokens, CONTEXT - 20, 90, true, out, &r);
        assert_int_equal(n, 90);
        int32_t n_past = weft_session_n_past(s);
        assert_true(n_past < CONTEXT);
        weft_session *other = new_session(&o, 1);
        /* The text in the session ends before the last token, which it led to. */
        generate(other, weft_session_tokens(s), (size_t)n_past, 1, false, want, &r);
        assert_int_equal(want[0], out[n - 1]);
        weft_session_release(&other);
        weft_session_release(&s);
        close_model(&o);
    }
}

static void test_forks_and_files(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/weft-test-recurrent-%d", (int)getpid());
    for (size_t m = 0; m < N_MODELS; m++) {
        opened o = open_model(models[m]);
        weft_session *s = new_session(&o, 2), *fork = NULL, *loaded = new_session(&o, 1);
        assert_weft_ok(weft_session_eval(s, tokens, 60));
        assert_weft_ok(weft_session_fork(s, &fork));
        assert_weft_ok(weft_session_eval(s, tokens + 100, 30)); /* another text */
        assert_weft_ok(weft_session_eval(fork, tokens + 60, 20));
        same_logits(&o, "the fork", fork, fresh(&o, tokens, 80));
        assert_weft_ok(weft_session_save(fork, path));
        assert_weft_ok(weft_session_truncate(fork, 55, NULL));
        assert_weft_ok(weft_session_eval(loaded, tokens + 9, 33));
        assert_weft_ok(weft_session_load(loaded, path));
        assert_int_equal(weft_session_n_past(loaded), 80);
        assert_weft_ok(weft_session_eval(loaded, tokens + 80, 5));
        same_logits(&o, "loaded", loaded, fresh(&o, tokens, 85));
        assert_weft_ok(weft_session_truncate(loaded, 78, NULL));
        assert_weft_ok(weft_session_eval(loaded, tokens + 78, 7));
        same_logits(&o, "loaded and truncated", loaded, expected);
        assert_weft_ok(weft_session_eval(fork, tokens + 55, 30));
        same_logits(&o, "the fork, truncated", fork, expected);
        weft_session_release(&s);
        weft_session_release(&fork);
        weft_session_release(&loaded);
        close_model(&o);
    }
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncate),
        cmocka_unit_test(test_failed_evaluation),
        cmocka_unit_test(test_prompts_that_share_a_beginning),
        cmocka_unit_test(test_context_shift),
        cmocka_unit_test(test_forks_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
