/* Min-p (Nguyen et al. 2024): probabilities of at least m times the highest. */
#include "model/sampler_impl.h"

void weft_sample_min_p(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    if (s->options.min_p <= 0)
        return;
    weft_candidates_softmax(s);
    size_t n = 1;
    while (n < c->n && c->p[n] >= (double)s->options.min_p * c->p[0])
        n++;
    c->n = n;
}
