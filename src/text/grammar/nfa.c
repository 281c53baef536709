/* Building automata out of pieces (Thompson 1968). */
#include "text/grammar/nfa.h"
#include "base/alloc.h"
#include "base/detail.h"

#include <string.h>

#define SHORTEST_RUN 24

void weft_nfa_init(weft_nfa *n, const weft_allocator *a) {
    memset(n, 0, sizeof *n);
    n->a = *a;
    weft_frag_never(n); /* state 0 */
}

void weft_nfa_free(weft_nfa *n) {
    for (size_t i = 0; i < n->n_rules; i++)
        weft_dealloc(&n->a, n->rules[i].name, n->rules[i].name_bytes);
    for (size_t i = 0; i < n->n_runs; i++)
        weft_dealloc(&n->a, n->runs[i].begins, n->runs[i].n * sizeof(uint32_t));
    weft_dealloc(&n->a, n->rules, n->rules_room * sizeof *n->rules);
    weft_dealloc(&n->a, n->states, n->states_room * sizeof *n->states);
    memset(n, 0, sizeof *n);
}

bool weft_nfa_grow(const weft_allocator *a, void **items, size_t *room, size_t wanted,
                   size_t item_bytes) {
    if (wanted <= *room)
        return true;
    size_t more = *room ? *room * 2 : 64;
    more = more < wanted ? wanted : more;
    void *grown = weft_realloc(a, *items, *room * item_bytes, weft_size_of(more, item_bytes));
    if (!grown)
        return false;
    *items = grown;
    *room = more;
    return true;
}

static void no_memory(weft_nfa *n) {
    if (!n->status)
        n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
}

void weft_nfa_too_large(weft_nfa *n) {
    if (!n->status)
        n->status = weft_fail(WEFT_E_OVERFLOW, "grammar: more than %zu states or %zu rules",
                              WEFT_NFA_MAX_STATES, WEFT_NFA_MAX_RULES);
}

/* Room for `more` states. */
static bool reserve(weft_nfa *n, size_t more) {
    if (n->status)
        return false;
    if (more > WEFT_NFA_MAX_STATES - n->n_states) {
        weft_nfa_too_large(n);
        return false;
    }
    if (!weft_nfa_grow(&n->a, (void **)&n->states, &n->states_room, n->n_states + more,
                       sizeof *n->states)) {
        no_memory(n);
        return false;
    }
    return true;
}

uint32_t weft_nfa_add(weft_nfa *n, weft_nfa_state state) {
    if (!reserve(n, 1))
        return 0;
    n->states[n->n_states] = state;
    return (uint32_t)n->n_states++;
}

static uint32_t add_next(weft_nfa *n) {
    return weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_NEXT});
}

static void connect(weft_nfa *n, uint32_t from, uint32_t to) {
    if (!n->status)
        n->states[from].a = to;
}

/* ---- Rules ---- */

uint32_t weft_nfa_add_rule(weft_nfa *n, const char *name, size_t n_bytes) {
    if (n->n_rules >= WEFT_NFA_MAX_RULES)
        weft_nfa_too_large(n);
    if (n->status)
        return WEFT_NFA_NONE;
    char *copy = weft_alloc_zeroed(&n->a, n_bytes + 1);
    if (!copy || !weft_nfa_grow(&n->a, (void **)&n->rules, &n->rules_room, n->n_rules + 1,
                                sizeof *n->rules)) {
        weft_dealloc(&n->a, copy, n_bytes + 1);
        no_memory(n);
        return WEFT_NFA_NONE;
    }
    memcpy(copy, name, n_bytes);
    n->rules[n->n_rules] = (weft_nfa_rule){.name = copy, .name_bytes = n_bytes + 1};
    return (uint32_t)n->n_rules++;
}

void weft_nfa_define(weft_nfa *n, uint32_t rule, weft_frag body) {
    uint32_t final = weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_FINAL});
    connect(n, body.end, final);
    if (n->status)
        return;
    n->rules[rule].start = body.start;
    n->rules[rule].final = final;
}

