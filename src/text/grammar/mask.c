/* Masks over the vocabulary by walking its trie with the machine's configurations. */
#include "text/grammar/mask.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/plain.h"

#include <string.h>

#define FIRST_LOCALS 64
#define MAX_LOCAL_BYTES ((size_t)32 << 20)
#define MANY_NODES 24 /* above which all places are walked at once, with their stacks */
#define N_WHOLES 64   /* masks with their stack taken into account that are remembered */

typedef struct weft_whole_mask {
    uint32_t config;
    uint64_t *bits;
} weft_whole_mask;

static weft_status out_of_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
}

weft_status weft_masks_init(weft_masks *k, const weft_allocator *a, weft_machine *machine,
                            const weft_token_trie *trie) {
    memset(k, 0, sizeof *k);
    k->a = *a;
    k->machine = machine;
    k->trie = trie;
    k->n_words = trie->n_words;
    k->n_locals = FIRST_LOCALS;
    k->locals = weft_alloc_zeroed(a, k->n_locals * sizeof *k->locals);
    k->path = weft_alloc(a, weft_size_of(trie->longest + 1, sizeof *k->path));
    k->wholes = weft_alloc_zeroed(a, N_WHOLES * sizeof *k->wholes);
    if (k->locals && k->path && k->wholes)
        return WEFT_OK;
    weft_masks_free(k);
    return out_of_memory();
}

static void free_local(weft_masks *k, weft_local_mask *m) {
    weft_dealloc(&k->a, m->bits, m->bits ? k->n_words * sizeof *m->bits : 0);
    weft_dealloc(&k->a, m->exits, m->n_exits * sizeof *m->exits);
    *m = (weft_local_mask){0};
}

void weft_masks_forget(weft_masks *k) {
    for (size_t i = 0; k->locals && i < k->n_locals; i++)
        free_local(k, &k->locals[i]);
    for (size_t i = 0; k->wholes && i < N_WHOLES; i++)
        k->wholes[i].config = 0;
    k->n_used = 0;
}

void weft_masks_free(weft_masks *k) {
    const weft_allocator *a = &k->a;
    if (!a->alloc)
        return;
    weft_masks_forget(k);
    for (size_t i = 0; k->wholes && i < N_WHOLES; i++)
        weft_dealloc(a, k->wholes[i].bits, k->wholes[i].bits ? k->n_words * sizeof(uint64_t) : 0);
    weft_dealloc(a, k->locals, k->locals ? k->n_locals * sizeof *k->locals : 0);
    weft_dealloc(a, k->path, k->path ? (k->trie->longest + 1) * sizeof *k->path : 0);
    weft_dealloc(a, k->wholes, k->wholes ? N_WHOLES * sizeof *k->wholes : 0);
    weft_dealloc(a, k->sorted.items, k->sorted.room * sizeof *k->sorted.items);
    weft_dealloc(a, k->exits, k->exits_room * sizeof *k->exits);
    memset(k, 0, sizeof *k);
}

/* ---- Walking ---- */

static void set_token(const weft_masks *k, uint64_t *bits, int32_t token) {
    for (; token >= 0; token = k->trie->same[token])
        bits[token / 64] |= UINT64_C(1) << (token % 64);
}

static bool put_exit(weft_masks *k, uint32_t node) {
    if (!weft_nfa_grow(&k->a, (void **)&k->exits, &k->exits_room, k->n_exits + 1, sizeof *k->exits))
        return false;
    k->exits[k->n_exits++] = node;
    return true;
}

/* Adds the tokens of the nodes [from, end), which lie below a node of `depth` where the
 * configuration is `config`. With `local`, the points at which the bottom is reached are put down
 * as exits. */
static weft_status walk(weft_masks *k, const weft_token_node *nodes, uint32_t config, uint32_t from,
                        uint32_t end, uint32_t depth, uint64_t *bits, bool local) {
    weft_machine *m = k->machine;
    k->path[depth] = config;
    for (uint32_t i = from; i < end;) {
        const weft_token_node *node = &nodes[i];
        uint32_t now = weft_machine_step(m, k->path[node->depth - 1], node->byte);
        if (now == 0) {
            if (m->status)
                return m->status;
            i = node->end;
            continue;
        }
        set_token(k, bits, node->token);
        bool deeper = node->end > i + 1;
        if (deeper && local && weft_machine_ends(m, now) && !put_exit(k, i))
            return out_of_memory();
        k->path[node->depth] = now;
        i++;
    }
    return WEFT_OK;
}

/* ---- Local masks ---- */

static size_t slot_of(const weft_masks *k, uint32_t config) {
    size_t at = (size_t)(config * UINT32_C(0x9e3779b1)) & (k->n_locals - 1);
    while (k->locals[at].config && k->locals[at].config != config)
        at = (at + 1) & (k->n_locals - 1);
    return at;
}

static bool grow_locals(weft_masks *k) {
    size_t n = k->n_locals * 2, old = k->n_locals;
    weft_local_mask *before = k->locals, *locals = weft_alloc_zeroed(&k->a, n * sizeof *locals);
    if (!locals)
        return false;
    k->locals = locals;
    k->n_locals = n;
    for (size_t i = 0; i < old; i++)
        if (before[i].config)
            locals[slot_of(k, before[i].config)] = before[i];
    weft_dealloc(&k->a, before, old * sizeof *before);
    return true;
}

