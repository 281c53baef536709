/* Attention over a cache in blocks against naive f64, and the same bits however the work is cut. */
#include "ops_test.h"

typedef struct setting {
    int64_t n_head, n_kv, dim, dim_v;
    int32_t block, n_blocks, length; /* positions in the cache */
    weft_dtype type;
    float softcap;
    int32_t window, alibi;
} setting;

typedef struct problem {
    weft_tensor *q, *k, *v; /* q [length, n_head, dim]: a query at each position */
    int32_t *blocks;        /* out of order */
    weft_attn_row *rows;
    weft_attn_params params;
} problem;

/* As a cache holds it; q8_0 rows are blocks. */
static weft_tensor *random_cache(fixture *f, weft_dtype type, const int64_t *dims) {
    weft_tensor *t = weft_cache_rows(f->s, random_packed(f, WEFT_F32, 3, dims), type);
    scope_ok(f->s);
    return t;
}

/* [rows, n_kv, dim] of it, for the naive sum. */
static double *cache_elements(fixture *f, weft_tensor *t, int64_t dim) {
    weft_tensor *plain = t;
    if (weft_tensor_dtype(t) == WEFT_Q8_0)
        plain = weft_tensor_narrow(f->s, weft_dequantize(f->s, t), 2, 0, (size_t)dim);
    double *e = elements(weft_tensor_contiguous(f->s, plain));
    scope_ok(f->s);
    return e;
}

static problem make_problem(fixture *f, const setting *c) {
    problem p;
    int64_t capacity = (int64_t)c->block * c->n_blocks;
    int64_t q[] = {c->length, c->n_head, c->dim}, k[] = {capacity, c->n_kv, c->dim};
    int64_t v[] = {capacity, c->n_kv, c->dim_v};
    p.q = random_packed(f, WEFT_F32, 3, q);
    p.k = random_cache(f, c->type, k);
    p.v = random_cache(f, c->type, v);
    p.blocks = malloc((size_t)c->n_blocks * sizeof *p.blocks);
    for (int32_t i = 0; i < c->n_blocks; i++)
        p.blocks[i] = i;
    for (int32_t i = c->n_blocks - 1; i > 0; i--) {
        int32_t other = (int32_t)rng_below(&f->rng, i + 1), swap = p.blocks[i];
        p.blocks[i] = p.blocks[other];
        p.blocks[other] = swap;
    }
    p.rows = malloc((size_t)c->length * sizeof *p.rows);
    for (int32_t i = 0; i < c->length; i++)
        p.rows[i] = (weft_attn_row){p.blocks, i};
    p.params = (weft_attn_params){.scale = 0.3f,
                                  .softcap = c->softcap,
                                  .window = c->window,
                                  .block_size = c->block,
                                  .dim_v = (int32_t)c->dim_v,
                                  .alibi = c->alibi,
                                  .alibi_scale = 1};
    if (c->window != 33) /* settings without sinks are tested by those alone */
        p.params.sinks = random_packed(f, WEFT_F32, 1, &c->n_head);
    return p;
}
static void free_problem(problem *p) {
    free(p->blocks);
    free(p->rows);
}

/* ALiBi's, by its definition (Press et al. 2022). */
static double slope_of(const setting *c, int64_t h) {
    int64_t n = 1;
    while (2 * n <= c->n_head)
        n *= 2;
    if (c->alibi == 0)
        return 0;
    double turns =
        h < n ? (double)(h + 1) / (double)n : (double)(2 * (h - n) + 1) / (double)(2 * n);
    return exp2(-c->alibi * turns);
}

