/* Grammars: what a generated text may be, as GBNF, JSON Schema or a regular expression. A grammar
 * says before each token which ones keep the text within it. docs/sampling.md has what each of the
 * languages takes. A grammar is used by one thread at a time. */
#ifndef WEFT_GRAMMAR_H
#define WEFT_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>
#include <weft/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_grammar weft_grammar;

typedef enum weft_grammar_kind {
    WEFT_GRAMMAR_GBNF,        /* rules; the text is what the rule "root" derives */
    WEFT_GRAMMAR_JSON_SCHEMA, /* JSON Schema 2020-12; the text is a JSON value that validates */
    WEFT_GRAMMAR_REGEX        /* the whole text matches */
} weft_grammar_kind;

/* Compiles `text` [n_bytes] for the tokens of `tokenizer`. *out is owned by the caller and holds
 * references to both. Errors: WEFT_E_NULL; WEFT_E_FORMAT (does not parse: line and column; allows
 * no text at all); WEFT_E_UNSUPPORTED (a keyword, a construct or left recursion through several
 * rules, by name); WEFT_E_OVERFLOW (too large); WEFT_E_MEMORY. */
WEFT_API weft_status weft_grammar_create(const weft_tokenizer *tokenizer, weft_grammar_kind kind,
                                         const char *text, size_t n_bytes, weft_grammar **out);
WEFT_API void weft_grammar_release(weft_grammar **grammar);

/* Back to the beginning of a text; what was learnt about tokens stays. */
WEFT_API void weft_grammar_reset(weft_grammar *grammar);

/* The tokens that may come next, in the form of weft_mask_fn (weft/sampler.h): those whose bytes go
 * on with the text, and the tokens that end it exactly where it may end. Borrowed until the next
 * call. Errors: WEFT_E_OVERFLOW (the text's nesting takes more than 64 MiB, or a token about half
 * a second: then only weft_grammar_reset helps), WEFT_E_MEMORY. */
WEFT_API weft_status weft_grammar_mask(weft_grammar *grammar, size_t n_vocab,
                                       const uint64_t **bits);

/* Goes on by a token. A token that may not come is WEFT_E_ARGUMENT, and the text stays as it was.
 * A token that ends a text (EOS) is accepted where the text may end, and changes nothing. */
WEFT_API weft_status weft_grammar_accept(weft_grammar *grammar, int32_t token);
/* The same by bytes. */
WEFT_API weft_status weft_grammar_accept_bytes(weft_grammar *grammar, const char *bytes,
                                               size_t n_bytes);

/* Whether the text may end here, and whether nothing else can come. */
WEFT_API bool weft_grammar_may_end(const weft_grammar *grammar);
WEFT_API bool weft_grammar_is_over(const weft_grammar *grammar);

#ifdef __cplusplus
}
#endif
#endif
