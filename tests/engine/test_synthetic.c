/* What extra/bench.h gives: models of random weights that are the same every time, what a token
 * costs, limits that are there, kernels that are all timed, and profiles that count every op. */
#include "test.h"
#include <math.h>
#include <weft/extra/bench.h>
#include <weft/weft.h>

#define N 40

static weft_engine *engine_of(int n_threads, const char *cpu) {
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = n_threads;
    options.cpu = cpu;
    options.numbers = WEFT_NUMBERS_REPRODUCIBLE;
    weft_engine *engine;
    assert_weft_ok(weft_engine_create(&options, &engine));
    return engine;
}

static weft_session *session_of(weft_model *model) {
    weft_session_options options = weft_session_options_default();
    options.n_context = 256;
    weft_session *session;
    assert_weft_ok(weft_session_create(model, &options, &session));
    return session;
}

static void some_ids(int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(i * 37 % 320);
}

/* Logits [n_vocab] after N tokens of a fresh model; freed by the caller. */
static float *logits_of(int n_threads, const char *cpu, weft_dtype type, size_t *n_vocab) {
    weft_engine *engine = engine_of(n_threads, cpu);
    weft_model *model;
    int32_t ids[N];
    some_ids(ids, N);
    assert_weft_ok(weft_model_synthetic(engine, "llama-test", type, false, NULL, NULL, &model));
    weft_session *session = session_of(model);
    assert_weft_ok(weft_session_eval(session, ids, N));
    *n_vocab = (size_t)weft_model_get_info(model).n_vocab;
    float *copy = malloc(*n_vocab * sizeof *copy);
    memcpy(copy, weft_session_logits(session), *n_vocab * sizeof *copy);
    weft_session_release(&session);
    weft_model_release(&model);
    weft_engine_release(&engine);
    return copy;
}

static void test_same_weights_every_time(void **state) {
    (void)state;
    static const weft_dtype types[] = {
        WEFT_F32,    WEFT_F16,   WEFT_BF16,  WEFT_Q4_0,    WEFT_Q4_1,  WEFT_Q5_0,  WEFT_Q5_1,
        WEFT_Q8_0,   WEFT_Q4_K,  WEFT_Q5_K,  WEFT_Q6_K,    WEFT_IQ1_S, WEFT_IQ1_M, WEFT_IQ2_XXS,
        WEFT_IQ2_XS, WEFT_IQ2_S, WEFT_IQ3_S, WEFT_IQ3_XXS, WEFT_TQ1_0, WEFT_TQ2_0, WEFT_NVFP4};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t n, again;
        float *a = logits_of(1, NULL, types[i], &n), *b = logits_of(3, "scalar", types[i], &again);
        double square = 0;
        assert_int_equal(n, again);
        assert_memory_equal(a, b, n * sizeof *a);
        for (size_t k = 0; k < n; k++) {
            assert_true(isfinite(a[k]));
            square += (double)a[k] * a[k];
        }
        /* Neither all alike nor out of proportion. */
        assert_true(square / (double)n > 0.01 && square / (double)n < 100);
        free(a);
        free(b);
    }
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    assert_true(done > 0 && done <= total);
    ++*(int *)ctx;
    return false;
}

static void test_bad_arguments_are_named(void **state) {
    (void)state;
    weft_engine *engine = engine_of(1, NULL);
    weft_model *model;
    int calls = 0;
    assert_weft_fails(weft_model_synthetic(engine, "llama-9t", WEFT_F16, false, NULL, NULL, &model),
                      WEFT_E_ARGUMENT);
    assert_detail_has("llama-9t");
    assert_weft_fails(
        weft_model_synthetic(engine, "llama-test", WEFT_I32, false, NULL, NULL, &model),
        WEFT_E_UNSUPPORTED);
    assert_detail_has("i32");
    assert_weft_fails(
        weft_model_synthetic(engine, "llama-test", WEFT_Q8_0, false, stop_at_once, &calls, &model),
        WEFT_E_CANCELLED);
    assert_int_equal(calls, 1);
    assert_weft_fails(weft_model_synthetic(NULL, "llama-test", WEFT_F16, false, NULL, NULL, &model),
                      WEFT_E_NULL);
    assert_null(model);
    weft_engine_release(&engine);
}

/* llama-test: 2 layers, 512 wide, 8 heads and 2 KV heads of 64, ff 512, vocabulary 320. */
static void test_cost_is_what_the_shape_says(void **state) {
    (void)state;
    weft_engine *engine = engine_of(1, NULL);
    weft_model *model;
    assert_weft_ok(weft_model_synthetic(engine, "llama-test", WEFT_F16, false, NULL, NULL, &model));
    weft_model_cost first = weft_model_get_cost(model, 0, WEFT_F16);
    weft_model_cost deep = weft_model_get_cost(model, 99, WEFT_F32);
    uint64_t layer = 2 * 512 * 512 + 2 * 128 * 512 + 3 * 512 * 512, output = 320 * 512;
    assert_int_equal(first.weight_ops, 2 * (2 * layer + output));
    assert_int_equal(first.output_ops, 2 * output);
    assert_int_equal(first.cache_bytes, 2 * 2 * 2 * 128);
    assert_int_equal(deep.cache_bytes, 100 * 2 * first.cache_bytes);
    assert_int_equal(deep.cache_ops, 100 * 2 * 4 * 512);
    /* All matrices once, norms as f32, and one row of the embedding. */
    assert_int_equal(first.weight_bytes, 2 * (2 * layer + output) + 5 * 512 * 4 + 512 * 2);
    assert_false(first.quantized);
    weft_model_release(&model);
    weft_engine_release(&engine);
}

