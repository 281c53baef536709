/* Tokenisers from a tokenizer.json of model type BPE: byte-level, or over characters with byte
 * fallback. Ids come from the file: every one is checked before it is an index, and no table is
 * sized by an id that the number of entries does not vouch for. */
#include "text/from_json.h"

#include <string.h>

typedef struct json_source {
    const weft_json *root, *model, *vocab, *added;
    const weft_metadata *metadata;
    const char *pre;
    int64_t n_rows;
    weft_json_scheme scheme;
} json_source;

/* One id → its spelling, before the tokeniser is there. */
typedef struct entry {
    const char *text;
    size_t n_bytes;
    unsigned char type, flags; /* type 0: no entry */
} entry;

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "tokenizer.json: no memory");
}

static bool is_type(const weft_json *v, weft_json_type type) {
    return v && weft_json_type_of(v) == type;
}

/* Members of the model whose type decides what they mean; null counts as absent. */
static weft_status check_options(const weft_json *model) {
    static const char *const flags[] = {"fuse_unk", "byte_fallback", "ignore_merges"};
    bool ignored;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        weft_status status = weft_json_flag(model, flags[i], false, &ignored);
        if (status != WEFT_OK)
            return status;
    }
    const weft_json *unk = weft_json_get(model, "unk_token");
    if (unk && !is_type(unk, WEFT_JSON_NULL) && !is_type(unk, WEFT_JSON_STRING))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.unk_token is no string");
    const weft_json *dropout = weft_json_get(model, "dropout");
    bool number = is_type(dropout, WEFT_JSON_INTEGER) || is_type(dropout, WEFT_JSON_REAL);
    if (dropout && !is_type(dropout, WEFT_JSON_NULL) && !number)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.dropout is no number");
    if (number && weft_json_number(dropout) != 0)
        return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: model.dropout is not supported");
    return WEFT_OK;
}

static bool flag(const weft_json *object, const char *name) {
    const weft_json *v = weft_json_get(object, name);
    return v && weft_json_bool(v);
}

static weft_status find_parts(json_source *s) {
    if (!is_type(s->root, WEFT_JSON_OBJECT))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: not an object");
    s->model = weft_json_get(s->root, "model");
    if (!is_type(s->model, WEFT_JSON_OBJECT))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model is missing or no object");
    s->vocab = weft_json_get(s->model, "vocab");
    /* Old files leave the type out where merges say it. */
    if (strcmp(weft_component_type(s->model), "BPE") != 0 &&
        !(!weft_json_get(s->model, "type") && weft_json_get(s->model, "merges")))
        return weft_json_unknown("model type", s->model);
    if (!is_type(s->vocab, WEFT_JSON_OBJECT))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.vocab is missing or no object");
    s->added = weft_json_get(s->root, "added_tokens");
    if (is_type(s->added, WEFT_JSON_NULL))
        s->added = NULL;
    if (s->added && !is_type(s->added, WEFT_JSON_ARRAY))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: added_tokens is no array");
    static const char *const unsupported[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        const weft_json *v = weft_json_get(s->model, unsupported[i]);
        if (v && !is_type(v, WEFT_JSON_NULL) && !weft_json_is(s->model, unsupported[i], ""))
            return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: model.%s is not supported",
                             unsupported[i]);
    }
    return check_options(s->model);
}

static weft_status check_id(const json_source *s, const weft_json *v, const char *what,
                            const char *text, bool in_vocab, int64_t limit, int32_t *id) {
    int64_t i = is_type(v, WEFT_JSON_INTEGER) ? weft_json_integer(v) : -1;
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

/* Calls of the two walks: the first finds the largest id, the second fills the table. */
static weft_status walk_vocab(const json_source *s, int64_t limit, entry *table, int32_t *top) {
    void *cursor = NULL;
    const char *text;
    const weft_json *v;
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
        table[id] = (entry){text, strlen(text), WEFT_TOKEN_NORMAL, 0};
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

static weft_status walk_added(const json_source *s, int64_t limit, entry *table, int32_t *top) {
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
        unsigned char type = flag(token, "special") ? WEFT_TOKEN_CONTROL : WEFT_TOKEN_USER;
        if (clashes(&table[id], text, n_bytes))
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer.json: added_tokens: entry %zu \"%.40s\" has the id %d of "
                             "another token \"%.40s\"",
                             i, text, (int)id, table[id].text);
        table[id] = (entry){text, n_bytes, type, (unsigned char)flags};
    }
    return WEFT_OK;
}

