/* Checks and views that the ops with a recurrent state share. */
#include "tensor/recurrent.h"

#include "base/alloc.h"

weft_tensor *weft_recurrent_input(weft_scope *s, const char *name, const char *argument,
                                  weft_tensor *t, int rank) {
    char text[96];
    if (!weft_op_plain(s, name, t))
        return NULL;
    if (t->dtype != WEFT_F32)
        return weft_scope_fail(s, WEFT_E_DTYPE, name, "%s is %s: f32 is needed", argument,
                               weft_dtype_name(t->dtype));
    if (t->rank != rank)
        return weft_scope_fail(s, WEFT_E_SHAPE, name, "%s is %s: rank %d is needed", argument,
                               weft_shape_text(t, text, sizeof text), rank);
    if (t->strides[rank - 1] == 1 || t->dims[rank - 1] == 1)
        return t;
    return weft_tensor_contiguous(s, t);
}

static bool check_runs(weft_scope *s, const char *name, const weft_states *st, size_t n_rows) {
    size_t row = 0;
    for (size_t i = 0; i < st->n_runs; i++) {
        const weft_state_run *r = &st->runs[i];
        if (r->row != row || r->n == 0 || r->n > n_rows - row || r->slot >= st->states->dims[0]) {
            weft_scope_fail(s, WEFT_E_RANGE, name,
                            "run %zu: rows [%zu, %zu) from state %d do not fit: %zu of %zu rows "
                            "and %lld states are there",
                            i, r->row, r->row + r->n, r->slot, n_rows - row, n_rows,
                            (long long)st->states->dims[0]);
            return false;
        }
        row += r->n;
    }
    if (row == n_rows)
        return true;
    weft_scope_fail(s, WEFT_E_RANGE, name, "the runs cover %zu of %zu rows", row, n_rows);
    return false;
}

bool weft_recurrent_check(weft_scope *s, const char *name, weft_states *st, size_t n_rows, int rank,
                          const int64_t *dims) {
    weft_tensor *t = st->states;
    char has[96], wants[96];
    st->next = NULL;
    if (!weft_op_plain(s, name, t))
        return false;
    bool fits = t->dtype == WEFT_F32 && t->rank == rank + 1;
    int64_t step = 1, next[WEFT_MAX_RANK] = {(int64_t)st->n_runs};
    for (int d = rank - 1; d >= 0; d--) {
        next[d + 1] = dims[d];
        fits = fits && t->dims[d + 1] == dims[d] &&
               (t->strides[d + 1] == step || dims[d] == 1 || step == 0);
        step *= dims[d]; /* of inputs that exist: no overflow */
    }
    if (!fits) {
        weft_scope_fail(s, WEFT_E_SHAPE, name,
                        "states are %s %s: f32 [n_slots] of packed %s are needed",
                        weft_dtype_name(t->dtype), weft_shape_text(t, has, sizeof has),
                        weft_dims_text(rank, dims, wants, sizeof wants));
        return false;
    }
    if (!check_runs(s, name, st, n_rows))
        return false;
    st->next = weft_scope_new(s, name, WEFT_F32, rank + 1, next);
    return st->next != NULL;
}

recurrent_runs weft_recurrent_runs_of(weft_op *op, const weft_states *st) {
    recurrent_runs r = {.runs = st->runs,
                        .n = st->n_runs,
                        .states = weft_tensor_data(st->states),
                        .slot_step = st->states->strides[0],
                        .next = weft_tensor_data(st->next)};
    r.state_floats = r.n > 0 ? (size_t)weft_tensor_numel(st->next) / r.n : 0;
    if (op->timing.profile) {
        uint64_t all = (uint64_t)weft_tensor_numel(st->states) * sizeof(float), used = 0;
        for (size_t i = 0; i < r.n; i++)
            used += r.runs[i].slot >= 0 ? r.state_floats * sizeof(float) : 0;
        weft_op_reads(op, op->timing.bytes - all + used);
    }
    return r;
}
