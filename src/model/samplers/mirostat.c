/* Mirostat, versions 1 and 2 (Basu et al. 2020): keeps the surprise of the text near tau by cutting
 * off what is too surprising; mu, the cut, follows the surprise of the tokens drawn. */
#include "model/sampler_impl.h"

#include <math.h>
#include "model/exact.h"

static const double LN2 = 0.69314718055994530942;

/* Version 1: the number of candidates whose surprise stays below mu, if probabilities follow Zipf's
 * law with the exponent s that the m first suggest. */
static size_t zipf_cut(const weft_sampler *sampler) {
    const weft_candidates *c = &sampler->candidates;
    size_t m = sampler->options.mirostat_m > 0 ? (size_t)sampler->options.mirostat_m : 100;
    double tb = 0, tt = 0, n = (double)c->n;
    for (size_t i = 0; i + 1 < m && i + 1 < c->n; i++) {
        double t = weft_exact_log((double)(i + 2) / (double)(i + 1));
        tb += t * (c->logits[i] - c->logits[i + 1]); /* = ln (p_i / p_i+1) */
        tt += t * t;
    }
    double s = tb / tt, e = s - 1;
    if (!(s > 1e-9 && s < INFINITY)) /* flat: all are equally surprising */
        return s > 0 ? 1 : sampler->mu * LN2 >= weft_exact_log(n) ? c->n : 1;
    /* e / (1 - n^-e), and its limit for e = 0 */
    double scale =
        fabs(e) < 1e-9 ? 1 / weft_exact_log(n) : e / (1 - weft_exact_exp(-e * weft_exact_log(n)));
    double log_k = (weft_exact_log(scale) + sampler->mu * LN2) / s;
    double k = weft_exact_exp(log_k);
    return k >= n ? c->n : k < 1 ? 1 : (size_t)k;
}

void weft_sample_mirostat(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    if (s->options.mirostat == 0 || c->n < 2)
        return;
    weft_candidates_softmax(s);
    if (isinf(c->logits[0]))
        return;
    if (s->options.mirostat == 1) {
        c->n = zipf_cut(s);
        return;
    }
    size_t n = 1;
    while (n < c->n && c->p[n] > 0 && -weft_exact_log(c->p[n]) <= s->mu * LN2)
        n++;
    c->n = n;
}

void weft_sample_mirostat_learn(weft_sampler *s, size_t i) {
    const weft_sampler_options *o = &s->options;
    double surprise = -weft_exact_log(s->candidates.p[i]) / LN2;
    s->mu -= (double)o->mirostat_eta * (surprise - (double)o->mirostat_tau);
}
