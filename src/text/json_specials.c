/* BOS, EOS, unknown and the chat template of a tokenizer.json and the configurations beside it. */
#include <string.h>
#include "text/from_json.h"

/* "tokenizer_config.NAME", a string or an object with "content". */
static weft_status configured(const weft_json_source *s, const weft_tokenizer *t, const char *key,
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
static weft_status id_of(const weft_json_source *s, const weft_tokenizer *t, const char *key,
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
static weft_status numbered(const weft_json_source *s, weft_tokenizer *t, const char *key,
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
static weft_status read_named(const weft_json_source *s, weft_tokenizer *t) {
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
static weft_status configured_flag(const weft_json_source *s, const char *key, bool *out) {
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
    size_t n = weft_json_has_type(single, WEFT_JSON_ARRAY) ? weft_json_length(single) : 0;
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

/* "cls": ["[CLS]", 101] */
static bool pair_id(const weft_tokenizer *t, const weft_json *step, const char *name, int32_t *id) {
    size_t n = 0;
    const weft_json *first = weft_json_item(weft_json_get(step, name), 0);
    const char *text = first ? weft_json_string(first, &n) : NULL;
    *id = text ? weft_vocab_find(t, text, n) : -1;
    return *id >= 0;
}

static weft_status read_post_processor(const weft_json_source *s, weft_tokenizer *t,
                                       bool *decided) {
    const weft_json *post = weft_json_get(s->root, "post_processor");
    *decided = false;
    if (!post || weft_json_has_type(post, WEFT_JSON_NULL))
        return WEFT_OK;
    bool sequence = strcmp(weft_component_type(post), "Sequence") == 0;
    const weft_json *list = sequence ? weft_json_get(post, "processors") : NULL;
    if (sequence && !weft_json_has_type(list, WEFT_JSON_ARRAY))
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
        } else if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
            *decided = true;
            if (!pair_id(t, step, "cls", &t->bos) || !pair_id(t, step, "sep", &t->eos))
                return weft_fail(WEFT_E_FORMAT,
                                 "tokenizer.json: post_processor \"%s\" without its "
                                 "tokens",
                                 type);
            t->adds_bos = t->adds_eos = true;
        } else if (strcmp(type, "ByteLevel") != 0) {
            return weft_json_unknown("post_processor", step);
        }
    }
    return WEFT_OK;
}

weft_status weft_json_specials_read(const weft_json_source *s, weft_tokenizer *t) {
    bool decided;
    const weft_json *unk = weft_json_get(s->model, "unk_token");
    size_t n = 0;
    const char *text = unk ? weft_json_string(unk, &n) : NULL;
    t->unk = text ? weft_vocab_find(t, text, n) : -1;
    const weft_json *unk_id = weft_json_get(s->model, "unk_id");
    if (s->type == WEFT_JSON_UNIGRAM && weft_json_has_type(unk_id, WEFT_JSON_INTEGER)) {
        int64_t id = weft_json_integer(unk_id);
        if (id < 0 || id >= t->n)
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer.json: model.unk_id: %lld, but there are %d "
                             "pieces",
                             (long long)id, (int)t->n);
        t->unk = (int32_t)id;
    }
    t->fuse_unk = weft_json_true(s->model, "fuse_unk");
    t->ignore_merges = weft_json_true(s->model, "ignore_merges");
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

weft_status weft_json_template_read(const weft_json_source *s, weft_tokenizer *t) {
    const char *text;
    static const char *const keys[] = {"chat_template", "tokenizer_config.chat_template",
                                       "tokenizer_config.chat_template.default"};
    for (size_t i = 0; s->metadata && i < sizeof keys / sizeof keys[0]; i++)
        if (weft_metadata_string(s->metadata, keys[i], &text) == WEFT_OK)
            return weft_tokenizer_set_template(t, text, strlen(text));
    return WEFT_OK;
}
