/* Writing a tokeniser as the metadata of a GGUF file. */
#ifndef WEFT_TEXT_TO_GGUF_H
#define WEFT_TEXT_TO_GGUF_H

#include "text/text.h"

/* Adds the keys "tokenizer.ggml.…" and the chat template. Tokens beyond those known are made up to
 * `n_rows`, the rows of the embedding. The pre-tokeniser is written as the known name that cuts a
 * probing text alike, or as `pre` (NULL: found). What was written is read back and must give the
 * same ids. Errors: WEFT_E_UNSUPPORTED (a kind of tokeniser that GGUF files have no words for, or
 * that this version does not write), WEFT_E_MEMORY. */
weft_status weft_tokenizer_to_gguf(const weft_tokenizer *t, const char *pre, int64_t n_rows,
                                   weft_metadata *out);

#endif
