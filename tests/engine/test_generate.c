/* Generation: when it ends, what the callback sees, what is reused of an earlier text, and what a
 * context shift means. The texts are whatever the tiny model says; each fact compares two runs. */
#include "fixture.h"
#include "engine/impl.h"
#include <pthread.h>

static fixture f;
static int32_t prompt[16];
enum { N_PROMPT = 10, N_TEXT = 120 };

static int open_model(void **state) {
    (void)state;
    f = fixture_open(NULL, WEFT_NUMBERS_REPRODUCIBLE);
    bytes_to_ids("hello, you", prompt);
    return 0;
}

static int close_model(void **state) {
    (void)state;
    fixture_close(&f);
    return 0;
}

/* A text of some variety, the same for the same seed. */
static weft_sampler *sampler_open(uint64_t seed) {
    weft_sampler_options o = weft_sampler_options_default();
    o.temperature = 1.2f;
    o.top_k = 0;
    o.seed = seed;
    weft_sampler *sampler;
    assert_weft_ok(weft_sampler_create(f.engine, &o, &sampler));
    return sampler;
}

static weft_generate_result generate(weft_session *s, const weft_generate_options *o,
                                     weft_sampler *sampler, captured *out) {
    weft_generate_result r;
    memset(out->text, 0, sizeof out->text);
    out->n_bytes = out->n_tokens = 0;
    assert_weft_ok(weft_generate(s, prompt, N_PROMPT, sampler, o, capture, out, &r));
    assert_int_equal(r.n_generated, out->n_tokens);
    return r;
}

/* The same run as all others here, on a session of its own. */
static weft_generate_result sampled(const weft_generate_options *o, uint64_t seed, captured *out) {
    weft_session *s = session_open(&f, 512, 0);
    weft_sampler *sampler = sampler_open(seed);
    weft_generate_result r = generate(s, o, sampler, out);
    weft_sampler_release(&sampler);
    weft_session_release(&s);
    return r;
}

static weft_generate_options up_to(int32_t max_tokens) {
    weft_generate_options o = weft_generate_options_default();
    o.max_tokens = max_tokens;
    return o;
}

static captured whole, part;

static void test_the_same_seed_gives_the_same_text(void **state) {
    (void)state;
    weft_generate_options o = up_to(N_TEXT);
    weft_generate_result r = sampled(&o, 1, &whole);
    assert_int_equal(r.reason, WEFT_STOP_LENGTH);
    assert_int_equal(r.n_generated, N_TEXT);
    assert_int_equal(r.n_prompt, N_PROMPT);
    assert_true(whole.n_bytes >= N_TEXT / 2);
    sampled(&o, 1, &part);
    assert_string_equal(part.text, whole.text);
    sampled(&o, 2, &part);
    assert_string_not_equal(part.text, whole.text);
}

static void test_stop_strings_span_tokens(void **state) {
    (void)state;
    weft_generate_options o = up_to(N_TEXT);
    sampled(&o, 1, &whole);
    char stop[32], want[sizeof whole.text];
    const char *stops[] = {stop};
    o.stops = stops;
    o.n_stops = 1;
    for (size_t length = 1; length <= 8; length++)
        for (size_t at = 3; at + length < whole.n_bytes; at += 17) {
            snprintf(stop, sizeof stop, "%.*s", (int)length, whole.text + at);
            if ((stop[0] & 0xc0) == 0x80)
                continue;
            size_t first = (size_t)(strstr(whole.text, stop) - whole.text);
            snprintf(want, sizeof want, "%.*s", (int)first, whole.text);
            weft_generate_result r = sampled(&o, 1, &part);
            assert_int_equal(r.reason, WEFT_STOP_STRING);
            assert_string_equal(part.text, want);
        }
}

