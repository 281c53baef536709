/* Between the two halves of the parser: statements (parse.c) and expressions (parse_expr.c). A
 * function that fails has set *parser->error and gives NULL or false. */
#ifndef WEFT_TEXT_JINJA_PARSE_H
#define WEFT_TEXT_JINJA_PARSE_H

#include "text/jinja/lex.h"
#include "text/jinja/node.h"

/* Of expressions (three each) and of blocks inside each other. */
#define JINJA_PARSE_DEPTH 300

typedef struct jinja_parser {
    jinja_arena *arena;
    jinja_error *error;
    const jinja_token *tokens; /* ended by JINJA_T_END */
    size_t at;
    unsigned depth, loops; /* loops: that break and continue may leave */
    uint8_t uses;          /* JINJA_USES_…, of the macro that is being parsed */
} jinja_parser;

/* Collects nodes in order. */
typedef struct jinja_chain {
    jinja_node *first, *last;
} jinja_chain;
static inline void jinja_chain_add(jinja_chain *c, jinja_node *n) {
    if (c->last)
        c->last->next = n;
    else
        c->first = n;
    c->last = n;
}

static inline const jinja_token *jinja_peek(const jinja_parser *p) {
    return &p->tokens[p->at];
}
/* The next token is this operator or name. */
bool jinja_sees(const jinja_parser *p, const char *op);
bool jinja_sees_name(const jinja_parser *p, const char *name);
/* The same, and takes it. */
bool jinja_takes(jinja_parser *p, const char *op);
bool jinja_takes_name(jinja_parser *p, const char *name);
bool jinja_expects(jinja_parser *p, const char *op);
bool jinja_expect_name(jinja_parser *p, jinja_string *name);

jinja_node *jinja_new_node(jinja_parser *p, jinja_kind kind);
jinja_node *jinja_unexpected(jinja_parser *p); /* fails at the next token */
bool jinja_enter(jinja_parser *p);             /* one level deeper, left by p->depth-- */

jinja_node *jinja_parse_expression(jinja_parser *p);
/* Without `a if b`: what `for x in` takes. */
jinja_node *jinja_parse_bare_expression(jinja_parser *p);
/* Expressions separated by commas are a tuple; at least one. */
jinja_node *jinja_parse_tuple(jinja_parser *p, bool bare);
/* Names, one or more, for assignment; ns.name too where `attributes`. */
jinja_node *jinja_parse_target(jinja_parser *p, bool attributes);
/* |name(…)|name(…) over `operand`, with `is` tests where `all`. */
jinja_node *jinja_parse_filters(jinja_parser *p, jinja_node *operand, bool all);
/* name or name(…) after {% filter %}, and what follows by |. */
jinja_node *jinja_parse_filter_tag(jinja_parser *p, jinja_node *operand);
bool jinja_parse_arguments(jinja_parser *p, jinja_node **list);

/* The body of one template, as a JINJA_GROUP. */
jinja_node *jinja_parse_all(jinja_parser *p);

#endif
