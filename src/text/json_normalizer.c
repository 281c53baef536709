/* "normalizer" of a tokenizer.json as a chain of steps. Marks for spaces are no step: the tokeniser
 * writes them last, so that nothing but they may follow them. */
#include <string.h>
#include "text/charsmap.h"
#include "text/from_json.h"

#define SPACE_MARK "\xe2\x96\x81"

typedef struct reader {
    const weft_allocator *a;
    weft_json_scheme *scheme;
    weft_normalizer *chain;
} reader;

static weft_status add(reader *r, weft_normalizer_kind kind) {
    return weft_normalizer_add(r->a, r->chain, kind, NULL);
}

static weft_status read_strip(reader *r, const weft_json *step) {
    weft_normalizer_step *added = NULL;
    weft_status status = weft_normalizer_add(r->a, r->chain, WEFT_NORM_STRIP, &added);
    if (status == WEFT_OK)
        status = weft_json_flag(step, "strip_left", true, &added->left);
    return status ? status : weft_json_flag(step, "strip_right", true, &added->right);
}

static weft_status read_replace(reader *r, const weft_json *step) {
    const weft_json *pattern = weft_json_get(step, "pattern");
    const weft_json *literal = weft_json_get(pattern, "String");
    const weft_json *regex = weft_json_get(pattern, "Regex"), *v = literal ? literal : regex;
    const weft_json *content = weft_json_get(step, "content");
    size_t n_from = 0, n_to = 0;
    const char *from = v ? weft_json_string(v, &n_from) : NULL;
    const char *to = content ? weft_json_string(content, &n_to) : NULL;
    weft_normalizer_step *added = NULL;
    if (!from || !to || n_from == 0)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer.json: normalizer \"Replace\" without pattern or content");
    if (literal && strcmp(from, " ") == 0 && strcmp(to, SPACE_MARK) == 0) {
        r->scheme->marks_spaces = true;
        return WEFT_OK;
    }
    weft_status status = weft_normalizer_add(r->a, r->chain, WEFT_NORM_REPLACE, &added);
    if (status == WEFT_OK)
        status = weft_normalizer_set_texts(r->a, added, from, n_from, to, n_to);
    if (status == WEFT_OK && !literal)
        status = weft_pretok_add(r->a, &added->pattern, from, n_from, WEFT_SPLIT_ISOLATED, false);
    return status;
}

static weft_status read_prepend(reader *r, const weft_json *step) {
    const weft_json *v = weft_json_get(step, "prepend");
    size_t n = 0;
    const char *text = v ? weft_json_string(v, &n) : NULL;
    weft_normalizer_step *added = NULL;
    if (!text)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: normalizer \"Prepend\" without a text");
    if (strcmp(text, SPACE_MARK) == 0) {
        r->scheme->at_start = r->scheme->at_fragments = true;
        return WEFT_OK;
    }
    weft_status status = weft_normalizer_add(r->a, r->chain, WEFT_NORM_PREPEND, &added);
    return status ? status : weft_normalizer_set_texts(r->a, added, "", 0, text, n);
}

static weft_status read_bert(reader *r, const weft_json *step) {
    bool clean, han, lower, accents;
    weft_status status = weft_json_flag(step, "clean_text", true, &clean);
    if (status == WEFT_OK)
        status = weft_json_flag(step, "handle_chinese_chars", true, &han);
    if (status == WEFT_OK)
        status = weft_json_flag(step, "lowercase", true, &lower);
    if (status == WEFT_OK)
        status = weft_json_flag(step, "strip_accents", lower, &accents);
    if (status == WEFT_OK && clean)
        status = add(r, WEFT_NORM_BERT_CLEAN);
    if (status == WEFT_OK && han)
        status = add(r, WEFT_NORM_BERT_HAN);
    if (status == WEFT_OK && accents)
        status = add(r, WEFT_NORM_NFD);
    if (status == WEFT_OK && accents)
        status = add(r, WEFT_NORM_STRIP_ACCENTS);
    return status == WEFT_OK && lower ? add(r, WEFT_NORM_LOWERCASE) : status;
}

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* RFC 4648; false for anything else. `out` has room for n / 4 * 3 bytes. */
static bool base64_decode(const char *text, size_t n, unsigned char *out, size_t *n_out) {
    uint32_t bits = 0;
    size_t n_bits = 0;
    *n_out = 0;
    while (n > 0 && text[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++) {
        int v = base64_value(text[i]);
        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[(*n_out)++] = (unsigned char)(bits >> n_bits & 0xff);
        }
    }
    return true;
}

