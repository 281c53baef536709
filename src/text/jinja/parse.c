/* Statements: {% … %} tags, output and text, to a tree. */
#include "text/jinja/parse.h"

#include <string.h>
#include "text/jinja/chars.h"

bool jinja_sees(const jinja_parser *p, const char *op) {
    const jinja_token *t = jinja_peek(p);
    return t->kind == JINJA_T_OP && jinja_is_text(t->text, op);
}
bool jinja_sees_name(const jinja_parser *p, const char *name) {
    const jinja_token *t = jinja_peek(p);
    return t->kind == JINJA_T_NAME && jinja_is_text(t->text, name);
}
bool jinja_takes(jinja_parser *p, const char *op) {
    bool sees = jinja_sees(p, op);
    p->at += sees;
    return sees;
}
bool jinja_takes_name(jinja_parser *p, const char *name) {
    bool sees = jinja_sees_name(p, name);
    p->at += sees;
    return sees;
}

bool jinja_expects(jinja_parser *p, const char *op) {
    if (jinja_takes(p, op))
        return true;
    const jinja_token *t = jinja_peek(p);
    bool ends = t->kind == JINJA_T_END || t->kind == JINJA_T_CLOSE;
    return jinja_set_error(p->error, JINJA_SYNTAX, t->line, t->column, "expected '%s', got '%.*s'",
                           op, ends ? 10 : (int)(t->text.n < 40 ? t->text.n : 40),
                           ends ? "end of tag" : t->text.text);
}

bool jinja_expect_name(jinja_parser *p, jinja_string *name) {
    const jinja_token *t = jinja_peek(p);
    if (t->kind != JINJA_T_NAME)
        return jinja_set_error(p->error, JINJA_SYNTAX, t->line, t->column, "expected a name");
    *name = t->text;
    p->at++;
    return true;
}

jinja_node *jinja_unexpected(jinja_parser *p) {
    const jinja_token *t = jinja_peek(p);
    if (t->kind == JINJA_T_END)
        jinja_set_error(p->error, JINJA_SYNTAX, t->line, t->column, "unexpected end of template");
    else
        jinja_set_error(p->error, JINJA_SYNTAX, t->line, t->column, "unexpected '%.*s'",
                        (int)(t->text.n < 40 ? t->text.n : 40), t->text.text);
    return NULL;
}

jinja_node *jinja_new_node(jinja_parser *p, jinja_kind kind) {
    jinja_node *n = jinja_arena_alloc(p->arena, sizeof *n);
    if (!n) {
        bool large = p->arena->over_limit;
        jinja_set_error(p->error, large ? JINJA_SYNTAX : JINJA_MEMORY, 0, 0, "%s",
                        large ? "the template is too large" : "no memory");
        return NULL;
    }
    memset(n, 0, sizeof *n);
    n->kind = (uint8_t)kind;
    n->line = jinja_peek(p)->line;
    n->column = jinja_peek(p)->column;
    return n;
}

bool jinja_enter(jinja_parser *p) {
    const jinja_token *t = jinja_peek(p);
    if (p->depth >= JINJA_PARSE_DEPTH)
        return jinja_set_error(p->error, JINJA_SYNTAX, t->line, t->column, "nested too deeply");
    p->depth++;
    return true;
}

static bool close_tag(jinja_parser *p) {
    if (jinja_peek(p)->kind != JINJA_T_CLOSE)
        return jinja_unexpected(p) != NULL;
    p->at++;
    return true;
}

/* The name of the tag that comes next is one of those in `names`, separated by blanks. */
static bool at_tag(const jinja_parser *p, const char *names) {
    if (jinja_peek(p)->kind != JINJA_T_BLOCK)
        return false;
    const jinja_token *t = jinja_peek(p) + 1;
    for (const char *name = names; t->kind == JINJA_T_NAME && *name;) {
        size_t n = strcspn(name, " ");
        if (jinja_same(t->text, (jinja_string){name, n}))
            return true;
        name += n + (name[n] == ' ');
    }
    return false;
}

static jinja_node *parse_statement(jinja_parser *p);

/* Everything up to a tag of `names`, whose {% and name are taken; *name is its name. */
static bool parse_body(jinja_parser *p, const char *names, jinja_node **body, jinja_string *name) {
    jinja_chain chain = {0};
    if (!jinja_enter(p))
        return false;
    while (!at_tag(p, names)) {
        jinja_node *n = parse_statement(p);
        if (!n)
            return false;
        jinja_chain_add(&chain, n);
    }
    p->depth--;
    *body = chain.first;
    p->at++;
    if (name)
        *name = jinja_peek(p)->text;
    p->at++;
    return true;
}

