/* The vocabulary of a tokeniser while it is built, and looking tokens up in it. */
#include <string.h>
#include "base/clock.h"
#include "text/grammar/trie.h"
#include "text/normalizer.h"
#include "text/utf8.h"

#define SPACE_MARK "\xe2\x96\x81" /* U+2581, SentencePiece's space */

/* ---- Growing bytes and strings ---- */

bool weft_bytes_reserve(weft_bytes *b, size_t more) {
    size_t need;
    if (!weft_add_size(b->n, more, &need))
        return false;
    if (need <= b->room && b->data)
        return true;
    size_t room = need + need / 2 + 64;
    unsigned char *grown = room > need ? weft_realloc(b->a, b->data, b->room, room) : NULL;
    if (!grown)
        return false;
    b->data = grown;
    b->room = room;
    return true;
}

bool weft_bytes_add(weft_bytes *b, const void *data, size_t n) {
    if (!weft_bytes_reserve(b, n))
        return false;
    if (n)
        memcpy(b->data + b->n, data, n);
    b->n += n;
    return true;
}

void weft_bytes_free(weft_bytes *b) {
    weft_dealloc(b->a, b->data, b->room);
    b->data = NULL;
    b->n = b->room = 0;
}

const char *weft_strings_get(const weft_strings *s, int32_t i, size_t *n_bytes) {
    size_t begin = i > 0 ? s->ends[i - 1] : 0;
    *n_bytes = s->ends[i] - begin;
    return (const char *)s->blob.data + begin;
}

/* ---- Creating and destroying ---- */

static bool make_tables(weft_tokenizer *t) {
    size_t n = (size_t)t->n;
    t->keys.ends = weft_alloc_zeroed(&t->a, weft_size_of(n, sizeof *t->keys.ends));
    t->plain.ends = weft_alloc_zeroed(&t->a, weft_size_of(n, sizeof *t->plain.ends));
    t->types = weft_alloc(&t->a, n);
    t->flags = weft_alloc_zeroed(&t->a, n);
    t->eog = weft_alloc_zeroed(&t->a, weft_size_of(n, sizeof *t->eog));
    t->ranks = weft_alloc_zeroed(&t->a, weft_size_of(n, sizeof *t->ranks));
    t->scores = weft_alloc_zeroed(&t->a, weft_size_of(n, sizeof *t->scores));
    if (!t->keys.ends || !t->plain.ends || !t->types || !t->flags || !t->eog || !t->ranks ||
        !t->scores)
        return false;
    memset(t->types, WEFT_TOKEN_NORMAL, n);
    return true;
}

weft_status weft_tokenizer_new(weft_engine *engine, weft_scheme scheme, int32_t n, int64_t n_rows,
                               weft_tokenizer **out) {
    if (n <= 0)
        return weft_fail(WEFT_E_FORMAT, "tokenizer: the vocabulary has no tokens");
    weft_tokenizer *t = weft_alloc_zeroed(&engine->allocator, sizeof *t);
    if (!t)
        return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory");
    atomic_init(&t->n_refs, 1);
    t->engine = weft_engine_retain(engine);
    t->a = engine->allocator;
    t->scheme = scheme;
    t->n = n;
    t->n_rows = n_rows;
    t->bos = t->eos = t->unk = -1;
    t->keys.blob.a = t->plain.blob.a = t->merge_key.a = &t->a;
    /* Differs from run to run, so that no file can choose colliding keys; results do not depend on
     * it. */
    double now = weft_clock_seconds();
    memcpy(&t->seed, &now, sizeof t->seed);
    t->seed ^= (uint64_t)(uintptr_t)t * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 256; i++)
        t->byte_ids[i] = -1;
    if (!make_tables(t)) {
        weft_tokenizer_destroy(t);
        return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory for %d tokens", (int)n);
    }
    *out = t;
    return WEFT_OK;
}

