/* See normalizer.h. Each step reads one buffer and appends to the other. */
#include "text/normalizer.h"

#include <string.h>
#include <utf8proc.h>
#include "text/charsmap.h"
#include "text/normalize.h"
#include "text/utf8.h"

/* ---- Building ---- */

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "normaliser: no memory");
}

weft_status weft_normalizer_add(const weft_allocator *a, weft_normalizer *chain,
                                weft_normalizer_kind kind, weft_normalizer_step **step) {
    if (chain->n == WEFT_NORMALIZER_STEPS)
        return weft_fail(WEFT_E_UNSUPPORTED, "normaliser: more than %d steps",
                         WEFT_NORMALIZER_STEPS);
    if (!chain->steps)
        chain->steps = weft_alloc_zeroed(a, WEFT_NORMALIZER_STEPS * sizeof *chain->steps);
    if (!chain->steps)
        return no_memory();
    weft_normalizer_step *added = &chain->steps[chain->n++];
    added->kind = kind;
    added->from.a = added->to.a = a;
    if (step)
        *step = added;
    return WEFT_OK;
}

weft_status weft_normalizer_set_texts(const weft_allocator *a, weft_normalizer_step *step,
                                      const char *from, size_t from_bytes, const char *to,
                                      size_t to_bytes) {
    (void)a;
    return weft_bytes_add(&step->from, from, from_bytes) && weft_bytes_add(&step->to, to, to_bytes)
               ? WEFT_OK
               : no_memory();
}

void weft_normalizer_free(const weft_allocator *a, weft_normalizer *chain) {
    for (size_t i = 0; i < chain->n; i++) {
        weft_normalizer_step *step = &chain->steps[i];
        weft_bytes_free(&step->from);
        weft_bytes_free(&step->to);
        weft_pretok_free(&step->pattern);
        weft_charsmap_close(a, &step->map);
    }
    weft_dealloc(a, chain->steps, WEFT_NORMALIZER_STEPS * sizeof *chain->steps);
    *chain = (weft_normalizer){0};
}

/* ---- Character by character ---- */

static utf8proc_category_t category(uint32_t c) {
    return utf8proc_category((utf8proc_int32_t)c);
}

static bool put(weft_bytes *out, uint32_t c) {
    unsigned char bytes[4];
    return weft_bytes_add(out, bytes, weft_utf8_encode(c, bytes));
}

