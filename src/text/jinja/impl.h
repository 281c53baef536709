/* One rendering: the state that evaluation, filters, tests and methods share. Errors are sticky:
 * the first one is kept, functions then give undefined or false, and every loop over data looks at
 * j->failed. All memory is the arena's. */
#ifndef WEFT_TEXT_JINJA_IMPL_H
#define WEFT_TEXT_JINJA_IMPL_H

#include "text/jinja/arena.h"
#include "text/jinja/chars.h"
#include "text/jinja/error.h"
#include "text/jinja/jinja.h"
#include "text/jinja/node.h"

/* Growing text. */
typedef struct jinja_buffer {
    char *text;
    size_t n, room;
} jinja_buffer;

typedef struct jinja_binding {
    jinja_string name;
    jinja_value value;
} jinja_binding;

/* Names assigned in a block; what it lacks is looked up in `outer`. */
typedef struct jinja_scope {
    struct jinja_scope *outer;
    jinja_binding *bindings;
    size_t n, room;
    bool kept; /* a macro refers to it: it outlives its block */
} jinja_scope;

typedef struct jinja {
    jinja_arena arena;
    jinja_limits limits;
    jinja_error *error;
    bool failed;
    uint64_t steps;
    uint32_t depth;
    const jinja_node *at; /* where errors are reported */
    jinja_dict *globals;  /* the input */
    jinja_buffer *out;
    jinja_string captured; /* of the set or filter block that has just ended */
    struct tm now;
} jinja;

struct jinja_macro {
    const jinja_node *define; /* JINJA_DEFINE */
    jinja_scope *scope;       /* where it was defined */
};

struct jinja_loop {
    const jinja_node *node; /* JINJA_FOR */
    jinja_scope *scope;     /* around the loop */
    jinja_list *items;
    size_t index;
    uint32_t depth;      /* of loop(…) calls */
    jinja_value changed; /* what loop.changed was given last */
    bool has_changed;
};

/* Arguments of a call: positional ones, then keywords. */
typedef struct jinja_args {
    jinja_value *items;
    size_t n;
    jinja_binding *keywords;
    size_t n_keywords;
} jinja_args;

struct jinja_function {
    const char *name;
    jinja_value (*call)(jinja *j, const jinja_args *args);
};

typedef jinja_value (*jinja_method_fn)(jinja *j, jinja_value self, const jinja_args *args);
struct jinja_method {
    const char *name;
    jinja_value self;
    jinja_method_fn call;
};

/* ---- run.c: errors and bounds ---- */

/* Keeps the first error, with the position of j->at. */
__attribute__((format(printf, 3, 4))) void jinja_fail(jinja *j, jinja_error_kind kind,
                                                      const char *format, ...);
/* False (and an error) when the budget of steps is used up. */
bool jinja_spend(jinja *j, size_t steps);
/* One level deeper, left by j->depth--; false beyond the limit. */
bool jinja_deeper(jinja *j);
/* NULL after an error; not cleared. */
void *jinja_alloc(jinja *j, size_t size_bytes);
void *jinja_grow(jinja *j, void *memory, size_t old_bytes, size_t new_bytes);
bool jinja_put(jinja *j, jinja_buffer *b, const char *text, size_t n);
static inline bool jinja_puts(jinja *j, jinja_buffer *b, jinja_string s) {
    return jinja_put(j, b, s.text, s.n);
}
static inline jinja_value jinja_buffer_value(const jinja_buffer *b) {
    return jinja_str((jinja_string){b->n ? b->text : "", b->n});
}

/* ---- value.c: what values are and how they compare ---- */

bool jinja_truth(jinja_value v);
bool jinja_equal(jinja *j, jinja_value a, jinja_value b);
/* < 0, 0, > 0; fails for types without an order between them. */
int jinja_order(jinja *j, jinja_value a, jinja_value b, const char *op);
bool jinja_contains(jinja *j, jinja_value container, jinja_value item);
/* "str", "list", … as Python names types. */
const char *jinja_type_name(jinja_value v);
/* The length; fails where there is none. */
size_t jinja_length(jinja *j, jinja_value v);
/* Fails with what an undefined value lacks. */
jinja_value jinja_fail_undefined(jinja *j, jinja_value v);
jinja_value jinja_missing_value(jinja *j, const char *owner, jinja_value key);
/* As a double; numbers only. */
double jinja_number(jinja_value v);

