/* Expressions to values. */
#include <string.h>
#include "text/jinja/impl.h"

static jinja_value look_up(jinja *j, const jinja_scope *scope, jinja_string name) {
    for (; scope; scope = scope->outer) {
        jinja_spend(j, scope->n / 16);
        for (size_t i = scope->n; i-- > 0;)
            if (jinja_same(scope->bindings[i].name, name))
                return scope->bindings[i].value;
    }
    const jinja_value *given = jinja_dict_find(j->globals, name);
    if (given)
        return *given;
    jinja_value global = jinja_global(name);
    return global.type == JINJA_UNDEFINED ? jinja_missing_value(j, NULL, jinja_str(name)) : global;
}

static jinja_value make_list(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_list *list = jinja_new_list(j, (jinja_sequence)n->op, 0);
    for (const jinja_node *item = n->list; list && item && !j->failed; item = item->next)
        jinja_append(j, list, jinja_eval(j, scope, item));
    return jinja_list_value(list);
}

static jinja_value make_dict(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_dict *dict = jinja_new_dict(j);
    for (const jinja_node *pair = n->list; dict && pair && !j->failed; pair = pair->next) {
        jinja_value key = jinja_eval(j, scope, pair->a);
        jinja_value value = jinja_eval(j, scope, pair->b);
        if (!j->failed)
            jinja_dict_set(j, dict, key, value);
    }
    return jinja_dict_value(dict);
}

static jinja_value join_operands(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_buffer b = {0};
    for (const jinja_node *part = n->list; part && !j->failed; part = part->next)
        jinja_put_text(j, &b, jinja_eval(j, scope, part));
    return jinja_buffer_value(&b);
}

static bool compare(jinja *j, jinja_op op, jinja_value a, jinja_value b) {
    switch (op) {
    case JINJA_EQ:
        return jinja_equal(j, a, b);
    case JINJA_NE:
        return !jinja_equal(j, a, b);
    case JINJA_LT:
        return jinja_order(j, a, b, "<") < 0;
    case JINJA_LE:
        return jinja_order(j, a, b, "<=") <= 0;
    case JINJA_GT:
        return jinja_order(j, a, b, ">") > 0;
    case JINJA_GE:
        return jinja_order(j, a, b, ">=") >= 0;
    case JINJA_IN:
        return jinja_contains(j, b, a);
    default:
        return !jinja_contains(j, b, a);
    }
}

/* a < b < c: each operand is evaluated once, none after the first that is false. */
static jinja_value compare_all(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_value left = jinja_eval(j, scope, n->a);
    for (const jinja_node *o = n->list; o && !j->failed; o = o->next) {
        jinja_value right = jinja_eval(j, scope, o->a);
        j->at = n;
        if (j->failed || !compare(j, (jinja_op)o->op, left, right))
            return jinja_bool(false);
        left = right;
    }
    return jinja_bool(!j->failed);
}

static jinja_value eval_slice(jinja *j, jinja_scope *scope, const jinja_node *n) {
    const jinja_node *nodes[3] = {n->b, n->c, n->d};
    jinja_value of = jinja_eval(j, scope, n->a), bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] = nodes[i] ? jinja_eval(j, scope, nodes[i]) : jinja_none();
    j->at = n;
    return j->failed ? of : jinja_slice(j, of, &bounds[0], &bounds[1], &bounds[2]);
}

static jinja_value eval_applied(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_args args;
    jinja_value v = jinja_eval(j, scope, n->a);
    if (j->failed || !jinja_make_args(j, scope, n->list, &args))
        return jinja_undefined();
    j->at = n;
    if (n->kind == JINJA_CALL)
        return jinja_call(j, v, &args);
    if (n->kind == JINJA_TEST)
        return jinja_bool(jinja_apply_test(j, n->text, v, &args));
    return jinja_apply_filter(j, n->text, v, &args);
}

static jinja_value eval_two(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_value a = jinja_eval(j, scope, n->a);
    jinja_value b = j->failed ? a : jinja_eval(j, scope, n->b);
    j->at = n;
    if (j->failed)
        return jinja_undefined();
    return n->kind == JINJA_ITEM ? jinja_item(j, a, b) : jinja_binary(j, (jinja_op)n->op, a, b);
}

static jinja_value eval_sign(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_value v = jinja_eval(j, scope, n->a);
    j->at = n;
    if (j->failed || (n->op == JINJA_ADD && jinja_is_number(v)))
        return v;
    return jinja_negative(j, v);
}

static jinja_value choose(jinja *j, jinja_scope *scope, const jinja_node *n) {
    if (jinja_truth(jinja_eval(j, scope, n->b)))
        return j->failed ? jinja_undefined() : jinja_eval(j, scope, n->a);
    if (n->c)
        return jinja_eval(j, scope, n->c);
    return jinja_missing_value(
        j, "", jinja_str(JINJA_TEXT("the inline if-expression has no else and was false")));
}

static jinja_value eval_node(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_value v;
    switch ((jinja_kind)n->kind) {
    case JINJA_CONST:
        return n->value;
    case JINJA_NAME:
        return look_up(j, scope, n->text);
    case JINJA_MAKE:
        return make_list(j, scope, n);
    case JINJA_MAKEDICT:
        return make_dict(j, scope, n);
    case JINJA_CONCAT:
        return join_operands(j, scope, n);
    case JINJA_AND:
    case JINJA_OR:
        v = jinja_eval(j, scope, n->a);
        if (j->failed || jinja_truth(v) == (n->kind == JINJA_OR))
            return v;
        return jinja_eval(j, scope, n->b);
    case JINJA_NOT:
        return jinja_bool(!jinja_truth(jinja_eval(j, scope, n->a)));
    case JINJA_SIGN:
        return eval_sign(j, scope, n);
    case JINJA_BINARY:
    case JINJA_ITEM:
        return eval_two(j, scope, n);
    case JINJA_COMPARE:
        return compare_all(j, scope, n);
    case JINJA_CHOICE:
        return choose(j, scope, n);
    case JINJA_ATTR:
        v = jinja_eval(j, scope, n->a);
        j->at = n;
        return j->failed ? v : jinja_attribute(j, v, n->text);
    case JINJA_SLICE:
        return eval_slice(j, scope, n);
    case JINJA_CALL:
    case JINJA_FILTER:
    case JINJA_TEST:
        return eval_applied(j, scope, n);
    case JINJA_CAPTURED:
        return jinja_str(j->captured);
    default:
        return jinja_undefined();
    }
}

jinja_value jinja_eval(jinja *j, jinja_scope *scope, const jinja_node *n) {
    if (!jinja_spend(j, 1))
        return jinja_undefined();
    j->at = n;
    if (!jinja_deeper(j))
        return jinja_undefined();
    jinja_value v = eval_node(j, scope, n);
    j->depth--;
    return v;
}
