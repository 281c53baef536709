/* The vocabulary of a tokenizer.json: tokens, added tokens, merges. Ids come from the file: every
 * one is checked before it is an index, and no table is sized by an id that the number of entries
 * does not vouch for. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "text/from_json.h"

/* One id → its spelling, before the tokeniser is there. */
typedef struct entry {
    const char *text;
    size_t n_bytes;
    float score;               /* Unigram */
    unsigned char type, flags; /* type 0: no entry */
} entry;

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "tokenizer.json: no memory");
}

static weft_status check_id(const weft_json_source *s, const weft_json *v, const char *what,
                            const char *text, bool in_vocab, int64_t limit, int32_t *id) {
    int64_t i = weft_json_has_type(v, WEFT_JSON_INTEGER) ? weft_json_integer(v) : -1;
    if (i < 0 || i >= limit)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: %s: token \"%.40s\" has the id %lld", what,
                         text, (long long)i);
    if (in_vocab && s->n_rows >= 0 && i >= s->n_rows)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.json: %s: token \"%.40s\" has the id %lld, but the embedding "
                         "has %lld rows",
                         what, text, (long long)i, (long long)s->n_rows);
    *id = (int32_t)i;
    return WEFT_OK;
}

/* Entry `i` of Unigram's list: [piece, score]. */
static weft_status list_entry(const weft_json_source *s, size_t i, const char **text,
                              size_t *n_bytes, float *score) {
    const weft_json *pair = weft_json_item(s->vocab, i);
    const weft_json *piece = weft_json_item(pair, 0), *v = weft_json_item(pair, 1);
    bool number = weft_json_has_type(v, WEFT_JSON_INTEGER) || weft_json_has_type(v, WEFT_JSON_REAL);
    *text = piece ? weft_json_string(piece, n_bytes) : NULL;
    *score = number ? (float)weft_json_number(v) : 0;
    if (!*text || !number || !isfinite(*score))
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.json: model.vocab: entry %zu is no piece with a score", i);
    if (s->n_rows >= 0 && (uint64_t)i >= (uint64_t)s->n_rows)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.json: model.vocab: more pieces than the %lld rows of the "
                         "embedding",
                         (long long)s->n_rows);
    return WEFT_OK;
}

static weft_status walk_list(const weft_json_source *s, entry *table, int32_t *top) {
    size_t n = weft_json_length(s->vocab);
    if (n > 1u << 26)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.vocab: %zu pieces", n);
    for (size_t i = 0; i < n; i++) {
        entry e = {.type = WEFT_TOKEN_NORMAL};
        weft_status status = list_entry(s, i, &e.text, &e.n_bytes, &e.score);
        if (status != WEFT_OK)
            return status;
        if (table)
            table[i] = e;
    }
    if (n && (int32_t)(n - 1) > *top)
        *top = (int32_t)(n - 1);
    return WEFT_OK;
}

/* Calls of the two walks: the first finds the largest id, the second fills the table. */
static weft_status walk_vocab(const weft_json_source *s, int64_t limit, entry *table,
                              int32_t *top) {
    void *cursor = NULL;
    const char *text;
    const weft_json *v;
    if (s->type == WEFT_JSON_UNIGRAM)
        return walk_list(s, table, top);
    while (weft_json_next(s->vocab, &cursor, &text, &v)) {
        int32_t id = 0;
        weft_status status = check_id(s, v, "model.vocab", text, true, limit, &id);
        if (status != WEFT_OK)
            return status;
        if (id > *top)
            *top = id;
        if (!table)
            continue;
        if (table[id].type)
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer.json: model.vocab: two tokens have the id %d", (int)id);
        table[id] = (entry){text, strlen(text), 0, WEFT_TOKEN_NORMAL, 0};
    }
    return WEFT_OK;
}

static weft_status added_flags(const weft_json *token, unsigned *flags) {
    static const struct {
        const char *name;
        unsigned flag;
    } table[] = {{"lstrip", WEFT_ADDED_LSTRIP},
                 {"rstrip", WEFT_ADDED_RSTRIP},
                 {"single_word", WEFT_ADDED_SINGLE_WORD},
                 {"special", 0},
                 {"normalized", 0}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bool on;
        weft_status status = weft_json_flag(token, table[i].name, false, &on);
        if (status != WEFT_OK)
            return status;
        *flags |= on ? table[i].flag : 0;
    }
    return WEFT_OK;
}

