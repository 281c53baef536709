/* Recording what ops take. An engine without a profile pays one load and one branch an op. */
#ifndef WEFT_TENSOR_PROFILE_H
#define WEFT_TENSOR_PROFILE_H

#include "tensor/impl.h"
#include <weft/extra/bench.h>

/* One op that runs; `profile` is NULL where nobody records. Plain data, within weft_op. */
typedef struct weft_timing {
    weft_profile *profile;
    const char *op;
    double begin;
    uint64_t bytes;
} weft_timing;

weft_timing weft_timing_start(weft_profile *profile, const char *op, weft_tensor *const *inputs,
                              size_t n);
void weft_timing_stop(const weft_timing *t);

/* `op`: static memory. */
static inline weft_timing weft_timing_begin(const weft_engine *engine, const char *op,
                                            weft_tensor *const *inputs, size_t n) {
    return engine->profile ? weft_timing_start(engine->profile, op, inputs, n) : (weft_timing){0};
}
static inline void weft_timing_end(const weft_timing *t) {
    if (t->profile)
        weft_timing_stop(t);
}

/* The ops from here on belong to `place` (static memory) of `layer`; a whole pass is an op of the
 * place "step". The caller holds the engine's pass. */
void weft_profile_enter(weft_profile *profile, const char *place, int32_t layer);
static inline void weft_profile_mark(const weft_engine *engine, const char *place, int32_t layer) {
    if (engine->profile)
        weft_profile_enter(engine->profile, place, layer);
}

#endif
