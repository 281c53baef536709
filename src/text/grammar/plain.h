/* Places in the middle of a text, where any character may come that JSON does not escape. */
#ifndef WEFT_TEXT_GRAMMAR_PLAIN_H
#define WEFT_TEXT_GRAMMAR_PLAIN_H

#include "text/grammar/machine.h"

/* Whether from `config` any plain character leads to one and the same configuration, from there on
 * likewise, and so on: for as many characters as a plain token has, or until none may come. The
 * rule at the bottom must not end on the way. *n: how many characters may come, at most
 * WEFT_PLAIN_CHARACTERS. */
bool weft_plain_run(weft_machine *m, uint32_t config, size_t *n);

#endif
