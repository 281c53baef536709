/* Where a text may go on as it did before (Saxena 2023, "prompt lookup decoding"), and how likely.
 * Every token that comes is compared with what was expected, whether it was guessed or not: so that
 * the chances are learned at no cost. Knows token ids only. */
#ifndef WEFT_ENGINE_SPECULATE_LOOKUP_H
#define WEFT_ENGINE_SPECULATE_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#define WEFT_LOOKUP_LENGTHS 7 /* classes of lengths of a match */

typedef struct weft_lookup {
    /* By the length of the match, and whether a match as long goes on otherwise. */
    double right[WEFT_LOOKUP_LENGTHS][2], seen[WEFT_LOOKUP_LENGTHS][2];
    const int32_t *text; /* [n] when it was looked up */
    int32_t n;
    int32_t from;   /* where in the text the next token is expected; 0: nowhere */
    int32_t length; /* so many tokens before it equal the text's end */
    bool contested;
    int32_t at; /* tokens that came since, all as expected */
} weft_lookup;

void weft_lookup_init(weft_lookup *l);
/* Looks up the end of `text` [n], which must stay there until the next call. */
void weft_lookup_find(weft_lookup *l, const int32_t *text, int32_t n);
/* The expected token i (from 0 at the end of the text that was looked up) and the chance that it
 * comes if those before it did. Only with `from` above 0. */
int32_t weft_lookup_token(const weft_lookup *l, int32_t i);
double weft_lookup_chance(const weft_lookup *l, int32_t i);
/* A token came. */
void weft_lookup_saw(weft_lookup *l, int32_t token);

#endif
