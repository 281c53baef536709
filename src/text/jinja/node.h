/* The tree of a parsed template. Immutable once parsed. */
#ifndef WEFT_TEXT_JINJA_NODE_H
#define WEFT_TEXT_JINJA_NODE_H

#include "text/jinja/value.h"

/* Each kind with the members of jinja_node that it uses. */
typedef enum jinja_kind {
    /* Expressions */
    JINJA_CONST,    /* value */
    JINJA_NAME,     /* text */
    JINJA_MAKE,     /* list: items; op: JINJA_A_LIST or JINJA_A_TUPLE */
    JINJA_MAKEDICT, /* list: JINJA_PAIR */
    JINJA_PAIR,     /* a: key, b: value */
    JINJA_CONCAT,   /* list: operands of ~ */
    JINJA_AND,      /* a, b */
    JINJA_OR,       /* a, b */
    JINJA_NOT,      /* a */
    JINJA_SIGN,     /* a; op: JINJA_ADD or JINJA_SUB */
    JINJA_BINARY,   /* a op b */
    JINJA_COMPARE,  /* a, list: JINJA_OPERAND */
    JINJA_OPERAND,  /* op a */
    JINJA_CHOICE,   /* a if b else c; c may be NULL */
    JINJA_ATTR,     /* a.text */
    JINJA_ITEM,     /* a[b] */
    JINJA_SLICE,    /* a[b:c:d], each bound may be NULL */
    JINJA_CALL,     /* a(list); keyword arguments are JINJA_KEYWORD */
    JINJA_KEYWORD,  /* text=a */
    JINJA_FILTER,   /* a|text(list) */
    JINJA_TEST,     /* a is text(list) */
    JINJA_CAPTURED, /* the text of a set or filter block */
    /* Statements */
    JINJA_DATA,        /* text */
    JINJA_OUTPUT,      /* {{ a }} */
    JINJA_IF,          /* a: condition, body; c: elif, or JINJA_GROUP */
    JINJA_GROUP,       /* body, in the same scope */
    JINJA_SCOPE,       /* body, in its own scope; list: JINJA_SET first (with) */
    JINJA_FOR,         /* a: target, b: iterable, c: condition, body; d: JINJA_GROUP of else */
    JINJA_SET,         /* a: target, b: value */
    JINJA_SETBLOCK,    /* a: target, body; b: filters over JINJA_CAPTURED, or NULL */
    JINJA_FILTERBLOCK, /* b: filters over JINJA_CAPTURED, body */
    JINJA_DEFINE,      /* macro text(list: JINJA_KEYWORD, a: default or NULL), body; op: uses */
    JINJA_CALLBLOCK,   /* a: JINJA_CALL; b: JINJA_DEFINE of the caller */
    JINJA_BREAK,
    JINJA_CONTINUE
} jinja_kind;

typedef enum jinja_op {
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOORDIV,
    JINJA_MOD,
    JINJA_POW,
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN
} jinja_op;

/* What a macro's body mentions (JINJA_DEFINE's op). */
enum { JINJA_USES_CALLER = 1, JINJA_USES_VARARGS = 2, JINJA_USES_KWARGS = 4 };

typedef struct jinja_node {
    uint8_t kind, op;
    bool recursive; /* JINJA_FOR */
    uint32_t line, column;
    jinja_string text;
    jinja_value value;
    struct jinja_node *a, *b, *c, *d;
    struct jinja_node *list, *body;
    struct jinja_node *next; /* in a list or body */
} jinja_node;

#endif
