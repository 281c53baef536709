/* Sets of characters while a class is read. */
#ifndef WEFT_TEXT_GRAMMAR_CHARSET_H
#define WEFT_TEXT_GRAMMAR_CHARSET_H

#include "text/grammar/nfa.h"

typedef struct weft_charset {
    weft_char_range *ranges; /* [n] */
    size_t n, room;
} weft_charset;

/* Adds low … high; without memory, n's status is set. */
void weft_charset_add(weft_charset *c, weft_nfa *n, uint32_t low, uint32_t high);
/* Ascending, disjoint, not touching. */
void weft_charset_sort(weft_charset *c);
/* All other characters up to `last`. Sorts. */
void weft_charset_negate(weft_charset *c, weft_nfa *n, uint32_t last);
void weft_charset_free(weft_charset *c, weft_nfa *n);

/* The code point of the UTF-8 at `text`; *n_used is its length, 0 where it is none. */
uint32_t weft_char_decode(const char *text, size_t n_bytes, size_t *n_used);
/* `n_digits` hexadecimal digits; false where they are none. */
bool weft_char_hex(const char *text, size_t n_bytes, size_t n_digits, uint32_t *out);

#endif