void weft_tokenizer_destroy(weft_tokenizer *t) {
    size_t n = (size_t)t->n;
    weft_engine *engine = t->engine;
    weft_pretok_free(&t->pre);
    weft_bytes_free(&t->keys.blob);
    weft_bytes_free(&t->plain.blob);
    weft_bytes_free(&t->merge_key);
    weft_dealloc(&t->a, t->keys.ends, n * sizeof *t->keys.ends);
    weft_dealloc(&t->a, t->plain.ends, n * sizeof *t->plain.ends);
    weft_dealloc(&t->a, t->types, n);
    weft_dealloc(&t->a, t->flags, n);
    weft_dealloc(&t->a, t->eog, n * sizeof *t->eog);
    weft_dealloc(&t->a, t->ranks, n * sizeof *t->ranks);
    weft_dealloc(&t->a, t->ids.slots, t->ids.n_slots * sizeof *t->ids.slots);
    weft_dealloc(&t->a, t->merges.slots, t->merges.n_slots * sizeof *t->merges.slots);
    weft_dealloc(&t->a, t->scores, n * sizeof *t->scores);
    weft_trie_free(&t->a, &t->trie);
    weft_trie_free(&t->a, &t->pieces);
    weft_normalizer_free(&t->a, &t->normalizer);
    weft_dealloc(&t->a, t->chat_template, t->template_bytes + 1);
    struct weft_token_trie *token_trie = atomic_load(&t->token_trie);
    weft_token_trie_free(&token_trie);
    weft_allocator a = t->a;
    weft_dealloc(&a, t, sizeof *t);
    weft_engine_release(&engine);
}

weft_status weft_tokenizer_set_template(weft_tokenizer *t, const char *source, size_t n_bytes) {
    char *copy = n_bytes < SIZE_MAX ? weft_alloc(&t->a, n_bytes + 1) : NULL;
    if (!copy)
        return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory for the chat template");
    memcpy(copy, source, n_bytes);
    copy[n_bytes] = 0;
    weft_dealloc(&t->a, t->chat_template, t->template_bytes + 1);
    t->chat_template = copy;
    t->template_bytes = n_bytes;
    return WEFT_OK;
}

/* ---- Adding tokens ---- */

