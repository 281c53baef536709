/* Drawing: the inverse of the distribution function, and the random numbers for it. */
#include "model/sampler_impl.h"

size_t weft_sample_draw(weft_sampler *s, double u) {
    const weft_candidates *c = &s->candidates;
    weft_candidates_softmax(s);
    double sum = 0;
    for (size_t i = 0; i + 1 < c->n; i++) {
        sum += c->p[i];
        if (sum > u)
            return i;
    }
    return c->n - 1;
}

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double weft_random_unit(uint64_t seed, uint64_t i) {
    const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t start = mix(seed + gamma); /* seeds that are gamma apart do not share a sequence */
    return (double)(mix(start + (i + 1) * gamma) >> 11) * 0x1p-53;
}