/* "<0x0A>" of a vocabulary with byte fallback. */
static bool is_byte_spelling(const entry *e) {
    static const char hex[] = "0123456789ABCDEF";
    return e->n_bytes == 6 && memcmp(e->text, "<0x", 3) == 0 && e->text[5] == '>' &&
           strchr(hex, e->text[3]) && strchr(hex, e->text[4]);
}

static weft_status fill(const json_source *s, weft_tokenizer *t, entry *table) {
    bool fallback = flag(s->model, "byte_fallback");
    for (int32_t i = 0; i < t->n; i++) {
        entry *e = &table[i];
        if (fallback && e->type == WEFT_TOKEN_NORMAL && is_byte_spelling(e))
            e->type = WEFT_TOKEN_BYTE;
        t->types[i] = e->type ? e->type : WEFT_TOKEN_UNUSED;
        t->flags[i] = e->flags;
        weft_status status = weft_vocab_add(t, i, e->text ? e->text : "", e->n_bytes);
        if (status != WEFT_OK)
            return status;
    }
    return weft_vocab_finish(t);
}

static weft_status read_tokens(const json_source *s, weft_engine *engine, weft_tokenizer **out) {
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
        status =
            weft_tokenizer_new(engine, s->scheme.byte_level ? WEFT_SCHEME_BYTES : WEFT_SCHEME_CHARS,
                               (int32_t)n, s->n_rows, out);
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
    if (is_type(merge, WEFT_JSON_ARRAY)) {
        const weft_json *a = weft_json_item(merge, 0), *b = weft_json_item(merge, 1);
        const char *left = a ? weft_json_string(a, &left_bytes) : NULL;
        const char *right = b ? weft_json_string(b, &right_bytes) : NULL;
        if (weft_json_length(merge) != 2 || !left || !right)
            return bad_merge(i);
        return weft_merges_add(t, (uint32_t)i, left, left_bytes, right, right_bytes);
    }
    size_t n = 0;
    const char *text = is_type(merge, WEFT_JSON_STRING) ? weft_json_string(merge, &n) : NULL;
    const char *space = text ? memchr(text, ' ', n) : NULL;
    if (!space || space == text || space + 1 == text + n)
        return bad_merge(i);
    left_bytes = (size_t)(space - text);
    return weft_merges_add(t, (uint32_t)i, text, left_bytes, space + 1, n - left_bytes - 1);
}

static weft_status read_merges(const json_source *s, weft_tokenizer *t) {
    const weft_json *merges = weft_json_get(s->model, "merges");
    if (!is_type(merges, WEFT_JSON_ARRAY))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.merges is missing or no array");
    size_t n = weft_json_length(merges);
    weft_status status = weft_merges_reserve(t, n);
    for (size_t i = 0; status == WEFT_OK && i < n; i++)
        status = read_merge(t, weft_json_item(merges, i), i);
    return status;
}

/* ---- BOS, EOS, the template ---- */

/* "tokenizer_config.NAME", a string or an object with "content". */
static weft_status configured(const json_source *s, const weft_tokenizer *t, const char *key,
                              const char *nested, int32_t *id) {
    const char *text = NULL;
    if (!s->metadata)
        return WEFT_OK;
    weft_status status = weft_metadata_string(s->metadata, key, &text);
    if (status == WEFT_E_NOT_FOUND)
        status = weft_metadata_string(s->metadata, nested, &text);
    if (status == WEFT_OK)
        *id = weft_vocab_find(t, text, strlen(text));
    return status == WEFT_E_NOT_FOUND ? WEFT_OK : status;
}

/* -1 for an id that no token has. One that no row has either is refused where `strict`: an end
 * that is passed over would let texts run on. */
static weft_status id_of(const json_source *s, const weft_tokenizer *t, const char *key,
                         const weft_value *v, bool strict, int32_t *id) {
    if (v->type != WEFT_VALUE_I64)
        return weft_fail(WEFT_E_FORMAT, "%s: not the id of a token", key);
    int64_t limit = s->n_rows > t->n ? s->n_rows : t->n;
    if (v->as.i < 0 || (strict && v->as.i >= limit))
        return weft_fail(WEFT_E_FORMAT, "%s: %lld, but there are %lld tokens", key,
                         (long long)v->as.i, (long long)limit);
    *id = v->as.i < t->n ? (int32_t)v->as.i : -1;
    return WEFT_OK;
}

