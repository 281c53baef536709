/* Pre-tokenisers through PCRE2; see pretok.h. Patterns come from untrusted files too: the work of
 * one match is bounded, and their memory is the engine's. */
#include "text/pretok.h"

#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "text/pretok_names.h"

#define PATTERN_MAX 65536     /* bytes of a pattern */
#define MATCH_LIMIT 2000000u  /* backtracking steps of one match */
#define HEAP_LIMIT_KIB 65536u /* memory of one match without JIT */
#define STACK_MAX ((size_t)8 << 20)

/* PCRE2 frees without sizes: they are kept in front of each block. */
#define SIZE_ROOM 64

static void *memory_get(size_t n, void *ctx) {
    size_t whole;
    if (!weft_add_size(n, SIZE_ROOM, &whole))
        return NULL;
    unsigned char *block = weft_alloc(ctx, whole);
    if (!block)
        return NULL;
    memcpy(block, &whole, sizeof whole);
    return block + SIZE_ROOM;
}

static void memory_put(void *memory, void *ctx) {
    if (!memory)
        return;
    unsigned char *block = (unsigned char *)memory - SIZE_ROOM;
    size_t whole;
    memcpy(&whole, block, sizeof whole);
    weft_dealloc(ctx, block, whole);
}

const char *weft_pretok_gpt2(void) {
    return GPT2;
}

/* PCRE2's \s and its horizontal and vertical spaces also hold U+180E, which has not been a space
 * since Unicode 6.3: the property is spelled out instead. */
static size_t spell_spaces(const char *pattern, size_t n, char *out) {
    static const char yes[] = "\\p{White_Space}", no[] = "\\P{White_Space}";
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (pattern[i] != '\\' || i + 1 == n) {
            out[at++] = pattern[i];
            continue;
        }
        char c = pattern[++i];
        if (c == 's' || c == 'S') {
            memcpy(out + at, c == 's' ? yes : no, sizeof yes - 1);
            at += sizeof yes - 1;
        } else {
            out[at++] = '\\';
            out[at++] = c;
        }
    }
    return at;
}

/* Published patterns that look to the end of a run of digits from each place in it, which is
 * quadratic, beside ones that cut the same: once a group is found, those behind it follow (\G), and
 * a run that is refused is passed over whole. */
static const struct {
    const char *slow, *fast;
    weft_pretok_split split;
} linear_patterns[] = {
    {"\\d{1,3}(?=(?:\\d{3})*\\b)",
     "\\G(?<=\\d)\\d{3}|\\d{1,3}(?=(?:\\d{3})*+\\b)|\\d++(*SKIP)(*FAIL)", WEFT_SPLIT_ISOLATED},
    {"(?=(\\d{3})+(?!\\d))", "\\G(?<=\\d)\\d{3}|\\d{3}(?=(?:\\d{3})*+(?!\\d))",
     WEFT_SPLIT_WITH_NEXT},
};

