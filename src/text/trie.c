/* Tries over bytes: looking up what begins a text. */
#include "text/tokenizer_impl.h"

static uint32_t new_node(const weft_allocator *a, weft_trie *trie, unsigned char byte) {
    if (trie->n == trie->room) {
        size_t room = trie->room ? trie->room * 2 : 256;
        weft_trie_node *grown = room < UINT32_MAX
                                    ? weft_realloc(a, trie->nodes, trie->room * sizeof *grown,
                                                   weft_size_of(room, sizeof *grown))
                                    : NULL;
        if (!grown)
            return 0;
        trie->nodes = grown;
        trie->room = room;
        if (trie->n == 0)
            trie->n = 1; /* node 0 means none */
    }
    trie->nodes[trie->n] = (weft_trie_node){0, 0, -1, byte};
    return (uint32_t)trie->n++;
}

uint32_t weft_trie_child(const weft_trie *trie, uint32_t node, unsigned char byte) {
    uint32_t c = trie->nodes[node].child;
    while (c && trie->nodes[c].byte != byte)
        c = trie->nodes[c].next;
    return c;
}

bool weft_trie_add(const weft_allocator *a, weft_trie *trie, const unsigned char *s, size_t n,
                   int32_t id) {
    uint32_t node = trie->first[s[0]];
    if (!node && !(node = trie->first[s[0]] = new_node(a, trie, s[0])))
        return false;
    for (size_t i = 1; i < n; i++) {
        uint32_t child = weft_trie_child(trie, node, s[i]);
        if (!child) {
            if (!(child = new_node(a, trie, s[i])))
                return false;
            trie->nodes[child].next = trie->nodes[node].child;
            trie->nodes[node].child = child;
        }
        node = child;
    }
    if (trie->nodes[node].id < 0)
        trie->nodes[node].id = id;
    return true;
}

void weft_trie_free(const weft_allocator *a, weft_trie *trie) {
    weft_dealloc(a, trie->nodes, trie->room * sizeof *trie->nodes);
    trie->nodes = NULL;
    trie->n = trie->room = 0;
}
