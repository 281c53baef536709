/* Making tokenisers from what a loader found. The public half is in weft/tokenizer.h. */
#ifndef WEFT_TEXT_TEXT_H
#define WEFT_TEXT_TEXT_H

#include "base/metadata.h"
#include <weft/tokenizer.h>

/* From GGUF metadata ("tokenizer.ggml.…"). `pre` overrides the pre-tokeniser's name (NULL: the
 * file's). `n_rows`: rows of the embedding, for checks of counts and ids (-1: unknown). Nothing is
 * borrowed from `metadata` afterwards. */
weft_status weft_tokenizer_from_gguf(weft_engine *engine, const weft_metadata *metadata,
                                     const char *pre, int64_t n_rows, weft_tokenizer **out);

/* From a tokenizer.json; `metadata` has config.json and "tokenizer_config.…" members (BOS, EOS,
 * chat template). */
weft_status weft_tokenizer_from_json(weft_engine *engine, const char *json, size_t json_bytes,
                                     const weft_metadata *metadata, const char *pre, int64_t n_rows,
                                     weft_tokenizer **out);
#endif
