/* Elementwise ops: what the ops of ops_arithmetic.c, ops_function.c and ops_compare.c share. A
 * tile's inputs are brought into packed runs, 16-bit floats as f32, computed, and stored; inputs
 * that are one element repeated are brought once. */
#include "tensor/map.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

#define MOST_INPUTS 3
#define DOMAIN_BYTES 8

/* ---- Domains ---- */

weft_domain weft_domain_of(weft_dtype dtype) {
    if (dtype == WEFT_F64)
        return WEFT_IN_F64;
    return weft_dtype_is_float(dtype) ? WEFT_IN_F32 : WEFT_IN_I64;
}

/* 16-bit floats are computed in f32. */
static bool is_widened(weft_dtype dtype) {
    return dtype == WEFT_F16 || dtype == WEFT_BF16;
}

weft_domain weft_map_domain(weft_dtype dtype) {
    switch ((int)dtype) {
    case WEFT_I32:
        return WEFT_IN_I32;
    case WEFT_I16:
        return WEFT_IN_I16;
    case WEFT_I8:
        return WEFT_IN_I8;
    case WEFT_U8:
    case WEFT_BOOL:
        return WEFT_IN_U8;
    default:
        return weft_domain_of(dtype);
    }
}

const void *weft_to_domain(const weft_kernels *k, weft_dtype dtype, const void *x, size_t n,
                           void *buffer) {
    if (dtype == WEFT_F64 || dtype == WEFT_I64)
        return x;
    if (weft_dtype_is_float(dtype))
        return weft_as_f32(k, dtype, x, n, buffer);
    weft_to_i64(dtype, x, n, buffer);
    return buffer;
}

/* ---- Checks ---- */

static bool type_within(weft_dtype dtype, weft_types types) {
    if (weft_dtype_is_float(dtype))
        return types & WEFT_TYPES_FLOAT;
    if (weft_dtype_is_integer(dtype))
        return types & WEFT_TYPES_INTEGER;
    return dtype == WEFT_BOOL && (types & WEFT_TYPES_BOOL);
}

static const char *types_text(weft_types types) {
    switch ((unsigned)types) {
    case WEFT_TYPES_FLOAT:
        return "f64, f32, f16 or bf16 is needed";
    case WEFT_TYPES_INTEGER:
        return "an integer type is needed";
    case WEFT_TYPES_BOOL:
        return "bool is needed";
    case WEFT_TYPES_NUMBER:
        return "a float or an integer type is needed";
    case WEFT_TYPES_INTEGER | WEFT_TYPES_BOOL:
        return "an integer type or bool is needed";
    default:
        return "a plain type is needed";
    }
}

bool weft_op_types(weft_scope *s, const char *name, const weft_tensor *t, weft_types types) {
    if (!weft_op_plain(s, name, t))
        return false;
    if (type_within(t->dtype, types))
        return true;
    char shape[128];
    weft_scope_fail(s, WEFT_E_DTYPE, name, "%s of shape %s: %s", weft_dtype_name(t->dtype),
                    weft_shape_text(t, shape, sizeof shape), types_text(types));
    return false;
}

bool weft_op_same_dtype(weft_scope *s, const char *name, const weft_tensor *a,
                        const weft_tensor *b) {
    if (a->dtype == b->dtype)
        return true;
    char sa[128], sb[128];
    weft_scope_fail(s, WEFT_E_DTYPE, name, "%s %s and %s %s differ in type",
                    weft_dtype_name(a->dtype), weft_shape_text(a, sa, sizeof sa),
                    weft_dtype_name(b->dtype), weft_shape_text(b, sb, sizeof sb));
    return false;
}

static bool broadcast_fail(weft_scope *s, const char *name, const weft_tensor *a,
                           const weft_tensor *b, int dim, int64_t ea, int64_t eb) {
    char sa[128], sb[128];
    weft_scope_fail(s, WEFT_E_SHAPE, name, "shapes %s and %s do not fit in dim %d (%lld and %lld)",
                    weft_shape_text(a, sa, sizeof sa), weft_shape_text(b, sb, sizeof sb), dim,
                    (long long)ea, (long long)eb);
    return false;
}

