/* One step of a grammar over a byte: every place that takes the byte moves on, rules that end
 * return, rules that begin are called. Rules that may be empty have a way past their call, so that
 * a rule that was called in this very step never returns in it; and calls are made in the order of
 * the rules' ranks, so that all callers of a rule are known when its stack node is made. */
#include "text/grammar/machine.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/sets.h"

#include <string.h>

#define MAX_PLACES ((size_t)1 << 16) /* of one configuration */
#define MAX_CALLS ((size_t)1 << 18)  /* of one step, told apart only when they are made */

static void fail(weft_machine *m, weft_status status) {
    if (m->status)
        return;
    m->status =
        status == WEFT_E_MEMORY
            ? weft_fail(status, "grammar: out of memory")
            : weft_fail(
                  status,
                  "grammar: the text takes more than %zu MiB or half a second a token: it is too "
                  "deep or too ambiguous",
                  WEFT_MACHINE_MAX_BYTES >> 20);
}

weft_status weft_machine_init(weft_machine *m, const weft_allocator *a, const weft_nfa *nfa) {
    memset(m, 0, sizeof *m);
    m->a = *a;
    m->nfa = nfa;
    m->n_seen = 1024;
    m->steps = weft_alloc_zeroed(a, WEFT_MACHINE_STEPS * sizeof *m->steps);
    m->seen = weft_alloc(a, m->n_seen * sizeof *m->seen);
    m->seen_at = weft_alloc_zeroed(a, m->n_seen * sizeof *m->seen_at);
    if (!m->steps || !m->seen || !m->seen_at || !weft_sets_init(&m->configs, a) ||
        !weft_sets_init(&m->nodes, a)) {
        weft_machine_free(m);
        return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
    }
    return WEFT_OK;
}

void weft_machine_free(weft_machine *m) {
    const weft_allocator *a = &m->a;
    if (!a->alloc)
        return;
    weft_dealloc(a, m->steps, m->steps ? WEFT_MACHINE_STEPS * sizeof *m->steps : 0);
    weft_dealloc(a, m->seen, m->seen ? m->n_seen * sizeof *m->seen : 0);
    weft_dealloc(a, m->seen_at, m->seen_at ? m->n_seen * sizeof *m->seen_at : 0);
    weft_dealloc(a, m->stack.items, m->stack.room * sizeof *m->stack.items);
    weft_dealloc(a, m->result.items, m->result.room * sizeof *m->result.items);
    weft_dealloc(a, m->back.items, m->back.room * sizeof *m->back.items);
    weft_dealloc(a, m->calls, m->calls_room * sizeof *m->calls);
    weft_sets_free(&m->configs, a);
    weft_sets_free(&m->nodes, a);
    memset(m, 0, sizeof *m);
}

size_t weft_machine_bytes(const weft_machine *m) {
    return weft_sets_bytes(&m->configs) + weft_sets_bytes(&m->nodes);
}

/* ---- The work of one step ---- */

static void push(weft_machine *m, weft_places *to, uint32_t state, uint32_t node) {
    if (m->status)
        return;
    if (to->n >= MAX_PLACES) {
        fail(m, WEFT_E_OVERFLOW);
    } else if (!weft_nfa_grow(&m->a, (void **)&to->items, &to->room, to->n + 1,
                              sizeof *to->items)) {
        fail(m, WEFT_E_MEMORY);
    } else {
        to->items[to->n++] = (weft_place){state, node};
    }
}

static uint64_t mix(uint64_t x) {
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 32;
}

