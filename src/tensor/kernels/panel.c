/* Packs rows of a weight into panels and reads rows back. blocks.h has the bytes of quantised
 * panels; a float panel is n_cols lines of 16 elements in the file's type (F32, F16 or BF16). */
#include "base/alloc.h"
#include "base/floats.h"
#include "tensor/kernels/books.h"
#include "tensor/kernels/pack_words.h"

#include <string.h>

static size_t float_bytes(weft_dtype dtype) {
    return dtype == WEFT_F32 ? 4 : dtype == WEFT_F16 || dtype == WEFT_BF16 ? 2 : 0;
}

bool weft_panel_supported(weft_dtype dtype) {
    return float_bytes(dtype) || weft_packing_of(dtype);
}

size_t weft_panel_bytes(weft_dtype dtype, size_t n_cols) {
    size_t item = float_bytes(dtype) * WEFT_PANEL_ROWS, n = n_cols, bytes;
    if (!item) {
        const weft_packing *p = weft_packing_of(dtype);
        if (!p || n_cols % weft_dtype_block(dtype))
            return 0;
        item = weft_form_bytes(p->form);
        n = n_cols / (32u * weft_forms[p->form].blocks);
    }
    if (!weft_mul_size(n, item, &bytes) || !weft_add_size(bytes, 63, &bytes))
        return 0;
    return bytes & ~(size_t)63;
}

/* ---- Packing ---- */

/* A quad of quants, and of a row's part of a line, is a word of four bytes; what is shifted out of
 * one of its bytes is masked. */
static uint32_t quad_at(const uint8_t *p) {
    uint32_t w;
    memcpy(&w, p, 4);
    return w;
}

static uint32_t bits_of(uint32_t quad, unsigned from, unsigned bits) {
    return quad >> from & 0x01010101u * ((1u << bits) - 1);
}

/* `bits` of each quant from bit `from` up, 8 / n_lines quads a line. */
static inline __attribute__((always_inline)) void put_bits(const uint8_t q[32], size_t r,
                                                           unsigned bits, unsigned from,
                                                           size_t n_lines, uint8_t *lines) {
    size_t quads = 8 / n_lines;
    for (size_t line = 0; line < n_lines; line++) {
        uint32_t all = 0;
        for (size_t j = 0; j < quads; j++)
            all |= bits_of(quad_at(q + 4 * (quads * line + j)), from, bits) << (bits * j);
        memcpy(lines + 64 * line + 4 * r, &all, 4);
    }
}

static void put_nibbles(const uint8_t q[32], size_t r, uint8_t *lines) {
    for (size_t j = 0; j < 4; j++) {
        uint32_t low = bits_of(quad_at(q + 4 * j), 0, 4);
        uint32_t both = low | bits_of(quad_at(q + 4 * j + 16), 0, 4) << 4;
        memcpy(lines + 64 * j + 4 * r, &both, 4);
    }
}

static inline __attribute__((always_inline)) void put_quants(unsigned bits, const uint8_t q[32],
                                                             size_t r, uint8_t *low,
                                                             uint8_t *high) {
    for (size_t j = 0; j < 8 && bits == 8; j++)
        memcpy(low + 64 * j + 4 * r, q + 4 * j, 4);
    if (bits >= 4 && bits < 8)
        put_nibbles(q, r, low);
    else if (bits < 4)
        put_bits(q, r, 2, 0, 2, low);
    if (bits == 3 || bits == 5)
        put_bits(q, r, 1, bits - 1, 1, high);
    else if (bits == 6)
        put_bits(q, r, 2, 4, 2, high);
}

/* TQ1_0: `shared` lines of 8 blocks, which are written in order, and the block's own. */
static void put_digits(const uint8_t q[32], size_t r, size_t sub, uint8_t *shared, uint8_t *line) {
    uint8_t *nibbles = shared + 64 * (sub / 2) + 4 * r, *tops = shared + 256 + 4 * r;
    for (size_t b = 0; b < 4; b++) {
        unsigned five = 0, three = q[20 + b] + 3u * q[24 + b] + 9u * q[28 + b];
        for (size_t j = 0; j < 5; j++)
            five = 3 * five + q[4 * j + b];
        line[4 * r + b] = (uint8_t)((five * 256 + 242) / 243);
        nibbles[b] = (uint8_t)(sub % 2 ? nibbles[b] | (three & 15) << 4 : three & 15);
        tops[b] = (uint8_t)((sub ? tops[b] : 0) | (three >> 4) << sub);
    }
}

