/* What the generator may choose, and guesses: grammars, minimum length, stop tokens,
 * log-probabilities; lookup and draft models, which change nothing but the time. */
#include "fixture.h"
#include <math.h>

static fixture f;

static int setup(void **state) {
    (void)state;
    f = fixture_open(&(tiny_options){.q8_0 = true}, WEFT_NUMBERS_DEFAULT);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_close(&f);
    return 0;
}

typedef struct run {
    weft_generate_options options;
    weft_sampler_options sampling;
    bool greedy;
    captured text;
    weft_generate_result result;
    int32_t past; /* of the session, afterwards */
    float *logits;
} run;

static const char prompt_text[] = "one two three, one two three, one two";

/* Generates in a session of its own; the session's state is kept for comparison. */
static void generate(run *r, int32_t n_context) {
    int32_t prompt[64];
    bytes_to_ids(prompt_text, prompt);
    weft_session *s = session_open(&f, n_context, 0);
    weft_sampler *sampler = NULL;
    if (!r->greedy)
        assert_weft_ok(weft_sampler_create(f.engine, &r->sampling, &sampler));
    memset(&r->text, 0, sizeof r->text);
    assert_weft_ok(weft_generate(s, prompt, strlen(prompt_text), sampler, &r->options, capture,
                                 &r->text, &r->result));
    r->past = weft_session_n_past(s);
    r->logits = malloc(TINY_N_VOCAB * sizeof(float));
    assert_non_null(weft_session_logits(s));
    memcpy(r->logits, weft_session_logits(s), TINY_N_VOCAB * sizeof(float));
    weft_sampler_release(&sampler);
    weft_session_release(&s);
}

static void expect_same(const run *a, const run *b) {
    assert_int_equal(a->text.n_tokens, b->text.n_tokens);
    assert_memory_equal(a->text.tokens, b->text.tokens, a->text.n_tokens * sizeof(int32_t));
    assert_int_equal(a->text.n_bytes, b->text.n_bytes);
    assert_memory_equal(a->text.text, b->text.text, a->text.n_bytes);
    assert_int_equal(a->result.reason, b->result.reason);
    assert_int_equal(a->past, b->past);
    same_bits(a->logits, b->logits, TINY_N_VOCAB);
}

static run plain(bool greedy) {
    run r = {.options = weft_generate_options_default(),
             .sampling = weft_sampler_options_default(),
             .greedy = greedy};
    r.options.max_tokens = 120;
    r.options.ignore_eos = true;
    return r;
}

/* The same tokens, text, reason and state of the session, with every way to guess. */
static void compare(run *without, weft_session *draft, int32_t n_context) {
    static run with;
    generate(without, n_context);
    for (int32_t lookup = 0; lookup <= 15; lookup += 5) {
        if (!lookup && !draft)
            continue;
        with = *without;
        with.options.lookup = lookup;
        with.options.draft = draft;
        weft_grammar_reset(with.options.grammar);
        generate(&with, n_context);
        expect_same(without, &with);
        assert_true(with.result.n_right <= with.result.n_guessed);
        free(with.logits);
    }
    free(without->logits);
}

static void test_greedy_with_guesses_is_the_same(void **state) {
    (void)state;
    static run r;
    r = plain(true);
    compare(&r, NULL, 256);
    r.options.max_tokens = -1; /* until the context is full */
    compare(&r, NULL, 100);
    r.options.max_tokens = 300;
    r.options.context_shift = true;
    r.options.n_keep = 4;
    compare(&r, NULL, 100);
}

/* With the same seed the same tokens are drawn: so the distribution is the same as well. */
static void test_sampling_with_guesses_is_the_same(void **state) {
    (void)state;
    static run r;
    r = plain(false);
    r.options.max_tokens = 40;
    for (uint64_t seed = 0; seed < 30; seed++) {
        r.sampling.seed = seed;
        r.sampling.temperature = seed % 2 ? 0.3f : 1.2f;
        r.sampling.repeat_penalty = seed % 3 ? 1 : 1.3f;
        compare(&r, NULL, 256);
    }
}

static void test_guesses_of_a_draft(void **state) {
    (void)state;
    fixture other = fixture_open(&(tiny_options){.q8_0 = true, .seed = 7}, WEFT_NUMBERS_DEFAULT);
    static run r;
    for (int same = 0; same < 2; same++) {
        weft_session *draft = session_open(same ? &f : &other, 256, 0);
        r = plain(true);
        compare(&r, draft, 256);
        r = plain(false);
        compare(&r, draft, 256);
        weft_session_release(&draft);
    }
    fixture_close(&other);
}

