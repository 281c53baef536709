/* The neural ops: norm, softmax, rotary embedding, gates, embeddings; and what a forward pass asks
 * of all ops: equal bits in every kernel variant, and no heap use in a warm arena. */
#include "ops_test.h"
#include "tensor/kernels/panel.h"

static void test_rms_norm_over_views(void **state) {
    fixture *f = *state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F32, WEFT_F16, WEFT_BF16};
    static const double tolerances[] = {2e-6, 2e-6, 1e-3, 8e-3};
    for (int round = 0; round < 150; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims), type = round % 4;
        if (rank == 0)
            continue;
        size_t n = (size_t)dims[rank - 1];
        weft_tensor *x = random_view(f, types[type], rank, dims);
        weft_tensor *w = round % 3 ? random_view(f, WEFT_F32, 1, &dims[rank - 1]) : NULL;
        weft_tensor *y = weft_rms_norm(f->s, x, w, 1e-5f);
        scope_ok(f->s);
        double *vx = elements(x), *vy = elements(y), *vw = w ? elements(w) : NULL;
        for (size_t i = 0; i < count_of(rank, dims); i++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += vx[i / n * n + k] * vx[i / n * n + k];
            double want = vx[i] / sqrt(sum / (double)n + 1e-5) * (vw ? vw[i % n] : 1);
            assert_close(vy[i], want, tolerances[type] * (1 + fabs(want)), "rms_norm", i);
        }
        free(vx), free(vy), free(vw);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

/* Rows far from zero whose elements are nearly equal: the deviations are known to the last bit of
 * the input, and the result to a few of its own, whatever the mean. */
static void test_layer_norm_of_nearly_equal_elements(void **state) {
    fixture *f = *state;
    for (int round = 0; round < 60; round++) {
        int64_t dims[] = {3, 1 + rng_below(&f->rng, 200)};
        size_t n = (size_t)dims[1];
        weft_dtype dtype = round % 2 ? WEFT_F32 : WEFT_F64;
        double v[600], middle[] = {1000, -8.25, 0x1p20};
        for (size_t i = 0; i < 3 * n; i++) /* f32 holds it exactly */
            v[i] = middle[i / n] + 0x1p-3 * (double)rng_below(&f->rng, 9);
        weft_tensor *x = from_doubles(f->s, dtype, 2, dims, v);
        weft_tensor *y = weft_layer_norm(f->s, x, NULL, NULL, 1e-5);
        scope_ok(f->s);
        double *got = elements(y), units = dtype == WEFT_F32 ? 0x1p-20 : 0x1p-48;
        for (size_t i = 0; i < 3 * n; i++) {
            double first = v[i / n * n], mean = 0, sum = 0;
            for (size_t k = 0; k < n; k++) /* eighths: exact */
                mean += v[i / n * n + k] - first;
            mean /= (double)n;
            for (size_t k = 0; k < n; k++)
                sum += (v[i / n * n + k] - first - mean) * (v[i / n * n + k] - first - mean);
            double want = (v[i] - first - mean) / sqrt(sum / (double)n + 1e-5);
            assert_close(got[i], want, units * (1 + fabs(want)), "layer_norm", i);
        }
        free(got);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_softmax_over_any_axis(void **state) {
    fixture *f = *state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F32, WEFT_F16, WEFT_BF16};
    static const double tolerances[] = {1e-6, 1e-6, 1e-3, 8e-3};
    for (int round = 0; round < 200; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims), type = round % 4;
        if (rank == 0)
            continue;
        int axis = (int)rng_below(&f->rng, rank);
        size_t n = (size_t)dims[axis], inner = 1;
        for (int d = axis + 1; d < rank; d++)
            inner *= (size_t)dims[d];
        weft_tensor *x = random_view(f, types[type], rank, dims);
        weft_tensor *y = weft_softmax(f->s, x, axis - (round % 2 ? rank : 0));
        scope_ok(f->s);
        double *vx = elements(x), *vy = elements(y);
        for (size_t i = 0; i < count_of(rank, dims); i++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += exp(vx[(i / inner / n * n + k) * inner + i % inner]);
            assert_close(vy[i], exp(vx[i]) / sum, tolerances[type], "softmax", i);
        }
        free(vx), free(vy);
        assert_weft_ok(weft_scope_reset(f->s));
    }
}

