/* Filters that make texts. */
#include "text/jinja/impl.h"

typedef jinja_value value; /* shortens the signatures below */
typedef const jinja_args *args_of;

static value trim(jinja *j, value v, args_of args) {
    const value *arg = jinja_arg(args, 0, "chars");
    bool given = arg && arg->type != JINJA_NONE;
    jinja_string chars = jinja_text_arg(j, given ? arg : NULL, JINJA_TEXT(""));
    jinja_string s = jinja_to_text(j, v);
    return jinja_marked(jinja_str(jinja_strip(s, given ? &chars : NULL, true, true)), v);
}

static value string(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_marked(jinja_str(jinja_to_text(j, v)), v);
}

static value safe(jinja *j, value v, args_of args) {
    v = string(j, v, args);
    v.safe = true;
    return v;
}

static value escape(jinja *j, value v, args_of args) {
    v = string(j, v, args);
    return v.safe ? v : jinja_escape(j, v.as.s);
}

static value upper(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_marked(jinja_change_case(j, jinja_to_text(j, v), JINJA_UPPER), v);
}
static value lower(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_marked(jinja_change_case(j, jinja_to_text(j, v), JINJA_LOWER), v);
}
static value capitalize(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_marked(jinja_change_case(j, jinja_to_text(j, v), JINJA_CAPITAL), v);
}
static value title(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_marked(jinja_change_case(j, jinja_to_text(j, v), JINJA_TITLE), v);
}

static value replace(jinja *j, value v, args_of args) {
    const value *from = jinja_arg(args, 0, "old"), *to = jinja_arg(args, 1, "new");
    const value *count = jinja_arg(args, 2, "count");
    if (!from || !to) {
        jinja_fail(j, JINJA_RUNTIME, "replace takes what to replace and by what");
        return jinja_undefined();
    }
    int64_t most = count && count->type != JINJA_NONE ? jinja_int_arg(j, count, -1) : -1;
    jinja_string text = jinja_to_text(j, v), old = jinja_to_text(j, *from);
    jinja_string new = jinja_to_text(j, *to);
    return j->failed ? jinja_undefined() : jinja_replace(j, text, old, new, most);
}

/* Every line but the first (that too with `first`) moved to the right; empty ones with `blank`. */
static value indent(jinja *j, value v, args_of args) {
    const value *width = jinja_arg(args, 0, "width"), *first = jinja_arg(args, 1, "first");
    const value *blank = jinja_arg(args, 2, "blank");
    jinja_string rest = jinja_to_text(j, v), line, by;
    jinja_buffer blanks = {0}, b = {0};
    int64_t n = width && width->type == JINJA_STRING ? 0 : jinja_int_arg(j, width, 4);
    for (int64_t i = 0; i < n && jinja_spend(j, 1); i++)
        jinja_put(j, &blanks, " ", 1);
    by = width && width->type == JINJA_STRING ? width->as.s : jinja_buffer_value(&blanks).as.s;
    bool at_first = true, trailing = rest.n && rest.text[rest.n - 1] == '\n';
    if (first && jinja_truth(*first))
        jinja_puts(j, &b, by);
    while (!j->failed && jinja_next_line(&rest, &line)) {
        if (!at_first)
            jinja_put(j, &b, "\n", 1);
        if (!at_first && (line.n || (blank && jinja_truth(*blank))))
            jinja_puts(j, &b, by);
        jinja_puts(j, &b, line);
        at_first = false;
    }
    if (trailing) {
        jinja_put(j, &b, "\n", 1);
        if (blank && jinja_truth(*blank))
            jinja_puts(j, &b, by);
    }
    return jinja_buffer_value(&b);
}

/* "%s"|format(x): the arguments are the tuple. */
static value format(jinja *j, value v, args_of args) {
    jinja_string f = jinja_to_text(j, v);
    jinja_dict *named = args->n_keywords ? jinja_new_dict(j) : NULL;
    for (size_t i = 0; named && i < args->n_keywords && !j->failed; i++)
        jinja_dict_set(j, named, jinja_str(args->keywords[i].name), args->keywords[i].value);
    if (named)
        return jinja_percent_format(j, f, jinja_dict_value(named));
    jinja_list *tuple = jinja_new_list(j, JINJA_A_TUPLE, args->n);
    for (size_t i = 0; tuple && i < args->n; i++)
        tuple->items[tuple->n++] = args->items[i];
    return tuple ? jinja_percent_format(j, f, jinja_list_value(tuple)) : jinja_undefined();
}

static value count_words(jinja *j, value v, args_of args) {
    jinja_string s = jinja_to_text(j, v);
    int64_t n = 0;
    bool inside = false;
    (void)args;
    jinja_spend(j, s.n / 16);
    for (size_t at = 0; at < s.n; at += jinja_char_bytes(s.text[at])) {
        bool word = weft_is_word(jinja_char_at(s.text + at));
        n += word && !inside;
        inside = word;
    }
    return jinja_int(n);
}

const jinja_filter jinja_text_filters[] = {
    {"trim", trim},
    {"string", string},
    {"safe", safe},
    {"escape", escape},
    {"e", escape},
    {"upper", upper},
    {"lower", lower},
    {"capitalize", capitalize},
    {"title", title},
    {"replace", replace},
    {"indent", indent},
    {"format", format},
    {"wordcount", count_words},
    {NULL, NULL},
};
