/* What must be known of the rules before a text: which can be empty, which states can end at all,
 * and an order of the calls that happen without a byte. Direct left recursion becomes a loop. All
 * is linear in the size of the automata. */
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/nfa.h"

#include <string.h>

/* Lists of numbers for each of n keys, one after the other. */
typedef struct lists {
    uint32_t *begin; /* [n + 1] */
    uint32_t *items;
    size_t n, n_items;
} lists;

typedef struct analysis {
    weft_nfa *nfa;
    lists before;           /* of a state: those that lead to it, callers by where they return to */
    lists callers;          /* of a rule: the CALL states */
    lists starts;           /* of a state: rules that start there */
    uint32_t *queue, *seen; /* [n_arrays] states in turn; the last mark of each */
    uint32_t mark;
    size_t n_queued, n, n_arrays; /* n: states at first */
    uint8_t *empty, *ends;        /* [n] reaches FINAL without a byte; reaches it at all */
} analysis;

static weft_status out_of_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
}

/* NEXT states are passed over. */
static uint32_t skip_next(const weft_nfa *n, uint32_t s) {
    for (size_t hops = 0; n->states[s].kind == WEFT_NFA_NEXT; hops++) {
        s = n->states[s].a;
        if (hops > n->n_states)
            return 0; /* an endless round of nothing */
    }
    return s;
}

/* Each chain is shortened once: a state's target is final when it is written. */
static void shorten(weft_nfa *n) {
    for (size_t i = 1; i < n->n_states; i++) {
        uint32_t at = (uint32_t)i, end = skip_next(n, at);
        while (n->states[at].kind == WEFT_NFA_NEXT && n->states[at].a != end && at != end) {
            uint32_t next = n->states[at].a;
            n->states[at].a = end;
            at = next;
        }
    }
    for (size_t i = 1; i < n->n_states; i++) {
        weft_nfa_state *s = &n->states[i];
        if (s->kind >= WEFT_NFA_SPLIT && s->kind <= WEFT_NFA_CALL)
            s->a = skip_next(n, s->a);
        if (s->kind == WEFT_NFA_SPLIT)
            s->b = skip_next(n, s->b);
    }
    for (size_t i = 0; i < n->n_rules; i++)
        n->rules[i].start = skip_next(n, n->rules[i].start);
}

/* ---- Lists ---- */

typedef void (*edge_fn)(analysis *w, void (*put)(lists *l, uint32_t key, uint32_t item), lists *l);

static void count(lists *l, uint32_t key, uint32_t item) {
    (void)item;
    l->begin[key + 1]++;
}

static void store(lists *l, uint32_t key, uint32_t item) {
    l->items[l->begin[key]++] = item;
}

static void edges_before(analysis *w, void (*put)(lists *, uint32_t, uint32_t), lists *l) {
    for (uint32_t i = 0; i < w->n; i++) {
        const weft_nfa_state *s = &w->nfa->states[i];
        if (s->kind >= WEFT_NFA_NEXT && s->kind <= WEFT_NFA_CALL)
            put(l, s->a, i);
        if (s->kind == WEFT_NFA_SPLIT)
            put(l, s->b, i);
    }
}

static void edges_callers(analysis *w, void (*put)(lists *, uint32_t, uint32_t), lists *l) {
    for (uint32_t i = 0; i < w->n; i++)
        if (w->nfa->states[i].kind == WEFT_NFA_CALL)
            put(l, w->nfa->states[i].b, i);
}

static void edges_starts(analysis *w, void (*put)(lists *, uint32_t, uint32_t), lists *l) {
    for (uint32_t i = 0; i < w->nfa->n_rules; i++)
        put(l, w->nfa->rules[i].start, i);
}

static bool make_lists(analysis *w, lists *l, size_t n_keys, edge_fn edges) {
    const weft_allocator *a = &w->nfa->a;
    l->n = n_keys;
    l->begin = weft_alloc_zeroed(a, weft_size_of(n_keys + 2, sizeof *l->begin));
    if (!l->begin)
        return false;
    edges(w, count, l);
    for (size_t i = 0; i <= n_keys; i++)
        l->begin[i + 1] += l->begin[i];
    l->n_items = l->begin[n_keys];
    l->items = weft_alloc(a, weft_size_of(l->n_items + 1, sizeof *l->items));
    if (!l->items)
        return false;
    edges(w, store, l);
    memmove(l->begin + 1, l->begin, n_keys * sizeof *l->begin); /* storing moved them on */
    l->begin[0] = 0;
    return true;
}