static void check_against_naive(fixture *f, const setting *c, const problem *p, weft_tensor *y) {
    double *q = elements(p->q), *r = elements(y);
    double *k = cache_elements(f, p->k, c->dim), *v = cache_elements(f, p->v, c->dim_v);
    double *sinks = p->params.sinks ? elements(p->params.sinks) : NULL;
    double *score = malloc((size_t)c->length * sizeof *score);
    for (int32_t i = 0; i < c->length; i++)
        for (int64_t h = 0; h < c->n_head; h++) {
            int64_t kv = h / (c->n_head / c->n_kv);
            double sum = sinks ? exp(sinks[h]) : 0; /* a position without a value */
            int32_t last = p->rows[i].position;
            for (int32_t j = 0; j <= last; j++) {
                int64_t at = (int64_t)p->blocks[j / c->block] * c->block + j % c->block;
                double dot = 0;
                for (int64_t d = 0; d < c->dim; d++)
                    dot +=
                        q[(i * c->n_head + h) * c->dim + d] * k[(at * c->n_kv + kv) * c->dim + d];
                dot = dot * p->params.scale + slope_of(c, h) * (j - i);
                if (c->softcap > 0)
                    dot = c->softcap * tanh(dot / c->softcap);
                bool seen = p->params.firsts ? j >= p->params.firsts[i]
                                             : c->window == 0 || i - c->window < j;
                score[j] = seen ? exp(dot) : 0;
                sum += score[j];
            }
            for (int64_t d = 0; d < c->dim_v; d++) {
                double want = 0;
                for (int32_t j = 0; j <= last; j++) {
                    int64_t at = (int64_t)p->blocks[j / c->block] * c->block + j % c->block;
                    want += score[j] / sum * v[(at * c->n_kv + kv) * c->dim_v + d];
                }
                size_t e = (size_t)((i * c->n_head + h) * c->dim_v + d);
                assert_close(r[e], want, 1e-5, "attention", e);
            }
        }
    free(q), free(k), free(v), free(r), free(score), free(sinks);
}

static const setting settings[] = {
    {6, 2, 32, 32, 16, 12, 180, WEFT_F32, 0, 0, 0},
    {9, 3, 64, 64, 64, 5, 300, WEFT_F16, 0, 0, 0},
    {4, 4, 16, 16, 8, 30, 200, WEFT_F32, 0, 50, 0},
    {8, 2, 24, 40, 16, 12, 170, WEFT_F16, 20, 33, 0},
    {3, 1, 80, 80, 32, 4, 100, WEFT_F32, 1.5f, 1, 0},
    {2, 1, 7, 5, 4, 9, 33, WEFT_F16, 0, 4, 0},
    {9, 3, 64, 64, 64, 3, 150, WEFT_Q8_0, 0, 0, 0},
    {8, 2, 40, 24, 16, 12, 170, WEFT_Q8_0, 0, 33, 0},
    {6, 2, 32, 32, 16, 12, 180, WEFT_F32, 0, 0, 8},
    {4, 4, 16, 16, 64, 5, 300, WEFT_F16, 0, 0, 8},
    {6, 2, 48, 32, 64, 3, 140, WEFT_BF16, 0, 0, 0},
    {8, 1, 72, 72, 16, 12, 150, WEFT_BF16, 30, 40, 0},
};
#define N_SETTINGS (sizeof settings / sizeof settings[0])

