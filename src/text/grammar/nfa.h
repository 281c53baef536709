/* A grammar as nondeterministic automata over bytes, one for each rule, that may call each other:
 * what GBNF, JSON Schema and regular expressions are compiled to. The functions that build one have
 * a sticky status: after an error they do nothing, and it is looked at once at the end. */
#ifndef WEFT_TEXT_GRAMMAR_NFA_H
#define WEFT_TEXT_GRAMMAR_NFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>

#define WEFT_NFA_MAX_STATES ((size_t)1 << 20)
#define WEFT_NFA_MAX_RULES ((size_t)1 << 16)
#define WEFT_NFA_NONE UINT32_MAX

typedef enum weft_nfa_kind {
    WEFT_NFA_DEAD,  /* nothing goes on from here; state 0 is one */
    WEFT_NFA_NEXT,  /* to a, for nothing */
    WEFT_NFA_SPLIT, /* to a or b, for nothing */
    WEFT_NFA_BYTES, /* to a, for a byte low … high */
    WEFT_NFA_CALL,  /* to a, for what rule b derives */
    WEFT_NFA_FINAL  /* the rule ends */
} weft_nfa_kind;

enum {
    WEFT_NFA_CHARACTER = 1, /* BYTES: a character of the text begins with this byte */
    WEFT_NFA_NOT_EMPTY = 2  /* CALL: only for what is not empty */
};

typedef struct weft_nfa_state {
    uint8_t kind, low, high, flags;
    uint32_t a, b;
} weft_nfa_state;

typedef struct weft_nfa_rule {
    char *name; /* owned, `name_bytes` with its NUL */
    size_t name_bytes;
    uint32_t start; /* 0: not defined yet */
    uint32_t final;
    uint32_t rank; /* rules called at the start of another have a higher one (analyse.c) */
    bool nullable; /* derives the empty text */
} weft_nfa_rule;

/* The copies of a piece that is repeated many times: item i begins at begins[i]. */
typedef struct weft_nfa_run {
    uint32_t min, max; /* WEFT_NFA_NONE: without end */
    uint32_t each;     /* states of a copy */
    uint32_t *begins;  /* [n], owned; descending but for the first */
    size_t n;
} weft_nfa_run;

#define WEFT_NFA_MAX_RUNS 64 /* that are remembered */

typedef struct weft_nfa {
    weft_allocator a;
    weft_status status;
    bool json; /* characters are those of a JSON string's value, spelled as JSON spells them */
    weft_nfa_state *states;
    size_t n_states, states_room;
    weft_nfa_rule *rules;
    size_t n_rules, rules_room;
    weft_nfa_run runs[WEFT_NFA_MAX_RUNS];
    size_t n_runs;
} weft_nfa;

/* A piece of automaton: entered at `start`; `end` is a NEXT state that leads nowhere yet. */
typedef struct weft_frag {
    uint32_t start, end;
} weft_frag;

/* Code points low … high. */
typedef struct weft_char_range {
    uint32_t low, high;
} weft_char_range;

void weft_nfa_init(weft_nfa *n, const weft_allocator *a);
void weft_nfa_free(weft_nfa *n);

/* A rule by a name of `n_bytes` (copied; need not be unique); WEFT_NFA_NONE after an error. */
uint32_t weft_nfa_add_rule(weft_nfa *n, const char *name, size_t n_bytes);
void weft_nfa_define(weft_nfa *n, uint32_t rule, weft_frag body);

/* The new state's number, 0 after an error. */
uint32_t weft_nfa_add(weft_nfa *n, weft_nfa_state state);
weft_frag weft_frag_empty(weft_nfa *n);
weft_frag weft_frag_never(weft_nfa *n);
weft_frag weft_frag_bytes(weft_nfa *n, uint8_t low, uint8_t high);
weft_frag weft_frag_literal(weft_nfa *n, const char *bytes, size_t n_bytes);
/* One character out of ascending, disjoint ranges. Surrogates are left out. */
weft_frag weft_frag_chars(weft_nfa *n, const weft_char_range *ranges, size_t n_ranges);
weft_frag weft_frag_call(weft_nfa *n, uint32_t rule);
weft_frag weft_frag_then(weft_nfa *n, weft_frag first, weft_frag second);
weft_frag weft_frag_or(weft_nfa *n, weft_frag one, weft_frag other);
weft_frag weft_frag_optional(weft_nfa *n, weft_frag f);
/* min … max times (WEFT_NFA_NONE: without end). `mark` is n->n_states before `f` was built: all
 * that was built since belongs to `f` and is copied. */
weft_frag weft_frag_repeat(weft_nfa *n, size_t mark, weft_frag f, uint32_t min, uint32_t max);
/* Of the texts of `f` those of min … max characters; `mark` as above. */
weft_frag weft_frag_count(weft_nfa *n, size_t mark, weft_frag f, uint32_t min, uint32_t max);

/* A piece without calls, whose states begin at `first` and are followed by those of the next. */
typedef struct weft_frag_term {
    weft_frag f;
    uint32_t first;
    bool without; /* its texts are left out */
} weft_frag_term;

/* The texts of all terms but those of the terms to be left out; one at least is not. Too many
 * states are WEFT_E_UNSUPPORTED. */
weft_frag weft_frag_all(weft_nfa *n, const weft_frag_term *terms, size_t n_terms);

/* A state from which the same texts of up to `n_bytes` can follow: of copies that are far enough
 * from both bounds of a repetition always the same one. */
uint32_t weft_nfa_alike(const weft_nfa *n, uint32_t state, size_t n_bytes);

/* Sets the status, with a detail, unless there is one already. */
void weft_nfa_too_large(weft_nfa *n);
/* Grows an array to hold `wanted` items; false without memory, and it stays as it is. */
bool weft_nfa_grow(const weft_allocator *a, void **items, size_t *room, size_t wanted,
                   size_t item_bytes);

/* After all rules: shortens, removes what cannot end, makes left recursion into loops, ranks the
 * rules. Errors: WEFT_E_FORMAT (root derives nothing), WEFT_E_UNSUPPORTED (left recursion through
 * several rules), WEFT_E_OVERFLOW, WEFT_E_MEMORY. */
weft_status weft_nfa_analyse(weft_nfa *n, uint32_t root);

#endif
