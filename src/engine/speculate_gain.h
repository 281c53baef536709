/* How many tokens to guess: what steps of some length cost, against the chances that guesses are
 * right. Deterministic but for the times that it is told. */
#ifndef WEFT_ENGINE_SPECULATE_GAIN_H
#define WEFT_ENGINE_SPECULATE_GAIN_H

#include <stdbool.h>
#include <stdint.h>

#define WEFT_GUESSES_MAX 15 /* steps stay short of 32 rows, from where bits may differ */

/* What steps cost. */
typedef struct weft_step_cost {
    double one;                        /* seconds of a step of one row; 0: not known */
    double rows[WEFT_GUESSES_MAX + 2]; /* [n] of n rows, in steps of one row; from n = 1 */
} weft_step_cost;

typedef struct weft_gain {
    weft_step_cost cost;
    double draft_seconds; /* of one token of the draft; 0: not known */
    double draft_right;   /* the rate of its guesses */
    double speed;         /* tokens in the time of a step of one row, lately; at least 1 */
    double balance;       /* what guesses have gained lately, in steps of one row */
    int32_t pause, next_pause;
} weft_gain;

void weft_gain_init(weft_gain *g);
/* A step took so long. */
void weft_gain_saw_step(weft_gain *g, int32_t n_rows, double seconds);
void weft_gain_saw_draft(weft_gain *g, int32_t n_tokens, double seconds);
void weft_gain_saw_draft_guess(weft_gain *g, bool right);
/* A step is over in which `n_right` of `n_guesses`, looked up or the draft's, were right. */
void weft_gain_saw_round(weft_gain *g, int32_t n_guesses, int32_t n_right, bool by_draft);

double weft_gain_cost(const weft_gain *g, int32_t n_rows);
/* The number of guesses, up to `most`, that gains most, where chances[i] is that of guess i when
 * those before it are right; 0: none gains, or it is a time of rest after losses. */
int32_t weft_gain_best(weft_gain *g, const double *chances, int32_t most);
/* For drafts, which cost something: the same; now and then some are tried that would not pay. */
int32_t weft_gain_best_draft(weft_gain *g, int32_t most);

#endif
