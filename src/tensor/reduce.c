/* Reductions over any set of dims. The reduced elements of an output are numbered row-major and
 * cut into chunks of a fixed length, which threads share; chunks are added in order, so that the
 * bits depend neither on strides nor on threads. Where a kept dim lies closest in memory, outputs
 * that are neighbours along it are reduced together. */
#include "tensor/reduce.h"
#include "base/alloc.h"
#include "tensor/convert.h"
#include "tensor/fold.h"
#include "tensor/kernels/ref/math64.h"

#include <math.h>
#include <string.h>

#define CHUNK 65536  /* reduced elements; a multiple of the lanes */
#define MOST_ROWS 64 /* outputs whose elements lie in rows, an item */
#define FEW 32       /* columns, from which on they are worth a step of their own */
#define GATHERED WEFT_FOLD_RUN
#define MOST_COLUMNS 2048                 /* side by side */
#define LEAST_COLUMNS 512                 /* a long stream of each row, where there are so many */
#define COLUMNS_CACHE ((size_t)512 << 10) /* bytes kept of them together, for a level-2 cache */
#define SHORT 512                         /* reduced elements, which seldom come back to them: */
#define SHORT_CACHE ((size_t)32 << 10)    /* a level-1 cache */

typedef enum reduce_mode {
    MODE_ROWS,    /* reduced elements lie closest: output after output */
    MODE_COLUMNS, /* outputs lie packed: step after step for all of them */
    MODE_TURNED   /* outputs lie closest, but few or not packed: gathered into rows */
} reduce_mode;

typedef struct dim_list {
    int rank;
    int64_t dims[WEFT_MAX_RANK + 1], x_steps[WEFT_MAX_RANK + 1], y_steps[WEFT_MAX_RANK + 1];
} dim_list;

typedef struct reduce_job {
    weft_folder folder;
    weft_dtype out_dtype;
    size_t item, out_item;
    dim_list kept, reduced; /* steps in bytes; the last kept dim holds the columns */
    size_t n;               /* reduced elements of an output */
    size_t n_chunks, columns, n_column_tiles, outputs;
    reduce_mode mode;
    const unsigned char *x;
    unsigned char *y;
    weft_partial *partials; /* [outputs, n_chunks], or NULL with one chunk */
    bool tree;              /* MODE_COLUMNS: few rows that step evenly, summed at once */
    unsigned char *scratch; /* MODE_COLUMNS: scratch_bytes a thread */
    size_t scratch_bytes;
} reduce_job;

/* ---- Outputs ---- */

static double finish(const reduce_job *j, const weft_partial *p) {
    const weft_reduce_def *def = j->folder.def;
    double n = (double)j->n, value = p->a;
    switch (def->finish) {
    case WEFT_FINISH_MEAN:
        return value / n;
    case WEFT_FINISH_SQRT:
        return sqrt(value);
    case WEFT_FINISH_ROOT:
        return weft_pow64(value, 1 / def->p);
    case WEFT_FINISH_VAR:
    case WEFT_FINISH_STD:
        value = n > def->p ? p->b / (n - def->p) : (double)NAN;
        return def->finish == WEFT_FINISH_STD ? sqrt(value) : value;
    default:
        return value;
    }
}

static void store(const reduce_job *j, const weft_partial *p, void *y) {
    weft_fold fold = j->folder.def->fold;
    if (fold == WEFT_FOLD_ARGMAX || fold == WEFT_FOLD_ARGMIN) {
        memcpy(y, &p->index, sizeof p->index);
    } else if (j->folder.domain == WEFT_IN_I64) {
        weft_from_i64(&p->whole, j->out_dtype, y, 1);
    } else {
        double value = finish(j, p);
        weft_convert(j->folder.k, WEFT_F64, &value, j->out_dtype, y, 1);
    }
}

/* ---- A chunk of some columns ---- */

typedef struct piece {
    const unsigned char *x; /* of the first column, reduced element 0 */
    size_t columns, begin, end;
} piece;

/* The run from reduced element `at` on that steps evenly: its place, length and step. */
static const unsigned char *run_at(const reduce_job *j, const piece *p, size_t at, size_t *n,
                                   int64_t *step) {
    const dim_list *r = &j->reduced;
    size_t extent = (size_t)r->dims[r->rank - 1], left = extent - at % extent;
    *n = left < p->end - at ? left : p->end - at;
    *step = r->x_steps[r->rank - 1];
    return p->x + weft_index_offset(r->rank, r->dims, r->x_steps, at);
}