static weft_status read_precompiled(reader *r, const weft_json *step) {
    const weft_json *v = weft_json_get(step, "precompiled_charsmap");
    size_t n = 0, n_bytes = 0;
    const char *text = v ? weft_json_string(v, &n) : NULL;
    weft_normalizer_step *added = NULL;
    if (weft_json_absent(v) || (text && n == 0))
        return WEFT_OK; /* an identity */
    if (!text)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: precompiled_charsmap is no string");
    unsigned char *bytes = weft_alloc(r->a, n);
    if (!bytes)
        return weft_fail(WEFT_E_MEMORY, "tokenizer.json: no memory");
    weft_status status = WEFT_OK;
    if (!base64_decode(text, n, bytes, &n_bytes))
        status = weft_fail(WEFT_E_FORMAT, "tokenizer.json: precompiled_charsmap is no base64");
    if (status == WEFT_OK)
        status = weft_normalizer_add(r->a, r->chain, WEFT_NORM_CHARSMAP, &added);
    if (status == WEFT_OK) {
        added->graphemes = true;
        status = weft_charsmap_open(r->a, bytes, n_bytes, &added->map);
    }
    weft_dealloc(r->a, bytes, n);
    return status;
}

static weft_status read_step(reader *r, const weft_json *step) {
    static const struct {
        const char *type;
        weft_normalizer_kind kind;
    } plain[] = {{"NFC", WEFT_NORM_NFC},
                 {"NFD", WEFT_NORM_NFD},
                 {"NFKC", WEFT_NORM_NFKC},
                 {"NFKD", WEFT_NORM_NFKD},
                 {"Lowercase", WEFT_NORM_LOWERCASE},
                 {"StripAccents", WEFT_NORM_STRIP_ACCENTS},
                 {"Nmt", WEFT_NORM_NMT}};
    static const struct {
        const char *type;
        weft_status (*read)(reader *r, const weft_json *step);
    } others[] = {{"Strip", read_strip},
                  {"Replace", read_replace},
                  {"Prepend", read_prepend},
                  {"BertNormalizer", read_bert},
                  {"Precompiled", read_precompiled}};
    const char *type = weft_component_type(step);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(plain[i].type, type) == 0)
            return add(r, plain[i].kind);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i].type, type) == 0)
            return others[i].read(r, step);
    return weft_json_unknown("normalizer", step);
}

weft_status weft_json_normalizer_read(const weft_allocator *a, const weft_json *component,
                                      weft_json_scheme *scheme, weft_normalizer *chain) {
    const weft_json *steps[WEFT_JSON_STEPS];
    reader r = {a, scheme, chain};
    size_t n;
    weft_status status = weft_json_steps("normalizer", "normalizers", component, steps, &n);
    bool marked = false;
    for (size_t i = 0; status == WEFT_OK && i < n; i++) {
        size_t before = chain->n;
        status = read_step(&r, steps[i]);
        if (status == WEFT_OK && marked && chain->n > before)
            status = weft_fail(WEFT_E_UNSUPPORTED,
                               "tokenizer.json: normalizer \"%s\" after marks for spaces",
                               weft_component_type(steps[i]));
        marked = scheme->marks_spaces || scheme->at_start;
    }
    if (status == WEFT_OK && scheme->at_start && !scheme->marks_spaces)
        status = weft_fail(WEFT_E_UNSUPPORTED,
                           "tokenizer.json: normalizer \"Prepend\" without \"Replace\"");
    return status;
}