bool weft_op_broadcast(weft_scope *s, const char *name, weft_tensor *const *list, size_t n,
                       int *rank, int64_t *dims, int64_t (*strides)[WEFT_MAX_RANK]) {
    *rank = 0;
    for (size_t i = 0; i < n; i++)
        *rank = list[i]->rank > *rank ? list[i]->rank : *rank;
    for (int d = 0; d < *rank; d++) {
        size_t who = 0;
        dims[d] = 1;
        for (size_t i = 0; i < n; i++) {
            int at = d - (*rank - list[i]->rank);
            int64_t extent = at < 0 ? 1 : list[i]->dims[at];
            strides[i][d] = at < 0 || extent == 1 ? 0 : list[i]->strides[at];
            if (extent == 1 || extent == dims[d])
                continue;
            if (dims[d] != 1)
                return broadcast_fail(s, name, list[who], list[i], d - *rank, dims[d], extent);
            dims[d] = extent;
            who = i;
        }
    }
    return true;
}

/* ---- Tiles ---- */

typedef struct map_job {
    weft_walk walk;
    const weft_kernels *k;
    weft_map_fn *fn;
    const weft_map_args *args;
    weft_dtype dtype, out_dtype; /* of all inputs; of the result */
    bool widened;
    int n_inputs;
    bool constant[MOST_INPUTS]; /* one element, repeated */
} map_job;

/* What a thread works in: a tile of each input as it lies and in the domain, and of the result. */
typedef struct map_space {
    _Alignas(64) unsigned char raw[MOST_INPUTS][WEFT_TILE * DOMAIN_BYTES];
    _Alignas(64) unsigned char wide[MOST_INPUTS][WEFT_TILE * DOMAIN_BYTES];
    _Alignas(64) unsigned char result[WEFT_TILE * DOMAIN_BYTES];
} map_space;

static void repeat_item(unsigned char *to, size_t item, size_t n) {
    for (size_t done = 1; done < n; done *= 2)
        memcpy(to + done * item, to, (n - done < done ? n - done : done) * item);
}

/* A repeated element fills its buffer of the domain once, for as many as any tile has. */
static const void *repeated(const map_job *j, int i, map_space *space) {
    size_t item = j->widened ? sizeof(float) : weft_dtype_block_bytes(j->dtype);
    size_t n = j->walk.tile_rows * j->walk.tile_cols;
    const void *one = j->walk.base[i + 1];
    if (j->widened)
        weft_as_f32(j->k, j->dtype, one, 1, (float *)(void *)space->wide[i]);
    else
        memcpy(space->wide[i], one, item);
    repeat_item(space->wide[i], item, n);
    return space->wide[i];
}

static void map_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const map_job *j = ctx;
    const weft_walk *w = &j->walk;
    map_space space;
    const void *in[MOST_INPUTS];
    bool narrowed = is_widened(j->out_dtype);
    (void)thread;
    for (int i = 0; i < j->n_inputs; i++)
        if (j->constant[i])
            in[i] = repeated(j, i, &space);
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(w, t, &at);
        size_t n = at.rows * at.cols;
        for (int i = 0; i < j->n_inputs; i++) {
            if (j->constant[i])
                continue;
            in[i] = weft_tile_load(w, &at, i + 1, space.raw[i]);
            if (j->widened)
                in[i] = weft_as_f32(j->k, j->dtype, in[i], n, (float *)(void *)space.wide[i]);
        }
        void *y = weft_tile_result(w, &at, space.result);
        j->fn(j->args, in, n, narrowed ? space.result : y);
        if (narrowed)
            weft_from_f32(j->k, (const float *)(const void *)space.result, j->out_dtype, y, n);
        weft_tile_store(w, &at, y);
    }
}

/* Elements of work that one element of the op is like. */
static size_t work_of(weft_map_op op) {
    return op >= WEFT_MAP_EXP ? 8 : op == WEFT_MAP_POW || op == WEFT_MAP_REM ? 16 : 1;
}

static bool all_zero(int rank, const int64_t *dims, const int64_t *strides) {
    for (int d = 0; d < rank; d++)
        if (strides[d] != 0 && dims[d] != 1)
            return false;
    return true;
}

