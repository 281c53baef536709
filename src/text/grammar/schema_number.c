/* JSON Schema: numbers between bounds, as automata over their decimal digits. */
#include "text/grammar/languages.h"
#include "text/grammar/schema.h"

#include <math.h>
#include <string.h>

#define MAX_DIGITS 15    /* before the point: what a double holds exactly */
#define MAX_DECIMALS 15  /* of a bound */
#define FREE_DECIMALS 16 /* of a number */
#define EXACT_DIGITS 15  /* decimal numbers of so many digits are all different doubles */
static const int64_t LARGEST = INT64_C(999999999999999);
static const int64_t LARGEST_EXACT = INT64_C(9007199254740991); /* 2^53 - 1 */

static weft_frag digit(weft_nfa *n, int low, int high) {
    return weft_frag_bytes(n, (uint8_t)('0' + low), (uint8_t)('0' + high));
}

static weft_frag digits(weft_nfa *n, uint32_t min, uint32_t max) {
    size_t mark = n->n_states;
    return weft_frag_repeat(n, mark, digit(n, 0, 9), min, max);
}

static void add(weft_nfa *n, weft_frag *all, bool *any, weft_frag one) {
    *all = *any ? weft_frag_or(n, *all, one) : one;
    *any = true;
}

/* ---- Whole numbers ---- */

/* The numbers low … high, which have the same count of digits: units[0] is the first's value. */
static weft_frag same_length(weft_nfa *n, int64_t low, int64_t high, int64_t unit, bool above,
                             bool below) {
    uint32_t rest = 0;
    for (int64_t u = unit; u > 1; u /= 10)
        rest++;
    if (!above && !below)
        return digits(n, rest + (unit > 0), rest + (unit > 0));
    if (unit == 0)
        return weft_frag_empty(n);
    int first = above ? (int)(low / unit) : 0, last = below ? (int)(high / unit) : 9;
    weft_frag all = {0, 0};
    bool any = false;
    for (int d = first; d <= last && !n->status; d++) {
        bool at_low = above && d == first, at_high = below && d == last;
        int end = d;
        if (!at_low && !at_high)
            end = below ? last - 1 : last; /* all between are alike */
        weft_frag tail = same_length(n, low % unit, high % unit, unit / 10, at_low, at_high);
        add(n, &all, &any, weft_frag_then(n, digit(n, d, end), tail));
        d = end;
    }
    return any ? all : weft_frag_never(n);
}

/* low … high, 0 <= low. */
static weft_frag whole_range(weft_nfa *n, int64_t low, int64_t high) {
    weft_frag all = {0, 0};
    bool any = false;
    for (int64_t unit = 1; unit <= high || unit == 1; unit *= 10) {
        int64_t least = unit == 1 ? 0 : unit, most = unit > LARGEST ? INT64_MAX : unit * 10 - 1;
        int64_t from = low > least ? low : least, to = high < most ? high : most;
        if (from <= to)
            add(n, &all, &any, same_length(n, from, to, unit, true, true));
        if (unit > LARGEST)
            break;
    }
    return any ? all : weft_frag_never(n);
}

/* ---- Bounds ---- */

typedef struct bound {
    bool there, strict;
    int64_t whole;              /* of the absolute value */
    int decimals[MAX_DECIMALS]; /* digits after the point */
    int n_decimals;             /* without the zeros at the end */
} bound;

/* The decimal digits of |x|; refused where x has more of them than a few. */
static bound digits_of(weft_schema *s, double x, bool strict) {
    bound b = {.there = true, .strict = strict};
    double scale = 1, size = fabs(x);
    for (int k = 0; k <= MAX_DECIMALS; k++, scale *= 10) {
        double scaled = rint(size * scale);
        if (scaled > 9e15)
            break;
        if (scaled / scale != size)
            continue;
        int64_t all = (int64_t)scaled, unit = (int64_t)scale;
        b.whole = all / unit;
        b.n_decimals = k;
        for (int i = 0; i < k; i++) {
            unit /= 10;
            b.decimals[i] = (int)(all / unit % 10);
        }
        return b;
    }
    weft_schema_refuse(s, "the bound %g has too many digits", x);
    return b;
}

