/* Pre-tokenisers: a sequence of patterns, each cutting the pieces that the one before left, matches
 * and what lies between them alike. Patterns run through PCRE2 with bounded work. */
#ifndef WEFT_TEXT_PRETOK_H
#define WEFT_TEXT_PRETOK_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>

#define WEFT_PRETOK_PATTERNS 8

typedef struct weft_pretok {
    pcre2_general_context *memory;
    pcre2_code *patterns[WEFT_PRETOK_PATTERNS];
    int n;
    bool nfc; /* the text is normalised to NFC first */
} weft_pretok;

/* What a name in tokenizer.ggml.pre stands for. */
typedef struct weft_pretok_kind {
    bool ignore_merges, adds_bos;
} weft_pretok_kind;

/* The patterns of `name`; WEFT_E_UNSUPPORTED naming it when it is unknown. `a` must stay. */
weft_status weft_pretok_by_name(const weft_allocator *a, const char *name, weft_pretok *out,
                                weft_pretok_kind *kind);
/* Adds one pattern (Oniguruma's usual syntax). WEFT_E_FORMAT, _UNSUPPORTED, _MEMORY. */
weft_status weft_pretok_add(const weft_allocator *a, weft_pretok *p, const char *pattern,
                            size_t n_bytes);
void weft_pretok_free(weft_pretok *p);

/* The pattern of GPT-2, which tokenizer.json means by ByteLevel's use_regex. */
const char *weft_pretok_gpt2(void);

/* Scratch and result of cutting: ends[0 … n-1] are the pieces' ends in ascending order. */
typedef struct weft_cuts {
    const weft_allocator *a;
    uint32_t *ends, *other;
    size_t n, n_other, room, other_room;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
} weft_cuts;
/* `text` is well-formed UTF-8. WEFT_E_MEMORY; WEFT_E_UNSUPPORTED when a pattern takes too much
 * work. */
weft_status weft_pretok_cut(const weft_pretok *p, const unsigned char *text, size_t n_bytes,
                            weft_cuts *cuts);
void weft_cuts_free(weft_cuts *cuts);
#endif
