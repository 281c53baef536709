/* Global functions and the variable `loop`. */
#include "text/jinja/impl.h"

/* As many numbers as the template authors' sandbox allows in one range. */
#define RANGE_MAX 100000

static jinja_value range(jinja *j, const jinja_args *args) {
    if (!jinja_arity(j, args, "range()", 1, 3))
        return jinja_undefined();
    int64_t first = args->n > 1 ? jinja_int_arg(j, &args->items[0], 0) : 0;
    int64_t end = jinja_int_arg(j, &args->items[args->n > 1], 0);
    int64_t step = args->n > 2 ? jinja_int_arg(j, &args->items[2], 1) : 1;
    if (step == 0)
        jinja_fail(j, JINJA_RUNTIME, "range() arg 3 must not be zero");
    if (j->failed)
        return jinja_undefined();
    uint64_t distance = 0, stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    if (step > 0 ? end > first : end < first)
        distance = step > 0 ? (uint64_t)end - (uint64_t)first : (uint64_t)first - (uint64_t)end;
    uint64_t n = distance ? (distance - 1) / stride + 1 : 0;
    if (n > RANGE_MAX) {
        jinja_fail(j, JINJA_LIMIT, "range() of more than %d numbers", RANGE_MAX);
        return jinja_undefined();
    }
    jinja_list *list = jinja_spend(j, n / 8) ? jinja_new_list(j, JINJA_A_RANGE, (size_t)n) : NULL;
    for (uint64_t i = 0; list && i < n; i++)
        list->items[list->n++] = jinja_int((int64_t)((uint64_t)first + i * (uint64_t)step));
    return jinja_list_value(list);
}

static jinja_dict *dict_of(jinja *j, const jinja_args *args, const char *what) {
    jinja_dict *dict = jinja_arity(j, args, what, 0, 1) ? jinja_new_dict(j) : NULL;
    if (dict && args->n && args->items[0].type != JINJA_DICT) {
        jinja_fail(j, JINJA_RUNTIME, "%s takes a mapping", what);
        return NULL;
    }
    const jinja_dict *from = dict && args->n ? args->items[0].as.dict : NULL;
    for (size_t i = 0; from && i < from->n && jinja_spend(j, 1); i++)
        jinja_dict_set(j, dict, from->entries[i].key, from->entries[i].value);
    for (size_t i = 0; dict && i < args->n_keywords && !j->failed; i++)
        jinja_dict_set(j, dict, jinja_str(args->keywords[i].name), args->keywords[i].value);
    return dict;
}

static jinja_value make_dict(jinja *j, const jinja_args *args) {
    return jinja_dict_value(dict_of(j, args, "dict()"));
}

static jinja_value make_namespace(jinja *j, const jinja_args *args) {
    jinja_dict *dict = dict_of(j, args, "namespace()");
    return dict ? (jinja_value){.type = JINJA_NAMESPACE, .as.dict = dict} : jinja_undefined();
}

static jinja_value raise_exception(jinja *j, const jinja_args *args) {
    if (!jinja_arity(j, args, "raise_exception()", 1, 1))
        return jinja_undefined();
    jinja_string message = jinja_to_text(j, args->items[0]);
    jinja_fail(j, JINJA_RAISED, "%.*s", (int)(message.n < 4096 ? message.n : 4096), message.text);
    return jinja_undefined();
}

static jinja_value strftime_now(jinja *j, const jinja_args *args) {
    if (!jinja_arity(j, args, "strftime_now()", 1, 1))
        return jinja_undefined();
    return jinja_strftime(j, jinja_text_arg(j, &args->items[0], JINJA_TEXT("")));
}

static const jinja_function functions[] = {
    {"range", range},
    {"namespace", make_namespace},
    {"dict", make_dict},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
};

jinja_value jinja_global(jinja_string name) {
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (jinja_is_text(name, functions[i].name))
            return (jinja_value){.type = JINJA_FUNCTION, .as.fn = &functions[i]};
    return jinja_undefined();
}

/* ---- loop ---- */

static jinja_value cycle(jinja *j, jinja_value self, const jinja_args *args) {
    if (args->n == 0) {
        jinja_fail(j, JINJA_RUNTIME, "no items for cycling given");
        return jinja_undefined();
    }
    return args->items[self.as.loop->index % args->n];
}

static jinja_value changed(jinja *j, jinja_value self, const jinja_args *args) {
    jinja_loop *loop = self.as.loop;
    jinja_list *given = jinja_new_list(j, JINJA_A_TUPLE, args->n);
    for (size_t i = 0; given && i < args->n; i++)
        given->items[given->n++] = args->items[i];
    jinja_value now = jinja_list_value(given);
    bool same = loop->has_changed && jinja_equal(j, loop->changed, now);
    loop->changed = now;
    loop->has_changed = true;
    return jinja_bool(!same);
}

static jinja_value bound(jinja *j, jinja_loop *loop, const char *name, jinja_method_fn call) {
    jinja_method *method = jinja_alloc(j, sizeof *method);
    if (!method)
        return jinja_undefined();
    *method = (jinja_method){name, {.type = JINJA_LOOP, .as.loop = loop}, call};
    return (jinja_value){.type = JINJA_METHOD, .as.method = method};
}

jinja_value jinja_loop_attribute(jinja *j, jinja_loop *loop, jinja_string name) {
    int64_t i = (int64_t)loop->index, n = (int64_t)loop->items->n;
    if (jinja_is_text(name, "index0"))
        return jinja_int(i);
    if (jinja_is_text(name, "index"))
        return jinja_int(i + 1);
    if (jinja_is_text(name, "first"))
        return jinja_bool(i == 0);
    if (jinja_is_text(name, "last"))
        return jinja_bool(i + 1 >= n);
    if (jinja_is_text(name, "length"))
        return jinja_int(n);
    if (jinja_is_text(name, "revindex"))
        return jinja_int(n - i);
    if (jinja_is_text(name, "revindex0"))
        return jinja_int(n - i - 1);
    if (jinja_is_text(name, "depth"))
        return jinja_int(loop->depth + 1);
    if (jinja_is_text(name, "depth0"))
        return jinja_int(loop->depth);
    if (jinja_is_text(name, "cycle"))
        return bound(j, loop, "cycle", cycle);
    if (jinja_is_text(name, "changed"))
        return bound(j, loop, "changed", changed);
    bool previous = jinja_is_text(name, "previtem"), next = jinja_is_text(name, "nextitem");
    if (previous && i > 0 && i <= n)
        return loop->items->items[i - 1];
    if (next && i + 1 < n)
        return loop->items->items[i + 1];
    if (previous || next)
        return jinja_missing_value(j, "",
                                   jinja_str(previous ? JINJA_TEXT("there is no previous item")
                                                      : JINJA_TEXT("there is no next item")));
    return jinja_undefined();
}
