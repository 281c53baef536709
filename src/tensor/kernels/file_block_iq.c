/* Blocks of the IQ types with codebooks: an index and signs stand for eight columns, in IQ3 for
 * four. */
#include "tensor/kernels/books.h"

static unsigned u16_at(const uint8_t *p) {
    return p[0] | (unsigned)p[1] << 8;
}

static uint32_t u32_at(const uint8_t *p) {
    return u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
}

/* Seven signs, and an eighth that makes the number of negative ones even. */
static uint8_t even_signs(uint32_t seven) {
    unsigned s = (unsigned)seven & 127;
    return (uint8_t)(s | (unsigned)__builtin_parity(s) << 7);
}

static void even_signs_and_scale(uint32_t bits, weft_entries *out) {
    for (unsigned i = 0; i < 4; i++)
        out->signs[i] = even_signs(bits >> (7 * i));
    out->sc = (uint8_t)(bits >> 28);
}

/* Four indices of a byte; four times seven signs, and the scale in the highest four bits. */
static void read_iq2_xxs(const uint8_t *p, size_t sub, weft_entries *out) {
    const uint8_t *index = p + 2 + 8 * sub;
    for (unsigned i = 0; i < 4; i++)
        out->index[i] = index[i];
    even_signs_and_scale(u32_at(index + 4), out);
}

/* Nine bits of index and seven signs. */
static void read_iq2_xs(const uint8_t *p, size_t sub, weft_entries *out) {
    for (unsigned i = 0; i < 4; i++) {
        unsigned v = u16_at(p + 2 + 8 * sub + 2 * i);
        out->index[i] = (uint16_t)(v & 511);
        out->signs[i] = even_signs(v >> 9);
    }
    out->sc = p[66 + sub];
}

/* Ten bits of index, the highest two apart; eight signs. */
static void read_iq2_s(const uint8_t *p, size_t sub, weft_entries *out) {
    unsigned high = p[66 + sub];
    for (unsigned i = 0; i < 4; i++) {
        out->index[i] = (uint16_t)(p[2 + 4 * sub + i] | (high >> (2 * i) & 3) << 8);
        out->signs[i] = p[34 + 4 * sub + i];
    }
    out->sc = p[74 + sub];
}

/* Eight indices of a byte; signs and scale as in IQ2_XXS. */
static void read_iq3_xxs(const uint8_t *p, size_t sub, weft_entries *out) {
    for (unsigned i = 0; i < 8; i++)
        out->index[i] = p[2 + 8 * sub + i];
    even_signs_and_scale(u32_at(p + 66 + 4 * sub), out);
}

/* Nine bits of index, the highest apart; eight signs a byte; a nibble of scale for 32 columns. */
static void read_iq3_s(const uint8_t *p, size_t sub, weft_entries *out) {
    unsigned high = p[66 + sub];
    for (unsigned i = 0; i < 8; i++)
        out->index[i] = (uint16_t)(p[2 + 8 * sub + i] | (high >> i & 1) << 8);
    for (unsigned i = 0; i < 4; i++)
        out->signs[i] = p[74 + 4 * sub + i];
    out->sc = p[106 + sub / 2] >> (sub % 2 * 4) & 15;
}

/* Eleven bits of index, the highest three in 16 bits that also have the scale's three and the sign
 * of the step's shift. */
static void read_iq1_s(const uint8_t *p, size_t sub, weft_entries *out) {
    unsigned rest = u16_at(p + 34 + 2 * sub);
    for (unsigned i = 0; i < 4; i++) {
        out->index[i] = (uint16_t)(p[2 + 4 * sub + i] | (rest >> (3 * i) & 7) << 8);
        out->signs[i] = rest >> 15 ? 0xff : 0;
    }
    out->sc = rest >> 12 & 7;
}

/* The same with a nibble of high bits and shift for each index, and three bits of scale a half. The
 * f16 lies in the highest nibbles of the four 16-bit words of scales. */
static void read_iq1_m(const uint8_t *p, size_t sub, weft_entries *out) {
    const uint8_t *scales = p + 48;
    unsigned d = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = (unsigned)p[32 + 2 * sub + i / 2] >> (i % 2 * 4) & 15;
        out->index[i] = (uint16_t)(p[4 * sub + i] | (nibble & 7) << 8);
        out->signs[i] = nibble >> 3 ? 0xff : 0;
        d |= u16_at(scales + 2 * i) >> 12 << (4 * i);
    }
    out->d = (uint16_t)d;
    out->sc = (uint8_t)(u16_at(scales + sub / 2 * 2) >> (sub % 2 * 6) & 63);
}

/* Indices as in the file. */
static void read_block(weft_dtype dtype, const uint8_t *p, size_t sub, weft_entries *out) {
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

void weft_file_entries_read(weft_dtype dtype, const uint8_t *p, size_t sub, weft_entries *out) {
    weft_form form = weft_packing_of(dtype)->form;
    const uint16_t *numbers = weft_book_of(form)->numbers;
    read_block(dtype, p, sub, out);
    for (unsigned i = 0; i < weft_forms[form].entries; i++)
        out->index[i] = numbers[out->index[i]];
}
