/* Mixtures of experts: the router against naive f64, and linears of experts with the bits of
 * weft_linear, whatever the layout, the batch and the threads. */
#include "ops_test.h"
#include "tensor/experts.h"
#include "tensor/kernels/panel.h"

enum { N_EXPERT = 6, N_USED = 3 };

static int32_t *ids_of(weft_tensor *t) {
    int32_t *ids = calloc((size_t)weft_tensor_numel(t) + 1, sizeof *ids);
    assert_weft_ok(weft_tensor_read(t, ids, (size_t)weft_tensor_numel(t) * sizeof *ids));
    return ids;
}

/* ---- The router ---- */

static double score_of(weft_scores scores, const double *logits, int64_t e) {
    double sum = 0;
    for (int64_t i = 0; i < N_EXPERT; i++)
        sum += exp(logits[i]);
    if (scores == WEFT_SCORES_SIGMOID)
        return 1 / (1 + exp(-logits[e]));
    return scores == WEFT_SCORES_SOFTMAX ? exp(logits[e]) / sum : logits[e];
}

static void check_row(const weft_router *r, const double *logits, const double *correction,
                      const int32_t *chosen, const double *weights) {
    double score[N_EXPERT], merit[N_EXPERT], sum = 0, soft = 0;
    for (int64_t e = 0; e < N_EXPERT; e++) {
        score[e] = score_of(r->scores, logits, e);
        merit[e] = score[e] + (correction ? correction[e] : 0);
    }
    if (r->n_group == 2) { /* one group of two is used: that of the better best, or best two */
        double best[2];
        for (int g = 0; g < 2; g++) {
            double *m = merit + 3 * g, first = fmax(fmax(m[0], m[1]), m[2]);
            double last = fmin(fmin(m[0], m[1]), m[2]);
            best[g] = r->group_by_two ? m[0] + m[1] + m[2] - last : first;
        }
        for (int e = 0; e < 3; e++)
            merit[(best[0] >= best[1] ? 3 : 0) + e] = -INFINITY;
    }
    for (int i = 0; i < N_USED; i++) {
        int64_t want = 0;
        for (int64_t e = 1; e < N_EXPERT; e++)
            want = merit[e] > merit[want] ? e : want;
        assert_int_equal(chosen[i], want);
        merit[want] = -INFINITY;
        sum += score[want];
        soft += exp(score[want]);
    }
    for (int i = 0; i < N_USED; i++) {
        double want = score[chosen[i]];
        if (r->scores == WEFT_SCORES_SOFTMAX_CHOSEN)
            want = exp(want) / soft;
        else if (r->normalise)
            want /= sum;
        assert_close(weights[i], want * r->scale, 1e-6, "weight", (size_t)i);
    }
}

static void test_router(void **state) {
    fixture *f = *state;
    static const weft_router routers[] = {
        {WEFT_SCORES_SOFTMAX, false, 1, 0, 0, false},
        {WEFT_SCORES_SOFTMAX, true, 2.5f, 1, 0, false},
        {WEFT_SCORES_SOFTMAX_CHOSEN, false, 1, 0, 0, false},
        {WEFT_SCORES_SIGMOID, true, 1, 2, 1, true},
        {WEFT_SCORES_SIGMOID, true, 0.5f, 2, 1, false},
    };
    int64_t shape[] = {40, N_EXPERT}, n = N_EXPERT;
    for (size_t i = 0; i < sizeof routers / sizeof *routers; i++) {
        weft_tensor *logits = random_packed(f, WEFT_F32, 2, shape), *chosen, *weights;
        weft_tensor *correction = i % 2 ? random_packed(f, WEFT_F32, 1, &n) : NULL;
        assert_weft_ok(
            weft_route(f->s, logits, correction, N_USED, &routers[i], &chosen, &weights));
        double *l = elements(logits), *w = elements(weights);
        double *c = correction ? elements(correction) : NULL;
        int32_t *ids = ids_of(chosen);
        for (int64_t t = 0; t < shape[0]; t++)
            check_row(&routers[i], l + t * N_EXPERT, c, ids + t * N_USED, w + t * N_USED);
        free(l), free(w), free(c), free(ids);
    }
}

