/* Inside of the JSON Schema compiler. A value must fit several schemas at once (a schema, what it
 * refers to, its allOf): these are kept as a list, a conjunction, and keywords are looked up in all
 * of its members. What is generated may be narrower than the schema, never wider: members of an
 * object come in the order of `properties`, and a schema that does not speak of other members gets
 * none. */
#ifndef WEFT_TEXT_GRAMMAR_SCHEMA_H
#define WEFT_TEXT_GRAMMAR_SCHEMA_H

#include "base/json.h"
#include "text/grammar/names.h"
#include "text/grammar/nfa.h"

#define WEFT_CONJ_MAX 48

typedef struct weft_conj {
    const weft_json *items[WEFT_CONJ_MAX]; /* objects; booleans are resolved */
    size_t n;
    const weft_json *done[WEFT_CONJ_MAX]; /* lists of choices already made */
    size_t n_done;
    bool never; /* one of them was false */
} weft_conj;

enum {
    WEFT_TYPE_NULL = 1,
    WEFT_TYPE_BOOLEAN = 2,
    WEFT_TYPE_OBJECT = 4,
    WEFT_TYPE_ARRAY = 8,
    WEFT_TYPE_STRING = 16,
    WEFT_TYPE_NUMBER = 32, /* not whole */
    WEFT_TYPE_INTEGER = 64,
    WEFT_TYPE_ALL = 127
};

/* Keywords of schemas that are made here (schema_logic.c); no user's schema has them. */
#define WEFT_FRACTION "\1fraction"     /* a type: numbers that are not whole */
#define WEFT_NOT_VALUES "\1values"     /* strings: none of these */
#define WEFT_NOT_PATTERN "\1pattern"   /* strings: not matched */
#define WEFT_NOT_FORMAT "\1format"     /* strings: not of this format */
#define WEFT_NOT_MULTIPLE "\1multiple" /* numbers: no multiple of this */
#define WEFT_ABSENT "\1absent"         /* objects: none of these members */

/* A schema that says by other keywords what one says of `source`. */
typedef struct weft_schema_made {
    const void *source;
    int kind;
    weft_json *schema; /* owned */
} weft_schema_made;

typedef struct weft_schema {
    weft_nfa *n;
    const weft_json *root;
    weft_names names; /* of rules, by the conjunction they stand for */
    struct weft_schema_work *work;
    size_t n_work, work_room;
    weft_schema_made *made;
    size_t n_made, made_room;
    const weft_json *listing;    /* the values that are looked at are out of this list */
    size_t n_combinations;       /* of choices, looked at so far */
    uint32_t blank, string, any; /* rules that all share; WEFT_NFA_NONE: not made yet */
    uint32_t block, part;        /* the same, of strings: 512 characters, and less than that */
} weft_schema;

/* Fails with WEFT_E_UNSUPPORTED: "JSON Schema: " and this. */
__attribute__((format(printf, 2, 3))) void weft_schema_refuse(weft_schema *s, const char *format,
                                                              ...);

/* Fails with WEFT_E_FORMAT: what is no schema. */
void weft_schema_fail(weft_schema *s, const char *what);

/* Adds a schema to a conjunction, with all that it refers to. */
void weft_conj_add(weft_schema *s, weft_conj *c, const weft_json *schema);
/* The rule of the values that fit; its body is made later. */
uint32_t weft_schema_rule(weft_schema *s, const weft_conj *c);
weft_frag weft_schema_any(weft_schema *s);
weft_frag weft_schema_blank(weft_schema *s);
/* A JSON value as text, "key" included. */
weft_frag weft_schema_literal(weft_schema *s, const weft_json *value);
weft_frag weft_schema_quoted(weft_schema *s, const char *text, size_t n_bytes);

/* The first member of the conjunction that has the keyword; NULL: none. */
const weft_json *weft_conj_get(const weft_conj *c, const char *name);
/* What unevaluatedProperties (unevaluatedItems) of all schemas say of a member (of item `index`,
 * where `name` is NULL) that they don't see evaluated is added to `to`. */
void weft_schema_add_unevaluated(weft_schema *s, const weft_conj *c, const char *name, size_t index,
                                 weft_conj *to);
/* Whether an object must have the member. */
bool weft_conj_requires(const weft_conj *c, const char *name);
/* What all schemas say of the names of members. */
void weft_schema_names_of_members(weft_schema *s, const weft_conj *c, weft_conj *names);
/* The values that const or enum lists and that fit, each once: their number; the first `room` of
 * them are put into `out`. */
