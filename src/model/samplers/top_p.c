/* Top-p, or nucleus sampling (Holtzman et al. 2019): the shortest prefix whose probabilities reach
 * P. */
#include "model/sampler_impl.h"

void weft_sample_top_p(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    if (s->options.top_p >= 1)
        return;
    weft_candidates_softmax(s);
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->p[i];
        if (sum >= (double)s->options.top_p) {
            c->n = i + 1;
            return;
        }
    }
}