static bool zeros_from(const bound *b, int i) {
    for (; i < MAX_DECIMALS; i++)
        if (b->decimals[i])
            return false;
    return true;
}

/* Decimals from number i on, up to `room` in all, where those before equal the lower (upper)
 * bound's if `low` (`high`) is not NULL. `more`: at least one must come. */
static weft_frag decimals(weft_nfa *n, int i, int room, const bound *low, const bound *high,
                          bool more) {
    if (!low && !high)
        return digits(n, more, (uint32_t)(room > i ? room - i : more));
    bool stops = !more && (!low || (!low->strict && zeros_from(low, i))) &&
                 (!high || !high->strict || !zeros_from(high, i));
    weft_frag all = {0, 0};
    bool any = false;
    if (stops)
        add(n, &all, &any, weft_frag_empty(n));
    if (i >= room) /* one digit more might be rounded to the bound */
        return any ? all : weft_frag_never(n);
    if (high && !low && zeros_from(high, i)) /* only zeros could come */
        return any ? all : weft_frag_never(n);
    int first = low ? low->decimals[i] : 0, last = high ? high->decimals[i] : 9;
    for (int d = first; d <= last && !n->status; d++) {
        bool at_low = low && d == first, at_high = high && d == last;
        int end = at_low || at_high ? d : high ? last - 1 : last;
        weft_frag tail =
            decimals(n, i + 1, room, at_low ? low : NULL, at_high ? high : NULL, false);
        add(n, &all, &any, weft_frag_then(n, digit(n, d, end), tail));
        d = end;
    }
    return any ? all : weft_frag_never(n);
}

/* What follows the whole part of a number: nothing, or a point and decimals. */
static weft_frag fraction(weft_nfa *n, int room, const bound *low, const bound *high) {
    weft_frag point = weft_frag_literal(n, ".", 1);
    weft_frag f = weft_frag_then(n, point, decimals(n, 0, room, low, high, true));
    bool none = (!low || (!low->strict && zeros_from(low, 0))) &&
                (!high || !high->strict || !zeros_from(high, 0));
    return none ? weft_frag_optional(n, f) : f;
}

static weft_frag with_whole(weft_nfa *n, int64_t from, int64_t to, int room, const bound *low,
                            const bound *high) {
    if (from > to)
        return weft_frag_never(n);
    return weft_frag_then(n, whole_range(n, from, to), fraction(n, room, low, high));
}

/* How many decimals numbers beside a bound have, so that none is rounded to the bound. */
static int room_beside(const bound *low, const bound *high) {
    int64_t most = high->there && high->whole > low->whole ? high->whole : low->whole;
    int room = EXACT_DIGITS - 1;
    for (; most >= 10 && room > 1; most /= 10)
        room--;
    room = low->n_decimals > room ? low->n_decimals : room;
    return high->there && high->n_decimals > room ? high->n_decimals : room;
}

/* Absolute values between two bounds; high may be absent. */
static weft_frag between(weft_nfa *n, const bound *low, const bound *high) {
    int64_t most = high->there ? high->whole : LARGEST;
    int room = room_beside(low, high);
    const bound *top = high->there ? high : NULL;
    if (low->whole == most && top)
        return with_whole(n, most, most, room, low, top);
    weft_frag all = with_whole(n, low->whole, low->whole, room, low, NULL);
    weft_frag inner = with_whole(n, low->whole + 1, top ? most - 1 : most, room, NULL, NULL);
    all = weft_frag_or(n, all, inner);
    if (!top || most <= low->whole)
        return all;
    return weft_frag_or(n, all, with_whole(n, most, most, room, NULL, top));
}

/* What bounds say of a number. */
typedef struct range {
    bool has_low, has_high, low_strict, high_strict;
    double low, high;
} range;