/* The first two tokens, the second out of a step with guesses, have the distribution that follows
 * from the model's own logits: a chi-square test over fixed seeds, for a vocabulary that a mask of
 * biases makes small. */
static void test_the_distribution_is_kept(void **state) {
    (void)state;
    enum { N = 4, SEEDS = 8000 };
    static const int32_t letters[N] = {'n', 't', 'h', 'o'};
    /* Whatever is drawn first has come after the same words before. */
    static const char text_before[] = "abcdefnt abcdefth abcdefho abcdefon abcdef";
    fixture usual = f;
    f = fixture_open(&(tiny_options){.q8_0 = true}, WEFT_NUMBERS_REPRODUCIBLE);
    weft_logit_bias bias[N];
    int32_t prompt[64];
    double expected[N][N] = {{0}}, first[N], total = 0, chi = 0;
    int counts[N][N] = {{0}};
    for (int i = 0; i < N; i++)
        bias[i] = (weft_logit_bias){letters[i], 50};
    bytes_to_ids(text_before, prompt);
    int32_t n = (int32_t)strlen(text_before);
    weft_session *s = session_open(&f, 128, 0);
    assert_weft_ok(weft_session_eval(s, prompt, (size_t)n));
    for (int i = 0; i < N; i++)
        total += first[i] = exp(weft_session_logits(s)[letters[i]]);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        assert_weft_ok(weft_session_eval(s, &letters[i], 1));
        for (int k = 0; k < N; k++)
            sum += expected[i][k] = exp(weft_session_logits(s)[letters[k]]);
        for (int k = 0; k < N; k++)
            expected[i][k] *= first[i] / total / sum * SEEDS;
        assert_weft_ok(weft_session_truncate(s, n, NULL));
    }
    weft_generate_options o = weft_generate_options_default();
    o.max_tokens = 3;
    o.ban_eos = true;
    o.lookup = 8;
    int32_t guessed = 0, right = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        static captured text;
        weft_generate_result result;
        weft_sampler *sampler;
        memset(&text, 0, sizeof text);
        assert_weft_ok(weft_sampler_create(f.engine,
                                           &(weft_sampler_options){.temperature = 1,
                                                                   .top_p = 1,
                                                                   .repeat_penalty = 1,
                                                                   .seed = seed,
                                                                   .logit_bias = bias,
                                                                   .n_logit_bias = N},
                                           &sampler));
        assert_weft_ok(weft_generate(s, prompt, (size_t)n, sampler, &o, capture, &text, &result));
        guessed += result.n_guessed;
        right += result.n_right;
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                counts[i][k] += text.tokens[0] == letters[i] && text.tokens[1] == letters[k];
        weft_sampler_release(&sampler);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            chi +=
                (counts[i][k] - expected[i][k]) * (counts[i][k] - expected[i][k]) / expected[i][k];
    print_message("chi-square of 15 degrees: %.1f, %d tokens guessed, %d right\n", chi, guessed,
                  right);
    assert_true(guessed > 1000 && right > 100 && right < guessed);
    assert_true(chi < 37.7); /* exceeded once in a thousand such tests */
    weft_session_release(&s);
    fixture_close(&f);
    f = usual;
}

/* A draft that is the model itself guesses right: in reproducible mode, since by default long steps
 * of a prompt may have other bits. How many it guesses depends on the time that this takes; only
 * those of the last step may go unused. */
static void test_a_perfect_draft_is_right(void **state) {
    (void)state;
    static run r;
    fixture usual = f;
    f = fixture_open(&(tiny_options){.q8_0 = true}, WEFT_NUMBERS_REPRODUCIBLE);
    weft_session *draft = session_open(&f, 256, 0);
    r = plain(true);
    r.options.draft = draft;
    generate(&r, 256);
    free(r.logits);
    assert_true(r.result.n_guessed > 0);
    assert_true(r.result.n_guessed - r.result.n_right < 15);
    weft_session_release(&draft);
    fixture_close(&f);
    f = usual;
}

/* Models whose state cannot go back by itself: what wrong guesses left is taken back all the same.
 */
