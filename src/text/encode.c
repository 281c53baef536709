/* Text to ids: added tokens are cut out, what lies between is normalised, cut into pieces and
 * merged. */
#include <string.h>
#include "text/normalizer.h"
#include "text/piece_cache.h"
#include "text/utf8.h"

#define CACHED_TEXT 512 /* bytes of a text from which a cache of pieces pays */

/* One call of weft_tokenize. */
typedef struct encoder {
    const weft_tokenizer *t;
    weft_merger merger;
    weft_piece_cache cache;
    bool cuts_words;
    weft_cuts cuts;
    weft_bytes text, spare; /* the fragment, normalised */
    weft_bytes marked;      /* … with marks, or a space in front */
    weft_ids out;
} encoder;

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "tokenize: no memory");
}

static weft_status cut_piece(encoder *e, const unsigned char *piece, size_t n_bytes) {
    if (e->t->scheme == WEFT_SCHEME_UNIGRAM)
        return weft_unigram_encode(e->t, piece, n_bytes, &e->out);
    if (e->t->scheme == WEFT_SCHEME_WORDPIECE)
        return weft_wordpiece_encode(e->t, piece, n_bytes, &e->out);
    return weft_merge_piece(&e->merger, piece, n_bytes, &e->out);
}

/* Equal pieces have equal ids. */
static weft_status encode_piece(encoder *e, const unsigned char *piece, size_t n_bytes) {
    weft_piece *slot = weft_piece_cache_slot(&e->cache, e->t, piece, n_bytes);
    if (!slot)
        return cut_piece(e, piece, n_bytes);
    if (weft_piece_holds(slot, piece, n_bytes)) {
        for (size_t i = 0; i < slot->n_ids; i++)
            if (!weft_ids_add(&e->out, slot->ids[i]))
                return no_memory();
        return WEFT_OK;
    }
    size_t before = e->out.n;
    weft_status status = cut_piece(e, piece, n_bytes);
    if (status == WEFT_OK)
        weft_piece_keep(slot, piece, n_bytes, e->out.data + before, e->out.n - before);
    return status;
}

/* Text with marks and no patterns: no token reaches across a mark that none of them joins with the
 * byte in front of it, so that words are pieces. */
static weft_status encode_words(encoder *e, const unsigned char *text, size_t n_bytes) {
    const bool *joins = e->t->joins_mark;
    weft_status status = WEFT_OK;
    size_t begin = 0;
    for (size_t at = 1; status == WEFT_OK && at + 3 <= n_bytes; at++) {
        if (text[at] != 0xe2 || text[at + 1] != 0x96 || text[at + 2] != 0x81 || joins[text[at - 1]])
            continue;
        status = encode_piece(e, text + begin, at - begin);
        begin = at;
    }
    return status ? status : encode_piece(e, text + begin, n_bytes - begin);
}

/* A well-formed stretch of text: cut by the patterns, each piece merged. */
static weft_status encode_cut(encoder *e, const unsigned char *text, size_t n_bytes) {
    if (e->t->pre.n == 0)
        return e->cuts_words ? encode_words(e, text, n_bytes) : encode_piece(e, text, n_bytes);
    weft_status status = weft_pretok_cut(&e->t->pre, text, n_bytes, &e->cuts);
    for (size_t i = 0; status == WEFT_OK && i < e->cuts.n; i++) {
        const weft_cut *c = &e->cuts.cuts[i];
        status = encode_piece(e, text + c->begin, c->end - c->begin);
    }
    return status;
}

/* Patterns see well-formed text only: bytes that are none are pieces of their own. */
static weft_status encode_pieces(encoder *e, const unsigned char *text, size_t n_bytes) {
    weft_status status = WEFT_OK;
    for (size_t at = 0; status == WEFT_OK && at < n_bytes;) {
        size_t valid = weft_utf8_valid(text + at, n_bytes - at);
        if (valid)
            status = encode_cut(e, text + at, valid);
        at += valid;
        size_t begin = at;
        while (at < n_bytes && weft_utf8_length(text + at, n_bytes - at) == 0)
            at++;
        if (status == WEFT_OK && at > begin)
            status = cut_piece(e, text + begin, at - begin);
    }
    return status;
}

