/* JSON Schema: objects. */
#include "text/grammar/schema.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/charset.h"

#include <string.h>

#define MAX_MEMBERS 4096
#define MAX_OTHERS 4096 /* members without a name; a larger maximum is taken as this */
#define MAX_KEY 200
#define MAX_COUNTED 64 /* optional members that minProperties or maxProperties tells apart */

static weft_frag text(weft_schema *s, const char *bytes) {
    return weft_frag_literal(s->n, bytes, strlen(bytes));
}

static weft_frag then(weft_schema *s, weft_frag first, weft_frag second) {
    return weft_frag_then(s->n, first, second);
}

/* ---- Members ---- */

/* What a schema of the conjunction says of a member: its own schema, those of the patterns that its
 * name matches, or else that of additional ones. A schema that has additionalProperties does not
 * know of its neighbours' members. */
static void add_said(weft_schema *s, weft_conj *to, const weft_json *schema, const char *name) {
    const weft_json *own = weft_json_get(weft_json_get(schema, "properties"), name), *v;
    const weft_json *patterns = weft_json_get(schema, "patternProperties");
    const weft_json *others = weft_json_get(schema, "additionalProperties");
    void *cursor = NULL;
    const char *pattern;
    bool known = own != NULL;
    if (own)
        weft_conj_add(s, to, own);
    while (patterns && !s->n->status && weft_json_next(patterns, &cursor, &pattern, &v))
        if (weft_schema_matches(s, pattern, strlen(pattern), name, strlen(name))) {
            weft_conj_add(s, to, v);
            known = true;
        }
    if (!known && others)
        weft_conj_add(s, to, others);
}

static bool is_absent(const weft_conj *c, const char *name) {
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *list = weft_json_get(c->items[i], WEFT_ABSENT);
        for (size_t k = 0; list && k < weft_json_length(list); k++)
            if (strcmp(weft_json_string(weft_json_item(list, k), NULL), name) == 0)
                return true;
    }
    return false;
}

void weft_schema_names_of_members(weft_schema *s, const weft_conj *c, weft_conj *names) {
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *said = weft_json_get(c->items[i], "propertyNames");
        if (said)
            weft_conj_add(s, names, said);
    }
}

/* Whether the names that all schemas allow have this one among them. */
static bool is_name(weft_schema *s, const weft_conj *c, const char *name) {
    weft_conj names = {0};
    weft_schema_names_of_members(s, c, &names);
    if (names.n == 0 || names.never || s->n->status)
        return !names.never;
    weft_json *text = weft_json_new_string(name);
    s->listing = NULL;
    bool fits = text && weft_schema_fits(s, &names, text);
    weft_json_free(&text);
    return fits;
}

/* The value of a member. */
static weft_frag member_value(weft_schema *s, const weft_conj *c, const char *name) {
    weft_conj inner = {0};
    if (is_absent(c, name) || !is_name(s, c, name))
        return weft_frag_never(s->n);
    for (size_t i = 0; i < c->n; i++)
        add_said(s, &inner, c->items[i], name);
    weft_schema_add_unevaluated(s, c, name, 0, &inner);
    if (inner.never)
        return weft_frag_never(s->n);
    if (inner.n == 0)
        return weft_schema_any(s);
    return weft_frag_call(s->n, weft_schema_rule(s, &inner));
}

static weft_frag member(weft_schema *s, const weft_conj *c, const char *name) {
    weft_frag f = weft_schema_quoted(s, name, strlen(name));
    f = then(s, f, then(s, text(s, ":"), weft_schema_blank(s)));
    return then(s, f, member_value(s, c, name));
}

typedef struct members {
    const char **names; /* [n] */
    bool *required;
    size_t n, room, required_room;
} members;

static void free_members(weft_schema *s, members *m) {
    weft_dealloc(&s->n->a, m->names, m->room * sizeof *m->names);
    weft_dealloc(&s->n->a, m->required, m->required_room * sizeof *m->required);
}

static void add_member(weft_schema *s, members *m, const char *name, bool required) {
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->names[i], name) == 0) {
            m->required[i] |= required;
            return;
        }
    if (m->n >= MAX_MEMBERS) {
        weft_schema_refuse(s, "an object of more than %d members", MAX_MEMBERS);
        return;
    }
    const weft_allocator *a = &s->n->a;
    if (!weft_nfa_grow(a, (void **)&m->names, &m->room, m->n + 1, sizeof *m->names) ||
        !weft_nfa_grow(a, (void **)&m->required, &m->required_room, m->n + 1,
                       sizeof *m->required)) {
        s->n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return;
    }
    m->names[m->n] = name;
    m->required[m->n++] = required;
}