/* What run_map is asked for. */
typedef struct map_call {
    const weft_map_def *def;
    const weft_map_args *args;
    weft_tensor *const *inputs; /* [n_tensors], of one type, by `strides` over y's dims */
    int n_tensors;
    const int64_t *const *strides;
    const void *constant_item; /* an element in the place of the last input, or NULL */
} map_call;

#define SMALL 256 /* elements */

/* A few packed elements of a type that is computed in as it is: the function alone. False: they are
 * others. */
static bool run_small(weft_map_fn *fn, const map_call *c, const weft_map_args *args,
                      const weft_tensor *y) {
    _Alignas(64) unsigned char repeat[SMALL * DOMAIN_BYTES];
    const void *in[MOST_INPUTS];
    weft_dtype dtype = c->inputs[0]->dtype;
    size_t item = weft_dtype_block_bytes(dtype), n = 1;
    if (is_widened(dtype))
        return false;
    for (int d = 0; d < y->rank; d++) {
        n *= (size_t)y->dims[d];
        for (int i = 0; i < c->n_tensors; i++)
            if (c->strides[i][d] != y->strides[d] && y->dims[d] != 1)
                return false;
        if (n > SMALL)
            return false;
    }
    for (int i = 0; i < c->n_tensors; i++)
        in[i] = weft_tensor_data(c->inputs[i]);
    if (c->constant_item) {
        memcpy(repeat, c->constant_item, item);
        repeat_item(repeat, item, n);
        in[c->n_tensors] = repeat;
    }
    fn(args, in, n, weft_tensor_data(y));
    return true;
}

static void run_tiles(weft_scope *s, const map_call *c, const weft_map_args *args, weft_map_fn *fn,
                      const weft_tensor *y) {
    static const int64_t still[WEFT_MAX_RANK];
    weft_dtype dtype = c->inputs[0]->dtype;
    map_job j = {.k = weft_scope_kernels(s),
                 .fn = fn,
                 .args = args,
                 .dtype = dtype,
                 .out_dtype = y->dtype,
                 .widened = is_widened(dtype),
                 .n_inputs = c->n_tensors + (c->constant_item != NULL)};
    size_t item = weft_dtype_block_bytes(dtype);
    union {
        const void *in;
        void *out;
    } last = {.in = c->constant_item}; /* only read */
    void *data[MOST_INPUTS + 1] = {weft_tensor_data(y)};
    const int64_t *steps[MOST_INPUTS + 1] = {y->strides};
    size_t items[MOST_INPUTS + 1] = {weft_dtype_block_bytes(y->dtype), item, item, item};
    for (int i = 0; i < j.n_inputs; i++) {
        data[i + 1] = i < c->n_tensors ? weft_tensor_data(c->inputs[i]) : last.out;
        steps[i + 1] = i < c->n_tensors ? c->strides[i] : still;
        j.constant[i] = all_zero(y->rank, y->dims, steps[i + 1]);
    }
    weft_walk_init(&j.walk, y->rank, y->dims, j.n_inputs + 1, data, steps, items);
    if (j.walk.n_tiles > 0)
        weft_op_loop(s, j.walk.n_tiles, work_of(c->def->op) * j.walk.tile_rows * j.walk.tile_cols,
                     map_tiles, &j);
}

static weft_tensor *run_map(weft_scope *s, const char *name, const map_call *c, int rank,
                            const int64_t *dims) {
    weft_dtype dtype = c->inputs[0]->dtype;
    weft_tensor *y = weft_scope_new(s, name, c->def->predicate ? WEFT_BOOL : dtype, rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, c->inputs, (size_t)c->n_tensors))
        return NULL;
    bool divided_by_zero = false;
    weft_map_args own = c->args ? *c->args : (weft_map_args){0};
    own.divided_by_zero = &divided_by_zero;
    weft_map_fn *fn = weft_scope_kernels(s)->map(c->def->op, weft_map_domain(dtype));
    if (!run_small(fn, c, &own, y))
        run_tiles(s, c, &own, fn, y);
    weft_op_end(&op);
    if (divided_by_zero) {
        char shape[128];
        return weft_scope_fail(s, WEFT_E_DIVISION, name, "a divisor of %s is 0 (%s)",
                               weft_shape_text(c->inputs[c->n_tensors - 1], shape, sizeof shape),
                               weft_dtype_name(dtype));
    }
    return y;
}