static void test_limits_are_there(void **state) {
    (void)state;
    weft_engine *engine = engine_of(2, NULL);
    weft_limits limits;
    assert_weft_ok(weft_measure_limits(engine, "scalar", &limits));
    assert_string_equal(limits.cpu, "scalar");
    assert_true(limits.read_one > 1e6 && limits.read_all > 1e6);
    assert_true(limits.f32_one > 1e6 && limits.int8_all > 1e6);
    assert_weft_fails(weft_measure_limits(engine, "z80", &limits), WEFT_E_ARGUMENT);
    weft_engine_release(&engine);
}

typedef struct timed_kernels {
    size_t n_scalar, n;
} timed_kernels;

static bool count_kernel(void *ctx, const weft_kernel_time *time) {
    timed_kernels *k = ctx;
    assert_true(time->seconds > 0 && time->bytes > 0);
    assert_non_null(strstr(time->name, time->variant));
    assert_non_null(strstr(time->name, "add"));
    k->n++;
    k->n_scalar += strcmp(time->variant, "scalar") == 0;
    return true;
}

static void test_kernels_are_timed(void **state) {
    (void)state;
    weft_engine *engine = engine_of(1, NULL);
    timed_kernels k = {0};
    assert_weft_ok(weft_time_kernels(engine, "add_f32", 0.001, count_kernel, &k));
    assert_int_equal(k.n_scalar, 1);
    assert_true(strcmp(weft_engine_cpu(engine), "scalar") == 0 || k.n > 1);
    assert_weft_fails(weft_time_kernels(engine, "no such", 0.001, count_kernel, &k),
                      WEFT_E_NOT_FOUND);
    weft_engine_release(&engine);
}

static uint64_t calls_of(const weft_profile *profile, const char *place, const char *op) {
    weft_profile_row row;
    for (size_t i = 0; weft_profile_get_row(profile, i, &row); i++)
        if (!strcmp(row.place, place) && !strcmp(row.op, op))
            return row.calls;
    return 0;
}

static void test_profile_counts_every_op(void **state) {
    (void)state;
    weft_engine *engine = engine_of(2, NULL);
    weft_model *model;
    weft_profile *profile, *second;
    int32_t ids[N];
    some_ids(ids, N);
    assert_weft_ok(
        weft_model_synthetic(engine, "llama-test", WEFT_Q4_0, false, NULL, NULL, &model));
    weft_session *session = session_of(model);
    assert_weft_ok(weft_profile_create(engine, 16, &profile));
    assert_weft_fails(weft_profile_create(engine, 0, &second), WEFT_E_BUSY);
    assert_weft_ok(weft_session_eval(session, ids, N));
    weft_profile_clear(profile);
    for (int i = 0; i < 3; i++)
        assert_weft_ok(weft_session_eval(session, ids + i, 1));
    assert_int_equal(calls_of(profile, "step", "step"), 3);
    assert_int_equal(calls_of(profile, "embedding", "embedding"), 3);
    assert_int_equal(calls_of(profile, "attention", "attention"), 3 * 2);
    assert_int_equal(calls_of(profile, "output", "linear"), 3);
    assert_true(calls_of(profile, "feed forward", "linear") >= 3 * 2);

    /* The ring keeps the last ones: the end is the end of the last step. */
    weft_profile_event event, last = {0};
    size_t n = 0;
    while (weft_profile_get_event(profile, n, &event)) {
        assert_true(event.seconds >= 0 && event.begin >= 0);
        last = event;
        n++;
    }
    assert_int_equal(n, 16);
    assert_true(weft_profile_n_lost(profile) > 0);
    assert_string_equal(last.op, "step");

    /* The weights that the feed-forward network read, three times in each of two layers. */
    weft_profile_row row;
    uint64_t weights = 3 * 2 * (uint64_t)(3 * 512 * 512 / 32 * 18), bytes = 0;
    for (size_t i = 0; weft_profile_get_row(profile, i, &row); i++)
        if (!strcmp(row.place, "feed forward") && strstr(row.op, "linear"))
            bytes += row.bytes;
    assert_true(bytes >= weights && bytes < weights + weights / 20);

    weft_profile_release(&profile);
    assert_null(profile);
    assert_weft_ok(weft_session_eval(session, ids, 1)); /* nobody records */
    weft_session_release(&session);
    weft_model_release(&model);
    weft_engine_release(&engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_weights_every_time),
        cmocka_unit_test(test_bad_arguments_are_named),
        cmocka_unit_test(test_cost_is_what_the_shape_says),
        cmocka_unit_test(test_limits_are_there),
        cmocka_unit_test(test_kernels_are_timed),
        cmocka_unit_test(test_profile_counts_every_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
