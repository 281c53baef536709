/* Layers with a recurrent state against naive f64, and the same bits in whatever pieces, batches,
 * variants and numbers of threads they are run. */
#include "ops_test.h"

enum { MOST = 5 }; /* inputs that have a row a token */

typedef enum op_kind { CONV, DELTA, SCAN, HEADS, N_OPS } op_kind;
static const char *const op_names[] = {"short_conv", "delta_rule", "ssm by channel", "ssm by head"};

/* One problem of any op, as plain numbers: inputs of `n` tokens and weights. */
typedef struct problem {
    op_kind kind;
    size_t n, heads, heads_k, dim, dim_k; /* conv: dim channels, dim_k taps; ssm: dim_k states */
    bool silu, tiled, biased;
    size_t n_inputs, width[MOST]; /* floats of a token's row */
    float *rows[MOST];            /* [n, width] */
    float *weights[3];
    size_t n_weights[3];
    size_t out, state; /* floats of a token's result and of a state */
} problem;

static float *random_floats(fixture *f, size_t n, double low, double high) {
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(low + (high - low) * (rng_unit(&f->rng) + 1) / 2);
    return x;
}

static problem make_problem(fixture *f, op_kind kind, size_t n, size_t round) {
    static const size_t dims[] = {1, 16, 7, 40, 64, 100}, states[] = {16, 1, 24, 128, 5, 33};
    size_t d = dims[round % 6], s = states[round % 6], odd = round % 2;
    problem p = {.kind = kind, .n = n, .silu = odd, .tiled = odd, .biased = round % 3 != 0};
    if (kind == CONV) {
        p.dim = 8 * d + 3, p.dim_k = 1 + round % 4, p.heads = 1;
        p.n_inputs = 1, p.width[0] = p.out = p.dim;
        p.n_weights[0] = p.dim * p.dim_k, p.n_weights[1] = p.dim;
        p.state = (p.dim_k - 1) * p.dim;
    } else if (kind == DELTA) {
        p.heads_k = 1 + odd, p.heads = p.heads_k * (1 + round % 3), p.dim = d, p.dim_k = s;
        p.n_inputs = 5;
        p.width[0] = p.width[1] = p.heads_k * s, p.width[2] = p.out = p.heads * d;
        p.width[3] = p.width[4] = p.n_weights[0] = p.n_weights[1] = p.heads;
        p.state = p.heads * s * d;
    } else {
        p.heads_k = kind == SCAN ? 1 : 1 + odd;
        p.heads = kind == SCAN ? 2 * d : p.heads_k * 3, p.dim = kind == SCAN ? 1 : d, p.dim_k = s;
        p.n_inputs = 4, p.width[0] = p.out = p.heads * p.dim, p.width[1] = p.heads;
        p.width[2] = p.width[3] = p.heads_k * s;
        p.n_weights[0] = p.heads * (kind == SCAN ? s : 1);
        p.n_weights[1] = p.n_weights[2] = p.heads;
        p.state = p.heads * p.dim * s;
    }
    for (size_t i = 0; i < p.n_inputs; i++)
        p.rows[i] = random_floats(f, n * p.width[i], -2, 2);
    for (size_t i = 0; i < 3; i++)
        p.weights[i] = random_floats(f, p.n_weights[i], i == 0 && kind != CONV ? -3 : -1,
                                     i == 0 && kind != CONV ? -0.1 : 1);
    return p;
}

static void free_problem(problem *p) {
    for (size_t i = 0; i < p->n_inputs; i++)
        free(p->rows[i]);
    for (size_t i = 0; i < 3; i++)
        free(p->weights[i]);
}

/* ---- Naive ---- */

static double softplus(double x) {
    return x > 30 ? x : log1p(exp(x));
}
static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void naive_conv(const problem *p, double *y) {
    for (size_t t = 0; t < p->n; t++)
        for (size_t c = 0; c < p->dim; c++) {
            double sum = p->biased ? p->weights[1][c] : 0;
            for (size_t j = 0; j < p->dim_k; j++)
                if (t + j + 1 >= p->dim_k)
                    sum += (double)p->weights[0][c * p->dim_k + j] *
                           p->rows[0][(t + j + 1 - p->dim_k) * p->dim + c];
            y[t * p->dim + c] = p->silu ? sum * sigmoid(sum) : sum;
        }
}

static void unit(const float *x, size_t n, double factor, double *y) {
    double sum = 1e-6;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / sqrt(sum) * factor;
}

