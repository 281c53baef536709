/* Samplers: choosing the next token from a row of logits. Definitions and sources:
 * docs/sampling.md. A sampler is used by one thread at a time. */
#ifndef WEFT_SAMPLER_H
#define WEFT_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_sampler weft_sampler;

/* Applied in this order: repetition penalty, top-k, top-p, min-p, temperature, draw. */
typedef struct weft_sampler_options {
    float temperature;      /* <= 0: greedy, ties to the lowest id */
    int32_t top_k;          /* <= 0: off */
    float top_p;            /* >= 1: off; keeps at least one */
    float min_p;            /* <= 0: off */
    float repeat_penalty;   /* 1: off */
    int32_t penalty_last_n; /* 0: none, < 0: the whole history */
    uint64_t seed;          /* the same seed and logits give the same tokens on every machine */
} weft_sampler_options;

/* temp 0.8, top-k 40, top-p 0.95, min-p 0.05, no penalty over 64 tokens, seed 0. */
WEFT_API weft_sampler_options weft_sampler_options_default(void);

/* NULL options: defaults. Errors: WEFT_E_NULL, WEFT_E_ARGUMENT (NaN, penalty <= 0), WEFT_E_MEMORY.
 */
WEFT_API weft_status weft_sampler_create(weft_engine *engine, const weft_sampler_options *options,
                                         weft_sampler **out);
WEFT_API void weft_sampler_release(weft_sampler **sampler);

/* Tells the sampler of a token of the prompt or of the text (for penalties). Errors: WEFT_E_MEMORY.
 */
WEFT_API weft_status weft_sampler_accept(weft_sampler *sampler, int32_t token);

/* Chooses a token from logits [n_vocab]; does not accept it. NaN counts as -inf; no finite or +inf
 * candidate at all is WEFT_E_NO_CANDIDATES. */
WEFT_API weft_status weft_sampler_choose(weft_sampler *sampler, const float *logits, size_t n_vocab,
                                         int32_t *token);

/* Forgets the history and starts the random sequence again. */
WEFT_API void weft_sampler_reset(weft_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
