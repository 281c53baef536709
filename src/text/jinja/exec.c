/* Statements: what they write and assign. A loop's body has a scope of its own in every turn, a
 * condition's has none. */
#include "text/jinja/impl.h"

bool jinja_bind(jinja *j, jinja_scope *scope, jinja_string name, jinja_value v) {
    for (size_t i = scope->n; i-- > 0;)
        if (jinja_same(scope->bindings[i].name, name)) {
            scope->bindings[i].value = v;
            return jinja_spend(j, scope->n / 16);
        }
    if (scope->n == scope->room) {
        size_t room = scope->room ? scope->room * 2 : 4;
        jinja_binding *more =
            jinja_grow(j, scope->bindings, scope->n * sizeof *more, room * sizeof *more);
        if (!more)
            return false;
        scope->bindings = more;
        scope->room = room;
    }
    scope->bindings[scope->n++] = (jinja_binding){name, v};
    return jinja_spend(j, scope->n / 16);
}

static void unpack(jinja *j, jinja_scope *scope, const jinja_node *target, jinja_value v) {
    const jinja_list *items = jinja_items(j, v);
    size_t wanted = 0;
    if (!items)
        return;
    for (const jinja_node *name = target->list; name; name = name->next)
        wanted++;
    if (items->n != wanted) {
        if (items->n > wanted)
            jinja_fail(j, JINJA_RUNTIME, "too many values to unpack (expected %zu)", wanted);
        else
            jinja_fail(j, JINJA_RUNTIME, "not enough values to unpack (expected %zu, got %zu)",
                       wanted, items->n);
        return;
    }
    size_t i = 0;
    for (const jinja_node *name = target->list; name && !j->failed; name = name->next)
        jinja_assign(j, scope, name, items->items[i++]);
}

void jinja_assign(jinja *j, jinja_scope *scope, const jinja_node *target, jinja_value v) {
    if (target->kind == JINJA_NAME) {
        jinja_bind(j, scope, target->text, v);
    } else if (target->kind == JINJA_ATTR) {
        jinja_value owner = jinja_eval(j, scope, target->a);
        if (j->failed)
            return;
        if (owner.type == JINJA_NAMESPACE)
            jinja_dict_set(j, owner.as.dict, jinja_str(target->text), v);
        else
            jinja_fail(j, JINJA_RUNTIME, "cannot assign attribute on non-namespace object");
    } else if (jinja_deeper(j)) {
        unpack(j, scope, target, v);
        j->depth--;
    }
}

static jinja_scope *new_scope(jinja *j, jinja_scope *outer) {
    jinja_scope *scope = jinja_alloc(j, sizeof *scope);
    if (scope)
        *scope = (jinja_scope){.outer = outer};
    return scope;
}

/* For the next turn of a loop: the same scope, unless a macro still refers to it. */
static jinja_scope *renew(jinja *j, jinja_scope *scope) {
    if (scope->kept)
        return new_scope(j, scope->outer);
    scope->n = 0;
    return scope;
}

static void keep(jinja_scope *scope) {
    for (; scope && !scope->kept; scope = scope->outer)
        scope->kept = true;
}

/* ---- Loops ---- */

/* The items for which the loop's `if` holds. */
static jinja_list *select_items(jinja *j, jinja_scope *outer, const jinja_node *n,
                                const jinja_list *items) {
    jinja_list *chosen = jinja_new_list(j, JINJA_A_LIST, 0);
    jinja_scope *scope = new_scope(j, outer);
    for (size_t i = 0; chosen && scope && i < items->n && !j->failed; i++) {
        scope->n = 0;
        jinja_assign(j, scope, n->a, items->items[i]);
        if (!j->failed && jinja_truth(jinja_eval(j, scope, n->c)))
            jinja_append(j, chosen, items->items[i]);
    }
    return chosen;
}

void jinja_run_loop(jinja *j, jinja_scope *outer, const jinja_node *n, jinja_value over,
                    uint32_t depth) {
    jinja_list *items = jinja_items(j, over);
    if (items && n->c)
        items = select_items(j, outer, n, items);
    jinja_loop *loop = items ? jinja_alloc(j, sizeof *loop) : NULL;
    jinja_scope *scope = loop ? new_scope(j, outer) : NULL;
    if (!scope)
        return;
    *loop = (jinja_loop){.node = n, .scope = outer, .items = items, .depth = depth};
    if (items->n == 0 && n->d)
        jinja_exec(j, outer, n->d);
    for (size_t i = 0; i < items->n && jinja_spend(j, 1); i++) {
        loop->index = i;
        scope = renew(j, scope);
        if (!scope || !jinja_bind(j, scope, JINJA_TEXT("loop"),
                                  (jinja_value){.type = JINJA_LOOP, .as.loop = loop}))
            return;
        jinja_assign(j, scope, n->a, items->items[i]);
        if (j->failed || jinja_exec(j, scope, n->body) == JINJA_LEAVE)
            return;
    }
}

