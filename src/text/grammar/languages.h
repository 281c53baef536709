/* The languages of grammars: each turns its source into rules of an automaton. Errors are left in
 * n->status with line and column, or the keyword, in the detail. */
#ifndef WEFT_TEXT_GRAMMAR_LANGUAGES_H
#define WEFT_TEXT_GRAMMAR_LANGUAGES_H

#include "text/grammar/nfa.h"

#define WEFT_GRAMMAR_MAX_DEPTH 200 /* of groups in groups */

/* Each gives the rule that the whole text is. */
uint32_t weft_gbnf_parse(weft_nfa *n, const char *text, size_t n_bytes);
uint32_t weft_schema_parse(weft_nfa *n, const char *text, size_t n_bytes);
uint32_t weft_regex_rule(weft_nfa *n, const char *text, size_t n_bytes);

/* A regular expression as a piece. `search`: what matches may stand anywhere inside, unless ^ and $
 * say otherwise. */
weft_frag weft_regex_parse(weft_nfa *n, const char *text, size_t n_bytes, bool search);

#endif
