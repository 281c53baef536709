/* Top-k (Fan et al. 2018): the k first. */
#include "model/sampler_impl.h"

void weft_sample_top_k(weft_sampler *s) {
    int32_t k = s->options.top_k;
    if (k <= 0 || (size_t)k >= s->candidates.n)
        return;
    weft_candidates_sort(s, (size_t)k);
    s->candidates.n = (size_t)k;
}