/* ---- Pieces ---- */

weft_frag weft_frag_empty(weft_nfa *n) {
    uint32_t s = add_next(n);
    return (weft_frag){s, s};
}

weft_frag weft_frag_never(weft_nfa *n) {
    uint32_t dead = weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_DEAD});
    return (weft_frag){dead, add_next(n)};
}

static weft_frag one_state(weft_nfa *n, weft_nfa_state state) {
    uint32_t start = weft_nfa_add(n, state), end = add_next(n);
    connect(n, start, end);
    return (weft_frag){start, end};
}

weft_frag weft_frag_bytes(weft_nfa *n, uint8_t low, uint8_t high) {
    return one_state(n, (weft_nfa_state){.kind = WEFT_NFA_BYTES, .low = low, .high = high});
}

weft_frag weft_frag_call(weft_nfa *n, uint32_t rule) {
    return one_state(n, (weft_nfa_state){.kind = WEFT_NFA_CALL, .b = rule});
}

weft_frag weft_frag_literal(weft_nfa *n, const char *bytes, size_t n_bytes) {
    weft_frag whole = weft_frag_empty(n);
    for (size_t i = 0; i < n_bytes && !n->status; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        whole = weft_frag_then(n, whole, weft_frag_bytes(n, byte, byte));
    }
    return whole;
}

weft_frag weft_frag_then(weft_nfa *n, weft_frag first, weft_frag second) {
    connect(n, first.end, second.start);
    return (weft_frag){first.start, second.end};
}

weft_frag weft_frag_or(weft_nfa *n, weft_frag one, weft_frag other) {
    uint32_t start =
        weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = one.start, .b = other.start});
    uint32_t end = add_next(n);
    connect(n, one.end, end);
    connect(n, other.end, end);
    return (weft_frag){start, end};
}

weft_frag weft_frag_optional(weft_nfa *n, weft_frag f) {
    return weft_frag_or(n, f, weft_frag_empty(n));
}

/* A copy of the states from `mark` up to `end`, which refer to each other only. */
static weft_frag copy(weft_nfa *n, size_t mark, size_t end, weft_frag f) {
    uint32_t by = (uint32_t)(n->n_states - mark);
    if (!reserve(n, end - mark))
        return (weft_frag){0, 0};
    for (size_t i = mark; i < end; i++) {
        weft_nfa_state s = n->states[i];
        if (s.a >= mark)
            s.a += by;
        if (s.kind == WEFT_NFA_SPLIT && s.b >= mark)
            s.b += by;
        n->states[n->n_states++] = s;
    }
    return (weft_frag){f.start + by, f.end + by};
}

/* Any number of times. */
static weft_frag star(weft_nfa *n, weft_frag f) {
    uint32_t end = add_next(n);
    uint32_t loop =
        weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = f.start, .b = end});
    connect(n, f.end, loop);
    return (weft_frag){loop, end};
}

/* Remembers where the copies are; NULL where it is not worth it. */
static weft_nfa_run *add_run(weft_nfa *n, uint32_t min, uint32_t max, size_t times, size_t each) {
    if (times < SHORTEST_RUN || n->n_runs == WEFT_NFA_MAX_RUNS || n->status)
        return NULL;
    weft_nfa_run *r = &n->runs[n->n_runs];
    *r = (weft_nfa_run){min, max, (uint32_t)each, NULL, times};
    r->begins = weft_alloc_zeroed(&n->a, weft_size_of(times, sizeof *r->begins));
    if (!r->begins) {
        no_memory(n);
        return NULL;
    }
    n->n_runs++;
    return r;
}