static void test_against_naive(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < N_SETTINGS; i++) {
        problem p = make_problem(f, &settings[i]);
        weft_tensor *y = weft_attention(f->s, p.q, p.k, p.v, p.rows, &p.params);
        scope_ok(f->s);
        assert_int_equal(weft_tensor_dim(y, 1), settings[i].n_head * settings[i].dim_v);
        check_against_naive(f, &settings[i], &p, y);
        free_problem(&p);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

/* Rows that see later keys as well: all of them, and those within 20 positions on either side. */
static void test_keys_on_both_sides(void **state) {
    fixture *f = *state, *four = open_fixture(4, WEFT_NUMBERS_REPRODUCIBLE);
    static const setting cases[] = {{6, 2, 32, 32, 16, 12, 180, WEFT_F32, 0, 33, 0},
                                    {4, 4, 24, 24, 64, 5, 300, WEFT_F16, 0, 33, 0},
                                    {4, 2, 16, 16, 64, 2, 70, WEFT_F32, 0, 33, 0}};
    for (size_t i = 0; i < 6; i++) {
        setting c = cases[i / 2];
        int32_t reach = i % 2 ? 20 : c.length, last = c.length - 1, firsts[300];
        problem p = make_problem(f, &c);
        for (int32_t r = 0; r < c.length; r++) {
            p.rows[r].position = last - r > reach ? r + reach : last;
            firsts[r] = r > reach ? r - reach : 0;
        }
        p.params.firsts = firsts;
        weft_tensor *y = weft_attention(f->s, p.q, p.k, p.v, p.rows, &p.params);
        scope_ok(f->s);
        check_against_naive(f, &c, &p, y);
        assert_same_bits(weft_attention(four->s, p.q, p.k, p.v, p.rows, &p.params), y);
        for (int bad = 0; bad < 2; bad++) {
            firsts[0] = bad ? p.rows[0].position + 1 : -1;
            assert_null(weft_attention(four->s, p.q, p.k, p.v, p.rows, &p.params));
            assert_int_equal(weft_scope_status(four->s), WEFT_E_RANGE);
            assert_weft_ok(weft_scope_reset(four->s));
        }
        free_problem(&p);
        assert_weft_ok(weft_scope_reset(f->s));
    }
    close_fixture(four);
}

static void test_same_bits_for_threads_and_steps(void **state) {
    fixture *one = *state, *four = open_fixture(4, WEFT_NUMBERS_REPRODUCIBLE);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        problem p = make_problem(one, &settings[i]);
        size_t length = (size_t)settings[i].length;
        weft_tensor *y = weft_attention(one->s, p.q, p.k, p.v, p.rows, &p.params);
        assert_same_bits(weft_attention(four->s, p.q, p.k, p.v, p.rows, &p.params), y);
        for (size_t at = 0, n; at < length; at += n) { /* one by one, then in uneven pieces */
            n = at < 5 || at + 3 > length ? 1 : 1 + (size_t)rng_below(&one->rng, 40);
            n = at + n > length ? length - at : n;
            weft_scope *s = at % 2 ? four->s : one->s;
            weft_tensor *q = weft_tensor_narrow(s, p.q, 0, at, n);
            weft_tensor *part = weft_attention(s, q, p.k, p.v, p.rows + at, &p.params);
            scope_ok(s);
            assert_same_bits(part, weft_tensor_narrow(s, y, 0, at, n));
        }
        scope_ok(four->s);
        free_problem(&p);
        assert_weft_ok(weft_scope_reset(four->s));
        assert_weft_ok(weft_scope_reset(one->s));
    }
    close_fixture(four);
}

