/* Log-probabilities of a row of logits, as the model gave them: log-softmax in double. */
#include <math.h>
#include "base/detail.h"
#include "model/exact.h"
#include <weft/sampler.h>

#define BLOCK 256

/* Keeps the best `room` of what was seen, best first, ties by lower id; ids come in ascending
 * order. Gives the new count. */
static size_t insert(weft_logprob *top, size_t n, size_t room, int32_t token, float logit) {
    if (n == room && (room == 0 || logit <= top[n - 1].logprob))
        return n;
    size_t at = n < room ? n : n - 1;
    for (; at > 0 && top[at - 1].logprob < logit; at--)
        top[at] = top[at - 1];
    top[at] = (weft_logprob){token, logit};
    return n < room ? n + 1 : n;
}

/* The sum of e^(l - best), block by block. */
static double sum_of_exps(const float *logits, size_t n, float best) {
    double sum = 0, terms[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t now = n - at < BLOCK ? n - at : BLOCK;
        for (size_t i = 0; i < now; i++) {
            double l = (double)logits[at + i];
            terms[i] = l > -INFINITY ? l : -INFINITY; /* also for NaN */
        }
        weft_exact_exp_row(terms, (double)best, terms, now);
        for (size_t i = 0; i < now; i++)
            sum += terms[i];
    }
    return sum;
}

weft_status weft_logprobs(const float *logits, size_t n_vocab, int32_t token, float *logprob,
                          weft_logprob *top, size_t n_top, size_t *n_written) {
    if (!logits || (n_top > 0 && (!top || !n_written)) || (token >= 0 && !logprob))
        return weft_fail(WEFT_E_NULL, "weft_logprobs: an argument is NULL");
    if (token >= 0 && (size_t)token >= n_vocab)
        return weft_fail(WEFT_E_RANGE,
                         "weft_logprobs: token %d is outside of the vocabulary of %zu", token,
                         n_vocab);
    size_t n = 0;
    float best = -INFINITY;
    for (size_t i = 0; i < n_vocab; i++) {
        if (!(logits[i] > -INFINITY))
            continue;
        best = logits[i] > best ? logits[i] : best;
        n = insert(top, n, n_top, (int32_t)i, logits[i]);
    }
    if (best == -INFINITY)
        return weft_fail(WEFT_E_NO_CANDIDATES, "all %zu logits are -inf or NaN", n_vocab);
    bool infinite = isinf(best);
    double sum = infinite ? 0 : sum_of_exps(logits, n_vocab, best);
    for (size_t i = 0; i < n_vocab && infinite; i++)
        sum += logits[i] == best;
    double offset = weft_exact_log(sum);
    for (size_t i = 0; i < n; i++)
        top[i].logprob = infinite ? (top[i].logprob == best ? (float)-offset : -INFINITY)
                                  : (float)((double)top[i].logprob - (double)best - offset);
    if (token >= 0) {
        float l = logits[token];
        *logprob = !(l > -INFINITY) ? -INFINITY
                   : infinite       ? (l == best ? (float)-offset : -INFINITY)
                                    : (float)((double)l - (double)best - offset);
    }
    if (n_written)
        *n_written = n;
    return WEFT_OK;
}
