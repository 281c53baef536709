/* Tests: what stands after `is`. */
#include "text/jinja/impl.h"

typedef jinja_value value; /* shortens the signatures below */
typedef const jinja_args *args_of;
typedef bool (*test_fn)(jinja *j, value v, args_of args);

/* ---- Types ---- */

static bool is_defined(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type != JINJA_UNDEFINED;
}
static bool is_undefined(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_UNDEFINED;
}
static bool is_none(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_NONE;
}
static bool is_boolean(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_BOOL;
}
static bool is_true(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_BOOL && v.as.b;
}
static bool is_false(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_BOOL && !v.as.b;
}
static bool is_integer(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_INT || v.type == JINJA_BIG;
}
static bool is_float(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_FLOAT;
}
static bool is_number(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return jinja_is_number(v);
}
static bool is_string(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_STRING;
}
static bool is_mapping(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_DICT;
}
/* What has a length and items; undefined has both, too. */
static bool is_sequence(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_STRING || v.type == JINJA_DICT || v.type == JINJA_UNDEFINED ||
           (v.type == JINJA_LIST && v.as.list->kind <= JINJA_A_RANGE);
}
static bool is_iterable(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return v.type == JINJA_STRING || v.type == JINJA_DICT || v.type == JINJA_UNDEFINED ||
           v.type == JINJA_LIST || v.type == JINJA_LOOP;
}
static bool is_callable(jinja *j, value v, args_of args) {
    (void)j, (void)args;
    return jinja_is_callable(v) || v.type == JINJA_UNDEFINED; /* whose call is what fails */
}
static bool is_escaped(jinja *j, value v, args_of args) {
    (void)j, (void)v, (void)args;
    return false;
}

/* ---- Comparisons ---- */

static value operand(jinja *j, args_of args) {
    if (args->n == 1)
        return args->items[0];
    jinja_fail(j, JINJA_RUNTIME, "the test takes one argument");
    return jinja_undefined();
}

static bool is_equal(jinja *j, value v, args_of args) {
    return jinja_equal(j, v, operand(j, args));
}
static bool is_unequal(jinja *j, value v, args_of args) {
    return !jinja_equal(j, v, operand(j, args));
}
static bool is_less(jinja *j, value v, args_of args) {
    return jinja_order(j, v, operand(j, args), "<") < 0;
}
static bool is_at_most(jinja *j, value v, args_of args) {
    return jinja_order(j, v, operand(j, args), "<=") <= 0;
}
static bool is_greater(jinja *j, value v, args_of args) {
    return jinja_order(j, v, operand(j, args), ">") > 0;
}
static bool is_at_least(jinja *j, value v, args_of args) {
    return jinja_order(j, v, operand(j, args), ">=") >= 0;
}
static bool is_in(jinja *j, value v, args_of args) {
    value container = operand(j, args);
    return !j->failed && jinja_contains(j, container, v);
}

/* The same object; small values that are equal are one. */
static bool is_same(jinja *j, value v, args_of args) {
    value other = operand(j, args);
    if (v.type != other.type)
        return false;
    if (v.type == JINJA_LIST)
        return v.as.list == other.as.list;
    if (v.type == JINJA_DICT)
        return v.as.dict == other.as.dict;
    return jinja_equal(j, v, other);
}

/* ---- Numbers and case ---- */

static int64_t remainder_of(jinja *j, value v, int64_t by) {
    value rest = jinja_binary(j, JINJA_MOD, v, jinja_int(by));
    return rest.type == JINJA_INT ? rest.as.i : rest.type == JINJA_FLOAT && rest.as.f != 0;
}
static bool is_even(jinja *j, value v, args_of args) {
    (void)args;
    return remainder_of(j, v, 2) == 0;
}
static bool is_odd(jinja *j, value v, args_of args) {
    (void)args;
    return remainder_of(j, v, 2) == 1;
}
static bool is_divisible(jinja *j, value v, args_of args) {
    value by = operand(j, args);
    int64_t n = jinja_int_arg(j, &by, 1);
    return !j->failed && remainder_of(j, v, n) == 0;
}

/* Has letters, and all of them are so. */
static bool has_case(jinja *j, value v, jinja_case how, jinja_case other) {
    jinja_string s = jinja_to_text(j, v);
    value same = jinja_change_case(j, s, how), different = jinja_change_case(j, s, other);
    return !j->failed && jinja_same(s, same.as.s) && !jinja_same(s, different.as.s);
}
static bool is_lower(jinja *j, value v, args_of args) {
    (void)args;
    return has_case(j, v, JINJA_LOWER, JINJA_UPPER);
}
static bool is_upper(jinja *j, value v, args_of args) {
    (void)args;
    return has_case(j, v, JINJA_UPPER, JINJA_LOWER);
}

/* ---- Names ---- */

static bool is_filter(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_has_filter(jinja_text_arg(j, &v, JINJA_TEXT("")));
}
static bool is_test(jinja *j, value v, args_of args) {
    (void)args;
    return jinja_has_test(jinja_text_arg(j, &v, JINJA_TEXT("")));
}

static const struct {
    const char *name;
    test_fn holds;
} tests[] = {
    {"defined", is_defined},
    {"undefined", is_undefined},
    {"none", is_none},
    {"boolean", is_boolean},
    {"true", is_true},
    {"false", is_false},
    {"integer", is_integer},
    {"float", is_float},
    {"number", is_number},
    {"string", is_string},
    {"mapping", is_mapping},
    {"sequence", is_sequence},
    {"iterable", is_iterable},
    {"callable", is_callable},
    {"escaped", is_escaped},
    {"equalto", is_equal},
    {"eq", is_equal},
    {"==", is_equal},
    {"ne", is_unequal},
    {"!=", is_unequal},
    {"lt", is_less},
    {"<", is_less},
    {"lessthan", is_less},
    {"le", is_at_most},
    {"<=", is_at_most},
    {"gt", is_greater},
    {">", is_greater},
    {"greaterthan", is_greater},
    {"ge", is_at_least},
    {">=", is_at_least},
    {"in", is_in},
    {"sameas", is_same},
    {"even", is_even},
    {"odd", is_odd},
    {"divisibleby", is_divisible},
    {"lower", is_lower},
    {"upper", is_upper},
    {"filter", is_filter},
    {"test", is_test},
};

static test_fn find_test(jinja_string name) {
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (jinja_is_text(name, tests[i].name))
            return tests[i].holds;
    return NULL;
}

bool jinja_has_test(jinja_string name) {
    return find_test(name) != NULL;
}

bool jinja_apply_test(jinja *j, jinja_string name, jinja_value v, const jinja_args *args) {
    test_fn holds = find_test(name);
    if (holds)
        return holds(j, v, args) && !j->failed;
    jinja_fail(j, JINJA_RUNTIME, "No test named '%.*s' found.", (int)(name.n < 100 ? name.n : 100),
               name.text);
    return false;
}
