/* pre_tokenizer and decoder of a tokenizer.json. Whatever is not known here is refused
 * by its name: a step left out would give wrong ids without a word. */
#include <string.h>
#include "text/from_json.h"

#define SPACE_MARK "\xe2\x96\x81"
/* What \w is in the Unicode Technical Standard 18, annex C; PCRE2's own is narrower. */
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"

const char *weft_component_type(const weft_json *component) {
    size_t n;
    const weft_json *type = weft_json_get(component, "type");
    const char *text = type ? weft_json_string(type, &n) : NULL;
    return text && strlen(text) == n ? text : "";
}

bool weft_json_is(const weft_json *object, const char *name, const char *text) {
    size_t n;
    const weft_json *v = weft_json_get(object, name);
    const char *s = v ? weft_json_string(v, &n) : NULL;
    return s && n == strlen(text) && memcmp(s, text, n) == 0;
}

weft_status weft_json_unknown(const char *what, const weft_json *component) {
    return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: %s \"%s\" is not supported", what,
                     weft_component_type(component));
}

bool weft_json_absent(const weft_json *v) {
    return !v || weft_json_type_of(v) == WEFT_JSON_NULL;
}

weft_status weft_json_flag(const weft_json *object, const char *name, bool if_absent, bool *out) {
    const weft_json *v = weft_json_get(object, name);
    *out = weft_json_absent(v) ? if_absent : weft_json_bool(v);
    if (weft_json_absent(v) || weft_json_type_of(v) == WEFT_JSON_BOOL)
        return WEFT_OK;
    return weft_fail(WEFT_E_FORMAT, "tokenizer.json: %s: true or false is expected", name);
}

/* The steps of a component: itself, or those of a Sequence (one level). */
weft_status weft_json_steps(const char *what, const char *list, const weft_json *component,
                            const weft_json **steps, size_t *n) {
    *n = 0;
    if (weft_json_absent(component))
        return WEFT_OK;
    if (weft_json_type_of(component) != WEFT_JSON_OBJECT)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: %s is no object", what);
    if (strcmp(weft_component_type(component), "Sequence") != 0) {
        steps[(*n)++] = component;
        return WEFT_OK;
    }
    const weft_json *items = weft_json_get(component, list);
    if (!items || weft_json_type_of(items) != WEFT_JSON_ARRAY)
        return weft_fail(WEFT_E_FORMAT, "tokenizer.json: %s: a Sequence without %s", what, list);
    if (weft_json_length(items) > WEFT_JSON_STEPS)
        return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: %s: more than %d steps", what,
                         WEFT_JSON_STEPS);
    for (size_t i = 0; i < weft_json_length(items); i++) {
        steps[*n] = weft_json_item(items, i);
        if (weft_json_absent(steps[*n]) || weft_json_type_of(steps[*n]) != WEFT_JSON_OBJECT)
            return weft_fail(WEFT_E_FORMAT, "tokenizer.json: %s: step %zu is no object", what, i);
        ++*n;
    }
    return WEFT_OK;
}

static weft_status add_pattern(const weft_allocator *a, weft_pretok *pre, const char *pattern) {
    return weft_pretok_add(a, pre, pattern, strlen(pattern), WEFT_SPLIT_ISOLATED, false);
}

/* What the pattern matches, or what it does not match, is no part of any piece. */
static weft_status add_removed(const weft_allocator *a, weft_pretok *pre, const char *pattern,
                               bool inverted) {
    return weft_pretok_add(a, pre, pattern, strlen(pattern), WEFT_SPLIT_REMOVED, inverted);
}

static weft_status read_behavior(const char *what, const weft_json *step, const char *if_absent,
                                 weft_pretok_split *split) {
    static const struct {
        const char *name;
        weft_pretok_split split;
    } table[] = {{"Isolated", WEFT_SPLIT_ISOLATED},
                 {"Removed", WEFT_SPLIT_REMOVED},
                 {"MergedWithPrevious", WEFT_SPLIT_WITH_PREVIOUS},
                 {"MergedWithNext", WEFT_SPLIT_WITH_NEXT},
                 {"Contiguous", WEFT_SPLIT_CONTIGUOUS}};
    const char *name = if_absent;
    size_t n;
    const weft_json *v = weft_json_get(step, "behavior");
    if (v && weft_json_type_of(v) == WEFT_JSON_STRING)
        name = weft_json_string(v, &n);
    for (size_t i = 0; name && i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0) {
            *split = table[i].split;
            return WEFT_OK;
        }
    return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: %s: behavior \"%.40s\"", what,
                     name ? name : "");
}