/* An id, or several, of config.json or generation_config.json. The latter is often copied from a
 * model's relatives: there, ids out of range do not count. */
static weft_status numbered(const json_source *s, weft_tokenizer *t, const char *key,
                            int32_t *first, bool ends) {
    size_t index = 0;
    weft_value v;
    if (!s->metadata || !weft_metadata_index(s->metadata, key, &index) ||
        !weft_metadata_find(s->metadata, key, &v))
        return WEFT_OK;
    bool several = v.type == WEFT_VALUE_ARRAY;
    size_t n = several ? v.as.array.n : 1;
    for (size_t i = 0; i < n; i++) {
        int32_t id = -1;
        if (several && !weft_metadata_item(s->metadata, index, i, &v))
            v.type = WEFT_VALUE_ARRAY;
        weft_status status = id_of(s, t, key, &v, !strchr(key, '.'), &id);
        if (status != WEFT_OK)
            return status;
        if (id >= 0 && *first < 0)
            *first = id;
        if (id >= 0 && ends)
            t->eog[id] = true;
    }
    return WEFT_OK;
}

/* The tokens that tokenizer_config.json, config.json and generation_config.json name. */
static weft_status read_named(const json_source *s, weft_tokenizer *t) {
    weft_status status = configured(s, t, "tokenizer_config.bos_token",
                                    "tokenizer_config.bos_token.content", &t->bos);
    if (status == WEFT_OK)
        status = configured(s, t, "tokenizer_config.eos_token",
                            "tokenizer_config.eos_token.content", &t->eos);
    if (status == WEFT_OK)
        status = numbered(s, t, "bos_token_id", &t->bos, false);
    if (status == WEFT_OK)
        status = numbered(s, t, "generation_config.eos_token_id", &t->eos, true);
    return status == WEFT_OK ? numbered(s, t, "eos_token_id", &t->eos, true) : status;
}

/* Whether they are added; absent leaves it as it is. */
static weft_status configured_flag(const json_source *s, const char *key, bool *out) {
    weft_status status = s->metadata ? weft_metadata_bool(s->metadata, key, out) : WEFT_OK;
    return status == WEFT_E_NOT_FOUND ? WEFT_OK : status;
}

static int32_t special_id(const weft_tokenizer *t, const weft_json *piece) {
    const weft_json *id = weft_json_get(weft_json_get(piece, "SpecialToken"), "id");
    size_t n = 0;
    const char *text = id ? weft_json_string(id, &n) : NULL;
    return text ? weft_vocab_find(t, text, n) : -1;
}

/* TemplateProcessing: at most one token before the text and one after it. */
static weft_status read_template_processing(const weft_json *step, weft_tokenizer *t) {
    const weft_json *single = weft_json_get(step, "single");
    size_t n = is_type(single, WEFT_JSON_ARRAY) ? weft_json_length(single) : 0;
    bool text_seen = false;
    if (n == 0)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: post_processor \"TemplateProcessing\": "
                                        "single is no list of pieces");
    for (size_t i = 0; i < n; i++) {
        const weft_json *piece = weft_json_item(single, i);
        if (weft_json_get(piece, "Sequence")) {
            text_seen = true;
            continue;
        }
        int32_t id = special_id(t, piece);
        if (id < 0 || (text_seen ? t->adds_eos : t->adds_bos))
            return weft_fail(
                WEFT_E_UNSUPPORTED,
                "tokenizer.json: post_processor \"TemplateProcessing\" of this form is "
                "not supported");
        if (text_seen) {
            t->adds_eos = true;
            t->eos = id;
        } else {
            t->adds_bos = true;
            t->bos = id;
        }
    }
    return WEFT_OK;
}

static weft_status read_post_processor(const json_source *s, weft_tokenizer *t, bool *decided) {
    const weft_json *post = weft_json_get(s->root, "post_processor");
    *decided = false;
    if (!post || is_type(post, WEFT_JSON_NULL))
        return WEFT_OK;
    bool sequence = strcmp(weft_component_type(post), "Sequence") == 0;
    const weft_json *list = sequence ? weft_json_get(post, "processors") : NULL;
    if (sequence && !is_type(list, WEFT_JSON_ARRAY))
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.json: post_processor: a Sequence without processors");
    size_t n = sequence ? weft_json_length(list) : 1;
    for (size_t i = 0; i < n; i++) {
        const weft_json *step = sequence ? weft_json_item(list, i) : post;
        const char *type = weft_component_type(step);
        if (strcmp(type, "TemplateProcessing") == 0) {
            *decided = true;
            weft_status status = read_template_processing(step, t);
            if (status != WEFT_OK)
                return status;
        } else if (strcmp(type, "ByteLevel") != 0) {
            return weft_json_unknown("post_processor", step);
        }
    }
    return WEFT_OK;
}