static inline __attribute__((always_inline)) void put_block(weft_form form, const weft_block *b,
                                                            size_t r, size_t k, uint8_t *panel) {
    const weft_form_info *f = &weft_forms[form];
    weft_place at = weft_place_of(form, k);
    memcpy(panel + at.d + f->d * r, &b->d, f->d);
    memcpy(panel + at.m + f->m * r, &b->m, f->m);
    for (size_t h = 0; h < f->sc; h++) {
        size_t i = weft_form_floats(form) ? 16 * h + r : f->sc * r + h;
        unsigned min = form == WEFT_FORM_Q2_K ? b->min[h] : 0;
        panel[at.sc + i] = (uint8_t)((unsigned)b->sc[h] | min << 4);
    }
    if (f->min)
        panel[at.min + r] = b->min[0];
    if (form == WEFT_FORM_TQ1_0)
        put_digits(b->q, r, k % 8, panel + at.h, panel + at.q);
    else
        put_quants(f->bits, b->q, r, panel + at.q, panel + at.h);
}

/* A function each, so that what a form lacks costs nothing. */
#define OF_FORM(name, form)                                                                        \
    static void put_##name(const weft_block *b, size_t r, size_t k, uint8_t *panel) {              \
        put_block(form, b, r, k, panel);                                                           \
    }
WEFT_FORM_FUNCTIONS(OF_FORM)

typedef void put_function(const weft_block *b, size_t r, size_t k, uint8_t *panel);
#define ENTRY(name, form) [form] = put_##name,
static put_function *const put_functions[WEFT_FORM_COUNT] = {WEFT_FORM_FUNCTIONS(ENTRY)};

/* The panel is written in order. */
static void pack_items(size_t item, const uint8_t *rows, size_t n_rows, size_t n_cols,
                       uint8_t *panel) {
    for (size_t k = 0; k < n_cols; k++)
        for (size_t r = 0; r < n_rows; r++)
            memcpy(panel + (k * WEFT_PANEL_ROWS + r) * item, rows + (r * n_cols + k) * item, item);
}

static bool pack_words(weft_isa isa, weft_dtype dtype, const uint8_t *rows, size_t n_cols,
                       uint8_t *panel) {
#ifdef __x86_64__
    if (weft_isa_includes(isa, WEFT_ISA_AVX2))
        return weft_pack_words_avx2(dtype, rows, n_cols, panel);
#else
    (void)isa;
#endif
    return weft_pack_words_scalar(dtype, rows, n_cols, panel);
}

static void pack_entries(weft_dtype dtype, const uint8_t *rows, size_t row_bytes, size_t n_rows,
                         size_t n_cols, uint8_t *panel) {
    weft_form form = weft_packing_of(dtype)->form;
    size_t block_bytes = weft_dtype_block_bytes(dtype);
    weft_entries e;
    for (size_t k = 0; k < n_cols / 32; k++)
        for (size_t r = 0; r < n_rows; r++) {
            weft_file_entries_read(dtype, rows + r * row_bytes + k / 8 * block_bytes, k % 8, &e);
            weft_panel_entries_write(form, &e, r, k, panel);
        }
}

/* The rows of padding are zeros: their quants may stand for something else, and their scale is 0.
 */
void weft_panel_pack_by(weft_isa isa, weft_dtype dtype, const void *rows, size_t n_rows,
                        size_t n_cols, void *panel) {
    size_t item = float_bytes(dtype), bytes = weft_panel_bytes(dtype, n_cols);
    if (n_rows < WEFT_PANEL_ROWS || bytes < 64)
        memset(panel, 0, bytes);
    else /* the padding behind the last block */
        memset((uint8_t *)panel + bytes - 64, 0, 64);
    if (n_rows == WEFT_PANEL_ROWS && pack_words(isa, dtype, rows, n_cols, panel))
        return;
    if (item) {
        pack_items(item, rows, n_rows, n_cols, panel);
        return;
    }
    /* Block by block over all rows, so that the panel is written in order. */
    weft_form form = weft_packing_of(dtype)->form;
    put_function *put = put_functions[form];
    size_t row_bytes = n_cols / weft_dtype_block(dtype) * weft_dtype_block_bytes(dtype);
    if (weft_form_has_book(form)) {
        pack_entries(dtype, rows, row_bytes, n_rows, n_cols, panel);
        return;
    }
    weft_block b;
    for (size_t k = 0; k < n_cols / 32; k++)
        for (size_t r = 0; r < n_rows; r++) {
            weft_file_block_read(dtype, (const uint8_t *)rows + r * row_bytes, k, &b);
            put(&b, r, k, panel);
        }
}

void weft_panel_pack(weft_dtype dtype, const void *rows, size_t n_rows, size_t n_cols,
                     void *panel) {
    weft_panel_pack_by(WEFT_ISA_SCALAR, dtype, rows, n_rows, n_cols, panel);
}

/* ---- Reading back ---- */

static void add_bits(uint8_t q[32], size_t r, unsigned bits, unsigned to, size_t n_lines,
                     const uint8_t *lines) {
    size_t quads = 8 / n_lines;
    for (size_t j = 0; j < 8; j++) {
        uint32_t line = quad_at(lines + j / quads * 64 + 4 * r);
        uint32_t all = quad_at(q + 4 * j) | bits_of(line, (unsigned)(j % quads) * bits, bits) << to;
        memcpy(q + 4 * j, &all, 4);
    }
}

