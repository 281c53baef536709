/* Min-p (Nguyen et al. 2024): those at least m times as probable as the first. */
#include "model/sampler_impl.h"

void weft_sample_min_p(weft_candidates *c, float m) {
    if (m <= 0)
        return;
    weft_candidates_softmax(c);
    size_t n = 1;
    while (n < c->n && c->p[n] >= (double)m * c->p[0])
        n++;
    c->n = n;
}