/* The tightest of the bounds of all schemas. */
static bool find_bound(weft_schema *s, const weft_conj *c, bool upper, double *out, bool *strict) {
    static const char *const names[2][2] = {{"minimum", "exclusiveMinimum"},
                                            {"maximum", "exclusiveMaximum"}};
    bool any = false;
    for (size_t i = 0; i < c->n; i++)
        for (int k = 0; k < 2; k++) {
            const weft_json *v = weft_json_get(c->items[i], names[upper][k]);
            if (!v)
                continue;
            weft_json_type type = weft_json_type_of(v);
            if (type != WEFT_JSON_INTEGER && type != WEFT_JSON_REAL) {
                weft_schema_refuse(s, "'%s' that is no number", names[upper][k]);
                return false;
            }
            double x = weft_json_number(v);
            if (!any || (upper ? x < *out : x > *out) || (x == *out && k == 1)) {
                *out = x;
                *strict = k == 1;
            }
            any = true;
        }
    return any;
}

static range find_range(weft_schema *s, const weft_conj *c) {
    range r = {0};
    r.has_low = find_bound(s, c, false, &r.low, &r.low_strict);
    r.has_high = find_bound(s, c, true, &r.high, &r.high_strict);
    return r;
}

/* ---- Numbers ---- */

static weft_frag minus(weft_nfa *n, weft_frag f) {
    return weft_frag_then(n, weft_frag_literal(n, "-", 1), f);
}

static weft_frag free_number(weft_nfa *n, bool whole, bool exponent) {
    weft_frag f = weft_frag_then(n, digit(n, 1, 9), digits(n, 0, MAX_DIGITS - 1));
    f = weft_frag_or(n, digit(n, 0, 0), f);
    f = weft_frag_then(n, weft_frag_optional(n, weft_frag_literal(n, "-", 1)), f);
    if (whole)
        return f;
    weft_frag point = weft_frag_then(n, weft_frag_literal(n, ".", 1), digits(n, 1, FREE_DECIMALS));
    f = weft_frag_then(n, f, weft_frag_optional(n, point));
    if (!exponent)
        return f;
    weft_frag e = weft_frag_or(n, weft_frag_literal(n, "e", 1), weft_frag_literal(n, "E", 1));
    weft_frag sign = weft_frag_or(n, weft_frag_literal(n, "-", 1), weft_frag_literal(n, "+", 1));
    e = weft_frag_then(n, e, weft_frag_optional(n, sign));
    return weft_frag_then(n, f, weft_frag_optional(n, weft_frag_then(n, e, digits(n, 1, 2))));
}

static weft_frag whole_between(weft_schema *s, const range *r) {
    weft_nfa *n = s->n;
    double most = (double)LARGEST_EXACT, low = fmax(r->low, -most), high = fmin(r->high, most);
    if ((r->has_low && low > most) || (r->has_high && high < -most)) {
        weft_schema_refuse(s, "whole numbers beyond 2^53 - 1");
        return weft_frag_never(n);
    }
    /* Without a bound 15 digits, or 2^53 - 1 beyond a bound that is large itself. */
    int64_t from = r->has_low ? (int64_t)low : high < (double)-LARGEST ? -LARGEST_EXACT : -LARGEST;
    int64_t to = r->has_high ? (int64_t)high : low > (double)LARGEST ? LARGEST_EXACT : LARGEST;
    weft_frag all = {0, 0};
    bool any = false;
    if (to >= 0 && from <= to)
        add(n, &all, &any, whole_range(n, from > 0 ? from : 0, to));
    if (from < 0 && from <= to)
        add(n, &all, &any, minus(n, whole_range(n, to < 0 ? -to : 1, -from)));
    return any ? all : weft_frag_never(n);
}