static void naive_delta(const problem *p, double *y) {
    double *s = calloc(p->state, sizeof *s), q[128], k[128];
    for (size_t t = 0; t < p->n; t++)
        for (size_t h = 0; h < p->heads; h++) {
            size_t hk = p->tiled ? h % p->heads_k : h / (p->heads / p->heads_k);
            size_t at = t * p->heads + h;
            unit(p->rows[0] + (t * p->heads_k + hk) * p->dim_k, p->dim_k,
                 1 / sqrt((double)p->dim_k), q);
            unit(p->rows[1] + (t * p->heads_k + hk) * p->dim_k, p->dim_k, 1, k);
            double decay = exp(p->weights[0][h] * softplus(p->rows[3][at] + p->weights[1][h]));
            for (size_t c = 0; c < p->dim; c++) {
                double *col = s + h * p->dim_k * p->dim + c, seen = 0, out = 0;
                for (size_t i = 0; i < p->dim_k; i++)
                    seen += (col[i * p->dim] *= decay) * k[i];
                double e = (p->rows[2][at * p->dim + c] - seen) * sigmoid(p->rows[4][at]);
                for (size_t i = 0; i < p->dim_k; i++)
                    out += (col[i * p->dim] += k[i] * e) * q[i];
                y[at * p->dim + c] = out;
            }
        }
    free(s);
}

static void naive_ssm(const problem *p, double *y) {
    double *s = calloc(p->state, sizeof *s);
    for (size_t t = 0; t < p->n; t++)
        for (size_t h = 0; h < p->heads; h++) {
            double bias = p->biased ? p->weights[2][h] : 0;
            double dt = softplus(p->rows[1][t * p->heads + h] + bias);
            dt = dt < 0.25 ? 0.25 : dt > 2 ? 2 : dt;
            size_t group = h * p->heads_k / p->heads;
            for (size_t c = 0; c < p->dim; c++) {
                size_t at = (t * p->heads + h) * p->dim + c;
                double x = p->rows[0][at], sum = p->weights[1][h] * x;
                for (size_t i = 0; i < p->dim_k; i++) {
                    double *e = s + (h * p->dim + c) * p->dim_k + i;
                    size_t row = (t * p->heads_k + group) * p->dim_k + i;
                    double a = p->weights[0][p->kind == SCAN ? h * p->dim_k + i : h];
                    *e = *e * exp(dt * a) + dt * x * p->rows[2][row];
                    sum += *e * p->rows[3][row];
                }
                y[at] = sum;
            }
        }
    free(s);
}

/* ---- The ops ---- */

/* Input `i` of tokens [from, to); `wide`: as columns of a wider tensor. */
static weft_tensor *input(weft_scope *s, const problem *p, size_t i, size_t from, size_t to,
                          bool wide, int rank, const int64_t *dims) {
    size_t n = to - from, w = p->width[i], row = wide ? w + 5 : w;
    float *data = malloc((n * row + 1) * sizeof *data);
    for (size_t t = 0; t < n; t++)
        memcpy(data + t * row + (wide ? 3 : 0), p->rows[i] + (from + t) * w, w * sizeof *data);
    weft_tensor *x = weft_from_data(s, WEFT_F32, 2, (int64_t[]){(int64_t)n, (int64_t)row}, data,
                                    n * row * sizeof *data);
    free(data);
    if (wide)
        x = weft_tensor_narrow(s, x, 1, 3, w);
    return weft_tensor_reshape(s, x, rank, dims);
}

static weft_tensor *weight(weft_scope *s, const problem *p, size_t i, int rank,
                           const int64_t *dims) {
    return weft_from_data(s, WEFT_F32, rank, dims, p->weights[i], p->n_weights[i] * sizeof(float));
}

