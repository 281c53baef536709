/* Tokenisers from a tokenizer.json: what kind of model it is, and the order in which its parts are
 * read. */
#include "text/from_json.h"

#include <string.h>

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
    if (unk && !weft_json_has_type(unk, WEFT_JSON_NULL) &&
        !weft_json_has_type(unk, WEFT_JSON_STRING))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.unk_token is no string");
    const weft_json *dropout = weft_json_get(model, "dropout");
    bool number = weft_json_has_type(dropout, WEFT_JSON_INTEGER) ||
                  weft_json_has_type(dropout, WEFT_JSON_REAL);
    if (dropout && !weft_json_has_type(dropout, WEFT_JSON_NULL) && !number)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.dropout is no number");
    if (number && weft_json_number(dropout) != 0)
        return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: model.dropout is not supported");
    return WEFT_OK;
}

/* What BPE and WordPiece could do besides; absent, null and "" are the same. */
static weft_status check_affixes(const weft_json_source *s) {
    static const char *const names[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = s->type == WEFT_JSON_WORDPIECE; i < sizeof names / sizeof names[0]; i++) {
        const weft_json *v = weft_json_get(s->model, names[i]);
        if (!weft_json_absent(v) && !weft_json_is(s->model, names[i], ""))
            return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: model.%s is not supported",
                             names[i]);
    }
    const weft_json *longest = weft_json_get(s->model, "max_input_chars_per_word");
    if (s->type == WEFT_JSON_WORDPIECE && !weft_json_absent(longest) &&
        weft_json_integer(longest) != 100)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: model.max_input_chars_per_word: only 100 is supported");
    return WEFT_OK;
}

static weft_status find_type(weft_json_source *s) {
    static const char *const names[] = {"BPE", "Unigram", "WordPiece"};
    const char *name = weft_component_type(s->model);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            s->type = (weft_json_model)i;
            return WEFT_OK;
        }
    /* Old files leave the type out where the other members say it. */
    bool untyped = !weft_json_get(s->model, "type");
    if (untyped && weft_json_get(s->model, "merges"))
        s->type = WEFT_JSON_BPE;
    else if (untyped && weft_json_get(s->model, "unk_id"))
        s->type = WEFT_JSON_UNIGRAM;
    else
        return weft_json_unknown("model type", s->model);
    return WEFT_OK;
}

static weft_status find_parts(weft_json_source *s) {
    if (!weft_json_has_type(s->root, WEFT_JSON_OBJECT))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: not an object");
    s->model = weft_json_get(s->root, "model");
    if (!weft_json_has_type(s->model, WEFT_JSON_OBJECT))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model is missing or no object");
    weft_status status = find_type(s);
    if (status != WEFT_OK)
        return status;
    bool list = s->type == WEFT_JSON_UNIGRAM;
    s->vocab = weft_json_get(s->model, "vocab");
    if (!weft_json_has_type(s->vocab, list ? WEFT_JSON_ARRAY : WEFT_JSON_OBJECT))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: model.vocab is missing or no %s",
                         list ? "array" : "object");
    s->added = weft_json_get(s->root, "added_tokens");
    if (weft_json_has_type(s->added, WEFT_JSON_NULL))
        s->added = NULL;
    if (s->added && !weft_json_has_type(s->added, WEFT_JSON_ARRAY))
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: added_tokens is no array");
    status = check_affixes(s);
    return status ? status : check_options(s->model);
}

/* Patterns and steps belong to the tokeniser's own allocator: they are read again into it. */
static weft_status read_patterns(weft_json_source *s, weft_tokenizer *t) {
    weft_pretok_kind kind;
    weft_status status = weft_json_scheme_read(&t->a, s->root, &s->scheme, &t->normalizer, &t->pre);
    if (status == WEFT_OK && s->pre && s->scheme.byte_level) {
        weft_pretok_free(&t->pre);
        status = weft_pretok_by_name(&t->a, s->pre, &t->pre, &kind);
    }
    t->marks_spaces = s->scheme.marks_spaces;
    t->space_at_start = s->scheme.at_start;
    t->space_at_fragments = s->scheme.at_fragments;
    t->space_once = s->scheme.at_once;
    t->drops_space = s->scheme.drops_space && !s->scheme.byte_level;
    return status;
}

/* Combinations that no published file has and that this reader would get wrong. */
static weft_status check_scheme(const weft_json_source *s) {
    if (s->type == WEFT_JSON_WORDPIECE && !s->scheme.bert_words)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: WordPiece without pre_tokenizer \"BertPreTokenizer\"");
    if (s->type != WEFT_JSON_WORDPIECE && s->scheme.bert_words)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: pre_tokenizer \"BertPreTokenizer\" without WordPiece");
    if (s->type != WEFT_JSON_BPE && s->scheme.byte_level)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: pre_tokenizer \"ByteLevel\" without BPE");
    return WEFT_OK;
}

static weft_status read_all(weft_json_source *s, weft_engine *engine, weft_tokenizer **out) {
    weft_pretok probe = {0};
    weft_normalizer chain = {0};
    weft_status status = find_parts(s);
    if (status == WEFT_OK)
        status = weft_json_scheme_read(&engine->allocator, s->root, &s->scheme, &chain, &probe);
    weft_pretok_free(&probe);
    weft_normalizer_free(&engine->allocator, &chain);
    if (status == WEFT_OK)
        status = check_scheme(s);
    if (status == WEFT_OK)
        status = weft_json_tokens_read(s, engine, out);
    if (status == WEFT_OK)
        status = read_patterns(s, *out);
    if (status == WEFT_OK && s->type == WEFT_JSON_BPE)
        status = weft_json_merges_read(s, *out);
    if (status == WEFT_OK)
        status = weft_json_specials_read(s, *out);
    return status == WEFT_OK ? weft_json_template_read(s, *out) : status;
}

weft_status weft_tokenizer_from_json(weft_engine *engine, const char *json, size_t json_bytes,
                                     const weft_metadata *metadata, const char *pre, int64_t n_rows,
                                     weft_tokenizer **out) {
    weft_json_source s = {.metadata = metadata, .pre = pre, .n_rows = n_rows};
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
