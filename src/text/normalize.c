/* Decompose, order marks, compose. utf8proc has the tables; the ordering is done here by a
 * stable counting sort, because swapping neighbours is quadratic in a long run of marks. */
#include "text/normalize.h"

#include <string.h>
#include <utf8proc.h>
#include "text/utf8.h"

typedef struct run {
    utf8proc_int32_t *chars;
    utf8proc_int32_t *sorted; /* scratch */
    size_t n, room, sorted_room;
} run;

static bool is_ascii(const unsigned char *s, size_t n) {
    unsigned char any = 0;
    for (size_t i = 0; i < n; i++)
        any |= s[i];
    return any < 0x80;
}

static unsigned class_of(utf8proc_int32_t c) {
    return (unsigned)utf8proc_get_property(c)->combining_class & 255u;
}

/* Sorts marks [begin, end) by combining class, keeping the order of equals. */
static void sort_marks(run *r, size_t begin, size_t end) {
    size_t at[257] = {0};
    for (size_t i = begin; i < end; i++)
        at[class_of(r->chars[i]) + 1]++;
    for (int k = 0; k < 256; k++)
        at[k + 1] += at[k];
    for (size_t i = begin; i < end; i++)
        r->sorted[at[class_of(r->chars[i])]++] = r->chars[i];
    memcpy(r->chars + begin, r->sorted, (end - begin) * sizeof *r->chars);
}

static void order(run *r) {
    for (size_t i = 0; i < r->n;) {
        if (class_of(r->chars[i]) == 0) {
            i++;
            continue;
        }
        size_t end = i + 1;
        bool ordered = true;
        for (; end < r->n && class_of(r->chars[end]) != 0; end++)
            ordered = ordered && class_of(r->chars[end - 1]) <= class_of(r->chars[end]);
        if (!ordered)
            sort_marks(r, i, end);
        i = end;
    }
}

static bool make_room(const weft_allocator *a, run *r, size_t more) {
    if (more <= r->room - r->n)
        return true;
    size_t room = r->room * 2 + more;
    utf8proc_int32_t *chars =
        weft_realloc(a, r->chars, r->room * sizeof *chars, weft_size_of(room, sizeof *chars));
    if (!chars)
        return false;
    r->chars = chars;
    r->room = room;
    utf8proc_int32_t *sorted = weft_realloc(a, r->sorted, r->sorted_room * sizeof *sorted,
                                            weft_size_of(room, sizeof *sorted));
    if (!sorted)
        return false;
    r->sorted = sorted;
    r->sorted_room = r->room;
    return true;
}

#define LONGEST_DECOMPOSITION 18 /* characters, of U+FDFA */

static bool normalize_valid(weft_unicode_form form, const unsigned char *text, size_t n, run *r,
                            weft_bytes *out) {
    bool compatible = form == WEFT_NFKC || form == WEFT_NFKD;
    utf8proc_option_t options =
        (utf8proc_option_t)(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
    r->n = 0;
    for (size_t at = 0; at < n;) {
        size_t length = weft_utf8_length(text + at, n - at);
        int boundary = 0;
        utf8proc_int32_t c = (utf8proc_int32_t)weft_utf8_decode(text + at, length);
        if (!make_room(out->a, r, LONGEST_DECOMPOSITION))
            return false;
        utf8proc_ssize_t made =
            utf8proc_decompose_char(c, r->chars + r->n, LONGEST_DECOMPOSITION, options, &boundary);
        if (made < 0 || made > LONGEST_DECOMPOSITION)
            return false;
        r->n += (size_t)made;
        at += length;
    }
    order(r);
    utf8proc_ssize_t left = (utf8proc_ssize_t)r->n;
    if (form == WEFT_NFC || form == WEFT_NFKC)
        left = utf8proc_normalize_utf32(r->chars, left, UTF8PROC_COMPOSE);
    if (left < 0 || !weft_bytes_reserve(out, (size_t)left * 4))
        return false;
    for (utf8proc_ssize_t i = 0; i < left; i++)
        out->n += weft_utf8_encode((uint32_t)r->chars[i], out->data + out->n);
    return true;
}

bool weft_normalize_unicode(weft_unicode_form form, const unsigned char *text, size_t n_bytes,
                            weft_bytes *out) {
    if (is_ascii(text, n_bytes))
        return weft_bytes_add(out, text, n_bytes);
    run r = {0};
    bool fine = true;
    for (size_t at = 0; fine && at < n_bytes;) {
        size_t valid = weft_utf8_valid(text + at, n_bytes - at);
        fine = normalize_valid(form, text + at, valid, &r, out);
        at += valid;
        if (fine && at < n_bytes) /* one byte that begins no character */
            fine = weft_bytes_add(out, text + at++, 1);
    }
    weft_dealloc(out->a, r.chars, r.room * sizeof *r.chars);
    weft_dealloc(out->a, r.sorted, r.sorted_room * sizeof *r.sorted);
    return fine;
}