weft_frag weft_frag_repeat(weft_nfa *n, size_t mark, weft_frag f, uint32_t min, uint32_t max) {
    size_t end = n->n_states;
    bool endless = max == WEFT_NFA_NONE;
    size_t times = endless ? (size_t)min + 1 : max, each = end - mark + 3;
    if (n->status || times == 0)
        return weft_frag_empty(n);
    if (times > (WEFT_NFA_MAX_STATES - n->n_states) / each + 1) {
        weft_nfa_too_large(n);
        return (weft_frag){0, 0};
    }
    weft_nfa_run *run = add_run(n, min, max, times, end - mark);
    /* The last copies first: what is optional nests to the right. */
    weft_frag whole = {0, 0};
    for (size_t i = times; i-- > 0 && !n->status;) {
        if (run)
            run->begins[i] = i == 0 ? (uint32_t)mark : (uint32_t)n->n_states;
        weft_frag one = i == 0 ? f : copy(n, mark, end, f);
        if (endless && i + 1 == times)
            whole = star(n, one);
        else if (i + 1 == times)
            whole = i >= min ? weft_frag_optional(n, one) : one;
        else if (i >= min) {
            uint32_t skip = weft_nfa_add(
                n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = one.start, .b = whole.end});
            connect(n, one.end, whole.start);
            whole.start = skip;
        } else {
            whole = weft_frag_then(n, one, whole);
        }
    }
    return whole;
}

weft_frag weft_frag_count(weft_nfa *n, size_t mark, weft_frag f, uint32_t min, uint32_t max) {
    size_t end = n->n_states, each = end - mark;
    if (n->status || max == WEFT_NFA_NONE || max < min)
        return n->status ? f : weft_frag_never(n);
    if ((size_t)max + 1 > (WEFT_NFA_MAX_STATES - n->n_states) / (each + 1)) {
        weft_nfa_too_large(n);
        return f;
    }
    /* Copy c is where c characters have gone by; the first byte of one leads to copy c + 1. */
    uint32_t first = (uint32_t)n->n_states;
    if (!reserve(n, each * ((size_t)max + 1)))
        return f;
    for (size_t c = 0; c <= max; c++)
        for (size_t i = mark; i < end; i++) {
            weft_nfa_state s = n->states[i];
            bool moves = s.kind == WEFT_NFA_BYTES && s.flags & WEFT_NFA_CHARACTER;
            uint32_t by = (uint32_t)(first - mark + each * (c + moves));
            if (moves && c == max)
                s = (weft_nfa_state){.kind = WEFT_NFA_DEAD};
            s.a = s.a >= mark ? s.a + by : s.a;
            s.b = s.kind == WEFT_NFA_SPLIT && s.b >= mark ? s.b + by : s.b;
            n->states[n->n_states++] = s;
        }
    weft_frag whole = {f.start - (uint32_t)mark + first, add_next(n)};
    for (size_t c = min; c <= max; c++)
        connect(n, f.end - (uint32_t)mark + first + (uint32_t)(each * c), whole.end);
    /* Shorter ones end nowhere. */
    for (size_t c = 0; c < min; c++)
        connect(n, f.end - (uint32_t)mark + first + (uint32_t)(each * c), 0);
    return whole;
}

/* The copy that a state is in; false: none. */
static bool find_copy(const weft_nfa_run *r, uint32_t state, size_t *copy_number) {
    size_t low = 1, high = r->n; /* begins[1 … n-1] descend */
    if (state >= r->begins[0] && state - r->begins[0] < r->each) {
        *copy_number = 0;
        return true;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->begins[middle] > state)
            low = middle + 1;
        else
            high = middle;
    }
    *copy_number = low;
    return low < r->n && state - r->begins[low] < r->each;
}

uint32_t weft_nfa_alike(const weft_nfa *n, uint32_t state, size_t n_bytes) {
    for (size_t k = 0; k < n->n_runs; k++) {
        const weft_nfa_run *r = &n->runs[k];
        size_t i, other, far = n_bytes + 2; /* an item takes a byte, the one going on none */
        if (!find_copy(r, state, &i))
            continue;
        other = i;
        if (r->min > far && i < r->min - far)
            other = r->min - far;
        else if (r->max != WEFT_NFA_NONE && r->max > far && i >= r->min && i < r->max - far)
            other = r->max - far;
        return r->begins[other] + (state - r->begins[i]);
    }
    return state;
}