static void test_models_with_states(void **state) {
    (void)state;
    static const char *const names[] = {"mamba2/mamba2", "lfm2/lfm2", "qwen3-next/qwen3-next",
                                        "deepseek-v3/deepseek-v3"};
    int32_t prompt[24], done = 0;
    for (int i = 0; i < 24; i++)
        prompt[i] = 40 + i % 5;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, WEFT_SHARED_DIR "/reference/models/%s-f32.gguf", names[i]);
        if (access(path, R_OK) != 0)
            continue;
        weft_model *model;
        static captured texts[2];
        assert_weft_ok(weft_model_open(f.engine, path, NULL, &model));
        for (int guess = 0; guess < 2; guess++) {
            weft_session_options how = weft_session_options_default();
            weft_generate_options o = weft_generate_options_default();
            weft_session *s;
            how.n_context = 160;
            o.max_tokens = 100;
            o.ignore_eos = true;
            o.lookup = guess ? 6 : 0;
            memset(&texts[guess], 0, sizeof texts[guess]);
            assert_weft_ok(weft_session_create(model, &how, &s));
            assert_weft_ok(weft_generate(s, prompt, 24, NULL, &o, capture, &texts[guess], NULL));
            weft_session_release(&s);
        }
        weft_model_release(&model);
        assert_int_equal(texts[0].n_tokens, 100);
        assert_memory_equal(texts[0].tokens, texts[1].tokens, sizeof texts[0].tokens);
        done++;
    }
    if (!done) {
        print_message("skipped: no models in " WEFT_SHARED_DIR "\n");
        skip();
    }
    print_message("%d models\n", done);
}

static void test_bad_drafts_are_refused(void **state) {
    (void)state;
    fixture spm = fixture_open(&(tiny_options){.spm = true}, WEFT_NUMBERS_DEFAULT);
    weft_session *s = session_open(&f, 64, 0), *draft = session_open(&spm, 64, 0);
    int32_t prompt[] = {'a'};
    weft_generate_options o = weft_generate_options_default();
    o.draft = draft;
    assert_weft_fails(weft_generate(s, prompt, 1, NULL, &o, NULL, NULL, NULL), WEFT_E_ARGUMENT);
    assert_detail_has("vocabulary");
    o.draft = s;
    assert_weft_fails(weft_generate(s, prompt, 1, NULL, &o, NULL, NULL, NULL), WEFT_E_ARGUMENT);
    o.draft = NULL;
    o.lookup = 16;
    assert_weft_fails(weft_generate(s, prompt, 1, NULL, &o, NULL, NULL, NULL), WEFT_E_ARGUMENT);
    weft_session_release(&draft);
    weft_session_release(&s);
    fixture_close(&spm);
}

static weft_grammar *grammar(weft_grammar_kind kind, const char *text) {
    weft_grammar *g;
    assert_weft_ok(
        weft_grammar_create(weft_model_tokenizer(f.model), kind, text, strlen(text), &g));
    return g;
}

/* A text of a grammar ends where nothing can follow, greedy, sampled and guessed. */
static void test_grammars(void **state) {
    (void)state;
    static const char schema[] =
        "{\"type\": \"object\", \"properties\": {\"kind\": {\"enum\": [\"aa\", \"bb\"]}, "
        "\"n\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 99}, \"list\": {\"type\": "
        "\"array\", \"items\": {\"type\": \"boolean\"}, \"minItems\": 8, \"maxItems\": 8}}, "
        "\"required\": [\"kind\", \"n\", \"list\"]}";
    static run r;
    for (uint64_t seed = 0; seed < 10; seed++) {
        r = plain(seed == 0);
        r.options.ignore_eos = false;
        r.options.max_tokens = 400;
        r.sampling.seed = seed;
        r.sampling.temperature = 2;
        r.options.grammar = grammar(WEFT_GRAMMAR_JSON_SCHEMA, schema);
        compare(&r, NULL, 512);
        assert_int_equal(r.result.reason, WEFT_STOP_END);
        assert_memory_equal(r.text.text, "{", 1);
        assert_int_equal(r.text.text[r.text.n_bytes - 1], '}');
        assert_non_null(strstr(r.text.text, "\"list\":"));
        weft_grammar_reset(r.options.grammar);
        assert_weft_ok(weft_grammar_accept_bytes(r.options.grammar, r.text.text, r.text.n_bytes));
        assert_true(weft_grammar_may_end(r.options.grammar));
        weft_grammar_release(&r.options.grammar);
    }
}

