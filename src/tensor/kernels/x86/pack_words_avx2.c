/* AVX2 variant of packing by words: eight rows at a time. */
#include "tensor/kernels/pack_words.h"
#include "tensor/kernels/ref/pack_words_body.h"

bool weft_pack_words_avx2(weft_dtype dtype, const uint8_t *rows, size_t n_cols, uint8_t *panel) {
    return pack_words_body(dtype, rows, n_cols, panel);
}
