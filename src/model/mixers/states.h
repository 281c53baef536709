/* What mixers with recurrent states share. Internal to src/model. */
#ifndef WEFT_MODEL_MIXERS_STATES_H
#define WEFT_MODEL_MIXERS_STATES_H

#include "model/pass.h"

/* The step's runs over state `which` of a layer, for an op. */
weft_states weft_pass_states(const weft_pass *p, int32_t layer, int which);

/* Hands what the op left, states->next, to the cache. */
void weft_pass_keep(const weft_pass *p, weft_scope *s, int32_t layer, int which,
                    const weft_states *states);

/* Columns [first, first + n) of x [T, …] as [T, n_head, n / n_head]; n_head 0: as [T, n]. Views. */
weft_tensor *weft_columns(weft_scope *s, weft_tensor *x, int64_t first, int64_t n, int32_t n_head);

#endif
