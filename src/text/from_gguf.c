/* Tokenisers from GGUF metadata, keys "tokenizer.ggml.…". Defaults where a key is absent:
 * pre: "default" (GPT-2's pattern); token_type: normal; scores: the earlier token merges first;
 * bos, eos, unknown: 1, 2, 0 for the SentencePiece family where those tokens are special, else
 * none; add_bos_token: true for the SentencePiece family and where the pre-tokeniser's family does;
 * add_eos_token: false; add_space_prefix: true for "llama", else false. */
#include <math.h>
#include <string.h>
#include "text/charsmap.h"
#include "text/normalizer.h"

#define KEY(name) "tokenizer.ggml." name

typedef struct gguf_source {
    weft_engine *engine;
    const weft_metadata *m;
    const char *pre;
    int64_t n_rows;
    weft_scheme scheme;
} gguf_source;

/* An optional value: absent leaves *out as it is. */
static weft_status optional_bool(const weft_metadata *m, const char *key, bool *out) {
    weft_status status = weft_metadata_bool(m, key, out);
    return status == WEFT_E_NOT_FOUND ? WEFT_OK : status;
}

static weft_status optional_id(const weft_metadata *m, const char *key, int32_t n, int32_t *out) {
    uint32_t v;
    weft_status status = weft_metadata_u32(m, key, &v);
    if (status == WEFT_E_NOT_FOUND)
        return WEFT_OK;
    if (status != WEFT_OK)
        return status;
    if (v >= (uint32_t)n)
        return weft_fail(WEFT_E_FORMAT, "%s: %lu, but there are %d tokens", key, (unsigned long)v,
                         (int)n);
    *out = (int32_t)v;
    return WEFT_OK;
}

static weft_status read_scheme(gguf_source *s) {
    const char *name;
    weft_status status = weft_metadata_string(s->m, KEY("model"), &name);
    if (status == WEFT_E_NOT_FOUND)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.model is missing: no tokenizer");
    if (status != WEFT_OK)
        return status;
    if (strcmp(name, "gpt2") == 0)
        s->scheme = WEFT_SCHEME_BYTES;
    else if (strcmp(name, "llama") == 0)
        s->scheme = WEFT_SCHEME_SCORES;
    else if (strcmp(name, "gemma4") == 0)
        s->scheme = WEFT_SCHEME_CHARS;
    else if (strcmp(name, "t5") == 0)
        s->scheme = WEFT_SCHEME_UNIGRAM;
    else if (strcmp(name, "bert") == 0)
        s->scheme = WEFT_SCHEME_WORDPIECE;
    else
        return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.ggml.model: unknown tokenizer \"%s\"",
                         name);
    return WEFT_OK;
}

/* An array of strings. */
static weft_status find_strings(const weft_metadata *m, const char *key, size_t *index, size_t *n) {
    weft_value v;
    if (!weft_metadata_index(m, key, index) || !weft_metadata_find(m, key, &v))
        return WEFT_E_NOT_FOUND;
    if (v.type != WEFT_VALUE_ARRAY || (v.as.array.n && v.as.array.type != WEFT_VALUE_STRING))
        return weft_fail(WEFT_E_FORMAT, "%s: not an array of strings", key);
    *n = v.as.array.n;
    return WEFT_OK;
}

static weft_status string_item(const weft_metadata *m, const char *key, size_t index, size_t j,
                               const char **text, size_t *n_bytes) {
    weft_value v;
    if (!weft_metadata_item(m, index, j, &v) || v.type != WEFT_VALUE_STRING)
        return weft_fail(WEFT_E_FORMAT, "%s: element %zu is no string", key, j);
    *text = v.as.s.text;
    *n_bytes = v.as.s.n_bytes;
    return WEFT_OK;
}

