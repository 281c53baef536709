/* + - * / // % ** on numbers, and those of them that strings and lists have. */
#include <math.h>
#include <string.h>
#include "base/alloc.h"
#include "text/jinja/impl.h"

static const char *const op_names[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

static jinja_value unsupported(jinja *j, jinja_op op, jinja_value a, jinja_value b) {
    if (op == JINJA_ADD && (a.type == JINJA_STRING || a.type == JINJA_LIST))
        jinja_fail(j, JINJA_RUNTIME, "can only concatenate %s (not \"%s\") to %s",
                   jinja_type_name(a), jinja_type_name(b), jinja_type_name(a));
    else
        jinja_fail(j, JINJA_RUNTIME, "unsupported operand type(s) for %s: '%s' and '%s'",
                   op_names[op], jinja_type_name(a), jinja_type_name(b));
    return jinja_undefined();
}

jinja_value jinja_concat(jinja *j, jinja_string a, jinja_string b) {
    if (a.n == 0 || b.n == 0)
        return jinja_str(a.n ? a : b);
    if (a.n > j->limits.output_bytes || b.n > j->limits.output_bytes - a.n) {
        jinja_fail(j, JINJA_LIMIT, "the template makes too long a text");
        return jinja_undefined();
    }
    char *text = jinja_spend(j, (a.n + b.n) / 32) ? jinja_alloc(j, a.n + b.n) : NULL;
    if (!text)
        return jinja_undefined();
    memcpy(text, a.text, a.n);
    memcpy(text + a.n, b.text, b.n);
    return jinja_str((jinja_string){text, a.n + b.n});
}

/* As markupsafe's strings add: what is not marked safe gets escaped. */
static jinja_value add_strings(jinja *j, jinja_value a, jinja_value b) {
    if (a.safe && !b.safe)
        b = jinja_escape(j, b.as.s);
    else if (b.safe && !a.safe)
        a = jinja_escape(j, a.as.s);
    return j->failed ? jinja_undefined() : jinja_marked(jinja_concat(j, a.as.s, b.as.s), a);
}

static jinja_value add_lists(jinja *j, const jinja_list *a, const jinja_list *b) {
    if (!jinja_spend(j, (a->n + b->n) / 8))
        return jinja_undefined();
    jinja_list *out = jinja_new_list(j, a->kind, a->n + b->n);
    for (size_t i = 0; out && i < a->n + b->n; i++)
        out->items[out->n++] = i < a->n ? a->items[i] : b->items[i - a->n];
    return jinja_list_value(out);
}

static jinja_value repeat(jinja *j, jinja_value v, int64_t times) {
    size_t n = times > 0 ? (size_t)times : 0;
    if (v.type == JINJA_STRING) {
        jinja_buffer out = {0};
        for (size_t i = 0; i < n && v.as.s.n && jinja_spend(j, 1); i++)
            jinja_puts(j, &out, v.as.s);
        return jinja_buffer_value(&out);
    }
    jinja_list *out = jinja_new_list(j, v.as.list->kind, 0);
    for (size_t i = 0; out && v.as.list->n && i < n && jinja_spend(j, 1); i++)
        for (size_t k = 0; k < v.as.list->n && !j->failed; k++)
            jinja_append(j, out, v.as.list->items[k]);
    return jinja_list_value(out);
}

static jinja_value too_large(jinja *j) {
    jinja_fail(j, JINJA_LIMIT, "the integer is too large");
    return jinja_undefined();
}

static jinja_value divide_ints(jinja *j, jinja_op op, int64_t a, int64_t b) {
    if (b == 0) {
        jinja_fail(j, JINJA_RUNTIME,
                   op == JINJA_DIV ? "division by zero" : "integer division or modulo by zero");
        return jinja_undefined();
    }
    if (op == JINJA_DIV)
        return jinja_float((double)a / (double)b);
    if (b == -1)
        return op == JINJA_MOD ? jinja_int(0) : a == INT64_MIN ? too_large(j) : jinja_int(-a);
    /* Rounds towards minus infinity; the remainder has the divisor's sign. */
    int64_t quotient = a / b, rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) {
        quotient--;
        rest += b;
    }
    return jinja_int(op == JINJA_MOD ? rest : quotient);
}

static jinja_value real_power(jinja *j, double a, double n) {
    if (a == 0 && n < 0) {
        jinja_fail(j, JINJA_RUNTIME, "0.0 cannot be raised to a negative power");
        return jinja_undefined();
    }
    return jinja_float(pow(a, n));
}