static void chunk_rows(const reduce_job *j, const piece *p, weft_partial *out) {
    _Alignas(64) unsigned char raw[GATHERED * 8], wide[GATHERED * 8];
    int64_t column_step = j->kept.x_steps[j->kept.rank - 1], step;
    weft_whole_fold kind;
    bool whole = weft_fold_is_whole(&j->folder, &kind);
    for (size_t c = 0; c < p->columns; c++) {
        weft_row_fold st;
        weft_row_begin(&j->folder, &st);
        size_t n;
        for (size_t at = p->begin; at < p->end; at += n) {
            const unsigned char *x = run_at(j, p, at, &n, &step) + (int64_t)c * column_step;
            n = n < GATHERED ? n : GATHERED;
            const void *packed = x;
            if (step != (int64_t)j->item) {
                weft_copy_2d(j->item, 1, n, x, 0, step, raw, 0, (int64_t)j->item);
                packed = raw;
            }
            if (whole)
                weft_row_fold_whole(&j->folder, &st, kind, packed, n);
            else
                weft_row_fold_run(&j->folder, &st, weft_fold_widen(&j->folder, packed, n, wide), n);
        }
        out[c] = weft_row_end(&j->folder, &st, (int64_t)p->begin);
    }
}

static void chunk_turned(const reduce_job *j, const piece *p, weft_partial *out) {
    _Alignas(64) unsigned char raw[GATHERED * 8], wide[GATHERED * 8];
    weft_row_fold st[FEW];
    int64_t column_step = j->kept.x_steps[j->kept.rank - 1], step, item = (int64_t)j->item;
    size_t n, most = GATHERED / FEW;
    for (size_t c = 0; c < p->columns; c++)
        weft_row_begin(&j->folder, &st[c]);
    for (size_t at = p->begin; at < p->end; at += n) {
        const unsigned char *x = run_at(j, p, at, &n, &step);
        n = n < most ? n : most;
        weft_copy_2d(j->item, p->columns, n, x, column_step, step, raw, (int64_t)n * item, item);
        for (size_t c = 0; c < p->columns; c++)
            weft_row_fold_run(&j->folder, &st[c],
                              weft_fold_widen(&j->folder, raw + c * n * j->item, n, wide), n);
    }
    for (size_t c = 0; c < p->columns; c++)
        out[c] = weft_row_end(&j->folder, &st[c], (int64_t)p->begin);
}

/* Where the results of a piece go: to y, or among the partials. */
typedef struct place {
    unsigned char *y;
    size_t output, chunk;
} place;

static void put(const reduce_job *j, const place *at, size_t c, const weft_partial *p) {
    if (j->partials)
        j->partials[(at->output + c) * j->n_chunks + at->chunk] = *p;
    else
        store(j, p, at->y + (int64_t)c * j->kept.y_steps[j->kept.rank - 1]);
}

/* As finish() does with each total. */
static void finish_columns(const reduce_job *j, double *totals, size_t columns) {
    if (j->folder.def->finish == WEFT_FINISH_NONE)
        return;
    for (size_t c = 0; c < columns; c++)
        totals[c] = finish(j, &(weft_partial){.a = totals[c]});
}

/* weft_convert() to f32, as a loop of vectors. */
static void narrow(const double *totals, size_t columns, void *y) {
    float *to = y;
    for (size_t c = 0; c < columns; c++)
        to[c] = (float)totals[c];
}

/* All columns of a tile at once, where that is simple; the same as each by itself. */
static bool store_columns(const reduce_job *j, weft_column_fold *st, const place *to) {
    weft_fold fold = j->folder.def->fold;
    bool packed = j->kept.y_steps[j->kept.rank - 1] == (int64_t)j->out_item;
    if (!packed || j->partials || st->index || fold == WEFT_FOLD_PROD || fold == WEFT_FOLD_VAR)
        return false;
    if (st->whole) {
        weft_from_i64(st->whole, j->out_dtype, to->y, st->columns);
    } else if (st->best32) {
        for (size_t c = 0; c < st->columns; c++)
            st->best32[c] = st->best32[c] != st->best32[c] ? (float)NAN : st->best32[c];
        weft_from_f32(j->folder.k, st->best32, j->out_dtype, to->y, st->columns);
    } else if (st->sum) {
        finish_columns(j, st->sum, st->columns);
        if (j->out_dtype == WEFT_F32)
            narrow(st->sum, st->columns, to->y);
        else
            weft_convert(j->folder.k, WEFT_F64, st->sum, j->out_dtype, to->y, st->columns);
    }
    return !st->best;
}

