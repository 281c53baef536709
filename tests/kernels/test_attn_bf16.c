/* Attention in products of bfloat16: operands are laid out exactly, and a state that has taken in
 * some chunks is the softmax's, against float64 of the rounded factors. */
#include "kernels_test.h"

enum { QUERIES = WEFT_ATTN_BF16_QUERIES, CHUNK = 96, MOST_DIM = 272, TILE = WEFT_BF16_TILE,
       PARTS = WEFT_ATTN_BF16_PARTS };
static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_Q8_0};
static const size_t dims[] = {1, 16, 40, 64, 80, 96, 128, 192, 256, 257};

static float row_floats[32][MOST_DIM + 32];
static unsigned char row_bytes_of[32][4 * (MOST_DIM + 32)];

/* 32 rows of a cache and what they say; each seventh from `gap` on is none. */
static void random_rows(weft_dtype dtype, size_t dim, size_t gap, const void *rows[32]) {
    for (size_t r = 0; r < 32; r++) {
        rows[r] = r % 7 == gap ? NULL : row_bytes_of[r];
        memset(row_floats[r], 0, sizeof row_floats[r]);
        for (size_t i = 0; i < dim; i++) {
            unsigned char *at = row_bytes_of[r];
            float f = random_float();
            uint16_t half = dtype == WEFT_BF16 ? weft_f32_to_bf16(f) : weft_f32_to_f16(f);
            if (dtype == WEFT_F32) {
                memcpy(at + 4 * i, &f, 4);
            } else if (dtype == WEFT_Q8_0) {
                at += i / 32 * 34;
                if (i % 32 == 0)
                    memcpy(at, &half, 2);
                at[2 + i % 32] = (unsigned char)random_u32();
                memcpy(&half, at, 2);
                f = weft_f16_to_f32(half) * (float)(int8_t)at[2 + i % 32];
            } else {
                memcpy(at + 2 * i, &half, 2);
                f = dtype == WEFT_BF16 ? weft_bf16_to_f32(half) : weft_f16_to_f32(half);
            }
            row_floats[r][i] = rows[r] ? f : 0;
        }
    }
}

static void check_layout(const weft_kernels *k, weft_dtype dtype, size_t dim) {
    static uint16_t keys[9 * PARTS * TILE], values[17 * TILE], queries[9 * PARTS * TILE];
    const void *rows[32], *floats[16];
    random_rows(dtype, dim, dim % 9, rows);
    for (size_t r = 0; r < 16; r++)
        floats[r] = rows[r] ? row_floats[r] : NULL;
    k->attn_bf16_keys(dtype, rows, dim, keys);
    k->attn_bf16_queries(floats, dim, queries);
    assert_true(k->attn_bf16_values(dtype, rows, dim, TILE, values));
    for (size_t i = 0; i < (dim + 15) / 16 * 16; i++)
        for (size_t r = 0; r < 32; r++) {
            bool padding = dtype == WEFT_Q8_0 && i >= dim; /* whatever its block holds */
            uint16_t want = weft_f32_to_bf16(row_floats[r][i]);
            uint16_t rest = weft_f32_to_bf16(row_floats[r][i] - weft_bf16_to_f32(want));
            for (size_t part = 0; part < PARTS && r < 16; part++) {
                size_t tile = (i / 32 * PARTS + part) * TILE;
                if (!padding)
                    assert_int_equal(keys[tile + 32 * r + i % 32], part == 2 ? rest : want);
                assert_int_equal(queries[tile + i % 32 / 2 * 32 + 2 * r + i % 2],
                                 part == 1 ? rest : want);
            }
            if (!padding)
                assert_int_equal(values[i / 16 * TILE + i % 16 * 32 + r], want);
        }
}

static void test_layout(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(attn_bf16_keys, variants);
    for (size_t v = 0; v < n_variants; v++)
        for (size_t t = 0; t < N_ITEMS(types); t++)
            for (size_t d = 0; d < N_ITEMS(dims); d++)
                check_layout(variants[v], types[t], dims[d]);
}

/* In rows that are not there it does not count. */
static void test_values_that_are_not_finite(void **state) {
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3.4e38f /* rounds to infinity */};
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(attn_bf16_values, variants);
    static uint16_t tiles[5 * TILE];
    for (size_t v = 0; v < n_variants; v++)
        for (size_t at = 0; at < 32 * 70; at += 13) {
            const void *rows[32];
            random_rows(WEFT_F32, 70, 9, rows);
            memcpy(row_bytes_of[at / 70] + 4 * (at % 70), &odd[at % 4], 4);
            assert_false(variants[v]->attn_bf16_values(WEFT_F32, rows, 70, TILE, tiles));
            rows[at / 70] = NULL;
            assert_true(variants[v]->attn_bf16_values(WEFT_F32, rows, 70, TILE, tiles));
        }
}