/* ---- list.c, dict.c ---- */

jinja_list *jinja_new_list(jinja *j, jinja_sequence kind, size_t room); /* NULL: an error */
bool jinja_append(jinja *j, jinja_list *list, jinja_value v);
static inline jinja_value jinja_list_value(jinja_list *list) {
    return list ? (jinja_value){.type = JINJA_LIST, .as.list = list} : jinja_undefined();
}
/* The items of anything that can be iterated, in a list that is not to be changed: a list itself,
 * keys of a dict, characters of a string. An iterator is used up. NULL: an error. */
jinja_list *jinja_items(jinja *j, jinja_value v);

jinja_dict *jinja_new_dict(jinja *j); /* NULL: an error */
static inline jinja_value jinja_dict_value(jinja_dict *dict) {
    return dict ? (jinja_value){.type = JINJA_DICT, .as.dict = dict} : jinja_undefined();
}
bool jinja_dict_set(jinja *j, jinja_dict *dict, jinja_value key, jinja_value value);
/* NULL if absent; fails for keys that cannot be hashed. */
jinja_value *jinja_dict_get(jinja *j, const jinja_dict *dict, jinja_value key);
jinja_value *jinja_dict_find(const jinja_dict *dict, jinja_string key);
bool jinja_dict_remove(jinja *j, jinja_dict *dict, jinja_value key);

/* ---- print.c ---- */

/* str(v); strings as they are. */
jinja_string jinja_to_text(jinja *j, jinja_value v);
bool jinja_put_text(jinja *j, jinja_buffer *b, jinja_value v);
bool jinja_put_repr(jinja *j, jinja_buffer *b, jinja_value v);

/* ---- json_write.c, json_read.c ---- */

typedef struct jinja_json_style {
    bool ascii, sort_keys, indented;
    jinja_string indent, item, colon; /* one level's indent; separators */
} jinja_json_style;
bool jinja_put_json(jinja *j, jinja_buffer *b, jinja_value v, const jinja_json_style *style);
/* Python's json.loads. Fails with JINJA_INPUT and the position in the text of the variable `name`;
 * with JINJA_RUNTIME where that is NULL. */
jinja_value jinja_read_json(jinja *j, jinja_string text, const char *name);

/* ---- access.c: attributes, items, slices ---- */

jinja_value jinja_attribute(jinja *j, jinja_value v, jinja_string name); /* v.name */
jinja_value jinja_item(jinja *j, jinja_value v, jinja_value key);        /* v[key] */
/* Bounds that are none are NULL. */
jinja_value jinja_slice(jinja *j, jinja_value v, const jinja_value *start, const jinja_value *stop,
                        const jinja_value *step);

/* ---- arith.c ---- */

jinja_value jinja_binary(jinja *j, jinja_op op, jinja_value a, jinja_value b);
jinja_value jinja_negative(jinja *j, jinja_value v);
jinja_value jinja_concat(jinja *j, jinja_string a, jinja_string b);
jinja_value jinja_escape(jinja *j, jinja_string s); /* for HTML; safe */
/* Gives a string the mark of the one that it was made from. */
static inline jinja_value jinja_marked(jinja_value v, jinja_value from) {
    v.safe = v.type == JINJA_STRING && from.type == JINJA_STRING && from.safe;
    return v;
}

/* ---- format.c ---- */

jinja_value jinja_percent_format(jinja *j, jinja_string format, jinja_value args);  /* "%s" % x */
jinja_value jinja_brace_format(jinja *j, jinja_value self, const jinja_args *args); /* "{}" */

/* ---- time.c ---- */

jinja_value jinja_strftime(jinja *j, jinja_string format);

/* ---- eval.c, exec.c, call.c ---- */

