/* Byte-pair merging of one piece: symbols in a linked list, candidate pairs in a heap ordered by
 * rank and then position. O(n log n) in the length of the piece; no recursion. */
#include <string.h>
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

bool weft_ids_add(weft_ids *ids, int32_t id) {
    if (ids->n == ids->room) {
        size_t room = ids->room ? ids->room * 2 : 256;
        int32_t *grown = weft_realloc(ids->a, ids->data, ids->room * sizeof *grown,
                                      weft_size_of(room, sizeof *grown));
        if (!grown)
            return false;
        ids->data = grown;
        ids->room = room;
    }
    ids->data[ids->n++] = id;
    return true;
}

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "tokenize: no memory");
}

static bool add_symbol(weft_merger *m, size_t start, size_t n, int32_t id) {
    if (m->n_symbols == m->symbols_room) {
        size_t room = m->symbols_room ? m->symbols_room * 2 : 256;
        weft_symbol *grown = weft_realloc(&m->t->a, m->symbols, m->symbols_room * sizeof *grown,
                                          weft_size_of(room, sizeof *grown));
        if (!grown)
            return false;
        m->symbols = grown;
        m->symbols_room = room;
    }
    int32_t i = (int32_t)m->n_symbols++;
    m->symbols[i] = (weft_symbol){(uint32_t)start, (uint32_t)n, i - 1, i + 1, id};
    return true;
}

