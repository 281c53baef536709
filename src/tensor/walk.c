/* Tiles over strided operands, and the frame that every op shares. Nothing here allocates. */
#include "tensor/walk.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "tensor/scope.h"

size_t weft_ceil_div(size_t a, size_t b) {
    return a / b + (a % b != 0);
}

bool weft_dtype_is_plain(weft_dtype dtype) {
    return (int)dtype >= WEFT_F64 && dtype <= WEFT_BOOL;
}

int64_t weft_index_offset(int rank, const int64_t *dims, const int64_t *strides, size_t index) {
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0; d--) {
        size_t extent = (size_t)dims[d];
        offset += (int64_t)(index % extent) * strides[d];
        index /= extent;
    }
    return offset;
}

void weft_strides_of(int rank, const int64_t *dims, int64_t *strides) {
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = step;
        step *= dims[d] > 0 ? dims[d] : 1;
    }
}

static uint64_t magnitude(int64_t v) {
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Drops dims of extent 1 and merges a dim with the next where every operand steps evenly. */
static void merge_dims(weft_walk *w, int rank, const int64_t *dims, const int64_t *const *strides) {
    int out = 0;
    for (int d = 0; d < rank; d++) {
        if (dims[d] == 1)
            continue;
        bool joined = out > 0;
        for (int i = 0; i < w->n && joined; i++) {
            int64_t s = strides[i][d] * (int64_t)w->item_bytes[i];
            joined = w->strides[i][out - 1] == s * dims[d];
        }
        int at = joined ? out - 1 : out++;
        w->dims[at] = joined ? w->dims[at] * dims[d] : dims[d];
        for (int i = 0; i < w->n; i++)
            w->strides[i][at] = strides[i][d] * (int64_t)w->item_bytes[i];
    }
    w->rank = out;
}

/* Tiles want two dims. */
static void pad_to_two(weft_walk *w) {
    while (w->rank < 2) {
        for (int d = w->rank; d > 0; d--) {
            w->dims[d] = w->dims[d - 1];
            for (int i = 0; i < w->n; i++)
                w->strides[i][d] = w->strides[i][d - 1];
        }
        w->dims[0] = 1;
        for (int i = 0; i < w->n; i++)
            w->strides[i][0] = 0;
        w->rank++;
    }
}

/* Where an operand is not read in order along the last dim, the dim in which it is becomes the
 * tile's other one, so that the cache lines read are used up within the tile. */
static bool choose_tile_dim(weft_walk *w) {
    int last = w->rank - 1, dim = last - 1;
    bool crosswise = false;
    for (int i = 0; i < w->n && !crosswise; i++) {
        uint64_t inner = magnitude(w->strides[i][last]);
        if (inner <= w->item_bytes[i])
            continue;
        for (int d = 0; d < last; d++) {
            uint64_t step = magnitude(w->strides[i][d]);
            if (step != 0 && step < inner) {
                dim = d;
                inner = step;
                crosswise = true;
            }
        }
    }
    for (int d = dim; d < last - 1; d++) { /* rotate it to the place before the last */
        int64_t extent = w->dims[d];
        w->dims[d] = w->dims[d + 1];
        w->dims[d + 1] = extent;
        for (int i = 0; i < w->n; i++) {
            int64_t step = w->strides[i][d];
            w->strides[i][d] = w->strides[i][d + 1];
            w->strides[i][d + 1] = step;
        }
    }
    return crosswise;
}

void weft_walk_init(weft_walk *w, int rank, const int64_t *dims, int n, void *const *data,
                    const int64_t *const *strides, const size_t *item_bytes) {
    w->n = n;
    w->n_tiles = 0;
    for (int i = 0; i < n; i++) {
        w->base[i] = data[i];
        w->item_bytes[i] = item_bytes[i];
    }
    for (int d = 0; d < rank; d++)
        if (dims[d] == 0)
            return;
    merge_dims(w, rank, dims, strides);
    pad_to_two(w);
    bool crosswise = choose_tile_dim(w);
    size_t rows = (size_t)w->dims[w->rank - 2], cols = (size_t)w->dims[w->rank - 1];
    size_t most_cols = crosswise ? 32 : WEFT_TILE;
    w->tile_cols = cols < most_cols ? cols : most_cols;
    w->tile_rows = WEFT_TILE / w->tile_cols;
    if (w->tile_rows > rows)
        w->tile_rows = rows;
    w->n_row_tiles = weft_ceil_div(rows, w->tile_rows);
    w->n_col_tiles = weft_ceil_div(cols, w->tile_cols);
    w->n_tiles = w->n_row_tiles * w->n_col_tiles;
    for (int d = 0; d < w->rank - 2; d++)
        w->n_tiles *= (size_t)w->dims[d];
}

void weft_walk_tile(const weft_walk *w, size_t tile, weft_tile_at *at) {
    size_t col = tile % w->n_col_tiles * w->tile_cols;
    tile /= w->n_col_tiles;
    size_t row = tile % w->n_row_tiles * w->tile_rows;
    tile /= w->n_row_tiles;
    size_t rows = (size_t)w->dims[w->rank - 2] - row, cols = (size_t)w->dims[w->rank - 1] - col;
    at->rows = rows < w->tile_rows ? rows : w->tile_rows;
    at->cols = cols < w->tile_cols ? cols : w->tile_cols;
    for (int i = 0; i < w->n; i++) {
        const int64_t *s = w->strides[i];
        int64_t offset = weft_index_offset(w->rank - 2, w->dims, s, tile);
        offset += (int64_t)row * s[w->rank - 2] + (int64_t)col * s[w->rank - 1];
        at->data[i] = w->base[i] + offset;
    }
}

static bool is_packed(const weft_walk *w, const weft_tile_at *at, int i) {
    int64_t item = (int64_t)w->item_bytes[i];
    return (at->cols == 1 || w->strides[i][w->rank - 1] == item) &&
           (at->rows == 1 || w->strides[i][w->rank - 2] == item * (int64_t)at->cols);
}

__attribute__((always_inline)) static inline void copy_sized(size_t item, size_t rows, size_t cols,
                                                             const unsigned char *from,
                                                             int64_t from_row, int64_t from_col,
                                                             unsigned char *to, int64_t to_row,
                                                             int64_t to_col) {
    if (magnitude(from_row) <
        magnitude(from_col)) { /* read in order, a cache line's worth of rows */
        for (size_t first = 0; first < rows; first += 16) {
            size_t n = rows - first < 16 ? rows - first : 16;
            for (size_t c = 0; c < cols; c++) {
                const unsigned char *f = from + (int64_t)first * from_row + (int64_t)c * from_col;
                unsigned char *t = to + (int64_t)first * to_row + (int64_t)c * to_col;
                for (size_t r = 0; r < n; r++)
                    memcpy(t + (int64_t)r * to_row, f + (int64_t)r * from_row, item);
            }
        }
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        const unsigned char *f = from + (int64_t)r * from_row;
        unsigned char *t = to + (int64_t)r * to_row;
        for (size_t c = 0; c < cols; c++)
            memcpy(t + (int64_t)c * to_col, f + (int64_t)c * from_col, item);
    }
}

/* ---- Transposing copies of 32-bit elements ---- */

#define TURN 16 /* elements: a cache line */

typedef uint32_t word4 __attribute__((vector_size(16)));

/* 4 elements of each of 4 columns, in order along the rows, become 4 rows of 4. */
static inline void turn_4x4(const unsigned char *from, int64_t from_col, uint32_t *to) {
    word4 c[4], t[4];
    for (int i = 0; i < 4; i++)
        memcpy(&c[i], from + i * from_col, sizeof c[i]);
    t[0] = __builtin_shufflevector(c[0], c[1], 0, 4, 1, 5);
    t[1] = __builtin_shufflevector(c[0], c[1], 2, 6, 3, 7);
    t[2] = __builtin_shufflevector(c[2], c[3], 0, 4, 1, 5);
    t[3] = __builtin_shufflevector(c[2], c[3], 2, 6, 3, 7);
    c[0] = __builtin_shufflevector(t[0], t[2], 0, 1, 4, 5);
    c[1] = __builtin_shufflevector(t[0], t[2], 2, 3, 6, 7);
    c[2] = __builtin_shufflevector(t[1], t[3], 0, 1, 4, 5);
    c[3] = __builtin_shufflevector(t[1], t[3], 2, 3, 6, 7);
    for (int i = 0; i < 4; i++)
        memcpy(to + i * TURN, &c[i], sizeof c[i]);
}

/* A line of 64 bytes to `to`, a multiple of 64, past the caches: what is written is not read first.
 * stream_end() comes before anyone reads it. */
static inline void stream_line(unsigned char *to, const uint32_t *line) {
#ifdef __SSE2__
    for (size_t i = 0; i < TURN; i += 4) {
        __m128i v = _mm_load_si128((const __m128i *)(const void *)(line + i));
        _mm_stream_si128((__m128i *)(void *)(to + 4 * i), v);
    }
#else
    memcpy(to, line, TURN * sizeof *line);
#endif
}

static inline void stream_end(void) {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Rows lie in order in `from`, columns in `to`: blocks of whole cache lines on both sides, through
 * a buffer, so that lines a power of two apart do not push one another out half written. The tile
 * that lies beside this one in `to` is asked for early. */
static void turn_words(size_t rows, size_t cols, const unsigned char *from, int64_t from_col,
                       unsigned char *to, int64_t to_row, bool stream) {
    size_t full_rows = rows / TURN * TURN, full_cols = cols / TURN * TURN;
    _Alignas(64) uint32_t block[TURN * TURN];
    for (size_t r = 0; r < full_rows; r += TURN)
        for (size_t c = 0; c < full_cols; c += TURN) {
            for (size_t j = 0; stream && j < TURN; j++)
                __builtin_prefetch(from + (int64_t)(c + j + cols) * from_col + (int64_t)r * 4);
            for (size_t j = 0; j < TURN; j += 4)
                for (size_t i = 0; i < TURN; i += 4)
                    turn_4x4(from + (int64_t)(c + j) * from_col + (int64_t)(r + i) * 4, from_col,
                             block + i * TURN + j);
            for (size_t i = 0; i < TURN; i++) {
                unsigned char *line = to + (int64_t)(r + i) * to_row + (int64_t)c * 4;
                if (stream)
                    stream_line(line, block + i * TURN);
                else
                    memcpy(line, block + i * TURN, TURN * sizeof block[0]);
            }
        }
    /* What is left: rows below, then columns beside. */
    copy_sized(4, rows - full_rows, cols, from + full_rows * 4, 4, from_col,
               to + (int64_t)full_rows * to_row, to_row, 4);
    copy_sized(4, full_rows, cols - full_cols, from + (int64_t)full_cols * from_col, 4, from_col,
               to + full_cols * 4, to_row, 4);
}

void weft_copy_2d(size_t item_bytes, size_t rows, size_t cols, const void *from, int64_t from_row,
                  int64_t from_col, void *to, int64_t to_row, int64_t to_col) {
    int64_t item = (int64_t)item_bytes;
    if (from_col == item && to_col == item) {
        for (size_t r = 0; r < rows; r++)
            memcpy((unsigned char *)to + (int64_t)r * to_row,
                   (const unsigned char *)from + (int64_t)r * from_row, cols * item_bytes);
    } else if (item_bytes == 4 && from_row == 4 && to_col == 4) {
        turn_words(rows, cols, from, from_col, to, to_row, false);
    } else if (item_bytes == 4 && from_col == 4 && to_row == 4) {
        turn_words(cols, rows, from, from_row, to, to_col, false);
    } else if (item_bytes == 4) {
        copy_sized(4, rows, cols, from, from_row, from_col, to, to_row, to_col);
    } else if (item_bytes == 2) {
        copy_sized(2, rows, cols, from, from_row, from_col, to, to_row, to_col);
    } else if (item_bytes == 8) {
        copy_sized(8, rows, cols, from, from_row, from_col, to, to_row, to_col);
    } else {
        copy_sized(item_bytes, rows, cols, from, from_row, from_col, to, to_row, to_col);
    }
}

const void *weft_tile_load(const weft_walk *w, const weft_tile_at *at, int i, void *buffer) {
    if (is_packed(w, at, i))
        return at->data[i];
    int64_t item = (int64_t)w->item_bytes[i];
    weft_copy_2d(w->item_bytes[i], at->rows, at->cols, at->data[i], w->strides[i][w->rank - 2],
                 w->strides[i][w->rank - 1], buffer, item * (int64_t)at->cols, item);
    return buffer;
}

void *weft_tile_result(const weft_walk *w, const weft_tile_at *at, void *buffer) {
    return is_packed(w, at, 0) ? at->data[0] : buffer;
}

void weft_tile_store(const weft_walk *w, const weft_tile_at *at, const void *packed) {
    if (packed == at->data[0])
        return;
    int64_t item = (int64_t)w->item_bytes[0];
    weft_copy_2d(w->item_bytes[0], at->rows, at->cols, packed, item * (int64_t)at->cols, item,
                 at->data[0], w->strides[0][w->rank - 2], w->strides[0][w->rank - 1]);
}

#define LOOP_WORK 16384 /* element steps that are worth handing to another thread */

void weft_op_loop(weft_scope *s, size_t n, size_t item_work, weft_team_fn fn, void *ctx) {
    if (n == 0)
        return;
    size_t grain = item_work == 0 ? n : LOOP_WORK / item_work;
    if (grain == 0)
        grain = 1;
    if (n <= grain)
        fn(ctx, 0, n, 0);
    else
        weft_team_for(weft_scope_team(s), n, grain, fn, ctx);
}

void weft_walk_run(weft_scope *s, const weft_walk *w, weft_team_fn fn, void *ctx) {
    if (w->n_tiles > 0)
        weft_op_loop(s, w->n_tiles, w->tile_rows * w->tile_cols, fn, ctx);
}

#define STREAM_BYTES ((size_t)16 << 20) /* more than a level-2 cache keeps of a copy */

/* Whether a walk of two operands is a transposing copy of words, of whole lines of a large one. */
static bool copy_streams(const weft_walk *w) {
    int row = w->rank - 2, col = w->rank - 1;
    bool lines = (uintptr_t)w->base[0] % 64 == 0;
    for (int d = 0; d < col; d++)
        lines = lines && w->strides[0][d] % 64 == 0;
    return lines && w->item_bytes[0] == 4 && w->strides[1][row] == 4 && w->strides[0][col] == 4 &&
           w->tile_cols % TURN == 0 && 4 * w->n_tiles * w->tile_rows * w->tile_cols >= STREAM_BYTES;
}

static void copy_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const weft_walk *w = ctx;
    (void)thread;
    int row = w->rank - 2, col = w->rank - 1;
    bool stream = copy_streams(w);
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(w, t, &at);
        if (stream)
            turn_words(at.rows, at.cols, at.data[1], w->strides[1][col], at.data[0],
                       w->strides[0][row], true);
        else
            weft_copy_2d(w->item_bytes[0], at.rows, at.cols, at.data[1], w->strides[1][row],
                         w->strides[1][col], at.data[0], w->strides[0][row], w->strides[0][col]);
    }
    if (stream)
        stream_end();
}

