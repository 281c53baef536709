/* The vocabulary as a trie of bytes, in the order of a walk that goes down first. Made once for a
 * tokeniser and then only read. */
#ifndef WEFT_TEXT_GRAMMAR_TRIE_H
#define WEFT_TEXT_GRAMMAR_TRIE_H

#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>
#include <weft/tokenizer.h>

typedef struct weft_token_node {
    uint32_t end;   /* the node after those below this one */
    int32_t token;  /* that ends here, -1: none */
    uint32_t depth; /* 1 for the first byte of a token */
    uint8_t byte;
} weft_token_node;

typedef struct weft_token_nodes {
    weft_token_node *items; /* [n] */
    size_t n, room;
} weft_token_nodes;

/* Plain tokens are whole characters that JSON does not escape: inside of a text they are all alike
 * but for how many characters they have. Longer ones count as not plain. */
#define WEFT_PLAIN_CHARACTERS 16

typedef struct weft_token_trie {
    weft_allocator a;
    weft_token_nodes all, rest; /* of all tokens; of those that are not plain */
    uint64_t *plain; /* [WEFT_PLAIN_CHARACTERS, n_words] tokens of up to 1, 2, … characters */
    size_t n_words;
    int32_t *same; /* [n_tokens] another token of the same bytes, -1: none */
    size_t n_tokens;
    size_t longest; /* bytes */
} weft_token_trie;

/* Tokens without bytes of their own (control tokens and unused rows) are not in it. WEFT_E_MEMORY.
 */
weft_status weft_token_trie_create(const weft_tokenizer *t, const weft_allocator *a,
                                   weft_token_trie **out);
void weft_token_trie_free(weft_token_trie **trie);

#endif
