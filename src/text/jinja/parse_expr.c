/* Expressions, by precedence from loose to tight: if-else, or, and, not, comparisons, + -, ~,
 * * / // %, **, signs, then what follows an operand: attributes, items, calls, filters, tests. */
#include "text/jinja/parse.h"

#include "text/jinja/chars.h"
#include "text/jinja/number.h"

static jinja_node *parse_unary(jinja_parser *p, bool filters);

static jinja_node *with_operands(jinja_node *n, jinja_node *a, jinja_node *b) {
    if (!n || !a || !b)
        return NULL;
    n->a = a;
    n->b = b;
    return n;
}

/* ---- Operands ---- */

static jinja_node *parse_list(jinja_parser *p, jinja_node *n, const char *end) {
    jinja_chain chain = {0};
    while (!jinja_sees(p, end)) {
        if (chain.first && !jinja_expects(p, ","))
            return NULL;
        if (jinja_sees(p, end))
            break;
        jinja_node *item = jinja_parse_expression(p);
        if (!item)
            return NULL;
        jinja_chain_add(&chain, item);
    }
    n->list = chain.first;
    return jinja_expects(p, end) ? n : NULL;
}

static jinja_node *parse_dict(jinja_parser *p, jinja_node *n) {
    jinja_chain chain = {0};
    while (!jinja_sees(p, "}")) {
        if (chain.first && !jinja_expects(p, ","))
            return NULL;
        if (jinja_sees(p, "}"))
            break;
        jinja_node *pair = jinja_new_node(p, JINJA_PAIR);
        if (!pair || !(pair->a = jinja_parse_expression(p)) || !jinja_expects(p, ":") ||
            !(pair->b = jinja_parse_expression(p)))
            return NULL;
        jinja_chain_add(&chain, pair);
    }
    n->list = chain.first;
    return jinja_expects(p, "}") ? n : NULL;
}

/* After the ( */
static jinja_node *parse_parenthesis(jinja_parser *p) {
    jinja_node *n;
    if (jinja_sees(p, ")")) {
        n = jinja_new_node(p, JINJA_MAKE);
        if (n)
            n->op = JINJA_A_TUPLE;
    } else {
        n = jinja_parse_tuple(p, false);
    }
    return n && jinja_expects(p, ")") ? n : NULL;
}

static jinja_node *parse_number(jinja_parser *p, jinja_node *n) {
    const jinja_token *t = jinja_peek(p);
    if (!jinja_parse_number(p->arena, t->text, t->kind == JINJA_T_FLOAT, &n->value)) {
        if (p->arena->over_limit || t->text.n > 400)
            jinja_set_error(p->error, JINJA_SYNTAX, t->line, t->column, "number is too large");
        return jinja_unexpected(p);
    }
    p->at++;
    return n;
}

/* Strings that follow each other are one. */
static jinja_node *parse_string(jinja_parser *p, jinja_node *n) {
    jinja_string all = jinja_peek(p)->text;
    p->at++;
    while (jinja_peek(p)->kind == JINJA_T_STRING) {
        jinja_string more = jinja_peek(p)->text;
        char *joined = jinja_arena_alloc(p->arena, all.n + more.n);
        if (!joined) {
            jinja_set_error(p->error, JINJA_MEMORY, 0, 0, "no memory");
            return NULL;
        }
        for (size_t i = 0; i < all.n + more.n; i++)
            joined[i] = i < all.n ? all.text[i] : more.text[i - all.n];
        all = (jinja_string){joined, all.n + more.n};
        p->at++;
    }
    n->value = jinja_str(all);
    return n;
}

static void note_use(jinja_parser *p, jinja_string name) {
    if (jinja_is_text(name, "caller"))
        p->uses |= JINJA_USES_CALLER;
    else if (jinja_is_text(name, "varargs"))
        p->uses |= JINJA_USES_VARARGS;
    else if (jinja_is_text(name, "kwargs"))
        p->uses |= JINJA_USES_KWARGS;
}