static jinja_node *parse_group(jinja_parser *p, const char *names) {
    jinja_node *group = jinja_new_node(p, JINJA_GROUP);
    if (!group || !close_tag(p) || !parse_body(p, names, &group->body, NULL) || !close_tag(p))
        return NULL;
    return group;
}

static jinja_node *parse_if(jinja_parser *p) {
    jinja_node *first = jinja_new_node(p, JINJA_IF), *last = first;
    for (jinja_string name; last;) {
        if (!(last->a = jinja_parse_tuple(p, true)) || !close_tag(p) ||
            !parse_body(p, "elif else endif", &last->body, &name))
            return NULL;
        if (jinja_is_text(name, "else")) {
            last->c = parse_group(p, "endif");
            return last->c ? first : NULL;
        }
        if (jinja_is_text(name, "endif"))
            return close_tag(p) ? first : NULL;
        last = last->c = jinja_new_node(p, JINJA_IF);
    }
    return NULL;
}

static jinja_node *parse_for(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_FOR);
    jinja_string name;
    if (!n || !(n->a = jinja_parse_target(p, false)))
        return NULL;
    if (!jinja_takes_name(p, "in"))
        return jinja_unexpected(p);
    if (!(n->b = jinja_parse_tuple(p, true)))
        return NULL;
    if (jinja_takes_name(p, "if") && !(n->c = jinja_parse_expression(p)))
        return NULL;
    n->recursive = jinja_takes_name(p, "recursive");
    p->loops++;
    if (!close_tag(p) || !parse_body(p, "else endfor", &n->body, &name))
        return NULL;
    p->loops--;
    if (jinja_is_text(name, "else"))
        n->d = parse_group(p, "endfor");
    return (jinja_is_text(name, "else") ? n->d != NULL : close_tag(p)) ? n : NULL;
}

/* {% set a, b = … %} or {% set a | filter %} … {% endset %} */
static jinja_node *parse_set(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_SET);
    if (!n || !(n->a = jinja_parse_target(p, true)))
        return NULL;
    if (jinja_takes(p, "=")) {
        n->b = jinja_parse_tuple(p, false);
        return n->b && close_tag(p) ? n : NULL;
    }
    n->kind = JINJA_SETBLOCK;
    if (jinja_sees(p, "|")) {
        jinja_node *text = jinja_new_node(p, JINJA_CAPTURED);
        if (!text || !(n->b = jinja_parse_filters(p, text, false)))
            return NULL;
    }
    return close_tag(p) && parse_body(p, "endset", &n->body, NULL) && close_tag(p) ? n : NULL;
}

static jinja_node *parse_filter(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_FILTERBLOCK);
    jinja_node *text = n ? jinja_new_node(p, JINJA_CAPTURED) : NULL;
    if (!text || !(n->b = jinja_parse_filter_tag(p, text)))
        return NULL;
    return close_tag(p) && parse_body(p, "endfilter", &n->body, NULL) && close_tag(p) ? n : NULL;
}

/* (name, name=default, …) */
static bool parse_parameters(jinja_parser *p, jinja_node **list) {
    jinja_chain chain = {0};
    bool defaults = false;
    if (!jinja_expects(p, "("))
        return false;
    while (!jinja_sees(p, ")")) {
        if (chain.first && !jinja_expects(p, ","))
            return false;
        jinja_node *n = jinja_new_node(p, JINJA_KEYWORD);
        if (!n || !jinja_expect_name(p, &n->text))
            return false;
        if (jinja_takes(p, "=")) {
            defaults = true;
            if (!(n->a = jinja_parse_expression(p)))
                return false;
        } else if (defaults) {
            return jinja_set_error(p->error, JINJA_SYNTAX, n->line, n->column,
                                   "non-default argument follows default argument");
        }
        jinja_chain_add(&chain, n);
    }
    *list = chain.first;
    return jinja_expects(p, ")");
}

/* The body of a macro or caller, `n` being its JINJA_DEFINE; loops outside of it can't be left. */
static bool parse_macro_body(jinja_parser *p, jinja_node *n, const char *end) {
    uint8_t uses = p->uses;
    unsigned loops = p->loops;
    p->uses = 0;
    p->loops = 0;
    if (!close_tag(p) || !parse_body(p, end, &n->body, NULL) || !close_tag(p))
        return false;
    n->op = p->uses;
    p->uses = uses | p->uses; /* a macro in a macro may use the outer one's caller */
    p->loops = loops;
    return true;
}

static jinja_node *parse_macro(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_DEFINE);
    if (!n || !jinja_expect_name(p, &n->text) || !parse_parameters(p, &n->list))
        return NULL;
    return parse_macro_body(p, n, "endmacro") ? n : NULL;
}