static void find_members(weft_schema *s, const weft_conj *c, members *m) {
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *properties = weft_json_get(c->items[i], "properties"), *v;
        void *cursor = NULL;
        const char *name;
        if (properties && weft_json_type_of(properties) != WEFT_JSON_OBJECT)
            weft_schema_refuse(s, "'properties' that is no object");
        while (properties && !s->n->status && weft_json_next(properties, &cursor, &name, &v))
            add_member(s, m, name, false);
    }
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *list = weft_json_get(c->items[i], "required");
        for (size_t k = 0; list && k < weft_json_length(list) && !s->n->status; k++) {
            const char *name = weft_json_string(weft_json_item(list, k), NULL);
            if (name)
                add_member(s, m, name, true);
            else
                weft_schema_refuse(s, "'required' that is no list of names");
        }
    }
}

/* The names that propertyNames lists, as members that may come. */
static void find_listed_names(weft_schema *s, const weft_conj *c, members *m) {
    weft_conj names = {0};
    weft_schema_names_of_members(s, c, &names);
    const weft_json *one = weft_conj_get(&names, "const"), *list = weft_conj_get(&names, "enum");
    for (size_t i = 0; i < (one ? 1 : weft_json_length(list)) && !s->n->status; i++) {
        const char *name = weft_json_string(one ? one : weft_json_item(list, i), NULL);
        if (name)
            add_member(s, m, name, false); /* member_value looks whether it fits */
    }
}

/* ---- Other keys ---- */

/* A character of a key that needs no escape. */
static weft_frag key_character(weft_schema *s, const weft_charset *without) {
    weft_charset set = {0};
    weft_charset_add(&set, s->n, 0, 0x1f);
    weft_charset_add(&set, s->n, '"', '"');
    weft_charset_add(&set, s->n, '\\', '\\');
    for (size_t i = 0; without && i < without->n; i++)
        weft_charset_add(&set, s->n, without->ranges[i].low, without->ranges[i].high);
    weft_charset_negate(&set, s->n, 0x10ffff);
    weft_frag f = weft_frag_chars(s->n, set.ranges, set.n);
    weft_charset_free(&set, s->n);
    return f;
}

static weft_frag key_rest(weft_schema *s) {
    size_t mark = s->n->n_states;
    return weft_frag_repeat(s->n, mark, key_character(s, NULL), 0, WEFT_NFA_NONE);
}

static bool shares(const char *x, const char *y, size_t n) {
    return strncmp(x, y, n) == 0;
}

/* What may follow the first `at` bytes of `prefix`, so that the key is none of the names. */
static weft_frag key_after(weft_schema *s, const char *const *names, size_t n, const char *prefix,
                           size_t at) {
    weft_charset next = {0};
    bool ends = false;
    weft_frag all = {0, 0};
    bool any = false;
    if (at > MAX_KEY) {
        weft_schema_refuse(s, "a member's name of more than %d bytes beside additional ones",
                           MAX_KEY);
        return weft_frag_never(s->n);
    }
    for (size_t i = 0; i < n && !s->n->status; i++) {
        if (!shares(names[i], prefix, at))
            continue;
        if (!names[i][at]) {
            ends = true;
            continue;
        }
        size_t length;
        uint32_t c = weft_char_decode(names[i] + at, strlen(names[i] + at), &length);
        bool known = false;
        for (size_t k = 0; k < next.n; k++)
            known |= next.ranges[k].low == c;
        if (known || length == 0)
            continue;
        weft_charset_add(&next, s->n, c, c);
        if (c < 0x20 || c == '"' || c == '\\')
            continue; /* no key has it */
        weft_frag f = weft_frag_literal(s->n, names[i] + at, length);
        f = then(s, f, key_after(s, names, n, names[i], at + length));
        all = any ? weft_frag_or(s->n, all, f) : f;
        any = true;
    }
    weft_frag other = then(s, key_character(s, &next), key_rest(s));
    weft_charset_free(&next, s->n);
    if (!ends)
        other = weft_frag_optional(s->n, other);
    return any ? weft_frag_or(s->n, all, other) : other;
}

weft_frag weft_schema_other_key(weft_schema *s, const char *const *names, size_t n) {
    weft_frag f = then(s, text(s, "\""), key_after(s, names, n, "", 0));
    return then(s, f, text(s, "\""));
}

/* ---- Objects ---- */

static bool is_false(const weft_json *v) {
    return v && weft_json_type_of(v) == WEFT_JSON_BOOL && !weft_json_bool(v);
}

/* Whether members beyond those named may come. A schema with properties that does not speak of
 * others gets none. */
