/* How many tokens to guess: what steps of some length took, against how often guesses were right.
 */
#ifndef WEFT_ENGINE_SPECULATE_GAIN_H
#define WEFT_ENGINE_SPECULATE_GAIN_H

#include <stdbool.h>
#include <stdint.h>

#define WEFT_GUESSES_MAX 15 /* steps stay short of 32 rows, from where bits may differ */

/* Kinds of guesses, each with its own rate of success. */
enum {
    WEFT_GUESS_LOOKUP = 0,
    WEFT_GUESS_KINDS_OF_LOOKUP = 4,
    WEFT_GUESS_DRAFT = 4,
    WEFT_GUESS_KINDS
};

typedef struct weft_gain {
    double seconds[WEFT_GUESSES_MAX + 2]; /* of a step of that many rows; 0: not known */
    double draft_seconds;                 /* of one token of the draft; 0: not known */
    double right[WEFT_GUESS_KINDS];       /* rates */
    int32_t pause, next_pause;            /* of the draft, in tokens */
} weft_gain;

void weft_gain_init(weft_gain *g);
void weft_gain_saw_step(weft_gain *g, int32_t n_rows, double seconds);
void weft_gain_saw_draft(weft_gain *g, int32_t n_tokens, double seconds);
void weft_gain_saw_guess(weft_gain *g, int32_t kind, bool right);
/* The number of guesses of this kind, up to `most`, that gains most; 0: none gains. */
int32_t weft_gain_best(const weft_gain *g, int32_t kind, int32_t most);
/* For drafts, which cost something: the same, with pauses where they do not pay. */
int32_t weft_gain_best_draft(weft_gain *g, int32_t most);

#endif