static weft_frag real_between(weft_schema *s, const range *r) {
    static const bound zero = {.there = true}, above_zero = {.there = true, .strict = true};
    static const bound none = {0};
    weft_nfa *n = s->n;
    /* Bounds beyond what is generated anyway are as good as none. */
    bool has_low = r->has_low && r->low >= (double)-LARGEST;
    bool has_high = r->has_high && r->high <= (double)LARGEST;
    bound low = has_low ? digits_of(s, r->low, r->low_strict) : none;
    bound high = has_high ? digits_of(s, r->high, r->high_strict) : none;
    if ((r->has_low && r->low > (double)LARGEST) || (r->has_high && r->high < (double)-LARGEST))
        weft_schema_refuse(s, "numbers beyond 10^15");
    if (n->status)
        return weft_frag_never(n);
    bool low_negative = low.there && r->low < 0, high_negative = high.there && r->high < 0;
    bool any = false;
    weft_frag all = {0, 0};
    if (!high.there || !high_negative)
        add(n, &all, &any, between(n, low.there && !low_negative ? &low : &zero, &high));
    if (!low.there || low_negative) {
        const bound *least = high.there && high_negative ? &high : &above_zero;
        add(n, &all, &any, minus(n, between(n, least, low.there ? &low : &none)));
    }
    return any ? all : weft_frag_never(n);
}

/* ---- Multiples ---- */

#define MAX_STEP 1000     /* a state for each rest and digit */
#define MAX_WIDE_STEP 100 /* the same, and between bounds that are far apart */
#define MAX_LISTED 2000   /* multiples that are listed one by one */
#define MAX_TERMS 12      /* conditions of one number */

/* Few multiples of `step`, one by one. */
static weft_frag listed_multiples(weft_schema *s, int64_t first, int64_t last, int64_t step) {
    weft_nfa *n = s->n;
    weft_frag all = weft_frag_never(n);
    for (int64_t x = first; x <= last && !n->status; x += step) {
        weft_frag one = whole_range(n, x < 0 ? -x : x, x < 0 ? -x : x);
        all = weft_frag_or(n, all, x < 0 ? minus(n, one) : one);
    }
    return all;
}

/* The multiples of `step` in a piece whose states begin at `first`. */
static weft_frag among(weft_schema *s, uint32_t first, weft_frag f, weft_step step) {
    weft_frag_term terms[2] = {{f, first, false}, {.first = (uint32_t)s->n->n_states}};
    terms[1].f = weft_schema_multiples(s->n, step, false);
    return weft_frag_all(s->n, terms, 2);
}

/* Whole multiples of a whole step. */
static weft_frag whole_multiples(weft_schema *s, weft_step step, const range *r) {
    double low = r->low, high = r->high, size = (double)step.units;
    if (!r->has_low && !r->has_high && step.units <= MAX_STEP)
        return weft_schema_multiples(s->n, step, false);
    bool is_wide = r->has_low && r->has_high && (high - low) / size > MAX_LISTED;
    if (is_wide && step.units <= MAX_WIDE_STEP) {
        uint32_t first = (uint32_t)s->n->n_states;
        return among(s, first, whole_between(s, r), step);
    }
    /* With one bound only, the nearest ones to it. */
    double reach = size * (MAX_LISTED - 1);
    if (!r->has_low)
        low = r->has_high ? high - reach : -reach / 2;
    if (!r->has_high)
        high = low + reach;
    double most = (double)LARGEST_EXACT;
    if (fabs(low) > most || fabs(high) > most || (high - low) / size > MAX_LISTED) {
        weft_schema_refuse(s,
                           "'multipleOf' %lld between bounds that are further apart than %d of it",
                           (long long)step.units, MAX_LISTED);
        return weft_frag_never(s->n);
    }
    int64_t first = (int64_t)ceil(low / size) * step.units;
    return listed_multiples(s, first, (int64_t)high, step.units);
}