static void test_stop_strings_that_nearly_match(void **state) {
    (void)state;
    weft_generate_options o = up_to(N_TEXT);
    sampled(&o, 1, &whole);
    char never[16], last[16];
    snprintf(never, sizeof never, "%.3s\x7f", whole.text + 40);
    snprintf(last, sizeof last, "%s\x7f", whole.text + whole.n_bytes - 3); /* held at the end */
    o.stops = (const char *[]){never, last};
    o.n_stops = 2;
    weft_generate_result r = sampled(&o, 1, &part);
    assert_int_equal(r.reason, WEFT_STOP_LENGTH);
    assert_string_equal(part.text, whole.text);
}

static void test_a_stop_string_that_is_a_prefix_of_another(void **state) {
    (void)state;
    weft_generate_options o = up_to(N_TEXT);
    sampled(&o, 1, &whole);
    char longer[16], shorter[16], want[sizeof whole.text];
    snprintf(longer, sizeof longer, "%.6s", whole.text + 50);
    snprintf(shorter, sizeof shorter, "%.4s", whole.text + 50);
    o.stops = (const char *[]){longer, shorter};
    o.n_stops = 2;
    sampled(&o, 1, &part);
    snprintf(want, sizeof want, "%.*s", (int)(strstr(whole.text, shorter) - whole.text),
             whole.text);
    assert_string_equal(part.text, want);
}

static void test_no_tokens(void **state) {
    (void)state;
    weft_session *s = session_open(&f, 64, 0);
    weft_generate_options o = up_to(0);
    weft_generate_result r = generate(s, &o, NULL, &part);
    assert_int_equal(r.reason, WEFT_STOP_LENGTH);
    assert_int_equal(r.n_generated, 0);
    assert_int_equal(part.n_bytes, 0);
    assert_int_equal(weft_session_n_past(s), N_PROMPT); /* the prompt is there all the same */
    assert_weft_fails(weft_generate(s, prompt, 0, NULL, &o, capture, &part, &r), WEFT_E_ARGUMENT);
    int32_t bad = TINY_N_VOCAB;
    assert_weft_fails(weft_generate(s, &bad, 1, NULL, &o, capture, &part, &r), WEFT_E_RANGE);
    assert_int_equal(weft_session_n_past(s), N_PROMPT);
    weft_session_release(&s);
}

static void test_reuse_where_a_middle_part_differs(void **state) {
    (void)state;
    int32_t first[9], second[6];
    bytes_to_ids("abcdefghj", first);
    bytes_to_ids("abefhj", second);
    weft_generate_options o = up_to(20);
    weft_generate_result r;
    weft_session *s = session_open(&f, 64, 0), *fresh = session_open(&f, 64, 0);
    assert_weft_ok(weft_session_eval(s, first, 9));
    memset(&part, 0, sizeof part);
    memset(&whole, 0, sizeof whole);
    assert_weft_ok(weft_generate(s, second, 6, NULL, &o, capture, &part, &r));
    assert_int_equal(r.n_cached, 2); /* "ab" and no more */
    assert_weft_ok(weft_generate(fresh, second, 6, NULL, &o, capture, &whole, &r));
    assert_int_equal(r.n_cached, 0);
    assert_string_equal(part.text, whole.text);
    same_bits(weft_session_logits(s), weft_session_logits(fresh), TINY_N_VOCAB);

    /* The whole prompt is there, with more after it: its last token is evaluated again. */
    memset(&part, 0, sizeof part);
    assert_weft_ok(weft_generate(s, second, 6, NULL, &o, capture, &part, &r));
    assert_int_equal(r.n_cached, 5);
    assert_string_equal(part.text, whole.text);
    weft_session_release(&s);
    weft_session_release(&fresh);
}

