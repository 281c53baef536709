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

/* Added to the logit of `token`; -INFINITY bans it. */
typedef struct weft_logit_bias {
    int32_t token;
    float bias;
} weft_logit_bias;

/* The steps of a chain by name, in the usual order. */
#define WEFT_SAMPLER_CHAIN "penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;xtc;temperature"
#define WEFT_SAMPLER_CHAIN_MIROSTAT "penalties;dry;temperature;mirostat"

/* Zero leaves off every member below the seed, so that a partly initialised struct is a chain of
 * the members above it alone. */
typedef struct weft_sampler_options {
    float temperature;      /* <= 0: greedy, ties to the lowest id */
    int32_t top_k;          /* <= 0: off */
    float top_p;            /* >= 1: off; keeps at least one */
    float min_p;            /* <= 0: off */
    float repeat_penalty;   /* 1: off */
    int32_t penalty_last_n; /* of all three penalties. 0: none, < 0: the whole history */
    uint64_t seed;          /* the same seed and logits give the same tokens on every machine */

    const char *chain; /* steps separated by ';'; copied. NULL: WEFT_SAMPLER_CHAIN, or
                          WEFT_SAMPLER_CHAIN_MIROSTAT with mirostat. Masks and logit bias always
                          come first, the draw last */
    const weft_logit_bias *logit_bias; /* [n_logit_bias], copied */
    size_t n_logit_bias;
    float presence_penalty, frequency_penalty;
    float dry_multiplier;        /* 0: off */
    float dry_base;              /* < 1: off */
    int32_t dry_allowed_length;  /* shorter repetitions cost nothing */
    int32_t dry_last_n;          /* 0: none, < 0: the whole history */
    const int32_t *dry_breakers; /* [n_dry_breakers] tokens that end a repetition; copied */
    size_t n_dry_breakers;
    float top_n_sigma;     /* <= 0: off */
    float typical_p;       /* <= 0 or >= 1: off */
    float xtc_probability; /* <= 0: off */
    float xtc_threshold;   /* > 0.5: off */
    float dynatemp_range;  /* <= 0: off; the temperature moves within +- this */
    float dynatemp_exponent;
    int32_t mirostat; /* 0: off, 1, 2 */
    float mirostat_tau, mirostat_eta;
    int32_t mirostat_m; /* of version 1: candidates that the exponent is estimated from */
} weft_sampler_options;

/* temp 0.8, top-k 40, top-p 0.95, min-p 0.05, seed 0, penalties over 64 tokens but off; what is off
 * has the usual values beside it (DRY base 1.75 and length 2 over the whole history, XTC threshold
 * 0.1, exponent 1, mirostat tau 5, eta 0.1, m 100). */
WEFT_API weft_sampler_options weft_sampler_options_default(void);

/* NULL options: defaults. Errors: WEFT_E_NULL, WEFT_E_ARGUMENT (NaN, penalty <= 0, an unknown step:
 * the detail names it), WEFT_E_MEMORY. */
WEFT_API weft_status weft_sampler_create(weft_engine *engine, const weft_sampler_options *options,
                                         weft_sampler **out);
WEFT_API void weft_sampler_release(weft_sampler **sampler);

/* Tells the sampler of a token of the prompt or of the text (for penalties). Errors: WEFT_E_MEMORY.
 */
WEFT_API weft_status weft_sampler_accept(weft_sampler *sampler, int32_t token);

/* Which tokens may be chosen next: token i may if bit i % 64 of (*bits)[i / 64] is set. *bits
 * [(n_vocab + 63) / 64] is borrowed until the next call; left NULL, all may. An error ends the
 * choice with it. */
typedef weft_status (*weft_mask_fn)(void *ctx, size_t n_vocab, const uint64_t **bits);

/* Asked before each choice, until set to NULL again. weft_generate sets its own. */
WEFT_API void weft_sampler_set_mask(weft_sampler *sampler, weft_mask_fn mask, void *ctx);

/* Chooses a token from logits [n_vocab]; does not accept it. NaN counts as -inf; no finite or +inf
 * candidate at all is WEFT_E_NO_CANDIDATES; a bias for an id outside of the vocabulary is
 * WEFT_E_RANGE. */
WEFT_API weft_status weft_sampler_choose(weft_sampler *sampler, const float *logits, size_t n_vocab,
                                         int32_t *token);

/* Forgets the history, starts the random sequence again, and mirostat as well. */
WEFT_API void weft_sampler_reset(weft_sampler *sampler);

typedef struct weft_logprob {
    int32_t token;
    float logprob; /* natural logarithm of the softmax of all logits, as the model gave them */
} weft_logprob;

/* The log-probability of `token` (-1: none is wanted) and the `n_top` most probable tokens, best
 * first, ties by lower id: top [n_top], of which *n_written are filled. Tokens with a logit of -inf
 * or NaN are no alternatives. Errors: WEFT_E_NULL, WEFT_E_RANGE, WEFT_E_NO_CANDIDATES. */
WEFT_API weft_status weft_logprobs(const float *logits, size_t n_vocab, int32_t token,
                                   float *logprob, weft_logprob *top, size_t n_top,
                                   size_t *n_written);

#ifdef __cplusplus
}
#endif
#endif
