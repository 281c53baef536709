/* The reading loop of the limits, over vectors of LIMIT_VECTOR bytes, which a file defines before
 * it includes this. Four places are read side by side and asked for ahead, as the kernels do with
 * panels: one stream alone leaves the memory idle between the lines that the CPU foresees. */
#ifndef WEFT_KERNELS_REF_LIMITS_READ_H
#define WEFT_KERNELS_REF_LIMITS_READ_H

#include "tensor/kernels/limits.h"

#define READ_STREAMS 4
#define READ_AHEAD 2048 /* bytes */
#define READ_LINE 64

typedef uint64_t read_vector __attribute__((vector_size(LIMIT_VECTOR), may_alias));

static uint64_t read_memory(const void *memory, size_t size_bytes) {
    enum { VECTORS = READ_LINE / LIMIT_VECTOR, WORDS = LIMIT_VECTOR / 8 };
    _Static_assert(WEFT_LIMIT_READ_STEP % (READ_STREAMS * READ_LINE) == 0, "whole lines");
    size_t stream = size_bytes / READ_STREAMS;
    read_vector sum[READ_STREAMS] = {{0}};
    for (size_t at = 0; at < stream; at += READ_LINE)
        for (int s = 0; s < READ_STREAMS; s++) {
            const char *line = (const char *)memory + (size_t)s * stream + at;
            /* Beyond the end this asks for memory of others, which faults nowhere. */
            __builtin_prefetch((const void *)((uintptr_t)line + READ_AHEAD));
            const read_vector *v = (const read_vector *)(const void *)line;
            for (int i = 0; i < VECTORS; i++)
                sum[s] ^= v[i];
        }
    uint64_t all = 0;
    for (int s = 0; s < READ_STREAMS; s++)
        for (int w = 0; w < WORDS; w++)
            all ^= sum[s][w];
    return all;
}

#endif