static void chunk_columns(const reduce_job *j, const piece *p, const place *to, void *memory) {
    weft_column_fold st;
    int64_t step;
    size_t n;
    if (j->tree) {
        weft_column_tree(&j->folder, &st, memory, p->columns, p->x,
                         (ptrdiff_t)j->reduced.x_steps[0], p->end);
    } else {
        weft_column_begin(&j->folder, &st, memory, p->columns);
        for (size_t at = p->begin; at < p->end; at += n) {
            const unsigned char *x = run_at(j, p, at, &n, &step);
            weft_column_fold_rows(&j->folder, &st, x, (ptrdiff_t)step, n);
        }
        weft_column_end(&j->folder, &st);
    }
    if (store_columns(j, &st, to))
        return;
    for (size_t c = 0; c < p->columns; c++) {
        weft_partial result = weft_column_result(&j->folder, &st, c, (int64_t)p->begin);
        put(j, to, c, &result);
    }
}

/* Item = (outer output, tile of columns, chunk), chunks fastest. */
static void reduce_items(void *ctx, size_t begin, size_t end, int thread) {
    const reduce_job *j = ctx;
    const dim_list *k = &j->kept;
    int last = k->rank - 1;
    weft_partial out[MOST_ROWS];
    for (size_t t = begin; t < end; t++) {
        size_t chunk = t % j->n_chunks, tile = t / j->n_chunks;
        size_t first = tile % j->n_column_tiles * j->columns, outer = tile / j->n_column_tiles;
        piece p = {.columns = (size_t)k->dims[last] - first, .begin = chunk * CHUNK};
        p.columns = p.columns < j->columns ? p.columns : j->columns;
        p.end = j->n - p.begin < CHUNK ? j->n : p.begin + CHUNK;
        p.x = j->x + weft_index_offset(last, k->dims, k->x_steps, outer) +
              (int64_t)first * k->x_steps[last];
        place to = {.output = outer * (size_t)k->dims[last] + first, .chunk = chunk};
        to.y = j->y + weft_index_offset(last, k->dims, k->y_steps, outer) +
               (int64_t)first * k->y_steps[last];
        if (j->mode == MODE_COLUMNS) {
            chunk_columns(j, &p, &to, j->scratch + (size_t)thread * j->scratch_bytes);
            continue;
        }
        if (j->mode == MODE_ROWS)
            chunk_rows(j, &p, out);
        else
            chunk_turned(j, &p, out);
        for (size_t c = 0; c < p.columns; c++)
            put(j, &to, c, &out[c]);
    }
}

static void join_chunks(void *ctx, size_t begin, size_t end, int thread) {
    const reduce_job *j = ctx;
    const dim_list *k = &j->kept;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        weft_partial total = j->partials[i * j->n_chunks];
        for (size_t c = 1; c < j->n_chunks; c++)
            weft_partial_add(&j->folder, &total, &j->partials[i * j->n_chunks + c]);
        store(j, &total, j->y + weft_index_offset(k->rank, k->dims, k->y_steps, i));
    }
}

/* ---- Plans ---- */

static int64_t magnitude(int64_t v) {
    return v < 0 ? -v : v;
}

/* Adds a dim, merged with the one before it where both step evenly. */
static void add_dim(dim_list *l, int64_t extent, int64_t x_step, int64_t y_step) {
    int last = l->rank - 1;
    if (extent == 1)
        return;
    if (last >= 0 && l->x_steps[last] == x_step * extent && l->y_steps[last] == y_step * extent) {
        l->dims[last] *= extent;
        l->x_steps[last] = x_step;
        l->y_steps[last] = y_step;
        return;
    }
    l->dims[l->rank] = extent;
    l->x_steps[l->rank] = x_step;
    l->y_steps[l->rank++] = y_step;
}

static void need_a_dim(dim_list *l) {
    if (l->rank == 0)
        l->dims[l->rank++] = 1;
}