static void test_softmax_of_infinities(void **state) {
    fixture *f = *state;
    int64_t dims[] = {3, 20};
    double values[60];
    for (int i = 0; i < 60; i++)
        values[i] = i < 20 || i == 25 ? -(double)INFINITY : i;
    values[45] = NAN;
    double *v = elements(weft_softmax(f->s, from_doubles(f->s, WEFT_F32, 2, dims, values), 1));
    for (int i = 0; i < 20; i++) {
        assert_true(isnan(v[i]));
        assert_true(i == 5 ? v[20 + i] == 0 : v[20 + i] > 0);
        assert_true(isnan(v[40 + i]));
    }
    free(v);
}

static void test_rope(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    int64_t x_dims[] = {5, 3, 20}, table[] = {9, 8};
    double positions[] = {8, 0, 3, 3, 1};
    for (int round = 0; round < 6; round++) {
        bool interleaved = round % 2;
        weft_tensor *x =
            round < 2 ? random_packed(f, WEFT_F32, 3, x_dims) : random_view(f, WEFT_F32, 3, x_dims);
        weft_tensor *c = random_view(f, WEFT_F32, 2, table),
                    *n = random_view(f, WEFT_F32, 2, table);
        weft_tensor *y = weft_rope(s, x, c, n, vector(s, WEFT_I32, 5, positions), interleaved);
        scope_ok(s);
        double *vx = elements(x), *vc = elements(c), *vn = elements(n), *vy = elements(y);
        for (size_t row = 0; row < 15; row++)
            for (size_t i = 0; i < 20; i++) {
                size_t pair = interleaved ? i % 16 / 2 : i % 8, p = (size_t)positions[row / 3];
                bool second = interleaved ? i % 2 : i >= 8;
                const double *h = vx + row * 20;
                double x0 = h[interleaved ? 2 * pair : pair];
                double x1 = h[interleaved ? 2 * pair + 1 : pair + 8];
                double cs = vc[p * 8 + pair], sn = vn[p * 8 + pair];
                double want = i >= 16 ? h[i] : second ? x0 * sn + x1 * cs : x0 * cs - x1 * sn;
                assert_close(vy[row * 20 + i], want, 1e-6, "rope", row * 20 + i);
            }
        free(vx), free(vc), free(vn), free(vy);
    }
    weft_tensor *c = random_packed(f, WEFT_F32, 2, table),
                *x = random_packed(f, WEFT_F32, 3, x_dims);
    positions[3] = 9;
    scope_failed(s, weft_rope(s, x, c, c, vector(s, WEFT_I32, 5, positions), false), WEFT_E_RANGE,
                 "rope: positions[3] is 9", "9 rows");
    c = random_packed(f, WEFT_F32, 2, table), x = random_packed(f, WEFT_F32, 3, x_dims);
    scope_failed(s, weft_rope(s, x, c, c, vector(s, WEFT_I32, 4, positions), false), WEFT_E_SHAPE,
                 "positions [4]", "x [5, 3, 20]");
}

static void test_gates_and_soft_cap(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    for (int round = 0; round < 60; round++) {
        int64_t dims[WEFT_MAX_RANK];
        int rank = random_shape(f, dims);
        weft_tensor *g = random_view(f, WEFT_F32, rank, dims),
                    *u = random_view(f, WEFT_F32, rank, dims);
        weft_activation act = (weft_activation)(round % 4);
        weft_tensor *a = act == WEFT_ACT_SILU        ? weft_silu(s, g)
                         : act == WEFT_ACT_GELU_TANH ? weft_gelu_tanh(s, g)
                         : act == WEFT_ACT_GELU_ERF  ? weft_gelu_erf(s, g)
                                                     : weft_relu(s, g);
        assert_same_bits(weft_gated(s, g, u, act), weft_mul(s, a, u));
        double *v = elements(g), *c = elements(weft_softcap(s, g, 1.5f));
        for (size_t i = 0; i < count_of(rank, dims); i++)
            assert_close(c[i], 1.5 * tanh(v[i] / 1.5), 1e-6, "softcap", i);
        free(v), free(c);
        scope_ok(s);
        assert_weft_ok(weft_scope_reset(s));
    }
    int64_t a[] = {2, 3}, b[] = {2, 4};
    scope_failed(s,
                 weft_gated(s, random_packed(f, WEFT_F32, 2, a), random_packed(f, WEFT_F32, 2, b),
                            WEFT_ACT_SILU),
                 WEFT_E_SHAPE, "gated: shapes [2, 3] and [2, 4]", "dim 1");
    scope_failed(s, weft_softcap(s, random_packed(f, WEFT_F32, 2, a), 0), WEFT_E_ARGUMENT,
                 "softcap", "cap 0");
}