static void free_lists(analysis *w, lists *l) {
    weft_dealloc(&w->nfa->a, l->begin, l->begin ? (l->n + 2) * sizeof *l->begin : 0);
    weft_dealloc(&w->nfa->a, l->items, l->items ? (l->n_items + 1) * sizeof *l->items : 0);
}

/* ---- What reaches the end ---- */

static void put_mark(analysis *w, uint8_t *mark, uint32_t state) {
    if (!mark[state]) {
        mark[state] = 1;
        w->queue[w->n_queued++] = state;
    }
}

/* Whether a state that leads to a marked one is marked as well. */
static bool passes(const analysis *w, const uint8_t *mark, uint32_t state) {
    const weft_nfa_state *s = &w->nfa->states[state];
    if (s->kind == WEFT_NFA_BYTES)
        return mark == w->ends;
    return s->kind != WEFT_NFA_CALL || (mark[s->a] && mark[w->nfa->rules[s->b].start]);
}

/* Marks the states from which FINAL is reached: backwards from all FINALs; a call passes when both
 * the rule and what follows do. */
static void spread(analysis *w, uint8_t *mark) {
    w->n_queued = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->nfa->states[i].kind == WEFT_NFA_FINAL)
            put_mark(w, mark, i);
    for (size_t at = 0; at < w->n_queued; at++) {
        uint32_t s = w->queue[at];
        for (uint32_t i = w->before.begin[s]; i < w->before.begin[s + 1]; i++)
            if (passes(w, mark, w->before.items[i]))
                put_mark(w, mark, w->before.items[i]);
        for (uint32_t r = w->starts.begin[s]; r < w->starts.begin[s + 1]; r++) {
            uint32_t rule = w->starts.items[r];
            for (uint32_t i = w->callers.begin[rule]; i < w->callers.begin[rule + 1]; i++)
                if (passes(w, mark, w->callers.items[i]))
                    put_mark(w, mark, w->callers.items[i]);
        }
    }
}

static weft_status mark_all(analysis *w) {
    const weft_allocator *a = &w->nfa->a;
    w->queue = weft_alloc(a, weft_size_of(w->n, sizeof *w->queue));
    w->empty = weft_alloc_zeroed(a, w->n);
    w->ends = weft_alloc_zeroed(a, w->n);
    if (!w->queue || !w->empty || !w->ends || !make_lists(w, &w->before, w->n, edges_before) ||
        !make_lists(w, &w->callers, w->nfa->n_rules, edges_callers) ||
        !make_lists(w, &w->starts, w->n, edges_starts))
        return out_of_memory();
    spread(w, w->empty);
    spread(w, w->ends);
    for (size_t i = 0; i < w->n; i++)
        if (!w->ends[i])
            w->nfa->states[i].kind = WEFT_NFA_DEAD;
    for (size_t i = 0; i < w->nfa->n_rules; i++)
        w->nfa->rules[i].nullable = w->empty[w->nfa->rules[i].start];
    return WEFT_OK;
}

/* ---- Left corners ---- */

/* States reached from the start of a rule without a byte, in w->queue. */
static void corner(analysis *w, uint32_t rule) {
    const weft_nfa *n = w->nfa;
    uint32_t mark = ++w->mark, next[2], *seen = w->seen;
    w->n_queued = 0;
    seen[n->rules[rule].start] = mark;
    w->queue[w->n_queued++] = n->rules[rule].start;
    for (size_t at = 0; at < w->n_queued; at++) {
        const weft_nfa_state *s = &n->states[w->queue[at]];
        size_t k = 0;
        if (s->kind == WEFT_NFA_NEXT || s->kind == WEFT_NFA_SPLIT)
            next[k++] = s->a;
        if (s->kind == WEFT_NFA_SPLIT)
            next[k++] = s->b;
        if (s->kind == WEFT_NFA_CALL && n->rules[s->b].nullable && !(s->flags & WEFT_NFA_NOT_EMPTY))
            next[k++] = s->a;
        while (k-- > 0)
            if (seen[next[k]] != mark) {
                seen[next[k]] = mark;
                w->queue[w->n_queued++] = next[k];
            }
    }
}

/* R = A | R B derives A B*. A: the automaton entered through a copy of its left corner (w->queue)
 * without the calls of R itself; B: it, entered where those calls return to. `copies` [n] has room
 * for the numbers of the copies. */
