/* Samplers: every reference case that uses only the steps there are, and what a user of a sampler
 * relies on: seeds, ties, odd logits, history. */
#include <math.h>
#include "base/detail.h"
#include "base/engine_impl.h"
#include "base/file.h"
#include "base/json.h"
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

/* Reads the options; false when a parameter belongs to a step that is not there. */
static bool read_options(const weft_json *params, weft_sampler_options *o) {
    void *cursor = NULL;
    const char *name;
    const weft_json *v;
    *o = (weft_sampler_options){
        .temperature = 1, .top_p = 1, .repeat_penalty = 1, .penalty_last_n = 64};
    while (weft_json_next(params, &cursor, &name, &v)) {
        if (!strcmp(name, "temperature"))
            o->temperature = (float)number(v);
        else if (!strcmp(name, "top_k"))
            o->top_k = (int32_t)weft_json_integer(v);
        else if (!strcmp(name, "top_p"))
            o->top_p = (float)number(v);
        else if (!strcmp(name, "min_p"))
            o->min_p = (float)number(v);
        else if (!strcmp(name, "repeat_penalty"))
            o->repeat_penalty = (float)number(v);
        else if (!strcmp(name, "penalty_last_n"))
            o->penalty_last_n = (int32_t)weft_json_integer(v);
        else
            return false;
    }
    return true;
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
    weft_status st =
        weft_sampler_choose_with(s, logits, n, number(weft_json_get(item, "u")), &token);
    if (weft_json_get(expected, "error")) {
        assert_int_equal(st, WEFT_E_NO_CANDIDATES);
    } else {
        assert_int_equal(st, WEFT_OK);
        check_candidates(name, s, weft_json_get(expected, "candidates"));
        if (token != weft_json_integer(weft_json_get(expected, "token")))
            fail_msg("%s: token %d", name, token);
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
    size_t done = 0, n = weft_json_length(cases);
    for (size_t i = 0; i < n; i++) {
        weft_sampler_options options;
        if (!read_options(weft_json_get(weft_json_item(cases, i), "params"), &options))
            continue;
        run_case(weft_json_item(cases, i), &options);
        done++;
    }
    print_message("%zu of %zu cases use only the steps there are\n", done, n);
    assert_true(done >= 40);
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
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