/* Multiples of a step that is not whole. */
static weft_frag decimal_multiples(weft_schema *s, weft_step step, const range *r) {
    if (step.units > MAX_STEP) {
        weft_schema_refuse(s, "'multipleOf' of more than three digits behind leading zeros");
        return weft_frag_never(s->n);
    }
    if (!r->has_low && !r->has_high)
        return weft_schema_multiples(s->n, step, false);
    uint32_t first = (uint32_t)s->n->n_states;
    return among(s, first, real_between(s, r), step);
}

/* ---- All of them ---- */

/* Whole bounds that allow the same whole numbers. */
static range whole_bounds(range r) {
    r.low = r.low_strict ? floor(r.low) + 1 : ceil(r.low);
    r.high = r.high_strict ? ceil(r.high) - 1 : floor(r.high);
    return r;
}

/* Numbers without an exponent, where multiples of something are left out. They have so few digits
 * that none is rounded to a multiple. */
static weft_frag but_multiples(weft_schema *s, const weft_conj *c, uint32_t first, weft_frag f) {
    static const char shape[] = "-?([0-9]{1,16}|[0-9]{1,9}\\.[0-9]{1,6})";
    weft_nfa *n = s->n;
    weft_frag_term terms[MAX_TERMS] = {{f, first, false}, {.first = (uint32_t)n->n_states}};
    terms[1].f = weft_regex_parse(n, shape, sizeof shape - 1, false);
    size_t n_terms = 2;
    for (size_t i = 0; i < c->n && !n->status; i++) {
        const weft_json *v = weft_json_get(c->items[i], WEFT_NOT_MULTIPLE);
        weft_step step;
        if (!v || !weft_schema_step_of(s, v, &step))
            continue;
        if (step.units > MAX_STEP || n_terms == MAX_TERMS) {
            weft_schema_refuse(s,
                               "'multipleOf' above %d, or more than %d of them, inside of 'not', "
                               "'if' or 'oneOf'",
                               MAX_STEP, MAX_TERMS - 2);
            break;
        }
        terms[n_terms] = (weft_frag_term){.first = (uint32_t)n->n_states, .without = true};
        terms[n_terms++].f = weft_schema_multiples(n, step, true);
    }
    return weft_frag_all(n, terms, n_terms);
}

static weft_frag number_of(weft_schema *s, const weft_conj *c, bool whole) {
    bool has_not = weft_conj_get(c, WEFT_NOT_MULTIPLE) != NULL;
    uint32_t first = (uint32_t)s->n->n_states;
    weft_step step = weft_schema_step(s, c, whole);
    range r = find_range(s, c);
    if (r.has_low && r.has_high &&
        (r.low > r.high || (r.low == r.high && (r.low_strict || r.high_strict))))
        return weft_frag_never(s->n);
    bool free = !r.has_low && !r.has_high, ones = step.units == 1 && step.decimals == 0;
    weft_frag f;
    if (step.decimals > 0)
        f = decimal_multiples(s, step, &r);
    else if (free && (step.units == 0 || ones))
        f = free_number(s->n, ones, !has_not);
    else if (step.units == 0)
        f = real_between(s, &r);
    else {
        r = whole_bounds(r);
        f = ones ? whole_between(s, &r) : whole_multiples(s, step, &r);
    }
    return has_not ? but_multiples(s, c, first, f) : f;
}

/* Numbers that are not whole: those whose last digit is behind the point and no 0. */
static weft_frag fractions_of(weft_schema *s, const weft_conj *c) {
    static const char shape[] = "-?[0-9]{1,9}\\.[0-9]{0,5}[1-9]";
    weft_frag_term terms[2] = {{.first = (uint32_t)s->n->n_states}};
    terms[0].f = number_of(s, c, false);
    terms[1].first = (uint32_t)s->n->n_states;
    terms[1].f = weft_regex_parse(s->n, shape, sizeof shape - 1, false);
    return weft_frag_all(s->n, terms, 2);
}

weft_frag weft_schema_number(weft_schema *s, const weft_conj *c, int types) {
    return types == WEFT_TYPE_NUMBER ? fractions_of(s, c)
                                     : number_of(s, c, !(types & WEFT_TYPE_NUMBER));
}