static void unroll(analysis *w, uint32_t rule, uint32_t *copies) {
    weft_nfa *n = w->nfa;
    size_t size = w->n_queued;
    for (size_t i = 0; i < size && !n->status; i++) {
        weft_nfa_state s = n->states[w->queue[i]];
        copies[w->queue[i]] = weft_nfa_add(n, s);
        if (s.kind == WEFT_NFA_CALL && n->rules[s.b].nullable)
            weft_nfa_add(n, s); /* the copy after it takes the call; it is the way past it */
    }
    uint32_t old_final = n->rules[rule].final;
    uint32_t final = weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_FINAL}), loop = final;
    for (size_t i = 0; i < size && !n->status; i++) {
        weft_nfa_state s = n->states[w->queue[i]];
        weft_nfa_state *to = &n->states[copies[w->queue[i]]];
        if (s.kind == WEFT_NFA_NEXT || s.kind == WEFT_NFA_SPLIT) {
            to->a = copies[s.a];
            to->b = s.kind == WEFT_NFA_SPLIT ? copies[s.b] : 0;
        } else if (s.kind == WEFT_NFA_FINAL) {
            /* Empty: what B would add to it, the copy's ways past the calls add. */
            *to = (weft_nfa_state){.kind = WEFT_NFA_NEXT, .a = final};
        } else if (s.kind == WEFT_NFA_CALL) {
            bool own = s.b == rule;
            if (n->rules[s.b].nullable && !(s.flags & WEFT_NFA_NOT_EMPTY)) {
                to[1] = s;
                to[1].flags |= WEFT_NFA_NOT_EMPTY;
                to[1].kind = own ? WEFT_NFA_DEAD : WEFT_NFA_CALL;
                *to = (weft_nfa_state){
                    .kind = WEFT_NFA_SPLIT, .a = copies[s.a], .b = copies[w->queue[i]] + 1};
            } else if (own) {
                to->kind = WEFT_NFA_DEAD;
            }
            if (own)
                loop =
                    weft_nfa_add(n, (weft_nfa_state){.kind = WEFT_NFA_SPLIT, .a = s.a, .b = loop});
        }
    }
    if (n->status)
        return;
    n->states[old_final] = (weft_nfa_state){.kind = WEFT_NFA_NEXT, .a = loop};
    n->rules[rule].start = copies[n->rules[rule].start];
    n->rules[rule].final = final;
}

static bool calls_itself(const analysis *w, uint32_t rule) {
    for (size_t i = 0; i < w->n_queued; i++) {
        const weft_nfa_state *s = &w->nfa->states[w->queue[i]];
        if (s->kind == WEFT_NFA_CALL && s->b == rule)
            return true;
    }
    return false;
}

/* A rule of a round and the one that begins with it name it in the detail. */
static weft_status refuse_round(const weft_nfa *n, uint32_t rule, uint32_t last) {
    return weft_fail(
        WEFT_E_UNSUPPORTED,
        "grammar: rule '%.60s' begins with itself through rule '%.60s' (left recursion "
        "is taken within one rule only)",
        n->rules[rule].name, n->rules[last].name);
}

/* Ranks of the rules, so that each is ranked after those that call it in their left corner: the
 * reverse order in which a depth-first search leaves them. */
typedef struct ranking {
    lists corners;       /* of a rule: the rules called in its left corner */
    uint8_t *colour;     /* [n_rules] 0: new, 1: on the path, 2: done */
    uint32_t *path, *at; /* [n_rules] */
    size_t n_path;
} ranking;

static void enter(ranking *r, uint32_t rule) {
    r->colour[rule] = 1;
    r->at[rule] = r->corners.begin[rule];
    r->path[r->n_path++] = rule;
}

static weft_status rank_rules(weft_nfa *n, ranking *r) {
    uint32_t rank = (uint32_t)n->n_rules;
    for (uint32_t root = 0; root < n->n_rules; root++) {
        if (r->colour[root])
            continue;
        enter(r, root);
        while (r->n_path > 0) {
            uint32_t rule = r->path[r->n_path - 1];
            if (r->at[rule] < r->corners.begin[rule + 1]) {
                uint32_t next = r->corners.items[r->at[rule]++];
                if (r->colour[next] == 1)
                    return refuse_round(n, next, rule);
                if (r->colour[next] == 0)
                    enter(r, next);
                continue;
            }
            r->colour[rule] = 2;
            n->rules[rule].rank = --rank;
            r->n_path--;
        }
    }
    return WEFT_OK;
}