static jinja_node *parse_name(jinja_parser *p, jinja_node *n) {
    jinja_string name = jinja_peek(p)->text;
    p->at++;
    if (jinja_is_text(name, "true") || jinja_is_text(name, "True")) {
        n->value = jinja_bool(true);
    } else if (jinja_is_text(name, "false") || jinja_is_text(name, "False")) {
        n->value = jinja_bool(false);
    } else if (jinja_is_text(name, "none") || jinja_is_text(name, "None")) {
        n->value = jinja_none();
    } else {
        n->kind = JINJA_NAME;
        n->text = name;
        note_use(p, name);
    }
    return n;
}

static jinja_node *parse_primary(jinja_parser *p) {
    jinja_node *n = jinja_new_node(p, JINJA_CONST);
    if (!n)
        return NULL;
    switch (jinja_peek(p)->kind) {
    case JINJA_T_NAME:
        return parse_name(p, n);
    case JINJA_T_STRING:
        return parse_string(p, n);
    case JINJA_T_INT:
    case JINJA_T_FLOAT:
        return parse_number(p, n);
    default:
        break;
    }
    if (jinja_takes(p, "("))
        return parse_parenthesis(p);
    if (jinja_takes(p, "[")) {
        n->kind = JINJA_MAKE;
        n->op = JINJA_A_LIST;
        return parse_list(p, n, "]");
    }
    if (jinja_takes(p, "{")) {
        n->kind = JINJA_MAKEDICT;
        return parse_dict(p, n);
    }
    return jinja_unexpected(p);
}

/* ---- What follows an operand ---- */

bool jinja_parse_arguments(jinja_parser *p, jinja_node **list) {
    jinja_chain chain = {0};
    bool keywords = false;
    if (!jinja_expects(p, "("))
        return false;
    while (!jinja_sees(p, ")")) {
        if (chain.first && !jinja_expects(p, ","))
            return false;
        if (jinja_sees(p, ")"))
            break;
        jinja_node *n;
        const jinja_token *t = jinja_peek(p);
        bool keyword =
            t->kind == JINJA_T_NAME && t[1].kind == JINJA_T_OP && jinja_is_text(t[1].text, "=");
        if (keyword) {
            n = jinja_new_node(p, JINJA_KEYWORD);
            if (!n)
                return false;
            n->text = t->text;
            p->at += 2;
            n->a = jinja_parse_expression(p);
            keywords = true;
            if (!n->a)
                return false;
        } else {
            n = keywords ? jinja_unexpected(p) : jinja_parse_expression(p);
        }
        if (!n)
            return false;
        jinja_chain_add(&chain, n);
    }
    *list = chain.first;
    return jinja_expects(p, ")");
}

/* a[b], a[b:c:d] */
static jinja_node *parse_item(jinja_parser *p, jinja_node *operand) {
    jinja_node *n = jinja_new_node(p, JINJA_ITEM);
    if (!n || !jinja_expects(p, "["))
        return NULL;
    n->a = operand;
    jinja_node **bounds[] = {&n->b, &n->c, &n->d};
    for (size_t i = 0;; i++) {
        bool empty = jinja_sees(p, ":") || jinja_sees(p, "]");
        if (i == 0 && jinja_sees(p, "]"))
            return jinja_unexpected(p);
        if (!empty && !(*bounds[i] = jinja_parse_expression(p)))
            return NULL;
        if (i == 2 || !jinja_takes(p, ":"))
            break;
        n->kind = JINJA_SLICE;
    }
    return jinja_expects(p, "]") ? n : NULL;
}

static jinja_node *parse_attribute(jinja_parser *p, jinja_node *operand) {
    jinja_node *n = jinja_new_node(p, JINJA_ATTR);
    p->at++;
    const jinja_token *t = jinja_peek(p);
    if (!n)
        return NULL;
    n->a = operand;
    if (t->kind == JINJA_T_INT) { /* a.0 is a[0] */
        n->kind = JINJA_ITEM;
        n->b = jinja_new_node(p, JINJA_CONST);
        return n->b && parse_number(p, n->b) ? n : NULL;
    }
    return jinja_expect_name(p, &n->text) ? n : NULL;
}

