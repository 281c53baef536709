/* Samplers: every reference case, and what a user of a sampler
 * relies on: seeds, ties, odd logits, history. */
#include <math.h>
#include <stddef.h>
#include "base/detail.h"
#include "base/engine_impl.h"
#include "base/file.h"
#include "base/json.h"
#include "model/exact.h"
#include "model/sampler_impl.h"
#include "test.h"

static weft_engine *engine;

static int setup(void **state) {
    (void)state;
    return weft_engine_create(NULL, &engine) != WEFT_OK;
}

static int teardown(void **state) {
    (void)state;
    weft_engine_release(&engine);
    return 0;
}

/* NaN and infinities are strings in the cases. */
static double number(const weft_json *v) {
    const char *text = weft_json_string(v, NULL);
    if (!text)
        return weft_json_number(v);
    return !strcmp(text, "nan") ? NAN : !strcmp(text, "inf") ? INFINITY : -INFINITY;
}

/* Names of the cases' parameters and the options they set. */
typedef struct parameter {
    const char *name;
    bool integer;
    size_t offset;
} parameter;
#define REAL(name)                                                                                 \
    { #name, false, offsetof(weft_sampler_options, name) }
#define INTEGER(name)                                                                              \
    { #name, true, offsetof(weft_sampler_options, name) }
static const parameter parameters[] = {
    REAL(temperature),
    INTEGER(top_k),
    REAL(top_p),
    REAL(min_p),
    REAL(repeat_penalty),
    INTEGER(penalty_last_n),
    REAL(presence_penalty),
    REAL(frequency_penalty),
    REAL(dry_multiplier),
    REAL(dry_base),
    INTEGER(dry_allowed_length),
    {"dry_penalty_last_n", true, offsetof(weft_sampler_options, dry_last_n)},
    REAL(top_n_sigma),
    REAL(typical_p),
    REAL(xtc_probability),
    REAL(xtc_threshold),
    REAL(dynatemp_range),
    REAL(dynatemp_exponent),
    INTEGER(mirostat),
    REAL(mirostat_tau),
    REAL(mirostat_eta),
    INTEGER(mirostat_m),
};

typedef struct lists {
    weft_logit_bias bias[16];
    int32_t breakers[16];
} lists;

static void read_lists(const char *name, const weft_json *v, weft_sampler_options *o, lists *l) {
    void *cursor = NULL;
    const char *id;
    const weft_json *bias;
    if (!strcmp(name, "logit_bias")) {
        while (weft_json_next(v, &cursor, &id, &bias))
            l->bias[o->n_logit_bias++] = (weft_logit_bias){atoi(id), (float)number(bias)};
        o->logit_bias = l->bias;
    } else if (!strcmp(name, "dry_breakers")) {
        for (size_t i = 0; i < weft_json_length(v); i++)
            l->breakers[o->n_dry_breakers++] = (int32_t)weft_json_integer(weft_json_item(v, i));
        o->dry_breakers = l->breakers;
    } else {
        fail_msg("unknown parameter %s", name);
    }
}

static void read_options(const weft_json *params, weft_sampler_options *o, lists *l) {
    void *cursor = NULL;
    const char *name;
    const weft_json *v;
    while (weft_json_next(params, &cursor, &name, &v)) {
        const parameter *found = NULL;
        for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++)
            if (!strcmp(name, parameters[i].name))
                found = &parameters[i];
        if (!found)
            read_lists(name, v, o, l);
        else if (found->integer)
            *(int32_t *)((char *)o + found->offset) = (int32_t)weft_json_integer(v);
        else
            *(float *)((char *)o + found->offset) = (float)number(v);
    }
}

static void check_candidates(const char *name, const weft_sampler *s, const weft_json *expected) {
    const weft_candidates *c = &s->candidates;
    size_t at = 0, n = weft_json_length(expected);
    for (size_t i = 0; i < n; i++) {
        const weft_json *item = weft_json_item(expected, i);
        double p = number(weft_json_item(item, 1));
        if (p <= 0)
            continue;
        if (at >= c->n || c->ids[at] != weft_json_integer(weft_json_item(item, 0)) ||
            fabs(c->p[at] - p) > 1e-6)
            fail_msg("%s: candidate %zu is %d with %g", name, at, c->ids[at], c->p[at]);
        at++;
    }
    while (at < c->n && c->p[at] <= 0)
        at++;
    if (at != c->n)
        fail_msg("%s: %zu candidates instead of %zu", name, c->n, at);
}

/* The table of docs/sampling.md: the steps, and the cases that ask for them. */
static void print_table(const weft_json *cases) {
    static const struct {
        const char *step, *parameters[6];
    } rows[] = {
        {"logit bias", {"logit_bias"}},
        {"penalties", {"repeat_penalty", "presence_penalty", "frequency_penalty"}},
        {"dry", {"dry_multiplier"}},
        {"top_n_sigma", {"top_n_sigma"}},
        {"top_k", {"top_k"}},
        {"typical_p", {"typical_p"}},
        {"top_p", {"top_p"}},
        {"min_p", {"min_p"}},
        {"xtc", {"xtc_probability"}},
        {"temperature", {"temperature"}},
        {"temperature, dynamic", {"dynatemp_range"}},
        {"mirostat", {"mirostat"}},
    };
    size_t n = weft_json_length(cases), plain = 0;
    print_message("| step | cases |\n|---|---|\n");
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            const weft_json *params = weft_json_get(weft_json_item(cases, i), "params");
            bool asks = false;
            for (size_t k = 0; k < 6 && rows[r].parameters[k]; k++)
                asks |= weft_json_get(params, rows[r].parameters[k]) != NULL;
            count += asks;
        }
        print_message("| %s | %zu |\n", rows[r].step, count);
    }
    for (size_t i = 0; i < n; i++)
        plain += weft_json_length(weft_json_get(weft_json_item(cases, i), "params")) == 0;
    print_message("| draw alone, odd logits | %zu |\n| all | %zu |\n", plain, n);
}