static weft_status read_specials(const json_source *s, weft_tokenizer *t) {
    bool decided;
    const weft_json *unk = weft_json_get(s->model, "unk_token");
    size_t n = 0;
    const char *text = unk ? weft_json_string(unk, &n) : NULL;
    t->unk = text ? weft_vocab_find(t, text, n) : -1;
    t->fuse_unk = flag(s->model, "fuse_unk");
    t->ignore_merges = flag(s->model, "ignore_merges");
    weft_status status = read_named(s, t);
    if (status == WEFT_OK)
        status = read_post_processor(s, t, &decided);
    if (status == WEFT_OK && !decided)
        status = configured_flag(s, "tokenizer_config.add_bos_token", &t->adds_bos);
    if (status == WEFT_OK && !decided)
        status = configured_flag(s, "tokenizer_config.add_eos_token", &t->adds_eos);
    /* Ids beyond the rows are never made. */
    if (s->n_rows >= 0 && t->bos >= s->n_rows)
        t->adds_bos = false;
    if (s->n_rows >= 0 && t->eos >= s->n_rows)
        t->adds_eos = false;
    if (s->n_rows >= 0 && t->unk >= s->n_rows)
        t->unk = -1;
    return status;
}

static weft_status read_template(const json_source *s, weft_tokenizer *t) {
    const char *text;
    static const char *const keys[] = {"chat_template", "tokenizer_config.chat_template",
                                       "tokenizer_config.chat_template.default"};
    for (size_t i = 0; s->metadata && i < sizeof keys / sizeof keys[0]; i++)
        if (weft_metadata_string(s->metadata, keys[i], &text) == WEFT_OK)
            return weft_tokenizer_set_template(t, text, strlen(text));
    return WEFT_OK;
}

/* The patterns belong to the tokeniser's own allocator: they are read again into it. */
static weft_status read_patterns(json_source *s, weft_tokenizer *t) {
    weft_pretok_kind kind = {false, false};
    weft_status status;
    if (s->pre && s->scheme.byte_level) {
        status = weft_pretok_by_name(&t->a, s->pre, &t->pre, &kind);
        t->pre.nfc = s->scheme.nfc;
    } else {
        status = weft_json_scheme_read(&t->a, s->root, &s->scheme, &t->pre);
    }
    t->space_at_start = s->scheme.at_start;
    t->space_at_fragments = s->scheme.at_fragments;
    t->drops_space = s->scheme.drops_space && !s->scheme.byte_level;
    return status;
}

static weft_status read_all(json_source *s, weft_engine *engine, weft_tokenizer **out) {
    weft_pretok probe = {0};
    weft_status status = find_parts(s);
    if (status == WEFT_OK)
        status = weft_json_scheme_read(&engine->allocator, s->root, &s->scheme, &probe);
    weft_pretok_free(&probe);
    if (status == WEFT_OK && !s->scheme.byte_level && !s->scheme.marks_spaces)
        status = weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: neither a ByteLevel pre_tokenizer "
                                               "nor marks for spaces");
    if (status == WEFT_OK)
        status = read_tokens(s, engine, out);
    if (status == WEFT_OK)
        status = read_patterns(s, *out);
    if (status == WEFT_OK)
        status = read_merges(s, *out);
    if (status == WEFT_OK)
        status = read_specials(s, *out);
    return status == WEFT_OK ? read_template(s, *out) : status;
}

weft_status weft_tokenizer_from_json(weft_engine *engine, const char *json, size_t json_bytes,
                                     const weft_metadata *metadata, const char *pre, int64_t n_rows,
                                     weft_tokenizer **out) {
    json_source s = {.metadata = metadata, .pre = pre, .n_rows = n_rows};
    weft_json *root = NULL;
    weft_tokenizer *t = NULL;
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status == WEFT_OK)
        status = weft_json_parse(json, json_bytes, "tokenizer.json", &root);
    if (status != WEFT_OK)
        return status;
    s.root = root;
    status = read_all(&s, engine, &t);
    if (status == WEFT_OK) {
        weft_vocab_mark_eog(t);
        *out = t;
    } else if (t) {
        weft_tokenizer_destroy(t);
    }
    weft_json_free(&root);
    return status;
}
