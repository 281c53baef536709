/* What a tokeniser does to text before it cuts it: a chain of steps, read from the file. A step
 * takes well-formed text and other bytes alike; the latter stay as they are. Owns its memory. */
#ifndef WEFT_TEXT_NORMALIZER_H
#define WEFT_TEXT_NORMALIZER_H

#include "text/tokenizer_impl.h"

/* Bytes that the chain owns. */
weft_status weft_normalizer_add(const weft_allocator *a, weft_normalizer *chain,
                                weft_normalizer_kind kind, weft_normalizer_step **step);
/* Sets the text that is looked for (string or pattern), and what stands for it. */
weft_status weft_normalizer_set_texts(const weft_allocator *a, weft_normalizer_step *step,
                                      const char *from, size_t from_bytes, const char *to,
                                      size_t to_bytes);
void weft_normalizer_free(const weft_allocator *a, weft_normalizer *chain);

/* Runs the chain; *out is emptied first. `spare` is scratch, both of allocator `a`. WEFT_E_MEMORY,
 * WEFT_E_UNSUPPORTED (a pattern takes too much work), WEFT_E_OVERFLOW (the result is too long). */
weft_status weft_normalizer_run(const weft_normalizer *chain, const unsigned char *text,
                                size_t n_bytes, weft_bytes *out, weft_bytes *spare);
#endif