static jinja_node *parse_postfix(jinja_parser *p, jinja_node *n) {
    while (n) {
        if (jinja_sees(p, ".")) {
            n = parse_attribute(p, n);
        } else if (jinja_sees(p, "[")) {
            n = parse_item(p, n);
        } else if (jinja_sees(p, "(")) {
            jinja_node *call = jinja_new_node(p, JINJA_CALL);
            if (!call || !jinja_parse_arguments(p, &call->list))
                return NULL;
            call->a = n;
            n = call;
        } else {
            break;
        }
    }
    return n;
}

/* Filters and tests may have dotted names; none of ours has. */
static bool parse_dotted(jinja_parser *p, jinja_string *name) {
    if (!jinja_expect_name(p, name))
        return false;
    while (jinja_takes(p, ".")) {
        jinja_string part;
        if (!jinja_expect_name(p, &part))
            return false;
        *name = part;
    }
    return true;
}

static jinja_node *parse_filter(jinja_parser *p, jinja_node *operand) {
    jinja_node *n = jinja_new_node(p, JINJA_FILTER);
    if (!n || !parse_dotted(p, &n->text))
        return NULL;
    n->a = operand;
    return !jinja_sees(p, "(") || jinja_parse_arguments(p, &n->list) ? n : NULL;
}

/* The one argument of a test that is written without parentheses. */
static bool test_argument_follows(const jinja_parser *p) {
    const jinja_token *t = jinja_peek(p);
    if (t->kind == JINJA_T_NAME)
        return !jinja_sees_name(p, "else") && !jinja_sees_name(p, "or") &&
               !jinja_sees_name(p, "and") && !jinja_sees_name(p, "is");
    return t->kind == JINJA_T_STRING || t->kind == JINJA_T_INT || t->kind == JINJA_T_FLOAT ||
           jinja_sees(p, "[") || jinja_sees(p, "{");
}

static jinja_node *parse_test(jinja_parser *p, jinja_node *operand) {
    jinja_node *not = jinja_takes_name(p, "not") ? jinja_new_node(p, JINJA_NOT) : NULL;
    jinja_node *n = jinja_new_node(p, JINJA_TEST);
    if (!n || p->error->kind || !parse_dotted(p, &n->text))
        return NULL;
    n->a = operand;
    if (jinja_sees(p, "(")) {
        if (!jinja_parse_arguments(p, &n->list))
            return NULL;
    } else if (test_argument_follows(p)) {
        if (!(n->list = parse_postfix(p, parse_primary(p))))
            return NULL;
    }
    if (!not )
        return n;
    not ->a = n;
    return not ;
}

jinja_node *jinja_parse_filters(jinja_parser *p, jinja_node *n, bool all) {
    while (n) {
        if (jinja_takes(p, "|")) {
            n = parse_filter(p, n);
        } else if (all && jinja_takes_name(p, "is")) {
            n = parse_test(p, n);
        } else if (all && jinja_sees(p, "(")) {
            jinja_node *call = jinja_new_node(p, JINJA_CALL);
            if (!call || !jinja_parse_arguments(p, &call->list))
                return NULL;
            call->a = n;
            n = call;
        } else {
            break;
        }
    }
    return n;
}

jinja_node *jinja_parse_filter_tag(jinja_parser *p, jinja_node *operand) {
    return jinja_parse_filters(p, parse_filter(p, operand), false);
}

/* ---- Operators ---- */

