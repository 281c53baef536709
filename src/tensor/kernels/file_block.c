/* Reads a 32-column block of a row in the GGUF specification's layout into plain integers: what
 * packing and dequantising have in common for the types with panels. */
#include "tensor/kernels/blocks.h"
#include "base/floats.h"

static uint16_t u16_at(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

/* 16 bytes hold columns 0 … 15 in the low nibbles and 16 … 31 in the high ones. */
static void read_nibbles(const uint8_t *qs, uint8_t *q) {
    for (int i = 0; i < 16; i++) {
        q[i] = qs[i] & 15;
        q[i + 16] = qs[i] >> 4;
    }
}

/* Bit i of four bytes, little endian, is the 5th bit of column i. */
static void add_high_bits(const uint8_t *qh, uint8_t *q) {
    for (int i = 0; i < 32; i++)
        q[i] = (uint8_t)(q[i] | ((qh[i / 8] >> (i % 8)) & 1) << 4);
}

/* The 6-bit scale and minimum of sub-block j of Q4_K and Q5_K, from 12 bytes. */
static void read_scale_min(const uint8_t *s, size_t j, weft_file_block *out) {
    if (j < 4) {
        out->sc[0] = s[j] & 63;
        out->min = s[j + 4] & 63;
    } else {
        out->sc[0] = (int16_t)((s[j + 4] & 15) | (s[j - 4] >> 6) << 4);
        out->min = (uint8_t)((s[j + 4] >> 4) | (s[j] >> 6) << 4);
    }
    out->sc[1] = out->sc[0];
}

static void read_q4_k(const uint8_t *p, size_t sub, weft_file_block *out) {
    const uint8_t *qs = p + 16 + 32 * (sub / 2);
    int shift = sub % 2 ? 4 : 0;
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    read_scale_min(p + 4, sub, out);
    for (int i = 0; i < 32; i++)
        out->q[i] = (qs[i] >> shift) & 15;
}

static void read_q5_k(const uint8_t *p, size_t sub, weft_file_block *out) {
    const uint8_t *qh = p + 16, *qs = p + 48 + 32 * (sub / 2);
    int shift = sub % 2 ? 4 : 0;
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    read_scale_min(p + 4, sub, out);
    for (int i = 0; i < 32; i++)
        out->q[i] = (uint8_t)(((qs[i] >> shift) & 15) | ((qh[i] >> sub) & 1) << 4);
}

static void read_q6_k(const uint8_t *p, size_t sub, weft_file_block *out) {
    const uint8_t *ql = p + 64 * (sub / 4) + 32 * (sub % 2);
    const uint8_t *qh = p + 128 + 32 * (sub / 4);
    int low = sub % 4 < 2 ? 0 : 4, high = 2 * (int)(sub % 4);
    out->d = u16_at(p + 208);
    for (int h = 0; h < 2; h++)
        out->sc[h] = (int8_t)p[192 + 2 * sub + (size_t)h];
    for (int i = 0; i < 32; i++)
        out->q[i] = (uint8_t)(((ql[i] >> low) & 15) | ((qh[i] >> high) & 3) << 4);
}

void weft_file_block_read(weft_dtype dtype, const void *row, size_t k, weft_file_block *out) {
    const uint8_t *p = row;
    out->m = 0;
    out->min = 0;
    out->sc[0] = out->sc[1] = 1;
    switch (dtype) {
    case WEFT_Q4_0:
        p += 18 * k;
        out->d = u16_at(p);
        read_nibbles(p + 2, out->q);
        break;
    case WEFT_Q4_1:
        p += 20 * k;
        out->d = u16_at(p);
        out->m = u16_at(p + 2);
        read_nibbles(p + 4, out->q);
        break;
    case WEFT_Q5_0:
        p += 22 * k;
        out->d = u16_at(p);
        read_nibbles(p + 6, out->q);
        add_high_bits(p + 2, out->q);
        break;
    case WEFT_Q5_1:
        p += 24 * k;
        out->d = u16_at(p);
        out->m = u16_at(p + 2);
        read_nibbles(p + 8, out->q);
        add_high_bits(p + 4, out->q);
        break;
    case WEFT_Q8_0:
        p += 34 * k;
        out->d = u16_at(p);
        memcpy(out->q, p + 2, 32);
        break;
    case WEFT_Q4_K:
        read_q4_k(p + 144 * (k / 8), k % 8, out);
        break;
    case WEFT_Q5_K:
        read_q5_k(p + 176 * (k / 8), k % 8, out);
        break;
    case WEFT_Q6_K:
        read_q6_k(p + 210 * (k / 8), k % 8, out);
        break;
    default:
        assert(false && "a type without panels");
    }
}

void weft_block_scales(weft_dtype dtype, const weft_file_block *b, float d[2], float *m) {
    float scale = weft_f16_to_f32(b->d);
    d[0] = scale * (float)b->sc[0];
    d[1] = scale * (float)b->sc[1];
    *m = 0;
    if (dtype == WEFT_Q4_K || dtype == WEFT_Q5_K)
        *m = weft_f16_to_f32(b->m) * (float)b->min;
    else if (dtype == WEFT_Q4_1 || dtype == WEFT_Q5_1)
        *m = -weft_f16_to_f32(b->m);
}

void weft_file_block_values(weft_dtype dtype, const weft_file_block *b, float out[32]) {
    float d[2], min;
    weft_block_scales(dtype, b, d, &min);
    int offset = weft_quant_offset(dtype);
    for (int i = 0; i < 32; i++) {
        int q = dtype == WEFT_Q8_0 ? (int8_t)b->q[i] : b->q[i] - offset;
        float v = d[i / 16] * (float)q;
        out[i] = offset || dtype == WEFT_Q8_0 ? v : v - min;
    }
}
