/* Sizes of what a layer keeps. Extents are hyper-parameters, which are bounded (hparams.c): their
 * products do not overflow 64 bits. */
#include "model/cache_layer.h"

#include "tensor/nn.h"

#define LINE_FLOATS 16

int64_t weft_cache_layer_width(const weft_cache_layer *l, weft_dtype type) {
    int64_t v = l->dim_v > 0 ? weft_cache_width(type, l->dim_v) : 0;
    return l->n_head_kv * (weft_cache_width(type, l->dim_k) + v);
}

uint64_t weft_cache_layer_bytes(const weft_cache_layer *l, weft_dtype type) {
    return (uint64_t)weft_cache_layer_width(l, type) / weft_dtype_block(type) *
           weft_dtype_block_bytes(type);
}

int64_t weft_cache_state_floats(const weft_cache_state *s) {
    int64_t n = s->rank > 0;
    for (int d = 0; d < s->rank; d++)
        n *= s->dims[d];
    return (n + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
}

uint64_t weft_cache_layer_state_bytes(const weft_cache_layer *l) {
    uint64_t n = 0;
    for (int i = 0; i < WEFT_CACHE_STATES; i++)
        n += (uint64_t)weft_cache_state_floats(&l->states[i]) * sizeof(float);
    return n;
}
