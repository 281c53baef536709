/* What the kernel tests share: random rows in the file's layout, the variants that this machine can
 * run, equality of bits, and timing. A test program checks against the scalar kernels; called with
 * `--time` it also prints how fast each variant is. */
#ifndef WEFT_TESTS_KERNELS_TEST_H
#define WEFT_TESTS_KERNELS_TEST_H

#include <math.h>
#include <time.h>
#include "test.h"
#include "base/cpu.h"
#include "base/floats.h"
#include "tensor/kernels/panel.h"
#include "tensor/kernels/table.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static inline uint32_t random_u32(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}
/* In [-1, 1). */
static inline float random_float(void) {
    return (float)(int32_t)random_u32() * 0x1p-31f;
}
static inline void random_floats(float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = random_float();
}

static inline void *test_alloc(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p)
        abort();
    return p;
}

/* Says once which variants are checked here, and which were only built. */
static inline void print_variants(void) {
    static bool printed;
    for (int run = 1; run >= 0 && !printed; run--) {
        printf("%s:", run ? "variants checked beside scalar" : "built, but this CPU lacks them");
        for (int isa = 1; isa < WEFT_ISA_COUNT; isa++)
            if (weft_kernels_of((weft_isa)isa) && weft_cpu_has((weft_isa)isa) == (run == 1))
                printf(" %s", weft_isa_name((weft_isa)isa));
        printf("\n");
        fflush(stdout);
    }
    printed = true;
}

/* Variants beside scalar that were compiled in, can run here, and have a kernel of their own for
 * the entry at `offset` of the table; TEST_VARIANTS takes the entry's name. */
static inline size_t test_variants_of(size_t offset, const weft_kernels *out[WEFT_ISA_COUNT]) {
    size_t n = 0;
    print_variants();
    for (int isa = 1; isa < WEFT_ISA_COUNT; isa++) {
        const weft_kernels *k = weft_kernels_of((weft_isa)isa);
        if (!k || !weft_cpu_has((weft_isa)isa))
            continue;
        const char *base = (const char *)weft_kernels_of(weft_isa_base((weft_isa)isa));
        if (memcmp((const char *)k + offset, base + offset, sizeof(void (*)(void))) != 0)
            out[n++] = k;
    }
    return n;
}
#define TEST_VARIANTS(entry, out) test_variants_of(offsetof(weft_kernels, entry), out)

/* Variants beside scalar that were compiled in and can run here. */
static inline size_t test_variants(const weft_kernels *out[WEFT_ISA_COUNT]) {
    size_t n = 0;
    print_variants();
    for (int isa = 1; isa < WEFT_ISA_COUNT; isa++)
        if (weft_kernels_of((weft_isa)isa) && weft_cpu_has((weft_isa)isa))
            out[n++] = weft_kernels_of((weft_isa)isa);
    return n;
}

/* Equal bits; any NaN equals any NaN, whose payloads are the processor's own. */
static inline void assert_same_floats(const char *what, weft_isa isa, const float *want,
                                      const float *got, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (weft_bits_of(want[i]) != weft_bits_of(got[i]) && !(isnan(want[i]) && isnan(got[i])))
            fail_msg("%s, %s: element %zu is %a, scalar gives %a", what, weft_isa_name(isa), i,
                     (double)got[i], (double)want[i]);
}

/* ---- Rows in the file's layout ---- */

static const weft_dtype quantized_types[] = {
    WEFT_Q4_0,   WEFT_Q4_1,   WEFT_Q5_0,    WEFT_Q5_1,  WEFT_Q8_0,    WEFT_Q2_K,
    WEFT_Q3_K,   WEFT_Q4_K,   WEFT_Q5_K,    WEFT_Q6_K,  WEFT_IQ1_S,   WEFT_IQ1_M,
    WEFT_IQ2_S,  WEFT_IQ2_XS, WEFT_IQ2_XXS, WEFT_IQ3_S, WEFT_IQ3_XXS, WEFT_IQ4_NL,
    WEFT_IQ4_XS, WEFT_TQ1_0,  WEFT_TQ2_0,   WEFT_MXFP4, WEFT_NVFP4};
