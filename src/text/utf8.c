/* UTF-8 and the byte-level alphabet; see utf8.h. */
#include "text/utf8.h"

#include <utf8proc.h>

/* What the second byte may be after `first`; false if `first` begins no longer character. */
static bool second_range(unsigned char first, unsigned char *low, unsigned char *high,
                         size_t *length) {
    *low = 0x80;
    *high = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) {
        *length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        *length = 3;
        if (first == 0xe0)
            *low = 0xa0;
        if (first == 0xed)
            *high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        *length = 4;
        if (first == 0xf0)
            *low = 0x90;
        if (first == 0xf4)
            *high = 0x8f;
    } else {
        return false;
    }
    return true;
}

size_t weft_utf8_length(const unsigned char *s, size_t n) {
    unsigned char low, high;
    size_t length;
    if (n == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (!second_range(s[0], &low, &high, &length) || n < length || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool weft_utf8_is_prefix(const unsigned char *s, size_t n) {
    unsigned char low, high;
    size_t length;
    if (n == 0 || !second_range(s[0], &low, &high, &length) || n >= length)
        return false;
    if (n > 1 && (s[1] < low || s[1] > high))
        return false;
    return n < 3 || (s[2] & 0xc0) == 0x80;
}

uint32_t weft_utf8_decode(const unsigned char *s, size_t length) {
    switch (length) {
    case 1:
        return s[0];
    case 2:
        return ((uint32_t)s[0] & 0x1f) << 6 | (s[1] & 0x3fu);
    case 3:
        return ((uint32_t)s[0] & 0x0f) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    default:
        return ((uint32_t)s[0] & 0x07) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 |
               (s[3] & 0x3fu);
    }
}

size_t weft_utf8_encode(uint32_t c, unsigned char *out) {
    if (c < 0x80) {
        out[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (unsigned char)(0xc0 | c >> 6);
        out[1] = (unsigned char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (unsigned char)(0xe0 | c >> 12);
        out[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (unsigned char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (unsigned char)(0xf0 | c >> 18);
    out[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (unsigned char)(0x80 | (c & 0x3f));
    return 4;
}

size_t weft_utf8_valid(const unsigned char *s, size_t n) {
    size_t at = 0;
    for (;;) {
        size_t length = weft_utf8_length(s + at, n - at);
        if (length == 0)
            return at;
        at += length;
    }
}

bool weft_is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

bool weft_is_word(uint32_t c) {
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return false;
    }
}

/* Printable Latin-1 stands for itself; the other 68 bytes are, in order, U+0100 and following. */
static bool is_printable(uint32_t b) {
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

int weft_byte_of_char(uint32_t c) {
    if (c < 0x100)
        return is_printable(c) ? (int)c : -1;
    if (c <= 0x120)
        return (int)(c - 0x100); /* 00–20 */
    if (c <= 0x142)
        return (int)(c - 0x121 + 0x7f); /* 7F–A0 */
    return c == 0x143 ? 0xad : -1;
}

bool weft_bytelevel_decode(const unsigned char *s, size_t n_bytes, unsigned char *out, size_t *n) {
    *n = 0;
    for (size_t at = 0; at < n_bytes;) {
        size_t length = weft_utf8_length(s + at, n_bytes - at);
        int b = length ? weft_byte_of_char(weft_utf8_decode(s + at, length)) : -1;
        if (b < 0)
            return false;
        out[(*n)++] = (unsigned char)b;
        at += length;
    }
    return true;
}
