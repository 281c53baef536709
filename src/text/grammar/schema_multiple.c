/* JSON Schema: multiples of a number, as an automaton over decimal digits that knows the rest of
 * what it has read so far. Steps are taken as the decimal numbers that they are written as: 0.01 is
 * a hundredth, not the double next to it. */
#include "text/grammar/schema.h"

#include <math.h>

#define MAX_UNITS INT64_C(1000000000)
#define MAX_DECIMALS 9
#define MAX_DIGITS 15 /* of a multiple: what a double holds exactly */
#define ALL_WHOLE 16  /* digits before the point where every spelling is meant */
#define ALL_DECIMALS 16

/* ---- Steps ---- */

static int64_t power_of_ten(int n) {
    int64_t p = 1;
    while (n-- > 0)
        p *= 10;
    return p;
}

bool weft_step_from(double x, weft_step *out) {
    for (int k = 0; k <= MAX_DECIMALS; k++) {
        double scale = (double)power_of_ten(k), scaled = rint(x * scale);
        if (fabs(scaled) > 9e15)
            return false;
        if (scaled / scale == x) {
            *out = (weft_step){(int64_t)scaled, k};
            return true;
        }
    }
    return false;
}

bool weft_schema_step_of(weft_schema *s, const weft_json *v, weft_step *out) {
    double x = weft_json_number(v);
    if (x > 0 && x <= (double)MAX_UNITS && weft_step_from(x, out) && out->units <= MAX_UNITS)
        return true;
    weft_schema_refuse(s, "'multipleOf' that is no number from 1e-9 to 1e9 with up to 9 digits");
    return false;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The least number that is a multiple of both. */
static weft_step common_multiple(weft_schema *s, weft_step x, weft_step y) {
    int k = x.decimals > y.decimals ? x.decimals : y.decimals;
    int64_t a = x.units * power_of_ten(k - x.decimals), b = y.units * power_of_ten(k - y.decimals);
    int64_t parts = b / greatest_common_divisor(a, b);
    weft_step all = {0, k};
    if (a > INT64_MAX / parts) {
        weft_schema_refuse(s, "several 'multipleOf' whose least common multiple is above 1e9");
        return x;
    }
    for (all.units = a * parts; all.decimals > 0 && all.units % 10 == 0; all.decimals--)
        all.units /= 10;
    if (all.units > MAX_UNITS)
        weft_schema_refuse(s, "several 'multipleOf' whose least common multiple is above 1e9");
    return all;
}

weft_step weft_schema_step(weft_schema *s, const weft_conj *c, bool whole) {
    weft_step all = {whole, 0}, one;
    for (size_t i = 0; i < c->n && !s->n->status; i++) {
        const weft_json *v = weft_json_get(c->items[i], "multipleOf");
        if (v && weft_schema_step_of(s, v, &one))
            all = all.units ? common_multiple(s, all, one) : one;
    }
    return all;
}

bool weft_step_divides(weft_step step, weft_step x) {
    int k = step.decimals > x.decimals ? step.decimals : x.decimals;
    /* x · 10^k by step · 10^k, digit by digit, since the product need not fit. */
    int64_t by = step.units * power_of_ten(k - step.decimals), rest = x.units % by;
    for (int i = x.decimals; i < k; i++)
        rest = rest * 10 % by;
    return rest == 0;
}

/* ---- The automaton ---- */

/* A state for each row and rest. Row r ≤ `decimals`: behind the point, r digits may still come;
 * rows above: before the point. */
typedef struct table {
    weft_nfa *n;
    weft_step step;
    uint32_t first;
    weft_frag tail; /* behind a multiple with all its decimals */
    int n_rows;
} table;

static uint32_t state_at(const table *t, int row, int64_t rest) {
    return t->first + (uint32_t)(t->step.units * row + rest);
}

/* One more way to go on, beside those of `chain` (0: none). */
static uint32_t also(weft_nfa *n, uint32_t chain, uint32_t way) {
    return chain ? weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = way, .b = chain})
                 : way;
}

static uint32_t edge(weft_nfa *n, char c, uint32_t to) {
    return weft_nfa_add(
        n,
        (weft_nfa_state){.kind = WEFT_NFA_BYTES, .low = (uint8_t)c, .high = (uint8_t)c, .a = to});
}

/* How a text may end, or go on with a point, in a row; 0: not at all. */
static uint32_t way_out(const table *t, int row, int64_t rest) {
    int k = t->step.decimals, missing = row < k ? row : k;
    uint32_t chain = 0;
    if (rest * power_of_ten(missing) % t->step.units == 0 && row != k)
        chain = missing == 0 ? t->tail.start : t->tail.end;
    if (k > 0 && row > k)
        chain = also(t->n, chain, edge(t->n, '.', state_at(t, k, rest)));
    return chain;
}

static void fill(table *t, int row, int64_t rest) {
    weft_nfa *n = t->n;
    /* Row k + 1 holds the last digit before the point. */
    bool last = row == 0 || row == t->step.decimals + 1;
    uint32_t chain = way_out(t, row, rest);
    for (int d = 0; d < 10 && !last && !n->status; d++)
        chain =
            also(n, chain,
                 edge(n, (char)('0' + d), state_at(t, row - 1, (rest * 10 + d) % t->step.units)));
    if (!n->status)
        n->states[state_at(t, row, rest)].a = chain;
}

/* The first digits of a number: no whole number begins with 0 but 0, which may not end here without
 * `zero`. */
static uint32_t begin(table *t, bool zero) {
    weft_nfa *n = t->n;
    int top = t->n_rows - 1, k = t->step.decimals;
    weft_nfa_state after = {.kind = WEFT_NFA_NEXT};
    if (zero)
        after.a = way_out(t, top, 0);
    else if (k > 0)
        after.a = edge(n, '.', state_at(t, k, 0));
    uint32_t chain = edge(n, '0', weft_nfa_add(n, after));
    for (int d = 1; d < 10 && !n->status; d++)
        chain = also(n, chain, edge(n, (char)('0' + d), state_at(t, top, d % t->step.units)));
    return chain;
}

/* Zeros behind the decimals that the step has; without `all` none. */
static weft_frag zeros(weft_nfa *n, int decimals, bool all) {
    if (!all)
        return weft_frag_empty(n);
    size_t mark = n->n_states;
    weft_frag zero = weft_frag_bytes(n, '0', '0');
    if (decimals > 0)
        return weft_frag_repeat(n, mark, zero, 0, ALL_DECIMALS);
    zero = weft_frag_repeat(n, mark, zero, 1, ALL_DECIMALS);
    return weft_frag_optional(n, weft_frag_then(n, weft_frag_literal(n, ".", 1), zero));
}

weft_frag weft_schema_multiples(weft_nfa *n, weft_step step, bool all) {
    int k = step.decimals, whole = all ? ALL_WHOLE : MAX_DIGITS - k;
    table t = {.n = n, .step = step, .tail = zeros(n, k, all), .n_rows = k + 1 + whole};
    t.first = (uint32_t)n->n_states;
    for (int row = 0; row < t.n_rows; row++)
        for (int64_t rest = 0; rest < step.units && !n->status; rest++)
            weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_NEXT});
    for (int row = 0; row < t.n_rows; row++)
        for (int64_t rest = 0; rest < step.units && !n->status; rest++)
            fill(&t, row, rest);
    uint32_t minus = edge(n, '-', begin(&t, all));
    return (weft_frag){also(n, begin(&t, true), minus), t.tail.end};
}
