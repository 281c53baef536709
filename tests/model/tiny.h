/* Small random networks in memory, one of each architecture, for the tests of src/model; and an
 * allocator that counts and fails on request. */
#ifndef WEFT_TESTS_MODEL_TINY_H
#define WEFT_TESTS_MODEL_TINY_H

#include "model/cache.h"
#include "model/forward.h"
#include "model/network_impl.h"
#include "test.h"

enum { TINY_VOCAB = 96, TINY_EMBD = 64, TINY_FF = 96, TINY_HEADS = 4, TINY_KV = 2, TINY_CTX = 512 };

/* Allocations through an engine. `fail_in` counts down; the call that finds 0 gets no memory. */
typedef struct counter {
    long n_calls, n_live, live_bytes, n_failed, fail_in; /* fail_in < 0: never */
} counter;

typedef struct tiny {
    counter count;
    weft_engine *engine;
    weft_metadata *metadata;
    weft_weights *weights;
    weft_network *network;
} tiny;

weft_engine *tiny_engine(counter *count, weft_numbers numbers, int n_threads);

/* Metadata alone: what a file of this architecture says. */
weft_metadata *tiny_metadata(const weft_allocator *a, const char *arch, bool hf);
void tiny_put_u32(weft_metadata *m, const char *key, uint32_t value);
void tiny_put_f64(weft_metadata *m, const char *key, double value);
void tiny_put_string(weft_metadata *m, const char *key, const char *value);

/* A network over random f32 weights. */
void tiny_open(tiny *t, const char *arch, bool hf, weft_numbers numbers, bool pack);
void tiny_close(tiny *t);

/* Random weights for everything that the architecture's rules name. */
void tiny_fill_weights(weft_engine *engine, weft_weights *weights, const weft_arch *arch,
                       const weft_hparams *h, weft_spelling spelling);

/* One step of n tokens of one sequence; logits of all rows are read to out [n, TINY_VOCAB]. */
weft_status tiny_step(const weft_network *network, weft_cache *cache, weft_scope *scope,
                      int32_t sequence, const int32_t *tokens, size_t n, float *out);

/* The i-th of a fixed list of token ids below TINY_VOCAB. */
int32_t tiny_token(size_t i);

#endif
