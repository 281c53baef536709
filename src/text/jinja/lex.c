/* The lexer: text, tags and their white space as Jinja trims it with trim_blocks and
 * lstrip_blocks (Jinja's documentation, "Whitespace Control"), then names, literals and operators.
 */
#include "text/jinja/lex.h"

#include <string.h>
#include "text/jinja/chars.h"

static void move_to(jinja_lexer *x, size_t at) {
    for (; x->at < at; x->at++)
        if (x->source.text[x->at] == '\n') {
            x->line++;
            x->line_begin = x->at + 1;
        }
}

static bool fail_at(jinja_lexer *x, const char *what) {
    return jinja_set_error(x->error, JINJA_SYNTAX, x->line, (uint32_t)(x->at - x->line_begin) + 1,
                           "%s", what);
}

static bool no_memory(jinja_lexer *x) {
    return x->arena->over_limit ? fail_at(x, "the template is too large")
                                : jinja_set_error(x->error, JINJA_MEMORY, 0, 0, "no memory");
}

static bool add(jinja_lexer *x, jinja_token_kind kind, jinja_string text) {
    if (x->n == x->room) {
        size_t room = x->room ? x->room * 2 : 256;
        jinja_token *more =
            jinja_arena_grow(x->arena, x->tokens, x->n * sizeof *more, room * sizeof *more);
        if (!more)
            return no_memory(x);
        x->tokens = more;
        x->room = room;
    }
    x->tokens[x->n++] = (jinja_token){kind, x->line, (uint32_t)(x->at - x->line_begin) + 1, text};
    return true;
}

static char char_at(const jinja_lexer *x, size_t at) {
    return at < x->source.n ? x->source.text[at] : 0;
}

static bool looking_at(const jinja_lexer *x, size_t at, const char *text) {
    size_t n = strlen(text);
    return x->source.n - at >= n && memcmp(x->source.text + at, text, n) == 0;
}

static size_t skip_space(const jinja_lexer *x, size_t at) {
    while (at < x->source.n && jinja_is_space(jinja_char_at(x->source.text + at)))
        at += jinja_char_bytes(x->source.text[at]);
    return at;
}

/* ---- Names, literals, operators ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           (unsigned char)c >= 0x80;
}

static size_t skip_digits(const jinja_lexer *x, size_t at) {
    while (is_digit(char_at(x, at)) || (char_at(x, at) == '_' && is_digit(char_at(x, at + 1))))
        at++;
    return at;
}

static bool lex_number(jinja_lexer *x) {
    size_t begin = x->at, at = begin;
    jinja_token_kind kind = JINJA_T_INT;
    char base = char_at(x, at) == '0' ? (char)(char_at(x, at + 1) | 0x20) : 0;
    if (base == 'x' || base == 'o' || base == 'b') {
        at += 2;
        while (is_name(char_at(x, at)))
            at++;
    } else {
        at = skip_digits(x, at);
        if (char_at(x, at) == '.' && is_digit(char_at(x, at + 1))) {
            kind = JINJA_T_FLOAT;
            at = skip_digits(x, at + 1);
        }
        size_t sign = (char_at(x, at) | 0x20) == 'e'
                          ? (size_t)(char_at(x, at + 1) == '+' || char_at(x, at + 1) == '-') + 1
                          : 0;
        if (sign && is_digit(char_at(x, at + sign))) {
            kind = JINJA_T_FLOAT;
            at = skip_digits(x, at + sign);
        }
    }
    if (!add(x, kind, (jinja_string){x->source.text + begin, at - begin}))
        return false;
    move_to(x, at);
    return true;
}

static bool lex_string(jinja_lexer *x) {
    char quote = char_at(x, x->at);
    size_t end = x->at + 1;
    bool escapes = false;
    while (end < x->source.n && x->source.text[end] != quote) {
        bool escape = x->source.text[end] == '\\';
        escapes |= escape;
        end += escape ? 2 : 1;
    }
    if (end >= x->source.n)
        return fail_at(x, "a string that does not end");
    jinja_string inside = {x->source.text + x->at + 1, end - x->at - 1};
    if (escapes && !jinja_unescape(x->arena, inside, &inside))
        return no_memory(x);
    if (!add(x, JINJA_T_STRING, inside))
        return false;
    move_to(x, end + 1);
    return true;
}

/* Brackets must fit, since }} and %} count as ends of a tag only outside of them. */
static bool balance(jinja_lexer *x, char c) {
    char closer = c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : 0;
    if (closer) {
        if (x->n_closers == sizeof x->closers)
            return fail_at(x, "brackets are nested too deeply");
        x->closers[x->n_closers++] = closer;
    } else if (c == ')' || c == ']' || c == '}') {
        if (x->n_closers == 0 || x->closers[x->n_closers - 1] != c)
            return fail_at(x, "a closing bracket that no opening one fits");
        x->n_closers--;
    }
    return true;
}

