/* Sets of characters as lists of ranges. */
#include "text/grammar/charset.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "text/utf8.h"

#include <string.h>

#define LAST_CHARACTER 0x10ffffu

void weft_charset_add(weft_charset *c, weft_nfa *n, uint32_t low, uint32_t high) {
    if (n->status)
        return;
    if (!weft_nfa_grow(&n->a, (void **)&c->ranges, &c->room, c->n + 1, sizeof *c->ranges)) {
        n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return;
    }
    c->ranges[c->n++] = (weft_char_range){low, high};
}

static void sift(weft_char_range *r, size_t at, size_t n) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && r[child].low < r[child + 1].low;
        if (r[at].low >= r[child].low)
            return;
        weft_char_range swap = r[at];
        r[at] = r[child];
        r[child] = swap;
    }
}

void weft_charset_sort(weft_charset *c) {
    for (size_t i = c->n / 2; i-- > 0;)
        sift(c->ranges, i, c->n);
    for (size_t i = c->n; i-- > 1;) {
        weft_char_range swap = c->ranges[0];
        c->ranges[0] = c->ranges[i];
        c->ranges[i] = swap;
        sift(c->ranges, 0, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        weft_char_range r = c->ranges[i];
        if (kept > 0 && r.low <= c->ranges[kept - 1].high + 1) {
            if (r.high > c->ranges[kept - 1].high)
                c->ranges[kept - 1].high = r.high;
        } else {
            c->ranges[kept++] = r;
        }
    }
    c->n = kept;
}

void weft_charset_negate(weft_charset *c, weft_nfa *n, uint32_t last) {
    weft_charset_sort(c);
    weft_charset_add(c, n, LAST_CHARACTER + 1, LAST_CHARACTER + 1); /* room for one more */
    if (n->status)
        return;
    size_t kept = 0;
    uint32_t from = 0;
    for (size_t i = 0; i < c->n && from <= last; i++) {
        weft_char_range r = c->ranges[i];
        if (r.low > from) {
            uint32_t high = r.low - 1 < last ? r.low - 1 : last;
            c->ranges[kept++] = (weft_char_range){from, high};
        }
        from = r.high + 1;
    }
    c->n = kept;
}

void weft_charset_free(weft_charset *c, weft_nfa *n) {
    weft_dealloc(&n->a, c->ranges, c->room * sizeof *c->ranges);
    memset(c, 0, sizeof *c);
}

uint32_t weft_char_decode(const char *text, size_t n_bytes, size_t *n_used) {
    const unsigned char *p = (const unsigned char *)text;
    size_t n = n_bytes ? weft_utf8_length(p, n_bytes) : 0;
    *n_used = n;
    if (n < 2)
        return n ? p[0] : 0;
    uint32_t c = p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

bool weft_char_hex(const char *text, size_t n_bytes, size_t n_digits, uint32_t *out) {
    *out = 0;
    if (n_bytes < n_digits)
        return false;
    for (size_t i = 0; i < n_digits; i++) {
        char c = text[i];
        uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16;
        if (d > 15)
            return false;
        *out = *out << 4 | d;
    }
    return *out <= LAST_CHARACTER;
}
