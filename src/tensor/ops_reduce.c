/* Reductions over one axis. A sum has 16 lanes (lane = index mod 16, in f64 for floats, i64 for
 * integers) and a fixed tree at the end, whatever the strides: outputs that lie side by side are
 * reduced together where the axis is not the one read in order. */
#include "tensor/convert.h"
#include "tensor/walk.h"

#include <math.h>
#include <string.h>

#define LANES 16
#define COLS 32                  /* outputs reduced together */
#define STEPS (WEFT_TILE / COLS) /* of the axis, a tile; a multiple of LANES */

typedef enum reduce_kind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_ARGMAX
} reduce_kind;

static const char *const names[] = {"sum", "mean", "max", "min", "argmax"};

typedef struct job {
    reduce_kind kind;
    const weft_kernels *k;
    weft_dtype dtype, out_dtype;
    size_t item, out_item, extent; /* bytes of an element; length of the axis */
    int64_t step;                  /* bytes along the axis */
    int rank;                      /* kept dims; the last one holds the columns */
    int64_t dims[WEFT_MAX_RANK + 1], x_steps[WEFT_MAX_RANK + 1], y_steps[WEFT_MAX_RANK + 1];
    size_t cols_a_tile, n_col_tiles;
    const unsigned char *x;
    unsigned char *y;
} job;

/* Running results of up to COLS outputs. */
typedef struct state {
    union {
        double f[LANES][COLS];
        int64_t i[LANES][COLS];
    } sum;
    float best_f[COLS];
    int64_t best_i[COLS];
    int64_t index[COLS];
} state;

/* ---- Folding one packed tile [steps, cols], whose first step is `at`, into the state ---- */

static void sum_row_f(state *st, const float *x, size_t n) {
    double acc[LANES];
    for (size_t l = 0; l < LANES; l++)
        acc[l] = st->sum.f[l][0];
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            acc[l] += (double)x[i + l];
    for (size_t l = 0; i + l < n; l++)
        acc[l] += (double)x[i + l];
    for (size_t l = 0; l < LANES; l++)
        st->sum.f[l][0] = acc[l];
}

static void sum_tile_f(state *st, const float *x, size_t steps, size_t cols) {
    for (size_t k = 0; k < steps; k++) {
        double *acc = st->sum.f[k % LANES];
        for (size_t c = 0; c < cols; c++)
            acc[c] += (double)x[k * cols + c];
    }
}

static void sum_tile_i(state *st, const int64_t *x, size_t steps, size_t cols) {
    for (size_t k = 0; k < steps; k++) {
        int64_t *acc = st->sum.i[k % LANES];
        for (size_t c = 0; c < cols; c++)
            acc[c] = (int64_t)((uint64_t)acc[c] + (uint64_t)x[k * cols + c]);
    }
}

/* Whether x takes the place of a best that came before it: ties do not, the first NaN does. */
static inline bool beats(float x, float best, bool smallest) {
    return best == best && (x != x || (smallest ? x < best : x > best));
}

static void best_tile_f(state *st, const float *x, size_t steps, size_t cols, size_t at,
                        bool smallest) {
    for (size_t k = 0; k < steps; k++)
        for (size_t c = 0; c < cols; c++)
            if (at + k == 0 || beats(x[k * cols + c], st->best_f[c], smallest)) {
                st->best_f[c] = x[k * cols + c];
                st->index[c] = (int64_t)(at + k);
            }
}

/* One output: most tiles hold nothing better, which 16 lanes find out quickly. */
static void best_row_f(state *st, const float *x, size_t n, size_t at, bool smallest) {
    float lane[LANES], sign = smallest ? -1 : 1;
    uint32_t nan[LANES] = {0}, any_nan = 0;
    for (size_t l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            float v = x[i + l] * sign;
            nan[l] |= v != v ? UINT32_MAX : 0;
            lane[l] = v > lane[l] ? v : lane[l];
        }
    bool better = at == 0;
    for (size_t l = 0; l < LANES; l++) {
        any_nan |= nan[l];
        better |= lane[l] > st->best_f[0] * sign;
    }
    better |= any_nan != 0;
    best_tile_f(st, better ? x : x + i, better ? n : n - i, 1, better ? at : at + i, smallest);
}