static bool lex_operator(jinja_lexer *x) {
    static const char *const pairs[] = {"//", "**", "==", "!=", "<=", ">="};
    size_t n = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (looking_at(x, x->at, pairs[i]))
            n = 2;
    if (n == 1 && !memchr("+-/*%~[](){}=.:|,;<>", char_at(x, x->at), 20))
        return fail_at(x, "a character that no expression has");
    if (!balance(x, n == 1 ? char_at(x, x->at) : 0) ||
        !add(x, JINJA_T_OP, (jinja_string){x->source.text + x->at, n}))
        return false;
    move_to(x, x->at + n);
    return true;
}

/* ---- Tags ---- */

/* Bytes of the end of a tag at `at`, with the white space that goes with it; 0: no end. Comments
 * and blocks take the newline that follows, unless they end in +. */
static size_t tag_end(const jinja_lexer *x, size_t at, const char *end) {
    bool variable = end[0] == '}';
    char sign = char_at(x, at);
    size_t after = at + (sign == '-' || (sign == '+' && !variable) ? 1 : 0);
    if (after >= x->source.n || !looking_at(x, after, end))
        return 0;
    after += 2;
    if (sign == '-')
        after = skip_space(x, after);
    else if (sign != '+' && !variable && char_at(x, after) == '\n')
        after++;
    return after - at;
}

static void leave_tag(jinja_lexer *x, size_t n) {
    move_to(x, x->at + n);
    x->at_line_start = x->source.text[x->at - 1] == '\n';
}

static bool lex_tag(jinja_lexer *x, bool variable) {
    const char *end = variable ? "}}" : "%}";
    for (;;) {
        move_to(x, skip_space(x, x->at));
        if (x->at >= x->source.n)
            return fail_at(x, "a tag that does not end");
        size_t n = x->n_closers == 0 ? tag_end(x, x->at, end) : 0;
        if (n) {
            if (!add(x, JINJA_T_CLOSE, (jinja_string){end, 2}))
                return false;
            leave_tag(x, n);
            return true;
        }
        char c = x->source.text[x->at];
        bool fits = true;
        if (is_digit(c)) {
            fits = lex_number(x);
        } else if (c == '\'' || c == '"') {
            fits = lex_string(x);
        } else if (is_name(c)) {
            size_t stop = x->at;
            while (is_name(char_at(x, stop)))
                stop++;
            fits = add(x, JINJA_T_NAME, (jinja_string){x->source.text + x->at, stop - x->at});
            move_to(x, stop);
        } else {
            fits = lex_operator(x);
        }
        if (!fits)
            return false;
    }
}

static bool skip_comment(jinja_lexer *x) {
    for (size_t at = x->at; at < x->source.n; at++) {
        char c = x->source.text[at];
        size_t n = c == '#' || c == '-' || c == '+' ? tag_end(x, at, "#}") : 0;
        if (n) {
            move_to(x, at);
            leave_tag(x, n);
            return true;
        }
    }
    return fail_at(x, "a comment that does not end");
}

/* Bytes of {% word %} from its first byte on; 0: something else stands there. */
static size_t bare_tag(const jinja_lexer *x, size_t begin, const char *word) {
    if (!looking_at(x, begin, "{%"))
        return 0;
    size_t at = begin + 2;
    if (char_at(x, at) == '-' || char_at(x, at) == '+')
        at++;
    at = skip_space(x, at);
    if (at >= x->source.n || !looking_at(x, at, word))
        return 0;
    at = skip_space(x, at + strlen(word));
    if (char_at(x, at) == '-' && looking_at(x, at, "-%}"))
        return skip_space(x, at + 3) - begin;
    return at < x->source.n && looking_at(x, at, "%}") ? at + 2 - begin : 0;
}

