/* Frequencies of rotary positions and the rows of cosines and sines of a step. Rows are computed
 * for each step rather than kept in tables: a row costs a microsecond or two, a table of a long
 * context would cost tens of megabytes. */
#include "model/rope.h"

#include <math.h>
#include "model/exact.h"
#include "tensor/impl.h"

#define PI 3.14159265358979323846
#define STILL 1e30 /* GGUF files' divisor of pairs that do not turn: no position moves a float */

static double power(double base, double exponent) {
    return weft_exact_exp(exponent * weft_exact_log(base));
}

/* Llama 3.1: waves longer than n_original / low are stretched by `factor`, those shorter than
 * n_original / high are left, and in between the two frequencies are mixed linearly. */
static double llama3(const weft_rope_rule *r, double frequency) {
    double wave = 2 * PI / frequency;
    if (wave > r->n_original / r->low)
        return frequency / r->factor;
    if (wave < r->n_original / r->high)
        return frequency;
    double mix = (r->n_original / wave - r->low) / (r->high - r->low);
    return (1 - mix) * frequency / r->factor + mix * frequency;
}

/* The pair that turns `turns` times within the original context (Peng et al. 2023). */
static double yarn_pair(const weft_rope_rule *r, double turns) {
    return r->n_rot * weft_exact_log(r->n_original / (turns * 2 * PI)) /
           (2 * weft_exact_log(r->base));
}

static double yarn(const weft_rope_rule *r, double frequency, int32_t pair) {
    double low = yarn_pair(r, r->beta_fast), high = yarn_pair(r, r->beta_slow);
    if (r->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, r->n_rot - 1);
    if (high == low)
        high += 0.001;
    double ramp = fmin(fmax((pair - low) / (high - low), 0), 1);
    return frequency / r->factor * ramp + frequency * (1 - ramp);
}

bool weft_rope_frequencies(const weft_rope_rule *rope, const float *divisors, double *out) {
    for (int32_t i = 0; i < rope->n_rot / 2; i++) {
        double f = power(rope->base, -2.0 * i / rope->n_rot);
        if (rope->scaling == WEFT_ROPE_SHARE && i >= (int32_t)(rope->share * rope->n_rot / 2))
            f /= STILL;
        if (rope->scaling == WEFT_ROPE_LINEAR || rope->scaling == WEFT_ROPE_SHARE)
            f /= rope->factor;
        else if (rope->scaling == WEFT_ROPE_LLAMA3)
            f = llama3(rope, f);
        else if (rope->scaling == WEFT_ROPE_YARN)
            f = yarn(rope, f, i);
        if (divisors)
            f /= (double)divisors[i];
        if (!(f > 0 && f <= 64))
            return false;
        out[i] = f;
    }
    return true;
}

void weft_rope_rows(weft_scope *scope, const double *const *frequencies, int32_t n_rot,
                    double magnitude, const int32_t *positions, size_t n, weft_tensor **cosines,
                    weft_tensor **sines) {
    int64_t dims[2] = {(int64_t)n, n_rot / 2};
    weft_tensor *c = weft_scope_new(scope, "rope_rows", WEFT_F32, 2, dims);
    weft_tensor *s = weft_scope_new(scope, "rope_rows", WEFT_F32, 2, dims);
    *cosines = c;
    *sines = s;
    if (!c || !s)
        return;
    float *cos_row = weft_tensor_data(c), *sin_row = weft_tensor_data(s); /* nobody else has them */
    for (size_t t = 0; t < n; t++)
        for (int32_t i = 0; i < n_rot / 2; i++) {
            double sine, cosine;
            weft_exact_sincos(positions[t] * frequencies[t][i], &sine, &cosine);
            *cos_row++ = (float)(cosine * magnitude);
            *sin_row++ = (float)(sine * magnitude);
        }
}