weft_tensor *weft_map1(weft_scope *s, const char *name, const weft_map_def *def, weft_tensor *x,
                       const weft_map_args *args) {
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, def->types))
        return NULL;
    const int64_t *strides[] = {x->strides};
    map_call c = {.def = def, .args = args, .inputs = &x, .n_tensors = 1, .strides = strides};
    return run_map(s, name, &c, x->rank, x->dims);
}

weft_tensor *weft_map2(weft_scope *s, const char *name, const weft_map_def *def, weft_tensor *a,
                       weft_tensor *b, bool broadcast) {
    weft_tensor *inputs[] = {a, b};
    int rank;
    int64_t dims[WEFT_MAX_RANK], steps[2][WEFT_MAX_RANK];
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_types(s, name, a, def->types))
        return NULL;
    bool alike = a->dtype == b->dtype && a->layout == b->layout;
    if (!alike && !(weft_op_types(s, name, b, def->types) && weft_op_same_dtype(s, name, a, b)))
        return NULL;
    const int64_t *own[] = {a->strides, b->strides}, *common[] = {steps[0], steps[1]};
    map_call c = {.def = def, .inputs = inputs, .n_tensors = 2};
    if (!broadcast) {
        c.strides = own;
        return weft_op_same_shape(s, name, a, b) ? run_map(s, name, &c, a->rank, a->dims) : NULL;
    }
    c.strides = common;
    return weft_op_broadcast(s, name, inputs, 2, &rank, dims, steps)
               ? run_map(s, name, &c, rank, dims)
               : NULL;
}

/* ---- Numbers ---- */

bool weft_encode(weft_dtype dtype, double value, void *item) {
    if (!weft_dtype_is_float(dtype)) {
        if (!(value >= -0x1p63 && value < 0x1p63) || value != floor(value))
            return false;
        int64_t whole = (int64_t)value, back;
        weft_from_i64(&whole, dtype, item, 1);
        weft_to_i64(dtype, item, 1, &back);
        return back == whole;
    }
    weft_convert(NULL, WEFT_F64, &value, dtype, item, 1);
    return true;
}

weft_tensor *weft_map2_scalar(weft_scope *s, const char *name, const weft_map_def *def,
                              weft_tensor *x, double value) {
    if (!weft_scope_ready(s, name, &x, 1) || !weft_op_types(s, name, x, def->types))
        return NULL;
    uint64_t item;
    const int64_t *strides[] = {x->strides};
    if (!weft_encode(x->dtype, value, &item))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "%g is no number of %s", value,
                               weft_dtype_name(x->dtype));
    map_call c = {.def = def, .inputs = &x, .n_tensors = 1, .strides = strides};
    c.constant_item = &item;
    return run_map(s, name, &c, x->rank, x->dims);
}

/* ---- Selection: whole items, whatever their type ---- */

typedef struct where_job {
    weft_walk walk; /* result, cond, a, b */
    size_t item;
} where_job;

__attribute__((always_inline)) static inline void choose(const uint8_t *cond, const void *a,
                                                         const void *b, size_t n, size_t item,
                                                         void *y) {
    for (size_t i = 0; i < n; i++)
        memcpy((unsigned char *)y + i * item,
               cond[i] ? (const unsigned char *)a + i * item : (const unsigned char *)b + i * item,
               item);
}