/* ---- States ---- */

typedef struct problem {
    size_t dim, dim_v, n; /* n positions, in chunks of CHUNK */
    int32_t window;       /* query i is at n - 40 + i */
    float scale, softcap;
} problem;

static float q[QUERIES][MOST_DIM], keys[320][MOST_DIM], values[320][MOST_DIM], y[QUERIES][MOST_DIM];

static float rounded(float x) {
    return weft_bf16_to_f32(weft_f32_to_bf16(x));
}

static void query_range(const problem *p, int32_t i, int32_t *low, int32_t *high) {
    *high = (int32_t)p->n - 40 + i;
    *low = p->window > 0 && *high >= p->window ? *high - p->window + 1 : 0;
}

/* Softmax in float64 with rounded values; gives the greatest difference of an element. */
static double difference(const problem *p) {
    double most = 0, score[320], out[MOST_DIM];
    for (int32_t i = 0; i < QUERIES; i++) {
        int32_t low, high;
        double top = -INFINITY, sum = 0;
        query_range(p, i, &low, &high);
        memset(out, 0, sizeof out);
        for (int32_t j = low; j <= high; j++) {
            double dot = 0, cap = (double)p->softcap;
            for (size_t d = 0; d < p->dim; d++)
                dot += (double)q[i][d] * (double)keys[j][d];
            score[j] = dot * (double)p->scale;
            score[j] = cap > 0 ? cap * tanh(score[j] / cap) : score[j];
            top = fmax(top, score[j]);
        }
        for (int32_t j = low; j <= high; j++) {
            double e = exp(score[j] - top);
            sum += e;
            for (size_t d = 0; d < p->dim_v; d++)
                out[d] += e * (double)rounded(values[j][d]);
        }
        for (size_t d = 0; d < p->dim_v; d++)
            most = fmax(most, fabs(out[d] / sum - (double)y[i][d]));
    }
    return most;
}

/* Runs the problem chunk by chunk into y. `mask`: give the ranges even where all see everything. */
static void run_problem(const weft_kernels *k, const problem *p, bool mask) {
    static uint16_t q_tiles[2 * 9 * PARTS * TILE], k_tiles[CHUNK / 16 * 9 * PARTS * TILE];
    static uint16_t v_tiles[17 * CHUNK / 32 * TILE], p_tiles[2 * CHUNK / 32 * TILE];
    static float scores[CHUNK * QUERIES], acc[MOST_DIM * QUERIES], most[QUERIES], sum[QUERIES];
    const void *rows[QUERIES];
    int32_t low[QUERIES], high[QUERIES];
    float *out[QUERIES];
    weft_attn_bf16 a = {.key_tiles = PARTS * ((p->dim + 31) / 32),
                        .dim_v16 = (p->dim_v + 15) / 16 * 16,
                        .values_step = CHUNK / 32 * TILE,
                        .scale = p->scale,
                        .softcap = p->softcap,
                        .scores = scores,
                        .probabilities = p_tiles};
    memset(acc, 0, sizeof acc);
    for (int32_t i = 0; i < QUERIES; i++) {
        rows[i] = q[i];
        out[i] = y[i];
        query_range(p, i, &low[i], &high[i]);
        most[i] = -INFINITY;
        sum[i] = 0;
    }
    for (size_t h = 0; h < 2; h++)
        k->attn_bf16_queries(rows + 16 * h, p->dim, q_tiles + h * a.key_tiles * TILE);
    for (size_t at = 0; at < p->n; at += CHUNK) {
        for (size_t j = 0; j < CHUNK; j += 32) {
            const void *key_rows[32], *value_rows[32];
            for (size_t r = 0; r < 32; r++) {
                key_rows[r] = at + j + r < p->n ? keys[at + j + r] : NULL;
                value_rows[r] = at + j + r < p->n ? values[at + j + r] : NULL;
            }
            for (size_t h = 0; h < 2; h++)
                k->attn_bf16_keys(WEFT_F32, key_rows + 16 * h, p->dim,
                                  k_tiles + (j / 16 + h) * a.key_tiles * TILE);
            k->attn_bf16_values(WEFT_F32, value_rows, p->dim_v, a.values_step,
                                v_tiles + j / 32 * TILE);
        }
        int32_t end = (int32_t)(at + CHUNK);
        bool whole = end <= high[0] + 1 && low[QUERIES - 1] <= (int32_t)at && !mask;
        weft_attn_bf16_step step = {.queries = q_tiles,
                                    .keys = k_tiles,
                                    .values = v_tiles,
                                    .n = CHUNK,
                                    .first = (int32_t)at,
                                    .low = whole ? NULL : low,
                                    .high = whole ? NULL : high,
                                    .acc = acc,
                                    .most = most,
                                    .sum = sum};
        k->attn_bf16(&a, &step, 1);
    }
    for (size_t i = 0; i < QUERIES; i++)
        sum[i] = 1 / sum[i];
    k->attn_bf16_end(acc, p->dim_v, sum, out);
}

