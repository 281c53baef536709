/* Rotary positions: the frequencies of each pair by the scaling rules in use (linear, llama3,
 * YaRN, LongRoPE), and the cosines and sines of a step's rows, in double, the same on every
 * machine. */
#ifndef WEFT_MODEL_ROPE_H
#define WEFT_MODEL_ROPE_H

#include <weft/tensor.h>

typedef enum weft_rope_scaling {
    WEFT_ROPE_PLAIN,
    WEFT_ROPE_LINEAR, /* positions divided by `factor` */
    WEFT_ROPE_LLAMA3, /* long waves divided by `factor`, a ramp between */
    WEFT_ROPE_YARN,   /* Peng et al. 2023 */
    WEFT_ROPE_SHARE,  /* the first pairs turn, as they would if all did, divided by `factor` */
    WEFT_ROPE_LONG    /* Ding et al. 2024: a divisor each, which sequences longer than n_original
                         have others of */
} weft_rope_scaling;

typedef struct weft_rope_rule {
    int32_t n_rot; /* elements of a head that turn; even */
    double base;
    weft_rope_scaling scaling;
    double factor;
    double n_original;           /* positions before scaling: llama3, yarn, longrope */
    double low, high;            /* llama3: low_freq_factor, high_freq_factor */
    double beta_fast, beta_slow; /* yarn */
    double share;                /* of the pairs that turn, by that rule */
    bool truncate;               /* yarn: correction bounds are whole numbers */
    double magnitude;            /* cosines and sines are multiplied by this */
} weft_rope_rule;

/* Angle per position of pair i, out[n_rot / 2]. `divisors` [n_rot / 2] or NULL. False when a result
 * is not a usable frequency (not finite, not positive, above 64 radians a position). */
bool weft_rope_frequencies(const weft_rope_rule *rope, const float *divisors, double *out);

/* Cosines and sines [n, n_rot / 2] f32 of the angles positions[t] * frequencies[t][i], as fresh
 * results of the scope. */
void weft_rope_rows(weft_scope *scope, const double *const *frequencies, int32_t n_rot,
                    double magnitude, const int32_t *positions, size_t n, weft_tensor **cosines,
                    weft_tensor **sines);

#endif
