/* Ids back to text: the bytes of a token, and the streaming detokeniser that holds back the
 * beginning of a UTF-8 character until the rest of it comes. */
#include <string.h>
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

void weft_token_bytes(const weft_tokenizer *t, int32_t id, bool show_special, const char **text,
                      size_t *n_bytes) {
    const char *found = "";
    size_t n = 0;
    if (t && id >= 0 && id < t->n && t->types[id] != WEFT_TOKEN_UNUSED &&
        (show_special || !weft_token_is_special(t, id)))
        found = weft_strings_get(t->scheme == WEFT_SCHEME_BYTES ? &t->keys : &t->plain, id, &n);
    if (text)
        *text = n ? found : "";
    if (n_bytes)
        *n_bytes = n;
}

/* What is written, and how much must still find room after it. */
typedef struct sink {
    char *out;
    size_t n, room;
} sink;

static void put(sink *s, const char *bytes, size_t n) {
    size_t fits = s->room - s->n < n ? s->room - s->n : n;
    if (fits)
        memcpy(s->out + s->n, bytes, fits);
    s->n += fits;
}

/* Bytes that are no character; `rest` bytes come after them, so that U+FFFD may have no room. */
static void put_broken(sink *s, const char *bytes, size_t n, size_t rest, bool replace) {
    if (!replace)
        put(s, bytes, n);
    else if (s->room - s->n >= 3 + rest)
        put(s, "\xef\xbf\xbd", 3);
    else
        put(s, "?", 1);
}

/* Gives out what held[0 … n_held-1] allows now. */
static void settle(weft_detok *d, sink *s, size_t rest, bool replace) {
    const unsigned char *held = (const unsigned char *)d->held;
    for (;;) {
        size_t n = (size_t)d->n_held;
        if (n == 0 || weft_utf8_is_prefix(held, n))
            return;
        size_t length = weft_utf8_length(held, n);
        if (length == 0) {
            /* The longest beginning that could have become a character is one broken unit. */
            length = n - 1;
            while (length > 1 && !weft_utf8_is_prefix(held, length))
                length--;
            if (length == 0)
                length = 1;
            put_broken(s, d->held, length, rest + n - length, replace);
        } else {
            put(s, d->held, length);
        }
        memmove(d->held, d->held + length, n - length);
        d->n_held = (int)(n - length);
    }
}

size_t weft_detok_next(const weft_tokenizer *t, weft_detok *d, int32_t id, bool show_special,
                       bool replace, char *out, size_t room) {
    if (!t || !d)
        return 0;
    const char *text;
    size_t n;
    weft_token_bytes(t, id, show_special, &text, &n);
    /* BOS is in front of a text, not in it: the first space is still to be dropped after it. */
    bool counts = id != t->bos;
    if (!d->started && counts && t->drops_space && n && text[0] == ' ' &&
        !weft_token_is_special(t, id)) {
        text++;
        n--;
    }
    d->started = d->started || counts;
    if (d->n_held < 0 || d->n_held > 4) /* not a state of ours */
        d->n_held = 0;
    sink s = {out, 0, out ? room : 0};
    for (size_t i = 0; i < n; i++) {
        d->held[d->n_held++] = text[i];
        settle(d, &s, n - i - 1, replace);
    }
    return s.n;
}

size_t weft_detok_finish(weft_detok *d, bool replace, char *out, size_t room) {
    if (!d)
        return 0;
    sink s = {out, 0, out ? room : 0};
    if (d->n_held > 0 && d->n_held <= 8)
        put_broken(&s, d->held, (size_t)d->n_held, 0, replace);
    memset(d, 0, sizeof *d);
    return s.n;
}
