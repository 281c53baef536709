/* Stop strings over a stream of text pieces. */
#include "engine/stops.h"
#include "base/alloc.h"
#include "base/detail.h"

#include <string.h>

static weft_status stop_init(weft_stop *stop, const weft_allocator *a, const char *text,
                             size_t index) {
    if (!text || !*text)
        return weft_fail(WEFT_E_ARGUMENT, "stop string %zu is empty", index);
    if (((unsigned char)text[0] & 0xC0) == 0x80)
        return weft_fail(WEFT_E_ARGUMENT, "stop string %zu begins within a character", index);
    stop->text = text;
    stop->length = strlen(text);
    stop->fail = weft_alloc_zeroed(a, weft_size_of(stop->length, sizeof *stop->fail));
    if (!stop->fail)
        return weft_fail(WEFT_E_MEMORY, "stop string %zu: out of memory", index);
    for (size_t i = 1, k = 0; i < stop->length; i++) {
        while (k > 0 && text[i] != text[k])
            k = stop->fail[k - 1];
        k += text[i] == text[k];
        stop->fail[i] = k;
    }
    return WEFT_OK;
}

weft_status weft_stops_init(weft_stops *s, const weft_allocator *a, const char *const *strings,
                            size_t n, size_t piece_bytes) {
    memset(s, 0, sizeof *s);
    s->allocator = *a;
    size_t longest = 0;
    if (n > 0) {
        s->list = weft_alloc_zeroed(a, weft_size_of(n, sizeof *s->list));
        if (!s->list)
            return weft_fail(WEFT_E_MEMORY, "stop strings: out of memory");
        s->n = n;
    }
    for (size_t i = 0; i < n; i++) {
        weft_status status = stop_init(&s->list[i], a, strings[i], i);
        if (status) {
            weft_stops_free(s);
            return status;
        }
        longest = s->list[i].length > longest ? s->list[i].length : longest;
    }
    if (!weft_add_size(longest, piece_bytes, &s->room))
        s->room = 0;
    s->held = weft_alloc(a, s->room);
    if (!s->held) {
        weft_stops_free(s);
        return weft_fail(WEFT_E_MEMORY, "stop strings: out of memory");
    }
    return WEFT_OK;
}

void weft_stops_free(weft_stops *s) {
    for (size_t i = 0; i < s->n; i++)
        weft_dealloc(&s->allocator, s->list[i].fail, s->list[i].length * sizeof(size_t));
    weft_dealloc(&s->allocator, s->list, s->n * sizeof *s->list);
    weft_dealloc(&s->allocator, s->held, s->held ? s->room : 0);
    memset(s, 0, sizeof *s);
}

/* Goes on by one byte; true when the string is complete. */
static bool advance(weft_stop *stop, char byte) {
    size_t k = stop->matched;
    while (k > 0 && stop->text[k] != byte)
        k = stop->fail[k - 1];
    stop->matched = k + (stop->text[k] == byte);
    return stop->matched == stop->length;
}

bool weft_stops_push(weft_stops *s, const char *piece, size_t n_bytes, const char **out,
                     size_t *n_out) {
    memmove(s->held, s->held + s->begin, s->n_held);
    s->begin = 0;
    size_t total = s->n_held;
    for (size_t i = 0; i < n_bytes && total < s->room; i++) {
        s->held[total++] = piece[i];
        size_t found = 0; /* of strings that end here, the longest begins first */
        for (size_t j = 0; j < s->n; j++)
            if (advance(&s->list[j], piece[i]) && s->list[j].length > found)
                found = s->list[j].length;
        if (found) {
            *out = s->held;
            *n_out = total - found;
            s->n_held = 0;
            return true;
        }
    }
    size_t keep = 0;
    for (size_t j = 0; j < s->n; j++)
        keep = s->list[j].matched > keep ? s->list[j].matched : keep;
    *out = s->held;
    *n_out = total - keep;
    s->begin = total - keep;
    s->n_held = keep;
    return false;
}

void weft_stops_finish(weft_stops *s, const char **out, size_t *n_out) {
    *out = s->held + s->begin;
    *n_out = s->n_held;
    s->n_held = 0;
}