/* One id for two spellings: whichever won, text would be read or written wrong. */
static bool clashes(const entry *e, const char *text, size_t n_bytes) {
    return e->type && (e->n_bytes != n_bytes || memcmp(e->text, text, n_bytes) != 0);
}

static weft_status walk_added(const weft_json_source *s, int64_t limit, entry *table,
                              int32_t *top) {
    size_t n = s->added ? weft_json_length(s->added) : 0;
    for (size_t i = 0; i < n; i++) {
        const weft_json *token = weft_json_item(s->added, i);
        const weft_json *content = weft_json_get(token, "content");
        size_t n_bytes = 0;
        const char *text = content ? weft_json_string(content, &n_bytes) : NULL;
        int32_t id = 0;
        if (!text)
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer.json: added_tokens: entry %zu has no content", i);
        weft_status status =
            check_id(s, weft_json_get(token, "id"), "added_tokens", text, false, limit, &id);
        if (status != WEFT_OK)
            return status;
        if (id > *top)
            *top = id;
        if (!table)
            continue;
        unsigned flags = 0;
        if ((status = added_flags(token, &flags)) != WEFT_OK)
            return weft_fail_in(status, "added_tokens: entry %zu", i);
        unsigned char type =
            weft_json_true(token, "special") ? WEFT_TOKEN_CONTROL : WEFT_TOKEN_USER;
        if (clashes(&table[id], text, n_bytes))
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer.json: added_tokens: entry %zu \"%.40s\" has the id %d of "
                             "another token \"%.40s\"",
                             i, text, (int)id, table[id].text);
        table[id] = (entry){text, n_bytes, table[id].score, type, (unsigned char)flags};
    }
    return WEFT_OK;
}

/* "<0x0A>" of a vocabulary with byte fallback. */
static bool is_byte_spelling(const entry *e) {
    static const char hex[] = "0123456789ABCDEF";
    return e->n_bytes == 6 && memcmp(e->text, "<0x", 3) == 0 && e->text[5] == '>' &&
           strchr(hex, e->text[3]) && strchr(hex, e->text[4]);
}

/* WordPiece in the spelling of keys: ▁ where a word begins, nothing where one goes on. */
static weft_status add_wordpiece(const weft_json_source *s, weft_tokenizer *t, int32_t id,
                                 const entry *e) {
    const weft_json *v = weft_json_get(s->model, "continuing_subword_prefix");
    size_t n = 2;
    const char *prefix = v && weft_json_string(v, &n) ? weft_json_string(v, &n) : "##";
    if (e->type != WEFT_TOKEN_NORMAL)
        return weft_vocab_add(t, id, e->text, e->n_bytes);
    if (n && e->n_bytes > n && memcmp(e->text, prefix, n) == 0)
        return weft_vocab_add(t, id, e->text + n, e->n_bytes - n);
    weft_bytes key = {.a = &t->a};
    weft_status status = WEFT_OK;
    if (!weft_bytes_add(&key, "\xe2\x96\x81", 3) || !weft_bytes_add(&key, e->text, e->n_bytes))
        status = no_memory();
    else
        status = weft_vocab_add(t, id, (const char *)key.data, key.n);
    weft_bytes_free(&key);
    return status;
}

/* Whether a token of a WordPiece vocabulary is one that the model's template or
 * tokenizer_config.json names: folders need not list it among the added ones. */
static bool is_named_special(const weft_json_source *s, const entry *e) {
    static const char *const keys[] = {"cls_token", "sep_token", "pad_token", "mask_token"};
    const weft_json *post = weft_json_get(s->root, "post_processor");
    if (weft_json_get(weft_json_get(post, "special_tokens"), e->text))
        return true;
    for (size_t i = 0; s->metadata && i < 2 * sizeof keys / sizeof *keys; i++) {
        char key[64];
        const char *text;
        snprintf(key, sizeof key, "tokenizer_config.%s%s", keys[i / 2], i % 2 ? ".content" : "");
        if (!weft_metadata_string(s->metadata, key, &text) && strcmp(text, e->text) == 0)
            return true;
    }
    return false;
}

