/* Tokenisers: text to token ids and back. Immutable after creation; shared by any threads. */
#ifndef WEFT_TOKENIZER_H
#define WEFT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_tokenizer weft_tokenizer;

/* Opens the tokeniser alone of a model: a GGUF file (a vocabulary-only one as well) or a Hugging
 * Face folder. `pre` names the pre-tokeniser for a file whose own name is unknown; NULL: the
 * file's. Errors: WEFT_E_IO, _NOT_FOUND, _FORMAT, _UNSUPPORTED (names what is unknown), _MEMORY. */
WEFT_API weft_status weft_tokenizer_open(weft_engine *engine, const char *path, const char *pre,
                                         weft_tokenizer **out);
/* Whether weft_tokenizer_open takes the name as `pre`; NULL: false. */
WEFT_API bool weft_tokenizer_knows_pre(const char *name);
WEFT_API weft_tokenizer *weft_tokenizer_retain(weft_tokenizer *tokenizer);
WEFT_API void weft_tokenizer_release(weft_tokenizer **tokenizer);

typedef struct weft_tokenize_options {
    bool parse_special; /* "<|im_end|>" in the text becomes the special token */
    bool add_special;   /* BOS and EOS as the model asks for */
} weft_tokenize_options;

/* Text of `n_bytes` (any bytes; invalid UTF-8 goes through byte tokens) to ids. *out is allocated
 * by the tokeniser's allocator and freed with weft_tokens_free. Time O(n log n). `text` may be NULL
 * if n_bytes is 0. A text that begins with a parsed BOS gets no second one. Bytes that a byte-level
 * vocabulary lacks are passed over, as by the published tokenisers. Errors: WEFT_E_NULL, _MEMORY,
 * _OVERFLOW (over 2^29 bytes), _UNSUPPORTED (a character that the vocabulary cannot express, or a
 * pattern of the file that takes too much work). */
WEFT_API weft_status weft_tokenize(const weft_tokenizer *tokenizer, const char *text,
                                   size_t n_bytes, weft_tokenize_options options, int32_t **out,
                                   size_t *n_out);
WEFT_API void weft_tokens_free(const weft_tokenizer *tokenizer, int32_t *ids, size_t n);

/* The bytes one token stands for inside a text, without NUL; *text is borrowed from the tokeniser.
 * Ids outside the vocabulary and unused rows are empty. Control tokens are empty unless
 * `show_special`. Never fails. `text` and `n_bytes` may be NULL. */
WEFT_API void weft_token_bytes(const weft_tokenizer *tokenizer, int32_t id, bool show_special,
                               const char **text, size_t *n_bytes);

/* Streaming detokeniser: never hands out half a UTF-8 sequence. Zero-initialise it; reuse after
 * weft_detok_finish. No allocation. */
typedef struct weft_detok {
    char held[8];
    int n_held;
    bool started; /* the first token was seen: SentencePiece drops the space it had added */
} weft_detok;

/* Room for what one token can release: weft_token_bytes' length + 8. Writes at most `room` bytes,
 * gives the number written. Bytes that cannot be UTF-8 are handed out as U+FFFD when `replace`,
 * else as they are; with less room than 3 * length + 12 some become '?' instead. */
WEFT_API size_t weft_detok_next(const weft_tokenizer *tokenizer, weft_detok *state, int32_t id,
                                bool show_special, bool replace, char *out, size_t room);
/* What is still held back (at most 8 bytes, or their replacement, at most 24). */
WEFT_API size_t weft_detok_finish(weft_detok *state, bool replace, char *out, size_t room);

WEFT_API int32_t weft_tokenizer_n_tokens(const weft_tokenizer *tokenizer);
WEFT_API int32_t weft_tokenizer_bos(const weft_tokenizer *tokenizer); /* -1: none */
WEFT_API int32_t weft_tokenizer_eos(const weft_tokenizer *tokenizer); /* -1: none */
WEFT_API bool weft_tokenizer_adds_bos(const weft_tokenizer *tokenizer);
/* EOS, end of turn, and the like: generation ends here. */
WEFT_API bool weft_tokenizer_is_eog(const weft_tokenizer *tokenizer, int32_t id);
/* The id of exactly this token's spelling (special ones too), -1 where there is none. */
WEFT_API int32_t weft_tokenizer_find(const weft_tokenizer *tokenizer, const char *text,
                                     size_t n_bytes);
/* The model's chat template source, NULL where it has none; borrowed. */
WEFT_API const char *weft_tokenizer_chat_template(const weft_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif
#endif