static void run_case(const weft_json *item, const weft_sampler_options *options) {
    const char *name = weft_json_string(weft_json_get(item, "name"), NULL);
    const weft_json *list = weft_json_get(item, "logits"),
                    *history = weft_json_get(item, "history");
    const weft_json *expected = weft_json_get(item, "expected");
    float logits[256];
    size_t n = weft_json_length(list);
    assert_true(n <= 256);
    for (size_t i = 0; i < n; i++)
        logits[i] = (float)number(weft_json_item(list, i));
    weft_sampler *s;
    int32_t token = -1;
    assert_weft_ok(weft_sampler_create(engine, options, &s));
    for (size_t i = 0; history && i < weft_json_length(history); i++)
        assert_weft_ok(
            weft_sampler_accept(s, (int32_t)weft_json_integer(weft_json_item(history, i))));
    const weft_json *u_xtc = weft_json_get(item, "u_xtc"), *mu = weft_json_get(item, "mu");
    if (mu)
        s->mu = number(mu);
    weft_status st = weft_sampler_choose_with(s, logits, n, number(weft_json_get(item, "u")),
                                              u_xtc ? number(u_xtc) : 0, &token);
    if (weft_json_get(expected, "error")) {
        assert_int_equal(st, WEFT_E_NO_CANDIDATES);
    } else {
        assert_int_equal(st, WEFT_OK);
        check_candidates(name, s, weft_json_get(expected, "candidates"));
        if (token != weft_json_integer(weft_json_get(expected, "token")))
            fail_msg("%s: token %d", name, token);
        mu = weft_json_get(expected, "mu");
        if (mu && fabs(s->mu - number(mu)) > 1e-5)
            fail_msg("%s: mu %g", name, s->mu);
    }
    weft_sampler_release(&s);
}

static void test_reference_cases(void **state) {
    (void)state;
    const char *path = WEFT_SHARED_DIR "/samplers/cases.json";
    skip_without(path);
    weft_mapping map;
    weft_json *root;
    assert_weft_ok(weft_file_map(path, &map));
    assert_weft_ok(weft_json_parse((const char *)map.data, map.size_bytes, path, &root));
    const weft_json *cases = weft_json_get(root, "cases");
    size_t n = weft_json_length(cases);
    for (size_t i = 0; i < n; i++) {
        weft_sampler_options options = {0};
        lists l;
        read_options(weft_json_get(root, "defaults"), &options, &l);
        options.n_logit_bias = options.n_dry_breakers = 0;
        read_options(weft_json_get(weft_json_item(cases, i), "params"), &options, &l);
        run_case(weft_json_item(cases, i), &options);
    }
    print_table(cases);
    assert_true(n >= 83);
    weft_json_free(&root);
    weft_file_unmap(&map);
}