static jinja_node *parse_unary(jinja_parser *p, bool filters) {
    bool minus = jinja_sees(p, "-");
    jinja_node *n;
    if (!jinja_enter(p))
        return NULL;
    if (minus || jinja_sees(p, "+")) {
        n = jinja_new_node(p, JINJA_SIGN);
        p->at++;
        if (!n || !(n->a = parse_unary(p, false)))
            return NULL;
        n->op = minus ? JINJA_SUB : JINJA_ADD;
    } else {
        n = parse_postfix(p, parse_primary(p));
    }
    p->depth--;
    return filters ? jinja_parse_filters(p, n, true) : n;
}

/* The operator of precedence `level` that comes next, taken; -1: none. */
static int take_operator(jinja_parser *p, int level) {
    static const struct {
        int level;
        const char *text;
        jinja_op op;
    } ops[] = {{0, "+", JINJA_ADD}, {0, "-", JINJA_SUB},       {2, "*", JINJA_MUL},
               {2, "/", JINJA_DIV}, {2, "//", JINJA_FLOORDIV}, {2, "%", JINJA_MOD},
               {3, "**", JINJA_POW}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].level == level && jinja_takes(p, ops[i].text))
            return (int)ops[i].op;
    return -1;
}

static jinja_node *parse_binary(jinja_parser *p, int level);

static jinja_node *parse_operand(jinja_parser *p, int level) {
    return level == 3 ? parse_unary(p, true) : parse_binary(p, level + 1);
}

/* Levels: 0 is + and -, 1 is ~, 2 is * / // %, 3 is **. */
static jinja_node *parse_binary(jinja_parser *p, int level) {
    jinja_node *left = parse_operand(p, level);
    if (left && level == 1 && jinja_sees(p, "~")) {
        jinja_node *n = jinja_new_node(p, JINJA_CONCAT);
        jinja_chain chain = {0};
        jinja_chain_add(&chain, left);
        while (n && jinja_takes(p, "~")) {
            jinja_node *right = parse_operand(p, level);
            if (!right)
                return NULL;
            jinja_chain_add(&chain, right);
        }
        if (n)
            n->list = chain.first;
        return n;
    }
    for (int op; left && (op = take_operator(p, level)) >= 0;) {
        jinja_node *n = jinja_new_node(p, JINJA_BINARY);
        left = with_operands(n, left, parse_operand(p, level));
        if (left)
            left->op = (uint8_t)op;
    }
    return left;
}

static int take_comparison(jinja_parser *p) {
    static const char *const texts[] = {"==", "!=", "<", "<=", ">", ">="};
    for (int i = 0; i < 6; i++)
        if (jinja_takes(p, texts[i]))
            return JINJA_EQ + i;
    if (jinja_takes_name(p, "in"))
        return JINJA_IN;
    const jinja_token *t = jinja_peek(p);
    if (jinja_sees_name(p, "not") && t[1].kind == JINJA_T_NAME && jinja_is_text(t[1].text, "in")) {
        p->at += 2;
        return JINJA_NOT_IN;
    }
    return -1;
}

static jinja_node *parse_comparison(jinja_parser *p) {
    jinja_node *left = parse_binary(p, 0), *n = NULL;
    jinja_chain chain = {0};
    for (int op; left && (op = take_comparison(p)) >= 0;) {
        if (!n && !(n = jinja_new_node(p, JINJA_COMPARE)))
            return NULL;
        jinja_node *operand = jinja_new_node(p, JINJA_OPERAND);
        if (!operand || !(operand->a = parse_binary(p, 0)))
            return NULL;
        operand->op = (uint8_t)op;
        jinja_chain_add(&chain, operand);
    }
    if (!n || !left)
        return left;
    n->a = left;
    n->list = chain.first;
    return n;
}

static jinja_node *parse_not(jinja_parser *p) {
    if (!jinja_sees_name(p, "not"))
        return parse_comparison(p);
    jinja_node *n = jinja_new_node(p, JINJA_NOT);
    p->at++;
    if (!n || !jinja_enter(p) || !(n->a = parse_not(p)))
        return NULL;
    p->depth--;
    return n;
}