static size_t column_bytes(const reduce_job *j) {
    return j->tree ? WEFT_TREE_BYTES : weft_column_bytes(&j->folder);
}

/* As many columns as the cache takes, but such that every thread finds work. */
static size_t column_tile(const reduce_job *j, size_t width, size_t threads) {
    size_t cache = j->n < SHORT && !j->tree ? SHORT_CACHE : COLUMNS_CACHE;
    size_t most = cache / column_bytes(j);
    size_t others = j->outputs / width * j->n_chunks;
    size_t tiles = threads > 1 ? weft_ceil_div(2 * threads, others) : 1;
    size_t share = weft_ceil_div(width, tiles);
    most = most < MOST_COLUMNS ? most : MOST_COLUMNS;
    share = share < LEAST_COLUMNS ? LEAST_COLUMNS : share;
    return (share < most ? share : most) / 16 * 16;
}

/* The kept dim that lies closest becomes the last. */
static void plan(reduce_job *j, size_t threads) {
    dim_list *k = &j->kept;
    int dim = k->rank - 1;
    int64_t axis_step = magnitude(j->reduced.x_steps[j->reduced.rank - 1]);
    for (int d = 0; d < k->rank; d++) {
        int64_t step = magnitude(k->x_steps[d]), least = magnitude(k->x_steps[dim]);
        if (step > 0 && k->dims[d] > 1 && (step < least || least == 0))
            dim = d;
    }
    int64_t least = magnitude(k->x_steps[dim]);
    bool columns = j->n > 1 && k->dims[dim] > 1 && least > 0 && least < axis_step;
    for (int d = dim; columns && d < k->rank - 1; d++) {
        int64_t *lists[] = {k->dims, k->x_steps, k->y_steps};
        for (int i = 0; i < 3; i++) {
            int64_t v = lists[i][d];
            lists[i][d] = lists[i][d + 1];
            lists[i][d + 1] = v;
        }
    }
    size_t width = (size_t)k->dims[k->rank - 1];
    j->mode = MODE_ROWS;
    j->columns = j->n < 256 ? MOST_ROWS : 1;
    j->n_chunks = weft_ceil_div(j->n, CHUNK);
    if (columns) {
        bool packed = k->x_steps[k->rank - 1] == (int64_t)j->item && width >= FEW;
        j->mode = packed ? MODE_COLUMNS : MODE_TURNED;
        j->tree = packed && j->n <= WEFT_TREE_ROWS && j->reduced.rank == 1 &&
                  weft_column_has_tree(&j->folder);
        j->columns = packed ? column_tile(j, width, threads) : FEW;
    }
    j->columns = width < j->columns ? width : j->columns;
    j->n_column_tiles = weft_ceil_div(width, j->columns);
}

static bool run_reduce(weft_scope *s, const char *name, reduce_job *j) {
    if (j->n_chunks > 1) {
        size_t count;
        if (!weft_mul_size(j->outputs, j->n_chunks, &count))
            count = 0;
        j->partials = weft_scope_scratch(s, name, weft_size_of(count, sizeof *j->partials));
        if (j->partials == NULL)
            return false;
    }
    if (j->mode == MODE_COLUMNS) {
        size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
        j->scratch_bytes = (j->columns * column_bytes(j) + 63) / 64 * 64;
        j->scratch = weft_scope_scratch(s, name, weft_size_of(threads, j->scratch_bytes));
        if (j->scratch == NULL)
            return false;
    }
    size_t tiles = j->outputs / (size_t)j->kept.dims[j->kept.rank - 1] * j->n_column_tiles;
    size_t each = j->n < CHUNK ? j->n : CHUNK;
    weft_op_loop(s, tiles * j->n_chunks, each * j->columns + 64, reduce_items, j);
    if (j->partials)
        weft_op_loop(s, j->outputs, j->n_chunks, join_chunks, j);
    return true;
}

/* Nothing was reduced: what the op gives then, everywhere. */
static void fill_empty(const reduce_job *j) {
    const weft_reduce_def *def = j->folder.def;
    weft_partial p = {.a = def->fold == WEFT_FOLD_PROD, .whole = def->fold == WEFT_FOLD_PROD};
    if (def->fold == WEFT_FOLD_MAX || def->fold == WEFT_FOLD_MIN) {
        p.a = def->empty;
        p.whole = (int64_t)def->empty;
    }
    for (size_t i = 0; i < j->outputs; i++)
        store(j, &p, j->y + weft_index_offset(j->kept.rank, j->kept.dims, j->kept.y_steps, i));
}