/* The text without SentencePiece's marks: each becomes a space. */
static bool add_unmarked(weft_bytes *b, const char *text, size_t n) {
    if (!weft_bytes_reserve(b, n))
        return false;
    for (size_t i = 0; i < n;) {
        if (n - i >= 3 && memcmp(text + i, SPACE_MARK, 3) == 0) {
            b->data[b->n++] = ' ';
            i += 3;
        } else {
            b->data[b->n++] = (unsigned char)text[i++];
        }
    }
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "<0x0A>" → 10, -1 for anything else. */
static int byte_token(const char *text, size_t n) {
    if (n != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    int high = hex_digit(text[3]), low = hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static weft_status add_plain(weft_tokenizer *t, int32_t id, const char *text, size_t n_bytes,
                             bool *fits) {
    unsigned char type = t->types[id];
    if (type == WEFT_TOKEN_BYTE) {
        int b = byte_token(text, n_bytes);
        if (b < 0)
            return weft_fail(WEFT_E_FORMAT,
                             "tokenizer: token %d is a byte token but spells no byte: \"%.*s\"",
                             (int)id, (int)(n_bytes < 40 ? n_bytes : 40), text);
        unsigned char byte = (unsigned char)b;
        *fits = weft_bytes_add(&t->plain.blob, &byte, 1);
        if (t->byte_ids[b] < 0)
            t->byte_ids[b] = id;
    } else if (type == WEFT_TOKEN_NORMAL || type == WEFT_TOKEN_USER) {
        *fits = add_unmarked(&t->plain.blob, text, n_bytes);
    } else {
        *fits = weft_bytes_add(&t->plain.blob, text, n_bytes);
    }
    return WEFT_OK;
}

weft_status weft_vocab_add(weft_tokenizer *t, int32_t id, const char *text, size_t n_bytes) {
    bool fits = true;
    weft_status status = WEFT_OK;
    if (t->scheme == WEFT_SCHEME_BYTES && t->types[id] == WEFT_TOKEN_NORMAL) {
        size_t n = 0;
        fits = weft_bytes_reserve(&t->keys.blob, n_bytes);
        if (fits && weft_bytelevel_decode((const unsigned char *)text, n_bytes,
                                          t->keys.blob.data + t->keys.blob.n, &n))
            t->keys.blob.n += n;
        else if (fits) /* not in the byte-level alphabet: as it is */
            fits = weft_bytes_add(&t->keys.blob, text, n_bytes);
    } else {
        fits = weft_bytes_add(&t->keys.blob, text, n_bytes);
        if (fits && t->scheme != WEFT_SCHEME_BYTES)
            status = add_plain(t, id, text, n_bytes, &fits);
    }
    if (status == WEFT_OK && !fits)
        status = weft_fail(WEFT_E_MEMORY, "tokenizer: no memory for token %d", (int)id);
    t->keys.ends[id] = t->keys.blob.n;
    t->plain.ends[id] = t->plain.blob.n;
    return status;
}

/* ---- Hashes ---- */

static uint64_t mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 29;
    h *= 0x9fb21c651e98df25u;
    return h ^ h >> 32;
}

static uint64_t hash_bytes(uint64_t seed, const unsigned char *s, size_t n) {
    uint64_t h = seed ^ n * 0x9e3779b97f4a7c15u;
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = mix(h ^ w);
    }
    uint64_t w = 0;
    if (n)
        memcpy(&w, s, n);
    return mix(h ^ w);
}

uint64_t weft_vocab_hash(const weft_tokenizer *t, const unsigned char *s, size_t n) {
    return hash_bytes(t->seed, s, n);
}

static size_t slots_for(size_t n) {
    size_t slots = 16;
    while (slots < n * 2)
        slots *= 2;
    return slots;
}

/* The slot of the key of that hash, or the free one where it belongs. */
static weft_id_slot *id_slot(const weft_tokenizer *t, uint64_t hash, const void *key,
                             size_t n_bytes) {
    uint32_t tag = (uint32_t)(hash >> 32);
    size_t mask = t->ids.n_slots - 1, i = (size_t)hash & mask;
    for (;; i = (i + 1) & mask) {
        weft_id_slot *slot = &t->ids.slots[i];
        if (slot->next_id == 0)
            return slot;
        if (slot->tag != tag)
            continue;
        size_t n;
        const char *found = weft_strings_get(&t->keys, (int32_t)(slot->next_id - 1), &n);
        if (n == n_bytes && memcmp(found, key, n) == 0)
            return slot;
    }
}

int32_t weft_vocab_find(const weft_tokenizer *t, const void *key, size_t n_bytes) {
    if (n_bytes == 0)
        return -1;
    uint64_t hash = hash_bytes(t->seed, key, n_bytes);
    return (int32_t)id_slot(t, hash, key, n_bytes)->next_id - 1;
}

static weft_merge *merge_slot(const weft_tokenizer *t, int32_t left, int32_t right) {
    size_t mask = t->merges.n_slots - 1;
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t i = (size_t)mix(pair ^ t->seed) & mask;
    for (;; i = (i + 1) & mask) {
        weft_merge *slot = &t->merges.slots[i];
        if (slot->left < 0 || (slot->left == left && slot->right == right))
            return slot;
    }
}

const weft_merge *weft_merges_find(const weft_tokenizer *t, int32_t left, int32_t right) {
    if (t->merges.n_slots == 0 || left < 0 || right < 0)
        return NULL;
    const weft_merge *slot = merge_slot(t, left, right);
    return slot->left < 0 ? NULL : slot;
}

weft_status weft_merges_reserve(weft_tokenizer *t, size_t n) {
    if (n == 0)
        return WEFT_OK;
    if (n > INT32_MAX)
        return weft_fail(WEFT_E_FORMAT, "tokenizer: %zu merges", n);
    size_t slots = slots_for(n);
    t->merges.slots = weft_alloc(&t->a, weft_size_of(slots, sizeof *t->merges.slots));
    if (!t->merges.slots)
        return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory for %zu merges", n);
    t->merges.n_slots = slots;
    for (size_t i = 0; i < slots; i++)
        t->merges.slots[i].left = -1;
    return WEFT_OK;
}

/* Appends a piece as keys spell it. */
static bool piece_key(const weft_tokenizer *t, const char *s, size_t n_bytes, weft_bytes *out) {
    size_t n = 0;
    if (!weft_bytes_reserve(out, n_bytes))
        return false;
    if (t->scheme == WEFT_SCHEME_BYTES &&
        weft_bytelevel_decode((const unsigned char *)s, n_bytes, out->data + out->n, &n)) {
        out->n += n;
        return true;
    }
    return weft_bytes_add(out, s, n_bytes);
}

weft_status weft_merges_add(weft_tokenizer *t, uint32_t rank, const char *left, size_t left_bytes,
                            const char *right, size_t right_bytes) {
    weft_bytes *key = &t->merge_key;
    key->n = 0;
    bool fits = piece_key(t, left, left_bytes, key);
    size_t cut = key->n;
    if (!fits || !piece_key(t, right, right_bytes, key))
        return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory for merge %u", (unsigned)rank);
    int32_t l = weft_vocab_find(t, key->data, cut), whole = weft_vocab_find(t, key->data, key->n);
    int32_t r = weft_vocab_find(t, key->data + cut, key->n - cut);
    if (l < 0 || r < 0 || whole < 0)
        return weft_fail(WEFT_E_FORMAT,
                         "tokenizer merges: merge %u \"%.*s %.*s\" is of pieces that are no "
                         "tokens",
                         (unsigned)rank, (int)(left_bytes < 40 ? left_bytes : 40), left,
                         (int)(right_bytes < 40 ? right_bytes : 40), right);
    weft_merge *slot = merge_slot(t, l, r);
    if (slot->left < 0) /* of doubles the first counts */
        *slot = (weft_merge){l, r, rank, whole};
    return WEFT_OK;
}

/* ---- The trie of added tokens ---- */

bool weft_token_is_special(const weft_tokenizer *t, int32_t id) {
    return t->types[id] == WEFT_TOKEN_CONTROL || t->types[id] == WEFT_TOKEN_UNKNOWN;
}

int32_t weft_trie_match(const weft_tokenizer *t, const unsigned char *text, size_t n, bool special,
                        size_t *n_bytes) {
    int32_t best = -1;
    uint32_t node = t->trie.first[text[0]];
    for (size_t i = 1; node; i++) {
        int32_t id = t->trie.nodes[node].id;
        if (id >= 0 && (special || !weft_token_is_special(t, id))) {
            best = id;
            *n_bytes = i;
        }
        if (i == n)
            break;
        node = weft_trie_child(&t->trie, node, text[i]);
    }
    return best;
}

/* ---- Finishing ---- */

static bool in_rows(const weft_tokenizer *t, int32_t id) {
    return t->n_rows < 0 || id < t->n_rows;
}

#define AHEAD 16 /* keys whose slots are asked for before they are needed */

static bool is_key(const weft_tokenizer *t, int32_t id, bool plain, const char **key, size_t *n) {
    *key = weft_strings_get(&t->keys, id, n);
    return (t->types[id] == WEFT_TOKEN_NORMAL) == plain && *n > 0 &&
           t->types[id] != WEFT_TOKEN_UNUSED;
}

/* Plain tokens first: where an added token is spelled like one of them, text means the plain one.
 */
static void fill_ids(weft_tokenizer *t, bool plain) {
    uint64_t hashes[AHEAD];
    const char *key;
    size_t n;
    for (int32_t i = 0; i < t->n + AHEAD; i++) {
        int32_t id = i - AHEAD;
        uint64_t *hash = &hashes[i % AHEAD];
        if (id >= 0 && is_key(t, id, plain, &key, &n)) {
            weft_id_slot *slot = id_slot(t, *hash, key, n);
            if (slot->next_id == 0)
                *slot = (weft_id_slot){(uint32_t)id + 1, (uint32_t)(*hash >> 32)};
        }
        if (i < t->n && is_key(t, i, plain, &key, &n)) {
            *hash = hash_bytes(t->seed, (const unsigned char *)key, n);
            __builtin_prefetch(&t->ids.slots[(size_t)*hash & (t->ids.n_slots - 1)]);
        }
    }
}

/* Notes the bytes that a token has in front of a mark. */
static void note_joins(weft_tokenizer *t, const char *s, size_t n) {
    const char *at = s, *end = s + n;
    while ((at = n > 1 ? memchr(at + 1, SPACE_MARK[0], (size_t)(end - at) - 1) : NULL)) {
        if ((size_t)(end - at) >= sizeof SPACE_MARK - 1 &&
            memcmp(at, SPACE_MARK, sizeof SPACE_MARK - 1) == 0)
            t->joins_mark[(unsigned char)at[-1]] = true;
    }
}

/* Newlines of a token, and whether it holds anything else. */
static bool mixes_newlines(const char *s, size_t n) {
    size_t lines = 0;
    if (n == 0 || !memchr(s, '\n', n))
        return false;
    for (size_t i = 0; i < n; i++)
        lines += s[i] == '\n';
    return lines > 0 && lines < n;
}

weft_status weft_vocab_finish(weft_tokenizer *t) {
    size_t slots = slots_for((size_t)t->n);
    t->ids.slots = weft_alloc_zeroed(&t->a, weft_size_of(slots, sizeof *t->ids.slots));
    if (!t->ids.slots)
        return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory");
    t->ids.n_slots = slots;
    fill_ids(t, true);
    fill_ids(t, false);
    t->newlines_alone = true;
    for (int32_t id = 0; id < t->n; id++) {
        size_t n;
        const char *key = weft_strings_get(&t->keys, id, &n);
        unsigned char type = t->types[id];
        if (type == WEFT_TOKEN_NORMAL && n > t->longest)
            t->longest = n;
        if (type == WEFT_TOKEN_NORMAL && mixes_newlines(key, n))
            t->newlines_alone = false;
        if (type == WEFT_TOKEN_NORMAL || type == WEFT_TOKEN_USER)
            note_joins(t, key, n);
        if (t->scheme == WEFT_SCHEME_BYTES && type == WEFT_TOKEN_NORMAL && n == 1 &&
            t->byte_ids[(unsigned char)key[0]] < 0)
            t->byte_ids[(unsigned char)key[0]] = id;
        bool added = type == WEFT_TOKEN_USER || weft_token_is_special(t, id);
        /* Added tokens are matched in the text as it came: with spaces, not with marks. */
        if (added && t->scheme != WEFT_SCHEME_BYTES)
            key = weft_strings_get(&t->plain, id, &n);
        const unsigned char *bytes = (const unsigned char *)key;
        if (added && n && in_rows(t, id) && !weft_trie_add(&t->a, &t->trie, bytes, n, id))
            return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory");
        if (t->scheme == WEFT_SCHEME_UNIGRAM && type == WEFT_TOKEN_NORMAL && n && in_rows(t, id)) {
            if (!weft_trie_add(&t->a, &t->pieces, bytes, n, id))
                return weft_fail(WEFT_E_MEMORY, "tokenizer: no memory");
            t->lowest = t->scores[id] < t->lowest ? t->scores[id] : t->lowest;
        }
    }
    return WEFT_OK;
}
