/* Python's two ways of putting values into a text: "%s" % x and "{}".format(x), with what templates
 * use of them. */
#include <stdio.h>
#include <string.h>
#include "text/jinja/impl.h"
#include "text/jinja/number.h"

#define WIDTH_MAX 4096

/* ---- "%-5s" % x ---- */

typedef struct spec {
    bool left, plus, space, zero;
    size_t width;
    int precision; /* -1: none */
    char letter;
} spec;

static size_t read_width(jinja_string f, size_t *at) {
    size_t n = 0;
    while (*at < f.n && f.text[*at] >= '0' && f.text[*at] <= '9' && n < WIDTH_MAX)
        n = n * 10 + (size_t)(f.text[(*at)++] - '0');
    return n;
}

static bool read_spec(jinja *j, jinja_string f, size_t *at, spec *s) {
    *s = (spec){.precision = -1};
    for (; *at < f.n; ++*at) {
        char c = f.text[*at];
        if (c != '-' && c != '+' && c != ' ' && c != '0' && c != '#')
            break;
        s->left |= c == '-';
        s->plus |= c == '+';
        s->space |= c == ' ';
        s->zero |= c == '0';
    }
    s->width = read_width(f, at);
    if (*at < f.n && f.text[*at] == '.') {
        ++*at;
        s->precision = (int)read_width(f, at);
    }
    if (*at >= f.n || s->width >= WIDTH_MAX || s->precision >= WIDTH_MAX) {
        jinja_fail(j, JINJA_RUNTIME, "incomplete or too wide format");
        return false;
    }
    s->letter = f.text[(*at)++];
    return true;
}

static void put_padded(jinja *j, jinja_buffer *b, const spec *s, jinja_string text) {
    size_t n = jinja_count_chars(text), pad = s->width > n ? s->width - n : 0;
    bool sign = text.n && (*text.text == '-' || *text.text == '+');
    bool zeros = s->zero && !s->left && s->letter != 's' && s->letter != 'r';
    if (zeros && sign) {
        jinja_put(j, b, text.text, 1);
        text = (jinja_string){text.text + 1, text.n - 1};
    }
    for (size_t i = 0; !s->left && i < pad && !j->failed; i++)
        jinja_put(j, b, zeros ? "0" : " ", 1);
    jinja_puts(j, b, text);
    for (size_t i = 0; s->left && i < pad && !j->failed; i++)
        jinja_put(j, b, " ", 1);
}

static void put_number(jinja *j, jinja_buffer *b, const spec *s, jinja_value v) {
    char text[512];
    size_t n = 0;
    if (v.type == JINJA_UNDEFINED || !jinja_is_number(v) || v.type == JINJA_BIG) {
        jinja_fail(j, JINJA_RUNTIME, "%%%c format: a number is required, not %s", s->letter,
                   jinja_type_name(v));
        return;
    }
    double f = jinja_number(v);
    if ((s->plus || s->space) && f >= 0)
        text[n++] = s->plus ? '+' : ' ';
    bool floating = s->letter == 'f' || s->letter == 'F';
    if (floating) {
        int precision = s->precision < 0 ? 6 : s->precision < 60 ? s->precision : 60;
        n += jinja_print_fixed(f, precision, text + n, sizeof text - n);
    } else {
        if (v.type == JINJA_FLOAT && !(f > -9e18 && f < 9e18)) {
            jinja_fail(j, JINJA_RUNTIME, "cannot convert float to integer");
            return;
        }
        long long i = v.type == JINJA_INT ? v.as.i : (long long)f;
        const char *how = s->letter == 'x' ? "%llx" : s->letter == 'X' ? "%llX" : "%llo";
        bool based = s->letter == 'x' || s->letter == 'X' || s->letter == 'o';
        if (based && i < 0)
            text[n++] = '-';
        unsigned long long size = i < 0 ? 0 - (unsigned long long)i : (unsigned long long)i;
        n += (size_t)(based ? snprintf(text + n, sizeof text - n, how, size)
                            : snprintf(text + n, sizeof text - n, "%lld", i));
    }
    put_padded(j, b, s, (jinja_string){text, n});
}

static void put_one(jinja *j, jinja_buffer *b, const spec *s, jinja_value v) {
    jinja_buffer repr = {0};
    switch (s->letter) {
    case 's':
    case 'r': {
        if (s->letter == 'r')
            jinja_put_repr(j, &repr, v);
        else
            jinja_put_text(j, &repr, v);
        jinja_string text = jinja_buffer_value(&repr).as.s;
        if (s->precision >= 0)
            text.n = jinja_offset_of(text, (size_t)s->precision);
        put_padded(j, b, s, text);
        break;
    }
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'f':
    case 'F':
        put_number(j, b, s, v);
        break;
    default:
        jinja_fail(j, JINJA_RUNTIME, "unsupported format character '%c'",
                   s->letter >= ' ' && s->letter < 0x7f ? s->letter : '?');
    }
}