static void where_tiles(void *ctx, size_t begin, size_t end, int thread) {
    const where_job *j = ctx;
    const weft_walk *w = &j->walk;
    map_space space;
    (void)thread;
    for (size_t t = begin; t < end; t++) {
        weft_tile_at at;
        weft_walk_tile(w, t, &at);
        size_t n = at.rows * at.cols;
        const uint8_t *cond = weft_tile_load(w, &at, 1, space.raw[0]);
        const void *a = weft_tile_load(w, &at, 2, space.raw[1]);
        const void *b = weft_tile_load(w, &at, 3, space.raw[2]);
        void *y = weft_tile_result(w, &at, space.result);
        switch (j->item) {
        case 1:
            choose(cond, a, b, n, 1, y);
            break;
        case 2:
            choose(cond, a, b, n, 2, y);
            break;
        case 4:
            choose(cond, a, b, n, 4, y);
            break;
        default:
            choose(cond, a, b, n, 8, y);
        }
        weft_tile_store(w, &at, y);
    }
}

static weft_tensor *run_where(weft_scope *s, const char *name, weft_dtype dtype, int rank,
                              const int64_t *dims, weft_tensor *const *inputs, size_t n_inputs,
                              void *const *in_data, const int64_t *const *strides) {
    weft_tensor *y = weft_scope_new(s, name, dtype, rank, dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, name, inputs, n_inputs))
        return NULL;
    where_job j = {.item = weft_dtype_block_bytes(dtype)};
    void *data[] = {weft_tensor_data(y), in_data[0], in_data[1], in_data[2]};
    const int64_t *steps[] = {y->strides, strides[0], strides[1], strides[2]};
    size_t items[] = {j.item, 1, j.item, j.item};
    weft_walk_init(&j.walk, rank, dims, 4, data, steps, items);
    weft_walk_run(s, &j.walk, where_tiles, &j);
    weft_op_end(&op);
    return y;
}

weft_tensor *weft_map_where(weft_scope *s, const char *name, weft_tensor *cond, weft_tensor *a,
                            weft_tensor *b, bool broadcast) {
    weft_tensor *inputs[] = {cond, a, b};
    int rank;
    int64_t dims[WEFT_MAX_RANK], steps[3][WEFT_MAX_RANK];
    if (!weft_scope_ready(s, name, inputs, 3) || !weft_op_types(s, name, cond, WEFT_TYPES_BOOL) ||
        !weft_op_plain(s, name, a) || !weft_op_plain(s, name, b) ||
        !weft_op_same_dtype(s, name, a, b))
        return NULL;
    if (!broadcast && (!weft_op_same_shape(s, name, cond, a) || !weft_op_same_shape(s, name, a, b)))
        return NULL;
    if (!weft_op_broadcast(s, name, inputs, 3, &rank, dims, steps))
        return NULL;
    void *data[] = {weft_tensor_data(cond), weft_tensor_data(a), weft_tensor_data(b)};
    const int64_t *strides[] = {steps[0], steps[1], steps[2]};
    return run_where(s, name, a->dtype, rank, dims, inputs, 3, data, strides);
}

weft_tensor *weft_map_fill(weft_scope *s, const char *name, weft_tensor *x, weft_tensor *mask,
                           double value) {
    static const int64_t still[WEFT_MAX_RANK];
    weft_tensor *inputs[] = {x, mask};
    int rank;
    int64_t dims[WEFT_MAX_RANK], steps[2][WEFT_MAX_RANK];
    uint64_t item;
    char sx[128], sm[128];
    if (!weft_scope_ready(s, name, inputs, 2) || !weft_op_plain(s, name, x) ||
        !weft_op_types(s, name, mask, WEFT_TYPES_BOOL) ||
        !weft_op_broadcast(s, name, inputs, 2, &rank, dims, steps))
        return NULL;
    for (int d = 0; d < rank; d++)
        if (rank != x->rank || dims[d] != x->dims[d])
            return weft_scope_fail(s, WEFT_E_SHAPE, name, "the mask %s does not fit into %s",
                                   weft_shape_text(mask, sm, sizeof sm),
                                   weft_shape_text(x, sx, sizeof sx));
    if (!weft_encode(x->dtype, value, &item))
        return weft_scope_fail(s, WEFT_E_ARGUMENT, name, "%g is no number of %s", value,
                               weft_dtype_name(x->dtype));
    void *data[] = {weft_tensor_data(mask), &item, weft_tensor_data(x)};
    const int64_t *strides[] = {steps[1], still, steps[0]};
    return run_where(s, name, x->dtype, rank, dims, inputs, 2, data, strides);
}