static bool grow_seen(weft_machine *m) {
    size_t n = m->n_seen * 2;
    uint64_t *seen = weft_alloc(&m->a, weft_size_of(n, sizeof *seen));
    uint32_t *at = weft_alloc_zeroed(&m->a, weft_size_of(n, sizeof *at));
    if (!seen || !at) {
        weft_dealloc(&m->a, seen, seen ? n * sizeof *seen : 0);
        weft_dealloc(&m->a, at, at ? n * sizeof *at : 0);
        fail(m, WEFT_E_MEMORY);
        return false;
    }
    for (size_t i = 0; i < m->n_seen; i++) {
        if (m->seen_at[i] != m->now)
            continue;
        size_t k = mix(m->seen[i]) & (n - 1);
        while (at[k] == m->now)
            k = (k + 1) & (n - 1);
        seen[k] = m->seen[i];
        at[k] = m->now;
    }
    weft_dealloc(&m->a, m->seen, m->n_seen * sizeof *seen);
    weft_dealloc(&m->a, m->seen_at, m->n_seen * sizeof *at);
    m->seen = seen;
    m->seen_at = at;
    m->n_seen = n;
    return true;
}

/* True the first time in a step. */
static bool is_new(weft_machine *m, weft_place p) {
    uint64_t key = (uint64_t)p.state << 32 | p.node;
    m->work++;
    size_t at = mix(key) & (m->n_seen - 1);
    for (; m->seen_at[at] == m->now; at = (at + 1) & (m->n_seen - 1))
        if (m->seen[at] == key)
            return false;
    m->seen[at] = key;
    m->seen_at[at] = m->now;
    return ++m->n_seen_now * 2 < m->n_seen || grow_seen(m);
}

/* To be followed in this step, unless it was already. */
static void go(weft_machine *m, uint32_t state, uint32_t node) {
    if (is_new(m, (weft_place){state, node}))
        push(m, &m->stack, state, node);
}

static bool before(const weft_call *x, const weft_call *y) {
    if (x->rank != y->rank)
        return x->rank < y->rank;
    return x->back.state != y->back.state ? x->back.state < y->back.state
                                          : x->back.node < y->back.node;
}

static void put_call(weft_machine *m, uint32_t rule, weft_place back) {
    if (m->status)
        return;
    if (m->n_calls >= MAX_CALLS) {
        fail(m, WEFT_E_OVERFLOW);
        return;
    }
    if (!weft_nfa_grow(&m->a, (void **)&m->calls, &m->calls_room, m->n_calls + 1,
                       sizeof *m->calls)) {
        fail(m, WEFT_E_MEMORY);
        return;
    }
    weft_call call = {m->nfa->rules[rule].rank, rule, back};
    size_t at = m->n_calls++;
    for (; at > 0 && before(&call, &m->calls[(at - 1) / 2]); at = (at - 1) / 2)
        m->calls[at] = m->calls[(at - 1) / 2];
    m->calls[at] = call;
}

static weft_call take_call(weft_machine *m) {
    weft_call first = m->calls[0], last = m->calls[--m->n_calls];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= m->n_calls)
            break;
        if (child + 1 < m->n_calls && before(&m->calls[child + 1], &m->calls[child]))
            child++;
        if (!before(&m->calls[child], &last))
            break;
        m->calls[at] = m->calls[child];
        at = child;
    }
    if (m->n_calls > 0)
        m->calls[at] = last;
    return first;
}

/* A call that is the last thing of its rule returns where the rule itself does: so the stack does
 * not grow with a text that a rule derives by calling itself at its end. */
static void call(weft_machine *m, const weft_nfa_state *s, uint32_t node) {
    bool last = m->nfa->states[s->a].kind == WEFT_NFA_FINAL;
    if (!last || node == 0) { /* at the bottom all ends are the same */
        put_call(m, s->b, (weft_place){last ? m->nfa->rules[0].final : s->a, node});
        return;
    }
    const weft_set *set = &m->nodes.sets[node];
    for (uint32_t i = 0; i < set->n; i++)
        put_call(m, s->b, m->nodes.places[set->at + i]);
}

static void end_rule(weft_machine *m, uint32_t node) {
    if (node == 0) {
        m->ends = true;
        return;
    }
    const weft_set *set = &m->nodes.sets[node];
    for (uint32_t i = 0; i < set->n; i++) {
        weft_place back = m->nodes.places[set->at + i];
        go(m, back.state, back.node);
    }
}