static jinja_node *parse_call(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_CALLBLOCK);
    if (!n || !(n->b = jinja_new_node(p, JINJA_DEFINE)))
        return NULL;
    n->b->text = JINJA_TEXT("caller");
    if (jinja_sees(p, "(") && !parse_parameters(p, &n->b->list))
        return NULL;
    const jinja_token *at = jinja_peek(p);
    if (!(n->a = jinja_parse_expression(p)))
        return NULL;
    if (n->a->kind != JINJA_CALL) {
        jinja_set_error(p->error, JINJA_SYNTAX, at->line, at->column, "expected a call");
        return NULL;
    }
    return parse_macro_body(p, n->b, "endcall") ? n : NULL;
}

static jinja_node *parse_with(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_SCOPE);
    jinja_chain chain = {0};
    while (n && jinja_peek(p)->kind != JINJA_T_CLOSE) {
        jinja_node *set = jinja_new_node(p, JINJA_SET);
        if ((chain.first && !jinja_expects(p, ",")) || !set ||
            !(set->a = jinja_parse_target(p, false)) || !jinja_expects(p, "=") ||
            !(set->b = jinja_parse_expression(p)))
            return NULL;
        jinja_chain_add(&chain, set);
    }
    if (!n || !close_tag(p) || !parse_body(p, "endwith", &n->body, NULL) || !close_tag(p))
        return NULL;
    n->list = chain.first;
    return n;
}

/* {% generation %}: marks what the assistant said, for training; here it is only a scope. */
static jinja_node *parse_generation(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_SCOPE);
    if (!n || !close_tag(p) || !parse_body(p, "endgeneration", &n->body, NULL) || !close_tag(p))
        return NULL;
    return n;
}

static jinja_node *parse_jump(jinja_parser *p, jinja_kind kind) {
    jinja_node *n = jinja_new_node(p, kind);
    if (n && p->loops == 0) {
        jinja_set_error(p->error, JINJA_SYNTAX, n->line, n->column, "not inside a loop");
        return NULL;
    }
    return n && close_tag(p) ? n : NULL;
}

static jinja_node *parse_block(jinja_parser *p) {
    const jinja_token *tag = jinja_peek(p);
    if (tag->kind != JINJA_T_NAME)
        return jinja_unexpected(p);
    p->at++;
    if (jinja_is_text(tag->text, "if"))
        return parse_if(p);
    if (jinja_is_text(tag->text, "for"))
        return parse_for(p);
    if (jinja_is_text(tag->text, "set"))
        return parse_set(p);
    if (jinja_is_text(tag->text, "macro"))
        return parse_macro(p);
    if (jinja_is_text(tag->text, "filter"))
        return parse_filter(p);
    if (jinja_is_text(tag->text, "call"))
        return parse_call(p);
    if (jinja_is_text(tag->text, "with"))
        return parse_with(p);
    if (jinja_is_text(tag->text, "generation"))
        return parse_generation(p);
    if (jinja_is_text(tag->text, "break"))
        return parse_jump(p, JINJA_BREAK);
    if (jinja_is_text(tag->text, "continue"))
        return parse_jump(p, JINJA_CONTINUE);
    jinja_set_error(p->error, JINJA_SYNTAX, tag->line, tag->column, "unknown tag '%.*s'",
                    (int)(tag->text.n < 40 ? tag->text.n : 40), tag->text.text);
    return NULL;
}

static jinja_node *parse_statement(jinja_parser *p) {
    const jinja_token *t = jinja_peek(p);
    if (t->kind == JINJA_T_DATA) {
        jinja_node *n = jinja_new_node(p, JINJA_DATA);
        if (n)
            n->text = t->text;
        p->at++;
        return n;
    }
    if (t->kind == JINJA_T_OUT) {
        p->at++;
        jinja_node *n = jinja_new_node(p, JINJA_OUTPUT);
        if (!n || !(n->a = jinja_parse_tuple(p, false)) || !close_tag(p))
            return NULL;
        return n;
    }
    if (t->kind == JINJA_T_BLOCK) {
        p->at++;
        return parse_block(p);
    }
    return jinja_unexpected(p);
}

jinja_node *jinja_parse_all(jinja_parser *p) {
    jinja_node *all = jinja_new_node(p, JINJA_GROUP);
    jinja_chain chain = {0};
    while (all && jinja_peek(p)->kind != JINJA_T_END) {
        jinja_node *n = parse_statement(p);
        if (!n)
            return NULL;
        jinja_chain_add(&chain, n);
        all->body = chain.first;
    }
    return all;
}
