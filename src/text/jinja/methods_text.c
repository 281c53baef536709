/* Methods of strings. */
#include "text/jinja/methods.h"

typedef jinja_value value; /* shortens the signatures below */
typedef const jinja_args *args_of;

static value text_value(jinja_string s) {
    return jinja_str(s);
}

/* ---- Stripping ---- */

static value strip(jinja *j, value self, args_of args, bool left, bool right) {
    const value *arg = jinja_arg(args, 0, NULL);
    bool given = arg && arg->type != JINJA_NONE;
    jinja_string chars = jinja_text_arg(j, given ? arg : NULL, JINJA_TEXT(""));
    jinja_spend(j, self.as.s.n / 64);
    return jinja_marked(text_value(jinja_strip(self.as.s, given ? &chars : NULL, left, right)),
                        self);
}
static value strip_both(jinja *j, value self, args_of args) {
    return strip(j, self, args, true, true);
}
static value strip_left(jinja *j, value self, args_of args) {
    return strip(j, self, args, true, false);
}
static value strip_right(jinja *j, value self, args_of args) {
    return strip(j, self, args, false, true);
}

/* ---- Beginnings and ends ---- */

static bool fits(jinja_string s, jinja_string part, bool at_end) {
    if (part.n > s.n)
        return false;
    return jinja_same((jinja_string){s.text + (at_end ? s.n - part.n : 0), part.n}, part);
}

static value has_edge(jinja *j, value self, args_of args, bool at_end) {
    if (!jinja_arity(j, args, at_end ? "endswith()" : "startswith()", 1, 1))
        return jinja_undefined();
    value part = args->items[0];
    if (part.type == JINJA_LIST && part.as.list->kind == JINJA_A_TUPLE) {
        for (size_t i = 0; i < part.as.list->n && !j->failed; i++)
            if (fits(self.as.s, jinja_text_arg(j, &part.as.list->items[i], JINJA_TEXT("")), at_end))
                return jinja_bool(!j->failed);
        return jinja_bool(false);
    }
    return jinja_bool(fits(self.as.s, jinja_text_arg(j, &part, JINJA_TEXT("")), at_end));
}
static value starts_with(jinja *j, value self, args_of args) {
    return has_edge(j, self, args, false);
}
static value ends_with(jinja *j, value self, args_of args) {
    return has_edge(j, self, args, true);
}

static value remove_prefix(jinja *j, value self, args_of args) {
    jinja_string s = self.as.s, part = jinja_text_arg(j, jinja_arg(args, 0, NULL), JINJA_TEXT(""));
    if (fits(s, part, false))
        s = (jinja_string){s.text + part.n, s.n - part.n};
    return text_value(s);
}
static value remove_suffix(jinja *j, value self, args_of args) {
    jinja_string s = self.as.s, part = jinja_text_arg(j, jinja_arg(args, 0, NULL), JINJA_TEXT(""));
    if (fits(s, part, true))
        s.n -= part.n;
    return text_value(s);
}

/* ---- Splitting ---- */

/* By white space: runs of it separate, none is kept at the edges. */
static void split_words(jinja *j, jinja_list *out, jinja_string s, int64_t most) {
    for (s = jinja_strip_left(s); s.n && jinja_spend(j, 1); s = jinja_strip_left(s)) {
        size_t n = 0;
        while (n < s.n && !jinja_is_space(jinja_char_at(s.text + n)))
            n += jinja_char_bytes(s.text[n]);
        if (most == 0) {
            jinja_append(j, out, text_value(s));
            return;
        }
        jinja_append(j, out, text_value((jinja_string){s.text, n}));
        s = (jinja_string){s.text + n, s.n - n};
        most -= most > 0;
    }
}

static void split_at(jinja *j, jinja_list *out, jinja_string s, jinja_string by, int64_t most) {
    size_t at = 0, found;
    while (most != 0 && (found = jinja_find(s, by, at)) != SIZE_MAX && jinja_spend(j, 1)) {
        jinja_append(j, out, text_value((jinja_string){s.text + at, found - at}));
        at = found + by.n;
        most -= most > 0;
    }
    jinja_append(j, out, text_value((jinja_string){s.text + at, s.n - at}));
}

static size_t find_last(jinja *j, jinja_string s, jinja_string part) {
    if (!jinja_spend(j, (s.n / 64 + 1) * (part.n / 64 + 1)))
        return SIZE_MAX;
    for (size_t at = part.n <= s.n ? s.n - part.n + 1 : 0; at-- > 0;)
        if (jinja_same((jinja_string){s.text + at, part.n}, part))
            return at;
    return SIZE_MAX;
}

