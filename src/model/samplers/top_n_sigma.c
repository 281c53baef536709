/* Top-n-sigma (Tang et al. 2024): logits within n standard deviations of the highest. */
#include "model/sampler_impl.h"

#include <math.h>

void weft_sample_top_n_sigma(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    if (s->options.top_n_sigma <= 0 || c->n < 2)
        return;
    double top = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < c->n; i++) {
        sum += c->logits[i];
        top = c->logits[i] > top ? c->logits[i] : top;
    }
    if (isinf(top))
        return;
    double mean = sum / (double)c->n;
    for (size_t i = 0; i < c->n; i++)
        squares += (c->logits[i] - mean) * (c->logits[i] - mean);
    double limit = top - (double)s->options.top_n_sigma * sqrt(squares / (double)c->n);
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->logits[i] >= limit) {
            c->ids[kept] = c->ids[i];
            c->logits[kept++] = c->logits[i];
        }
    c->n = kept;
}
