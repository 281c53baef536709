/* Pre-tokenisers: a sequence of patterns, each cutting the pieces that the one before left.
 * Patterns run through PCRE2 with bounded work. */
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

/* What becomes of a pattern's matches and of the gaps between them; named as in tokenizer.json. */
typedef enum weft_pretok_split {
    WEFT_SPLIT_ISOLATED,      /* each is a piece */
    WEFT_SPLIT_REMOVED,       /* matches are dropped */
    WEFT_SPLIT_WITH_PREVIOUS, /* a match joins the gap before it */
    WEFT_SPLIT_WITH_NEXT,     /* … the gap behind it */
    WEFT_SPLIT_CONTIGUOUS,    /* neighbouring matches are one piece */
} weft_pretok_split;

typedef struct weft_pretok_rule {
    pcre2_code *code;
    weft_pretok_split split;
    bool inverted; /* gaps count as matches, and matches as gaps */
} weft_pretok_rule;

typedef struct weft_pretok {
    pcre2_general_context *memory;
    weft_pretok_rule rules[WEFT_PRETOK_PATTERNS];
    int n;
} weft_pretok;

/* What a name in tokenizer.ggml.pre stands for. */
typedef struct weft_pretok_kind {
    bool nfc; /* the text is normalised to NFC first */
    bool ignore_merges, adds_bos;
} weft_pretok_kind;

/* The patterns of `name`; WEFT_E_UNSUPPORTED naming it when it is unknown. `a` must stay. */
weft_status weft_pretok_by_name(const weft_allocator *a, const char *name, weft_pretok *out,
                                weft_pretok_kind *kind);
bool weft_pretok_is_known(const char *name);
/* The first name of the i-th known pre-tokeniser; false past the last. */
bool weft_pretok_name_at(size_t i, char *name, size_t room);
/* Adds one pattern (Oniguruma's usual syntax). WEFT_E_FORMAT, _UNSUPPORTED, _MEMORY. */
weft_status weft_pretok_add(const weft_allocator *a, weft_pretok *p, const char *pattern,
                            size_t n_bytes, weft_pretok_split split, bool inverted);
void weft_pretok_free(weft_pretok *p);

/* The pattern of GPT-2, which tokenizer.json means by ByteLevel's use_regex. */
const char *weft_pretok_gpt2(void);

/* Bytes [begin, end) of the text. */
typedef struct weft_cut {
    uint32_t begin, end;
    bool matched; /* by the last pattern */
} weft_cut;

/* Scratch and result of cutting: cuts[0 … n-1] in order; what lies between them was removed. */
typedef struct weft_cuts {
    const weft_allocator *a;
    weft_cut *cuts, *other;
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