/* Where no token mixes newlines with anything else, runs of them end a piece: a shorter heap. */
static weft_status encode_lines(encoder *e, const unsigned char *text, size_t n_bytes) {
    weft_status status = WEFT_OK;
    for (size_t at = 0; status == WEFT_OK && at < n_bytes;) {
        const unsigned char *line = memchr(text + at, '\n', n_bytes - at);
        size_t end = line ? (size_t)(line - text) : n_bytes;
        if (end == at)
            while (end < n_bytes && text[end] == '\n')
                end++;
        status = encode_pieces(e, text + at, end - at);
        at = end;
    }
    return status;
}

/* SentencePiece's spelling: a mark for each space. */
static bool mark_spaces(const unsigned char *text, size_t n_bytes, bool prefix, weft_bytes *out) {
    size_t n = prefix;
    for (size_t i = 0; i < n_bytes; i++)
        n += text[i] == ' ';
    if (!weft_bytes_reserve(out, n_bytes + 2 * n + 3))
        return false;
    unsigned char *to = out->data + out->n;
    if (prefix) {
        memcpy(to, "\xe2\x96\x81", 3);
        to += 3;
    }
    for (size_t i = 0; i < n_bytes; i++) {
        if (text[i] == ' ') {
            memcpy(to, "\xe2\x96\x81", 3);
            to += 3;
        } else {
            *to++ = text[i];
        }
    }
    out->n = (size_t)(to - out->data);
    return true;
}

/* Whether the text brings the space that would be put in front of it. */
static bool has_space(const weft_tokenizer *t, const unsigned char *text, size_t n_bytes) {
    return t->space_once &&
           (text[0] == ' ' || (n_bytes >= 3 && memcmp(text, "\xe2\x96\x81", 3) == 0));
}

/* The text between two added tokens. */
static weft_status encode_fragment(encoder *e, const unsigned char *text, size_t n_bytes,
                                   bool first) {
    const weft_tokenizer *t = e->t;
    bool prefix = first ? t->space_at_start : t->space_at_fragments;
    if (n_bytes && t->normalizer.n) {
        weft_status status =
            weft_normalizer_run(&t->normalizer, text, n_bytes, &e->text, &e->spare);
        if (status != WEFT_OK)
            return status;
        text = e->text.data;
        n_bytes = e->text.n;
    }
    if (n_bytes == 0)
        return WEFT_OK;
    e->marked.n = 0;
    if (t->marks_spaces) {
        if (!mark_spaces(text, n_bytes, prefix && !has_space(t, text, n_bytes), &e->marked))
            return no_memory();
        text = e->marked.data;
        n_bytes = e->marked.n;
        if (t->newlines_alone && t->byte_ids['\n'] >= 0 && t->pre.n == 0 &&
            t->scheme != WEFT_SCHEME_UNIGRAM)
            return encode_lines(e, text, n_bytes);
    } else if (prefix && text[0] != ' ') {
        if (!weft_bytes_add(&e->marked, " ", 1) || !weft_bytes_add(&e->marked, text, n_bytes))
            return no_memory();
        text = e->marked.data;
        n_bytes = e->marked.n;
    }
    return encode_pieces(e, text, n_bytes);
}

/* Whether the character before (or at) `at` is one of a word. */
static bool word_before(const unsigned char *text, size_t at) {
    size_t begin = at;
    while (begin > 0 && at - begin < 4) {
        begin--;
        if ((text[begin] & 0xc0) != 0x80)
            break;
    }
    size_t length = weft_utf8_length(text + begin, at - begin);
    return at > 0 && length == at - begin && weft_is_word(weft_utf8_decode(text + begin, length));
}
static bool word_at(const unsigned char *text, size_t at, size_t n) {
    size_t length = weft_utf8_length(text + at, n - at);
    return length && weft_is_word(weft_utf8_decode(text + at, length));
}

/* Spaces that an added token takes with it: [*begin, *end) grows. */
static void take_spaces(unsigned flags, const unsigned char *text, size_t from, size_t n,
                        size_t *begin, size_t *end) {
    if (flags & WEFT_ADDED_RSTRIP)
        while (*end < n) {
            size_t length = weft_utf8_length(text + *end, n - *end);
            if (!length || !weft_is_space(weft_utf8_decode(text + *end, length)))
                break;
            *end += length;
        }
    if (flags & WEFT_ADDED_LSTRIP)
        while (*begin > from) {
            size_t at = *begin - 1;
            while (at > from && (text[at] & 0xc0) == 0x80)
                at--;
            size_t length = weft_utf8_length(text + at, *begin - at);
            if (length != *begin - at || !weft_is_space(weft_utf8_decode(text + at, length)))
                break;
            *begin = at;
        }
}