void weft_copy_strided(weft_scope *s, size_t item_bytes, int rank, const int64_t *dims,
                       const void *from, const int64_t *from_strides, void *to,
                       const int64_t *to_strides) {
    weft_walk w;
    union {
        const void *in;
        void *out;
    } source = {.in = from}; /* operand 1 is only read */
    void *data[] = {to, source.out};
    const int64_t *strides[] = {to_strides, from_strides};
    size_t items[] = {item_bytes, item_bytes};
    weft_walk_init(&w, rank, dims, 2, data, strides, items);
    weft_walk_run(s, &w, copy_tiles, &w);
}

bool weft_op_begin(weft_op *op, weft_scope *s, const char *name, weft_tensor *const *inputs,
                   size_t n) {
    weft_status status = weft_guard_lock(&op->guard, inputs, n, 0);
    if (status != WEFT_OK) {
        weft_scope_fail_in(s, status, name);
        return false;
    }
    op->env = weft_fpenv_enter();
    op->timing = weft_timing_begin(weft_scope_engine(s), name, inputs, n);
    return true;
}

void weft_op_end(weft_op *op) {
    weft_timing_end(&op->timing);
    weft_fpenv_restore(op->env);
    weft_guard_unlock(&op->guard);
}

bool weft_op_plain(weft_scope *s, const char *name, const weft_tensor *t) {
    char shape[128];
    if (t->layout != WEFT_LAYOUT_STRIDED) {
        weft_scope_fail(s, WEFT_E_LAYOUT, name, "packed panels %s are not allowed here",
                        weft_shape_text(t, shape, sizeof shape));
        return false;
    }
    if (!weft_dtype_is_plain(t->dtype)) {
        weft_scope_fail(s, WEFT_E_DTYPE, name, "%s of shape %s is not allowed here",
                        weft_dtype_name(t->dtype), weft_shape_text(t, shape, sizeof shape));
        return false;
    }
    return true;
}

