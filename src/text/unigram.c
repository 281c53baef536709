/* Unigram segmentation (Kudo 2018): of all ways to cut a text into pieces of the vocabulary, the
 * one whose scores add up highest, found from left to right (Viterbi). A character that is no piece
 * costs more than any; neighbouring ones are one unknown. */
#include <string.h>
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#define UNKNOWN_PENALTY 10.0 /* below the lowest score, as in SentencePiece */

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "tokenize: no memory");
}

/* The best way to a place in the text. */
typedef struct node {
    double score;
    uint32_t from; /* where its last piece begins */
    int32_t id;    /* of that piece; -1: unknown; -2: not reached */
} node;

static void reach(node *to, double score, size_t from, int32_t id) {
    if (to->id == -2 || score > to->score)
        *to = (node){score, (uint32_t)from, id};
}

/* All pieces that begin at `at`. */
static void extend(const weft_tokenizer *t, const unsigned char *text, size_t n, size_t at,
                   node *nodes) {
    size_t length = weft_utf8_length(text + at, n - at);
    double so_far = nodes[at].score;
    bool alone = false; /* the character itself is a piece */
    length = length ? length : 1;
    uint32_t trie = t->pieces.first[text[at]];
    for (size_t i = 1; trie; i++) {
        int32_t id = t->pieces.nodes[trie].id;
        if (id >= 0) {
            reach(&nodes[at + i], so_far + (double)t->scores[id], at, id);
            alone = alone || i == length;
        }
        if (at + i == n)
            break;
        trie = weft_trie_child(&t->pieces, trie, text[at + i]);
    }
    if (!alone)
        reach(&nodes[at + length], so_far + (double)t->lowest - UNKNOWN_PENALTY, at, -1);
}

static bool add_bytes(const weft_tokenizer *t, const unsigned char *s, size_t n, weft_ids *out,
                      bool *fits) {
    for (size_t i = 0; i < n; i++)
        if (t->byte_ids[s[i]] < 0)
            return false;
    for (size_t i = 0; *fits && i < n; i++)
        *fits = weft_ids_add(out, t->byte_ids[s[i]]);
    return true;
}

/* The path as ids; `path` holds the ends of its pieces from the last to the first. */
static weft_status emit(const weft_tokenizer *t, const unsigned char *text, const node *nodes,
                        const uint32_t *path, size_t n_path, weft_ids *out) {
    bool fits = true;
    for (size_t i = n_path; fits && i-- > 0;) {
        const node *piece = &nodes[path[i]];
        if (piece->id >= 0) {
            fits = weft_ids_add(out, piece->id);
            continue;
        }
        size_t begin = piece->from, end = path[i];
        while (i > 0 && nodes[path[i - 1]].id < 0)
            end = path[--i];
        if (add_bytes(t, text + begin, end - begin, out, &fits))
            continue;
        if (t->unk < 0)
            return weft_fail(WEFT_E_UNSUPPORTED,
                             "tokenize: the vocabulary has no token for byte 0x%02X", text[begin]);
        fits = weft_ids_add(out, t->unk);
    }
    return fits ? WEFT_OK : no_memory();
}

weft_status weft_unigram_encode(const weft_tokenizer *t, const unsigned char *text, size_t n_bytes,
                                weft_ids *out) {
    size_t room = n_bytes + 1;
    node *nodes = weft_alloc(&t->a, weft_size_of(room, sizeof *nodes));
    uint32_t *path = weft_alloc(&t->a, weft_size_of(room, sizeof *path));
    weft_status status = nodes && path ? WEFT_OK : no_memory();
    if (status == WEFT_OK) {
        size_t n_path = 0;
        for (size_t i = 0; i < room; i++)
            nodes[i].id = -2;
        nodes[0] = (node){0, 0, -1};
        for (size_t at = 0; at < n_bytes; at++)
            if (nodes[at].id != -2)
                extend(t, text, n_bytes, at, nodes);
        for (size_t at = n_bytes; at > 0; at = nodes[at].from)
            path[n_path++] = (uint32_t)at;
        status = emit(t, text, nodes, path, n_path, out);
    }
    weft_dealloc(&t->a, nodes, room * sizeof *nodes);
    weft_dealloc(&t->a, path, room * sizeof *path);
    return status;
}
