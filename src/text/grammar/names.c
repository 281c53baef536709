/* A hash table of the names of rules. */
#include "text/grammar/names.h"
#include "base/alloc.h"
#include "base/detail.h"

#include <string.h>

static uint32_t hash_of(const char *name, size_t n_bytes) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n_bytes; i++)
        h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

static size_t slot_of(const weft_names *names, const weft_nfa *n, const char *name,
                      size_t n_bytes) {
    size_t at = hash_of(name, n_bytes) & (names->n_table - 1);
    for (; names->table[at]; at = (at + 1) & (names->n_table - 1)) {
        const weft_nfa_rule *r = &n->rules[names->table[at] - 1];
        if (r->name_bytes == n_bytes + 1 && memcmp(r->name, name, n_bytes) == 0)
            break;
    }
    return at;
}

static bool grow(weft_names *names, weft_nfa *n) {
    weft_names more = {.n_table = names->n_table ? names->n_table * 2 : 64, .n = names->n};
    more.table = weft_alloc_zeroed(&n->a, more.n_table * sizeof *more.table);
    if (!more.table) {
        if (!n->status)
            n->status = weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
        return false;
    }
    for (size_t i = 0; i < names->n_table; i++)
        if (names->table[i]) {
            const weft_nfa_rule *r = &n->rules[names->table[i] - 1];
            more.table[slot_of(&more, n, r->name, r->name_bytes - 1)] = names->table[i];
        }
    weft_names_free(names, n);
    *names = more;
    return true;
}

uint32_t weft_names_rule(weft_names *names, weft_nfa *n, const char *name, size_t n_bytes,
                         bool *added) {
    *added = false;
    if (n->status || (names->n * 2 >= names->n_table && !grow(names, n)))
        return WEFT_NFA_NONE;
    size_t at = slot_of(names, n, name, n_bytes);
    if (names->table[at])
        return names->table[at] - 1;
    uint32_t rule = weft_nfa_add_rule(n, name, n_bytes);
    if (n->status)
        return WEFT_NFA_NONE;
    names->table[at] = rule + 1;
    names->n++;
    *added = true;
    return rule;
}

void weft_names_free(weft_names *names, weft_nfa *n) {
    weft_dealloc(&n->a, names->table, names->n_table * sizeof *names->table);
    memset(names, 0, sizeof *names);
}