/* Of the full mappings that are not one to one, only U+0130 has two characters. */
static bool put_lower(weft_bytes *out, uint32_t c) {
    if (c == 0x130)
        return put(out, 'i') && put(out, 0x307);
    return put(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
}

/* The ranges of BERT's own tokeniser (Devlin et al. 2019, tokenization.py), as published. */
static bool is_han(uint32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static bool put_clean(weft_bytes *out, uint32_t c) {
    if (weft_is_space(c) && !(c >= 0x0b && c <= 0x0c) && c != 0x85)
        return put(out, ' ');
    switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
        return true;
    default:
        return c == 0xfffd || put(out, c);
    }
}

/* SentencePiece's nmt_nfkc: control characters go, spaces of all kinds are U+0020. */
static bool put_nmt(weft_bytes *out, uint32_t c) {
    if ((c >= 1 && c <= 8) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f ||
        c == 0x9f)
        return true;
    bool space = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 ||
                 (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                 c == 0xfeff || c == 0xfffd;
    return put(out, space ? ' ' : c);
}

static bool put_char(const weft_normalizer_step *step, weft_bytes *out, uint32_t c) {
    switch (step->kind) {
    case WEFT_NORM_LOWERCASE:
        return put_lower(out, c);
    case WEFT_NORM_STRIP_ACCENTS:
        return category(c) == UTF8PROC_CATEGORY_MN || put(out, c);
    case WEFT_NORM_BERT_CLEAN:
        return put_clean(out, c);
    case WEFT_NORM_BERT_HAN:
        return is_han(c) ? put(out, ' ') && put(out, c) && put(out, ' ') : put(out, c);
    default:
        return put_nmt(out, c);
    }
}

static weft_status each_char(const weft_normalizer_step *step, const unsigned char *text, size_t n,
                             weft_bytes *out) {
    for (size_t at = 0; at < n;) {
        size_t length = weft_utf8_length(text + at, n - at);
        bool fits = length ? put_char(step, out, weft_utf8_decode(text + at, length))
                           : weft_bytes_add(out, text + at, 1);
        if (!fits)
            return no_memory();
        at += length ? length : 1;
    }
    return WEFT_OK;
}

/* ---- Strings ---- */

static weft_status strip(const weft_normalizer_step *step, const unsigned char *text, size_t n,
                         weft_bytes *out) {
    size_t begin = 0, end = n;
    while (step->left && begin < end) {
        size_t length = weft_utf8_length(text + begin, end - begin);
        if (!length || !weft_is_space(weft_utf8_decode(text + begin, length)))
            break;
        begin += length;
    }
    while (step->right && end > begin) {
        size_t at = end - 1;
        while (at > begin && end - at < 4 && (text[at] & 0xc0) == 0x80)
            at--;
        size_t length = weft_utf8_length(text + at, end - at);
        if (length != end - at || !weft_is_space(weft_utf8_decode(text + at, length)))
            break;
        end = at;
    }
    return weft_bytes_add(out, text + begin, end - begin) ? WEFT_OK : no_memory();
}

static weft_status squeeze(const unsigned char *text, size_t n, weft_bytes *out) {
    if (!weft_bytes_reserve(out, n))
        return no_memory();
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' || i == 0 || text[i - 1] != ' ')
            out->data[out->n++] = text[i];
    return WEFT_OK;
}

static weft_status replace_string(const weft_normalizer_step *step, const unsigned char *text,
                                  size_t n, weft_bytes *out) {
    const weft_bytes *from = &step->from;
    bool fits = true;
    for (size_t at = 0; fits && at < n;) {
        const unsigned char *first = memchr(text + at, from->data[0], n - at);
        size_t next = first ? (size_t)(first - text) : n;
        fits = weft_bytes_add(out, text + at, next - at);
        at = next;
        if (!fits || at == n)
            break;
        if (n - at >= from->n && memcmp(text + at, from->data, from->n) == 0) {
            fits = weft_bytes_add(out, step->to.data, step->to.n);
            at += from->n;
        } else {
            fits = weft_bytes_add(out, text + at++, 1);
        }
    }
    return fits ? WEFT_OK : no_memory();
}

static weft_status replace_matches(const weft_normalizer_step *step, const unsigned char *text,
                                   size_t n, weft_cuts *cuts, weft_bytes *out) {
    weft_status status = weft_pretok_cut(&step->pattern, text, n, cuts);
    bool fits = true;
    for (size_t i = 0; status == WEFT_OK && fits && i < cuts->n; i++) {
        const weft_cut *c = &cuts->cuts[i];
        fits = c->matched ? weft_bytes_add(out, step->to.data, step->to.n)
                          : weft_bytes_add(out, text + c->begin, c->end - c->begin);
    }
    return status ? status : fits ? WEFT_OK : no_memory();
}

/* A pattern sees well-formed text only. */
static weft_status replace_pattern(const weft_normalizer_step *step, const unsigned char *text,
                                   size_t n, weft_bytes *out) {
    weft_cuts cuts = {.a = out->a};
    weft_status status = WEFT_OK;
    for (size_t at = 0; status == WEFT_OK && at < n;) {
        size_t valid = weft_utf8_valid(text + at, n - at);
        status = replace_matches(step, text + at, valid, &cuts, out);
        at += valid;
        if (status == WEFT_OK && at < n && !weft_bytes_add(out, text + at++, 1))
            status = no_memory();
    }
    weft_cuts_free(&cuts);
    return status;
}

/* ---- The precompiled map ---- */

/* Bytes of the grapheme cluster at the front. */
static size_t cluster(const unsigned char *text, size_t n) {
    size_t at = weft_utf8_length(text, n);
    utf8proc_int32_t state = 0, last = at ? (utf8proc_int32_t)weft_utf8_decode(text, at) : 0;
    while (at) {
        size_t length = weft_utf8_length(text + at, n - at);
        if (!length)
            break;
        utf8proc_int32_t c = (utf8proc_int32_t)weft_utf8_decode(text + at, length);
        if (utf8proc_grapheme_break_stateful(last, c, &state))
            break;
        last = c;
        at += length;
    }
    return at;
}

#define WHOLE_CLUSTER 6 /* bytes below which Hugging Face looks a whole cluster up */

static weft_status map_chars(const weft_normalizer_step *step, const unsigned char *text, size_t n,
                             weft_bytes *out) {
    bool longest = !step->graphemes, fits = true;
    size_t end = 0; /* of the cluster, which a replacement may stand for as a whole */
    for (size_t at = 0; fits && at < n;) {
        size_t length = weft_utf8_length(text + at, n - at), taken = 0;
        const char *made = NULL;
        if (length == 0) {
            fits = weft_bytes_add(out, text + at++, 1);
            continue;
        }
        if (longest) {
            made = weft_charsmap_find(&step->map, text + at, n - at, true, &taken);
        } else if (at >= end) {
            size_t whole = cluster(text + at, n - at);
            end = at + whole;
            if (whole < WHOLE_CLUSTER &&
                (made = weft_charsmap_find(&step->map, text + at, whole, false, &taken)) != NULL)
                taken = whole;
        }
        if (!made && !longest &&
            (made = weft_charsmap_find(&step->map, text + at, length, false, &taken)) != NULL)
            taken = length;
        fits =
            made ? weft_bytes_add(out, made, strlen(made)) : weft_bytes_add(out, text + at, length);
        at += made ? taken : length;
    }
    return fits ? WEFT_OK : no_memory();
}

/* ---- The chain ---- */

static weft_status run_step(const weft_normalizer_step *step, const unsigned char *text, size_t n,
                            weft_bytes *out) {
    bool fits = true;
    switch (step->kind) {
    case WEFT_NORM_NFC:
    case WEFT_NORM_NFD:
    case WEFT_NORM_NFKC:
    case WEFT_NORM_NFKD:
        fits =
            weft_normalize_unicode((weft_unicode_form)(step->kind - WEFT_NORM_NFC), text, n, out);
        return fits ? WEFT_OK : no_memory();
    case WEFT_NORM_LOWERCASE:
    case WEFT_NORM_STRIP_ACCENTS:
    case WEFT_NORM_NMT:
    case WEFT_NORM_BERT_CLEAN:
    case WEFT_NORM_BERT_HAN:
        return each_char(step, text, n, out);
    case WEFT_NORM_STRIP:
        return strip(step, text, n, out);
    case WEFT_NORM_SQUEEZE:
        return squeeze(text, n, out);
    case WEFT_NORM_REPLACE:
        return step->pattern.n ? replace_pattern(step, text, n, out)
                               : replace_string(step, text, n, out);
    case WEFT_NORM_PREPEND:
        fits = n == 0 ||
               (weft_bytes_add(out, step->to.data, step->to.n) && weft_bytes_add(out, text, n));
        return fits ? WEFT_OK : no_memory();
    case WEFT_NORM_CHARSMAP:
        return map_chars(step, text, n, out);
    }
    return WEFT_OK;
}

weft_status weft_normalizer_run(const weft_normalizer *chain, const unsigned char *text,
                                size_t n_bytes, weft_bytes *out, weft_bytes *spare) {
    weft_status status = WEFT_OK;
    for (size_t i = 0; status == WEFT_OK && i < chain->n; i++) {
        weft_bytes *to = (chain->n - i) % 2 ? out : spare;
        to->n = 0;
        status = run_step(&chain->steps[i], text, n_bytes, to);
        if (status == WEFT_OK && to->n > WEFT_TEXT_MAX)
            status = weft_fail(WEFT_E_OVERFLOW, "tokenize: a normalised text of %zu bytes", to->n);
        text = to->data;
        n_bytes = to->n;
    }
    return status;
}
