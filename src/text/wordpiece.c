/* WordPiece (Wu et al. 2016) as BERT uses it: words are cut at spaces and around punctuation, then
 * each from the left into the longest pieces of the vocabulary. A word that cannot be cut whole is
 * one unknown. Keys begin with ▁ where a word does. */
#include <string.h>
#include <utf8proc.h>
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#define MARK "\xe2\x96\x81"
#define LONGEST_WORD 100 /* characters; longer ones are unknown */

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "tokenize: no memory");
}

static bool is_punctuation(uint32_t c) {
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
               (c >= '{' && c <= '~');
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/* The longest piece at `at`; 0 where there is none. */
static size_t longest_piece(const weft_tokenizer *t, const unsigned char *word, size_t n, size_t at,
                            int32_t *id) {
    unsigned char key[4 * LONGEST_WORD + 3];
    size_t lead = at == 0 ? 3 : 0, most = n - at;
    memcpy(key, MARK, 3);
    /* A ▁ of the text is no beginning of a word. */
    if (lead == 0 && most >= 3 && memcmp(word + at, MARK, 3) == 0)
        return 0;
    memcpy(key + lead, word + at, most);
    if (lead + most > t->longest)
        most = t->longest > lead ? t->longest - lead : 0;
    for (size_t length = most; length > 0; length--) {
        if (at + length < n && (word[at + length] & 0xc0) == 0x80)
            continue; /* inside of a character */
        *id = weft_vocab_find(t, key, lead + length);
        if (*id >= 0 && t->types[*id] == WEFT_TOKEN_NORMAL)
            return length;
    }
    return 0;
}

static weft_status cut_word(const weft_tokenizer *t, const unsigned char *word, size_t n,
                            size_t n_chars, weft_ids *out) {
    size_t before = out->n;
    bool whole = n_chars <= LONGEST_WORD;
    for (size_t at = 0; whole && at < n;) {
        int32_t id;
        size_t length = longest_piece(t, word, n, at, &id);
        whole = length > 0;
        at += length;
        if (whole && !weft_ids_add(out, id))
            return no_memory();
    }
    if (whole)
        return WEFT_OK;
    out->n = before;
    if (t->unk < 0)
        return weft_fail(WEFT_E_UNSUPPORTED, "tokenize: the vocabulary has no token for \"%.*s\"",
                         (int)(n < 40 ? n : 40), (const char *)word);
    return weft_ids_add(out, t->unk) ? WEFT_OK : no_memory();
}

weft_status weft_wordpiece_encode(const weft_tokenizer *t, const unsigned char *text,
                                  size_t n_bytes, weft_ids *out) {
    weft_status status = WEFT_OK;
    size_t begin = 0, n_chars = 0; /* the word so far */
    for (size_t at = 0; status == WEFT_OK && at <= n_bytes;) {
        size_t length = at < n_bytes ? weft_utf8_length(text + at, n_bytes - at) : 0;
        uint32_t c = length ? weft_utf8_decode(text + at, length) : 0;
        bool space = at == n_bytes || (length && weft_is_space(c));
        bool alone = length && is_punctuation(c);
        if ((space || alone) && at > begin)
            status = cut_word(t, text + begin, at - begin, n_chars, out);
        length = length ? length : 1;
        if (status == WEFT_OK && alone)
            status = cut_word(t, text + at, length, 1, out);
        at += length;
        n_chars++;
        if (space || alone) {
            begin = at;
            n_chars = 0;
        }
    }
    return status;
}