static bool takes_others(const weft_conj *c, const members *m) {
    bool spoken = false;
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *other = weft_json_get(c->items[i], "additionalProperties");
        const weft_json *unevaluated = weft_json_get(c->items[i], "unevaluatedProperties");
        if (is_false(other) || is_false(unevaluated))
            return false;
        spoken |= other || unevaluated;
    }
    return spoken || (m->n == 0 && !weft_conj_get(c, "patternProperties"));
}

/* Kinds of members without a name of their own: those that match one pattern alone, and those that
 * match none. */
#define MAX_PATTERNS 16
typedef struct kinds {
    const weft_json *patterns[MAX_PATTERNS]; /* [n] as texts, owned */
    size_t n;
    weft_conj names; /* of propertyNames */
    const char *const *known;
    size_t n_known;
    bool open; /* such that match none may come */
} kinds;

static void find_kinds(weft_schema *s, const weft_conj *c, const members *m, kinds *k) {
    *k = (kinds){.known = m->names, .n_known = m->n, .open = takes_others(c, m)};
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *patterns = weft_json_get(c->items[i], "patternProperties"), *v;
        const weft_json *names = weft_json_get(c->items[i], "propertyNames");
        void *cursor = NULL;
        const char *pattern;
        if (names)
            weft_conj_add(s, &k->names, names);
        while (patterns && !s->n->status && weft_json_next(patterns, &cursor, &pattern, &v)) {
            bool there = false;
            for (size_t p = 0; p < k->n; p++)
                there |= strcmp(weft_json_string(k->patterns[p], NULL), pattern) == 0;
            if (there)
                continue;
            if (k->n == MAX_PATTERNS)
                weft_schema_refuse(s, "more than %d patterns of members", MAX_PATTERNS);
            else if ((k->patterns[k->n] = weft_json_new_string(pattern)))
                k->n++;
        }
    }
}

static void free_kinds(kinds *k) {
    for (size_t p = 0; p < k->n; p++)
        weft_json_free((weft_json **)(void *)&k->patterns[p]);
}

/* The value of a member of a kind; false: no schema of the conjunction may forbid it. */
static bool kind_value(weft_schema *s, const weft_conj *c, const kinds *k, size_t kind,
                       weft_conj *inner) {
    const char *pattern = kind < k->n ? weft_json_string(k->patterns[kind], NULL) : NULL;
    *inner = (weft_conj){0};
    for (size_t i = 0; i < c->n; i++) {
        const weft_json *said = NULL;
        if (pattern)
            said = weft_json_get(weft_json_get(c->items[i], "patternProperties"), pattern);
        if (!said)
            said = weft_json_get(c->items[i], "additionalProperties");
        if (!said)
            said = weft_json_get(c->items[i], "unevaluatedProperties");
        if (said)
            weft_conj_add(s, inner, said);
    }
    return !inner->never && (pattern || k->open);
}

/* One such member of any kind, "key": value; false: there is none. */
static bool other_member(weft_schema *s, const weft_conj *c, const kinds *k, weft_frag *out) {
    bool any = false;
    if (weft_conj_get(&k->names, "enum") || weft_conj_get(&k->names, "const"))
        return false; /* they are members by name already */
    for (size_t kind = 0; kind <= k->n && !k->names.never && !s->n->status; kind++) {
        weft_conj inner;
        if (!kind_value(s, c, k, kind, &inner))
            continue;
        weft_key key = {.conj = k->names.n ? &k->names : NULL,
                        .patterns = k->patterns,
                        .n_patterns = k->n,
                        .mine = kind,
                        .names = k->known,
                        .n_names = k->n_known};
        weft_frag f = k->n || k->names.n ? weft_schema_key(s, &key)
                                         : weft_schema_other_key(s, k->known, k->n_known);
        f = then(s, f, then(s, text(s, ":"), weft_schema_blank(s)));
        f = then(s, f,
                 inner.n ? weft_frag_call(s->n, weft_schema_rule(s, &inner)) : weft_schema_any(s));
        *out = any ? weft_frag_or(s->n, *out, f) : f;
        any = true;
    }
    return any;
}

/* Others, min (0 or 1) … max of them, each "key": value; `first`: no comma before the first. */
static weft_frag others(weft_schema *s, const weft_conj *c, const kinds *k, bool first,
                        uint32_t min, uint32_t max) {
    weft_nfa *n = s->n;
    weft_frag f;
    size_t mark = n->n_states;
    if (max == 0 || !other_member(s, c, k, &f))
        return min > 0 ? weft_frag_never(n) : weft_frag_empty(n);
    if (!first) {
        weft_frag comma = then(s, text(s, ","), weft_schema_blank(s));
        return weft_frag_repeat(n, mark, then(s, comma, f), min, max);
    }
    weft_frag more =
        others(s, c, k, false, min > 0 ? min - 1 : 0, max == WEFT_NFA_NONE ? max : max - 1);
    f = then(s, f, more);
    return min > 0 ? f : weft_frag_optional(n, f);
}

