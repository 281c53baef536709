/* What the ops with a recurrent state share: their frame around a loop over runs. Private to
 * recurrent*.c. */
#ifndef WEFT_TENSOR_RECURRENT_H
#define WEFT_TENSOR_RECURRENT_H

#include "tensor/nn.h"
#include "tensor/walk.h"

/* The states of an op, once checked. */
typedef struct recurrent_runs {
    const weft_state_run *runs;
    size_t n;
    const float *states; /* slot i begins at i * slot_step */
    int64_t slot_step;
    float *next; /* state i of the results at i * state_floats */
    size_t state_floats;
} recurrent_runs;

/* An input as the loops want it: f32 of a rank, unit step along the last axis; a copy where it does
 * not lie so. NULL: the status is set. */
weft_tensor *weft_recurrent_input(weft_scope *s, const char *name, const char *argument,
                                  weft_tensor *t, int rank);

/* Checks states and runs against `n_rows` and the state's dims, and makes states->next. */
bool weft_recurrent_check(weft_scope *s, const char *name, weft_states *states, size_t n_rows,
                          int rank, const int64_t *dims);

/* Pointers into them, once the op has begun: it holds the guard of states->states. Of these the
 * profile counts those that runs begin with. */
recurrent_runs weft_recurrent_runs_of(weft_op *op, const weft_states *states);

/* The state that a run begins with; NULL: zeros. */
static inline const float *weft_recurrent_state(const recurrent_runs *r, size_t run) {
    int32_t slot = r->runs[run].slot;
    return slot < 0 ? NULL : r->states + slot * r->slot_step;
}

#endif
