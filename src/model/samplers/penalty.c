/* Repetition penalty (Keskar et al. 2019, CTRL), each token once however often it stands there. */
#include "model/sampler_impl.h"

void weft_sample_penalty(double *logits, size_t n_vocab, const int32_t *history, size_t n_history,
                         float penalty, unsigned char *seen) {
    double r = (double)penalty;
    for (size_t i = 0; i < n_history; i++) {
        size_t t = (size_t)history[i];
        if (history[i] < 0 || t >= n_vocab || seen[t])
            continue;
        seen[t] = 1;
        logits[t] = logits[t] > 0 ? logits[t] / r : logits[t] * r;
    }
    for (size_t i = 0; i < n_history; i++)
        if (history[i] >= 0 && (size_t)history[i] < n_vocab)
            seen[history[i]] = 0;
}