size_t weft_schema_listed(weft_schema *s, const weft_conj *c, const weft_json **out, size_t room);
/* A bound that must be a whole number: the largest (`upper`: smallest) of all; false: none. */
bool weft_conj_count(weft_schema *s, const weft_conj *c, const char *name, bool upper,
                     uint32_t *out);
/* What $ref `ref` refers to; NULL: the status is set. */
const weft_json *weft_schema_resolve(weft_schema *s, const weft_json *ref);
/* Whether a value that is listed somewhere fits all of the conjunction. */
bool weft_schema_fits(weft_schema *s, const weft_conj *c, const weft_json *value);
/* Whether const and enum of one schema allow a value. */
bool weft_schema_is_listed(const weft_json *schema, const weft_json *value);
int weft_schema_type_of_value(const weft_json *value);
/* Whether a text of printable ASCII matches a pattern (others are refused). */
bool weft_schema_matches(weft_schema *s, const char *pattern, size_t n_pattern, const char *text,
                         size_t n);

/* Schemas of what does not fit one, of if/then/else, and of dependent… members; kept until
 * weft_schema_free_made. NULL: the status is set. */
const weft_json *weft_schema_not(weft_schema *s, const weft_json *schema);
const weft_json *weft_schema_if(weft_schema *s, const weft_json *schema);
const weft_json *weft_schema_dependent(weft_schema *s, const weft_json *dependencies);
void weft_schema_free_made(weft_schema *s);

bool weft_json_equal(const weft_json *x, const weft_json *y, int depth);
/* The types a schema allows by its type (and multipleOf); and by const, enum and choices as well.
 */
int weft_schema_named_types(weft_schema *s, const weft_json *schema);
int weft_schema_types(weft_schema *s, const weft_json *schema);
/* The types that the keywords are about, for schemas that name none. */
int weft_schema_implied_types(const weft_conj *c);
/* Whether no value fits both. False where that cannot be seen. */
bool weft_schema_disjoint(weft_schema *s, const weft_json *x, const weft_json *y);

weft_frag weft_schema_object(weft_schema *s, const weft_conj *c);
weft_frag weft_schema_array(weft_schema *s, const weft_conj *c);
weft_frag weft_schema_string(weft_schema *s, const weft_conj *c);
/* `types`: of WEFT_TYPE_NUMBER and WEFT_TYPE_INTEGER. */
weft_frag weft_schema_number(weft_schema *s, const weft_conj *c, int types);

/* A decimal number: units / 10^decimals. */
typedef struct weft_step {
    int64_t units;
    int decimals;
} weft_step;
/* The shortest decimal number that `x` is the double of; false: it has too many digits. */
bool weft_step_from(double x, weft_step *out);
/* The value of a multipleOf; false: it is none, and the status is set. */
bool weft_schema_step_of(weft_schema *s, const weft_json *v, weft_step *out);
/* The least common multiple of all multipleOf, and of 1 with `whole`; units 0: there is none. */
weft_step weft_schema_step(weft_schema *s, const weft_conj *c, bool whole);
bool weft_step_divides(weft_step step, weft_step x);
/* Multiples of up to 15 digits; `all`: with every number of zeros behind them, without exponents,
 * so that what is left is no multiple. */
weft_frag weft_schema_multiples(weft_nfa *n, weft_step step, bool all);

/* Whether a format is more than an annotation. */
bool weft_schema_knows_format(const weft_json *format);
/* Whether a text is of a format, by its name; what only some validators take is refused. */
bool weft_schema_is_of_format(weft_schema *s, const char *format, const char *text, size_t n);
/* Any string, with its quotes. */
weft_frag weft_schema_free_string(weft_schema *s);
/* A key that is none of `names`, fits `conj` (of propertyNames; NULL: any), and of the patterns
 * matches number `mine` alone (n_patterns: none of them). */
typedef struct weft_key {
    const weft_conj *conj;
    const weft_json *const *patterns; /* [n_patterns] */
    size_t n_patterns, mine;
    const char *const *names; /* [n_names] */
    size_t n_names;
} weft_key;
weft_frag weft_schema_key(weft_schema *s, const weft_key *key);
/* A string that is none of names [n]: unescaped characters only, so that no other spelling of a
 * name passes. */
weft_frag weft_schema_other_key(weft_schema *s, const char *const *names, size_t n);

#endif
