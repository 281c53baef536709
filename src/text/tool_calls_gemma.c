/* Calls as gemma 4 writes them: call:name{key:value,…}, where texts stand between <|"|> marks, and
 * other values as in JSON, but with keys without quotes. */
#include <string.h>
#include "text/tool_calls.h"

#define MARK "<|\"|>"
#define DEPTH_MAX 64

typedef struct reader {
    weft_slice rest;
    weft_bytes *out; /* the JSON that it stands for */
    unsigned depth;
    bool no_memory;
} reader;

static bool put(reader *r, const char *text, size_t n) {
    bool fits = weft_bytes_add(r->out, text, n);
    r->no_memory |= !fits;
    return fits;
}

static bool take(reader *r, const char *text) {
    size_t n = strlen(text);
    if (!weft_slice_begins(r->rest, text))
        return false;
    r->rest = (weft_slice){r->rest.text + n, r->rest.n - n};
    return true;
}

/* Text up to one of the bytes of `ends`, which is not taken. */
static weft_slice take_word(reader *r, const char *ends) {
    size_t n = 0;
    while (n < r->rest.n && !strchr(ends, r->rest.text[n]))
        n++;
    weft_slice word = {r->rest.text, n};
    r->rest = (weft_slice){r->rest.text + n, r->rest.n - n};
    return weft_slice_trim(word);
}

static bool put_string(reader *r, weft_slice s) {
    bool fits = weft_json_encode(s.text, s.n, r->out);
    r->no_memory |= !fits;
    return fits;
}

static bool marked_string(reader *r) {
    size_t end = weft_slice_find(r->rest, MARK, 0);
    if (end == SIZE_MAX)
        return false;
    weft_slice s = {r->rest.text, end};
    r->rest = (weft_slice){r->rest.text + end + strlen(MARK), r->rest.n - end - strlen(MARK)};
    return put_string(r, s);
}

static bool read_value(reader *r);

/* After the opening bracket. */
static bool read_items(reader *r, bool object) {
    const char *close = object ? "}" : "]";
    if (!put(r, object ? "{" : "[", 1))
        return false;
    for (size_t n = 0; !take(r, close); n++) {
        if (n && (!take(r, ",") || !put(r, ", ", 2)))
            return false;
        if (object) {
            bool fits = take(r, MARK) ? marked_string(r) : put_string(r, take_word(r, ":{}[],"));
            if (!fits || !take(r, ":") || !put(r, ": ", 2))
                return false;
        }
        if (!read_value(r))
            return false;
    }
    return put(r, close, 1);
}

static bool read_value(reader *r) {
    if (take(r, MARK))
        return marked_string(r);
    if (weft_slice_begins(r->rest, "{") || weft_slice_begins(r->rest, "[")) {
        bool object = take(r, "{");
        if (!object)
            take(r, "[");
        if (++r->depth > DEPTH_MAX || !read_items(r, object))
            return false;
        r->depth--;
        return true;
    }
    weft_slice word = take_word(r, ",{}[]"), whole;
    size_t at = 0;
    if (word.n && weft_json_take(word.text, word.n, &at, &whole) && at == word.n)
        return put(r, word.text, word.n);
    return word.n && put_string(r, word);
}

bool weft_calls_read_gemma(weft_calls *c, weft_slice body) {
    weft_bytes args = {.a = c->text.a};
    reader r = {.rest = weft_slice_trim(body), .out = &args};
    weft_slice name = {"", 0};
    bool fits = take(&r, "call:");
    if (fits)
        name = take_word(&r, "{");
    fits =
        fits && take(&r, "{") && read_items(&r, true) && r.rest.n == 0 &&
        weft_calls_add(c, name, (weft_slice){(const char *)args.data, args.n}, (weft_slice){"", 0});
    c->no_memory |= r.no_memory;
    weft_bytes_free(&args);
    return fits;
}
