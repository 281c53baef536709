/* Walking the elements of several operands of one shape: neighbouring dims that lie alike in memory
 * are merged, the last two make tiles, and a tile is the unit of work. Also what every op does at
 * its start and end. Internal to src/tensor. */
#ifndef WEFT_TENSOR_WALK_H
#define WEFT_TENSOR_WALK_H

#include "base/floats.h"
#include "tensor/impl.h"
#include "tensor/profile.h"

#define WEFT_TILE 2048 /* elements a tile at most */
#define WEFT_WALK_OPERANDS 4

typedef struct weft_walk {
    int n, rank; /* operands; merged dims, >= 2 */
    int64_t dims[WEFT_MAX_RANK + 1];
    int64_t strides[WEFT_WALK_OPERANDS][WEFT_MAX_RANK + 1]; /* bytes */
    unsigned char *base[WEFT_WALK_OPERANDS];
    size_t item_bytes[WEFT_WALK_OPERANDS];
    size_t tile_rows, tile_cols, n_row_tiles, n_col_tiles;
    size_t n_tiles; /* 0 for an empty shape */
} weft_walk;

/* Operand `i` lies at data[i] with strides[i] (elements) over `dims`. Operand 0 decides the order.
 */
void weft_walk_init(weft_walk *w, int rank, const int64_t *dims, int n, void *const *data,
                    const int64_t *const *strides, const size_t *item_bytes);

typedef struct weft_tile_at {
    size_t rows, cols;
    unsigned char *data[WEFT_WALK_OPERANDS]; /* of the tile's first element */
} weft_tile_at;
void weft_walk_tile(const weft_walk *w, size_t tile, weft_tile_at *at);

/* The tile of operand `i` as rows * cols packed elements: where it lies, or copied to `buffer`
 * (WEFT_TILE elements). */
const void *weft_tile_load(const weft_walk *w, const weft_tile_at *at, int i, void *buffer);
/* Where to write the tile of operand 0 packed: its place in memory, or `buffer`, from which
 * weft_tile_store then puts it there. */
void *weft_tile_result(const weft_walk *w, const weft_tile_at *at, void *buffer);
void weft_tile_store(const weft_walk *w, const weft_tile_at *at, const void *packed);

/* Runs `fn` over all tiles on the scope's team; small work stays on the caller. */
void weft_walk_run(weft_scope *s, const weft_walk *w, weft_team_fn fn, void *ctx);
/* The same for any loop: about `item_work` element steps an item. */
void weft_op_loop(weft_scope *s, size_t n, size_t item_work, weft_team_fn fn, void *ctx);

/* rows x cols elements of `item_bytes` from any strides (bytes) to any strides. */
void weft_copy_2d(size_t item_bytes, size_t rows, size_t cols, const void *from, int64_t from_row,
                  int64_t from_col, void *to, int64_t to_row, int64_t to_col);
/* A whole strided copy on the team. Strides in elements. */
void weft_copy_strided(weft_scope *s, size_t item_bytes, int rank, const int64_t *dims,
                       const void *from, const int64_t *from_strides, void *to,
                       const int64_t *to_strides);

/* The same between two plain types (rules of convert.h). */
void weft_cast_strided(weft_scope *s, int rank, const int64_t *dims, weft_dtype from_type,
                       const void *from, const int64_t *from_strides, weft_dtype to_type, void *to,
                       const int64_t *to_strides);

/* Offset (in units of the strides) of the `index`-th element in row-major order. */
int64_t weft_index_offset(int rank, const int64_t *dims, const int64_t *strides, size_t index);
/* Row-major strides in elements. */
void weft_strides_of(int rank, const int64_t *dims, int64_t *strides);

/* ---- The frame of an op ---- */

typedef struct weft_op {
    weft_guard guard;
    weft_fpenv env;
    weft_timing timing;
} weft_op;
/* Locks `inputs` for reading and sets the floating environment; false: the status is set. */
bool weft_op_begin(weft_op *op, weft_scope *s, const char *name, weft_tensor *const *inputs,
                   size_t n);
void weft_op_end(weft_op *op);
/* For the profile, of an op that reads less than all of its inputs. */
static inline void weft_op_reads(weft_op *op, uint64_t bytes) {
    op->timing.bytes = bytes;
}

/* Plain elements in strided layout, or the status is set: WEFT_E_LAYOUT, WEFT_E_DTYPE. */
bool weft_op_plain(weft_scope *s, const char *name, const weft_tensor *t);
/* Plain f32, f16 or bf16. */
bool weft_op_float(weft_scope *s, const char *name, const weft_tensor *t);
/* Turns a negative axis positive; WEFT_E_RANGE outside. */
bool weft_op_axis(weft_scope *s, const char *name, const weft_tensor *t, int *axis);
/* WEFT_E_SHAPE unless both have the same dims. */
bool weft_op_same_shape(weft_scope *s, const char *name, const weft_tensor *a,
                        const weft_tensor *b);

bool weft_dtype_is_plain(weft_dtype dtype); /* f64 … bool */
size_t weft_ceil_div(size_t a, size_t b);

#endif