static weft_status read_types(const gguf_source *s, weft_tokenizer *t) {
    size_t index;
    weft_value v;
    if (!weft_metadata_index(s->m, KEY("token_type"), &index) ||
        !weft_metadata_find(s->m, KEY("token_type"), &v))
        return WEFT_OK;
    if (v.type != WEFT_VALUE_ARRAY || v.as.array.n != (size_t)t->n)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.ggml.token_type: must be an array of %d integers, one a token",
                         (int)t->n);
    for (int32_t i = 0; i < t->n; i++) {
        int64_t type;
        if (!weft_metadata_item(s->m, index, (size_t)i, &v))
            return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.token_type: no element %d", (int)i);
        switch (v.type) {
        case WEFT_VALUE_U8:
        case WEFT_VALUE_U16:
        case WEFT_VALUE_U32:
        case WEFT_VALUE_U64:
            type = v.as.u > 99 ? 99 : (int64_t)v.as.u;
            break;
        case WEFT_VALUE_I8:
        case WEFT_VALUE_I16:
        case WEFT_VALUE_I32:
        case WEFT_VALUE_I64:
            type = v.as.i;
            break;
        default:
            return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.token_type: not of integers");
        }
        if (type < 0 || type > WEFT_TOKEN_BYTE)
            return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.token_type: token %d has type %ld",
                             (int)i, (long)type);
        t->types[i] = type ? (unsigned char)type : WEFT_TOKEN_NORMAL; /* 0: not stated */
    }
    return WEFT_OK;
}

/* A rank that falls as the score rises, in the order of floats; NaN comes last. */
static uint32_t rank_of_score(float score) {
    uint32_t u;
    if (isnan(score))
        return UINT32_MAX;
    score += 0.0f; /* -0 equals 0 */
    memcpy(&u, &score, sizeof u);
    return u >> 31 ? u : ~u & 0x7fffffffu;
}

static weft_status read_scores(const gguf_source *s, weft_tokenizer *t) {
    weft_value_type type;
    const void *data;
    size_t n;
    weft_status status = weft_metadata_array(s->m, KEY("scores"), &type, &data, &n);
    if (status == WEFT_E_NOT_FOUND) {
        for (int32_t i = 0; i < t->n; i++)
            t->ranks[i] = (uint32_t)i;
        return WEFT_OK;
    }
    if (status != WEFT_OK)
        return status;
    if (type != WEFT_VALUE_F32 || n != (size_t)t->n)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.ggml.scores: must be an array of %d float32, one a token",
                         (int)t->n);
    for (int32_t i = 0; i < t->n; i++) {
        float score;
        memcpy(&score, (const char *)data + (size_t)i * sizeof score, sizeof score);
        t->ranks[i] = rank_of_score(score);
        if (s->scheme == WEFT_SCHEME_UNIGRAM && !isfinite(score))
            return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.scores: of token %d is no number",
                             (int)i);
        t->scores[i] = score;
    }
    return WEFT_OK;
}

static weft_status read_tokens(const gguf_source *s, weft_tokenizer **out) {
    size_t index = 0, n = 0;
    weft_status status = find_strings(s->m, KEY("tokens"), &index, &n);
    if (status == WEFT_E_NOT_FOUND)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.tokens is missing");
    if (status != WEFT_OK)
        return status;
    if (n == 0 || n > INT32_MAX / 4)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.tokens: %zu tokens", n);
    if (s->n_rows >= 0 && (uint64_t)s->n_rows != n)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.ggml.tokens: %zu tokens, but the embedding has %lld rows", n,
                         (long long)s->n_rows);
    weft_tokenizer *t = NULL;
    status = weft_tokenizer_new(s->engine, s->scheme, (int32_t)n, s->n_rows, &t);
    if (status != WEFT_OK)
        return status;
    *out = t;
    status = read_types(s, t);
    if (status == WEFT_OK)
        status = read_scores(s, t);
    for (size_t i = 0; status == WEFT_OK && i < n; i++) {
        const char *text = "";
        size_t n_bytes = 0;
        status = string_item(s->m, KEY("tokens"), index, i, &text, &n_bytes);
        if (status == WEFT_OK)
            status = weft_vocab_add(t, (int32_t)i, text, n_bytes);
    }
    return status == WEFT_OK ? weft_vocab_finish(t) : status;
}

/* "left right"; a piece may hold spaces only where the split is still clear: the first space after
 * the first byte parts them. */
static weft_status read_merges(const gguf_source *s, weft_tokenizer *t) {
    size_t index = 0, n = 0;
    if (s->scheme != WEFT_SCHEME_BYTES && s->scheme != WEFT_SCHEME_CHARS)
        return WEFT_OK;
    weft_status status = find_strings(s->m, KEY("merges"), &index, &n);
    if (status == WEFT_E_NOT_FOUND)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.ggml.merges is missing");
    if (status == WEFT_OK)
        status = weft_merges_reserve(t, n);
    for (size_t i = 0; status == WEFT_OK && i < n; i++) {
        const char *text = "";
        size_t n_bytes = 0;
        status = string_item(s->m, KEY("merges"), index, i, &text, &n_bytes);
        if (status != WEFT_OK)
            break;
        const char *space = n_bytes > 1 ? memchr(text + 1, ' ', n_bytes - 1) : NULL;
        if (!space || space + 1 == text + n_bytes)
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer.ggml.merges: merge %zu \"%.*s\" is not two pieces with a "
                             "space between",
                             i, (int)(n_bytes < 60 ? n_bytes : 60), text);
        size_t left = (size_t)(space - text);
        status = weft_merges_add(t, (uint32_t)i, text, left, space + 1, n_bytes - left - 1);
    }
    return status;
}

