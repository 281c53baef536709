/* Which tokens may come next. What depends on a place alone, whatever its stack, is worked out once
 * for a set of states: the tokens that stay within the rule, and the points of the vocabulary's
 * trie at which the rule ends inside of a token. Only from there the stack matters. */
#ifndef WEFT_TEXT_GRAMMAR_MASK_H
#define WEFT_TEXT_GRAMMAR_MASK_H

#include "text/grammar/machine.h"
#include "text/grammar/trie.h"

/* Of a configuration at the bottom. */
typedef struct weft_local_mask {
    uint32_t config; /* 0: a free slot */
    uint64_t *bits;  /* [n_words] */
    bool rest;       /* the nodes are those of the trie of tokens that are not plain */
    uint32_t *exits; /* [n_exits] nodes with others below at which the rule may end */
    size_t n_exits;
} weft_local_mask;

typedef struct weft_masks {
    weft_allocator a;
    weft_machine *machine;
    const weft_token_trie *trie;
    size_t n_words;
    weft_local_mask *locals; /* [n_locals] a power of two, open addressing */
    size_t n_locals, n_used;
    uint32_t *path; /* [longest + 1] configurations of a walk */
    weft_places sorted;
    uint32_t *exits; /* of the walk that is going on */
    size_t n_exits, exits_room;
    struct weft_whole_mask *wholes; /* the last masks, by configuration */
} weft_masks;

weft_status weft_masks_init(weft_masks *k, const weft_allocator *a, weft_machine *machine,
                            const weft_token_trie *trie);
void weft_masks_free(weft_masks *k);
/* After the machine forgot its configurations. */
void weft_masks_forget(weft_masks *k);
/* The tokens that go on from a configuration, borrowed until the next call. */
weft_status weft_masks_get(weft_masks *k, uint32_t config, const uint64_t **bits);

#endif
