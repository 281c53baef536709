/* Top-k (Fan et al. 2018): the k first. */
#include "model/sampler_impl.h"

void weft_sample_top_k(weft_candidates *c, int32_t k) {
    if (k > 0 && (size_t)k < c->n)
        c->n = (size_t)k;
}
