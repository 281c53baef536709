/* The router of a mixture of experts: scores, the choice of the best experts within the best
 * groups, and their weights. A row's experts are few and its scores short, so that a row is done at
 * once. */
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "tensor/experts.h"
#include "tensor/walk.h"

typedef struct route_job {
    const weft_kernels *k;
    weft_router router;
    const float *logits;     /* [T, n], row step `row` */
    const float *correction; /* [n] or NULL */
    int64_t row, correction_step;
    size_t n, n_used, n_group, group; /* group: experts in one */
    int32_t *chosen;                  /* [T, n_used] */
    float *weights;                   /* [T, n_used] */
    float *scratch;                   /* a thread: scores [n], merits [n], groups [n_group] */
    size_t scratch_floats;
} route_job;

/* The best of merits[n], ties to the lowest; NaN is the worst, so that there is always one. */
static size_t best_of(const float *merits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (merits[i] > merits[best] || (isnan(merits[best]) && !isnan(merits[i])))
            best = i;
    return best;
}

static float group_merit(const route_job *j, float *merits) {
    size_t first = best_of(merits, j->group);
    if (!j->router.group_by_two || j->group < 2)
        return merits[first];
    float best = merits[first];
    merits[first] = -INFINITY;
    float sum = best + merits[best_of(merits, j->group)];
    merits[first] = best;
    return sum;
}

/* Experts outside of the best groups are out of the choice. */
static void keep_groups(const route_job *j, float *merits, float *groups) {
    for (size_t g = 0; g < j->n_group; g++)
        groups[g] = group_merit(j, merits + g * j->group);
    for (int32_t i = 0; i < j->router.n_group_used; i++)
        groups[best_of(groups, j->n_group)] = NAN; /* the next search passes over it */
    for (size_t g = 0; g < j->n_group; g++)
        if (!isnan(groups[g]))
            for (size_t e = 0; e < j->group; e++)
                merits[g * j->group + e] = -INFINITY;
}

static void weigh(const route_job *j, float *weights) {
    const weft_router *r = &j->router;
    if (r->scores == WEFT_SCORES_SOFTMAX_CHOSEN)
        j->k->softmax(weights, j->n_used, weights);
    float sum = 0;
    for (size_t i = 0; i < j->n_used; i++)
        sum += weights[i];
    if (r->normalise && r->scores != WEFT_SCORES_SOFTMAX_CHOSEN)
        for (size_t i = 0; i < j->n_used; i++)
            weights[i] /= sum + 1e-20f;
    for (size_t i = 0; i < j->n_used && r->scale != 1; i++)
        weights[i] *= r->scale;
}

static void route_rows(void *ctx, size_t begin, size_t end, int thread) {
    const route_job *j = ctx;
    float *scores = j->scratch + (size_t)thread * j->scratch_floats;
    float *merits = scores + j->n, *groups = merits + j->n;
    for (size_t t = begin; t < end; t++) {
        const float *logits = j->logits + (int64_t)t * j->row;
        if (j->router.scores == WEFT_SCORES_SOFTMAX)
            j->k->softmax(logits, j->n, scores);
        else if (j->router.scores == WEFT_SCORES_SIGMOID)
            j->k->sigmoid(logits, j->n, scores);
        else
            memcpy(scores, logits, j->n * sizeof *scores);
        for (size_t e = 0; e < j->n; e++)
            merits[e] = j->correction ? scores[e] + j->correction[(int64_t)e * j->correction_step]
                                      : scores[e];
        if (j->n_group > 1 && j->router.n_group_used > 0)
            keep_groups(j, merits, groups);
        for (size_t i = 0; i < j->n_used; i++) {
            size_t e = best_of(merits, j->n);
            j->chosen[t * j->n_used + i] = (int32_t)e;
            j->weights[t * j->n_used + i] = scores[e];
            merits[e] = NAN; /* out of the choice */
        }
        weigh(j, j->weights + t * j->n_used);
    }
}

static bool check(weft_scope *s, const weft_tensor *logits, const weft_tensor *correction,
                  int32_t n_used, const weft_router *r) {
    char sl[96], sc[96] = "none";
    bool fits = logits->rank == 2 && n_used >= 1 && n_used <= logits->dims[1] &&
                (logits->strides[1] == 1 || logits->dims[1] == 1) && logits->dtype == WEFT_F32;
    if (correction)
        fits = fits && correction->rank == 1 && correction->dims[0] == logits->dims[1] &&
               correction->dtype == WEFT_F32;
    if (fits && r->n_group > 1)
        fits = logits->dims[1] % r->n_group == 0 && r->n_group_used >= 0 &&
               r->n_group_used <= r->n_group;
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, "route",
                        "logits %s %s, correction %s, %d experts a row, %d of %d groups do not fit",
                        weft_shape_text(logits, sl, sizeof sl), weft_dtype_name(logits->dtype),
                        correction ? weft_shape_text(correction, sc, sizeof sc) : sc, n_used,
                        r->n_group_used, r->n_group);
    return fits;
}

weft_status weft_route(weft_scope *s, weft_tensor *logits, weft_tensor *correction, int32_t n_used,
                       const weft_router *router, weft_tensor **chosen, weft_tensor **weights) {
    const char *name = "route";
    weft_tensor *inputs[] = {logits, correction};
    size_t n_inputs = correction ? 2 : 1;
    *chosen = *weights = NULL;
    if (!weft_scope_ready(s, name, inputs, n_inputs) || !weft_op_plain(s, name, logits) ||
        (correction && !weft_op_plain(s, name, correction)) ||
        !check(s, logits, correction, n_used, router))
        return weft_scope_status(s);
    int64_t dims[2] = {logits->dims[0], n_used};
    weft_tensor *c = weft_scope_new(s, name, WEFT_I32, 2, dims);
    weft_tensor *w = weft_scope_new(s, name, WEFT_F32, 2, dims);
    weft_op op;
    if (!c || !w || !weft_op_begin(&op, s, name, inputs, n_inputs))
        return weft_scope_status(s);
    route_job j = {.k = weft_scope_kernels(s),
                   .router = *router,
                   .logits = weft_tensor_data(logits),
                   .row = logits->strides[0],
                   .n = (size_t)logits->dims[1],
                   .n_used = (size_t)n_used,
                   .n_group = router->n_group > 1 ? (size_t)router->n_group : 1,
                   .chosen = weft_tensor_data(c),
                   .weights = weft_tensor_data(w)};
    j.group = j.n / j.n_group;
    if (correction) {
        j.correction = weft_tensor_data(correction);
        j.correction_step = correction->strides[0];
    }
    j.scratch_floats = 2 * j.n + j.n_group;
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    j.scratch = weft_scope_scratch(
        s, name, weft_size_of(weft_size_of(threads, j.scratch_floats), sizeof *j.scratch));
    if (j.scratch) {
        weft_op_loop(s, (size_t)dims[0], (4 + j.n_used) * j.n, route_rows, &j);
        *chosen = c;
        *weights = w;
    }
    weft_op_end(&op);
    return weft_scope_status(s);
}
