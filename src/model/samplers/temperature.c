/* Temperature (Ackley et al. 1985): logits divided by T; T <= 0 keeps the first alone. Dynamic
 * temperature (kalomaze, llama.cpp pull request 4972) sets T by the entropy. */
#include "model/sampler_impl.h"

#include "model/exact.h"

/* x^y for x in [0, 1]. */
static double power(double x, double y) {
    return y == 1 ? x : x > 0 ? weft_exact_exp(y * weft_exact_log(x)) : y > 0 ? 0 : 1;
}

static double dynamic(weft_sampler *s, double t) {
    double range = (double)s->options.dynatemp_range;
    double low = t - range > 0 ? t - range : 0, high = t + range;
    weft_candidates_softmax(s);
    double share =
        weft_candidates_entropy(&s->candidates) / weft_exact_log((double)s->candidates.n);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return low + (high - low) * power(share, (double)s->options.dynatemp_exponent);
}

void weft_sample_temperature(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    double t = (double)s->options.temperature;
    if (s->options.dynatemp_range > 0 && c->n > 1)
        t = dynamic(s, t);
    if (t <= 0) {
        weft_candidates_sort(s, 1);
        c->n = 1;
        return;
    }
    for (size_t i = 0; i < c->n; i++)
        c->logits[i] /= t;
}
