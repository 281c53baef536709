/* A growing byte buffer for building files in tests, a counting and failing allocator, and
 * mutations that are the same in every run. */
#ifndef WEFT_TESTS_LOADER_BYTES_H
#define WEFT_TESTS_LOADER_BYTES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct bytes {
    unsigned char *data;
    size_t n, room;
} bytes;

static inline void put(bytes *b, const void *data, size_t n) {
    if (b->n + n > b->room) {
        b->room = (b->n + n) * 2;
        b->data = realloc(b->data, b->room);
        assert_non_null(b->data);
    }
    if (n > 0)
        memcpy(b->data + b->n, data, n);
    b->n += n;
}
static inline void put_uint(bytes *b, uint64_t v, size_t n) {
    unsigned char le[8];
    for (size_t i = 0; i < n; i++)
        le[i] = (unsigned char)(v >> (8 * i));
    put(b, le, n);
}
static inline void put_string(bytes *b, const char *s) {
    put_uint(b, strlen(s), 8);
    put(b, s, strlen(s));
}
static inline void pad(bytes *b, size_t alignment) {
    while (b->n % alignment != 0)
        put_uint(b, 0, 1);
}
static inline void clear(bytes *b) {
    free(b->data);
    memset(b, 0, sizeof *b);
}

/* Counts what is live; the allocation numbered `fail_at` (from 0) and all later ones fail. */
typedef struct counting {
    size_t live_bytes, calls, fail_at;
} counting;

static inline void *counting_alloc(void *ctx, size_t n) {
    counting *c = ctx;
    if (c->calls++ >= c->fail_at)
        return NULL;
    c->live_bytes += n;
    return malloc(n);
}
static inline void counting_release(void *ctx, void *p, size_t n) {
    counting *c = ctx;
    c->live_bytes -= n;
    free(p);
}

/* xorshift64 (Marsaglia, Xorshift RNGs, 2003). */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A copy of exactly the mutated size, so that a sanitizer sees the first byte past it. */
static inline unsigned char *mutate(const bytes *b, uint64_t *random, size_t *n) {
    static const uint64_t odd[] = {0,          1,          0x7f,           0x80,       0xff,
                                   0xffffffff, 1ull << 32, 1ull << 62,     1ull << 63, UINT64_MAX,
                                   0x7fffffff, 1ull << 61, UINT64_MAX - 15};
    *n = b->n;
    if (next_random(random) % 4 == 0)
        *n = next_random(random) % (b->n + 1);
    unsigned char *copy = malloc(*n ? *n : 1);
    assert_non_null(copy);
    memcpy(copy, b->data, *n);
    size_t edits = 1 + next_random(random) % 3;
    for (size_t i = 0; i < edits && *n >= 8; i++) {
        size_t at = next_random(random) % (*n - 7);
        uint64_t kind = next_random(random) % 3;
        if (kind == 0) {
            copy[at] = (unsigned char)next_random(random);
        } else {
            uint64_t v = odd[next_random(random) % (sizeof odd / sizeof odd[0])];
            memcpy(copy + at, &v, kind == 1 ? 8 : 4);
        }
    }
    return copy;
}

#endif
