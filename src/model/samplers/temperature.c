/* Temperature (Ackley et al. 1985): logits divided by T; T <= 0 keeps the first alone. */
#include "model/sampler_impl.h"

void weft_sample_temperature(weft_candidates *c, float t) {
    if (t <= 0) {
        c->n = 1;
        return;
    }
    for (size_t i = 0; i < c->n; i++)
        c->logits[i] /= (double)t;
}