static jinja_string trim_before(jinja_string text, char sign, bool variable, bool at_line_start) {
    if (sign == '-')
        return jinja_strip_right(text);
    if (sign == '+' || variable)
        return text;
    const char *newline = text.n ? memrchr(text.text, '\n', text.n) : NULL;
    if (!newline && !at_line_start)
        return text;
    jinja_string line = text;
    if (newline)
        line = (jinja_string){newline + 1, (size_t)(text.text + text.n - newline) - 1};
    if (jinja_strip_left(line).n == 0)
        text.n -= line.n;
    return text;
}

static bool add_data(jinja_lexer *x, jinja_string text) {
    return text.n == 0 || add(x, JINJA_T_DATA, text);
}

/* {% raw %} … {% endraw %}: x->at is behind the former. */
static bool lex_raw(jinja_lexer *x) {
    for (size_t at = x->at; at < x->source.n; at++) {
        size_t n = x->source.text[at] == '{' ? bare_tag(x, at, "endraw") : 0;
        if (n == 0)
            continue;
        jinja_string text = {x->source.text + x->at, at - x->at};
        if (!add_data(x, trim_before(text, char_at(x, at + 2), false, x->at_line_start)))
            return false;
        move_to(x, at);
        if (char_at(x, at + n - 3) != '-' && char_at(x, at + n) == '\n')
            n++;
        leave_tag(x, n);
        return true;
    }
    return fail_at(x, "a raw block that does not end");
}

/* The next {{, {% or {# from `at` on; the source's end: none. */
static size_t next_tag(const jinja_lexer *x, size_t at) {
    while (at + 1 < x->source.n) {
        const char *brace = memchr(x->source.text + at, '{', x->source.n - at - 1);
        if (!brace)
            break;
        if (brace[1] == '{' || brace[1] == '%' || brace[1] == '#')
            return (size_t)(brace - x->source.text);
        at = (size_t)(brace - x->source.text) + 1;
    }
    return x->source.n;
}

static bool lex_source(jinja_lexer *x) {
    x->line = 1;
    x->at_line_start = true;
    while (x->at < x->source.n) {
        size_t begin = next_tag(x, x->at);
        jinja_string text = {x->source.text + x->at, begin - x->at};
        if (begin == x->source.n)
            return add_data(x, text);
        char kind = x->source.text[begin + 1], sign = char_at(x, begin + 2);
        if (!add_data(x, trim_before(text, sign, kind == '{', x->at_line_start)))
            return false;
        move_to(x, begin);
        size_t raw = kind == '%' ? bare_tag(x, begin, "raw") : 0;
        size_t opening = sign == '-' || sign == '+' ? 3 : 2;
        bool fits;
        if (raw) {
            leave_tag(x, raw);
            fits = lex_raw(x);
        } else if (kind == '#') {
            move_to(x, begin + opening);
            fits = skip_comment(x);
        } else {
            fits = add(x, kind == '{' ? JINJA_T_OUT : JINJA_T_BLOCK,
                       (jinja_string){x->source.text + begin, 2});
            move_to(x, begin + opening);
            fits = fits && lex_tag(x, kind == '{');
        }
        if (!fits)
            return false;
    }
    return true;
}

bool jinja_lex(jinja_lexer *x, const char *source, size_t n_bytes) {
    if (weft_utf8_valid((const unsigned char *)source, n_bytes) != n_bytes)
        return jinja_set_error(x->error, JINJA_SYNTAX, 0, 0, "the template is not valid UTF-8");
    char *copy = jinja_arena_alloc(x->arena, n_bytes);
    if (!copy)
        return no_memory(x);
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        if (source[i] != '\r')
            copy[n++] = source[i];
        else if (i + 1 == n_bytes || source[i + 1] != '\n')
            copy[n++] = '\n';
    }
    x->source = (jinja_string){copy, n - (n && copy[n - 1] == '\n')};
    return lex_source(x) && add(x, JINJA_T_END, (jinja_string){"", 0});
}
