/* Reads a 32-column block of a row in the GGUF specification's layout into plain integers: what
 * packing and dequantising have in common. The IQ types with codebooks are in file_block_iq.c. */
#include "base/floats.h"
#include "tensor/kernels/books.h"

static uint16_t u16_at(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

/* ---- Types of 32 columns ---- */

/* 16 bytes hold columns 0 … 15 in the low nibbles and 16 … 31 in the high ones. */
static void read_nibbles(const uint8_t *qs, uint8_t *q) {
    for (int i = 0; i < 16; i++) {
        q[i] = qs[i] & 15;
        q[i + 16] = qs[i] >> 4;
    }
}

/* Bit i of four bytes, little endian, is the 5th bit of column i. */
static void add_high_bits(const uint8_t *qh, uint8_t *q) {
    for (size_t i = 0; i < 4; i++) {
        uint64_t eight;
        memcpy(&eight, q + 8 * i, 8);
        eight |= weft_spread_bits(qh[i]) << 4;
        memcpy(q + 8 * i, &eight, 8);
    }
}

/* Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL. */
static void read_simple(const uint8_t *p, bool min, bool fifth, weft_block *out) {
    out->d = u16_at(p);
    p += 2;
    if (min) {
        out->m = u16_at(p);
        p += 2;
    }
    read_nibbles(fifth ? p + 4 : p, out->q);
    if (fifth)
        add_high_bits(p, out->q);
}

static void read_q8_0(const uint8_t *p, weft_block *out) {
    out->d = u16_at(p);
    memcpy(out->q, p + 2, 32);
}

static void read_mxfp4(const uint8_t *p, weft_block *out) {
    out->d = p[0];
    read_nibbles(p + 1, out->q);
}

/* Half of 64 columns: four scales, then 16 columns in 8 bytes. The highest bit of a scale says
 * nothing, and 0x7f is 0. */
static void read_nvfp4(const uint8_t *p, size_t sub, weft_block *out) {
    for (size_t h = 0; h < 2; h++) {
        uint8_t scale = p[2 * sub + h];
        const uint8_t *qs = p + 4 + 8 * (2 * sub + h);
        out->sc[h] = scale == 0x7f ? 0 : scale & 0x7f;
        for (size_t i = 0; i < 8; i++) {
            out->q[16 * h + i] = qs[i] & 15;
            out->q[16 * h + i + 8] = qs[i] >> 4;
        }
    }
}

/* ---- Types of 256 columns ---- */

/* Columns of a sub-block of 32 lie at the same bits of 32 bytes, four sub-blocks in a byte. */
static void read_pairs(const uint8_t *qs, size_t sub, uint8_t *q) {
    for (size_t i = 0; i < 32; i++)
        q[i] = (qs[sub / 4 * 32 + i] >> (sub % 4 * 2)) & 3;
}

static void read_q2_k(const uint8_t *p, size_t sub, weft_block *out) {
    out->d = u16_at(p + 80);
    out->m = u16_at(p + 82);
    for (size_t h = 0; h < 2; h++) {
        out->sc[h] = p[2 * sub + h] & 15;
        out->min[h] = p[2 * sub + h] >> 4;
    }
    read_pairs(p + 16, sub, out->q);
}

/* 16 sub-scales of 6 bits in 12 bytes: low nibbles in 8 of them, high pairs in 4. */
static void read_q3_k(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *s = p + 96;
    out->d = u16_at(p + 108);
    for (size_t h = 0; h < 2; h++) {
        size_t j = 2 * sub + h;
        int low = j < 8 ? s[j] & 15 : s[j - 8] >> 4, high = (s[8 + j % 4] >> (j / 4 * 2)) & 3;
        out->sc[h] = (int16_t)((low | high << 4) - 32);
    }
    read_pairs(p + 32, sub, out->q);
    for (size_t i = 0; i < 32; i++)
        out->q[i] = (uint8_t)(out->q[i] | ((p[i] >> sub) & 1) << 2);
}

/* The 6-bit scale and minimum of sub-block j of Q4_K and Q5_K, from 12 bytes. */
static void read_scale_min(const uint8_t *s, size_t j, weft_block *out) {
    if (j < 4) {
        out->sc[0] = s[j] & 63;
        out->min[0] = s[j + 4] & 63;
    } else {
        out->sc[0] = (int16_t)((s[j + 4] & 15) | (s[j - 4] >> 6) << 4);
        out->min[0] = (uint8_t)((s[j + 4] >> 4) | (s[j] >> 6) << 4);
    }
    out->sc[1] = out->sc[0];
    out->min[1] = out->min[0];
}

static void read_q4_k(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *qs = p + 16 + 32 * (sub / 2);
    int shift = sub % 2 ? 4 : 0;
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    read_scale_min(p + 4, sub, out);
    for (int i = 0; i < 32; i++)
        out->q[i] = (qs[i] >> shift) & 15;
}

static void read_q5_k(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *qh = p + 16, *qs = p + 48 + 32 * (sub / 2);
    int shift = sub % 2 ? 4 : 0;
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    read_scale_min(p + 4, sub, out);
    for (int i = 0; i < 32; i++)
        out->q[i] = (uint8_t)(((qs[i] >> shift) & 15) | ((qh[i] >> sub) & 1) << 4);
}

static void read_q6_k(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *ql = p + 64 * (sub / 4) + 32 * (sub % 2);
    const uint8_t *qh = p + 128 + 32 * (sub / 4);
    int low = sub % 4 < 2 ? 0 : 4, high = 2 * (int)(sub % 4);
    out->d = u16_at(p + 208);
    for (size_t h = 0; h < 2; h++)
        out->sc[h] = (int8_t)p[192 + 2 * sub + h];
    for (int i = 0; i < 32; i++)
        out->q[i] = (uint8_t)(((ql[i] >> low) & 15) | ((qh[i] >> high) & 3) << 4);
}

static void read_iq4_xs(const uint8_t *p, size_t sub, weft_block *out) {
    int low = (p[4 + sub / 2] >> (sub % 2 * 4)) & 15, high = (u16_at(p + 2) >> (2 * sub)) & 3;
    out->d = u16_at(p);
    out->sc[0] = out->sc[1] = (int16_t)((low | high << 4) - 32);
    read_nibbles(p + 8 + 16 * sub, out->q);
}

/* Digit `digit` of n bytes. A byte b holds up to five columns in base 3, as the fraction b / 256:
 * times 3^digit, the digit is in front of the point. */
static void read_digits(const uint8_t *bytes, size_t n, size_t digit, uint8_t *q) {
    static const uint8_t powers[] = {1, 3, 9, 27, 81};
    for (size_t i = 0; i < n; i++)
        q[i] = (uint8_t)((uint8_t)(bytes[i] * powers[digit]) * 3 >> 8);
}

/* 32 bytes hold columns 32 n + i, 16 bytes columns 160 + 16 n + i, and 4 bytes, of four digits,
 * columns 240 + 4 n + i. */
static void read_tq1_0(const uint8_t *p, size_t sub, weft_block *out) {
    out->d = u16_at(p + 52);
    if (sub < 5) {
        read_digits(p, 32, sub, out->q);
        return;
    }
    read_digits(p + 32, 16, 2 * (sub - 5), out->q);
    if (sub < 7)
        read_digits(p + 32, 16, 2 * (sub - 5) + 1, out->q + 16);
    for (size_t n = 0; n < 4 && sub == 7; n++)
        read_digits(p + 48, 4, n, out->q + 16 + 4 * n);
}

static void read_entries(weft_dtype dtype, const uint8_t *p, size_t sub, weft_block *out) {
    weft_entries e;
    weft_file_entries_read(dtype, p, sub, &e);
    weft_entries_block(weft_packing_of(dtype)->form, &e, out);
}

static void read_tq2_0(const uint8_t *p, size_t sub, weft_block *out) {
    out->d = u16_at(p + 64);
    read_pairs(p, sub, out->q);
}

void weft_file_block_read(weft_dtype dtype, const void *row, size_t k, weft_block *out) {
    const uint8_t *p = row;
    out->m = 0;
    out->min[0] = out->min[1] = 0;
    out->sc[0] = out->sc[1] = 1;
    switch (dtype) {
    case WEFT_Q4_0:
    case WEFT_IQ4_NL:
        read_simple(p + 18 * k, false, false, out);
        break;
    case WEFT_Q4_1:
        read_simple(p + 20 * k, true, false, out);
        break;
    case WEFT_Q5_0:
        read_simple(p + 22 * k, false, true, out);
        break;
    case WEFT_Q5_1:
        read_simple(p + 24 * k, true, true, out);
        break;
    case WEFT_Q8_0:
        read_q8_0(p + 34 * k, out);
        break;
    case WEFT_MXFP4:
        read_mxfp4(p + 17 * k, out);
        break;
    case WEFT_NVFP4:
        read_nvfp4(p + 36 * (k / 2), k % 2, out);
        break;
    case WEFT_Q2_K:
        read_q2_k(p + 84 * (k / 8), k % 8, out);
        break;
    case WEFT_Q3_K:
        read_q3_k(p + 110 * (k / 8), k % 8, out);
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
    case WEFT_IQ4_XS:
        read_iq4_xs(p + 136 * (k / 8), k % 8, out);
        break;
    case WEFT_TQ1_0:
        read_tq1_0(p + 54 * (k / 8), k % 8, out);
        break;
    case WEFT_TQ2_0:
        read_tq2_0(p + 66 * (k / 8), k % 8, out);
        break;
    default:
        read_entries(dtype, p + weft_dtype_block_bytes(dtype) * (k / 8), k % 8, out);
    }
}