static void best_tile_i(state *st, const int64_t *x, size_t steps, size_t cols, size_t at,
                        bool smallest) {
    for (size_t k = 0; k < steps; k++)
        for (size_t c = 0; c < cols; c++) {
            int64_t v = x[k * cols + c];
            if (at + k == 0 || (smallest ? v < st->best_i[c] : v > st->best_i[c])) {
                st->best_i[c] = v;
                st->index[c] = (int64_t)(at + k);
            }
        }
}

static bool is_sum(const job *j) {
    return j->kind == REDUCE_SUM || j->kind == REDUCE_MEAN;
}

static void fold(const job *j, state *st, const void *packed, size_t steps, size_t cols,
                 size_t at) {
    bool smallest = j->kind == REDUCE_MIN;
    size_t n = steps * cols;
    if (weft_dtype_is_float(j->dtype)) {
        float wide[WEFT_TILE];
        const float *x = weft_as_f32(j->k, j->dtype, packed, n, wide);
        if (is_sum(j) && cols == 1)
            sum_row_f(st, x, n);
        else if (is_sum(j))
            sum_tile_f(st, x, steps, cols);
        else if (cols == 1)
            best_row_f(st, x, n, at, smallest);
        else
            best_tile_f(st, x, steps, cols, at, smallest);
    } else {
        int64_t wide[WEFT_TILE];
        weft_to_i64(j->dtype, packed, n, wide);
        if (is_sum(j))
            sum_tile_i(st, wide, steps, cols);
        else
            best_tile_i(st, wide, steps, cols, at, smallest);
    }
}

/* ---- Outputs ---- */

static void finish(const job *j, state *st, size_t c, void *y) {
    bool floats = weft_dtype_is_float(j->dtype);
    if (is_sum(j) && !floats) {
        uint64_t total = 0; /* wraps the same in any order */
        for (size_t l = 0; l < LANES; l++)
            total += (uint64_t)st->sum.i[l][c];
        memcpy(y, &total, sizeof total);
    } else if (is_sum(j)) {
        for (size_t half = LANES / 2; half > 0; half /= 2)
            for (size_t l = 0; l < half; l++)
                st->sum.f[l][c] += st->sum.f[l + half][c];
        double total = st->sum.f[0][c];
        if (j->kind == REDUCE_MEAN)
            total /= (double)j->extent;
        weft_convert(j->k, WEFT_F64, &total, j->out_dtype, y, 1);
    } else if (j->kind == REDUCE_ARGMAX) {
        memcpy(y, &st->index[c], sizeof st->index[c]);
    } else if (floats) {
        weft_from_f32(j->k, &st->best_f[c], j->out_dtype, y, 1);
    } else {
        weft_from_i64(&st->best_i[c], j->out_dtype, y, 1);
    }
}

static void reduce_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const job *j = ctx;
    (void)thread;
    state st;
    _Alignas(64) unsigned char buffer[WEFT_TILE * 8];
    int last = j->rank - 1;
    for (size_t t = begin; t < end; t++) {
        size_t col = t % j->n_col_tiles * j->cols_a_tile, outer = t / j->n_col_tiles;
        size_t cols = (size_t)j->dims[last] - col;
        cols = cols < j->cols_a_tile ? cols : j->cols_a_tile;
        const unsigned char *x = j->x + weft_index_offset(last, j->dims, j->x_steps, outer) +
                                 (int64_t)col * j->x_steps[last];
        unsigned char *y = j->y + weft_index_offset(last, j->dims, j->y_steps, outer) +
                           (int64_t)col * j->y_steps[last];
        size_t most = cols == 1 ? WEFT_TILE : STEPS;
        for (size_t l = 0; l < LANES && is_sum(j); l++)
            memset(st.sum.f[l], 0, cols * sizeof st.sum.f[l][0]);
        for (size_t at = 0; at < j->extent; at += most) {
            size_t steps = j->extent - at < most ? j->extent - at : most;
            const unsigned char *from = x + (int64_t)at * j->step;
            const void *packed = from;
            if (cols != 1 || j->step != (int64_t)j->item) {
                weft_copy_2d(j->item, steps, cols, from, j->step, j->x_steps[last], buffer,
                             (int64_t)(cols * j->item), (int64_t)j->item);
                packed = buffer;
            }
            fold(j, &st, packed, steps, cols, at);
        }
        for (size_t c = 0; c < cols; c++)
            finish(j, &st, c, y + (int64_t)c * j->y_steps[last]);
    }
}

