/* Inside of a sampler: the candidates that its steps narrow down, and the table of steps. */
#ifndef WEFT_MODEL_SAMPLER_IMPL_H
#define WEFT_MODEL_SAMPLER_IMPL_H

#include <stdbool.h>
#include <weft/sampler.h>

/* What is left of the vocabulary. Sorted: by logit, highest first, ties by lower id; otherwise by
 * id. n >= 1. */
typedef struct weft_candidates {
    int32_t *ids;   /* [n] */
    double *logits; /* [n]; never NaN or -inf */
    double *p;      /* [n]: room for probabilities */
    size_t n;
    bool sorted;
} weft_candidates;

#define WEFT_SAMPLER_MAX_STEPS 32

struct weft_sampler {
    weft_engine *engine;                         /* a reference */
    weft_sampler_options options;                /* its lists are the copies below */
    unsigned char steps[WEFT_SAMPLER_MAX_STEPS]; /* [n_steps] indices into weft_sample_steps */
    size_t n_steps;
    weft_logit_bias *bias; /* [options.n_logit_bias] */
    int32_t *breakers;     /* [options.n_dry_breakers] */
    weft_mask_fn mask;     /* NULL: none */
    void *mask_ctx;
    uint64_t n_drawn; /* numbers taken from the random sequence */
    double u_xtc;     /* this choice's number for XTC */
    double mu;        /* of mirostat */
    int32_t *history; /* [n_history] of room history_room; the last ones when windows bound it */
    size_t n_history, history_room;
    int32_t *matches;       /* [history_room]: room for DRY */
    size_t vocab_room;      /* of the buffers below */
    size_t n_vocab;         /* of this choice */
    const float *given;     /* [n_vocab] of this choice */
    const uint64_t *bits;   /* what the mask allows; NULL: all */
    bool dense;             /* `logits` are in force, instead of those given */
    double *logits;         /* [vocab_room] by id */
    uint32_t *counts;       /* [vocab_room] by id; zeros between the steps */
    uint64_t *keys, *spare; /* [vocab_room]: sorting */
    weft_candidates candidates;
};

/* ---- Candidates (sampler_candidates.c) ---- */

/* Those whose logit is above -inf; at least the first `k` of them, others may be left out.
 * WEFT_E_NO_CANDIDATES where there is none. */
weft_status weft_candidates_gather(weft_sampler *s, size_t k);
/* s->logits again: the candidates', -inf for all others. */
void weft_candidates_scatter(weft_sampler *s);
/* Sorts, where not done yet; at least the first `n` are kept, others that cannot be among them may
 * go. */
void weft_candidates_sort(weft_sampler *s, size_t n);
/* p[i] = softmax of the candidates' logits; if any is +inf, those share it equally. Sorts. */
void weft_candidates_softmax(weft_sampler *s);
/* Entropy in nats, after softmax. */
double weft_candidates_entropy(const weft_candidates *c);

/* ---- Steps (docs/sampling.md has definitions and sources) ---- */

typedef struct weft_sample_step {
    const char *name;
    void (*apply)(weft_sampler *s);
    bool on_logits; /* changes s->logits, instead of narrowing the candidates down */
    bool (*is_on)(const weft_sampler_options *o); /* NULL: always */
} weft_sample_step;

extern const weft_sample_step weft_sample_steps[];

void weft_sample_penalties(weft_sampler *s);
void weft_sample_dry(weft_sampler *s);
void weft_sample_top_n_sigma(weft_sampler *s);
void weft_sample_top_k(weft_sampler *s);
void weft_sample_typical_p(weft_sampler *s);
void weft_sample_top_p(weft_sampler *s);
void weft_sample_min_p(weft_sampler *s);
void weft_sample_xtc(weft_sampler *s);
void weft_sample_temperature(weft_sampler *s);
void weft_sample_mirostat(weft_sampler *s);
/* After the draw of candidate i. */
void weft_sample_mirostat_learn(weft_sampler *s, size_t i);
/* Index of the candidate that u in [0, 1) picks; p is filled. */
size_t weft_sample_draw(weft_sampler *s, double u);

/* The newest tokens of the history that a step looks at: last_n of it, all if negative. */
size_t weft_sampler_window(const weft_sampler *s, int32_t last_n, const int32_t **tokens);
bool weft_sampler_penalises(const weft_sampler_options *o);
bool weft_sampler_dries(const weft_sampler_options *o);

/* Reads options.chain into steps. */
weft_status weft_sampler_read_chain(weft_sampler *s);
weft_status weft_sampler_check_options(const weft_sampler_options *o);
/* Whether the first candidate is the choice, whatever the chain does before. */
bool weft_sampler_is_greedy(const weft_sampler *s);

/* Number `i` of the sequence of `seed`, in [0, 1): SplitMix64 (Steele, Lea, Flood 2014) as a
 * function of a counter, 53 bits. */
double weft_random_unit(uint64_t seed, uint64_t i);

/* The whole chain with given random numbers; the candidates left stay in sampler->candidates, with
 * p filled. */
weft_status weft_sampler_choose_with(weft_sampler *sampler, const float *logits, size_t n_vocab,
                                     double u, double u_xtc, int32_t *token);

#endif