/* Runs tokens [from, to) of the problem. */
static weft_tensor *run_op(weft_scope *s, const problem *p, size_t from, size_t to, bool wide,
                           weft_states *st) {
    int64_t n = (int64_t)(to - from), heads = (int64_t)p->heads, dim = (int64_t)p->dim;
    int64_t heads_k = (int64_t)p->heads_k, dim_k = (int64_t)p->dim_k;
    int64_t rows[] = {n, heads}, values[] = {n, heads, dim}, keys[] = {n, heads_k, dim_k};
    if (p->kind == CONV)
        return weft_short_conv(s, input(s, p, 0, from, to, wide, 2, (int64_t[]){n, dim}),
                               weight(s, p, 0, 2, (int64_t[]){dim, dim_k}),
                               p->biased ? weight(s, p, 1, 1, (int64_t[]){dim}) : NULL, p->silu,
                               st);
    if (p->kind == DELTA) {
        weft_delta_inputs in = {.q = input(s, p, 0, from, to, wide, 3, keys),
                                .k = input(s, p, 1, from, to, wide, 3, keys),
                                .v = input(s, p, 2, from, to, wide, 3, values),
                                .alpha = input(s, p, 3, from, to, wide, 2, rows),
                                .beta = input(s, p, 4, from, to, wide, 2, rows),
                                .a = weight(s, p, 0, 1, &heads),
                                .dt_bias = weight(s, p, 1, 1, &heads),
                                .eps = 1e-6f,
                                .tiled = p->tiled};
        return weft_delta_rule(s, &in, st);
    }
    bool scan = p->kind == SCAN;
    weft_ssm_inputs in = {.x = input(s, p, 0, from, to, wide, scan ? 2 : 3, values),
                          .dt = input(s, p, 1, from, to, wide, 2, rows),
                          .a = weight(s, p, 0, scan ? 2 : 1, (int64_t[]){heads, dim_k}),
                          .b = input(s, p, 2, from, to, wide, 3, keys),
                          .c = input(s, p, 3, from, to, wide, 3, keys),
                          .d = weight(s, p, 1, 1, &heads),
                          .dt_bias = p->biased ? weight(s, p, 2, 1, &heads) : NULL,
                          .dt_low = 0.25f,
                          .dt_high = 2};
    return weft_ssm(s, &in, st);
}

/* `n_slots` states, of which `slot` is `state` (NULL: zeros). */
static weft_tensor *states_of(weft_scope *s, const problem *p, int64_t n_slots, int64_t slot,
                              const float *state) {
    int64_t dims[4] = {n_slots, (int64_t)p->heads, (int64_t)p->dim_k, (int64_t)p->dim};
    int rank = 4;
    if (p->kind == CONV)
        dims[1] = (int64_t)p->dim_k - 1, dims[2] = (int64_t)p->dim, rank = 3;
    else if (p->kind == SCAN)
        rank = 3;
    else if (p->kind == HEADS)
        dims[2] = (int64_t)p->dim, dims[3] = (int64_t)p->dim_k;
    size_t row = p->state + 3; /* slots are rarely all there is */
    float *data = malloc((size_t)n_slots * row * sizeof *data + 1);
    for (size_t i = 0; i < (size_t)n_slots * row; i++)
        data[i] = NAN; /* what no run begins with must not be read */
    for (size_t i = 0; i < p->state && state; i++)
        data[(size_t)slot * row + 1 + i] = state[i];
    int64_t wide[] = {n_slots, (int64_t)row};
    weft_tensor *t =
        weft_from_data(s, WEFT_F32, 2, wide, data, (size_t)n_slots * row * sizeof *data);
    free(data);
    t = weft_tensor_reshape(s, weft_tensor_narrow(s, t, 1, 1, p->state), rank, dims);
    scope_ok(s);
    return t;
}

/* In pieces of the given length (0: uneven); results to y [n, out] and state [state]. */
static void run_in_pieces(weft_scope *s, const problem *p, size_t piece, bool wide, float *y,
                          float *state) {
    for (size_t from = 0; from < p->n;) {
        size_t n = piece ? piece : 1 + from * 5 % 7;
        n = n < p->n - from ? n : p->n - from;
        weft_state_run run = {0, n, from ? 2 : -1};
        weft_states st = {states_of(s, p, 3, 2, from ? state : NULL), &run, 1, NULL};
        weft_tensor *out = run_op(s, p, from, from + n, wide, &st);
        scope_ok(s);
        assert_weft_ok(weft_tensor_read(out, y + from * p->out, n * p->out * sizeof *y));
        assert_weft_ok(weft_tensor_read(st.next, state, p->state * sizeof *state));
        assert_weft_ok(weft_scope_reset(s));
        from += n;
    }
}

static void same(const problem *p, const char *how, const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (weft_bits_of(a[i]) != weft_bits_of(b[i]))
            fail_msg("%s, %s: element %zu is %a, not %a", op_names[p->kind], how, i, (double)b[i],
                     (double)a[i]);
}