static void test_embedding_from_rows_and_panels(void **state) {
    fixture *f = *state;
    weft_scope *s = f->s;
    static const weft_dtype types[] = {WEFT_F32,  WEFT_F16,  WEFT_BF16,
                                       WEFT_Q8_0, WEFT_Q4_1, WEFT_Q6_K};
    double list[] = {69, 0, 17, 17, 16, 15};
    for (int t = 0; t < 6; t++) {
        int64_t dims[] = {70, 512};
        size_t bytes = 70 * 512 / weft_dtype_block(types[t]) * weft_dtype_block_bytes(types[t]);
        unsigned char *data = malloc(bytes);
        for (size_t i = 0; i < bytes; i++)
            data[i] = (unsigned char)(rng_next(&f->rng) & 0x3f);
        weft_tensor *table = weft_from_data(s, types[t], 2, dims, data, bytes), *panels;
        weft_tensor *ids = vector(s, WEFT_I32, 6, list), *all = weft_dequantize(s, table);
        assert_weft_ok(weft_tensor_pack(f->engine, NULL, table, &panels));
        weft_tensor *want = weft_index_select(s, all, 0, ids);
        assert_same_bits(weft_embedding(s, table, ids), want);
        assert_same_bits(weft_embedding(s, panels, ids), want);
        assert_same_bits(weft_dequantize(s, panels), all);
        weft_tensor *part = weft_embedding(s, weft_tensor_narrow(s, table, 1, 256, 256), ids);
        assert_same_bits(part, weft_tensor_narrow(s, want, 1, 256, 256));
        scope_ok(s);
        scope_failed(s, weft_embedding(s, panels, vector(s, WEFT_I32, 2, (double[]){3, 70})),
                     WEFT_E_RANGE, "embedding: ids[1] is 70", "[70, 512]");
        weft_tensor_release(&panels);
        free(data);
    }
    int64_t dims[] = {4, 8};
    weft_tensor *y =
        weft_embedding(s, random_packed(f, WEFT_F32, 2, dims), vector(s, WEFT_I32, 0, list));
    scope_ok(s);
    assert_true(weft_tensor_dim(y, 0) == 0 && weft_tensor_dim(y, 1) == 8);
    scope_failed(
        s, weft_embedding(s, random_packed(f, WEFT_F32, 2, dims), vector(s, WEFT_I64, 1, list)),
        WEFT_E_DTYPE, "embedding: ids", "i64");
}

/* ---- A small layer, as a forward pass calls it ---- */

#define N_EMBD 256
#define N_HEAD 4
#define HEAD_DIM 64

typedef struct layer {
    weft_tensor *weights[4]; /* q, up, down, norm */
    weft_tensor *k, *v, *cos_table, *sin_table;
    int32_t blocks[8];
} layer;

static weft_tensor *run_layer(weft_scope *s, const layer *l, const float *x, int64_t n) {
    int64_t dims[] = {n, N_EMBD}, heads[] = {n, N_HEAD, HEAD_DIM};
    int32_t places[16];
    weft_attn_row rows[16];
    for (int32_t i = 0; i < n; i++) {
        places[i] = 40 + i;
        rows[i] = (weft_attn_row){l->blocks, 300 + i};
    }
    weft_attn_params params = {.scale = 0.125f, .softcap = 30, .window = 200, .block_size = 64};
    weft_tensor *h = weft_from_data(s, WEFT_F32, 2, dims, x, (size_t)n * N_EMBD * sizeof *x);
    weft_tensor *positions = weft_from_data(s, WEFT_I32, 1, &n, places, (size_t)n * sizeof *places);
    weft_tensor *norm = weft_rms_norm(s, h, l->weights[3], 1e-5f), *pair[2], *q;
    weft_linear_many(s, norm, l->weights, NULL, 2, pair);
    q = weft_tensor_reshape(s, pair[0], 3, heads);
    q = weft_rope(s, q, l->cos_table, l->sin_table, positions, false);
    h = weft_add(s, h, weft_attention(s, q, l->k, l->v, rows, &params));
    h = weft_add(
        s, h,
        weft_linear(s, weft_gated(s, pair[1], pair[1], WEFT_ACT_GELU_TANH), l->weights[2], NULL));
    h = weft_softcap(s, weft_softmax(s, weft_cast(s, weft_cast(s, h, WEFT_F16), WEFT_F32), 0), 5);
    h = weft_matmul(s, h, weft_tensor_transpose(s, h, 0, 1));
    return weft_concat(s, (weft_tensor *[]){h, weft_sum(s, h, 1, true)}, 2, 1);
}

