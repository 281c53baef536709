/* Lines along an axis. Lines that do not lie packed are gathered, several neighbours at a time, so
 * that the cache lines read are used up. */
#include "tensor/lines.h"
#include "base/alloc.h"

#define ROWS 16 /* gathered together */
#define PAD 16  /* elements between them, lest lines of a power-of-two length share cache sets */
#define OPERANDS (WEFT_LINES_OUT + 1)

/* x or a result: bytes an element, elements of a line, bytes along the axis and the other dims. */
typedef struct operand {
    unsigned char *data;
    size_t item, n;
    int64_t along, steps[WEFT_MAX_RANK + 1];
    bool packed;
    size_t buffer; /* offset of its lines in a thread's scratch */
} operand;

#define COLUMNS_CACHE ((size_t)2 << 20) /* bytes kept of the columns together */

typedef struct lines_job {
    weft_lines *l;
    int n_operands; /* x first */
    operand op[OPERANDS];
    int rank; /* of the other dims; the last one is walked in groups */
    int64_t dims[WEFT_MAX_RANK + 1];
    size_t rows_a_group, n_groups, scratch_bytes, own;
    unsigned char *scratch;
} lines_job;

static void run_group(const lines_job *j, unsigned char *const *at, size_t rows,
                      unsigned char *scratch) {
    int last = j->rank - 1;
    for (size_t r = 0; r < rows; r++) {
        void *line[OPERANDS];
        for (int i = 0; i < j->n_operands; i++) {
            const operand *o = &j->op[i];
            line[i] = o->packed ? at[i] + (int64_t)r * o->steps[last]
                                : scratch + o->buffer + r * (o->n + PAD) * o->item;
        }
        j->l->fn(j->l, line[0], j->op[0].n, line + 1, scratch + j->own);
    }
}

static void move_group(const lines_job *j, const operand *o, unsigned char *at, size_t rows,
                       unsigned char *scratch, bool in) {
    int64_t item = (int64_t)o->item, ld = (int64_t)(o->n + PAD) * item;
    int64_t across = o->steps[j->rank - 1];
    unsigned char *buffer = scratch + o->buffer;
    if (in)
        weft_copy_2d(o->item, rows, o->n, at, across, o->along, buffer, ld, item);
    else /* written with neighbouring lines innermost where those lie together */
        weft_copy_2d(o->item, o->n, rows, buffer, item, ld, at, o->along, across);
}

static void run_groups(void *ctx, size_t begin, size_t end, int thread) {
    const lines_job *j = ctx;
    int last = j->rank - 1;
    unsigned char *scratch = j->scratch + (size_t)thread * j->scratch_bytes;
    for (size_t t = begin; t < end; t++) {
        size_t first = t % j->n_groups * j->rows_a_group, outer = t / j->n_groups;
        size_t rows = (size_t)j->dims[last] - first;
        rows = rows < j->rows_a_group ? rows : j->rows_a_group;
        unsigned char *at[OPERANDS];
        for (int i = 0; i < j->n_operands; i++)
            at[i] = j->op[i].data + weft_index_offset(last, j->dims, j->op[i].steps, outer) +
                    (int64_t)first * j->op[i].steps[last];
        if (!j->op[0].packed)
            move_group(j, &j->op[0], at[0], rows, scratch, true);
        run_group(j, at, rows, scratch);
        for (int i = 1; i < j->n_operands; i++)
            if (!j->op[i].packed)
                move_group(j, &j->op[i], at[i], rows, scratch, false);
    }
}

static void run_columns(void *ctx, size_t begin, size_t end, int thread) {
    const lines_job *j = ctx;
    int last = j->rank - 1;
    const operand *x = &j->op[0], *y = &j->op[1];
    unsigned char *own = j->scratch + (size_t)thread * j->scratch_bytes;
    for (size_t t = begin; t < end; t++) {
        size_t first = t % j->n_groups * j->rows_a_group, outer = t / j->n_groups;
        size_t left = (size_t)j->dims[last] - first;
        const void *from = x->data + weft_index_offset(last, j->dims, x->steps, outer);
        void *to = y->data + weft_index_offset(last, j->dims, y->steps, outer);
        weft_line_columns c = {.x = (const float *)from + first,
                               .y = (float *)to + first,
                               .x_step = (ptrdiff_t)(x->along / (int64_t)x->item),
                               .y_step = (ptrdiff_t)(y->along / (int64_t)y->item),
                               .n = x->n,
                               .columns = left < j->rows_a_group ? left : j->rows_a_group};
        j->l->columns_fn(j->l, &c, own);
    }
}

static void add_operand(lines_job *j, const weft_tensor *t) {
    operand *o = &j->op[j->n_operands++];
    int rank = 0;
    o->data = weft_tensor_data(t);
    o->item = weft_dtype_block_bytes(t->dtype);
    o->n = (size_t)t->dims[j->l->axis];
    o->along = t->strides[j->l->axis] * (int64_t)o->item;
    o->packed = o->along == (int64_t)o->item || o->n == 1;
    for (int d = 0; d < t->rank; d++)
        if (d != j->l->axis)
            o->steps[rank++] = t->strides[d] * (int64_t)o->item;
}