static bool before(const weft_candidate *a, const weft_candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static bool heap_push(weft_merger *m, weft_candidate c) {
    if (m->n_heap == m->heap_room) {
        size_t room = m->heap_room ? m->heap_room * 2 : 256;
        weft_candidate *grown = weft_realloc(&m->t->a, m->heap, m->heap_room * sizeof *grown,
                                             weft_size_of(room, sizeof *grown));
        if (!grown)
            return false;
        m->heap = grown;
        m->heap_room = room;
    }
    size_t i = m->n_heap++;
    while (i > 0 && before(&c, &m->heap[(i - 1) / 2])) {
        m->heap[i] = m->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    m->heap[i] = c;
    return true;
}

static weft_candidate heap_pop(weft_merger *m) {
    weft_candidate top = m->heap[0], last = m->heap[--m->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= m->n_heap)
            break;
        if (child + 1 < m->n_heap && before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!before(&m->heap[child], &last))
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

/* Offers the pair that starts at symbol `at`, if its two symbols merge. */
static bool offer(weft_merger *m, const unsigned char *piece, int32_t at) {
    const weft_symbol *l = &m->symbols[at];
    if (l->next < 0)
        return true;
    const weft_symbol *r = &m->symbols[l->next];
    weft_candidate c = {.at = (uint32_t)at, .n = l->n + r->n};
    if (m->t->scheme == WEFT_SCHEME_SCORES) {
        if (c.n > m->t->longest)
            return true;
        c.id = weft_vocab_find(m->t, piece + l->start, c.n);
        if (c.id < 0 || m->t->types[c.id] != WEFT_TOKEN_NORMAL)
            return true;
        c.rank = m->t->ranks[c.id];
    } else {
        const weft_merge *merge = weft_merges_find(m->t, l->id, r->id);
        if (!merge)
            return true;
        c.id = merge->id;
        c.rank = merge->rank;
    }
    return heap_push(m, c);
}

static bool merge_all(weft_merger *m, const unsigned char *piece) {
    m->n_heap = 0;
    for (size_t i = 0; i + 1 < m->n_symbols; i++)
        if (!offer(m, piece, (int32_t)i))
            return false;
    while (m->n_heap) {
        weft_candidate c = heap_pop(m);
        weft_symbol *l = &m->symbols[c.at];
        if (l->n == 0 || l->next < 0 || l->n + m->symbols[l->next].n != c.n)
            continue; /* one of the two has changed since */
        weft_symbol *r = &m->symbols[l->next];
        l->n = c.n;
        l->id = c.id;
        r->n = 0;
        l->next = r->next;
        if (l->next >= 0)
            m->symbols[l->next].prev = (int32_t)c.at;
        if (!offer(m, piece, (int32_t)c.at) || (l->prev >= 0 && !offer(m, piece, l->prev)))
            return false;
    }
    return true;
}

/* A plain token spelled exactly so. */
static int32_t plain_token(const weft_tokenizer *t, const unsigned char *s, size_t n) {
    int32_t id = weft_vocab_find(t, s, n);
    bool plain = id >= 0 && (t->types[id] == WEFT_TOKEN_NORMAL || t->types[id] == WEFT_TOKEN_USER);
    return plain ? id : -1;
}

static bool has_bytes(const weft_tokenizer *t, const unsigned char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (t->byte_ids[s[i]] < 0)
            return false;
    return true;
}

static bool start_symbols(weft_merger *m, const unsigned char *piece, size_t n_bytes) {
    const weft_tokenizer *t = m->t;
    m->n_symbols = 0;
    for (size_t at = 0; at < n_bytes;) {
        size_t length = 1;
        if (t->scheme == WEFT_SCHEME_BYTES) {
            if (!add_symbol(m, at, 1, t->byte_ids[piece[at]]))
                return false;
            at++;
            continue;
        }
        length = weft_utf8_length(piece + at, n_bytes - at);
        if (length == 0)
            length = 1;
        int32_t id = plain_token(t, piece + at, length);
        /* Merges by rank see the byte tokens; with scores a character may yet merge with others. */
        if (id < 0 && t->scheme == WEFT_SCHEME_CHARS && has_bytes(t, piece + at, length)) {
            for (size_t i = 0; i < length; i++)
                if (!add_symbol(m, at + i, 1, t->byte_ids[piece[at + i]]))
                    return false;
        } else if (!add_symbol(m, at, length, id)) {
            return false;
        }
        at += length;
    }
    if (m->n_symbols)
        m->symbols[m->n_symbols - 1].next = -1;
    return true;
}

static weft_status emit_unknown(const weft_merger *m, const unsigned char *s, size_t n,
                                weft_ids *out, bool *unknown) {
    const weft_tokenizer *t = m->t;
    if (t->scheme == WEFT_SCHEME_SCORES && has_bytes(t, s, n)) {
        for (size_t i = 0; i < n; i++)
            if (!weft_ids_add(out, t->byte_ids[s[i]]))
                return no_memory();
        *unknown = false;
        return WEFT_OK;
    }
    /* A byte-level vocabulary without some bytes: the published tokenisers pass over them. */
    if (t->unk < 0 && t->scheme == WEFT_SCHEME_BYTES)
        return WEFT_OK;
    if (t->unk < 0)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenize: the vocabulary has no token for byte 0x%02X", s[0]);
    bool fused = t->fuse_unk && *unknown;
    *unknown = true;
    return fused || weft_ids_add(out, t->unk) ? WEFT_OK : no_memory();
}

weft_status weft_merge_piece(weft_merger *m, const unsigned char *piece, size_t n_bytes,
                             weft_ids *out) {
    if (n_bytes == 0)
        return WEFT_OK;
    if (m->t->ignore_merges) {
        int32_t id = plain_token(m->t, piece, n_bytes);
        if (id >= 0)
            return weft_ids_add(out, id) ? WEFT_OK : no_memory();
    }
    if (!start_symbols(m, piece, n_bytes) || !merge_all(m, piece))
        return no_memory();
    bool unknown = false;
    for (int32_t i = 0; i >= 0; i = m->symbols[i].next) {
        const weft_symbol *s = &m->symbols[i];
        if (s->id < 0) {
            weft_status status = emit_unknown(m, piece + s->start, s->n, out, &unknown);
            if (status != WEFT_OK)
                return status;
            continue;
        }
        unknown = false;
        if (!weft_ids_add(out, s->id))
            return no_memory();
    }
    return WEFT_OK;
}

void weft_merger_free(weft_merger *m) {
    weft_dealloc(&m->t->a, m->symbols, m->symbols_room * sizeof *m->symbols);
    weft_dealloc(&m->t->a, m->heap, m->heap_room * sizeof *m->heap);
}