jinja_value jinja_eval(jinja *j, jinja_scope *scope, const jinja_node *n);
typedef enum jinja_flow { JINJA_GO_ON, JINJA_LEAVE, JINJA_AGAIN } jinja_flow;
/* JINJA_LEAVE and JINJA_AGAIN: {% break %} and {% continue %} of the innermost loop. */
jinja_flow jinja_exec(jinja *j, jinja_scope *scope, const jinja_node *first);
void jinja_run_loop(jinja *j, jinja_scope *scope, const jinja_node *n, jinja_value over,
                    uint32_t depth);
void jinja_assign(jinja *j, jinja_scope *scope, const jinja_node *target, jinja_value v);
bool jinja_bind(jinja *j, jinja_scope *scope, jinja_string name, jinja_value v);
bool jinja_make_args(jinja *j, jinja_scope *scope, const jinja_node *list, jinja_args *out);
jinja_value jinja_call(jinja *j, jinja_value callee, const jinja_args *args);
jinja_value jinja_call_with(jinja *j, jinja_value callee, const jinja_args *args,
                            const jinja_macro *caller);
jinja_value jinja_loop_attribute(jinja *j, jinja_loop *loop, jinja_string name);

/* ---- args.c: reading arguments ---- */

/* Argument i, else the keyword `name`; NULL: not given. */
const jinja_value *jinja_arg(const jinja_args *args, size_t i, const char *name);
/* Fails unless there are `low` to `high` positional arguments. */
bool jinja_arity(jinja *j, const jinja_args *args, const char *what, size_t low, size_t high);
/* The integer of an argument; `otherwise` when it is absent. */
int64_t jinja_int_arg(jinja *j, const jinja_value *arg, int64_t otherwise);
/* A string argument; fails for other types. `otherwise` when absent. */
jinja_string jinja_text_arg(jinja *j, const jinja_value *arg, jinja_string otherwise);

/* ---- filters*.c, tests.c, methods.c, globals.c ---- */

typedef jinja_value (*jinja_filter_fn)(jinja *j, jinja_value v, const jinja_args *args);
typedef struct jinja_filter {
    const char *name;
    jinja_filter_fn apply;
} jinja_filter;
extern const jinja_filter jinja_text_filters[], jinja_list_filters[], jinja_value_filters[];

jinja_value jinja_apply_filter(jinja *j, jinja_string name, jinja_value v, const jinja_args *args);
bool jinja_apply_test(jinja *j, jinja_string name, jinja_value v, const jinja_args *args);
bool jinja_has_filter(jinja_string name);
bool jinja_has_test(jinja_string name);
/* Undefined when the type has no such method. */
jinja_value jinja_find_method(jinja *j, jinja_value self, jinja_string name);
jinja_value jinja_global(jinja_string name);

/* Shared by filters and methods. */
jinja_value jinja_replace(jinja *j, jinja_string s, jinja_string from, jinja_string to,
                          int64_t most);
jinja_string jinja_strip(jinja_string s, const jinja_string *chars, bool left, bool right);
typedef enum jinja_case {
    JINJA_UPPER,
    JINJA_LOWER,
    JINJA_CAPITAL,    /* the first character upper, the others lower */
    JINJA_TITLE,      /* every word so; words end at blanks, - ( { [ < (the filter) */
    JINJA_EVERY_WORD, /* words end at whatever is no letter (the method) */
} jinja_case;
jinja_value jinja_change_case(jinja *j, jinja_string s, jinja_case how);
/* The next line of *rest, without its end (which Python's splitlines knows), cut off from *rest.
 * False: *rest was empty. */
bool jinja_next_line(jinja_string *rest, jinja_string *line);
/* The entries of a dict as pairs, its keys or its values, as "dict_items", … */
jinja_list *jinja_dict_view(jinja *j, const jinja_dict *d, const char *view);
jinja_value jinja_pair(jinja *j, jinja_value a, jinja_value b); /* a tuple */
/* The stable order of n keys, as indices in order[n]. */
void jinja_sort(jinja *j, const jinja_value *keys, size_t *order, size_t n, bool reverse);

#endif