/* Follows all that costs no byte from the places on the stack; `fresh`: they belong to rules that
 * were called in this step. */
static void follow(weft_machine *m, bool fresh) {
    while (m->stack.n > 0 && !m->status) {
        weft_place p = m->stack.items[--m->stack.n];
        const weft_nfa_state *s = &m->nfa->states[p.state];
        switch (s->kind) {
        case WEFT_NFA_NEXT:
            go(m, s->a, p.node);
            break;
        case WEFT_NFA_SPLIT:
            go(m, s->b, p.node);
            go(m, s->a, p.node);
            break;
        case WEFT_NFA_BYTES:
            push(m, &m->result, p.state, p.node);
            break;
        case WEFT_NFA_CALL:
            call(m, s, p.node);
            if (m->nfa->rules[s->b].nullable && !(s->flags & WEFT_NFA_NOT_EMPTY))
                go(m, s->a, p.node);
            break;
        case WEFT_NFA_FINAL:
            if (!fresh)
                end_rule(m, p.node);
            break;
        default:
            break;
        }
    }
}

/* Makes the calls: each rule once, with one stack node for all its callers. */
static void make_calls(weft_machine *m) {
    weft_places *back = &m->back;
    while (m->n_calls > 0 && !m->status) {
        weft_call first = take_call(m);
        back->n = 0;
        push(m, back, first.back.state, first.back.node);
        while (m->n_calls > 0 && m->calls[0].rule == first.rule && !m->status) {
            weft_call next = take_call(m);
            const weft_place *last = &back->items[back->n - 1];
            if (next.back.state != last->state || next.back.node != last->node)
                push(m, back, next.back.state, next.back.node);
        }
        if (m->status)
            break;
        uint32_t node = weft_sets_number(&m->nodes, &m->a, back->items, back->n, false);
        if (node == UINT32_MAX) {
            fail(m, WEFT_E_MEMORY);
            break;
        }
        go(m, m->nfa->rules[first.rule].start, node);
        follow(m, true);
    }
}

static bool place_before(weft_place x, weft_place y) {
    return x.state != y.state ? x.state < y.state : x.node < y.node;
}

static void sift(weft_place *p, size_t at, size_t n) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && place_before(p[child], p[child + 1]);
        if (!place_before(p[at], p[child]))
            return;
        weft_place swap = p[at];
        p[at] = p[child];
        p[child] = swap;
    }
}

/* Few are sorted by insertion, many by a heap. */
static void sort_places(weft_place *p, size_t n) {
    if (n > 32) {
        for (size_t i = n / 2; i-- > 0;)
            sift(p, i, n);
        for (size_t i = n; i-- > 1;) {
            weft_place swap = p[0];
            p[0] = p[i];
            p[i] = swap;
            sift(p, 0, i);
        }
        return;
    }
    for (size_t i = 1; i < n; i++) {
        weft_place x = p[i];
        size_t j = i;
        for (; j > 0 && place_before(x, p[j - 1]); j--)
            p[j] = p[j - 1];
        p[j] = x;
    }
}

static void begin_step(weft_machine *m) {
    m->stack.n = m->result.n = m->n_calls = m->n_seen_now = 0;
    m->ends = false;
    if (++m->now == 0) {
        memset(m->seen_at, 0, m->n_seen * sizeof *m->seen_at);
        m->now = 1;
    }
}

/* The configuration that the places on the stack come to. */
static uint32_t finish_step(weft_machine *m) {
    follow(m, false);
    make_calls(m);
    if (weft_machine_bytes(m) > WEFT_MACHINE_MAX_BYTES || m->work > WEFT_MACHINE_MAX_WORK)
        fail(m, WEFT_E_OVERFLOW);
    if (m->status)
        return 0;
    sort_places(m->result.items, m->result.n);
    uint32_t config = weft_sets_number(&m->configs, &m->a, m->result.items, m->result.n, m->ends);
    if (config == UINT32_MAX)
        fail(m, WEFT_E_MEMORY);
    return m->status ? 0 : config;
}