static void edges_corners(analysis *w, void (*put)(lists *, uint32_t, uint32_t), lists *l) {
    for (uint32_t rule = 0; rule < w->nfa->n_rules; rule++) {
        corner(w, rule);
        for (size_t i = 0; i < w->n_queued; i++) {
            const weft_nfa_state *s = &w->nfa->states[w->queue[i]];
            if (s->kind == WEFT_NFA_CALL)
                put(l, rule, s->b);
        }
    }
}

static weft_status order_rules(analysis *w) {
    weft_nfa *n = w->nfa;
    size_t n_rules = n->n_rules, bytes = weft_size_of(n_rules, sizeof(uint32_t));
    ranking r = {.colour = weft_alloc_zeroed(&n->a, n_rules),
                 .path = weft_alloc(&n->a, bytes),
                 .at = weft_alloc(&n->a, bytes)};
    weft_status status = WEFT_OK;
    if (!r.colour || !r.path || !r.at || !make_lists(w, &r.corners, n_rules, edges_corners))
        status = out_of_memory();
    if (!status)
        status = rank_rules(n, &r);
    free_lists(w, &r.corners);
    weft_dealloc(&n->a, r.colour, r.colour ? n_rules : 0);
    weft_dealloc(&n->a, r.path, r.path ? bytes : 0);
    weft_dealloc(&n->a, r.at, r.at ? bytes : 0);
    return status;
}

/* Arrays over the states, which have become more. */
static bool resize(analysis *w, size_t n) {
    const weft_allocator *a = &w->nfa->a;
    weft_dealloc(a, w->queue, w->queue ? w->n_arrays * sizeof *w->queue : 0);
    weft_dealloc(a, w->seen, w->seen ? w->n_arrays * sizeof *w->seen : 0);
    w->queue = weft_alloc(a, weft_size_of(n, sizeof *w->queue));
    w->seen = weft_alloc_zeroed(a, weft_size_of(n, sizeof *w->seen));
    if (!w->queue || !w->seen) {
        weft_dealloc(a, w->queue, w->queue ? n * sizeof *w->queue : 0);
        weft_dealloc(a, w->seen, w->seen ? n * sizeof *w->seen : 0);
        w->queue = w->seen = NULL;
        return false;
    }
    w->mark = 0;
    w->n_arrays = n;
    return true;
}

static weft_status unroll_all(analysis *w) {
    weft_nfa *n = w->nfa;
    size_t bytes = weft_size_of(w->n, sizeof(uint32_t));
    uint32_t *copies = weft_alloc_zeroed(&n->a, bytes);
    if (!copies || !resize(w, w->n)) {
        weft_dealloc(&n->a, copies, copies ? bytes : 0);
        return out_of_memory();
    }
    for (uint32_t rule = 0; rule < n->n_rules && !n->status; rule++) {
        corner(w, rule);
        if (calls_itself(w, rule))
            unroll(w, rule, copies);
    }
    weft_dealloc(&n->a, copies, bytes);
    return n->status;
}

static weft_status analyse(analysis *w, uint32_t root) {
    weft_nfa *n = w->nfa;
    shorten(n);
    weft_status status = mark_all(w);
    if (status)
        return status;
    if (n->states[n->rules[root].start].kind == WEFT_NFA_DEAD)
        return weft_fail(WEFT_E_FORMAT, "grammar: no text at all fits rule '%.60s'",
                         n->rules[root].name);
    status = unroll_all(w);
    if (status)
        return status;
    if (n->n_states > w->n) {
        shorten(n);
        if (!resize(w, n->n_states))
            return out_of_memory();
    }
    return order_rules(w);
}

weft_status weft_nfa_analyse(weft_nfa *n, uint32_t root) {
    if (n->status)
        return n->status;
    const weft_allocator *a = &n->a;
    analysis w = {.nfa = n, .n = n->n_states, .n_arrays = n->n_states};
    weft_status status = analyse(&w, root);
    free_lists(&w, &w.before);
    free_lists(&w, &w.callers);
    free_lists(&w, &w.starts);
    weft_dealloc(a, w.queue, w.queue ? w.n_arrays * sizeof *w.queue : 0);
    weft_dealloc(a, w.seen, w.seen ? w.n_arrays * sizeof *w.seen : 0);
    weft_dealloc(a, w.empty, w.empty ? w.n : 0);
    weft_dealloc(a, w.ends, w.ends ? w.n : 0);
    return status;
}