/* The last `most` separators; parts come from the end and are turned round. */
static void split_from_end(jinja *j, jinja_list *out, jinja_string s, jinja_string by,
                           int64_t most) {
    size_t found;
    while (most != 0 && (found = find_last(j, s, by)) != SIZE_MAX && jinja_spend(j, 1 + s.n / 32)) {
        size_t after = found + by.n;
        jinja_append(j, out, text_value((jinja_string){s.text + after, s.n - after}));
        s.n = found;
        most--;
    }
    jinja_append(j, out, text_value(s));
    for (size_t i = 0; i < out->n / 2; i++) {
        value other = out->items[i];
        out->items[i] = out->items[out->n - 1 - i];
        out->items[out->n - 1 - i] = other;
    }
}

static value split(jinja *j, value self, args_of args, bool from_end) {
    const value *by = jinja_arg(args, 0, "sep");
    int64_t most = jinja_int_arg(j, jinja_arg(args, 1, "maxsplit"), -1);
    jinja_list *out = jinja_new_list(j, JINJA_A_LIST, 0);
    if (!out || !jinja_spend(j, self.as.s.n / 32))
        return jinja_undefined();
    if (!by || by->type == JINJA_NONE) {
        split_words(j, out, self.as.s, most);
        return jinja_list_value(out);
    }
    jinja_string separator = jinja_text_arg(j, by, JINJA_TEXT(" "));
    if (separator.n == 0)
        jinja_fail(j, JINJA_RUNTIME, "empty separator");
    else if (from_end && most >= 0)
        split_from_end(j, out, self.as.s, separator, most);
    else
        split_at(j, out, self.as.s, separator, most);
    return jinja_list_value(out);
}
static value split_forward(jinja *j, value self, args_of args) {
    return split(j, self, args, false);
}
static value split_backward(jinja *j, value self, args_of args) {
    return split(j, self, args, true);
}

static value split_lines(jinja *j, value self, args_of args) {
    jinja_string rest = self.as.s, line;
    jinja_list *out = jinja_new_list(j, JINJA_A_LIST, 0);
    (void)jinja_arity(j, args, "splitlines()", 0, 0);
    jinja_spend(j, rest.n / 16);
    while (out && !j->failed && jinja_next_line(&rest, &line))
        jinja_append(j, out, text_value(line));
    return jinja_list_value(out);
}

/* (before, separator, after) */
static value partition(jinja *j, value self, args_of args, bool last) {
    jinja_string s = self.as.s, by = jinja_text_arg(j, jinja_arg(args, 0, NULL), JINJA_TEXT(""));
    jinja_list *out = jinja_new_list(j, JINJA_A_TUPLE, 3);
    if (!out || by.n == 0) {
        jinja_fail(j, JINJA_RUNTIME, "empty separator");
        return jinja_undefined();
    }
    jinja_spend(j, s.n / 32);
    size_t found = last ? find_last(j, s, by) : jinja_find(s, by, 0);
    size_t at = found == SIZE_MAX ? s.n : found;
    jinja_string none = {"", 0}, whole = s, after = none;
    if (found != SIZE_MAX)
        after = (jinja_string){s.text + at + by.n, s.n - at - by.n};
    whole.n = at;
    bool absent = found == SIZE_MAX;
    jinja_append(j, out, text_value(absent && last ? none : whole));
    jinja_append(j, out, text_value(absent ? none : by));
    jinja_append(j, out, text_value(absent && last ? s : after));
    return jinja_list_value(out);
}
static value partition_first(jinja *j, value self, args_of args) {
    return partition(j, self, args, false);
}
static value partition_last(jinja *j, value self, args_of args) {
    return partition(j, self, args, true);
}

/* ---- Searching ---- */

static value index_of(jinja *j, value self, args_of args, bool last) {
    jinja_string s = self.as.s, part = jinja_text_arg(j, jinja_arg(args, 0, NULL), JINJA_TEXT(""));
    jinja_spend(j, s.n / 32);
    size_t found = last ? find_last(j, s, part) : jinja_find(s, part, 0);
    if (found == SIZE_MAX)
        return jinja_int(-1);
    return jinja_int((int64_t)jinja_count_chars((jinja_string){s.text, found}));
}
static value find_first(jinja *j, value self, args_of args) {
    return index_of(j, self, args, false);
}
static value find_from_end(jinja *j, value self, args_of args) {
    return index_of(j, self, args, true);
}

