/* Inside of a sampler: the candidates that its steps narrow down. */
#ifndef WEFT_MODEL_SAMPLER_IMPL_H
#define WEFT_MODEL_SAMPLER_IMPL_H

#include <stdbool.h>
#include <weft/sampler.h>

/* Candidates by logit, highest first, ties by lower id, n >= 1. Steps keep a prefix. */
typedef struct weft_candidates {
    int32_t *ids;   /* [n] */
    double *logits; /* [n]; never NaN or -inf */
    double *p;      /* [n]: room for probabilities */
    size_t n;
} weft_candidates;

struct weft_sampler {
    weft_engine *engine; /* a reference */
    weft_sampler_options options;
    uint64_t n_drawn; /* numbers taken from the random sequence */
    int32_t *history; /* [n_history] of room history_room; the last ones when last_n bounds it */
    size_t n_history, history_room;
    size_t vocab_room; /* of the buffers below */
    double *logits;    /* [vocab_room] by id */
    unsigned char *seen;
    uint64_t *keys, *spare; /* [vocab_room]: sorting */
    weft_candidates candidates;
};

/* p[i] = softmax of the candidates' logits; if any is +inf, those share it equally. */
void weft_candidates_softmax(weft_candidates *c);

/* ---- Steps (docs/sampling.md has definitions and sources) ---- */

/* Changes logits [n_vocab] of the tokens in history; `seen` [n_vocab] is zeros before and after. */
void weft_sample_penalty(double *logits, size_t n_vocab, const int32_t *history, size_t n_history,
                         float penalty, unsigned char *seen);
void weft_sample_top_k(weft_candidates *c, int32_t k);
void weft_sample_top_p(weft_candidates *c, float p);
void weft_sample_min_p(weft_candidates *c, float m);
void weft_sample_temperature(weft_candidates *c, float t);
/* Index of the candidate that u in [0, 1) picks; c->p is filled. */
size_t weft_sample_draw(weft_candidates *c, double u);

/* Number `i` of the sequence of `seed`, in [0, 1): SplitMix64 (Steele, Lea, Flood 2014) as a
 * function of a counter, 53 bits. */
double weft_random_unit(uint64_t seed, uint64_t i);

/* The whole chain with a given u; the candidates left stay in sampler->candidates, with p filled.
 */
weft_status weft_sampler_choose_with(weft_sampler *sampler, const float *logits, size_t n_vocab,
                                     double u, int32_t *token);

#endif
