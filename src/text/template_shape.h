/* Recognising a chat template by its shape: template and shape are cut into Jinja's tokens and
 * compared one by one, so that spelling (quotes, white space, a.b for a['b'], 'a' + 'b' for 'ab')
 * does not matter and everything else does. A template is untrusted: one pass, no recursion,
 * nothing is run. */
#ifndef WEFT_TEXT_TEMPLATE_SHAPE_H
#define WEFT_TEXT_TEMPLATE_SHAPE_H

#include "text/tokenizer_impl.h"

typedef enum weft_jinja_kind {
    WEFT_JINJA_TEXT,   /* outside of tags, after trimming */
    WEFT_JINJA_OUT,    /* {{ */
    WEFT_JINJA_BLOCK,  /* {% */
    WEFT_JINJA_CLOSE,  /* of either */
    WEFT_JINJA_NAME,   /* names, numbers and operators */
    WEFT_JINJA_STRING, /* escapes decoded, sums folded */
} weft_jinja_kind;

typedef struct weft_jinja_token {
    weft_jinja_kind kind;
    size_t begin, n; /* in the text of its list */
} weft_jinja_token;

typedef struct weft_jinja {
    const weft_allocator *a;
    weft_jinja_token *tokens;
    size_t n, room;
    weft_bytes text;
    bool bad; /* something that no shape has: the list ends there */
} weft_jinja;

/* As Jinja does with trim_blocks and lstrip_blocks. False: no memory. `out` is to be freed. */
bool weft_jinja_scan(const weft_allocator *a, const char *source, size_t n_bytes, weft_jinja *out);
void weft_jinja_free(weft_jinja *list);

/* A shape's string '@' stands for any string, which is captured (the last one counts); its block
 * {% skip %} for anything up to the else, elif or endif that follows on the same level. */
bool weft_jinja_match(const weft_jinja *shape, const weft_jinja *list, const char **captured,
                      size_t *n_captured);
#endif