/* ---- Members and their number ---- */

/* How many members an object has. As members come they are counted up to `top`; from there on only
 * the others have a limit. */
typedef struct counts {
    uint32_t min;        /* of all members */
    uint32_t top;        /* at least 1 */
    bool is_most;        /* no more than `top` */
    uint32_t max_others; /* beside the members with a name */
} counts;

static counts find_counts(weft_schema *s, const weft_conj *c, const members *m) {
    counts n = {.max_others = WEFT_NFA_NONE};
    uint32_t max, n_required = 0, n_members = (uint32_t)m->n;
    for (size_t i = 0; i < m->n; i++)
        n_required += m->required[i];
    (void)weft_conj_count(s, c, "minProperties", false, &n.min);
    if (weft_conj_count(s, c, "maxProperties", true, &max)) {
        n.is_most = max < n_members;
        n.max_others = n.is_most ? 0 : max - n_members;
        n.max_others = n.max_others > MAX_OTHERS ? MAX_OTHERS : n.max_others;
    }
    n.min = n.min > n_required ? n.min : 0;
    n.top = n.is_most ? max : n.min > 0 ? n.min : 1;
    if (n.min > n_members + 1) /* the same key twice is one member */
        weft_schema_refuse(s, "'minProperties' that asks for several members without a name");
    if (n.top > MAX_COUNTED)
        weft_schema_refuse(s, "'minProperties' or 'maxProperties' above %d beside optional members",
                           MAX_COUNTED);
    return n;
}

/* One member behind `at` [top + 1], the places where so many have come: `at` become those behind
 * it. */
static void step_member(weft_schema *s, const weft_conj *c, const counts *count, const char *name,
                        bool required, weft_frag *at) {
    weft_nfa *n = s->n;
    weft_frag next[MAX_COUNTED + 1];
    for (uint32_t k = 0; k <= count->top && !n->status; k++)
        next[k] = weft_frag_empty(n);
    for (uint32_t to = 1; to <= count->top && !n->status; to++) {
        weft_frag body = member(s, c, name);
        weft_frag comma = then(s, text(s, ","), weft_schema_blank(s));
        if (n->status)
            return;
        n->states[body.end].a = next[to].start;
        n->states[comma.end].a = body.start;
        /* The last place is reached from the one before it, and from itself unless it is full. */
        uint32_t last = to == count->top && !count->is_most ? to : to - 1;
        for (uint32_t from = to - 1; from <= last && !n->status; from++) {
            uint32_t enter = from == 0 ? body.start : comma.start;
            uint32_t past = required ? enter : next[from].start;
            uint32_t either =
                weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = enter, .b = past});
            if (!n->status)
                n->states[at[from].end].a = either;
        }
    }
    if (count->is_most && !required && !n->status)
        n->states[at[count->top].end].a = next[count->top].start;
    memcpy(at, next, (count->top + 1) * sizeof *at);
}

/* The members in order, then others. */
static weft_frag all_members(weft_schema *s, const weft_conj *c, const members *m, const kinds *k,
                             const counts *count) {
    weft_nfa *n = s->n;
    weft_frag at[MAX_COUNTED + 1];
    if (n->status)
        return weft_frag_never(n);
    at[0] = weft_frag_empty(n);
    for (uint32_t i = 1; i <= count->top; i++)
        at[i] = weft_frag_never(n);
    uint32_t start = at[0].start;
    for (size_t i = 0; i < m->n && !n->status; i++)
        step_member(s, c, count, m->names[i], m->required[i], at);
    weft_frag end = weft_frag_empty(n);
    for (uint32_t i = 0; i <= count->top && !n->status; i++) {
        uint32_t min = count->min > i ? count->min - i : 0;
        weft_frag rest =
            min > 1 ? weft_frag_never(n) : others(s, c, k, i == 0, min, count->max_others);
        if (n->status)
            break;
        n->states[at[i].end].a = rest.start;
        n->states[rest.end].a = end.start;
    }
    return (weft_frag){start, end.end};
}

weft_frag weft_schema_object(weft_schema *s, const weft_conj *c) {
    members m = {0};
    kinds k;
    find_members(s, c, &m);
    find_listed_names(s, c, &m);
    counts count = find_counts(s, c, &m);
    find_kinds(s, c, &m, &k);
    weft_frag f = then(s, text(s, "{"), weft_schema_blank(s));
    f = then(s, f, all_members(s, c, &m, &k, &count));
    f = then(s, f, then(s, weft_schema_blank(s), text(s, "}")));
    free_kinds(&k);
    free_members(s, &m);
    return f;
}
