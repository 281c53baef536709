/* Panels as tiles of bfloat16 (AVX512-BF16). */
#include "tensor/kernels/x86/bf16_unpack.h"
#include "tensor/kernels/table.h"
#include "tensor/kernels/x86/bf16_pairs.h"
#include "tensor/kernels/x86/quants_avx512.h"

WEFT_INLINE void put_pair(uint16_t *tile, size_t pair, __m512 first, __m512 second) {
    _mm512_storeu_si512(tile + 32 * pair, bf16_pairs(first, second));
}

/* A value is factor * (256 + quant) + rest: a byte becomes such a float by putting it into the
 * mantissa. */
typedef struct affine {
    __m512 factor, rest;
} affine;

/* Of half h of a block. */
WEFT_INLINE affine affine_of(weft_form form, q8_block s, int h) {
    __m512 d, m;
    block_scales(form, s, &d, &m);
    if (weft_form_floats(form)) {
        d = h ? m : d;
        m = _mm512_setzero_ps();
    }
    if (weft_form_halves(form))
        d = _mm512_mul_ps(d, half_scales(form, s.sc, h));
    if (form == WEFT_FORM_Q2_K)
        m = _mm512_mul_ps(m, _mm512_cvtepi32_ps(of_pairs(minimum_pairs(s.sc), h)));
    __m512 zero = _mm512_set1_ps(-(float)(256 + offset_of(form)));
    return (affine){d, _mm512_fmadd_ps(d, zero, m)};
}

WEFT_INLINE __m512 quant_values(__m512i shifted, affine a) {
    const __m512i mantissa = _mm512_set1_epi32(0x007f8000), one = _mm512_set1_epi32(0x43800000);
    __m512i bits = _mm512_ternarylogic_epi32(shifted, mantissa, one, 0xea); /* (a & b) | c */
    return _mm512_fmadd_ps(_mm512_castsi512_ps(bits), a.factor, a.rest);
}

WEFT_INLINE void unpack_quants(weft_form form, const q8_codes *codes, const void *panel,
                               size_t begin, size_t end, uint16_t *tile) {
    for (size_t k = begin; k < end; k++, tile += WEFT_BF16_TILE) {
        q8_block s = packed_block(form, codes, panel, k);
        affine a[2] = {affine_of(form, s, 0)};
        a[1] = weft_form_halves(form) || weft_form_floats(form) ? affine_of(form, s, 1) : a[0];
        __m512i w[8];
        block_quads(form, s, w);
        WEFT_UNROLL for (int j = 0; j < 8; j++) {
            __m512i q = w[j];
            affine of = a[j / 4];
            put_pair(tile, 2 * (size_t)j, quant_values(_mm512_slli_epi32(q, 15), of),
                     quant_values(_mm512_slli_epi32(q, 7), of));
            put_pair(tile, 2 * (size_t)j + 1, quant_values(_mm512_srli_epi32(q, 1), of),
                     quant_values(_mm512_srli_epi32(q, 9), of));
        }
    }
}

/* Column k of a panel of floats; zeros from n_cols on. */
WEFT_INLINE __m512 float_column(weft_dtype dtype, const void *panel, size_t k, size_t n_cols) {
    if (k >= n_cols)
        return _mm512_setzero_ps();
    if (dtype == WEFT_F32)
        return _mm512_loadu_ps((const float *)panel + 16 * k);
    __m256i half = _mm256_loadu_si256((const __m256i *)((const uint16_t *)panel + 16 * k));
    if (dtype == WEFT_F16)
        return _mm512_cvtph_ps(half);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

WEFT_INLINE void unpack_floats(weft_dtype dtype, const void *panel, size_t n_cols, size_t begin,
                               size_t end, uint16_t *tile) {
    for (size_t k = 32 * begin; k < 32 * end; k += 2, tile += 32) {
        if (dtype == WEFT_BF16 && k + 1 < n_cols) /* as they are */
            _mm512_storeu_si512(tile,
                                bf16_interleave(quants_load((const uint16_t *)panel + 16 * k)));
        else
            put_pair(tile, 0, float_column(dtype, panel, k, n_cols),
                     float_column(dtype, panel, k + 1, n_cols));
    }
}

typedef void unpack_function(const q8_codes *codes, const void *panel, size_t begin, size_t end,
                             uint16_t *tiles);

#define OF_FORM(name, form)                                                                        \
    static void unpack_##name(const q8_codes *codes, const void *panel, size_t begin, size_t end,  \
                              uint16_t *tiles) {                                                   \
        unpack_quants(form, codes, panel, begin, end, tiles);                                      \
    }
WEFT_FORM_FUNCTIONS(OF_FORM)

#define ENTRY(name, form) [form] = unpack_##name,
static unpack_function *const unpacks[WEFT_FORM_COUNT] = {WEFT_FORM_FUNCTIONS(ENTRY)};

void weft_bf16_unpack(weft_dtype dtype, const void *panel, size_t n_cols, size_t begin, size_t end,
                      uint16_t *tiles) {
    if (dtype == WEFT_F32) {
        unpack_floats(WEFT_F32, panel, n_cols, begin, end, tiles);
    } else if (dtype == WEFT_F16) {
        unpack_floats(WEFT_F16, panel, n_cols, begin, end, tiles);
    } else if (dtype == WEFT_BF16) {
        unpack_floats(WEFT_BF16, panel, n_cols, begin, end, tiles);
    } else {
        const weft_packing *p = weft_packing_of(dtype);
        q8_codes codes = codes_of(p, offset_of(p->form));
        unpacks[p->form](&codes, panel, begin, end, tiles);
    }
}