static void test_stop_strings_with_guesses(void **state) {
    (void)state;
    static run r;
    static char stop[6];
    const char *const stops[] = {stop};
    r = plain(true);
    generate(&r, 256);
    free(r.logits);
    assert_true(r.text.n_bytes > 40);
    memcpy(stop, r.text.text + 30, 5);
    r.options.stops = stops;
    r.options.n_stops = 1;
    compare(&r, NULL, 256);
    assert_int_equal(r.result.reason, WEFT_STOP_STRING);
}

/* A vocabulary of few tokens that a bias leaves: what is chosen is known. */
static void test_ends_of_a_text(void **state) {
    (void)state;
    static run r;
    weft_logit_bias bias[] = {{TINY_EOS, 1000}, {'z', 900}};
    r = plain(false);
    r.options.ignore_eos = false;
    r.sampling.temperature = 0;
    r.sampling.logit_bias = bias;
    r.sampling.n_logit_bias = 2;
    generate(&r, 256);
    assert_int_equal(r.result.n_generated, 0);
    assert_int_equal(r.result.reason, WEFT_STOP_END);
    free(r.logits);
    r.options.min_tokens = 7;
    compare(&r, NULL, 256);
    assert_int_equal(r.result.n_generated, 7);
    assert_string_equal(r.text.text, "zzzzzzz");
    r.options.ban_eos = true;
    r.options.max_tokens = 20;
    compare(&r, NULL, 256);
    assert_int_equal(r.result.n_generated, 20);
    assert_int_equal(r.result.reason, WEFT_STOP_LENGTH);
    int32_t stops[] = {5, 'z'};
    r.options.stop_tokens = stops;
    r.options.n_stop_tokens = 2;
    r.options.min_tokens = 3; /* of something else */
    compare(&r, NULL, 256);
    assert_int_equal(r.result.n_generated, 3);
    assert_int_equal(r.result.reason, WEFT_STOP_TOKEN);
    assert_null(strchr(r.text.text, 'z'));
}

typedef struct seen {
    captured text;
    float logprobs[64];
    size_t n;
} seen;

static void on_token(void *ctx, const weft_token_info *info) {
    seen *s = ctx;
    assert_int_equal(info->n_top, 5);
    for (size_t i = 1; i < 5; i++)
        assert_true(info->top[i - 1].logprob >= info->top[i].logprob);
    assert_int_equal(info->top[0].token, info->token); /* greedy */
    assert_true(info->top[0].logprob == info->logprob);
    assert_true(info->logprob <= 0 && info->logprob > -20);
    assert_true(info->n_bytes > 0);
    assert_int_equal(s->n, s->text.n_tokens); /* before the text of the same token */
    s->logprobs[s->n++] = info->logprob;
}

static void test_logprobs(void **state) {
    (void)state;
    static seen s, guessed;
    int32_t prompt[64];
    bytes_to_ids(prompt_text, prompt);
    for (int guess = 0; guess < 2; guess++) {
        weft_session *session = session_open(&f, 256, 0);
        weft_generate_options o = weft_generate_options_default();
        o.max_tokens = 50;
        o.ban_eos = true;
        o.on_token = on_token;
        o.n_top = 5;
        o.lookup = guess ? 10 : 0;
        assert_weft_ok(weft_generate(session, prompt, strlen(prompt_text), NULL, &o, capture,
                                     guess ? &guessed : &s, NULL));
        weft_session_release(&session);
    }
    assert_int_equal(s.n, 50);
    assert_memory_equal(s.logprobs, guessed.logprobs, sizeof s.logprobs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_with_guesses_is_the_same),
        cmocka_unit_test(test_sampling_with_guesses_is_the_same),
        cmocka_unit_test(test_the_distribution_is_kept),
        cmocka_unit_test(test_guesses_of_a_draft),
        cmocka_unit_test(test_a_perfect_draft_is_right),
        cmocka_unit_test(test_models_with_states),
        cmocka_unit_test(test_bad_drafts_are_refused),
        cmocka_unit_test(test_grammars),
        cmocka_unit_test(test_stop_strings_with_guesses),
        cmocka_unit_test(test_ends_of_a_text),
        cmocka_unit_test(test_logprobs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