/* After "%(": the value of the key that is named there. */
static jinja_value keyed(jinja *j, jinja_string f, size_t *at, jinja_value args) {
    size_t begin = *at;
    while (*at < f.n && f.text[*at] != ')')
        ++*at;
    jinja_string name = {f.text + begin, *at - begin};
    ++*at;
    if (*at > f.n || args.type != JINJA_DICT) {
        jinja_fail(j, JINJA_RUNTIME, "format requires a mapping");
        return jinja_undefined();
    }
    const jinja_value *v = jinja_dict_get(j, args.as.dict, jinja_str(name));
    if (!v)
        jinja_fail(j, JINJA_RUNTIME, "the format's key '%.*s' is not there",
                   (int)(name.n < 100 ? name.n : 100), name.text);
    return v ? *v : jinja_undefined();
}

jinja_value jinja_percent_format(jinja *j, jinja_string f, jinja_value args) {
    bool many = args.type == JINJA_LIST && args.as.list->kind == JINJA_A_TUPLE;
    const jinja_value *items = many ? args.as.list->items : &args;
    size_t n = many ? args.as.list->n : 1, used = 0;
    bool mapped = false;
    jinja_buffer b = {0};
    for (size_t at = 0; at < f.n && jinja_spend(j, 1);) {
        const char *percent = memchr(f.text + at, '%', f.n - at);
        size_t stop = percent ? (size_t)(percent - f.text) : f.n;
        jinja_put(j, &b, f.text + at, stop - at);
        at = stop + 1;
        if (!percent)
            break;
        if (at < f.n && f.text[at] == '%') {
            jinja_put(j, &b, "%", 1);
            at++;
            continue;
        }
        jinja_value v = jinja_undefined();
        bool key = at < f.n && f.text[at] == '(';
        spec s;
        if (key) {
            at++;
            mapped = true;
            v = keyed(j, f, &at, args);
        }
        if (j->failed || !read_spec(j, f, &at, &s))
            break;
        if (!key && used >= n)
            jinja_fail(j, JINJA_RUNTIME, "not enough arguments for format string");
        else
            put_one(j, &b, &s, key ? v : items[used++]);
    }
    if (used < n && !mapped && args.type != JINJA_DICT)
        jinja_fail(j, JINJA_RUNTIME, "not all arguments converted during string formatting");
    return jinja_buffer_value(&b);
}

/* ---- "{}".format(x) ---- */

/* The argument that a field names: nothing, a number or a keyword. */
static const jinja_value *field_value(const jinja_args *args, jinja_string name, size_t *next) {
    if (name.n == 0)
        return *next < args->n ? &args->items[(*next)++] : NULL;
    size_t at = 0, index = read_width(name, &at);
    if (at == name.n)
        return index < args->n ? &args->items[index] : NULL;
    for (size_t i = 0; i < args->n_keywords; i++)
        if (jinja_same(args->keywords[i].name, name))
            return &args->keywords[i].value;
    return NULL;
}

/* {name}, {name!r}, {name:} and their like; at is behind the brace. */
static void put_field(jinja *j, jinja_buffer *b, jinja_string f, size_t *at, const jinja_args *args,
                      size_t *next) {
    const char *end = memchr(f.text + *at, '}', f.n - *at);
    if (!end) {
        jinja_fail(j, JINJA_RUNTIME, "expected '}' before end of string");
        return;
    }
    jinja_string name = {f.text + *at, (size_t)(end - f.text) - *at};
    *at += name.n + 1;
    bool repr = false;
    size_t cut = jinja_find(name, JINJA_TEXT(":"), 0);
    if (cut != SIZE_MAX && cut + 1 < name.n) {
        jinja_fail(j, JINJA_RUNTIME, "format specifications are not supported");
        return;
    }
    if (cut != SIZE_MAX)
        name.n = cut;
    if (name.n >= 2 && name.text[name.n - 2] == '!') {
        repr = name.text[name.n - 1] == 'r';
        name.n -= 2;
    }
    const jinja_value *v = field_value(args, name, next);
    if (!v)
        jinja_fail(j, JINJA_RUNTIME, "the format's field '%.*s' has no argument",
                   (int)(name.n < 100 ? name.n : 100), name.text);
    else if (repr)
        jinja_put_repr(j, b, *v);
    else
        jinja_put_text(j, b, *v);
}

jinja_value jinja_brace_format(jinja *j, jinja_value self, const jinja_args *args) {
    jinja_string f = self.as.s;
    jinja_buffer b = {0};
    size_t next = 0;
    for (size_t at = 0; at < f.n && jinja_spend(j, 1);) {
        size_t stop = at;
        while (stop < f.n && f.text[stop] != '{' && f.text[stop] != '}')
            stop++;
        jinja_put(j, &b, f.text + at, stop - at);
        at = stop + 1;
        if (stop == f.n)
            break;
        if (at < f.n && f.text[at] == f.text[stop]) {
            jinja_put(j, &b, f.text + stop, 1);
            at++;
        } else if (f.text[stop] == '}') {
            jinja_fail(j, JINJA_RUNTIME, "Single '}' encountered in format string");
        } else {
            put_field(j, &b, f, &at, args, &next);
        }
    }
    return jinja_buffer_value(&b);
}