/* ---- Blocks whose text is not written out at once ---- */

static jinja_string capture(jinja *j, jinja_scope *outer, const jinja_node *body) {
    jinja_buffer text = {0}, *out = j->out;
    jinja_scope *scope = new_scope(j, outer);
    j->out = &text;
    if (scope)
        jinja_exec(j, scope, body);
    j->out = out;
    return jinja_buffer_value(&text).as.s;
}

static jinja_value filtered_block(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_string text = capture(j, scope, n->body);
    if (!n->b || j->failed)
        return jinja_str(text);
    j->captured = text;
    return jinja_eval(j, scope, n->b);
}

static jinja_macro *define(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_macro *macro = jinja_alloc(j, sizeof *macro);
    if (macro)
        *macro = (jinja_macro){n, scope};
    keep(scope);
    return macro;
}

static void exec_macro(jinja *j, jinja_scope *scope, const jinja_node *n) {
    const jinja_macro *macro = define(j, scope, n);
    if (macro)
        jinja_bind(j, scope, n->text, (jinja_value){.type = JINJA_MACRO, .as.macro = macro});
}

static void exec_call(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_args args;
    jinja_value callee = jinja_eval(j, scope, n->a->a);
    if (j->failed || !jinja_make_args(j, scope, n->a->list, &args))
        return;
    const jinja_macro *caller = define(j, scope, n->b);
    j->at = n->a;
    if (caller)
        jinja_put_text(j, j->out, jinja_call_with(j, callee, &args, caller));
}

static jinja_flow exec_scope(jinja *j, jinja_scope *outer, const jinja_node *n) {
    jinja_scope *scope = new_scope(j, outer);
    for (const jinja_node *set = n->list; scope && set && !j->failed; set = set->next)
        jinja_assign(j, scope, set->a, jinja_eval(j, outer, set->b));
    return scope && !j->failed ? jinja_exec(j, scope, n->body) : JINJA_GO_ON;
}

static jinja_flow exec_if(jinja *j, jinja_scope *scope, const jinja_node *n) {
    while (n && n->kind == JINJA_IF) {
        bool chosen = jinja_truth(jinja_eval(j, scope, n->a));
        if (j->failed)
            return JINJA_GO_ON;
        if (chosen)
            return jinja_exec(j, scope, n->body);
        n = n->c;
    }
    return n ? jinja_exec(j, scope, n->body) : JINJA_GO_ON;
}

static jinja_flow exec_one(jinja *j, jinja_scope *scope, const jinja_node *n) {
    jinja_value v;
    switch ((jinja_kind)n->kind) {
    case JINJA_DATA:
        jinja_puts(j, j->out, n->text);
        break;
    case JINJA_OUTPUT:
        v = jinja_eval(j, scope, n->a);
        if (!j->failed)
            jinja_put_text(j, j->out, v);
        break;
    case JINJA_IF:
        return exec_if(j, scope, n);
    case JINJA_GROUP:
        return jinja_exec(j, scope, n->body);
    case JINJA_SCOPE:
        return exec_scope(j, scope, n);
    case JINJA_FOR:
        v = jinja_eval(j, scope, n->b);
        if (!j->failed)
            jinja_run_loop(j, scope, n, v, 0);
        break;
    case JINJA_SET:
        v = jinja_eval(j, scope, n->b);
        if (!j->failed)
            jinja_assign(j, scope, n->a, v);
        break;
    case JINJA_SETBLOCK:
        v = filtered_block(j, scope, n);
        if (!j->failed)
            jinja_assign(j, scope, n->a, v);
        break;
    case JINJA_FILTERBLOCK:
        v = filtered_block(j, scope, n);
        if (!j->failed)
            jinja_put_text(j, j->out, v);
        break;
    case JINJA_DEFINE:
        exec_macro(j, scope, n);
        break;
    case JINJA_CALLBLOCK:
        exec_call(j, scope, n);
        break;
    case JINJA_BREAK:
        return JINJA_LEAVE;
    case JINJA_CONTINUE:
        return JINJA_AGAIN;
    default:
        break;
    }
    return JINJA_GO_ON;
}

jinja_flow jinja_exec(jinja *j, jinja_scope *scope, const jinja_node *first) {
    jinja_flow flow = JINJA_GO_ON;
    if (!jinja_deeper(j))
        return flow;
    for (const jinja_node *n = first; n && flow == JINJA_GO_ON && jinja_spend(j, 1); n = n->next) {
        j->at = n;
        flow = exec_one(j, scope, n);
    }
    j->depth--;
    return flow;
}
