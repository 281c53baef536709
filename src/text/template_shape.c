/* Jinja's tokens and their comparison with a shape; see template_shape.h. */
#include "text/template_shape.h"

#include <string.h>

typedef struct scanner {
    const char *s;
    size_t n, at;
    weft_jinja *out;
} scanner;

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}
static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool add(weft_jinja *out, weft_jinja_kind kind, const char *text, size_t n) {
    if (out->n == out->room) {
        size_t room = out->room ? out->room * 2 : 128;
        weft_jinja_token *grown = weft_realloc(out->a, out->tokens, out->room * sizeof *grown,
                                               weft_size_of(room, sizeof *grown));
        if (!grown)
            return false;
        out->tokens = grown;
        out->room = room;
    }
    out->tokens[out->n++] = (weft_jinja_token){kind, out->text.n, n};
    return weft_bytes_add(&out->text, text, n);
}

static bool is_last(const weft_jinja *out, size_t back, weft_jinja_kind kind, const char *text) {
    if (out->n < back)
        return false;
    const weft_jinja_token *t = &out->tokens[out->n - back];
    return t->kind == kind &&
           (!text || (t->n == strlen(text) && memcmp(out->text.data + t->begin, text, t->n) == 0));
}

/* 'a' + 'b' is 'ab': their bytes, with the operator's between, lie at the end of the text. */
static void fold(weft_jinja *out) {
    if (!is_last(out, 3, WEFT_JINJA_STRING, NULL) || !is_last(out, 2, WEFT_JINJA_NAME, "+"))
        return;
    weft_jinja_token *left = &out->tokens[out->n - 3], *right = &out->tokens[out->n - 1];
    unsigned char *end = out->text.data + left->begin + left->n;
    memmove(end, out->text.data + right->begin, right->n);
    left->n += right->n;
    out->text.n = left->begin + left->n;
    out->n -= 2;
}

/* a.b is a['b']. */
static bool add_name(scanner *s) {
    size_t begin = s->at;
    while (s->at < s->n && is_name(s->s[s->at]))
        s->at++;
    weft_jinja *out = s->out;
    if (!is_last(out, 1, WEFT_JINJA_NAME, "."))
        return add(out, WEFT_JINJA_NAME, s->s + begin, s->at - begin);
    out->text.n--;
    out->n--;
    return add(out, WEFT_JINJA_NAME, "[", 1) &&
           add(out, WEFT_JINJA_STRING, s->s + begin, s->at - begin) &&
           add(out, WEFT_JINJA_NAME, "]", 1);
}

static bool add_string(scanner *s) {
    char quote = s->s[s->at++];
    weft_jinja *out = s->out;
    if (!add(out, WEFT_JINJA_STRING, "", 0))
        return false;
    while (s->at < s->n && s->s[s->at] != quote) {
        char c = s->s[s->at++];
        if (c == '\\' && s->at < s->n) {
            c = s->s[s->at++];
            if (c == 'n' || c == 't' || c == 'r')
                c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
            else if (c != '\\' && c != '\'' && c != '"')
                out->bad = true; /* escapes that are not read here */
        }
        if (!weft_bytes_add(&out->text, &c, 1))
            return false;
        out->tokens[out->n - 1].n++;
    }
    if (s->at == s->n)
        out->bad = true;
    s->at++;
    fold(out);
    return true;
}

/* Inside of a tag up to its end. *dash: it ends with a minus. */
static bool scan_tag(scanner *s, const char *close, bool *dash) {
    while (s->at < s->n && !s->out->bad) {
        const char *p = s->s + s->at;
        size_t left = s->n - s->at;
        size_t sign = left > 2 && (p[0] == '-' || p[0] == '+');
        if (left >= 2 + sign && memcmp(p + sign, close, 2) == 0) {
            *dash = sign && p[0] == '-';
            s->at += 2 + sign;
            return add(s->out, WEFT_JINJA_CLOSE, "", 0);
        }
        bool fine = true;
        if (is_blank(*p)) {
            s->at++;
        } else if (*p == '\'' || *p == '"') {
            fine = add_string(s);
        } else if (is_name(*p)) {
            fine = add_name(s);
        } else {
            size_t n = left > 1 && p[1] == '=' && strchr("=!<>", *p) ? 2 : 1;
            fine = add(s->out, WEFT_JINJA_NAME, p, n);
            s->at += n;
        }
        if (!fine)
            return false;
    }
    s->out->bad = true;
    return true;
}

/* Where the next tag begins, or the end. */
static size_t next_tag(const scanner *s) {
    for (size_t i = s->at; i + 1 < s->n; i++)
        if (s->s[i] == '{' && (s->s[i + 1] == '{' || s->s[i + 1] == '%' || s->s[i + 1] == '#'))
            return i;
    return s->n;
}

/* Text [begin, end) before a tag, after one that was `after` ('{', '%', '#', 0) and ended in a
 * minus or not. */