static value count(jinja *j, value self, args_of args) {
    jinja_string part = jinja_text_arg(j, jinja_arg(args, 0, NULL), JINJA_TEXT(""));
    int64_t n = 0;
    if (part.n == 0)
        return jinja_int((int64_t)jinja_count_chars(self.as.s) + 1);
    for (size_t at = 0; (at = jinja_find(self.as.s, part, at)) != SIZE_MAX && jinja_spend(j, 1);
         at += part.n)
        n++;
    return jinja_int(n);
}

static value replace(jinja *j, value self, args_of args) {
    if (!jinja_arity(j, args, "replace()", 2, 3))
        return jinja_undefined();
    jinja_string from = jinja_text_arg(j, &args->items[0], JINJA_TEXT(""));
    jinja_string to = jinja_text_arg(j, &args->items[1], JINJA_TEXT(""));
    int64_t most = jinja_int_arg(j, jinja_arg(args, 2, "count"), -1);
    return j->failed ? jinja_undefined() : jinja_replace(j, self.as.s, from, to, most);
}

/* ---- Case and kinds of characters ---- */

static value upper(jinja *j, value self, args_of args) {
    (void)args;
    return jinja_change_case(j, self.as.s, JINJA_UPPER);
}
static value lower(jinja *j, value self, args_of args) {
    (void)args;
    return jinja_change_case(j, self.as.s, JINJA_LOWER);
}
static value capitalize(jinja *j, value self, args_of args) {
    (void)args;
    return jinja_change_case(j, self.as.s, JINJA_CAPITAL);
}
static value title(jinja *j, value self, args_of args) {
    (void)args;
    return jinja_change_case(j, self.as.s, JINJA_EVERY_WORD);
}

static bool is_digit(uint32_t c) {
    return c >= '0' && c <= '9';
}
static bool is_letter(uint32_t c) {
    return weft_is_word(c) && !is_digit(c) && c != '_';
}
static bool is_alphanumeric(uint32_t c) {
    return is_letter(c) || is_digit(c);
}

/* All characters are so, and there is one. */
static value all(jinja *j, value self, bool (*is)(uint32_t)) {
    jinja_string s = self.as.s;
    jinja_spend(j, s.n / 16);
    for (size_t at = 0; at < s.n; at += jinja_char_bytes(s.text[at]))
        if (!is(jinja_char_at(s.text + at)))
            return jinja_bool(false);
    return jinja_bool(s.n != 0);
}
static value all_digits(jinja *j, value self, args_of args) {
    (void)args;
    return all(j, self, is_digit);
}
static value all_letters(jinja *j, value self, args_of args) {
    (void)args;
    return all(j, self, is_letter);
}
static value all_alphanumeric(jinja *j, value self, args_of args) {
    (void)args;
    return all(j, self, is_alphanumeric);
}
static value all_space(jinja *j, value self, args_of args) {
    (void)args;
    return all(j, self, jinja_is_space);
}

/* ---- Joining ---- */

static value join(jinja *j, value self, args_of args) {
    const jinja_list *items =
        jinja_arity(j, args, "join()", 1, 1) ? jinja_items(j, args->items[0]) : NULL;
    jinja_buffer b = {0};
    for (size_t i = 0; items && i < items->n && jinja_spend(j, 1); i++) {
        if (items->items[i].type != JINJA_STRING)
            jinja_fail(j, JINJA_RUNTIME, "sequence item %zu: expected str instance, %s found", i,
                       jinja_type_name(items->items[i]));
        if (i)
            jinja_puts(j, &b, self.as.s);
        if (!j->failed)
            jinja_puts(j, &b, items->items[i].as.s);
    }
    return jinja_buffer_value(&b);
}

const jinja_method_entry jinja_text_methods[] = {
    {"strip", strip_both},
    {"lstrip", strip_left},
    {"rstrip", strip_right},
    {"split", split_forward},
    {"rsplit", split_backward},
    {"splitlines", split_lines},
    {"partition", partition_first},
    {"rpartition", partition_last},
    {"startswith", starts_with},
    {"endswith", ends_with},
    {"removeprefix", remove_prefix},
    {"removesuffix", remove_suffix},
    {"replace", replace},
    {"find", find_first},
    {"rfind", find_from_end},
    {"count", count},
    {"upper", upper},
    {"lower", lower},
    {"capitalize", capitalize},
    {"title", title},
    {"isdigit", all_digits},
    {"isalpha", all_letters},
    {"isalnum", all_alphanumeric},
    {"isspace", all_space},
    {"join", join},
    {"format", jinja_brace_format},
    {NULL, NULL},
};
