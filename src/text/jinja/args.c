/* Reading the arguments of filters, tests, methods and functions. */
#include <string.h>
#include "text/jinja/impl.h"

const jinja_value *jinja_arg(const jinja_args *args, size_t i, const char *name) {
    if (i < args->n)
        return &args->items[i];
    for (size_t k = 0; name && k < args->n_keywords; k++)
        if (jinja_is_text(args->keywords[k].name, name))
            return &args->keywords[k].value;
    return NULL;
}

bool jinja_arity(jinja *j, const jinja_args *args, const char *what, size_t low, size_t high) {
    if (args->n < low)
        jinja_fail(j, JINJA_RUNTIME, "%s takes at least %zu argument%s", what, low,
                   low == 1 ? "" : "s");
    else if (args->n > high)
        jinja_fail(j, JINJA_RUNTIME, "%s takes at most %zu argument%s", what, high,
                   high == 1 ? "" : "s");
    return !j->failed;
}

int64_t jinja_int_arg(jinja *j, const jinja_value *arg, int64_t otherwise) {
    if (!arg)
        return otherwise;
    if (arg->type == JINJA_INT)
        return arg->as.i;
    if (arg->type == JINJA_BOOL)
        return arg->as.b;
    if (arg->type == JINJA_UNDEFINED)
        jinja_fail_undefined(j, *arg);
    else
        jinja_fail(j, JINJA_RUNTIME, "'%s' object cannot be interpreted as an integer",
                   jinja_type_name(*arg));
    return otherwise;
}

jinja_string jinja_text_arg(jinja *j, const jinja_value *arg, jinja_string otherwise) {
    if (!arg)
        return otherwise;
    if (arg->type == JINJA_STRING)
        return arg->as.s;
    if (arg->type == JINJA_UNDEFINED)
        jinja_fail_undefined(j, *arg);
    else
        jinja_fail(j, JINJA_RUNTIME, "a string is wanted, not '%s'", jinja_type_name(*arg));
    return otherwise;
}