static layer make_layer(fixture *f, bool panels) {
    layer l;
    int64_t square[] = {N_EMBD, N_EMBD}, up[] = {384, N_EMBD}, down[] = {N_EMBD, 384};
    int64_t cache[] = {512, 2, HEAD_DIM}, table[] = {64, HEAD_DIM / 2}, width = N_EMBD;
    const int64_t *shapes[] = {square, up, down};
    static const weft_dtype types[] = {WEFT_Q8_0, WEFT_Q8_0, WEFT_F16};
    for (int i = 0; i < 3; i++) {
        size_t n = count_of(2, shapes[i]);
        size_t bytes = n / weft_dtype_block(types[i]) * weft_dtype_block_bytes(types[i]);
        unsigned char *data = malloc(bytes);
        for (size_t b = 0; b < bytes; b++)
            data[b] = (unsigned char)(rng_next(&f->rng) >> 20);
        for (size_t b = 1; b < bytes; b += types[i] == WEFT_F16 ? 2 : 34)
            data[b] = (unsigned char)((data[b] & 0x83) | 0x20); /* small and finite */
        weft_tensor *t = weft_from_data(f->s, types[i], 2, shapes[i], data, bytes);
        free(data);
        l.weights[i] = t;
        if (panels)
            assert_weft_ok(weft_tensor_pack(f->engine, NULL, t, &l.weights[i]));
        else
            weft_tensor_retain(t);
    }
    l.weights[3] = weft_tensor_retain(random_packed(f, WEFT_F32, 1, &width));
    l.k = weft_tensor_retain(random_packed(f, WEFT_F16, 3, cache));
    l.v = weft_tensor_retain(random_packed(f, WEFT_F16, 3, cache));
    l.cos_table = weft_tensor_retain(random_packed(f, WEFT_F32, 2, table));
    l.sin_table = weft_tensor_retain(random_packed(f, WEFT_F32, 2, table));
    for (int32_t i = 0; i < 8; i++)
        l.blocks[i] = (i * 3 + 1) % 8;
    scope_ok(f->s);
    return l;
}
static void free_layer(layer *l) {
    for (int i = 0; i < 4; i++)
        weft_tensor_release(&l->weights[i]);
    weft_tensor_release(&l->k);
    weft_tensor_release(&l->v);
    weft_tensor_release(&l->cos_table);
    weft_tensor_release(&l->sin_table);
}

static void test_same_bits_in_every_variant(void **state) {
    fixture *f = *state;
    layer rows = make_layer(f, false), panels;
    float x[16 * N_EMBD];
    for (size_t i = 0; i < 16 * N_EMBD; i++)
        x[i] = (float)rng_unit(&f->rng);
    panels = rows;
    for (int i = 0; i < 3; i++)
        assert_weft_ok(weft_tensor_pack(f->engine, NULL, rows.weights[i], &panels.weights[i]));
    weft_engine *scalar = make_engine(1, WEFT_NUMBERS_REPRODUCIBLE, "scalar");
    weft_scope *plain;
    assert_weft_ok(weft_scope_create(scalar, WEFT_SCOPE_ARENA, &plain));
    weft_tensor *want = run_layer(plain, &rows, x, 16);
    scope_ok(plain);
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
        if (!weft_cpu_has((weft_isa)isa) || !weft_kernels_of((weft_isa)isa))
            continue;
        weft_engine *engine =
            make_engine(3, WEFT_NUMBERS_REPRODUCIBLE, weft_isa_name((weft_isa)isa));
        weft_scope *s;
        assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_HEAP, &s));
        weft_tensor *y = run_layer(s, &panels, x, 16);
        scope_ok(s);
        assert_same_bits(y, want);
        weft_scope_release(&s);
        weft_engine_release(&engine);
    }
    weft_scope_release(&plain);
    weft_engine_release(&scalar);
    for (int i = 0; i < 3; i++)
        weft_tensor_release(&panels.weights[i]);
    free_layer(&rows);
}

