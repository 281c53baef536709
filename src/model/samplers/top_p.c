/* Top-p, or nucleus sampling (Holtzman et al. 2019): the shortest prefix whose probabilities reach
 * P. */
#include "model/sampler_impl.h"

void weft_sample_top_p(weft_candidates *c, float p) {
    if (p >= 1)
        return;
    weft_candidates_softmax(c);
    double sum = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->p[i];
        if (sum >= (double)p) {
            c->n = i + 1;
            return;
        }
    }
}