static weft_status fill(const weft_json_source *s, weft_tokenizer *t, entry *table) {
    bool fallback = weft_json_true(s->model, "byte_fallback");
    for (int32_t i = 0; i < t->n; i++) {
        entry *e = &table[i];
        if (fallback && e->type == WEFT_TOKEN_NORMAL && is_byte_spelling(e))
            e->type = WEFT_TOKEN_BYTE;
        if (s->type == WEFT_JSON_WORDPIECE && e->type == WEFT_TOKEN_NORMAL &&
            weft_json_is(s->model, "unk_token", e->text))
            e->type = WEFT_TOKEN_UNKNOWN; /* begins no word */
        if (s->type == WEFT_JSON_WORDPIECE && e->type == WEFT_TOKEN_NORMAL &&
            is_named_special(s, e))
            e->type = WEFT_TOKEN_CONTROL;
        t->types[i] = e->type ? e->type : WEFT_TOKEN_UNUSED;
        t->flags[i] = e->flags;
        t->scores[i] = e->score;
        weft_status status = s->type == WEFT_JSON_WORDPIECE && e->text
                                 ? add_wordpiece(s, t, i, e)
                                 : weft_vocab_add(t, i, e->text ? e->text : "", e->n_bytes);
        if (status != WEFT_OK)
            return status;
    }
    return weft_vocab_finish(t);
}

static weft_scheme scheme_of(const weft_json_source *s) {
    if (s->type == WEFT_JSON_BPE)
        return s->scheme.byte_level ? WEFT_SCHEME_BYTES : WEFT_SCHEME_CHARS;
    return s->type == WEFT_JSON_UNIGRAM ? WEFT_SCHEME_UNIGRAM : WEFT_SCHEME_WORDPIECE;
}

weft_status weft_json_tokens_read(const weft_json_source *s, weft_engine *engine,
                                  weft_tokenizer **out) {
    size_t count = weft_json_length(s->vocab) + (s->added ? weft_json_length(s->added) : 0);
    int64_t limit = count < (1u << 24) ? (int64_t)count * 4 + 65536 : 1 << 26;
    int32_t top = -1;
    weft_status status = walk_vocab(s, limit, NULL, &top);
    if (status == WEFT_OK)
        status = walk_added(s, limit, NULL, &top);
    if (status == WEFT_OK && top < 0)
        status = weft_fail(WEFT_E_FORMAT, "tokenizer.json: the vocabulary has no tokens");
    if (status != WEFT_OK)
        return status;
    size_t n = (size_t)top + 1, bytes = weft_size_of(n, sizeof(entry));
    entry *table = weft_alloc_zeroed(&engine->allocator, bytes);
    if (!table)
        return no_memory();
    status = walk_vocab(s, limit, table, &top);
    if (status == WEFT_OK)
        status = walk_added(s, limit, table, &top);
    if (status == WEFT_OK)
        status = weft_tokenizer_new(engine, scheme_of(s), (int32_t)n, s->n_rows, out);
    if (status == WEFT_OK)
        status = fill(s, *out, table);
    weft_dealloc(&engine->allocator, table, bytes);
    return status;
}

static weft_status bad_merge(size_t i) {
    return weft_fail(
        WEFT_E_FORMAT,
        "tokenizer.json: model.merges: merge %zu is not two pieces with a space between", i);
}

static weft_status read_merge(weft_tokenizer *t, const weft_json *merge, size_t i) {
    size_t left_bytes, right_bytes;
    if (weft_json_has_type(merge, WEFT_JSON_ARRAY)) {
        const weft_json *a = weft_json_item(merge, 0), *b = weft_json_item(merge, 1);
        const char *left = a ? weft_json_string(a, &left_bytes) : NULL;
        const char *right = b ? weft_json_string(b, &right_bytes) : NULL;
        if (weft_json_length(merge) != 2 || !left || !right)
            return bad_merge(i);
        return weft_merges_add(t, (uint32_t)i, left, left_bytes, right, right_bytes);
    }
    size_t n = 0;
    const char *text =
        weft_json_has_type(merge, WEFT_JSON_STRING) ? weft_json_string(merge, &n) : NULL;
    const char *space = text ? memchr(text, ' ', n) : NULL;
    if (!space || space == text || space + 1 == text + n)
        return bad_merge(i);
    left_bytes = (size_t)(space - text);
    return weft_merges_add(t, (uint32_t)i, text, left_bytes, space + 1, n - left_bytes - 1);
}

weft_status weft_json_merges_read(const weft_json_source *s, weft_tokenizer *t) {
    const weft_json *merges = weft_json_get(s->model, "merges");
    if (!weft_json_has_type(merges, WEFT_JSON_ARRAY))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.merges is missing or no array");
    size_t n = weft_json_length(merges);
    weft_status status = weft_merges_reserve(t, n);
    for (size_t i = 0; status == WEFT_OK && i < n; i++)
        status = read_merge(t, weft_json_item(merges, i), i);
    return status;
}