/* Equal scores: the lower number; a row of NaN still has distinct experts. */
static void test_router_of_ties_and_nan(void **state) {
    fixture *f = *state;
    int64_t shape[] = {2, N_EXPERT};
    float data[2 * N_EXPERT] = {0};
    for (int e = 0; e < N_EXPERT; e++)
        data[N_EXPERT + e] = NAN;
    weft_router r = {.scores = WEFT_SCORES_SOFTMAX_CHOSEN, .scale = 1};
    weft_tensor *logits = weft_from_data(f->s, WEFT_F32, 2, shape, data, sizeof data);
    weft_tensor *chosen, *weights;
    assert_weft_ok(weft_route(f->s, logits, NULL, N_USED, &r, &chosen, &weights));
    int32_t *ids = ids_of(chosen);
    for (int i = 0; i < N_USED; i++) {
        assert_int_equal(ids[i], i);
        assert_in_range(ids[N_USED + i], 0, N_EXPERT - 1);
    }
    free(ids);
}

/* ---- Linears ---- */

/* A stack as in a file, and as panels. */
static weft_tensor *random_stack(fixture *f, weft_dtype type, int64_t n_out, int64_t n_in) {
    int64_t dims[] = {N_EXPERT, n_out, n_in};
    weft_tensor *t = random_packed(f, WEFT_F32, 3, dims);
    return type == WEFT_F32 ? t : weft_cache_rows(f->s, t, type);
}

static weft_tensor *packed_stack(fixture *f, weft_tensor *stack) {
    int64_t rows =
        (weft_tensor_dim(stack, 1) + WEFT_PANEL_ROWS - 1) / WEFT_PANEL_ROWS * WEFT_PANEL_ROWS;
    int64_t dims[] = {rows * N_EXPERT, weft_tensor_dim(stack, 2)};
    weft_allocator a = weft_allocator_system();
    weft_tensor *panels;
    assert_weft_ok(weft_tensor_create_heap(&a, weft_tensor_dtype(stack), WEFT_LAYOUT_PANEL16, 2,
                                           dims, true, &panels));
    for (int64_t e = 0; e < N_EXPERT; e++)
        assert_weft_ok(weft_tensor_pack_into(
            f->engine, weft_tensor_select(f->s, stack, 0, (size_t)e), panels, e * rows));
    return panels;
}

/* Row by row what weft_linear gives. */
static weft_tensor *by_linear(fixture *f, weft_tensor *x, weft_tensor *stack, weft_tensor *bias,
                              const int32_t *chosen, int64_t n_rows) {
    weft_tensor *rows[256];
    for (int64_t i = 0; i < n_rows * N_USED; i++) {
        size_t e = (size_t)chosen[i];
        weft_tensor *row =
            weft_tensor_rank(x) == 2
                ? weft_tensor_narrow(f->s, x, 0, (size_t)(i / N_USED), 1)
                : weft_tensor_narrow(f->s, weft_tensor_select(f->s, x, 0, (size_t)(i / N_USED)), 0,
                                     (size_t)(i % N_USED), 1);
        rows[i] = weft_linear(f->s, row, weft_tensor_select(f->s, stack, 0, e),
                              bias ? weft_tensor_select(f->s, bias, 0, e) : NULL);
    }
    int64_t dims[] = {n_rows, N_USED, weft_tensor_dim(stack, 1)};
    return weft_tensor_reshape(f->s, weft_concat(f->s, rows, (size_t)(n_rows * N_USED), 0), 3,
                               dims);
}