static void test_against_naive(void **state) {
    fixture *f = *state;
    for (size_t round = 0; round < 12 * N_OPS; round++) {
        problem p = make_problem(f, (op_kind)(round % N_OPS), 1 + round % 20, round / N_OPS);
        float *y = malloc(p.n * p.out * sizeof *y), *last = malloc((p.state + 1) * sizeof *last);
        double *want = malloc(p.n * p.out * sizeof *want);
        run_in_pieces(f->s, &p, p.n, round % 3 == 0, y, last);
        if (p.kind == CONV)
            naive_conv(&p, want);
        else if (p.kind == DELTA)
            naive_delta(&p, want);
        else
            naive_ssm(&p, want);
        for (size_t i = 0; i < p.n * p.out; i++)
            assert_close(y[i], want[i], 3e-5 * (1 + fabs(want[i])), op_names[p.kind], i);
        free(y), free(last), free(want);
        free_problem(&p);
    }
}

static void test_pieces_variants_and_threads(void **state) {
    fixture *f = *state;
    weft_engine *scalar = make_engine(1, WEFT_NUMBERS_REPRODUCIBLE, "scalar");
    weft_scope *s;
    assert_weft_ok(weft_scope_create(scalar, WEFT_SCOPE_HEAP, &s));
    for (size_t round = 0; round < 6 * N_OPS; round++) {
        problem p = make_problem(f, (op_kind)(round % N_OPS), 23, round / N_OPS);
        float *y[2], *last[2];
        for (int i = 0; i < 2; i++) {
            y[i] = malloc(p.n * p.out * sizeof *y[i]);
            last[i] = malloc((p.state + 1) * sizeof *last[i]);
        }
        run_in_pieces(s, &p, p.n, false, y[0], last[0]);
        for (size_t piece = 0; piece < 2; piece++) {
            run_in_pieces(s, &p, piece, piece, y[1], last[1]);
            same(&p, "in pieces", y[0], y[1], p.n * p.out);
            same(&p, "in pieces, state", last[0], last[1], p.state);
        }
        for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
            if (!weft_kernels_of((weft_isa)isa) || !weft_cpu_has((weft_isa)isa))
                continue;
            weft_scope *other;
            weft_engine *engine =
                make_engine(3, WEFT_NUMBERS_DEFAULT, weft_isa_name((weft_isa)isa));
            assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_ARENA, &other));
            run_in_pieces(other, &p, isa % 2 ? 5 : p.n, isa % 2, y[1], last[1]);
            same(&p, weft_isa_name((weft_isa)isa), y[0], y[1], p.n * p.out);
            same(&p, "state", last[0], last[1], p.state);
            weft_scope_release(&other);
            weft_engine_release(&engine);
        }
        for (int i = 0; i < 2; i++)
            free(y[i]), free(last[i]);
        free_problem(&p);
    }
    weft_scope_release(&s);
    weft_engine_release(&scalar);
}

