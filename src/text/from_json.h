/* The parts of a tokenizer.json that two files share. */
#ifndef WEFT_TEXT_FROM_JSON_H
#define WEFT_TEXT_FROM_JSON_H

#include "base/json.h"
#include "text/tokenizer_impl.h"

/* "type" of a component, "" where it has none; for NULL and null as well. */
const char *weft_component_type(const weft_json *component);
/* Whether the value of `name` is the string `text`. */
bool weft_json_is(const weft_json *object, const char *name, const char *text);
/* Whether `name` is true; absent and null give `absent`. Another type is WEFT_E_FORMAT. */
weft_status weft_json_flag(const weft_json *object, const char *name, bool absent, bool *out);
/* A component that this version does not know: names it. */
weft_status weft_json_unknown(const char *what, const weft_json *component);

/* What normaliser, pre-tokeniser and decoder say together. */
typedef struct weft_json_scheme {
    bool byte_level;   /* pre-tokeniser ByteLevel */
    bool marks_spaces; /* a normaliser or Metaspace writes ▁ for a space */
    bool at_start, at_fragments, nfc;
    bool drops_space;
} weft_json_scheme;

/* Reads "normalizer", "pre_tokenizer" (its patterns are added to *pre) and "decoder". */
weft_status weft_json_scheme_read(const weft_allocator *a, const weft_json *root,
                                  weft_json_scheme *scheme, weft_pretok *pre);
#endif