/* A string as a pattern. */
static weft_status add_literal(const weft_allocator *a, weft_pretok *pre, const char *text,
                               size_t n, weft_pretok_split split, bool inverted) {
    size_t room = weft_size_of(n, 2), at = 0;
    char *quoted = weft_alloc(a, room);
    if (!quoted)
        return weft_fail(WEFT_E_MEMORY, "tokenizer.json: no memory");
    for (size_t i = 0; i < n; i++) {
        if (strchr("\\^$.[|()?*+{}]-#", text[i]) && text[i])
            quoted[at++] = '\\';
        quoted[at++] = text[i];
    }
    weft_status status = weft_pretok_add(a, pre, quoted, at, split, inverted);
    weft_dealloc(a, quoted, room);
    return status;
}

static weft_status read_split(const weft_allocator *a, const weft_json *step, weft_json_scheme *s,
                              weft_pretok *pre) {
    const weft_json *pattern = weft_json_get(step, "pattern");
    const weft_json *regex = weft_json_get(pattern, "Regex");
    const weft_json *literal = weft_json_get(pattern, "String");
    size_t n = 0;
    const char *text = regex ? weft_json_string(regex, &n) : NULL;
    const char *string = literal ? weft_json_string(literal, &n) : NULL;
    weft_pretok_split split = WEFT_SPLIT_ISOLATED;
    bool inverted;
    /* Spaces are marks by then: nothing is left to split at. */
    if (s->marks_spaces && string && strcmp(string, " ") == 0)
        return WEFT_OK;
    if (!text && !(string && n))
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: pre_tokenizer \"Split\" without a pattern");
    weft_status status = weft_json_flag(step, "invert", false, &inverted);
    if (status == WEFT_OK)
        status = read_behavior("Split", step, NULL, &split);
    if (status != WEFT_OK)
        return status;
    return text ? weft_pretok_add(a, pre, text, n, split, inverted)
                : add_literal(a, pre, string, n, split, inverted);
}

static weft_status read_metaspace(const weft_allocator *a, const weft_json *step,
                                  weft_json_scheme *s, weft_pretok *pre) {
    bool prefix, split;
    weft_status status = weft_json_flag(step, "add_prefix_space", true, &prefix);
    if (status == WEFT_OK)
        status = weft_json_flag(step, "split", true, &split);
    if (status != WEFT_OK)
        return status;
    if (!weft_json_is(step, "replacement", SPACE_MARK))
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: pre_tokenizer \"Metaspace\" with another replacement");
    s->marks_spaces = s->at_once = true;
    if (weft_json_is(step, "prepend_scheme", "first"))
        s->at_start = true;
    else if (weft_json_is(step, "prepend_scheme", "always") ||
             (!weft_json_get(step, "prepend_scheme") && prefix))
        s->at_start = s->at_fragments = true;
    /* Each mark begins a piece, unless split is false. */
    if (split)
        return add_pattern(a, pre, SPACE_MARK "[^" SPACE_MARK "]*|[^" SPACE_MARK "]+");
    return WEFT_OK;
}

static weft_status read_byte_level(const weft_allocator *a, const weft_json *step,
                                   weft_json_scheme *s, weft_pretok *pre) {
    bool prefix, regex;
    weft_status status = weft_json_flag(step, "add_prefix_space", true, &prefix);
    if (status == WEFT_OK)
        status = weft_json_flag(step, "use_regex", true, &regex);
    if (status != WEFT_OK)
        return status;
    s->byte_level = true;
    if (prefix) {
        if (pre->n) /* it would stand in front of every piece */
            return weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: pre_tokenizer \"ByteLevel\" "
                                                 "with add_prefix_space after another step");
        s->at_start = s->at_fragments = true;
    }
    return regex ? add_pattern(a, pre, weft_pretok_gpt2()) : WEFT_OK;
}