static const weft_dtype float_types[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
#define N_ITEMS(a) (sizeof(a) / sizeof *(a))

typedef enum row_kind {
    ROW_PLAIN,   /* random quants, scales of the size found in models */
    ROW_EXTREME, /* greatest and least quants, scales zero, denormal, huge, negative */
    ROW_BROKEN   /* also infinite and NaN scales */
} row_kind;

static inline uint16_t random_scale(row_kind kind) {
    static const uint16_t odd[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff,
                                   0xfbff, 0x3c00, 0x7c00, 0xfc00, 0x7e00};
    uint32_t r = random_u32();
    if (kind == ROW_PLAIN || r % 4 == 0)
        return (uint16_t)(0x1c00 + r / 4 % 0x0c00);
    return odd[r / 4 % (kind == ROW_BROKEN ? 11 : 8)];
}

static inline size_t row_bytes(weft_dtype dtype, size_t n_cols) {
    return n_cols / weft_dtype_block(dtype) * weft_dtype_block_bytes(dtype);
}

/* Where a block has its f16 scale, and behind it the minimum; -1: no f16, or (IQ1_M) in pieces. */
static inline int scale_at(weft_dtype dtype) {
    switch (dtype) {
    case WEFT_Q2_K:
        return 80;
    case WEFT_Q3_K:
        return 108;
    case WEFT_Q6_K:
        return 208;
    case WEFT_TQ1_0:
        return 52;
    case WEFT_TQ2_0:
        return 64;
    case WEFT_IQ1_M:
    case WEFT_MXFP4:
    case WEFT_NVFP4:
        return -1;
    default:
        return 0;
    }
}
static inline bool has_minimum(weft_dtype dtype) {
    return dtype == WEFT_Q4_1 || dtype == WEFT_Q5_1 || dtype == WEFT_Q2_K || dtype == WEFT_Q4_K ||
           dtype == WEFT_Q5_K;
}

/* Sets a block's f16 scale. */
static inline void set_scale(weft_dtype dtype, uint8_t *block, uint16_t h) {
    if (dtype == WEFT_IQ1_M) /* the highest nibbles of four words */
        for (int i = 0; i < 4; i++)
            block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (h >> (4 * i) & 15) << 4);
    else if (scale_at(dtype) >= 0)
        memcpy(block + scale_at(dtype), &h, 2);
}

/* One row of random blocks or floats. */
static inline void random_row(weft_dtype dtype, row_kind kind, size_t n_cols, uint8_t *row) {
    if (dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16) {
        for (size_t k = 0; k < n_cols; k++) {
            float f = random_float();
            uint16_t h = dtype == WEFT_F16 ? weft_f32_to_f16(f) : weft_f32_to_bf16(f);
            if (dtype == WEFT_F16 && kind != ROW_PLAIN)
                h = random_scale(kind);
            memcpy(row + k * (dtype == WEFT_F32 ? 4 : 2), dtype == WEFT_F32 ? (void *)&f : &h,
                   dtype == WEFT_F32 ? 4 : 2);
        }
        return;
    }
    size_t block = weft_dtype_block_bytes(dtype), n = n_cols / weft_dtype_block(dtype);
    static const uint8_t ends[] = {0x00, 0xff, 0x80, 0x7f, 0x81};
    for (size_t b = 0; b < n; b++, row += block) {
        uint32_t same = random_u32();
        for (size_t i = 0; i < block; i++)
            row[i] = kind == ROW_PLAIN || same % 3 == 0
                         ? (uint8_t)random_u32()
                         : ends[same % 3 == 1 ? same / 3 % 5 : random_u32() % 5];
        if (kind == ROW_PLAIN && dtype == WEFT_MXFP4) /* powers of the size found in models */
            row[0] = (uint8_t)(0x70 + row[0] % 16);
        set_scale(dtype, row, random_scale(kind));
        if (has_minimum(dtype)) {
            uint16_t h = random_scale(kind);
            memcpy(row + scale_at(dtype) + 2, &h, 2);
        }
    }
}

/* Panels of n_rows random rows; the caller frees. */
static inline uint8_t *random_panels(weft_dtype dtype, row_kind kind, size_t n_rows,
                                     size_t n_cols) {
    size_t bytes = weft_panel_bytes(dtype, n_cols), line = row_bytes(dtype, n_cols);
    uint8_t *panels = test_alloc(bytes * ((n_rows + 15) / 16)), *rows = test_alloc(16 * line);
    for (size_t r = 0; r < n_rows; r += 16) {
        size_t n = n_rows - r < 16 ? n_rows - r : 16;
        for (size_t i = 0; i < n; i++)
            random_row(dtype, kind, n_cols, rows + i * line);
        weft_panel_pack(dtype, rows, n, n_cols, panels + r / 16 * bytes);
    }
    free(rows);
    return panels;
}

/* ---- Timing ---- */

static inline double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of several runs of at least `least` seconds together. */
#define BEST_SECONDS(best, least, call)                                                            \
    do {                                                                                           \
        double begin_ = seconds_now(), before_;                                                    \
        (best) = 1e9;                                                                              \
        do {                                                                                       \
            before_ = seconds_now();                                                               \
            call;                                                                                  \
            double took_ = seconds_now() - before_;                                                \
            (best) = took_ < (best) ? took_ : (best);                                              \
        } while (seconds_now() - begin_ < (least));                                                \
    } while (0)

static inline bool wants_timing(int argc, char **argv) {
    return argc > 1 && !strcmp(argv[1], "--time");
}

#endif