/* Which kept dim is walked in columns: the one that lies closest in memory, unless the axis itself
 * lies closer. */
static void plan(job *j) {
    int last = j->rank - 1, dim = -1;
    int64_t least = 0;
    for (int d = 0; d < j->rank; d++) {
        int64_t step = j->x_steps[d] < 0 ? -j->x_steps[d] : j->x_steps[d];
        if (j->dims[d] > 1 && step > 0 && (dim < 0 || step <= least)) {
            dim = d;
            least = step;
        }
    }
    int64_t axis_step = j->step < 0 ? -j->step : j->step;
    bool by_rows = dim < 0 || axis_step <= least;
    for (int d = dim; !by_rows && d < last; d++) {
        int64_t *lists[] = {j->dims, j->x_steps, j->y_steps};
        for (int i = 0; i < 3; i++) {
            int64_t v = lists[i][d];
            lists[i][d] = lists[i][d + 1];
            lists[i][d + 1] = v;
        }
    }
    j->cols_a_tile = by_rows ? 1 : COLS;
    j->n_col_tiles = weft_ceil_div((size_t)j->dims[last], j->cols_a_tile);
}

static weft_tensor *reduce(weft_scope *s, reduce_kind kind, weft_tensor *x, int axis, bool keep) {
    const char *name = names[kind];
    char shape[128];
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_plain(s, name, x) ||
        !weft_op_axis(s, name, x, &axis))
        return NULL;
    bool floats = weft_dtype_is_float(x->dtype);
    if (x->dtype == WEFT_F64 || (kind == REDUCE_MEAN && !floats))
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "%s of shape %s is not allowed here",
                               weft_dtype_name(x->dtype), weft_shape_text(x, shape, sizeof shape));
    if (x->dims[axis] == 0 && kind >= REDUCE_MAX)
        return weft_scope_fail(s, WEFT_E_EMPTY, name, "axis %d of shape %s has no elements", axis,
                               weft_shape_text(x, shape, sizeof shape));
    job j = {.kind = kind, .k = weft_scope_kernels(s), .dtype = x->dtype, .out_dtype = x->dtype};
    if (kind == REDUCE_ARGMAX || (kind == REDUCE_SUM && !floats))
        j.out_dtype = WEFT_I64;
    j.item = weft_dtype_block_bytes(j.dtype);
    j.out_item = weft_dtype_block_bytes(j.out_dtype);
    j.extent = (size_t)x->dims[axis];
    j.step = x->strides[axis] * (int64_t)j.item;
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    size_t outputs = 1;
    for (int d = 0; d < x->rank; d++) {
        if (d != axis || keep)
            dims[rank++] = d == axis ? 1 : x->dims[d];
        if (d == axis)
            continue;
        j.dims[j.rank] = x->dims[d];
        j.x_steps[j.rank++] = x->strides[d] * (int64_t)j.item;
        outputs *= (size_t)x->dims[d];
    }
    if (j.rank == 0)
        j.dims[j.rank++] = 1;
    weft_strides_of(j.rank, j.dims, j.y_steps);
    for (int d = 0; d < j.rank; d++)
        j.y_steps[d] *= (int64_t)j.out_item;
    weft_tensor *y = weft_scope_new(s, name, j.out_dtype, rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    j.x = weft_tensor_data(x);
    j.y = weft_tensor_data(y);
    if (outputs > 0) {
        plan(&j);
        size_t n = outputs / (size_t)j.dims[j.rank - 1] * j.n_col_tiles;
        weft_op_loop(s, n, j.extent * j.cols_a_tile + 1, reduce_tiles, &j);
    }
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_sum(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return reduce(s, REDUCE_SUM, x, axis, keep);
}
weft_tensor *weft_mean(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return reduce(s, REDUCE_MEAN, x, axis, keep);
}
weft_tensor *weft_max(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return reduce(s, REDUCE_MAX, x, axis, keep);
}
weft_tensor *weft_min(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return reduce(s, REDUCE_MIN, x, axis, keep);
}
weft_tensor *weft_argmax(weft_scope *s, weft_tensor *x, int axis, bool keep) {
    return reduce(s, REDUCE_ARGMAX, x, axis, keep);
}