/* Values that are the first columns of the keys: as if they lay apart. */
static void test_values_within_keys(void **state) {
    fixture *f = *state;
    static const setting latent[] = {
        {8, 1, 72, 72, 64, 4, 200, WEFT_F32, 0, 0, 0},
        {20, 1, 80, 80, 64, 3, 150, WEFT_F16, 0, 0, 0},
        {6, 2, 48, 48, 16, 12, 170, WEFT_BF16, 0, 40, 0},
        {16, 1, 96, 96, 64, 3, 150, WEFT_Q8_0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof latent / sizeof *latent; i++) {
        problem p = make_problem(f, &latent[i]);
        size_t columns = latent[i].type == WEFT_Q8_0 ? 64 : 40;
        p.params.dim_v = (int32_t)columns;
        weft_tensor *apart = weft_tensor_copy(f->s, weft_tensor_narrow(f->s, p.k, 2, 0, columns));
        assert_same_bits(weft_attention(f->s, p.q, p.k, p.k, p.rows, &p.params),
                         weft_attention(f->s, p.q, p.k, apart, p.rows, &p.params));
        scope_ok(f->s);
        weft_tensor *row = weft_tensor_narrow(f->s, p.q, 0, (size_t)latent[i].length - 1, 1);
        weft_attn_row *last = p.rows + latent[i].length - 1;
        assert_same_bits(weft_attention(f->s, row, p.k, p.k, last, &p.params),
                         weft_attention(f->s, row, p.k, apart, last, &p.params));
        scope_ok(f->s);
        p.params.dim_v = (int32_t)latent[i].dim + 32;
        scope_failed(f->s, weft_attention(f->s, p.q, p.k, p.k, p.rows, &p.params), WEFT_E_SHAPE,
                     "attention", "dim_v");
        free_problem(&p);
    }
}

static void test_rows_of_several_sequences(void **state) {
    fixture *f = *state;
    setting c = settings[0];
    problem p = make_problem(f, &c);
    int32_t a[] = {3, 1, 7, 2}, b[] = {5, 0, 4};
    weft_attn_row rows[] = {{a, 60}, {b, 20}, {a, 61}, {b, -1}, {b, 47}};
    weft_tensor *q = weft_tensor_narrow(f->s, p.q, 0, 0, 5);
    weft_tensor *y = weft_attention(f->s, q, p.k, p.v, rows, &p.params);
    scope_ok(f->s);
    for (size_t i = 0; i < 5; i++) {
        weft_tensor *alone = weft_attention(f->s, weft_tensor_narrow(f->s, q, 0, i, 1), p.k, p.v,
                                            rows + i, &p.params);
        assert_same_bits(alone, weft_tensor_narrow(f->s, y, 0, i, 1));
    }
    double *v = elements(y);
    for (int64_t i = 0; i < c.n_head * c.dim_v; i++)
        assert_true(v[3 * c.n_head * c.dim_v + i] == 0); /* no visible key */
    free(v);
    free_problem(&p);
}

static void test_strided_queries(void **state) {
    fixture *f = *state;
    problem p = make_problem(f, &settings[0]);
    weft_tensor *y = weft_attention(f->s, p.q, p.k, p.v, p.rows, &p.params);
    weft_tensor *turned = weft_tensor_transpose(
        f->s, weft_tensor_copy(f->s, weft_tensor_transpose(f->s, p.q, 0, 2)), 0, 2);
    assert_same_bits(weft_attention(f->s, turned, p.k, p.v, p.rows, &p.params), y);
    free_problem(&p);
}

static void test_no_rows_and_refusals(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    setting c = settings[0];
    problem p = make_problem(f, &c);
    weft_tensor *none =
        weft_attention(s, weft_tensor_narrow(s, p.q, 0, 0, 0), p.k, p.v, p.rows, &p.params);
    scope_ok(s);
    assert_true(weft_tensor_dim(none, 0) == 0 && weft_tensor_dim(none, 1) == 6 * 32);
    int32_t far = p.blocks[2];
    p.blocks[2] = 12;
    weft_tensor *q = weft_tensor_retain(p.q), *k = weft_tensor_retain(p.k),
                *v = weft_tensor_retain(p.v);
    scope_failed(s, weft_attention(s, q, k, v, p.rows, &p.params), WEFT_E_RANGE, "block 2",
                 "is 12, the cache has 12");
    p.blocks[2] = far;
    scope_failed(s, weft_attention(s, q, weft_tensor_narrow(s, k, 1, 0, 1), v, p.rows, &p.params),
                 WEFT_E_SHAPE, "attention: q [180, 6, 32], k [192, 1, 32]", "n_head_kv");
    scope_failed(s, weft_attention(s, weft_cast(s, q, WEFT_F16), k, v, p.rows, &p.params),
                 WEFT_E_DTYPE, "q is f16", "f32");
    scope_failed(
        s, weft_attention(s, q, weft_tensor_slice(s, k, 0, 191, -1, -1), v, p.rows, &p.params),
        WEFT_E_NOT_CONTIGUOUS, "k", "[192, 2, 32]");
    scope_failed(s, weft_attention(s, q, k, v, NULL, &p.params), WEFT_E_NULL, "rows", "");
    weft_attn_params bad = p.params;
    bad.block_size = 0;
    scope_failed(s, weft_attention(s, q, k, v, p.rows, &bad), WEFT_E_ARGUMENT, "block_size 0", "");
    weft_tensor_release(&q);
    weft_tensor_release(&k);
    weft_tensor_release(&v);
    free_problem(&p);
}

/* ---- From 32 rows on default mode may multiply in bfloat16 ---- */

/* Beside the others: the head dims of models, more than a span of the cache, and latent attention's
 * wide heads. */
static const setting long_settings[] = {
    {9, 3, 64, 64, 64, 12, 700, WEFT_F16, 0, 0, 0},
    {4, 1, 256, 256, 64, 5, 300, WEFT_F16, 0, 70, 0},
    {4, 2, 96, 96, 64, 6, 333, WEFT_BF16, 0, 33, 0},
    {8, 4, 128, 128, 64, 4, 200, WEFT_Q8_0, 50, 0, 0},
    {5, 5, 192, 128, 64, 4, 190, WEFT_F16, 0, 33, 0},
    {32, 1, 576, 512, 64, 3, 150, WEFT_F16, 0, 0, 0},
    {8, 8, 512, 512, 64, 20, 1200, WEFT_BF16, 0, 0, 0},
};

/* Factors are within 2^-9 of their own: the root mean square of the difference to reproducible mode
 * against the outputs' own. */
static double difference(weft_tensor *y, weft_tensor *want) {
    double *a = elements(y), *b = elements(want), wrong = 0, all = 0;
    for (size_t e = 0; e < (size_t)weft_tensor_numel(y); e++) {
        assert_close(a[e], b[e], 0.04, "attention", e);
        wrong += (a[e] - b[e]) * (a[e] - b[e]);
        all += b[e] * b[e];
    }
    free(a), free(b);
    return sqrt(wrong / all);
}

#define MOST_DIFFERENCE 0.006

/* Fewer rows keep the reproducible bits, and so does a cache of f32. */
static double check_long_step(fixture *f, fixture *exact, const setting *c) {
    problem p = make_problem(f, c);
    p.params.scale = c->dim > 80 ? 1 / sqrtf((float)c->dim) : p.params.scale;
    weft_tensor *y = weft_attention(f->s, p.q, p.k, p.v, p.rows, &p.params);
    weft_tensor *want = weft_attention(exact->s, p.q, p.k, p.v, p.rows, &p.params);
    scope_ok(f->s);
    double d = difference(y, want);
    if (!(d <= (c->type == WEFT_F32 ? 0 : MOST_DIFFERENCE)))
        fail_msg("heads of %lld: %g", (long long)c->dim, d);
    size_t at = (size_t)c->length - 31;
    weft_tensor *q = weft_tensor_narrow(f->s, p.q, 0, at, 31);
    assert_same_bits(weft_attention(f->s, q, p.k, p.v, p.rows + at, &p.params),
                     weft_tensor_narrow(exact->s, want, 0, at, 31));
    free_problem(&p);
    assert_weft_ok(weft_scope_reset(f->s));
    assert_weft_ok(weft_scope_reset(exact->s));
    return d;
}

static void test_long_steps_in_default_mode(void **state) {
    fixture *exact = open_fixture(3, WEFT_NUMBERS_REPRODUCIBLE);
    double most = 0;
    for (size_t i = 0; i < N_SETTINGS; i++)
        most = fmax(most, check_long_step(*state, exact, &settings[i]));
    for (size_t i = 0; i < sizeof long_settings / sizeof *long_settings; i++)
        most = fmax(most, check_long_step(*state, exact, &long_settings[i]));
    print_message("largest difference to reproducible mode: %.2g of the outputs\n", most);
    close_fixture(exact);
}

/* Scores far apart, of windows that end within a chunk: as exponents they may lose no bits. */
static void test_long_steps_of_large_scores(void **state) {
    static const setting sharp[] = {
        {4, 2, 32, 32, 64, 3, 150, WEFT_F16, 0, 24, 0},
        {4, 2, 64, 64, 64, 5, 300, WEFT_Q8_0, 0, 0, 0},
        {4, 1, 128, 128, 64, 3, 150, WEFT_BF16, 0, 70, 0},
    };
    fixture *f = *state, *exact = open_fixture(2, WEFT_NUMBERS_REPRODUCIBLE);
    double most = 0;
    for (size_t i = 0; i < sizeof sharp / sizeof *sharp; i++) {
        problem p = make_problem(f, &sharp[i]);
        p.params.scale = 8;
        weft_tensor *y = weft_attention(f->s, p.q, p.k, p.v, p.rows, &p.params);
        weft_tensor *want = weft_attention(exact->s, p.q, p.k, p.v, p.rows, &p.params);
        scope_ok(f->s);
        scope_ok(exact->s);
        most = fmax(most, difference(y, want));
        free_problem(&p);
    }
    print_message("with large scores: %.2g\n", most);
    assert_true(most <= MOST_DIFFERENCE);
    close_fixture(exact);
}

/* A row's bits depend neither on the threads nor on the long step that it is part of. */
static void test_long_steps_have_bits_of_their_own(void **state) {
    fixture *two = *state, *one = open_fixture(1, WEFT_NUMBERS_DEFAULT);
    for (size_t i = 0; i < 4; i++) {
        const setting *c = &long_settings[i];
        problem p = make_problem(two, c);
        weft_tensor *y = weft_attention(two->s, p.q, p.k, p.v, p.rows, &p.params);
        assert_same_bits(weft_attention(one->s, p.q, p.k, p.v, p.rows, &p.params), y);
        size_t length = (size_t)c->length;
        for (size_t at = 0, n; at < length; at += n) {
            n = 32 + (size_t)rng_below(&two->rng, 70);
            n = length - at < n + 32 ? length - at : n;
            weft_tensor *q = weft_tensor_narrow(one->s, p.q, 0, at, n);
            weft_tensor *part = weft_attention(one->s, q, p.k, p.v, p.rows + at, &p.params);
            scope_ok(one->s);
            assert_same_bits(part, weft_tensor_narrow(one->s, y, 0, at, n));
        }
        free_problem(&p);
        assert_weft_ok(weft_scope_reset(one->s));
        assert_weft_ok(weft_scope_reset(two->s));
    }
    close_fixture(one);
}

/* Sequences in turn, of which one has a gap that the cache holds nothing of, and a row that sees no
 * key. */
static void test_long_steps_of_several_sequences(void **state) {
    fixture *f = *state, *exact = open_fixture(2, WEFT_NUMBERS_REPRODUCIBLE);
    setting c = {9, 3, 64, 64, 64, 12, 150, WEFT_F16, 0, 60, 0};
    problem p = make_problem(f, &c);
    int32_t a[] = {3, 1, 7}, b[] = {5, -1, 99, 0, 4}, none[] = {-1};
    weft_attn_row rows[120];
    for (int32_t i = 0; i < 120; i++) {
        rows[i] = (weft_attn_row){a, 60 + i};
        if (i >= 40)
            rows[i] = (weft_attn_row){b, i < 80 ? i - 40 : i + 175};
    }
    rows[119] = (weft_attn_row){none, -1};
    weft_tensor *q = weft_tensor_narrow(f->s, p.q, 0, 0, 120);
    weft_tensor *y = weft_attention(f->s, q, p.k, p.v, rows, &p.params);
    weft_tensor *want = weft_attention(exact->s, q, p.k, p.v, rows, &p.params);
    scope_ok(f->s);
    scope_ok(exact->s);
    assert_true(difference(y, want) <= MOST_DIFFERENCE);
    double *got = elements(y);
    for (size_t e = 0; e < 9 * 64; e++)
        assert_true(got[119 * 9 * 64 + e] == 0);
    free(got);
    free_problem(&p);
    close_fixture(exact);
}

/* A value that is no number reaches those that see it and nobody else. */
static void test_long_steps_with_infinite_values(void **state) {
    fixture *f = *state, *exact = open_fixture(2, WEFT_NUMBERS_REPRODUCIBLE);
    setting c = long_settings[0];
    problem p = make_problem(f, &c);
    double *v = elements(p.v);
    int64_t dims[] = {c.block * c.n_blocks, c.n_kv, c.dim};
    size_t at = ((size_t)p.blocks[100 / 64] * 64 + 100 % 64) * 3 * 64 + 64 + 7;
    float *values = malloc((size_t)weft_tensor_numel(p.v) * sizeof *values);
    for (size_t e = 0; e < (size_t)weft_tensor_numel(p.v); e++)
        values[e] = e == at ? INFINITY : (float)v[e];
    weft_tensor *odd = weft_cast(f->s,
                                 weft_from_data(f->s, WEFT_F32, 3, dims, values,
                                                (size_t)weft_tensor_numel(p.v) * sizeof *values),
                                 WEFT_F16);
    weft_tensor *y = weft_attention(f->s, p.q, p.k, odd, p.rows, &p.params);
    scope_ok(f->s);
    assert_same_bits(y, weft_attention(exact->s, p.q, p.k, odd, p.rows, &p.params));
    double *got = elements(y);
    for (int64_t i = 0; i < c.length; i++)
        for (int64_t e = 0; e < c.n_head * c.dim; e++)
            assert_int_equal(isfinite(got[i * c.n_head * c.dim + e]) != 0,
                             !(i >= 100 && e / c.dim / 3 == 1 && e % c.dim == 7));
    free(v), free(values), free(got);
    free_problem(&p);
    close_fixture(exact);
}

/* Latent attention: values are the first columns of the keys. */
static void test_long_steps_of_values_within_keys(void **state) {
    fixture *f = *state;
    setting c = {20, 1, 80, 80, 64, 3, 150, WEFT_F16, 0, 0, 0};
    problem p = make_problem(f, &c);
    p.params.dim_v = 40;
    weft_tensor *apart = weft_tensor_copy(f->s, weft_tensor_narrow(f->s, p.k, 2, 0, 40));
    assert_same_bits(weft_attention(f->s, p.q, p.k, p.k, p.rows, &p.params),
                     weft_attention(f->s, p.q, p.k, apart, p.rows, &p.params));
    scope_ok(f->s);
    free_problem(&p);
}

static int setup_one_thread(void **state) {
    *state = open_fixture(1, WEFT_NUMBERS_REPRODUCIBLE);
    return 0;
}

static int setup_reproducible(void **state) {
    *state = open_fixture(2, WEFT_NUMBERS_REPRODUCIBLE);
    return 0;
}

int main(void) {
#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_against_naive, setup_reproducible),
        T(test_keys_on_both_sides, setup_reproducible),
        T(test_same_bits_for_threads_and_steps, setup_one_thread),
        T(test_long_steps_in_default_mode, setup_two_threads),
        T(test_long_steps_of_large_scores, setup_two_threads),
        T(test_long_steps_have_bits_of_their_own, setup_two_threads),
        T(test_long_steps_of_several_sequences, setup_two_threads),
        T(test_long_steps_with_infinite_values, setup_two_threads),
        T(test_long_steps_of_values_within_keys, setup_two_threads),
        T(test_values_within_keys, setup_reproducible),
        T(test_rows_of_several_sequences, setup_reproducible),
        T(test_strided_queries, setup_reproducible),
        T(test_no_rows_and_refusals, setup_reproducible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