/* ASCII's symbols count as punctuation. */
static weft_status read_punctuation(const weft_allocator *a, const weft_json *step,
                                    weft_pretok *pre) {
    static const char pattern[] = "[\\p{P}$+<=>^`|~]";
    weft_pretok_split split = WEFT_SPLIT_ISOLATED;
    weft_status status = read_behavior("Punctuation", step, "Isolated", &split);
    return status ? status : weft_pretok_add(a, pre, pattern, sizeof pattern - 1, split, false);
}

static weft_status read_pre_step(const weft_allocator *a, const weft_json *step,
                                 weft_json_scheme *s, weft_pretok *pre) {
    const char *type = weft_component_type(step);
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(a, step, s, pre);
    if (strcmp(type, "Digits") == 0) {
        bool single;
        weft_status status = weft_json_flag(step, "individual_digits", false, &single);
        return status ? status : add_pattern(a, pre, single ? "\\p{N}" : "\\p{N}+");
    }
    if (strcmp(type, "Punctuation") == 0)
        return read_punctuation(a, step, pre);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return add_removed(a, pre, "\\s+", false);
    if (strcmp(type, "Whitespace") == 0)
        return add_removed(a, pre, "[" WORD "]+|[^" WORD "\\s]+", true);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        s->bert_words = true;
        return WEFT_OK;
    }
    if (strcmp(type, "Split") == 0)
        return read_split(a, step, s, pre);
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(a, step, s, pre);
    return weft_json_unknown("pre_tokenizer", step);
}

static weft_status read_pre_tokenizer(const weft_allocator *a, const weft_json *component,
                                      weft_json_scheme *s, weft_pretok *pre) {
    const weft_json *steps[WEFT_JSON_STEPS];
    size_t n;
    weft_status status = weft_json_steps("pre_tokenizer", "pretokenizers", component, steps, &n);
    for (size_t i = 0; status == WEFT_OK && i < n; i++)
        status = read_pre_step(a, steps[i], s, pre);
    return status;
}

/* Decoders only undo what the other steps did; what they drop at the start is of interest. */
static weft_status read_decoder(const weft_json *component, weft_json_scheme *s) {
    const weft_json *steps[WEFT_JSON_STEPS];
    size_t n;
    weft_status status = weft_json_steps("decoder", "decoders", component, steps, &n);
    for (size_t i = 0; status == WEFT_OK && i < n; i++) {
        const char *type = weft_component_type(steps[i]);
        if (strcmp(type, "Strip") == 0 && weft_json_is(steps[i], "content", " "))
            s->drops_space = weft_json_integer(weft_json_get(steps[i], "start")) == 1;
        else if (strcmp(type, "Metaspace") == 0)
            s->drops_space = s->at_start;
        else if (strcmp(type, "Replace") == 0 && weft_json_is(steps[i], "content", " ") &&
                 weft_json_is(weft_json_get(steps[i], "pattern"), "String", SPACE_MARK))
            continue;
        else if (strcmp(type, "WordPiece") == 0)
            s->drops_space = true;
        else if (strcmp(type, "ByteLevel") != 0 && strcmp(type, "ByteFallback") != 0 &&
                 strcmp(type, "Fuse") != 0)
            status = weft_json_unknown("decoder", steps[i]);
    }
    return status;
}

weft_status weft_json_scheme_read(const weft_allocator *a, const weft_json *root,
                                  weft_json_scheme *s, weft_normalizer *chain, weft_pretok *pre) {
    memset(s, 0, sizeof *s);
    weft_status status = weft_json_normalizer_read(a, weft_json_get(root, "normalizer"), s, chain);
    if (status == WEFT_OK)
        status = read_pre_tokenizer(a, weft_json_get(root, "pre_tokenizer"), s, pre);
    if (status == WEFT_OK)
        status = read_decoder(weft_json_get(root, "decoder"), s);
    if (status == WEFT_OK && s->byte_level && s->marks_spaces)
        status = weft_fail(WEFT_E_UNSUPPORTED,
                           "tokenizer.json: ByteLevel together with marks for spaces");
    return status;
}
