/* Sets of places, each stored once. Inside of the machine. */
#ifndef WEFT_TEXT_GRAMMAR_SETS_H
#define WEFT_TEXT_GRAMMAR_SETS_H

#include "text/grammar/machine.h"

bool weft_sets_init(weft_sets *s, const weft_allocator *a);
void weft_sets_free(weft_sets *s, const weft_allocator *a);
/* The number of the set of these places (ascending, each once); UINT32_MAX without memory. */
uint32_t weft_sets_number(weft_sets *s, const weft_allocator *a, const weft_place *places, size_t n,
                          bool ends);
size_t weft_sets_bytes(const weft_sets *s);

#endif