uint32_t weft_machine_begin(weft_machine *m, uint32_t rule) {
    begin_step(m);
    go(m, m->nfa->rules[rule].start, 0);
    return finish_step(m);
}

uint32_t weft_machine_return(weft_machine *m, uint32_t node) {
    begin_step(m);
    end_rule(m, node);
    return finish_step(m);
}

uint32_t weft_machine_at_bottom(weft_machine *m, const weft_place *places, size_t n) {
    begin_step(m);
    for (size_t i = 0; i < n; i++)
        go(m, places[i].state, 0);
    return finish_step(m);
}

uint32_t weft_machine_make_step(weft_machine *m, uint32_t config, uint8_t byte) {
    if (config == 0 || m->status)
        return 0;
    begin_step(m);
    const weft_set *set = &m->configs.sets[config];
    m->work += set->n / 4; /* looking at one is quick */
    for (uint32_t i = 0; i < set->n; i++) {
        weft_place p = m->configs.places[set->at + i];
        const weft_nfa_state *s = &m->nfa->states[p.state];
        if (s->low <= byte && byte <= s->high)
            go(m, s->a, p.node);
    }
    uint32_t next = finish_step(m);
    if (!m->status) /* MAX_BYTES keeps the numbers below 2^24 */
        *weft_machine_slot(m, config, byte) = (uint64_t)(config << 8 | byte) << 32 | next;
    return next;
}

/* ---- Forgetting ---- */

/* Marks the nodes below; a node's number is above those of the nodes below it. */
static void mark_nodes(const weft_machine *m, uint32_t config, uint32_t *number) {
    const weft_set *set = &m->configs.sets[config];
    for (uint32_t i = 0; i < set->n; i++)
        number[m->configs.places[set->at + i].node] = 1;
    for (size_t node = m->nodes.n; node-- > 1;)
        for (uint32_t i = 0; number[node] && i < m->nodes.sets[node].n; i++)
            number[m->nodes.places[m->nodes.sets[node].at + i].node] = 1;
}

/* Copies a set with the new numbers of its nodes. Their order is the old one. */
static uint32_t copy_set(weft_machine *m, weft_sets *to, const weft_sets *from, uint32_t set,
                         const uint32_t *number) {
    m->result.n = 0;
    for (uint32_t i = 0; i < from->sets[set].n; i++) {
        weft_place p = from->places[from->sets[set].at + i];
        push(m, &m->result, p.state, number[p.node]);
    }
    return m->status
               ? UINT32_MAX
               : weft_sets_number(to, &m->a, m->result.items, m->result.n, from->sets[set].ends);
}

uint32_t weft_machine_collect(weft_machine *m, uint32_t config) {
    weft_sets configs = {0}, nodes = {0};
    size_t n = m->nodes.n;
    uint32_t *number = weft_alloc_zeroed(&m->a, weft_size_of(n, sizeof *number)), kept = 0;
    bool ok = number && weft_sets_init(&configs, &m->a) && weft_sets_init(&nodes, &m->a);
    if (ok) {
        mark_nodes(m, config, number);
        number[0] = 0;
        for (size_t i = 1; i < n && ok; i++)
            if (number[i]) {
                number[i] = copy_set(m, &nodes, &m->nodes, (uint32_t)i, number);
                ok = number[i] != UINT32_MAX;
            }
        kept = ok ? copy_set(m, &configs, &m->configs, config, number) : 0;
        ok = ok && kept != UINT32_MAX;
    }
    weft_dealloc(&m->a, number, number ? n * sizeof *number : 0);
    if (!ok) {
        weft_sets_free(&configs, &m->a);
        weft_sets_free(&nodes, &m->a);
        fail(m, WEFT_E_MEMORY);
        return 0;
    }
    weft_sets_free(&m->configs, &m->a);
    weft_sets_free(&m->nodes, &m->a);
    m->configs = configs;
    m->nodes = nodes;
    memset(m->steps, 0, WEFT_MACHINE_STEPS * sizeof *m->steps);
    return kept;
}
