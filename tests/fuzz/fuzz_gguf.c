/* libFuzzer target: gguf.h on any bytes. What a successful parse promises is looked at whole. */
#define WEFT_GGUF_IMPLEMENTATION
#include "gguf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *fuzz_alloc(void *ctx, size_t n) {
    (void)ctx;
    return malloc(n);
}

static void fuzz_release(void *ctx, void *memory, size_t n) {
    (void)ctx;
    (void)n;
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    weft_gguf_allocator a = {fuzz_alloc, fuzz_release, NULL};
    weft_gguf_error error;
    weft_gguf g;
    if (weft_gguf_parse(data, size, &a, &g, &error) != WEFT_GGUF_OK)
        return 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < g.n_entries; i++) {
        const weft_gguf_value *v = &g.entries[i].value;
        weft_gguf_value element;
        size_t at = 0, n = 0;
        while (v->type == WEFT_GGUF_ARRAY && weft_gguf_next(&v->as.a, &at, &element))
            n++;
        if (v->type == WEFT_GGUF_ARRAY && n != v->as.a.n)
            abort();
    }
    for (size_t i = 0; i < g.n_tensors; i++) {
        const weft_gguf_tensor *t = &g.tensors[i];
        sum += data[t->offset] + data[t->offset + t->n_bytes - 1];
    }
    weft_gguf_free(&g);
    return sum == UINT64_MAX; /* never: so that the bytes are read */
}