static void test_a_full_context(void **state) {
    (void)state;
    weft_generate_options o = up_to(-1);
    weft_session *s = session_open(&f, 16, 0);
    weft_generate_result r = generate(s, &o, NULL, &part);
    assert_int_equal(r.reason, WEFT_STOP_CONTEXT);
    assert_int_equal(r.n_generated, 16 - N_PROMPT + 1); /* the last one needs no place */
    weft_session_release(&s);

    s = session_open(&f, 1, 0);
    assert_weft_ok(weft_generate(s, prompt, 1, NULL, &o, NULL, NULL, &r));
    assert_int_equal(r.reason, WEFT_STOP_CONTEXT);
    assert_int_equal(r.n_generated, 1);
    assert_weft_fails(weft_generate(s, prompt, 2, NULL, &o, NULL, NULL, &r), WEFT_E_CACHE_FULL);
    assert_detail_has("2 tokens");
    assert_int_equal(weft_session_n_past(s), 1);
    weft_session_release(&s);
}

/* ---- Context shift ---- */

/* The greedy token after a text, by a session that never saw another one. */
static int32_t next_of(const int32_t *ids, size_t n) {
    weft_session *s = session_open(&f, 64, 0);
    assert_weft_ok(weft_session_eval(s, ids, n));
    const float *logits = weft_session_logits(s);
    int32_t best = 0;
    for (int32_t i = 1; i < TINY_N_VOCAB; i++)
        best = logits[i] > logits[best] ? i : best;
    weft_session_release(&s);
    return best;
}

/* Drops the oldest part of a text after `keep`, so that the tail is half of the rest of the
 * context. */
static size_t drop(int32_t *ids, size_t n, size_t keep, size_t context) {
    size_t tail = (context - keep) / 2 ? (context - keep) / 2 : 1;
    tail = tail < n - keep ? tail : n - keep;
    memmove(ids + keep, ids + n - tail, tail * sizeof *ids);
    return keep + tail;
}

static void check_shift(size_t context, size_t keep, const int32_t *text, size_t n, size_t count) {
    int32_t ids[128];
    memcpy(ids, text, n * sizeof *ids);
    weft_generate_options o = up_to((int32_t)count);
    o.context_shift = true;
    o.n_keep = (int32_t)keep;
    weft_generate_result r;
    weft_session *s = session_open(&f, (int32_t)context, 0);
    memset(&part, 0, sizeof part);
    assert_weft_ok(weft_generate(s, text, n, NULL, &o, capture, &part, &r));
    assert_int_equal(r.reason, WEFT_STOP_LENGTH);
    assert_int_equal(part.n_tokens, count);
    if (n > context)
        n = drop(ids, n, keep, context);
    for (size_t i = 0; i < count; i++) {
        int32_t token = next_of(ids, n);
        assert_int_equal(part.tokens[i], token);
        ids[n++] = token;
        if (n > context)
            n = drop(ids, n, keep, context);
    }
    weft_session_release(&s);
}

static void test_a_shift_equals_a_fresh_run(void **state) {
    (void)state;
    int32_t text[60];
    for (int32_t i = 0; i < 60; i++)
        text[i] = 'a' + i * 7 % 26;
    check_shift(32, 4, text, 20, 50);
    check_shift(32, 0, text, 32, 20);
    check_shift(20, 6, text, 60, 20); /* the prompt does not fit */
    check_shift(1, 0, text, 1, 6);
    check_shift(2, 1, text, 5, 6);
}

/* ---- Ends ---- */

static void test_end_tokens(void **state) {
    (void)state;
    weft_generate_options o = up_to(40);
    sampled(&o, 1, &whole);
    size_t at = 10; /* a token that did not come before */
    for (size_t i = 0; i < at; i++)
        if (whole.tokens[i] == whole.tokens[at]) {
            at++;
            i = (size_t)-1;
        }
    assert_true(at < whole.n_tokens);
    fixture old = f;
    f = fixture_open(&(tiny_options){.eos = whole.tokens[at]}, WEFT_NUMBERS_REPRODUCIBLE);
    weft_generate_result r = sampled(&o, 1, &part);
    assert_int_equal(r.reason, WEFT_STOP_END);
    assert_int_equal(part.n_tokens, at);
    assert_memory_equal(part.text, whole.text, part.n_bytes);
    o.ignore_eos = true;
    r = sampled(&o, 1, &part);
    assert_int_equal(r.reason, WEFT_STOP_LENGTH);
    assert_memory_equal(part.tokens, whole.tokens, 40 * sizeof *whole.tokens);
    fixture_close(&f);
    f = old;
}