static size_t n_allocations;
static void *counting_alloc(void *ctx, size_t size, size_t align) {
    (void)ctx;
    __atomic_fetch_add(&n_allocations, 1, __ATOMIC_RELAXED);
    return aligned_alloc(align, (size + align - 1) / align * align);
}
static void counting_release(void *ctx, void *memory, size_t size) {
    (void)ctx, (void)size;
    free(memory);
}

static void test_no_heap_use_in_a_warm_arena(void **state) {
    fixture *f = *state;
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    options.numbers = WEFT_NUMBERS_REPRODUCIBLE;
    options.allocator = (weft_allocator){counting_alloc, counting_release, NULL};
    weft_engine *engine;
    weft_scope *s;
    assert_weft_ok(weft_engine_create(&options, &engine));
    assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_ARENA, &s));
    layer layers[] = {make_layer(f, false), make_layer(f, true)};
    float x[4 * N_EMBD] = {1, 2, 3};
    size_t before = 0;
    for (int step = 0; step < 6; step++) {
        if (step == 3)
            before = n_allocations;
        for (int i = 0; i < 2; i++)
            run_layer(s, &layers[i], x, 4);
        scope_ok(s);
        assert_weft_ok(weft_scope_reset(s));
    }
    assert_int_equal(n_allocations, before);
    free_layer(&layers[0]);
    free_layer(&layers[1]);
    weft_scope_release(&s);
    weft_engine_release(&engine);
}

typedef weft_tensor *(*along)(weft_scope *, weft_tensor *, int);

/* Lines side by side are worked on together: nothing in them may tell. */
static void test_lines_side_by_side_have_the_bits_of_lines_alone(void **state) {
    fixture *f = *state;
    static const along ops[] = {weft_softmax, weft_log_softmax, weft_cumsum, weft_cumprod};
    static const int64_t shapes[][3] = {{2, 1003, 150}, {1, 16, 16}, {3, 5, 333}, {2, 9000, 17}};
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            weft_tensor *whole = random_packed(f, WEFT_F32, 3, shapes[k]);
            size_t columns = (size_t)shapes[k][2] - (k > 1);
            weft_tensor *x = weft_tensor_narrow(f->s, whole, 2, k > 1, columns);
            weft_tensor *turned = weft_tensor_copy(f->s, weft_tensor_transpose(f->s, x, 1, 2));
            weft_tensor *alone = weft_tensor_transpose(f->s, ops[i](f->s, turned, 2), 1, 2);
            weft_tensor *together = ops[i](f->s, x, 1);
            scope_ok(f->s);
            assert_same_bits(weft_tensor_contiguous(f->s, alone), together);
            assert_weft_ok(weft_scope_reset(f->s));
        }
}

static void test_softmax_of_columns_with_nan_and_infinities(void **state) {
    fixture *f = *state;
    int64_t dims[] = {20, 32};
    weft_tensor *x = weft_zeros(f->s, WEFT_F32, 2, dims);
    float *v = weft_tensor_data(x);
    v[3 * 32 + 1] = NAN, v[7 * 32 + 2] = INFINITY;
    v[5 * 32 + 4] = -INFINITY;
    for (size_t i = 0; i < 20; i++)
        v[i * 32 + 3] = -INFINITY;
    double *y = elements(weft_softmax(f->s, x, 0)), *z = elements(weft_log_softmax(f->s, x, 0));
    for (size_t i = 0; i < 20; i++) {
        assert_close(y[i * 32], 0.05, 1e-8, "softmax", i);
        assert_close(z[i * 32], log(0.05), 1e-6, "log_softmax", i);
        for (size_t c = 1; c <= 3; c++)
            assert_true(isnan(y[i * 32 + c]) && isnan(z[i * 32 + c]));
        assert_close(y[i * 32 + 4], i == 5 ? 0 : 1 / 19.0, 1e-8, "softmax", i);
    }
    free(y), free(z);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup_two_threads, teardown)
    const struct CMUnitTest tests[] = {
        T(test_rms_norm_over_views),
        T(test_layer_norm_of_nearly_equal_elements),
        T(test_softmax_over_any_axis),
        T(test_softmax_of_infinities),
        T(test_rope),
        T(test_lines_side_by_side_have_the_bits_of_lines_alone),
        T(test_softmax_of_columns_with_nan_and_infinities),
        T(test_gates_and_soft_cap),
        T(test_embedding_from_rows_and_panels),
        T(test_same_bits_in_every_variant),
        T(test_no_heap_use_in_a_warm_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