/* The usual ids of a family, or WordPiece's usual spellings, where the file names none: taken only
 * if the token there is special. */
static int32_t usual_id(const weft_tokenizer *t, int32_t scores, int32_t unigram,
                        const char *words) {
    int32_t id = t->scheme == WEFT_SCHEME_SCORES    ? scores
                 : t->scheme == WEFT_SCHEME_UNIGRAM ? unigram
                                                    : -1;
    if (t->scheme == WEFT_SCHEME_WORDPIECE)
        id = weft_vocab_find(t, words, strlen(words));
    return id >= 0 && id < t->n && weft_token_is_special(t, id) ? id : -1;
}

static weft_status read_specials(const gguf_source *s, weft_tokenizer *t) {
    static const char *const ends[] = {KEY("eot_token_id"), KEY("eom_token_id")};
    t->bos = usual_id(t, 1, -1, "[CLS]");
    t->eos = usual_id(t, 2, 1, "[SEP]");
    t->unk = usual_id(t, 0, 2, "[UNK]");
    bool words = t->scheme == WEFT_SCHEME_WORDPIECE;
    weft_status status =
        optional_id(s->m, words ? KEY("cls_token_id") : KEY("bos_token_id"), t->n, &t->bos);
    if (status == WEFT_OK) /* the key is spelled so */
        status = optional_id(s->m, words ? KEY("seperator_token_id") : KEY("eos_token_id"), t->n,
                             &t->eos);
    if (status == WEFT_OK)
        status = optional_id(s->m, KEY("unknown_token_id"), t->n, &t->unk);
    for (size_t i = 0; status == WEFT_OK && i < sizeof ends / sizeof ends[0]; i++) {
        int32_t id = -1;
        status = optional_id(s->m, ends[i], t->n, &id);
        if (id >= 0)
            t->eog[id] = true;
    }
    /* Byte-level text has no unknown pieces: a byte without a token is an error, not this id. */
    if (t->scheme == WEFT_SCHEME_BYTES)
        t->unk = -1;
    if (status == WEFT_OK)
        status = optional_bool(s->m, KEY("add_bos_token"), &t->adds_bos);
    if (status == WEFT_OK)
        status = optional_bool(s->m, KEY("add_eos_token"), &t->adds_eos);
    return status;
}

/* SentencePiece's own normaliser: a map of characters, and spaces that run together. */
static weft_status read_charsmap(const gguf_source *s, weft_tokenizer *t) {
    const char *key = KEY("precompiled_charsmap");
    weft_value_type type;
    const void *data;
    size_t n;
    weft_normalizer_step *step = NULL;
    weft_status status = weft_metadata_array(s->m, key, &type, &data, &n);
    if (status == WEFT_E_NOT_FOUND || (status == WEFT_OK && n == 0))
        return WEFT_OK;
    if (status != WEFT_OK)
        return status;
    if (type != WEFT_VALUE_U8 && type != WEFT_VALUE_I8)
        return weft_fail(WEFT_E_FORMAT, "%s: not an array of bytes", key);
    status = weft_normalizer_add(&t->a, &t->normalizer, WEFT_NORM_CHARSMAP, &step);
    return status ? status : weft_charsmap_open(&t->a, data, n, &step->map);
}

static weft_status read_spaces(const gguf_source *s, weft_tokenizer *t) {
    bool squeeze = false;
    weft_normalizer_step *strip = NULL;
    if (t->scheme == WEFT_SCHEME_BYTES || t->scheme == WEFT_SCHEME_WORDPIECE)
        return WEFT_OK;
    t->marks_spaces = true;
    t->space_at_start = t->scheme != WEFT_SCHEME_CHARS;
    weft_status status = optional_bool(s->m, KEY("add_space_prefix"), &t->space_at_start);
    if (status == WEFT_OK)
        status = optional_bool(s->m, KEY("remove_extra_whitespaces"), &squeeze);
    if (status == WEFT_OK)
        status = read_charsmap(s, t);
    if (status == WEFT_OK && squeeze)
        status = weft_normalizer_add(&t->a, &t->normalizer, WEFT_NORM_SQUEEZE, NULL);
    if (status == WEFT_OK && squeeze)
        status = weft_normalizer_add(&t->a, &t->normalizer, WEFT_NORM_STRIP, &strip);
    if (strip)
        strip->left = strip->right = true;
    t->drops_space = t->space_at_start;
    /* SentencePiece's unigrams know no added tokens: what is behind one is a text of its own. */
    t->space_at_fragments = t->scheme == WEFT_SCHEME_UNIGRAM && t->space_at_start;
    return status;
}