/* An output of more rows than there are tokens, as folders with a padded vocabulary have: the rows
 * of one file under the tokeniser of another. */
static fixture open_padded(void) {
    char path[64];
    fixture padded = fixture_open(NULL, WEFT_NUMBERS_DEFAULT);
    weft_tokenizer *tokenizer = weft_tokenizer_retain(padded.model->tokenizer);
    size_t longest = padded.model->max_piece_bytes;
    weft_model_release(&padded.model);
    assert_true(tiny_model_temporary(path, &(tiny_options){.extra_rows = 700}));
    weft_model_options by_ids = weft_model_options_default();
    by_ids.without_tokenizer = true;
    weft_status status = weft_model_open(padded.engine, path, &by_ids, &padded.model);
    unlink(path);
    assert_weft_ok(status);
    padded.model->tokenizer = tokenizer;
    padded.model->max_piece_bytes = longest;
    return padded;
}

static void test_rows_without_a_token_are_never_sampled(void **state) {
    (void)state;
    fixture padded = open_padded();
    assert_int_equal(weft_model_get_info(padded.model).n_vocab, TINY_N_VOCAB + 700);
    weft_sampler_options flat = {.temperature = 1e6f, .top_p = 1, .repeat_penalty = 1, .seed = 3};
    weft_sampler *sampler;
    assert_weft_ok(weft_sampler_create(padded.engine, &flat, &sampler));
    weft_generate_options o = up_to(400);
    o.ignore_eos = true;
    weft_session *s = session_open(&padded, 512, 0);
    generate(s, &o, sampler, &part);
    for (size_t i = 0; i < part.n_tokens; i++)
        assert_true(part.tokens[i] < TINY_N_VOCAB);
    weft_sampler_release(&sampler);
    weft_session_release(&s);
    fixture_close(&padded);
}

static void test_the_callback_ends_it(void **state) {
    (void)state;
    weft_generate_options o = up_to(N_TEXT);
    sampled(&o, 1, &whole);
    part.stop_after = 7;
    weft_generate_result r = sampled(&o, 1, &part);
    part.stop_after = 0;
    assert_int_equal(r.reason, WEFT_STOP_CALLBACK);
    assert_int_equal(r.n_generated, 7);
    assert_memory_equal(part.text, whole.text, part.n_bytes);
}

typedef struct canceller {
    weft_session *session;
    captured *out;
} canceller;

static bool cancel_at_nine(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    canceller *c = ctx;
    bool go_on = capture(c->out, token, text, n_bytes);
    if (c->out->n_tokens == 9 && token >= 0)
        weft_session_cancel(c->session);
    return go_on;
}

static void test_cancel_leaves_the_text_so_far(void **state) {
    (void)state;
    weft_session *s = session_open(&f, 512, 0);
    weft_sampler *sampler = sampler_open(1);
    weft_generate_options o = up_to(N_TEXT);
    sampled(&o, 1, &whole);
    memset(&part, 0, sizeof part);
    canceller c = {s, &part};
    weft_generate_result r;
    assert_weft_ok(weft_generate(s, prompt, N_PROMPT, sampler, &o, cancel_at_nine, &c, &r));
    assert_int_equal(r.reason, WEFT_STOP_CANCELLED);
    assert_int_equal(r.n_generated, 9);
    assert_memory_equal(part.text, whole.text, part.n_bytes);
    assert_true(weft_session_n_past(s) >= N_PROMPT);
    /* Before it begins: the prompt is not evaluated, and no token comes. */
    weft_session_cancel(s);
    memset(&part, 0, sizeof part);
    assert_weft_ok(weft_generate(s, prompt + 1, N_PROMPT - 1, NULL, &o, capture, &part, &r));
    assert_int_equal(r.reason, WEFT_STOP_CANCELLED);
    assert_int_equal(part.n_tokens, 0);
    /* And that was all that the cancelling did. */
    weft_sampler_reset(sampler);
    generate(s, &o, sampler, &part);
    assert_string_equal(part.text, whole.text);
    weft_sampler_release(&sampler);
    weft_session_release(&s);
}

