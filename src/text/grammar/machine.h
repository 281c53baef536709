/* Running a grammar: configurations, each the set of all places where a text may be in the rules,
 * with their stacks. Both are made on demand, each once, and known by their number, so that equal
 * places have equal numbers and steps can be remembered. Stacks share what they have in common (a
 * graph, Tomita 1985), so that ambiguity does not multiply them. */
#ifndef WEFT_TEXT_GRAMMAR_MACHINE_H
#define WEFT_TEXT_GRAMMAR_MACHINE_H

#include "text/grammar/nfa.h"

/* A place: a state, and the number of the stack node that its rule returns to. As an edge of a
 * node: the state to go on in, and the node below. */
typedef struct weft_place {
    uint32_t state, node;
} weft_place;

typedef struct weft_set {
    uint32_t at, n; /* of the pool of places, in ascending order */
    uint32_t hash;
    bool ends; /* of configurations: the rule at the bottom may end here */
} weft_set;

/* Sets of places, each once, by number; number 0 is the empty set. */
typedef struct weft_sets {
    weft_set *sets;
    size_t n, room;
    weft_place *places;
    size_t n_places, places_room;
    uint32_t *table; /* [n_table] a power of two: number of a set, 0: free */
    size_t n_table;
} weft_sets;

typedef struct weft_places {
    weft_place *items;
    size_t n, room;
} weft_places;

/* A rule called by a place, while a step is made. */
typedef struct weft_call {
    uint32_t rank, rule;
    weft_place back;
} weft_call;

typedef struct weft_machine {
    weft_allocator a;
    const weft_nfa *nfa;
    weft_sets configs;
    weft_sets nodes; /* stack nodes; 0: the bottom */
    uint64_t *steps; /* remembered: configuration << 8 | byte, and the one it leads to */
    weft_places stack, result, back; /* of a step */
    weft_call *calls;                /* a heap */
    size_t n_calls, calls_room;
    uint64_t *seen; /* [n_seen] a power of two: places of this step */
    uint32_t *seen_at;
    size_t n_seen, n_seen_now;
    uint32_t now; /* the number of the step, for seen_at */
    bool ends;
    uint64_t work;      /* places looked at since it was set to 0 */
    weft_status status; /* sticky; the detail belongs to it */
} weft_machine;

#define WEFT_MACHINE_STEPS ((size_t)1 << 16)
/* For a token: about half a second; usual masks take a thousandth. */
#define WEFT_MACHINE_MAX_WORK (UINT64_C(1) << 24)
#define WEFT_MACHINE_MAX_BYTES ((size_t)64 << 20)

weft_status weft_machine_init(weft_machine *m, const weft_allocator *a, const weft_nfa *nfa);
void weft_machine_free(weft_machine *m);

/* Where a text begins. */
uint32_t weft_machine_begin(weft_machine *m, uint32_t rule);
uint32_t weft_machine_make_step(weft_machine *m, uint32_t config, uint8_t byte);
/* The configuration of the places that a stack node returns to. */
uint32_t weft_machine_return(weft_machine *m, uint32_t node);
/* The configuration of given states at the bottom. */
uint32_t weft_machine_at_bottom(weft_machine *m, const weft_place *places, size_t n);

/* Where a step is remembered: those of one configuration lie together. */
static inline uint64_t *weft_machine_slot(weft_machine *m, uint32_t config, uint8_t byte) {
    uint32_t block = config * UINT32_C(0x9e3779b1) >> 24;
    return &m->steps[block << 8 | byte];
}

/* After one byte more; 0: no text goes on like this (or the status is set). */
static inline uint32_t weft_machine_step(weft_machine *m, uint32_t config, uint8_t byte) {
    uint64_t slot = *weft_machine_slot(m, config, byte);
    if (slot >> 32 == (uint64_t)(config << 8 | byte) && config)
        return (uint32_t)slot;
    return weft_machine_make_step(m, config, byte);
}

static inline const weft_place *weft_machine_places(const weft_machine *m, uint32_t config,
                                                    size_t *n) {
    *n = m->configs.sets[config].n;
    return *n ? m->configs.places + m->configs.sets[config].at : NULL;
}
static inline bool weft_machine_ends(const weft_machine *m, uint32_t config) {
    return m->configs.sets[config].ends;
}

size_t weft_machine_bytes(const weft_machine *m);
/* Forgets all but `config`, whose new number is returned; 0 where the status is set. */
uint32_t weft_machine_collect(weft_machine *m, uint32_t config);

#endif