static weft_sampler *create(weft_sampler_options o) {
    weft_sampler *s;
    assert_weft_ok(weft_sampler_create(engine, &o, &s));
    return s;
}

static void test_same_seed_same_tokens(void **state) {
    (void)state;
    float logits[50];
    int32_t first[64], token;
    for (int i = 0; i < 50; i++)
        logits[i] = (float)((i * 29) % 50) * 0.05f;
    weft_sampler_options o = weft_sampler_options_default();
    o.seed = 42;
    weft_sampler *a = create(o), *b = create(o);
    o.seed = 43;
    weft_sampler *other = create(o);
    int differ = 0;
    for (int i = 0; i < 64; i++) {
        assert_weft_ok(weft_sampler_choose(a, logits, 50, &first[i]));
        assert_weft_ok(weft_sampler_choose(b, logits, 50, &token));
        assert_int_equal(token, first[i]);
        assert_weft_ok(weft_sampler_choose(other, logits, 50, &token));
        differ += token != first[i];
    }
    assert_true(differ > 10);
    weft_sampler_reset(a);
    for (int i = 0; i < 64; i++) {
        assert_weft_ok(weft_sampler_choose(a, logits, 50, &token));
        assert_int_equal(token, first[i]);
    }
    weft_sampler_release(&a);
    weft_sampler_release(&b);
    weft_sampler_release(&other);
}

/* Values computed apart from this code: the sequence is part of what a seed promises. */
static void test_random_numbers_are_fixed(void **state) {
    (void)state;
    double sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double u = weft_random_unit(7, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.005);
    assert_true(weft_random_unit(0, 0) == 0x1.4e0dba5e9a32fp-1);
    assert_true(weft_random_unit(0, 1) == 0x1.6705460be8829p-1);
    assert_true(weft_random_unit(12345, 999) == 0x1.636fd4f6dfb20p-4);
}

static void test_frequencies_follow_the_probabilities(void **state) {
    (void)state;
    float logits[3] = {logf(0.5f), logf(0.3f), logf(0.2f)};
    int counts[3] = {0}, n = 20000;
    weft_sampler *s = create(
        (weft_sampler_options){.temperature = 1, .top_p = 1, .repeat_penalty = 1, .seed = 9});
    for (int i = 0; i < n; i++) {
        int32_t token;
        assert_weft_ok(weft_sampler_choose(s, logits, 3, &token));
        counts[token]++;
    }
    assert_true(abs(counts[0] - 10000) < 400 && abs(counts[1] - 6000) < 400);
    weft_sampler_release(&s);
}

static void test_greedy_takes_the_lowest_id_of_a_tie(void **state) {
    (void)state;
    float logits[] = {NAN, 1, 3, 3, -INFINITY, 2}, none[] = {NAN, -INFINITY}, inf[] = {1, INFINITY};
    int32_t token = -1;
    weft_sampler_options o = weft_sampler_options_default();
    o.temperature = 0;
    weft_sampler *s = create(o);
    assert_weft_ok(weft_sampler_choose(s, logits, 6, &token));
    assert_int_equal(token, 2);
    assert_weft_ok(weft_sampler_choose(s, inf, 2, &token));
    assert_int_equal(token, 1);
    assert_weft_fails(weft_sampler_choose(s, none, 2, &token), WEFT_E_NO_CANDIDATES);
    weft_sampler_release(&s);
    s = create(weft_sampler_options_default());
    assert_weft_fails(weft_sampler_choose(s, none, 2, &token), WEFT_E_NO_CANDIDATES);
    weft_sampler_release(&s);
}