bool weft_op_float(weft_scope *s, const char *name, const weft_tensor *t) {
    if (!weft_op_plain(s, name, t))
        return false;
    if (t->dtype == WEFT_F32 || t->dtype == WEFT_F16 || t->dtype == WEFT_BF16)
        return true;
    char shape[128];
    weft_scope_fail(s, WEFT_E_DTYPE, name, "%s of shape %s: f32, f16 or bf16 is needed",
                    weft_dtype_name(t->dtype), weft_shape_text(t, shape, sizeof shape));
    return false;
}

bool weft_op_axis(weft_scope *s, const char *name, const weft_tensor *t, int *axis) {
    int a = *axis < 0 && *axis >= -t->rank ? *axis + t->rank : *axis;
    if (a < 0 || a >= t->rank) {
        char shape[128];
        weft_scope_fail(s, WEFT_E_RANGE, name, "axis %d is out of range for shape %s", *axis,
                        weft_shape_text(t, shape, sizeof shape));
        return false;
    }
    *axis = a;
    return true;
}

bool weft_op_same_shape(weft_scope *s, const char *name, const weft_tensor *a,
                        const weft_tensor *b) {
    char sa[128], sb[128];
    if (a->rank != b->rank) {
        weft_scope_fail(s, WEFT_E_SHAPE, name, "shapes %s and %s differ in rank (%d and %d)",
                        weft_shape_text(a, sa, sizeof sa), weft_shape_text(b, sb, sizeof sb),
                        a->rank, b->rank);
        return false;
    }
    for (int d = 0; d < a->rank; d++) {
        if (a->dims[d] == b->dims[d])
            continue;
        weft_scope_fail(s, WEFT_E_SHAPE, name, "shapes %s and %s differ in dim %d (%lld and %lld)",
                        weft_shape_text(a, sa, sizeof sa), weft_shape_text(b, sb, sizeof sb), d,
                        (long long)a->dims[d], (long long)b->dims[d]);
        return false;
    }
    return true;
}