/* ---- The op ---- */

/* Which axes are reduced, as bits; false: the status is set. */
static bool resolve_axes(weft_scope *s, const char *name, const weft_tensor *x, const int *axes,
                         int n_axes, unsigned *out) {
    *out = 0;
    if (axes == NULL && n_axes == 0) {
        *out = (1u << x->rank) - 1;
        return true;
    }
    if (axes == NULL || n_axes < 0 || n_axes > WEFT_MAX_RANK) {
        weft_scope_fail(s, axes == NULL ? WEFT_E_NULL : WEFT_E_ARGUMENT, name, "%d axes", n_axes);
        return false;
    }
    for (int i = 0; i < n_axes; i++) {
        int axis = axes[i];
        if (!weft_op_axis(s, name, x, &axis))
            return false;
        if (*out >> axis & 1u) {
            weft_scope_fail(s, WEFT_E_ARGUMENT, name, "axis %d comes twice", axis);
            return false;
        }
        *out |= 1u << axis;
    }
    return true;
}

static weft_dtype result_type(const weft_reduce_def *def, weft_dtype dtype) {
    if (def->fold == WEFT_FOLD_ARGMAX || def->fold == WEFT_FOLD_ARGMIN)
        return WEFT_I64;
    bool adds = def->fold == WEFT_FOLD_SUM || def->fold == WEFT_FOLD_PROD;
    return adds && !weft_dtype_is_float(dtype) ? WEFT_I64 : dtype;
}

weft_tensor *weft_reduce(weft_scope *s, const char *name, const weft_reduce_def *def,
                         weft_tensor *x, const int *axes, int n_axes, bool keep) {
    unsigned which;
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, def->types) ||
        !resolve_axes(s, name, x, axes, n_axes, &which))
        return NULL;
    reduce_job j = {.out_dtype = result_type(def, x->dtype), .n = 1};
    j.folder = (weft_folder){weft_scope_kernels(s), def, weft_domain_of(x->dtype), x->dtype};
    if (j.folder.domain == WEFT_IN_F32 && def->premap != WEFT_PREMAP_NONE)
        j.folder.domain = WEFT_IN_F64;
    j.item = weft_dtype_block_bytes(x->dtype);
    j.out_item = weft_dtype_block_bytes(j.out_dtype);
    int64_t dims[WEFT_MAX_RANK], y_steps[WEFT_MAX_RANK], y_dims[WEFT_MAX_RANK];
    int rank = 0;
    j.outputs = 1;
    for (int d = 0; d < x->rank; d++) {
        bool reduced = which >> d & 1u;
        y_dims[d] = reduced ? 1 : x->dims[d];
        if (!reduced || keep)
            dims[rank++] = y_dims[d];
        *(reduced ? &j.n : &j.outputs) *= (size_t)x->dims[d];
    }
    if (j.n == 0 && def->refuses_empty) {
        char shape[128];
        int axis = 0;
        while (!(which >> axis & 1u) || x->dims[axis] != 0)
            axis++;
        return weft_scope_fail(s, WEFT_E_EMPTY, name, "axis %d of shape %s has no elements", axis,
                               weft_shape_text(x, shape, sizeof shape));
    }
    weft_tensor *y = weft_scope_new(s, name, j.out_dtype, rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, &x, 1))
        return NULL;
    weft_strides_of(x->rank, y_dims, y_steps);
    for (int d = 0; d < x->rank; d++)
        add_dim(which >> d & 1u ? &j.reduced : &j.kept, x->dims[d], x->strides[d] * (int64_t)j.item,
                which >> d & 1u ? 0 : y_steps[d] * (int64_t)j.out_item);
    need_a_dim(&j.kept);
    need_a_dim(&j.reduced);
    j.x = weft_tensor_data(x);
    j.y = weft_tensor_data(y);
    bool done = true;
    if (j.outputs > 0 && j.n == 0) {
        fill_empty(&j);
    } else if (j.outputs > 0) {
        plan(&j, (size_t)weft_team_n_threads(weft_scope_team(s)));
        done = run_reduce(s, name, &j);
    }
    weft_op_end(&op);
    return done ? y : NULL;
}
