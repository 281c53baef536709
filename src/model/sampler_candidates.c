/* The candidates of a choice: gathered from the logits, sorted only where a step needs it.
 * Arithmetic is in double with our own exponential, so that a seed gives the same tokens on every
 * machine. */
#include <math.h>
#include <string.h>
#include "base/detail.h"
#include "model/exact.h"
#include "model/sampler_impl.h"

#define HEAP_MAX 512 /* top-k up to this is cut while gathering */

void weft_candidates_scatter(weft_sampler *s) {
    for (size_t i = 0; i < s->n_vocab; i++)
        s->logits[i] = -INFINITY;
    for (size_t i = 0; i < s->candidates.n; i++)
        s->logits[s->candidates.ids[i]] = s->candidates.logits[i];
}

/* Descending order of keys is descending order of floats. */
static uint32_t float_key(float f) {
    uint32_t u;
    if (f == 0)
        f = 0; /* -0 and +0 tie */
    memcpy(&u, &f, sizeof u);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

/* Sorts the upper 32 bits of keys in descending order, 11 bits at a time; equal ones keep their
 * order. The result may stand in either array. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *spare, size_t n) {
    size_t count[2048];
    for (int shift = 32; shift < 64; shift += 11) {
        memset(count, 0, sizeof count);
        for (size_t i = 0; i < n; i++)
            count[2047 - ((keys[i] >> shift) & 2047)]++;
        size_t at = 0;
        for (size_t b = 0; b < 2048; b++) {
            size_t here = count[b];
            count[b] = at;
            at += here;
        }
        for (size_t i = 0; i < n; i++)
            spare[count[2047 - ((keys[i] >> shift) & 2047)]++] = keys[i];
        uint64_t *swap = keys;
        keys = spare;
        spare = swap;
    }
    return keys;
}

/* For a top-k far smaller than the vocabulary: only keys that can be among the first k are sorted.
 * The threshold is found by counting the upper 11 bits. */
static size_t drop_hopeless(uint64_t *keys, size_t n, size_t k) {
    size_t count[2048] = {0}, above = 0, b = 2047;
    for (size_t i = 0; i < n; i++)
        count[keys[i] >> 53]++;
    for (;; b--) {
        above += count[b];
        if (above >= k || b == 0)
            break;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (keys[i] >> 53 >= b)
            keys[kept++] = keys[i];
    return kept;
}

/* The k-th highest of logits [n], k <= n, by a heap of the k highest so far; -inf where there are
 * fewer above it. `heap` [k]. */
static float kth_highest(const float *logits, size_t n, float *heap, size_t k) {
    for (size_t i = 0; i < k; i++)
        heap[i] = -INFINITY;
    float least = -INFINITY; /* heap[0], kept apart so that the usual case is one comparison */
    for (size_t i = 0; i < n; i++) {
        if (!(logits[i] > least)) /* also for NaN */
            continue;
        float l = logits[i];
        size_t at = 0;
        for (size_t child; (child = 2 * at + 1) < k; at = child) {
            child += child + 1 < k && heap[child + 1] < heap[child];
            if (heap[child] >= l)
                break;
            heap[at] = heap[child];
        }
        heap[at] = l;
        least = heap[0];
    }
    return least;
}

/* The caller's logits with -inf for what the mask does not allow. */
static const float *masked(const weft_sampler *s) {
    float *row = (float *)s->keys; /* not in use before the sorting */
    for (size_t w = 0; w * 64 < s->n_vocab; w++) {
        size_t from = w * 64, n = s->n_vocab - from < 64 ? s->n_vocab - from : 64;
        if (s->bits[w] == UINT64_MAX)
            memcpy(row + from, s->given + from, n * sizeof *row);
        else
            for (size_t i = 0; i < n; i++)
                row[from + i] = s->bits[w] >> i & 1 ? s->given[from + i] : -INFINITY;
    }
    return row;
}

/* The chain's own logits, rounded: that keeps their order, but for ties. */
static const float *rounded(const weft_sampler *s) {
    float *row = (float *)s->keys;
    for (size_t i = 0; i < s->n_vocab; i++)
        row[i] = (float)s->logits[i];
    return row;
}

weft_status weft_candidates_gather(weft_sampler *s, size_t k) {
    weft_candidates *c = &s->candidates;
    const float *l = s->dense ? rounded(s) : s->bits ? masked(s) : s->given;
    float least = -INFINITY;
    c->n = 0;
    c->sorted = false;
    if (k <= HEAP_MAX && k < s->n_vocab)
        least = kth_highest(l, s->n_vocab, (float *)s->spare, k);
    for (size_t i = 0; i < s->n_vocab; i++) {
        if (!(l[i] >= least)) /* also for NaN */
            continue;
        double exact = s->dense ? s->logits[i] : (double)l[i];
        if (exact > -INFINITY) {
            c->ids[c->n] = (int32_t)i;
            c->logits[c->n++] = exact;
        }
    }
    return c->n ? WEFT_OK
                : weft_fail(WEFT_E_NO_CANDIDATES, "all %zu logits are -inf, NaN or masked",
                            s->n_vocab);
}

/* Keys are made of floats: penalties may give doubles between two floats, whose order is then
 * settled by insertion among equal keys' neighbours. */
static void settle(weft_candidates *c) {
    for (size_t i = 1; i < c->n; i++) {
        double l = c->logits[i];
        int32_t id = c->ids[i];
        size_t j = i;
        for (; j > 0 && (c->logits[j - 1] < l || (c->logits[j - 1] == l && c->ids[j - 1] > id));
             j--) {
            c->logits[j] = c->logits[j - 1];
            c->ids[j] = c->ids[j - 1];
        }
        c->logits[j] = l;
        c->ids[j] = id;
    }
}

void weft_candidates_sort(weft_sampler *s, size_t n) {
    weft_candidates *c = &s->candidates;
    if (c->sorted)
        return;
    size_t left = c->n;
    for (size_t i = 0; i < left; i++)
        s->keys[i] = (uint64_t)float_key((float)c->logits[i]) << 32 | i;
    if (n < left)
        left = drop_hopeless(s->keys, left, n);
    const uint64_t *sorted = sort_keys(s->keys, s->spare, left);
    /* The logits by index go through p, which has no meaning before this. */
    memcpy(c->p, c->logits, c->n * sizeof *c->p);
    for (size_t i = 0; i < left; i++)
        c->logits[i] = c->p[(uint32_t)sorted[i]];
    /* Ids likewise, through the other array of keys. */
    uint64_t *ids = sorted == s->keys ? s->spare : s->keys;
    for (size_t i = 0; i < left; i++)
        ids[i] = (uint64_t)c->ids[(uint32_t)sorted[i]];
    for (size_t i = 0; i < left; i++)
        c->ids[i] = (int32_t)ids[i];
    c->n = left;
    c->sorted = true;
    settle(c);
}

void weft_candidates_softmax(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    weft_candidates_sort(s, c->n);
    double top = c->logits[0], sum = 0;
    if (isinf(top))
        for (size_t i = 0; i < c->n; i++)
            c->p[i] = isinf(c->logits[i]) ? 1.0 : 0.0;
    else
        weft_exact_exp_row(c->logits, top, c->p, c->n);
    for (size_t i = 0; i < c->n; i++)
        sum += c->p[i];
    for (size_t i = 0; i < c->n; i++)
        c->p[i] /= sum;
}

double weft_candidates_entropy(const weft_candidates *c) {
    double sum = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->p[i] > 0)
            sum -= c->p[i] * weft_exact_log(c->p[i]);
    return sum;
}