/* Top-k of 1, top-p of 0: the first candidate, whatever the temperature. */
static void test_one_candidate_equals_greedy(void **state) {
    (void)state;
    float logits[1000];
    int32_t token;
    for (int i = 0; i < 1000; i++)
        logits[i] = (float)((i * 7919) % 1000);
    weft_sampler *k = create(
        (weft_sampler_options){.temperature = 5, .top_k = 1, .top_p = 1, .repeat_penalty = 1});
    weft_sampler *p =
        create((weft_sampler_options){.temperature = 5, .top_p = 0, .repeat_penalty = 1});
    for (int i = 0; i < 20; i++) {
        assert_weft_ok(weft_sampler_choose(k, logits, 1000, &token));
        assert_float_equal(logits[token], 999, 0);
        assert_weft_ok(weft_sampler_choose(p, logits, 1000, &token));
        assert_float_equal(logits[token], 999, 0);
    }
    weft_sampler_release(&k);
    weft_sampler_release(&p);
}

/* A bounded window forgets, however long the history grows. */
static void test_penalty_window_slides(void **state) {
    (void)state;
    float logits[] = {2, 1.9f, 0};
    int32_t token;
    weft_sampler *s = create((weft_sampler_options){
        .temperature = 0, .top_p = 1, .repeat_penalty = 2, .penalty_last_n = 4});
    assert_weft_ok(weft_sampler_accept(s, 0));
    assert_weft_ok(weft_sampler_choose(s, logits, 3, &token));
    assert_int_equal(token, 1);
    for (int i = 0; i < 3; i++)
        assert_weft_ok(weft_sampler_accept(s, 2));
    assert_weft_ok(weft_sampler_choose(s, logits, 3, &token));
    assert_int_equal(token, 1);
    for (int i = 0; i < 5000; i++)
        assert_weft_ok(weft_sampler_accept(s, 1000000)); /* outside of the vocabulary */
    assert_weft_ok(weft_sampler_choose(s, logits, 3, &token));
    assert_int_equal(token, 0);
    assert_true(s->history_room <= 512);
    weft_sampler_release(&s);
}

static void test_bad_options_are_refused(void **state) {
    (void)state;
    weft_sampler *s;
    weft_sampler_options o = weft_sampler_options_default();
    o.temperature = NAN;
    assert_weft_fails(weft_sampler_create(engine, &o, &s), WEFT_E_ARGUMENT);
    o = weft_sampler_options_default();
    o.repeat_penalty = 0;
    assert_weft_fails(weft_sampler_create(engine, &o, &s), WEFT_E_ARGUMENT);
    assert_detail_has("repeat_penalty");
    assert_null(s);
    assert_weft_fails(weft_sampler_create(NULL, NULL, &s), WEFT_E_NULL);
}

/* A chain is data: its order counts, steps may be left out or come after others. */
static void test_chains(void **state) {
    (void)state;
    float logits[] = {3, 2, 1, 0};
    int32_t token;
    weft_sampler_options o = weft_sampler_options_default();
    o.temperature = 0;
    o.chain = "top-k; temperature";
    o.repeat_penalty = 100; /* not in the chain */
    weft_sampler *s = create(o);
    assert_int_equal(s->n_steps, 2);
    assert_weft_ok(weft_sampler_accept(s, 0));
    assert_weft_ok(weft_sampler_choose(s, logits, 4, &token));
    assert_int_equal(token, 0);
    weft_sampler_release(&s);
    o.chain = "top_k;penalties;temperature"; /* among the two that top-k leaves */
    o.top_k = 2;
    s = create(o);
    assert_weft_ok(weft_sampler_accept(s, 0));
    assert_weft_ok(weft_sampler_accept(s, 1));
    logits[2] = 1.9f;
    assert_weft_ok(weft_sampler_choose(s, logits, 4, &token));
    assert_int_equal(token, 0);
    weft_sampler_release(&s);
    o.chain = "penalties;top_k;temperature";
    s = create(o);
    assert_weft_ok(weft_sampler_accept(s, 0));
    assert_weft_ok(weft_sampler_accept(s, 1));
    assert_weft_ok(weft_sampler_choose(s, logits, 4, &token));
    assert_int_equal(token, 2);
    weft_sampler_release(&s);
    o.chain = "top_k;topp";
    assert_weft_fails(weft_sampler_create(engine, &o, &s), WEFT_E_ARGUMENT);
    assert_detail_has("topp");
    o.chain = "top_k";
    o.mirostat = 2;
    assert_weft_fails(weft_sampler_create(engine, &o, &s), WEFT_E_ARGUMENT);
}