static void get_quants(unsigned bits, size_t r, const uint8_t *low, const uint8_t *high,
                       uint8_t q[32]) {
    memset(q, 0, 32);
    for (size_t j = 0; j < 8 && bits >= 4 && bits < 8; j++) {
        uint32_t quad = bits_of(quad_at(low + j % 4 * 64 + 4 * r), j < 4 ? 0 : 4, 4);
        memcpy(q + 4 * j, &quad, 4);
    }
    for (size_t j = 0; j < 8 && bits == 8; j++)
        memcpy(q + 4 * j, low + 64 * j + 4 * r, 4);
    if (bits < 4)
        add_bits(q, r, 2, 0, 2, low);
    if (bits == 3 || bits == 5)
        add_bits(q, r, 1, bits - 1, 1, high);
    else if (bits == 6)
        add_bits(q, r, 2, 4, 2, high);
}

/* A byte b holds five columns as the fraction b / 256 in base 3: times 3, the next digit is in
 * front of the point. */
static void get_digits(size_t r, size_t sub, const uint8_t *shared, const uint8_t *line,
                       uint8_t q[32]) {
    for (size_t b = 0; b < 4; b++) {
        unsigned five = line[4 * r + b];
        for (size_t j = 0; j < 5; j++, five = five * 3 & 255)
            q[4 * j + b] = (uint8_t)(five * 3 >> 8);
        unsigned low = (unsigned)shared[64 * (sub / 2) + 4 * r + b] >> (4 * (sub % 2)) & 15;
        unsigned three = low | ((unsigned)shared[256 + 4 * r + b] >> sub & 1) << 4;
        q[20 + b] = (uint8_t)(three % 3);
        q[24 + b] = (uint8_t)(three / 3 % 3);
        q[28 + b] = (uint8_t)(three / 9);
    }
}

static void read_panel_entries(weft_form form, const void *panel, size_t r, size_t k,
                               weft_block *b) {
    weft_entries e;
    weft_panel_entries_read(form, panel, r, k, &e);
    weft_entries_block(form, &e, b);
}

void weft_panel_block_read(weft_dtype dtype, const void *panel, size_t r, size_t k, weft_block *b) {
    const uint8_t *bytes = panel;
    weft_form form = weft_packing_of(dtype)->form;
    const weft_form_info *f = &weft_forms[form];
    weft_place at = weft_place_of(form, k);
    *b = (weft_block){.sc = {1, 1}};
    if (weft_form_has_book(form)) {
        read_panel_entries(form, panel, r, k, b);
        return;
    }
    memcpy(&b->d, bytes + at.d + f->d * r, f->d);
    memcpy(&b->m, bytes + at.m + f->m * r, f->m);
    for (size_t h = 0; h < 2 && f->sc; h++) {
        uint8_t sc = bytes[at.sc + (weft_form_floats(form) ? 16 * h + r : f->sc * r + h % f->sc)];
        b->sc[h] = (int8_t)sc;
        if (form == WEFT_FORM_Q2_K) {
            b->sc[h] = sc & 15;
            b->min[h] = sc >> 4;
        }
    }
    if (f->min)
        b->min[0] = b->min[1] = bytes[at.min + r];
    if (form == WEFT_FORM_TQ1_0)
        get_digits(r, k % 8, bytes + at.h, bytes + at.q, b->q);
    else
        get_quants(f->bits, r, bytes + at.q, bytes + at.h, b->q);
}

void weft_panel_block_values(weft_dtype dtype, const void *panel, size_t k,
                             float out[32 * WEFT_PANEL_ROWS]) {
    weft_block b;
    float row[32];
    for (size_t r = 0; r < WEFT_PANEL_ROWS; r++) {
        weft_panel_block_read(dtype, panel, r, k, &b);
        weft_block_values(dtype, &b, row);
        for (size_t i = 0; i < 32; i++)
            out[i * WEFT_PANEL_ROWS + r] = row[i];
    }
}

void weft_panel_row(weft_dtype dtype, const void *panel, size_t row, size_t n_cols, float *out) {
    if (float_bytes(dtype)) {
        for (size_t k = 0; k < n_cols; k++) {
            size_t i = k * WEFT_PANEL_ROWS + row;
            out[k] = dtype == WEFT_F32   ? ((const float *)panel)[i]
                     : dtype == WEFT_F16 ? weft_f16_to_f32(((const uint16_t *)panel)[i])
                                         : weft_bf16_to_f32(((const uint16_t *)panel)[i]);
        }
        return;
    }
    weft_block b;
    for (size_t k = 0; k < n_cols / 32; k++) {
        weft_panel_block_read(dtype, panel, row, k, &b);
        weft_block_values(dtype, &b, out + 32 * k);
    }
}
