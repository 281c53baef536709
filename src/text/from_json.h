/* The parts of a tokenizer.json that two files share. */
#ifndef WEFT_TEXT_FROM_JSON_H
#define WEFT_TEXT_FROM_JSON_H

#include "base/json.h"
#include "text/normalizer.h"

/* "type" of a component, "" where it has none; for NULL and null as well. */
const char *weft_component_type(const weft_json *component);
/* Whether the value of `name` is the string `text`. */
bool weft_json_is(const weft_json *object, const char *name, const char *text);
/* Whether `name` is true; absent and null give `absent`. Another type is WEFT_E_FORMAT. */
weft_status weft_json_flag(const weft_json *object, const char *name, bool absent, bool *out);
/* A component that this version does not know: names it. */
weft_status weft_json_unknown(const char *what, const weft_json *component);

/* NULL or null. */
bool weft_json_absent(const weft_json *v);

/* The steps of a component: itself, or those of a Sequence (one level), whose member is `list`. */
#define WEFT_JSON_STEPS 16
weft_status weft_json_steps(const char *what, const char *list, const weft_json *component,
                            const weft_json **steps, size_t *n);

/* What normaliser, pre-tokeniser and decoder say together. */
typedef struct weft_json_scheme {
    bool byte_level;             /* pre-tokeniser ByteLevel */
    bool marks_spaces;           /* a normaliser or Metaspace writes ▁ for a space */
    bool at_start, at_fragments; /* a space is put there … */
    bool at_once;                /* … unless the text has one */
    bool bert_words;             /* pre-tokeniser BertPreTokenizer */
    bool drops_space;
} weft_json_scheme;

/* Reads "normalizer" (its steps are added to *chain), "pre_tokenizer" (its patterns are added to
 * *pre) and "decoder". */
weft_status weft_json_scheme_read(const weft_allocator *a, const weft_json *root,
                                  weft_json_scheme *scheme, weft_normalizer *chain,
                                  weft_pretok *pre);
/* The first part of it. */
weft_status weft_json_normalizer_read(const weft_allocator *a, const weft_json *component,
                                      weft_json_scheme *scheme, weft_normalizer *chain);
/* What the parts of the reader share. */
typedef enum weft_json_model {
    WEFT_JSON_BPE,
    WEFT_JSON_UNIGRAM,
    WEFT_JSON_WORDPIECE,
} weft_json_model;

typedef struct weft_json_source {
    const weft_json *root, *model, *vocab, *added; /* added: NULL or an array */
    weft_json_model type;
    const weft_metadata *metadata;
    const char *pre;
    int64_t n_rows;
    weft_json_scheme scheme;
} weft_json_source;

static inline bool weft_json_has_type(const weft_json *v, weft_json_type type) {
    return v && weft_json_type_of(v) == type;
}
/* Whether `name` is there and true. */
static inline bool weft_json_true(const weft_json *object, const char *name) {
    const weft_json *v = weft_json_get(object, name);
    return v && weft_json_bool(v);
}

/* json_vocab.c: the tokens into a new tokeniser, and the merges into it. */
weft_status weft_json_tokens_read(const weft_json_source *s, weft_engine *engine,
                                  weft_tokenizer **out);
weft_status weft_json_merges_read(const weft_json_source *s, weft_tokenizer *t);
/* json_specials.c: BOS, EOS and unknown, what is added to a text, and the chat template. */
weft_status weft_json_specials_read(const weft_json_source *s, weft_tokenizer *t);
weft_status weft_json_template_read(const weft_json_source *s, weft_tokenizer *t);
#endif