static weft_status only_odd(void *ctx, size_t n_vocab, const uint64_t **bits) {
    static const uint64_t odd[] = {0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa};
    assert_true(n_vocab <= 128);
    *bits = *(bool *)ctx ? odd : NULL;
    return WEFT_OK;
}

static void test_masks_and_biases(void **state) {
    (void)state;
    float logits[100];
    for (int i = 0; i < 100; i++)
        logits[i] = i % 2 ? 0.01f * (float)i : 10;
    bool on = true;
    int32_t token;
    for (int greedy = 0; greedy < 2; greedy++) {
        weft_sampler_options o = weft_sampler_options_default();
        o.temperature = greedy ? 0 : 1;
        weft_sampler *s = create(o);
        weft_sampler_set_mask(s, only_odd, &on);
        for (int i = 0; i < 50; i++) {
            assert_weft_ok(weft_sampler_choose(s, logits, 100, &token));
            assert_int_equal(token % 2, 1);
            if (greedy)
                assert_int_equal(token, 99);
        }
        on = false;
        assert_weft_ok(weft_sampler_choose(s, logits, 100, &token));
        assert_int_equal(token % 2, 0);
        on = true;
        weft_sampler_release(&s);
    }
    weft_sampler_options o = weft_sampler_options_default();
    o.temperature = 0;
    o.logit_bias = &(weft_logit_bias){3, 100};
    o.n_logit_bias = 1;
    weft_sampler *s = create(o);
    assert_weft_ok(weft_sampler_choose(s, logits, 100, &token));
    assert_int_equal(token, 3);
    assert_weft_fails(weft_sampler_choose(s, logits, 3, &token), WEFT_E_RANGE);
    assert_detail_has("3");
    weft_sampler_release(&s);
}

static void test_logprobs(void **state) {
    (void)state;
    float logits[] = {0, 1, NAN, 1, -INFINITY, -2}, l;
    double sum = 1 + 2 * exp(1) + exp(-2);
    weft_logprob top[10];
    size_t n;
    assert_weft_ok(weft_logprobs(logits, 6, 5, &l, top, 3, &n));
    assert_float_equal(l, -2 - log(sum), 1e-6);
    assert_int_equal(n, 3);
    assert_int_equal(top[0].token, 1);
    assert_int_equal(top[1].token, 3);
    assert_int_equal(top[2].token, 0);
    assert_float_equal(top[0].logprob, 1 - log(sum), 1e-6);
    assert_weft_ok(weft_logprobs(logits, 6, 4, &l, top, 10, &n));
    assert_true(isinf(l) && l < 0);
    assert_int_equal(n, 4);
    assert_weft_fails(weft_logprobs(logits, 6, 6, &l, NULL, 0, NULL), WEFT_E_RANGE);
    logits[0] = INFINITY;
    assert_weft_ok(weft_logprobs(logits, 6, 0, &l, top, 1, &n));
    assert_float_equal(l, 0, 0);
}

static void test_exponentials_of_a_row(void **state) {
    (void)state;
    double x[1000], e[1000];
    for (int i = 0; i < 1000; i++)
        x[i] = 5 - 0.7013 * i;
    x[999] = -INFINITY;
    weft_exact_exp_row(x, 5, e, 1000);
    assert_true(e[0] == 1 && e[999] == 0);
    for (int i = 0; i < 999; i++)
        assert_true(fabs(e[i] / exp(x[i] - 5) - 1) < 1e-9 || x[i] - 5 < -699);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_cases),
        cmocka_unit_test(test_same_seed_same_tokens),
        cmocka_unit_test(test_random_numbers_are_fixed),
        cmocka_unit_test(test_frequencies_follow_the_probabilities),
        cmocka_unit_test(test_greedy_takes_the_lowest_id_of_a_tie),
        cmocka_unit_test(test_one_candidate_equals_greedy),
        cmocka_unit_test(test_penalty_window_slides),
        cmocka_unit_test(test_bad_options_are_refused),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_masks_and_biases),
        cmocka_unit_test(test_logprobs),
        cmocka_unit_test(test_exponentials_of_a_row),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
