/* Speculative decoding (Leviathan et al. 2023, with the guesses taken as certain): guessed tokens
 * are evaluated in one step with the token that was chosen, and each row of logits is used as long
 * as what is chosen from it is the next guess. What is chosen, and the random numbers it takes, are
 * the same as without. */
#ifndef WEFT_ENGINE_SPECULATE_H
#define WEFT_ENGINE_SPECULATE_H

#include "engine/impl.h"
#include "engine/speculate_gain.h"
#include "engine/speculate_lookup.h"

typedef struct weft_speculator {
    weft_session *session;
    weft_session *draft; /* NULL: none */
    int32_t n_lookup, n_draft; /* at most so many guesses; 0: no lookup */
    float *rows;               /* [WEFT_GUESSES_MAX + 1, n_vocab] of the last step with guesses */
    int32_t tokens[WEFT_GUESSES_MAX + 1]; /* the chosen one, then the guesses */
    size_t n_guesses, at;                 /* of these, so many were right so far */
    bool by_draft;                        /* they are the draft's */
    int32_t base;                         /* the session's positions before that step */
    double seconds;                       /* that it took */
    weft_lookup lookup;
    weft_gain gain;
    int32_t n_guessed, n_right;
} weft_speculator;

/* Neither lookup nor draft: all calls evaluate as usual. WEFT_E_MEMORY, WEFT_E_ARGUMENT. */
weft_status weft_speculator_init(weft_speculator *g, weft_session *session,
                                 const weft_generate_options *options);
void weft_speculator_free(weft_speculator *g);

/* Puts the chosen token into the text. Errors are those of weft_session_eval, and leave the session
 * with the text that was chosen before. */
weft_status weft_speculator_advance(weft_speculator *g, int32_t token);
/* The logits for the next choice [n_vocab]. */
const float *weft_speculator_logits(const weft_speculator *g);
/* Takes guesses that were not chosen out of the session, so that it holds the text alone. */
weft_status weft_speculator_settle(weft_speculator *g);

#endif