/* GGUF does not say whether a BERT distinguishes case: its vocabulary does. */
static bool has_capitals(const weft_tokenizer *t) {
    for (int32_t id = 0; id < t->n; id++) {
        size_t n;
        const char *key = weft_strings_get(&t->keys, id, &n);
        for (size_t i = 0; t->types[id] == WEFT_TOKEN_NORMAL && i < n; i++)
            if (key[i] >= 'A' && key[i] <= 'Z')
                return true;
    }
    return false;
}

static weft_status read_words(weft_tokenizer *t) {
    static const weft_normalizer_kind kinds[] = {WEFT_NORM_BERT_CLEAN, WEFT_NORM_BERT_HAN,
                                                 WEFT_NORM_NFD, WEFT_NORM_STRIP_ACCENTS,
                                                 WEFT_NORM_LOWERCASE};
    size_t n = has_capitals(t) ? 2 : sizeof kinds / sizeof kinds[0];
    weft_status status = WEFT_OK;
    t->drops_space = t->adds_bos = t->adds_eos = true;
    for (size_t i = 0; status == WEFT_OK && i < n; i++)
        status = weft_normalizer_add(&t->a, &t->normalizer, kinds[i], NULL);
    return status;
}

static weft_status read_pre(const gguf_source *s, weft_tokenizer *t) {
    const char *name = "default";
    weft_pretok_kind kind = {0};
    if (t->scheme == WEFT_SCHEME_WORDPIECE)
        return read_words(t);
    if (t->scheme != WEFT_SCHEME_BYTES) {
        t->adds_bos = t->scheme != WEFT_SCHEME_UNIGRAM;
        t->adds_eos = t->scheme == WEFT_SCHEME_UNIGRAM;
        t->fuse_unk = true;
        return WEFT_OK;
    }
    weft_status status = weft_metadata_string(s->m, KEY("pre"), &name);
    if (status != WEFT_OK && status != WEFT_E_NOT_FOUND)
        return status;
    status = weft_pretok_by_name(&t->a, s->pre ? s->pre : name, &t->pre, &kind);
    t->ignore_merges = kind.ignore_merges;
    t->adds_bos = kind.adds_bos;
    if (status == WEFT_OK && kind.nfc)
        status = weft_normalizer_add(&t->a, &t->normalizer, WEFT_NORM_NFC, NULL);
    return status;
}

static weft_status read_template(const gguf_source *s, weft_tokenizer *t) {
    weft_value v;
    if (!weft_metadata_find(s->m, "tokenizer.chat_template", &v))
        return WEFT_OK;
    /* A template that is no plain text must not keep the model from loading: it is not offered. */
    if (v.type != WEFT_VALUE_STRING || memchr(v.as.s.text, 0, v.as.s.n_bytes))
        return WEFT_OK;
    return weft_tokenizer_set_template(t, v.as.s.text, v.as.s.n_bytes);
}

weft_status weft_tokenizer_from_gguf(weft_engine *engine, const weft_metadata *metadata,
                                     const char *pre, int64_t n_rows, weft_tokenizer **out) {
    gguf_source s = {engine, metadata, pre, n_rows, WEFT_SCHEME_BYTES};
    weft_tokenizer *t = NULL;
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status == WEFT_OK)
        status = read_scheme(&s);
    if (status == WEFT_OK)
        status = read_tokens(&s, &t);
    if (status == WEFT_OK)
        status = read_pre(&s, t);
    if (status == WEFT_OK)
        status = read_merges(&s, t);
    if (status == WEFT_OK)
        status = read_specials(&s, t);
    if (status == WEFT_OK)
        status = read_spaces(&s, t);
    if (status == WEFT_OK)
        status = read_template(&s, t);
    if (status == WEFT_OK) {
        weft_vocab_mark_eog(t);
        *out = t;
    } else if (t) {
        weft_tokenizer_destroy(t);
    }
    return status;
}