static jinja_node *parse_and(jinja_parser *p) {
    jinja_node *left = parse_not(p);
    while (left && jinja_sees_name(p, "and")) {
        jinja_node *n = jinja_new_node(p, JINJA_AND);
        p->at++;
        left = with_operands(n, left, parse_not(p));
    }
    return left;
}

jinja_node *jinja_parse_bare_expression(jinja_parser *p) {
    if (!jinja_enter(p))
        return NULL;
    jinja_node *left = parse_and(p);
    while (left && jinja_sees_name(p, "or")) {
        jinja_node *n = jinja_new_node(p, JINJA_OR);
        p->at++;
        left = with_operands(n, left, parse_and(p));
    }
    p->depth--;
    return left;
}

jinja_node *jinja_parse_expression(jinja_parser *p) {
    if (!jinja_enter(p))
        return NULL;
    jinja_node *left = jinja_parse_bare_expression(p);
    while (left && jinja_sees_name(p, "if")) {
        jinja_node *n = jinja_new_node(p, JINJA_CHOICE);
        p->at++;
        left = with_operands(n, left, jinja_parse_bare_expression(p));
        if (left && jinja_takes_name(p, "else") && !(left->c = jinja_parse_expression(p)))
            return NULL;
    }
    p->depth--;
    return left;
}

/* ---- Lists without brackets ---- */

static bool tuple_ends(const jinja_parser *p) {
    return jinja_peek(p)->kind == JINJA_T_CLOSE || jinja_sees(p, ")") || jinja_sees(p, "=") ||
           jinja_sees_name(p, "in") || jinja_sees_name(p, "recursive");
}

jinja_node *jinja_parse_tuple(jinja_parser *p, bool bare) {
    jinja_node *first = bare ? jinja_parse_bare_expression(p) : jinja_parse_expression(p);
    if (!first || !jinja_sees(p, ","))
        return first;
    jinja_node *n = jinja_new_node(p, JINJA_MAKE);
    jinja_chain chain = {0};
    jinja_chain_add(&chain, first);
    while (n && jinja_takes(p, ",") && !tuple_ends(p)) {
        jinja_node *item = bare ? jinja_parse_bare_expression(p) : jinja_parse_expression(p);
        if (!item)
            return NULL;
        jinja_chain_add(&chain, item);
    }
    if (!n)
        return NULL;
    n->op = JINJA_A_TUPLE;
    n->list = chain.first;
    return n;
}

static jinja_node *parse_one_target(jinja_parser *p, bool attributes) {
    if (jinja_takes(p, "(")) {
        if (!jinja_enter(p))
            return NULL;
        jinja_node *inner = jinja_parse_target(p, false);
        p->depth--;
        return inner && jinja_expects(p, ")") ? inner : NULL;
    }
    jinja_node *n = jinja_new_node(p, JINJA_NAME);
    if (!n || !jinja_expect_name(p, &n->text))
        return NULL;
    if (!attributes || !jinja_sees(p, "."))
        return n;
    jinja_node *attribute = jinja_new_node(p, JINJA_ATTR);
    p->at++;
    if (!attribute || !jinja_expect_name(p, &attribute->text))
        return NULL;
    attribute->a = n;
    return attribute;
}

jinja_node *jinja_parse_target(jinja_parser *p, bool attributes) {
    jinja_node *first = parse_one_target(p, attributes);
    if (!first || !jinja_sees(p, ","))
        return first;
    jinja_node *n = jinja_new_node(p, JINJA_MAKE);
    jinja_chain chain = {0};
    jinja_chain_add(&chain, first);
    while (n && jinja_takes(p, ",") && !tuple_ends(p)) {
        jinja_node *item = parse_one_target(p, attributes);
        if (!item)
            return NULL;
        jinja_chain_add(&chain, item);
    }
    if (!n)
        return NULL;
    n->op = JINJA_A_TUPLE;
    n->list = chain.first;
    return n;
}
