/* What several pieces have in common: their texts are followed together, as sets of states
 * (Rabin and Scott 1959), and each set becomes a state of the result. */
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/nfa.h"
#include "text/grammar/sets.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SETS 4096

typedef struct product {
    weft_nfa *n;
    const weft_frag_term *terms;
    size_t n_terms;
    weft_sets sets;  /* of states, as places without a node; `ends`: all terms are fulfilled */
    weft_places now; /* the set that is made */
    uint32_t *mark; /* [first state of all … n_states at first] the last set a state was put in */
    uint32_t first, last, stamp;
    uint32_t *label; /* [MAX_SETS + 1] the result's state of a set; 0: none yet */
} product;

static void no_memory(product *p) {
    if (!p->n->status)
        p->n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
}

/* Puts a state and what it leads to for nothing into the set. */
static void put(product *p, uint32_t state) {
    uint32_t stack[64];
    size_t depth = 0;
    stack[depth++] = state;
    while (depth > 0 && !p->n->status) {
        uint32_t at = stack[--depth];
        if (at < p->first || at >= p->last || p->mark[at - p->first] == p->stamp)
            continue;
        p->mark[at - p->first] = p->stamp;
        const weft_nfa_state *s = &p->n->states[at];
        if (!weft_nfa_grow(&p->n->a, (void **)&p->now.items, &p->now.room, p->now.n + 1,
                           sizeof *p->now.items)) {
            no_memory(p);
            return;
        }
        p->now.items[p->now.n++] = (weft_place){at, 0};
        if (s->kind == WEFT_NFA_SPLIT || s->kind == WEFT_NFA_NEXT) {
            if (s->kind == WEFT_NFA_SPLIT) {
                if (depth < 63)
                    stack[depth++] = s->b;
                else
                    put(p, s->b);
            }
            stack[depth++] = s->a;
        }
    }
}

static int by_state(const void *x, const void *y) {
    const weft_place *a = x, *b = y;
    return (a->state > b->state) - (a->state < b->state);
}

static bool has(const product *p, uint32_t state) {
    return p->mark[state - p->first] == p->stamp;
}

/* Whether a term that must be fulfilled cannot be any more. */
static bool is_lost(const product *p) {
    for (size_t t = 0; t < p->n_terms; t++) {
        uint32_t from = p->terms[t].first;
        uint32_t to = t + 1 < p->n_terms ? p->terms[t + 1].first : p->last;
        bool any = p->terms[t].without;
        for (size_t i = 0; i < p->now.n && !any; i++)
            any = p->now.items[i].state >= from && p->now.items[i].state < to;
        if (!any)
            return true;
    }
    return false;
}

/* The result's state for the set that was made; 0: nothing goes on. */
static uint32_t finish(product *p) {
    bool ends = true;
    for (size_t t = 0; t < p->n_terms; t++)
        ends = ends && has(p, p->terms[t].f.end) != p->terms[t].without;
    if (p->n->status || is_lost(p))
        return 0;
    qsort(p->now.items, p->now.n, sizeof *p->now.items, by_state);
    uint32_t set = weft_sets_number(&p->sets, &p->n->a, p->now.items, p->now.n, ends);
    if (set == UINT32_MAX) {
        no_memory(p);
        return 0;
    }
    if (set > MAX_SETS) {
        if (!p->n->status)
            p->n->status =
                weft_fail(WEFT_E_UNSUPPORTED, "grammar: patterns that are too large together");
        return 0;
    }
    if (!p->label[set])
        p->label[set] = weft_nfa_add(p->n, (weft_nfa_state){.kind = WEFT_NFA_NEXT});
    return p->label[set];
}

static void begin(product *p) {
    p->now.n = 0;
    p->stamp++;
}

/* The smallest byte above `low` at which another set of edges begins. */
static int next_cut(const product *p, const weft_place *places, size_t n, int low) {
    int cut = 256;
    for (size_t i = 0; i < n; i++) {
        const weft_nfa_state *s = &p->n->states[places[i].state];
        if (s->kind != WEFT_NFA_BYTES)
            continue;
        if (s->low > low && s->low < cut)
            cut = s->low;
        if (s->high + 1 > low && s->high + 1 < cut)
            cut = s->high + 1;
    }
    return cut;
}

/* The edges of a set, as alternatives of its state. */
static void expand(product *p, uint32_t set, uint32_t end) {
    weft_nfa *n = p->n;
    size_t count = p->sets.sets[set].n;
    uint32_t chain = p->sets.sets[set].ends ? end : 0;
    weft_place *places = weft_alloc(&n->a, weft_size_of(count + 1, sizeof *places));
    if (!places) {
        no_memory(p);
        return;
    }
    memcpy(places, p->sets.places + p->sets.sets[set].at, count * sizeof *places);
    for (int low = 0, high; low < 256 && !n->status; low = high) {
        uint8_t flags = 0;
        high = next_cut(p, places, count, low);
        begin(p);
        for (size_t i = 0; i < count; i++) {
            weft_nfa_state s = n->states[places[i].state];
            if (s.kind != WEFT_NFA_BYTES || s.low > low || s.high < low)
                continue;
            flags |= s.flags & WEFT_NFA_CHARACTER;
            put(p, s.a);
        }
        uint32_t to = p->now.n ? finish(p) : 0;
        if (!to)
            continue;
        uint32_t edge = weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_BYTES,
                                                         .low = (uint8_t)low,
                                                         .high = (uint8_t)(high - 1),
                                                         .flags = flags,
                                                         .a = to});
        chain =
            chain ? weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = edge, .b = chain})
                  : edge;
    }
    weft_dealloc(&n->a, places, (count + 1) * sizeof *places);
    if (!n->status)
        n->states[p->label[set]].a = chain;
}

static weft_frag run(product *p) {
    weft_nfa *n = p->n;
    begin(p);
    for (size_t t = 0; t < p->n_terms; t++)
        put(p, p->terms[t].f.start);
    uint32_t start = finish(p), end = weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_NEXT});
    if (!start)
        return weft_frag_never(n);
    for (uint32_t set = 1; set < p->sets.n && !n->status; set++)
        expand(p, set, end);
    return (weft_frag){start, end};
}

weft_frag weft_frag_all(weft_nfa *n, const weft_frag_term *terms, size_t n_terms) {
    if (n->status)
        return (weft_frag){0, 0};
    product p = {.n = n, .terms = terms, .n_terms = n_terms};
    p.first = terms[0].first;
    p.last = (uint32_t)n->n_states;
    size_t marks = weft_size_of(p.last - p.first, sizeof *p.mark), sets = MAX_SETS + 2;
    p.mark = weft_alloc_zeroed(&n->a, marks);
    p.label = weft_alloc_zeroed(&n->a, sets * sizeof *p.label);
    weft_frag f = {0, 0};
    if (p.mark && p.label && weft_sets_init(&p.sets, &n->a))
        f = run(&p);
    else
        no_memory(&p);
    weft_sets_free(&p.sets, &n->a);
    weft_dealloc(&n->a, p.now.items, p.now.room * sizeof *p.now.items);
    weft_dealloc(&n->a, p.mark, p.mark ? marks : 0);
    weft_dealloc(&n->a, p.label, p.label ? sets * sizeof *p.label : 0);
    return f;
}