static void random_problem(const problem *p) {
    for (size_t i = 0; i < QUERIES; i++)
        random_floats(q[i], p->dim);
    for (size_t j = 0; j < p->n; j++) {
        random_floats(keys[j], p->dim);
        random_floats(values[j], p->dim_v);
    }
}

/* Probabilities are rounded to 8 bits, and averaged. */
#define MOST_ERROR 0.002

static void test_states(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(attn_bf16, variants);
    static const problem problems[] = {
        {64, 64, 288, 0, 0.125f, 0},  {80, 80, 96, 0, 1, 0},          {96, 96, 200, 0, 0.1f, 20},
        {128, 128, 300, 50, 0.3f, 0}, {256, 256, 288, 0, 0.0625f, 0}, {192, 128, 250, 130, 0.2f, 0},
        {7, 5, 100, 1, 2, 0},         {272, 257, 97, 0, 0.2f, 3},
    };
    double most = 0;
    for (size_t v = 0; v < n_variants; v++)
        for (size_t i = 0; i < N_ITEMS(problems); i++) {
            static float unmasked[QUERIES][MOST_DIM];
            random_problem(&problems[i]);
            run_problem(variants[v], &problems[i], false);
            memcpy(unmasked, y, sizeof y);
            double d = difference(&problems[i]);
            most = fmax(most, d);
            if (!(d <= MOST_ERROR))
                fail_msg("%s, problem %zu: an element is %g off", weft_isa_name(variants[v]->isa),
                         i, d);
            run_problem(variants[v], &problems[i], true);
            assert_memory_equal(unmasked, y, sizeof y); /* comparing changes nothing */
        }
    if (n_variants)
        printf("greatest error of an element: %.5f\n", most);
    else
        printf("no variant of attn_bf16 runs here\n");
}

/* A key that is no number reaches those that see it, a query only its own row. */
static void test_nan(void **state) {
    (void)state;
    static const problem p = {64, 64, 200, 0, 0.125f, 0};
    static float before[QUERIES][MOST_DIM];
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(attn_bf16, variants);
    for (size_t v = 0; v < n_variants; v++) {
        random_problem(&p);
        run_problem(variants[v], &p, false);
        memcpy(before, y, sizeof y);
        keys[170][5] = v % 2 ? INFINITY : NAN;
        q[3][9] = NAN;
        run_problem(variants[v], &p, false);
        for (size_t i = 0; i < QUERIES; i++) {
            int32_t low, high;
            query_range(&p, (int32_t)i, &low, &high);
            bool odd = i == 3 || (high >= 170 && !(v % 2 && q[i][5] < 0));
            for (size_t d = 0; d < p.dim_v; d++)
                if (odd)
                    assert_true(isnan(y[i][d]));
                else if (high < 170)
                    assert_true(y[i][d] == before[i][d]);
        }
    }
}

/* Rows of dim elements and no more, none of those that are NULL. */
static void test_end(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(attn_bf16_end, variants);
    static float acc[MOST_DIM * QUERIES];
    float by[QUERIES], *rows[QUERIES];
    random_floats(acc, MOST_DIM * QUERIES);
    random_floats(by, QUERIES);
    for (size_t v = 0; v < n_variants; v++)
        for (size_t t = 0; t < N_ITEMS(dims); t++) {
            memset(y, 0x55, sizeof y);
            for (size_t i = 0; i < QUERIES; i++)
                rows[i] = i % 11 == 10 ? NULL : y[i];
            variants[v]->attn_bf16_end(acc, dims[t], by, rows);
            for (size_t i = 0; i < QUERIES; i++)
                for (size_t d = 0; d < MOST_DIM; d++)
                    if (rows[i] && d < dims[t])
                        assert_true(y[i][d] == acc[d * QUERIES + i] * by[i]);
                    else
                        assert_int_equal(weft_bits_of(y[i][d]), 0x55555555);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout), cmocka_unit_test(test_values_that_are_not_finite),
        cmocka_unit_test(test_states), cmocka_unit_test(test_nan),
        cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
