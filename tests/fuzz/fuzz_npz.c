/* libFuzzer target: .npy and .npz from any bytes; what begins with npy's magic is the former. */
#include <stdlib.h>
#include "base/alloc.h"
#include "loader/npy.h"
#include "loader/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    weft_npy npy;
    if (size > 0 && data[0] == 0x93) {
        if (weft_npy_parse(data, size, &npy))
            return 0;
        if (npy.data + npy.size_bytes != data + size)
            abort();
        void *to = malloc(npy.size_bytes + 1);
        if (to)
            (void)weft_npy_read(&npy, to);
        free(to);
        return 0;
    }
    weft_allocator a = weft_allocator_system();
    weft_weights *weights = weft_weights_create(&a);
    if (!weights)
        return 0;
    if (!weft_npz_parse(&a, data, size, weights))
        for (size_t i = 0; i < weft_weights_count(weights); i++) {
            const char *name;
            if (weft_weights_find(weights, (weft_weights_at(weights, i, &name), name)) !=
                weft_weights_at(weights, i, &name))
                abort();
        }
    weft_weights_destroy(weights);
    return 0;
}
