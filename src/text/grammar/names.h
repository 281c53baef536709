/* Rules by name, while a grammar is read. */
#ifndef WEFT_TEXT_GRAMMAR_NAMES_H
#define WEFT_TEXT_GRAMMAR_NAMES_H

#include "text/grammar/nfa.h"

typedef struct weft_names {
    uint32_t *table; /* [n_table] a power of two: a rule's number + 1, 0: free */
    size_t n_table, n;
} weft_names;

/* The rule of this name; where there is none yet, one is added and *added set. WEFT_NFA_NONE after
 * an error. */
uint32_t weft_names_rule(weft_names *names, weft_nfa *n, const char *name, size_t n_bytes,
                         bool *added);
void weft_names_free(weft_names *names, weft_nfa *n);

#endif
