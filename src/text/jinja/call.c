/* Calls: macros, global functions, methods, recursive loops. */
#include "text/jinja/impl.h"

bool jinja_make_args(jinja *j, jinja_scope *scope, const jinja_node *list, jinja_args *out) {
    size_t n = 0, n_keywords = 0;
    *out = (jinja_args){0};
    for (const jinja_node *a = list; a; a = a->next)
        *(a->kind == JINJA_KEYWORD ? &n_keywords : &n) += 1;
    if (n)
        out->items = jinja_alloc(j, n * sizeof *out->items);
    if (n_keywords)
        out->keywords = jinja_alloc(j, n_keywords * sizeof *out->keywords);
    for (const jinja_node *a = list; a && !j->failed; a = a->next) {
        if (a->kind == JINJA_KEYWORD)
            out->keywords[out->n_keywords++] = (jinja_binding){a->text, jinja_eval(j, scope, a->a)};
        else
            out->items[out->n++] = jinja_eval(j, scope, a);
    }
    return !j->failed;
}

/* ---- Macros ---- */

static jinja_value rest_of_args(jinja *j, const jinja_args *args, size_t from) {
    jinja_list *rest = jinja_new_list(j, JINJA_A_TUPLE, args->n > from ? args->n - from : 0);
    for (size_t i = from; rest && i < args->n; i++)
        rest->items[rest->n++] = args->items[i];
    return jinja_list_value(rest);
}

static const jinja_value *keyword_of(const jinja_args *args, jinja_string name) {
    for (size_t i = 0; i < args->n_keywords; i++)
        if (jinja_same(args->keywords[i].name, name))
            return &args->keywords[i].value;
    return NULL;
}

static bool has_parameter(const jinja_node *define, jinja_string name) {
    for (const jinja_node *p = define->list; p; p = p->next)
        if (jinja_same(p->text, name))
            return true;
    return false;
}

/* Keywords that are no parameters: kwargs, or an error. */
static void bind_other_keywords(jinja *j, jinja_scope *scope, const jinja_node *define,
                                const jinja_args *args) {
    bool takes = define->op & JINJA_USES_KWARGS;
    jinja_dict *rest = takes ? jinja_new_dict(j) : NULL;
    for (size_t i = 0; i < args->n_keywords && !j->failed; i++) {
        const jinja_binding *k = &args->keywords[i];
        if (has_parameter(define, k->name))
            continue;
        if (rest)
            jinja_dict_set(j, rest, jinja_str(k->name), k->value);
        else
            jinja_fail(j, JINJA_RUNTIME, "macro '%.*s' takes no keyword argument '%.*s'",
                       (int)(define->text.n < 100 ? define->text.n : 100), define->text.text,
                       (int)(k->name.n < 100 ? k->name.n : 100), k->name.text);
    }
    if (rest)
        jinja_bind(j, scope, JINJA_TEXT("kwargs"), jinja_dict_value(rest));
}

static void bind_parameters(jinja *j, jinja_scope *scope, const jinja_node *define,
                            const jinja_args *args) {
    size_t i = 0;
    for (const jinja_node *p = define->list; p && !j->failed; p = p->next, i++) {
        const jinja_value *keyword = keyword_of(args, p->text);
        jinja_value v;
        if (i < args->n && keyword)
            jinja_fail(j, JINJA_RUNTIME, "macro got multiple values for argument '%.*s'",
                       (int)(p->text.n < 100 ? p->text.n : 100), p->text.text);
        if (i < args->n || keyword)
            v = i < args->n ? args->items[i] : *keyword;
        else if (p->a)
            v = jinja_eval(j, scope, p->a);
        else
            v = jinja_missing_value(j, NULL, jinja_str(p->text));
        if (!j->failed)
            jinja_bind(j, scope, p->text, v);
    }
    if (define->op & JINJA_USES_VARARGS)
        jinja_bind(j, scope, JINJA_TEXT("varargs"), rest_of_args(j, args, i));
    else if (args->n > i)
        jinja_fail(j, JINJA_RUNTIME, "macro '%.*s' takes not more than %zu argument(s)",
                   (int)(define->text.n < 100 ? define->text.n : 100), define->text.text, i);
    bind_other_keywords(j, scope, define, args);
}

static jinja_value call_macro(jinja *j, const jinja_macro *macro, const jinja_args *args,
                              const jinja_macro *caller) {
    const jinja_node *define = macro->define;
    jinja_scope *scope = jinja_alloc(j, sizeof *scope);
    if (!scope)
        return jinja_undefined();
    *scope = (jinja_scope){.outer = macro->scope};
    bind_parameters(j, scope, define, args);
    if (define->op & JINJA_USES_CALLER)
        jinja_bind(j, scope, JINJA_TEXT("caller"),
                   caller ? (jinja_value){.type = JINJA_MACRO, .as.macro = caller}
                          : jinja_missing_value(j, "", jinja_str(JINJA_TEXT("No caller defined"))));
    else if (caller)
        jinja_fail(j, JINJA_RUNTIME, "the macro takes no caller");
    if (j->failed)
        return jinja_undefined();
    jinja_buffer text = {0}, *out = j->out;
    j->out = &text;
    jinja_exec(j, scope, define->body);
    j->out = out;
    return jinja_buffer_value(&text);
}

/* loop(items): the loop's body over other items, one level deeper. */
static jinja_value call_loop(jinja *j, jinja_loop *loop, const jinja_args *args) {
    if (!loop->node->recursive) {
        jinja_fail(j, JINJA_RUNTIME, "the loop is not marked as recursive");
        return jinja_undefined();
    }
    if (!jinja_arity(j, args, "loop", 1, 1) || !jinja_deeper(j))
        return jinja_undefined();
    jinja_buffer text = {0}, *out = j->out;
    j->out = &text;
    jinja_run_loop(j, loop->scope, loop->node, args->items[0], loop->depth + 1);
    j->out = out;
    j->depth--;
    return jinja_buffer_value(&text);
}

jinja_value jinja_call_with(jinja *j, jinja_value callee, const jinja_args *args,
                            const jinja_macro *caller) {
    switch (callee.type) {
    case JINJA_UNDEFINED:
        return jinja_fail_undefined(j, callee);
    case JINJA_MACRO:
        return call_macro(j, callee.as.macro, args, caller);
    case JINJA_FUNCTION:
        return callee.as.fn->call(j, args);
    case JINJA_METHOD:
        return callee.as.method->call(j, callee.as.method->self, args);
    case JINJA_LOOP:
        return call_loop(j, callee.as.loop, args);
    default:
        jinja_fail(j, JINJA_RUNTIME, "'%s' object is not callable", jinja_type_name(callee));
        return jinja_undefined();
    }
}

jinja_value jinja_call(jinja *j, jinja_value callee, const jinja_args *args) {
    return jinja_call_with(j, callee, args, NULL);
}