/* The dim in which lines of x lie closest is the one that groups go along. */
static void choose_group_dim(lines_job *j) {
    int best = j->rank - 1;
    for (int d = 0; d < j->rank; d++) {
        int64_t a = j->op[0].steps[d], b = j->op[0].steps[best];
        a = a < 0 ? -a : a;
        b = b < 0 ? -b : b;
        if (j->dims[d] > 1 && a > 0 && (a < b || j->dims[best] == 1))
            best = d;
    }
    int last = j->rank - 1;
    int64_t extent = j->dims[best];
    j->dims[best] = j->dims[last];
    j->dims[last] = extent;
    for (int i = 0; i < j->n_operands; i++) {
        int64_t step = j->op[i].steps[best];
        j->op[i].steps[best] = j->op[i].steps[last];
        j->op[i].steps[last] = step;
    }
}

/* Whether f32 lines lie side by side, in x and in the one result. */
static bool side_by_side(const lines_job *j) {
    int last = j->rank - 1;
    const operand *x = &j->op[0], *y = &j->op[1];
    return j->l->columns_fn && j->n_operands == 2 && j->l->dtype == WEFT_F32 && !x->packed &&
           j->l->out[0]->dtype == WEFT_F32 && j->dims[last] >= ROWS &&
           x->steps[last] == (int64_t)x->item && y->steps[last] == (int64_t)y->item;
}

static bool take_columns_scratch(weft_scope *s, lines_job *j) {
    size_t threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    size_t most = j->l->column_bytes ? COLUMNS_CACHE / j->l->column_bytes / ROWS * ROWS : SIZE_MAX;
    size_t last = (size_t)j->dims[j->rank - 1];
    most = most < ROWS ? ROWS : most > WEFT_LINE_COLUMNS ? WEFT_LINE_COLUMNS : most;
    j->rows_a_group = last < most ? last : most;
    j->n_groups = weft_ceil_div(last, j->rows_a_group);
    size_t kept = weft_size_of(j->rows_a_group, j->l->column_bytes);
    if (!weft_add_size(kept, j->l->columns_own_bytes + WEFT_CACHE_LINE, &j->scratch_bytes))
        j->scratch_bytes = SIZE_MAX;
    j->scratch_bytes &= ~(size_t)(WEFT_CACHE_LINE - 1);
    j->scratch = weft_scope_scratch(s, j->l->name, weft_size_of(threads, j->scratch_bytes));
    return j->scratch != NULL;
}

static bool take_scratch(weft_scope *s, lines_job *j) {
    size_t total = 0, threads = (size_t)weft_team_n_threads(weft_scope_team(s));
    for (int i = 0; i < j->n_operands; i++) {
        operand *o = &j->op[i];
        if (o->packed)
            continue;
        o->buffer = total;
        total += (j->rows_a_group * (o->n + PAD) * o->item + 63) / 64 * 64; /* below the tensors */
    }
    j->own = total;
    j->scratch_bytes = (total + j->l->own_bytes + 63) / 64 * 64;
    if (j->scratch_bytes == 0)
        return true;
    j->scratch = weft_scope_scratch(s, j->l->name, weft_size_of(threads, j->scratch_bytes));
    return j->scratch != NULL;
}

bool weft_lines_run(weft_scope *s, weft_lines *l, const weft_tensor *x) {
    lines_job j = {.l = l};
    size_t rows = 1;
    l->k = weft_scope_kernels(s);
    l->dtype = x->dtype;
    for (int d = 0; d < x->rank; d++)
        if (d != l->axis) {
            j.dims[j.rank++] = x->dims[d];
            rows *= (size_t)x->dims[d];
        }
    add_operand(&j, x);
    for (int i = 0; i < WEFT_LINES_OUT && l->out[i] != NULL; i++)
        add_operand(&j, l->out[i]);
    if (j.rank == 0)
        j.dims[j.rank++] = 1;
    if (rows == 0 || j.op[0].n == 0)
        return true;
    choose_group_dim(&j);
    size_t last = (size_t)j.dims[j.rank - 1];
    if (side_by_side(&j)) {
        if (!take_columns_scratch(s, &j))
            return false;
        size_t work = l->work * j.rows_a_group * j.op[0].n;
        weft_op_loop(s, rows / last * j.n_groups, work, run_columns, &j);
        return true;
    }
    j.rows_a_group = last < ROWS ? last : ROWS;
    j.n_groups = weft_ceil_div(last, j.rows_a_group);
    if (!take_scratch(s, &j))
        return false;
    weft_op_loop(s, rows / last * j.n_groups, l->work * j.rows_a_group * j.op[0].n, run_groups, &j);
    return true;
}
