/* Finding filters by name, and those of single values: defaults, numbers, JSON. */
#include <math.h>
#include <stdlib.h>
#include "text/jinja/impl.h"
#include "text/jinja/number.h"

typedef jinja_value value; /* shortens the signatures below */
typedef const jinja_args *args_of;

static const jinja_filter *find_filter(jinja_string name) {
    const jinja_filter *const tables[] = {jinja_value_filters, jinja_text_filters,
                                          jinja_list_filters};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const jinja_filter *f = tables[i]; f->name; f++)
            if (jinja_is_text(name, f->name))
                return f;
    return NULL;
}

bool jinja_has_filter(jinja_string name) {
    return find_filter(name) != NULL;
}

jinja_value jinja_apply_filter(jinja *j, jinja_string name, jinja_value v, const jinja_args *args) {
    const jinja_filter *f = find_filter(name);
    if (f)
        return f->apply(j, v, args);
    jinja_fail(j, JINJA_RUNTIME, "No filter named '%.*s' found.",
               (int)(name.n < 100 ? name.n : 100), name.text);
    return jinja_undefined();
}

/* ---- Defaults and lengths ---- */

static value default_value(jinja *j, value v, args_of args) {
    (void)j;
    const value *otherwise = jinja_arg(args, 0, "default_value");
    const value *falsy = jinja_arg(args, 1, "boolean");
    if (v.type != JINJA_UNDEFINED && !(falsy && jinja_truth(*falsy) && !jinja_truth(v)))
        return v;
    return otherwise ? *otherwise : jinja_str(JINJA_TEXT(""));
}

static value length(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_int((int64_t)jinja_length(j, v));
}

static value attribute(jinja *j, value v, args_of args) {
    jinja_string name = jinja_text_arg(j, jinja_arg(args, 0, "name"), JINJA_TEXT(""));
    return j->failed ? jinja_undefined() : jinja_attribute(j, v, name);
}

/* ---- Numbers ---- */

/* A number written in a string, blanks around it; false: something else. */
static bool read_number(jinja *j, jinja_string s, bool is_float, value *out) {
    s = jinja_strip(s, NULL, true, true);
    bool digits = false, rest = true;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.text[i];
        bool digit = c >= '0' && c <= '9';
        digits |= digit;
        rest &= digit || (i == 0 && (c == '-' || c == '+')) ||
                (is_float && (c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+'));
    }
    return digits && rest && jinja_parse_number(&j->arena, s, is_float, out);
}

static value to_int(jinja *j, value v, args_of args) {
    const value *otherwise = jinja_arg(args, 0, "default");
    value number = v;
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (v.type == JINJA_BOOL)
        return jinja_int(v.as.b);
    if (v.type == JINJA_INT || v.type == JINJA_BIG)
        return v;
    if (v.type == JINJA_STRING && read_number(j, v.as.s, false, &number))
        return number;
    bool fits =
        v.type == JINJA_FLOAT || (v.type == JINJA_STRING && read_number(j, v.as.s, true, &number));
    if (fits && number.as.f > -9.2e18 && number.as.f < 9.2e18)
        return jinja_int((int64_t)number.as.f);
    return otherwise ? *otherwise : jinja_int(0);
}

static value to_float(jinja *j, value v, args_of args) {
    const value *otherwise = jinja_arg(args, 0, "default");
    value number;
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (jinja_is_number(v))
        return jinja_float(jinja_number(v));
    if (v.type == JINJA_STRING && read_number(j, v.as.s, true, &number))
        return number;
    return otherwise ? *otherwise : jinja_float(0);
}

static value absolute(jinja *j, value v, args_of args) {
    (void)args;
    if (v.type == JINJA_FLOAT)
        return jinja_float(fabs(v.as.f));
    if (v.type == JINJA_INT && v.as.i >= 0)
        return v;
    return jinja_negative(j, v);
}

static value round_number(jinja *j, value v, args_of args) {
    int64_t precision = jinja_int_arg(j, jinja_arg(args, 0, "precision"), 0);
    jinja_string how = jinja_text_arg(j, jinja_arg(args, 1, "method"), JINJA_TEXT("common"));
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (!jinja_is_number(v) || precision < 0 || precision > 15) {
        jinja_fail(j, JINJA_RUNTIME, "round takes a number and a precision from 0 to 15");
        return jinja_undefined();
    }
    double f = jinja_number(v), scale = pow(10, (double)precision);
    if (v.type != JINJA_FLOAT && jinja_is_text(how, "common"))
        return v.type == JINJA_BOOL ? jinja_int(v.as.b) : v;
    if (jinja_is_text(how, "ceil"))
        return jinja_float(ceil(f * scale) / scale);
    if (jinja_is_text(how, "floor"))
        return jinja_float(floor(f * scale) / scale);
    /* Half to even of the exact value, as the C library prints it. */
    char text[512];
    size_t n = jinja_print_fixed(f, (int)precision, text, sizeof text);
    value rounded;
    if (!isfinite(f) || !jinja_parse_number(&j->arena, (jinja_string){text, n}, true, &rounded))
        return jinja_float(f);
    return rounded;
}

/* ---- JSON ---- */

static bool is_true(const value *v) {
    return v && jinja_truth(*v);
}

/* ensure_ascii, indent, separators, sort_keys, in this order, as the authors' own filter has. */
static value to_json(jinja *j, value v, args_of args) {
    const value *indent = jinja_arg(args, 1, "indent");
    const value *separators = jinja_arg(args, 2, "separators");
    jinja_json_style style = {.ascii = is_true(jinja_arg(args, 0, "ensure_ascii")),
                              .sort_keys = is_true(jinja_arg(args, 3, "sort_keys")),
                              .indented = indent && indent->type != JINJA_NONE,
                              .item = JINJA_TEXT(", "),
                              .colon = JINJA_TEXT(": ")};
    jinja_buffer blanks = {0}, out = {0};
    if (style.indented) {
        style.item = JINJA_TEXT(",");
        int64_t n = indent->type == JINJA_STRING ? 0 : jinja_int_arg(j, indent, 0);
        for (int64_t i = 0; i < n && jinja_spend(j, 1); i++)
            jinja_put(j, &blanks, " ", 1);
        style.indent =
            indent->type == JINJA_STRING ? indent->as.s : jinja_buffer_value(&blanks).as.s;
    }
    if (separators && separators->type == JINJA_LIST && separators->as.list->n == 2) {
        style.item = jinja_text_arg(j, &separators->as.list->items[0], style.item);
        style.colon = jinja_text_arg(j, &separators->as.list->items[1], style.colon);
    }
    if (!j->failed)
        jinja_put_json(j, &out, v, &style);
    return jinja_buffer_value(&out);
}

/* Not among the authors' filters, but some templates ask for it. */
static value from_json(jinja *j, value v, args_of args) {
    (void)args;
    jinja_string text = jinja_text_arg(j, &v, JINJA_TEXT(""));
    return j->failed ? jinja_undefined() : jinja_read_json(j, text, NULL);
}

const jinja_filter jinja_value_filters[] = {
    {"tojson", to_json},      {"default", default_value}, {"d", default_value},
    {"length", length},       {"count", length},          {"int", to_int},
    {"float", to_float},      {"abs", absolute},          {"round", round_number},
    {"from_json", from_json}, {"attr", attribute},        {NULL, NULL},
};
