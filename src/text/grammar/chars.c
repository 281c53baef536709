/* Characters as bytes: ranges of code points as UTF-8, and as JSON spells them inside a string. */
#include "text/grammar/nfa.h"

/* One alternative more. */
static void add_choice(weft_nfa *n, weft_frag *all, bool *any, weft_frag one) {
    *all = *any ? weft_frag_or(n, *all, one) : one;
    *any = true;
}

static void mark_character(weft_nfa *n, weft_frag f) {
    if (!n->status)
        n->states[f.start].flags |= WEFT_NFA_CHARACTER;
}

static size_t encode(uint32_t c, uint8_t out[4]) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    out[0] = (uint8_t)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

/* A range whose encodings have the same length and differ such that every byte may vary by itself:
 * then it is one range for each byte. */
static weft_frag byte_ranges(weft_nfa *n, uint32_t low, uint32_t high) {
    uint8_t first[4], last[4];
    size_t length = encode(low, first);
    encode(high, last);
    weft_frag whole = weft_frag_bytes(n, first[0], last[0]);
    mark_character(n, whole);
    for (size_t i = 1; i < length; i++)
        whole = weft_frag_then(n, whole, weft_frag_bytes(n, first[i], last[i]));
    return whole;
}

/* The largest end of a range from `low` on, at most `high`, that byte_ranges can express. */
static uint32_t simple_end(uint32_t low, uint32_t high) {
    static const uint32_t lengths[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};
    for (size_t i = 0; i < 4; i++)
        if (low <= lengths[i]) {
            high = high < lengths[i] ? high : lengths[i];
            break;
        }
    if (low < 0x80)
        return high;
    /* Continuation bytes from the last on must be all of 80 … BF, below the one that varies. */
    for (uint32_t bits = 6; bits <= 18; bits += 6) {
        uint32_t below = (UINT32_C(1) << bits) - 1;
        if ((low & ~below) == (high & ~below))
            return high;
        if (low & below)
            return low | below;
        if ((high & below) != below)
            high = (high & ~below) - 1;
    }
    return high;
}

static void add_utf8(weft_nfa *n, weft_frag *all, bool *any, uint32_t low, uint32_t high) {
    while (low <= high && !n->status) {
        uint32_t end = simple_end(low, high);
        add_choice(n, all, any, byte_ranges(n, low, end));
        low = end + 1;
    }
}

/* Surrogates are no characters. */
static void add_range(weft_nfa *n, weft_frag *all, bool *any, uint32_t low, uint32_t high) {
    high = high > 0x10ffff ? 0x10ffff : high;
    if (low < 0xd800)
        add_utf8(n, all, any, low, high < 0xd800 ? high : 0xd7ff);
    if (high > 0xdfff)
        add_utf8(n, all, any, low > 0xdfff ? low : 0xe000, high);
}

/* Control characters, the quote and the backslash, which JSON escapes. */
static void add_escaped(weft_nfa *n, weft_frag *all, bool *any, uint32_t c) {
    static const char named[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\",
                      hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4 & 7], hex[c & 15]};
    size_t length = 6;
    for (size_t i = 0; named[i]; i++)
        if ((uint32_t)named[i] == c) {
            text[1] = letters[i];
            length = 2;
        }
    weft_frag f = weft_frag_bytes(n, '\\', '\\');
    mark_character(n, f);
    add_choice(n, all, any, weft_frag_then(n, f, weft_frag_literal(n, text + 1, length - 1)));
}

static void add_json(weft_nfa *n, weft_frag *all, bool *any, uint32_t low, uint32_t high) {
    for (; low <= high && low < 0x20; low++)
        add_escaped(n, all, any, low);
    static const uint32_t escaped[] = {'"', '\\'};
    for (size_t i = 0; i < 2 && low <= high; i++) {
        if (escaped[i] < low || escaped[i] > high)
            continue;
        if (low < escaped[i])
            add_range(n, all, any, low, escaped[i] - 1);
        add_escaped(n, all, any, escaped[i]);
        low = escaped[i] + 1;
    }
    if (low <= high)
        add_range(n, all, any, low, high);
}

weft_frag weft_frag_chars(weft_nfa *n, const weft_char_range *ranges, size_t n_ranges) {
    weft_frag all = {0, 0};
    bool any = false;
    for (size_t i = 0; i < n_ranges && !n->status; i++)
        (n->json ? add_json : add_range)(n, &all, &any, ranges[i].low, ranges[i].high);
    return any ? all : weft_frag_never(n);
}