static jinja_value power(jinja *j, int64_t a, int64_t n) {
    int64_t result = 1;
    if (n < 0)
        return real_power(j, (double)a, (double)n);
    for (; n > 0 && jinja_spend(j, 1); n--) {
        if (result == 0 || (a == 1 && result == 1))
            break;
        if (a == -1)
            return jinja_int(n % 2 ? -result : result);
        if (!weft_mul_i64(result, a, &result))
            return too_large(j);
    }
    return jinja_int(result);
}

static jinja_value ints(jinja *j, jinja_op op, int64_t a, int64_t b) {
    int64_t result;
    bool fits = true;
    if (op == JINJA_ADD)
        fits = weft_add_i64(a, b, &result);
    else if (op == JINJA_SUB)
        fits = !__builtin_sub_overflow(a, b, &result);
    else if (op == JINJA_MUL)
        fits = weft_mul_i64(a, b, &result);
    else
        return op == JINJA_POW ? power(j, a, b) : divide_ints(j, op, a, b);
    return fits ? jinja_int(result) : too_large(j);
}

static jinja_value floats(jinja *j, jinja_op op, double a, double b) {
    if (op >= JINJA_DIV && op <= JINJA_MOD && b == 0) {
        jinja_fail(j, JINJA_RUNTIME, "division by zero");
        return jinja_undefined();
    }
    switch (op) {
    case JINJA_ADD:
        return jinja_float(a + b);
    case JINJA_SUB:
        return jinja_float(a - b);
    case JINJA_MUL:
        return jinja_float(a * b);
    case JINJA_DIV:
        return jinja_float(a / b);
    case JINJA_FLOORDIV:
        return jinja_float(floor(a / b));
    case JINJA_MOD: {
        double rest = fmod(a, b);
        return jinja_float(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    default:
        return real_power(j, a, b);
    }
}

static bool is_int(jinja_value v) {
    return v.type == JINJA_INT || v.type == JINJA_BOOL;
}
static int64_t int_of(jinja_value v) {
    return v.type == JINJA_INT ? v.as.i : v.as.b;
}
static bool repeats(jinja_value v) {
    return v.type == JINJA_STRING || (v.type == JINJA_LIST && v.as.list->kind <= JINJA_A_TUPLE);
}

jinja_value jinja_binary(jinja *j, jinja_op op, jinja_value a, jinja_value b) {
    if (op == JINJA_MOD && a.type == JINJA_STRING)
        return jinja_percent_format(j, a.as.s, b);
    if (a.type == JINJA_UNDEFINED || b.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, a.type == JINJA_UNDEFINED ? a : b);
    if (op == JINJA_ADD && a.type == JINJA_STRING && b.type == JINJA_STRING)
        return add_strings(j, a, b);
    if (op == JINJA_ADD && a.type == JINJA_LIST && b.type == JINJA_LIST &&
        a.as.list->kind == b.as.list->kind && a.as.list->kind <= JINJA_A_TUPLE)
        return add_lists(j, a.as.list, b.as.list);
    if (op == JINJA_MUL && is_int(b) && repeats(a))
        return repeat(j, a, int_of(b));
    if (op == JINJA_MUL && is_int(a) && repeats(b))
        return repeat(j, b, int_of(a));
    if (is_int(a) && is_int(b))
        return ints(j, op, int_of(a), int_of(b));
    if (jinja_is_number(a) && jinja_is_number(b))
        return a.type == JINJA_BIG || b.type == JINJA_BIG
                   ? too_large(j)
                   : floats(j, op, jinja_number(a), jinja_number(b));
    return unsupported(j, op, a, b);
}

jinja_value jinja_negative(jinja *j, jinja_value v) {
    if (v.type == JINJA_UNDEFINED)
        return jinja_fail_undefined(j, v);
    if (v.type == JINJA_FLOAT)
        return jinja_float(-v.as.f);
    if (is_int(v))
        return ints(j, JINJA_SUB, 0, int_of(v));
    if (v.type == JINJA_BIG && *v.as.s.text == '-')
        return (jinja_value){.type = JINJA_BIG, .as.s = {v.as.s.text + 1, v.as.s.n - 1}};
    if (v.type == JINJA_BIG)
        return (jinja_value){.type = JINJA_BIG,
                             .as.s = jinja_concat(j, JINJA_TEXT("-"), v.as.s).as.s};
    jinja_fail(j, JINJA_RUNTIME, "bad operand type for unary -: '%s'", jinja_type_name(v));
    return jinja_undefined();
}
