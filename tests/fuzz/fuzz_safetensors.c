/* libFuzzer target: safetensors.h on any bytes. What a successful parse promises is looked at
 * whole. */
#define WEFT_SAFETENSORS_IMPLEMENTATION
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

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
    weft_safetensors_allocator a = {fuzz_alloc, fuzz_release, NULL};
    weft_safetensors_error error;
    weft_safetensors f;
    if (weft_safetensors_parse(data, size, &a, &f, &error) != WEFT_SAFETENSORS_OK)
        return 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < f.n_tensors; i++) {
        const weft_safetensors_tensor *t = &f.tensors[i];
        if (strlen(t->name) != t->name_bytes || weft_safetensors_find(&f, t->name) != t)
            abort();
        if (t->n_bytes > 0)
            sum += data[t->offset] + data[t->offset + t->n_bytes - 1];
    }
    for (size_t i = 0; i < f.n_pairs; i++)
        sum += strlen(f.pairs[i].key) + strlen(f.pairs[i].value);
    weft_safetensors_free(&f);
    return sum == UINT64_MAX; /* never: so that the bytes are read */
}
