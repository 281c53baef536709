/* Values of the template language: those of Python that templates can make. Strings are slices of
 * memory that lives as long as the rendering; lists and dicts are shared by reference. */
#ifndef WEFT_TEXT_JINJA_VALUE_H
#define WEFT_TEXT_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum jinja_type {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_BIG, /* an integer beyond 64 bits: its digits; printed and compared, not calculated with
                */
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_DICT,
    JINJA_NAMESPACE,
    JINJA_LOOP,     /* the variable `loop` */
    JINJA_MACRO,    /* a macro or a caller */
    JINJA_FUNCTION, /* range, namespace, … */
    JINJA_METHOD    /* bound to its object */
} jinja_type;

typedef struct jinja_string {
    const char *text; /* valid UTF-8, not NUL-terminated */
    size_t n;         /* bytes */
} jinja_string;

/* What exactly a JINJA_LIST is: they differ in printing, truth and what they allow. */
typedef enum jinja_sequence {
    JINJA_A_LIST,
    JINJA_A_TUPLE,
    JINJA_A_RANGE,
    JINJA_A_VIEW,     /* dict.keys(), .values(), .items() */
    JINJA_AN_ITERATOR /* of map, select and their like: read once, always true, without a length */
} jinja_sequence;

typedef struct jinja_list jinja_list;
typedef struct jinja_dict jinja_dict;
typedef struct jinja_loop jinja_loop;
typedef struct jinja_macro jinja_macro;
typedef struct jinja_method jinja_method;
typedef struct jinja_function jinja_function;
typedef struct jinja_missing jinja_missing;

typedef struct jinja_value {
    jinja_type type;
    bool safe; /* STRING: marked by |safe: what is added to it by + gets escaped for HTML */
    union {
        bool b;
        int64_t i;
        double f;
        jinja_string s;               /* STRING, BIG */
        jinja_list *list;             /* LIST */
        jinja_dict *dict;             /* DICT, NAMESPACE */
        jinja_loop *loop;             /* LOOP */
        const jinja_macro *macro;     /* MACRO */
        const jinja_function *fn;     /* FUNCTION */
        const jinja_method *method;   /* METHOD */
        const jinja_missing *missing; /* UNDEFINED: what was looked for; may be NULL */
    } as;
} jinja_value;

struct jinja_list {
    jinja_value *items;
    size_t n, room;
    jinja_sequence kind;
    const char *view; /* A_VIEW: "dict_items" … */
};

typedef struct jinja_entry {
    jinja_value key, value;
    uint32_t hash;
} jinja_entry;

struct jinja_dict {
    jinja_entry *entries; /* in the order of insertion */
    size_t n, room;
    uint32_t *slots; /* open addressing, entry + 1, 0: free; NULL while few */
    size_t n_slots;  /* a power of two */
};

/* Why a value is undefined, for the error that using it makes. */
struct jinja_missing {
    const char *owner; /* "dict object", …; NULL: a variable; "" : `key` is the whole message */
    jinja_value key;
};

#define JINJA_TEXT(literal) ((jinja_string){literal, sizeof(literal) - 1})

static inline jinja_value jinja_none(void) {
    return (jinja_value){.type = JINJA_NONE};
}
static inline jinja_value jinja_undefined(void) {
    return (jinja_value){.type = JINJA_UNDEFINED, .as.missing = NULL};
}
static inline jinja_value jinja_bool(bool b) {
    return (jinja_value){.type = JINJA_BOOL, .as.b = b};
}
static inline jinja_value jinja_int(int64_t i) {
    return (jinja_value){.type = JINJA_INT, .as.i = i};
}
static inline jinja_value jinja_float(double f) {
    return (jinja_value){.type = JINJA_FLOAT, .as.f = f};
}
static inline jinja_value jinja_str(jinja_string s) {
    return (jinja_value){.type = JINJA_STRING, .as.s = s};
}
static inline bool jinja_is_number(jinja_value v) {
    return v.type == JINJA_BOOL || v.type == JINJA_INT || v.type == JINJA_FLOAT ||
           v.type == JINJA_BIG;
}
static inline bool jinja_is_callable(jinja_value v) {
    return v.type == JINJA_MACRO || v.type == JINJA_FUNCTION || v.type == JINJA_METHOD ||
           v.type == JINJA_LOOP;
}

#endif