static weft_status encode_text(encoder *e, const unsigned char *text, size_t n, bool special) {
    const weft_tokenizer *t = e->t;
    size_t from = 0; /* text before is done */
    for (size_t at = 0; at < n;) {
        size_t length = 0;
        int32_t id =
            t->trie.first[text[at]] ? weft_trie_match(t, text + at, n - at, special, &length) : -1;
        if (id >= 0 && (t->flags[id] & WEFT_ADDED_SINGLE_WORD) &&
            (word_before(text, at) || word_at(text, at + length, n)))
            id = -1;
        if (id < 0) {
            at++;
            continue;
        }
        size_t begin = at, end = at + length;
        take_spaces(t->flags[id], text, from, n, &begin, &end);
        weft_status status = encode_fragment(e, text + from, begin - from, from == 0);
        if (status != WEFT_OK)
            return status;
        /* A text that begins with BOS does not get a second one. */
        bool doubled = id == t->bos && begin == 0 && e->out.n == 1 && e->out.data[0] == id;
        if (!doubled && !weft_ids_add(&e->out, id))
            return no_memory();
        from = at = end;
    }
    return encode_fragment(e, text + from, n - from, from == 0);
}

weft_status weft_tokenize(const weft_tokenizer *t, const char *text, size_t n_bytes,
                          weft_tokenize_options options, int32_t **out, size_t *n_out) {
    if (!t || !out || !n_out || (!text && n_bytes))
        return weft_fail(WEFT_E_NULL, "tokenize: %s is NULL",
                         !t                   ? "tokenizer"
                         : (!text && n_bytes) ? "text"
                                              : "out");
    *out = NULL;
    *n_out = 0;
    weft_status status = weft_engine_alive(t->engine);
    if (status != WEFT_OK)
        return status;
    if (n_bytes > WEFT_TEXT_MAX)
        return weft_fail(WEFT_E_OVERFLOW, "tokenize: a text of %zu bytes; at most %zu", n_bytes,
                         WEFT_TEXT_MAX);
    const weft_allocator *a = &t->a;
    encoder e = {.t = t, .merger.t = t, .cuts.a = a, .out.a = a};
    e.text.a = e.spare.a = e.marked.a = a;
    /* An unknown mark could be one of a run of unknown characters, which are one piece. */
    e.cuts_words = t->marks_spaces && t->scheme != WEFT_SCHEME_UNIGRAM &&
                   weft_vocab_find(t, "\xe2\x96\x81", 3) >= 0;
    if (n_bytes >= CACHED_TEXT)
        weft_piece_cache_open(&e.cache, t);
    if (options.add_special && t->adds_bos && t->bos >= 0 && !weft_ids_add(&e.out, t->bos))
        status = no_memory();
    if (status == WEFT_OK && n_bytes)
        status = encode_text(&e, (const unsigned char *)text, n_bytes, options.parse_special);
    if (status == WEFT_OK && options.add_special && t->adds_eos && t->eos >= 0 &&
        !weft_ids_add(&e.out, t->eos))
        status = no_memory();
    if (status == WEFT_OK && e.out.n) { /* cut to size: it is freed by its length */
        int32_t *ids = weft_alloc(&t->a, e.out.n * sizeof *ids);
        if (ids) {
            memcpy(ids, e.out.data, e.out.n * sizeof *ids);
            *out = ids;
            *n_out = e.out.n;
        } else {
            status = no_memory();
        }
    }
    weft_merger_free(&e.merger);
    weft_piece_cache_close(&e.cache, t);
    weft_cuts_free(&e.cuts);
    weft_bytes_free(&e.text);
    weft_bytes_free(&e.spare);
    weft_bytes_free(&e.marked);
    weft_dealloc(&t->a, e.out.data, e.out.room * sizeof *e.out.data);
    return status;
}

void weft_tokens_free(const weft_tokenizer *t, int32_t *ids, size_t n) {
    if (t && ids)
        weft_dealloc(&t->a, ids, n * sizeof *ids);
}