weft_status weft_pretok_add(const weft_allocator *a, weft_pretok *p, const char *pattern,
                            size_t n_bytes, weft_pretok_split split, bool inverted) {
    for (size_t i = 0; i < sizeof linear_patterns / sizeof linear_patterns[0]; i++)
        if (split == WEFT_SPLIT_ISOLATED && !inverted &&
            n_bytes == strlen(linear_patterns[i].slow) &&
            memcmp(pattern, linear_patterns[i].slow, n_bytes) == 0) {
            split = linear_patterns[i].split;
            pattern = linear_patterns[i].fast;
            n_bytes = strlen(pattern);
        }
    if (p->n == WEFT_PRETOK_PATTERNS)
        return weft_fail(WEFT_E_UNSUPPORTED, "pre-tokeniser: more than %d patterns",
                         WEFT_PRETOK_PATTERNS);
    if (n_bytes == 0 || n_bytes > PATTERN_MAX)
        return weft_fail(WEFT_E_UNSUPPORTED, "pre-tokeniser: a pattern of %zu bytes", n_bytes);
    if (!p->memory) {
        p->memory = pcre2_general_context_create(memory_get, memory_put, (void *)(uintptr_t)a);
        if (!p->memory)
            return weft_fail(WEFT_E_MEMORY, "pre-tokeniser: no memory");
    }
    size_t room = n_bytes * sizeof "\\p{White_Space}", offset = 0;
    char *spelled = weft_alloc(a, room);
    pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
    int error = PCRE2_ERROR_NOMEMORY;
    pcre2_code *code = NULL;
    if (spelled && context) {
        pcre2_set_parens_nest_limit(context, 100);
        size_t n = spell_spaces(pattern, n_bytes, spelled);
        code =
            pcre2_compile((PCRE2_SPTR)spelled, n, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                          &error, &offset, context);
    }
    pcre2_compile_context_free(context);
    weft_dealloc(a, spelled, room);
    if (!code && (error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED))
        return weft_fail(WEFT_E_MEMORY, "pre-tokeniser: no memory for a pattern");
    if (!code) {
        PCRE2_UCHAR text[128] = "";
        pcre2_get_error_message(error, text, sizeof text);
        return weft_fail(WEFT_E_FORMAT, "pre-tokeniser: pattern \"%.*s\": %s at %zu",
                         (int)(n_bytes < 80 ? n_bytes : 80), pattern, (const char *)text, offset);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* only makes it faster */
    p->rules[p->n++] = (weft_pretok_rule){code, split, inverted};
    return WEFT_OK;
}

/* Whether `name` is one of the words of `names`. */
static bool among(const char *names, const char *name) {
    size_t n = strlen(name);
    for (const char *at = names; n && (at = strstr(at, name)) != NULL; at += n)
        if ((at == names || at[-1] == ' ') && (at[n] == 0 || at[n] == ' '))
            return !strchr(name, ' ');
    return false;
}

weft_status weft_pretok_by_name(const weft_allocator *a, const char *name, weft_pretok *out,
                                weft_pretok_kind *kind) {
    const size_t n_table = sizeof weft_pretok_table / sizeof weft_pretok_table[0];
    for (size_t i = 0; i < n_table; i++) {
        const weft_pretok_name *row = &weft_pretok_table[i];
        if (!among(row->names, name))
            continue;
        *kind = (weft_pretok_kind){row->nfc, row->ignore_merges, row->adds_bos};
        for (int j = 0; j < WEFT_PRETOK_PATTERNS && row->patterns[j]; j++) {
            weft_status status = weft_pretok_add(a, out, row->patterns[j], strlen(row->patterns[j]),
                                                 WEFT_SPLIT_ISOLATED, false);
            if (status != WEFT_OK)
                return status;
        }
        return WEFT_OK;
    }
    return weft_fail(
        WEFT_E_UNSUPPORTED,
        "tokenizer.ggml.pre: unknown pre-tokeniser \"%s\" (name a known one with --pre)", name);
}

bool weft_pretok_is_known(const char *name) {
    for (size_t i = 0; i < sizeof weft_pretok_table / sizeof weft_pretok_table[0]; i++)
        if (among(weft_pretok_table[i].names, name))
            return true;
    return false;
}

bool weft_pretok_name_at(size_t i, char *name, size_t room) {
    if (i >= sizeof weft_pretok_table / sizeof weft_pretok_table[0])
        return false;
    const char *names = weft_pretok_table[i].names;
    size_t n = strcspn(names, " ");
    if (n >= room)
        n = room - 1;
    memcpy(name, names, n);
    name[n] = 0;
    return true;
}

void weft_pretok_free(weft_pretok *p) {
    for (int i = 0; i < p->n; i++)
        pcre2_code_free(p->rules[i].code);
    pcre2_general_context_free(p->memory);
    memset(p, 0, sizeof *p);
}

static bool push(weft_cuts *c, size_t begin, size_t end, bool matched) {
    if (c->n_other == c->other_room) {
        size_t room = c->other_room ? c->other_room * 2 : 256;
        weft_cut *grown = weft_realloc(c->a, c->other, c->other_room * sizeof *c->other,
                                       weft_size_of(room, sizeof *grown));
        if (!grown)
            return false;
        c->other = grown;
        c->other_room = room;
    }
    c->other[c->n_other++] = (weft_cut){(uint32_t)begin, (uint32_t)end, matched};
    return true;
}

/* A match or gap of a piece whose results began at `first`. A joined pair counts as neither: the
 * next one stands alone. */
static bool emit(const weft_pretok_rule *rule, weft_cuts *c, size_t first, size_t begin, size_t end,
                 bool matched) {
    weft_cut *last = c->n_other > first ? &c->other[c->n_other - 1] : NULL;
    bool joins = false;
    matched ^= rule->inverted;
    if (begin == end)
        return true;
    switch (rule->split) {
    case WEFT_SPLIT_ISOLATED:
        break;
    case WEFT_SPLIT_REMOVED:
        if (matched)
            return true;
        break;
    case WEFT_SPLIT_WITH_PREVIOUS:
        joins = last && matched && !last->matched;
        break;
    case WEFT_SPLIT_WITH_NEXT:
        joins = last && !matched && last->matched;
        break;
    case WEFT_SPLIT_CONTIGUOUS:
        joins = last && matched == last->matched;
        break;
    }
    if (!joins)
        return push(c, begin, end, matched);
    last->end = (uint32_t)end;
    last->matched = matched;
    return true;
}

static weft_status prepare(const weft_pretok *p, weft_cuts *c) {
    if (c->match)
        return WEFT_OK;
    c->match = pcre2_match_data_create(1, p->memory);
    c->context = pcre2_match_context_create(p->memory);
    if (!c->match || !c->context)
        return weft_fail(WEFT_E_MEMORY, "pre-tokeniser: no memory");
    pcre2_set_match_limit(c->context, MATCH_LIMIT);
    pcre2_set_heap_limit(c->context, HEAP_LIMIT_KIB);
    c->stack = pcre2_jit_stack_create(32 << 10, STACK_MAX, p->memory);
    if (c->stack)
        pcre2_jit_stack_assign(c->context, NULL, c->stack);
    return WEFT_OK;
}

static weft_status match_failed(int error) {
    if (error == PCRE2_ERROR_NOMEMORY)
        return weft_fail(WEFT_E_MEMORY, "pre-tokeniser: no memory");
    PCRE2_UCHAR text[128] = "";
    pcre2_get_error_message(error, text, sizeof text);
    return weft_fail(WEFT_E_UNSUPPORTED, "pre-tokeniser: a pattern takes too much work: %s",
                     (const char *)text);
}

static int match_at(const pcre2_code *code, const unsigned char *text, size_t n, size_t from,
                    weft_cuts *c) {
    int r = pcre2_match(code, text, n, from, PCRE2_NO_UTF_CHECK, c->match, c->context);
    if (r == PCRE2_ERROR_JIT_STACKLIMIT)
        r = pcre2_match(code, text, n, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, c->match,
                        c->context);
    return r;
}

/* Cuts [begin, end) by one pattern. */
static weft_status cut_piece(const weft_pretok_rule *rule, const unsigned char *text, size_t begin,
                             size_t end, weft_cuts *c) {
    const unsigned char *piece = text + begin;
    size_t n = end - begin, from = 0, done = 0, first = c->n_other;
    bool fits = true;
    while (fits && from < n) {
        int r = match_at(rule->code, piece, n, from, c);
        if (r == PCRE2_ERROR_NOMATCH)
            break;
        if (r < 0)
            return match_failed(r);
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(c->match);
        if (range[1] <= range[0]) { /* an empty match cuts where it stands */
            size_t at = range[0];
            if (at > done && at < n) {
                fits = emit(rule, c, first, begin + done, begin + at, false);
                done = at;
            }
            from = (at > from ? at : from) + 1;
            while (from < n && (piece[from] & 0xc0) == 0x80)
                from++;
            continue;
        }
        fits = emit(rule, c, first, begin + done, begin + range[0], false) &&
               emit(rule, c, first, begin + range[0], begin + range[1], true);
        from = done = range[1];
    }
    if (!fits || !emit(rule, c, first, begin + done, end, false))
        return weft_fail(WEFT_E_MEMORY, "pre-tokeniser: no memory");
    return WEFT_OK;
}

static void swap(weft_cuts *c) {
    weft_cut *cuts = c->cuts;
    size_t room = c->room;
    c->cuts = c->other;
    c->room = c->other_room;
    c->n = c->n_other;
    c->other = cuts;
    c->other_room = room;
    c->n_other = 0;
}

weft_status weft_pretok_cut(const weft_pretok *p, const unsigned char *text, size_t n_bytes,
                            weft_cuts *c) {
    c->n_other = 0;
    if (n_bytes && !push(c, 0, n_bytes, false))
        return weft_fail(WEFT_E_MEMORY, "pre-tokeniser: no memory");
    swap(c);
    for (int i = 0; i < p->n; i++) {
        weft_status status = prepare(p, c);
        for (size_t j = 0; status == WEFT_OK && j < c->n; j++)
            status = cut_piece(&p->rules[i], text, c->cuts[j].begin, c->cuts[j].end, c);
        if (status != WEFT_OK)
            return status;
        swap(c);
    }
    return WEFT_OK;
}

void weft_cuts_free(weft_cuts *c) {
    weft_dealloc(c->a, c->cuts, c->room * sizeof *c->cuts);
    weft_dealloc(c->a, c->other, c->other_room * sizeof *c->other);
    pcre2_match_data_free(c->match);
    pcre2_match_context_free(c->context);
    pcre2_jit_stack_free(c->stack);
}