static bool add_text(scanner *s, size_t begin, size_t end, char after, bool dash) {
    if (dash)
        while (begin < end && is_blank(s->s[begin]))
            begin++;
    else if ((after == '%' || after == '#') && begin < end && s->s[begin] == '\n')
        begin++;
    bool tag = end + 2 < s->n;
    if (tag && s->s[end + 2] == '-') {
        while (end > begin && is_blank(s->s[end - 1]))
            end--;
    } else if (tag && s->s[end + 1] != '{' && s->s[end + 2] != '+') {
        size_t line = end;
        while (line > begin && (s->s[line - 1] == ' ' || s->s[line - 1] == '\t'))
            line--;
        if (line == 0 || s->s[line - 1] == '\n')
            end = line;
    }
    return begin == end || add(s->out, WEFT_JINJA_TEXT, s->s + begin, end - begin);
}

static bool scan_one(scanner *s, char *after, bool *dash) {
    size_t begin = s->at, end = next_tag(s);
    if (!add_text(s, begin, end, *after, *dash))
        return false;
    s->at = end;
    if (end == s->n)
        return true;
    char kind = s->s[end + 1];
    s->at += 2;
    if (kind == '#') {
        const char *close = memmem(s->s + s->at, s->n - s->at, "#}", 2);
        if (!close) {
            s->out->bad = true;
            return true;
        }
        s->at = (size_t)(close - s->s) + 2;
        *dash = close[-1] == '-';
        *after = kind;
        return true;
    }
    if (s->at < s->n && (s->s[s->at] == '-' || s->s[s->at] == '+'))
        s->at++;
    *after = kind;
    *dash = false;
    return add(s->out, kind == '{' ? WEFT_JINJA_OUT : WEFT_JINJA_BLOCK, "", 0) &&
           scan_tag(s, kind == '{' ? "}}" : "%}", dash);
}

bool weft_jinja_scan(const weft_allocator *a, const char *source, size_t n_bytes, weft_jinja *out) {
    memset(out, 0, sizeof *out);
    out->a = out->text.a = a;
    if (n_bytes && source[n_bytes - 1] == '\n')
        n_bytes--; /* Jinja drops the last newline */
    scanner s = {source, n_bytes, 0, out};
    char after = 0;
    bool dash = false;
    while (s.at < s.n && !out->bad)
        if (!scan_one(&s, &after, &dash))
            return false;
    return true;
}

void weft_jinja_free(weft_jinja *list) {
    weft_dealloc(list->a, list->tokens, list->room * sizeof *list->tokens);
    weft_bytes_free(&list->text);
}

static bool token_is(const weft_jinja *l, size_t i, weft_jinja_kind kind, const char *text) {
    if (i >= l->n || l->tokens[i].kind != kind)
        return false;
    const weft_jinja_token *t = &l->tokens[i];
    return t->n == strlen(text) && memcmp(l->text.data + t->begin, text, t->n) == 0;
}

/* Past everything up to the block that continues or ends the surrounding if. */
static size_t skip_branch(const weft_jinja *l, size_t i) {
    size_t depth = 0;
    for (; i < l->n; i++) {
        if (l->tokens[i].kind != WEFT_JINJA_BLOCK)
            continue;
        bool ends_if = token_is(l, i + 1, WEFT_JINJA_NAME, "endif");
        if (depth == 0 && (ends_if || token_is(l, i + 1, WEFT_JINJA_NAME, "else") ||
                           token_is(l, i + 1, WEFT_JINJA_NAME, "elif")))
            return i;
        if (token_is(l, i + 1, WEFT_JINJA_NAME, "if") || token_is(l, i + 1, WEFT_JINJA_NAME, "for"))
            depth++;
        else if (depth && (ends_if || token_is(l, i + 1, WEFT_JINJA_NAME, "endfor")))
            depth--;
    }
    return i;
}

bool weft_jinja_match(const weft_jinja *shape, const weft_jinja *list, const char **captured,
                      size_t *n_captured) {
    size_t at = 0;
    *captured = "";
    *n_captured = 0;
    if (list->bad)
        return false;
    for (size_t i = 0; i < shape->n; i++) {
        const weft_jinja_token *want = &shape->tokens[i];
        if (want->kind == WEFT_JINJA_BLOCK && token_is(shape, i + 1, WEFT_JINJA_NAME, "skip")) {
            at = skip_branch(list, at);
            i += 2;
            continue;
        }
        if (at >= list->n || list->tokens[at].kind != want->kind)
            return false;
        const weft_jinja_token *got = &list->tokens[at++];
        const char *text = (const char *)list->text.data + got->begin;
        if (want->kind == WEFT_JINJA_STRING && token_is(shape, i, WEFT_JINJA_STRING, "@")) {
            *captured = text;
            *n_captured = got->n;
        } else if (got->n != want->n ||
                   (got->n && memcmp(text, shape->text.data + want->begin, got->n) != 0)) {
            return false;
        }
    }
    return at == list->n;
}