/* Two sequences in one step: each as it is alone. */
static void test_runs_do_not_meet(void **state) {
    fixture *f = *state;
    for (size_t round = 0; round < 4 * N_OPS; round++) {
        problem p = make_problem(f, (op_kind)(round % N_OPS), 9, round / N_OPS + 1);
        float *y = malloc(p.n * p.out * sizeof *y), *last = malloc((p.state + 1) * sizeof *last);
        float *both = malloc(p.n * p.out * sizeof *both), *next = malloc((2 * p.state + 1) * 4);
        run_in_pieces(f->s, &p, 4, false, y, last); /* 4, 4, 1: the state after 8 is read below */
        weft_state_run first = {0, 4, -1}, second[] = {{0, 4, 1}, {4, 5, -1}};
        weft_states st = {states_of(f->s, &p, 2, 0, NULL), &first, 1, NULL};
        run_op(f->s, &p, 0, 4, false, &st);
        scope_ok(f->s);
        assert_weft_ok(weft_tensor_read(st.next, last, p.state * sizeof *last));
        /* Tokens 0 … 3 once more after themselves, and 4 … 8 from nothing. */
        st = (weft_states){states_of(f->s, &p, 2, 1, last), second, 2, NULL};
        weft_tensor *out = run_op(f->s, &p, 0, 9, false, &st);
        scope_ok(f->s);
        assert_weft_ok(weft_tensor_read(out, both, p.n * p.out * sizeof *both));
        assert_weft_ok(weft_tensor_read(st.next, next, 2 * p.state * sizeof *next));
        weft_states alone = {states_of(f->s, &p, 2, 1, last), second, 1, NULL};
        assert_weft_ok(
            weft_tensor_read(run_op(f->s, &p, 0, 4, false, &alone), y, 4 * p.out * sizeof *y));
        same(&p, "the first of two runs", y, both, 4 * p.out);
        weft_state_run fresh = {0, 5, -1};
        alone = (weft_states){states_of(f->s, &p, 2, 0, NULL), &fresh, 1, NULL};
        assert_weft_ok(
            weft_tensor_read(run_op(f->s, &p, 4, 9, false, &alone), y, 5 * p.out * sizeof *y));
        same(&p, "the second of two runs", y, both + 4 * p.out, 5 * p.out);
        assert_weft_ok(weft_tensor_read(alone.next, last, p.state * sizeof *last));
        same(&p, "its state", last, next + p.state, p.state);
        free(y), free(last), free(both), free(next);
        free_problem(&p);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_what_is_refused(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    for (size_t kind = 0; kind < N_OPS; kind++) {
        problem p = make_problem(f, (op_kind)kind, 6, 3);
        weft_state_run runs[] = {{0, 5, -1}, {0, 6, 2}, {1, 5, 0}, {0, 7, 0}, {0, 0, 0}};
        for (size_t i = 0; i < 5; i++) {
            weft_states st = {states_of(s, &p, 2, 0, NULL), &runs[i], 1, NULL};
            scope_failed(s, run_op(s, &p, 0, 6, false, &st), WEFT_E_RANGE, "run", "");
        }
        weft_state_run all = {0, 6, -1};
        problem other = p;
        other.dim_k++;
        other.state = kind == CONV ? p.state + p.dim : p.state / p.dim_k * other.dim_k;
        weft_states st = {states_of(s, &other, 2, 0, NULL), &all, 1, NULL};
        scope_failed(s, run_op(s, &p, 0, 6, false, &st), WEFT_E_SHAPE, "states", "n_slots");
        free_problem(&p);
    }
    float zeros[64] = {0};
    int64_t four[] = {2, 4}, five[] = {5, 3}, st_dims[] = {1, 2, 4};
    weft_state_run all = {0, 2, -1};
    weft_states st = {weft_from_data(s, WEFT_F32, 3, st_dims, zeros, 32), &all, 1, NULL};
    scope_failed(s,
                 weft_short_conv(s, weft_from_data(s, WEFT_F32, 2, four, zeros, 32),
                                 weft_from_data(s, WEFT_F32, 2, five, zeros, 60), NULL, false, &st),
                 WEFT_E_SHAPE, "[2, 4]", "[5, 3]");
    st.states = weft_zeros(s, WEFT_F32, 3, st_dims);
    scope_failed(s,
                 weft_short_conv(s, weft_zeros(s, WEFT_F16, 2, four),
                                 weft_zeros(s, WEFT_F32, 2, four), NULL, false, &st),
                 WEFT_E_DTYPE, "x is f16", "f32");
}

static size_t n_allocations;
static void *counting_alloc(void *ctx, size_t size_bytes, size_t align) {
    void *p = NULL;
    (void)ctx;
    n_allocations++;
    return posix_memalign(&p, align, size_bytes) ? NULL : p;
}
static void counting_release(void *ctx, void *memory, size_t size_bytes) {
    (void)ctx, (void)size_bytes;
    free(memory);
}

static void test_no_heap_use_in_a_warm_arena(void **state) {
    fixture *f = *state;
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    options.allocator = (weft_allocator){counting_alloc, counting_release, NULL};
    weft_engine *engine;
    weft_scope *s;
    assert_weft_ok(weft_engine_create(&options, &engine));
    assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_ARENA, &s));
    for (size_t kind = 0; kind < N_OPS; kind++) {
        problem p = make_problem(f, (op_kind)kind, 2, 4);
        size_t before = 0;
        for (int step = 0; step < 6; step++) {
            before = step == 3 ? n_allocations : before;
            weft_state_run run = {0, 2, -1};
            weft_states st = {states_of(s, &p, 1, 0, NULL), &run, 1, NULL};
            run_op(s, &p, 0, 2, true, &st);
            scope_ok(s);
            assert_weft_ok(weft_scope_reset(s));
        }
        assert_int_equal(n_allocations, before);
        free_problem(&p);
    }
    weft_scope_release(&s);
    weft_engine_release(&engine);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        T(test_against_naive),   T(test_pieces_variants_and_threads), T(test_runs_do_not_meet),
        T(test_what_is_refused), T(test_no_heap_use_in_a_warm_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
