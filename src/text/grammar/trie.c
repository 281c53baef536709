/* Building the trie: the tokens are sorted, then each adds what it does not share with the one
 * before. */
#include "text/grammar/trie.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "text/grammar/nfa.h"
#include "text/utf8.h"

#include <string.h>

typedef struct word {
    const unsigned char *bytes;
    size_t n;
    int32_t id;
} word;

/* The byte at `at`, -1 past the end. */
static int byte_of(const word *w, size_t at) {
    return at < w->n ? w->bytes[at] : -1;
}

static void swap(word *x, word *y) {
    word w = *x;
    *x = *y;
    *y = w;
}

static int median(const word *w, size_t n, size_t at) {
    int x = byte_of(&w[0], at), y = byte_of(&w[n / 2], at), z = byte_of(&w[n - 1], at);
    return x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
}

/* Multikey quicksort (Bentley and Sedgewick 1997). The largest part is sorted by the loop, so that
 * calls nest no deeper than log2 n. */
static void sort(word *w, size_t n, size_t at) {
    while (n > 1) {
        int pivot = median(w, n, at);
        size_t low = 0, i = 0, high = n;
        while (i < high) {
            int b = byte_of(&w[i], at);
            if (b < pivot)
                swap(&w[low++], &w[i++]);
            else if (b > pivot)
                swap(&w[i], &w[--high]);
            else
                i++;
        }
        size_t parts[3] = {low, pivot < 0 ? 0 : high - low, n - high};
        word *begins[3] = {w, w + low, w + high};
        size_t largest = parts[0] >= parts[1] ? 0 : 1;
        largest = parts[2] > parts[largest] ? 2 : largest;
        for (size_t p = 0; p < 3; p++)
            if (p != largest)
                sort(begins[p], parts[p], at + (p == 1));
        w = begins[largest];
        n = parts[largest];
        at += largest == 1;
    }
}

/* Adds a word after the one before it; false without memory. `path` [longest] has the nodes of the
 * latter. */
static bool add(weft_token_trie *trie, weft_token_nodes *to, const word *w, const word *before,
                uint32_t *path) {
    size_t same = 0, shorter = w->n < before->n ? w->n : before->n;
    while (same < shorter && w->bytes[same] == before->bytes[same])
        same++;
    for (size_t d = same; d < before->n; d++)
        to->items[path[d]].end = (uint32_t)to->n;
    if (same == w->n) { /* the same word again */
        int32_t *token = &to->items[path[same - 1]].token;
        trie->same[w->id] = *token;
        *token = w->id;
        return true;
    }
    if (!weft_nfa_grow(&trie->a, (void **)&to->items, &to->room, to->n + w->n - same,
                       sizeof *to->items))
        return false;
    for (size_t d = same; d < w->n; d++) {
        path[d] = (uint32_t)to->n;
        to->items[to->n++] = (weft_token_node){
            .token = d + 1 == w->n ? w->id : -1, .depth = (uint32_t)d + 1, .byte = w->bytes[d]};
    }
    return true;
}

static bool build(weft_token_trie *trie, weft_token_nodes *to, const word *words, size_t n) {
    uint32_t *path = weft_alloc(&trie->a, weft_size_of(trie->longest + 1, sizeof *path));
    if (!path)
        return false;
    word none = {(const unsigned char *)"", 0, -1};
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = add(trie, to, &words[i], i ? &words[i - 1] : &none, path);
    for (size_t d = 0; ok && n > 0 && d < words[n - 1].n; d++)
        to->items[path[d]].end = (uint32_t)to->n;
    weft_dealloc(&trie->a, path, (trie->longest + 1) * sizeof *path);
    return ok;
}

/* The characters of a plain token; 0: it is not plain. */
static size_t plain_characters(const word *w) {
    size_t count = 0;
    for (size_t i = 0; i < w->n; i++) {
        unsigned char c = w->bytes[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            return 0;
        count += (c & 0xc0) != 0x80;
    }
    bool whole = weft_utf8_valid(w->bytes, w->n) == w->n;
    return whole && count <= WEFT_PLAIN_CHARACTERS ? count : 0;
}

/* Notes the plain words, and moves the others to the front; their number. */
static size_t split_plain(weft_token_trie *trie, word *words, size_t n) {
    size_t n_rest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t count = plain_characters(&words[i]), id = (size_t)words[i].id;
        if (count == 0)
            words[n_rest++] = words[i];
        for (size_t k = count; count > 0 && k <= WEFT_PLAIN_CHARACTERS; k++)
            trie->plain[(k - 1) * trie->n_words + id / 64] |= UINT64_C(1) << (id % 64);
    }
    return n_rest;
}

weft_status weft_token_trie_create(const weft_tokenizer *t, const weft_allocator *a,
                                   weft_token_trie **out) {
    size_t n_tokens = (size_t)weft_tokenizer_n_tokens(t), n = 0;
    weft_token_trie *trie = weft_alloc_zeroed(a, sizeof *trie);
    word *words = weft_alloc(a, weft_size_of(n_tokens + 1, sizeof *words));
    int32_t *same = weft_alloc(a, weft_size_of(n_tokens + 1, sizeof *same));
    bool ok = trie && words && same;
    *out = NULL;
    if (ok) {
        trie->a = *a;
        trie->same = same;
        trie->n_tokens = n_tokens;
        for (size_t i = 0; i < n_tokens; i++) {
            const char *text;
            size_t n_bytes;
            same[i] = -1;
            weft_token_bytes(t, (int32_t)i, false, &text, &n_bytes);
            if (n_bytes == 0 || weft_tokenizer_is_eog(t, (int32_t)i))
                continue;
            words[n++] = (word){(const unsigned char *)text, n_bytes, (int32_t)i};
            trie->longest = n_bytes > trie->longest ? n_bytes : trie->longest;
        }
        sort(words, n, 0);
        trie->n_words = (n_tokens + 63) / 64 + 1;
        trie->plain =
            weft_alloc_zeroed(a, WEFT_PLAIN_CHARACTERS * trie->n_words * sizeof(uint64_t));
        ok = trie->plain && build(trie, &trie->all, words, n) &&
             build(trie, &trie->rest, words, split_plain(trie, words, n));
    }
    weft_dealloc(a, words, words ? (n_tokens + 1) * sizeof *words : 0);
    if (ok) {
        *out = trie;
        return WEFT_OK;
    }
    if (trie && trie->same)
        weft_token_trie_free(&trie);
    else {
        weft_dealloc(a, same, same ? (n_tokens + 1) * sizeof *same : 0);
        weft_dealloc(a, trie, trie ? sizeof *trie : 0);
    }
    return weft_fail(WEFT_E_MEMORY, "grammar: out of memory");
}

void weft_token_trie_free(weft_token_trie **trie) {
    if (!trie || !*trie)
        return;
    weft_token_trie *t = *trie;
    *trie = NULL;
    weft_allocator a = t->a;
    weft_dealloc(&a, t->all.items, t->all.room * sizeof *t->all.items);
    weft_dealloc(&a, t->rest.items, t->rest.room * sizeof *t->rest.items);
    weft_dealloc(&a, t->plain,
                 t->plain ? WEFT_PLAIN_CHARACTERS * t->n_words * sizeof(uint64_t) : 0);
    weft_dealloc(&a, t->same, (t->n_tokens + 1) * sizeof *t->same);
    weft_dealloc(&a, t, sizeof *t);
}