static void check_experts(fixture *f, weft_dtype type, int64_t n_rows, int64_t n_out, bool apart) {
    int64_t n_in = 64, flat[] = {n_rows, n_in}, each[] = {n_rows, N_USED, n_in};
    int64_t biases[] = {N_EXPERT, n_out}, logits[] = {n_rows, N_EXPERT};
    weft_router r = {.scores = WEFT_SCORES_SOFTMAX, .scale = 1};
    weft_tensor *x = random_packed(f, WEFT_F32, apart ? 3 : 2, apart ? each : flat);
    weft_tensor *chosen, *weights, *y[2], *again[2];
    assert_weft_ok(weft_route(f->s, random_packed(f, WEFT_F32, 2, logits), NULL, N_USED, &r,
                              &chosen, &weights));
    weft_tensor *a = random_stack(f, type, n_out, n_in), *b = random_stack(f, type, n_out, n_in);
    weft_tensor *bias = random_packed(f, WEFT_F32, 2, biases);
    weft_expert_stack stacks[] = {{a, NULL, n_out}, {b, bias, n_out}};
    assert_weft_ok(weft_experts(f->s, x, chosen, N_EXPERT, stacks, 2, y));
    int32_t *ids = ids_of(chosen);
    assert_same_bits(y[0], by_linear(f, x, a, NULL, ids, n_rows));
    assert_same_bits(y[1], by_linear(f, x, b, bias, ids, n_rows));
    weft_tensor *pa = packed_stack(f, a), *pb = packed_stack(f, b);
    weft_expert_stack packed[] = {{pa, NULL, n_out}, {pb, bias, n_out}};
    assert_weft_ok(weft_experts(f->s, x, chosen, N_EXPERT, packed, 2, again));
    assert_same_bits(again[0], y[0]);
    assert_same_bits(again[1], y[1]);
    double *rows = elements(y[0]), *w = elements(weights);
    weft_tensor *sum = weft_experts_sum(f->s, y[0], weights);
    double *s = elements(sum);
    for (int64_t t = 0; t < n_rows; t++)
        for (int64_t i = 0; i < n_out; i++) {
            double want = 0;
            for (int64_t k = 0; k < N_USED; k++)
                want += w[t * N_USED + k] * rows[(t * N_USED + k) * n_out + i];
            assert_close(s[t * n_out + i], want, 1e-5, "sum", (size_t)i);
        }
    scope_ok(f->s);
    weft_tensor_release(&pa);
    weft_tensor_release(&pb);
    free(ids), free(rows), free(w), free(s);
    assert_weft_ok(weft_scope_reset(f->s));
}

static void test_linears_of_experts(void **state) {
    (void)state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_Q8_0};
    static const int64_t rows[] = {1, 2, 7, 40};
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
        fixture *f = open_fixture(n_threads, WEFT_NUMBERS_REPRODUCIBLE);
        for (size_t t = 0; t < 4; t++)
            for (size_t i = 0; i < 4; i++) {
                check_experts(f, types[t], rows[i], 48, false);
                check_experts(f, types[t], rows[i], 21, true); /* no whole panels */
            }
        close_fixture(f);
    }
}

static void test_what_does_not_fit_is_refused(void **state) {
    fixture *f = *state;
    int64_t flat[] = {2, 64}, used[] = {2, 2};
    int32_t outside[] = {0, 1, 5, N_EXPERT};
    weft_tensor *x = random_packed(f, WEFT_F32, 2, flat), *y;
    weft_tensor *chosen = weft_from_data(f->s, WEFT_I32, 2, used, outside, sizeof outside);
    weft_expert_stack stack = {random_stack(f, WEFT_F32, 32, 64), NULL, 32};
    assert_weft_fails(weft_experts(f->s, x, chosen, N_EXPERT, &stack, 1, &y), WEFT_E_RANGE);
    assert_null(y);
    assert_weft_ok(weft_scope_reset(f->s));
    x = random_packed(f, WEFT_F32, 2, flat);
    outside[3] = 0;
    chosen = weft_from_data(f->s, WEFT_I32, 2, used, outside, sizeof outside);
    stack.stack = random_stack(f, WEFT_F32, 32, 32);
    assert_weft_fails(weft_experts(f->s, x, chosen, N_EXPERT, &stack, 1, &y), WEFT_E_SHAPE);
    assert_weft_ok(weft_scope_reset(f->s));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(test_router),
        T(test_router_of_ties_and_nan),
        cmocka_unit_test(test_linears_of_experts),
        T(test_what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