static weft_status make_local(weft_masks *k, uint32_t config, weft_local_mask *out) {
    weft_local_mask m = {.config = config};
    m.bits = weft_alloc_zeroed(&k->a, k->n_words * sizeof *m.bits);
    if (!m.bits)
        return out_of_memory();
    k->n_exits = 0;
    size_t n_plain;
    const weft_token_nodes *nodes = &k->trie->all;
    if (weft_plain_run(k->machine, config, &n_plain)) {
        nodes = &k->trie->rest;
        m.rest = true;
        if (n_plain > 0)
            memcpy(m.bits, k->trie->plain + (n_plain - 1) * k->n_words,
                   k->n_words * sizeof *m.bits);
    }
    weft_status status = k->machine->status;
    if (!status)
        status = walk(k, nodes->items, config, 0, (uint32_t)nodes->n, 0, m.bits, true);
    if (!status && k->n_exits > 0) {
        m.exits = weft_alloc(&k->a, k->n_exits * sizeof *m.exits);
        if (m.exits) {
            memcpy(m.exits, k->exits, k->n_exits * sizeof *m.exits);
            m.n_exits = k->n_exits;
        } else {
            status = out_of_memory();
        }
    }
    if (status) {
        free_local(k, &m);
        return status;
    }
    *out = m;
    return WEFT_OK;
}

/* The local mask of a configuration at the bottom. */
static weft_status get_local(weft_masks *k, uint32_t config, const weft_local_mask **out) {
    size_t at = slot_of(k, config);
    if (!k->locals[at].config) {
        if (k->n_used * k->n_words * sizeof(uint64_t) > MAX_LOCAL_BYTES)
            weft_masks_forget(k);
        if ((k->n_used + 1) * 2 > k->n_locals && !grow_locals(k))
            return out_of_memory();
        weft_local_mask made;
        weft_status status = make_local(k, config, &made);
        if (status)
            return status;
        at = slot_of(k, config);
        k->locals[at] = made;
        k->n_used++;
    }
    *out = &k->locals[at];
    return WEFT_OK;
}

/* ---- Whole masks ---- */

/* Adds the tokens of the places [n], which share a stack node. Tokens are short: states that differ
 * in what comes after many bytes are made the same. */
static weft_status add_places(weft_masks *k, weft_place *places, size_t n, uint64_t *bits) {
    weft_machine *m = k->machine;
    for (size_t i = 0; i < n; i++)
        places[i].state = weft_nfa_alike(m->nfa, places[i].state, k->trie->longest);
    uint32_t node = places[0].node, config = weft_machine_at_bottom(m, places, n);
    if (config == 0)
        return m->status;
    const weft_local_mask *local = NULL;
    weft_status status = get_local(k, config, &local);
    if (status)
        return status;
    for (size_t i = 0; i < k->n_words; i++)
        bits[i] |= local->bits[i];
    if (node == 0 || local->n_exits == 0)
        return WEFT_OK;
    uint32_t back = weft_machine_return(m, node);
    for (size_t i = 0; i < local->n_exits && back && !status; i++) {
        const weft_token_node *nodes = local->rest ? k->trie->rest.items : k->trie->all.items;
        const weft_token_node *exit = &nodes[local->exits[i]];
        status = walk(k, nodes, back, local->exits[i] + 1, exit->end, exit->depth, bits, false);
    }
    return status ? status : m->status;
}

static bool node_before(weft_place x, weft_place y) {
    return x.node != y.node ? x.node < y.node : x.state < y.state;
}

/* The places by stack node; there are few of these, so that insertion is near linear. */
static weft_status sort_by_node(weft_masks *k, const weft_place *places, size_t n) {
    weft_places *s = &k->sorted;
    if (!weft_nfa_grow(&k->a, (void **)&s->items, &s->room, n, sizeof *s->items))
        return out_of_memory();
    memcpy(s->items, places, n * sizeof *places);
    s->n = n;
    for (size_t gap = n / 2; gap > 0; gap = gap / 2) /* Shell 1959: no worst case to fear */
        for (size_t i = gap; i < n; i++) {
            weft_place x = s->items[i];
            size_t j = i;
            for (; j >= gap && node_before(x, s->items[j - gap]); j -= gap)
                s->items[j] = s->items[j - gap];
            s->items[j] = x;
        }
    return WEFT_OK;
}

static size_t count_nodes(const weft_places *sorted) {
    size_t n = sorted->n > 0;
    for (size_t i = 1; i < sorted->n; i++)
        n += sorted->items[i].node != sorted->items[i - 1].node;
    return n;
}

static weft_status make_whole(weft_masks *k, uint32_t config, uint64_t *bits) {
    size_t n;
    const weft_place *places = weft_machine_places(k->machine, config, &n);
    memset(bits, 0, k->n_words * sizeof *bits);
    k->sorted.n = 0;
    weft_status status = n ? sort_by_node(k, places, n) : WEFT_OK;
    if (!status && n > 0 && count_nodes(&k->sorted) > MANY_NODES)
        return walk(k, k->trie->all.items, config, 0, (uint32_t)k->trie->all.n, 0, bits, false);
    for (size_t i = 0; i < n && !status;) {
        size_t end = i + 1;
        while (end < n && k->sorted.items[end].node == k->sorted.items[i].node)
            end++;
        status = add_places(k, k->sorted.items + i, end - i, bits);
        i = end;
    }
    return status;
}

weft_status weft_masks_get(weft_masks *k, uint32_t config, const uint64_t **bits) {
    weft_whole_mask *whole = &k->wholes[config % N_WHOLES];
    if (!whole->bits) {
        whole->bits = weft_alloc(&k->a, k->n_words * sizeof *whole->bits);
        if (!whole->bits)
            return out_of_memory();
        whole->config = 0;
    }
    if (whole->config != config) {
        whole->config = 0;
        weft_status status = make_whole(k, config, whole->bits);
        if (status)
            return status;
        whole->config = config;
    }
    *bits = whole->bits;
    return WEFT_OK;
}