static void *cancel_soon(void *ctx) {
    usleep(20000);
    weft_session_cancel(ctx);
    return NULL;
}

static void test_cancel_from_another_thread(void **state) {
    (void)state;
    weft_session *s = session_open(&f, 512, 0);
    weft_generate_options o = up_to(-1);
    o.context_shift = true; /* would never end */
    o.ignore_eos = true;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, s), 0);
    weft_generate_result r;
    assert_weft_ok(weft_generate(s, prompt, N_PROMPT, NULL, &o, NULL, NULL, &r));
    pthread_join(thread, NULL);
    assert_int_equal(r.reason, WEFT_STOP_CANCELLED);
    weft_session_release(&s);
}

static void test_options_refused(void **state) {
    (void)state;
    weft_session *s = session_open(&f, 64, 0);
    weft_generate_options o = up_to(1);
    weft_generate_result r;
    o.n_stops = 1;
    assert_weft_fails(weft_generate(s, prompt, 4, NULL, &o, NULL, NULL, &r), WEFT_E_NULL);
    o.stops = (const char *[]){""};
    assert_weft_fails(weft_generate(s, prompt, 4, NULL, &o, NULL, NULL, &r), WEFT_E_ARGUMENT);
    o = up_to(1);
    o.n_keep = -1;
    assert_weft_fails(weft_generate(s, prompt, 4, NULL, &o, NULL, NULL, &r), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_generate(NULL, prompt, 4, NULL, NULL, NULL, NULL, NULL), WEFT_E_NULL);
    weft_session_release(&s);
}

/* "The capital is" goes on with " Paris": what is generated is no text of its own. */
static void test_a_continuation_keeps_its_first_space(void **state) {
    (void)state;
    const tiny_options spm = {.spm = true};
    fixture sentencepiece = fixture_open(&spm, WEFT_NUMBERS_REPRODUCIBLE);
    weft_session *s = session_open(&sentencepiece, 64, 0);
    weft_generate_options o = up_to(20);
    generate(s, &o, NULL, &whole);
    const weft_tokenizer *tokenizer = weft_model_tokenizer(sentencepiece.model);
    const char *piece, *text = whole.text;
    for (size_t i = 0, n; i < whole.n_tokens; i++, text += n) {
        weft_token_bytes(tokenizer, whole.tokens[i], false, &piece, &n);
        assert_memory_equal(text, piece, n);
    }
    assert_int_equal(whole.text[0], ' ');
    weft_session_release(&s);
    fixture_close(&sentencepiece);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_seed_gives_the_same_text),
        cmocka_unit_test(test_stop_strings_span_tokens),
        cmocka_unit_test(test_a_continuation_keeps_its_first_space),
        cmocka_unit_test(test_stop_strings_that_nearly_match),
        cmocka_unit_test(test_a_stop_string_that_is_a_prefix_of_another),
        cmocka_unit_test(test_no_tokens),
        cmocka_unit_test(test_reuse_where_a_middle_part_differs),
        cmocka_unit_test(test_a_full_context),
        cmocka_unit_test(test_a_shift_equals_a_fresh_run),
        cmocka_unit_test(test_end_tokens),
        cmocka_unit_test(test_rows_without_a_token_are_never_sampled),
        cmocka_unit_test(test_the_callback_ends_it),
        cmocka_unit_test(test_cancel_leaves_the_text_so_far),
        cmocka_unit_test(test_cancel_from_another_thread),
        cmocka_unit_test(test_options_refused),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
