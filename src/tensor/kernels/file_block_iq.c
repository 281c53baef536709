/* Blocks of the IQ types with codebooks (grids.h) as codes: an index and signs stand for eight
 * columns, in IQ3 for four. A negative column has a code of its own (packing.c). */
#include "tensor/kernels/blocks.h"
#include "tensor/kernels/grids.h"

#include <string.h>

static unsigned u16_at(const uint8_t *p) {
    return p[0] | (unsigned)p[1] << 8;
}

static uint32_t u32_at(const uint8_t *p) {
    return u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
}

/* Seven signs, and an eighth that makes the number of negative ones even. */
static unsigned even_signs(uint32_t seven) {
    unsigned s = (unsigned)seven & 127;
    return s | (unsigned)__builtin_parity(s) << 7;
}

/* Eight columns of two bits; bit i of `signs`: column i is negative. Three codes a sign. */
static void put_eight(unsigned entry, unsigned signs, uint8_t *q) {
    uint64_t codes = entry;
    codes = (codes | codes << 24) & 0x000000ff000000ffu;
    codes = (codes | codes << 12) & 0x000f000f000f000fu;
    codes = (codes | codes << 6) & 0x0303030303030303u;
    codes += 3 * weft_spread_bits(signs);
    memcpy(q, &codes, 8);
}

/* Four columns of three bits and a sign: bit j of the four signs goes to byte j. */
static void put_four(unsigned entry, unsigned signs, uint8_t *q) {
    uint32_t codes = (entry & 077) | (entry & 07700) << 10;
    codes = (codes & 0x00070007) | (codes & 0x00380038) << 5;
    codes |= ((signs & 15) * 0x00204081 & 0x01010101) << 3;
    memcpy(q, &codes, 4);
}

/* The types' scales are odd: 2 s + 1. */
static int16_t odd(unsigned s) {
    return (int16_t)(2 * s + 1);
}

/* The scale of each half is a nibble. */
static void odd_nibbles(unsigned byte, weft_block *out) {
    out->sc[0] = odd(byte & 15);
    out->sc[1] = odd(byte >> 4);
}

/* Four indices of a byte; four times seven signs, and the scale in the highest four bits. */
static void read_iq2_xxs(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *index = p + 2 + 8 * sub;
    uint32_t rest = u32_at(index + 4);
    for (unsigned i = 0; i < 4; i++)
        put_eight(weft_grid_iq2_xxs[index[i]], even_signs(rest >> (7 * i)), out->q + 8 * i);
    out->sc[0] = out->sc[1] = odd(rest >> 28);
}

/* Nine bits of index and seven signs. */
static void read_iq2_xs(const uint8_t *p, size_t sub, weft_block *out) {
    for (unsigned i = 0; i < 4; i++) {
        unsigned v = u16_at(p + 2 + 8 * sub + 2 * i);
        put_eight(weft_grid_iq2_xs[v & 511], even_signs(v >> 9), out->q + 8 * i);
    }
    odd_nibbles(p[66 + sub], out);
}

/* Ten bits of index, the highest two apart; eight signs. */
static void read_iq2_s(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *index = p + 2 + 4 * sub, *signs = p + 34 + 4 * sub;
    unsigned high = p[66 + sub];
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = index[i] | (high >> (2 * i) & 3) << 8;
        put_eight(weft_grid_iq2_s[at], signs[i], out->q + 8 * i);
    }
    odd_nibbles(p[74 + sub], out);
}

/* Eight indices of a byte; signs and scale as in IQ2_XXS. */
static void read_iq3_xxs(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *index = p + 2 + 8 * sub;
    uint32_t rest = u32_at(p + 66 + 4 * sub);
    for (unsigned i = 0; i < 8; i++) {
        unsigned signs = even_signs(rest >> (7 * (i / 2))) >> (i % 2 * 4);
        put_four(weft_grid_iq3_xxs[index[i]], signs, out->q + 4 * i);
    }
    out->sc[0] = out->sc[1] = odd(rest >> 28);
}

/* Nine bits of index, the highest apart; eight signs a byte; a nibble of scale for 32 columns. */
static void read_iq3_s(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *index = p + 2 + 8 * sub, *signs = p + 74 + 4 * sub;
    unsigned high = p[66 + sub];
    for (unsigned i = 0; i < 8; i++) {
        unsigned at = index[i] | (high >> i & 1) << 8;
        put_four(weft_grid_iq3_s[at], (unsigned)signs[i / 2] >> (i % 2 * 4), out->q + 4 * i);
    }
    out->sc[0] = out->sc[1] = odd(p[106 + sub / 2] >> (sub % 2 * 4) & 15);
}

/* Eleven bits of index, the highest three in 16 bits that also have the scale's three and the sign
 * of the step's shift. */
static void read_iq1_s(const uint8_t *p, size_t sub, weft_block *out) {
    unsigned rest = u16_at(p + 34 + 2 * sub), less = rest >> 15 ? 0xff : 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = p[2 + 4 * sub + i] | (rest >> (3 * i) & 7) << 8;
        put_eight(weft_grid_iq1[at], less, out->q + 8 * i);
    }
    out->sc[0] = out->sc[1] = odd(rest >> 12 & 7);
}

/* The same with a nibble of high bits and shift for each index, and three bits of scale a half. The
 * f16 lies in the highest nibbles of the four 16-bit words of scales. */
static void read_iq1_m(const uint8_t *p, size_t sub, weft_block *out) {
    const uint8_t *scales = p + 48;
    unsigned d = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = (unsigned)p[32 + 2 * sub + i / 2] >> (i % 2 * 4) & 15;
        unsigned at = p[4 * sub + i] | (nibble & 7) << 8;
        put_eight(weft_grid_iq1[at], nibble >> 3 ? 0xff : 0, out->q + 8 * i);
        d |= u16_at(scales + 2 * i) >> 12 << (4 * i);
    }
    out->d = (uint16_t)d;
    unsigned word = u16_at(scales + sub / 2 * 2) >> (sub % 2 * 6);
    out->sc[0] = odd(word & 7);
    out->sc[1] = odd(word >> 3 & 7);
}

void weft_file_block_read_iq(weft_dtype dtype, const uint8_t *p, size_t sub, weft_block *out) {
    out->d = (uint16_t)u16_at(p);
    switch (dtype) {
    case WEFT_IQ1_S:
        read_iq1_s(p, sub, out);
        break;
    case WEFT_IQ1_M:
        read_iq1_m(p, sub, out);
        break;
    case WEFT_IQ2_XXS:
        read_iq2_xxs(p, sub, out);
        break;
    case WEFT_IQ2_XS:
        read_iq2_xs(p, sub, out);
        break;
    case WEFT_IQ2_S:
        read_iq2_s(p, sub, out);
        break;
    case WEFT_IQ3_XXS:
        read_iq3_xxs(p, sub, out);
        break;
    case WEFT_IQ3_S:
        read_iq3_s(p, sub, out);
        break;
    default:
        assert(false && "a type without a definition");
    }
}
