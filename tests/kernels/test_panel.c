/* Panels hold exactly the file's values: every row read back equals the dequantised one, rows that
 * pad the last panel are zeros, and sizes are the file's but for the stated surplus. */
#include "kernels_test.h"
#include "tensor/kernels/grids.h"
#include "tensor/kernels/pack_words.h"

/* The CPU's own instructions give the same bytes. */
static void check_best(weft_dtype dtype, const uint8_t *rows, size_t n_rows, size_t n_cols,
                       const uint8_t *want) {
    size_t bytes = weft_panel_bytes(dtype, n_cols);
    uint8_t *panel = test_alloc(bytes);
    memset(panel, 0xee, bytes);
    weft_panel_pack_by(weft_cpu_best(), dtype, rows, n_rows, n_cols, panel);
    assert_memory_equal(panel, want, bytes);
    free(panel);
}

static void check(weft_dtype dtype, row_kind kind, size_t n_rows, size_t n_cols) {
    size_t line = row_bytes(dtype, n_cols), bytes = weft_panel_bytes(dtype, n_cols);
    uint8_t *rows = test_alloc(n_rows * line), *panel = test_alloc(bytes + 64);
    float *want = test_alloc(4 * n_cols), *got = test_alloc(4 * n_cols);
    for (size_t r = 0; r < n_rows; r++)
        random_row(dtype, kind, n_cols, rows + r * line);
    memset(panel, 0xee, bytes + 64);
    weft_panel_pack(dtype, rows, n_rows, n_cols, panel);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(panel[bytes + i], 0xee);
    check_best(dtype, rows, n_rows, n_cols, panel);
    for (size_t r = 0; r < 16; r++) {
        memset(want, 0, 4 * n_cols);
        if (r < n_rows)
            assert_true(weft_dequantize_row(dtype, rows + r * line, n_cols, want));
        weft_panel_row(dtype, panel, r, n_cols, got);
        for (size_t k = 0; k < n_cols; k++)
            if (r < n_rows ? weft_bits_of(want[k]) != weft_bits_of(got[k]) &&
                                 !(isnan(want[k]) && isnan(got[k]))
                           : got[k] != 0)
                fail_msg("%s: row %zu, column %zu is %a, the file has %a", weft_dtype_name(dtype),
                         r, k, (double)got[k], (double)want[k]);
    }
    free(rows);
    free(panel);
    free(want);
    free(got);
}

static void test_rows_come_back(void **state) {
    (void)state;
    static const size_t counts[] = {1, 7, 15, 16};
    for (size_t c = 0; c < N_ITEMS(counts); c++) {
        for (size_t i = 0; i < N_ITEMS(quantized_types); i++)
            for (int kind = ROW_PLAIN; kind <= ROW_BROKEN; kind++)
                check(quantized_types[i], (row_kind)kind, counts[c],
                      (1 + c) * weft_dtype_block(quantized_types[i]));
        for (size_t i = 0; i < N_ITEMS(float_types); i++)
            for (size_t n_cols = 1; n_cols < 70; n_cols += 17)
                check(float_types[i], ROW_BROKEN, counts[c], n_cols);
        for (size_t i = 0; i < N_ITEMS(float_types); i++)
            for (size_t n_cols = 32; n_cols < 400; n_cols += 96)
                check(float_types[i], ROW_BROKEN, counts[c], n_cols);
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        weft_dtype dtype;
        double most;
    } surplus[] = {{WEFT_IQ1_S, 2.29},  {WEFT_IQ1_M, 2.04}, {WEFT_IQ2_XXS, 1.73},
                   {WEFT_IQ2_XS, 1.55}, {WEFT_IQ2_S, 1.40}, {WEFT_IQ3_XXS, 1.41},
                   {WEFT_IQ3_S, 1.26},  {WEFT_TQ1_0, 1.23}};
    for (size_t i = 0; i < N_ITEMS(quantized_types); i++) {
        weft_dtype dtype = quantized_types[i];
        size_t bytes = weft_panel_bytes(dtype, 4096), file = 16 * row_bytes(dtype, 4096);
        assert_true(weft_panel_supported(dtype));
        assert_true(bytes % 64 == 0 && bytes >= file);
        double most = 1.04; /* or as docs/models.md states */
        for (size_t s = 0; s < N_ITEMS(surplus); s++)
            most = surplus[s].dtype == dtype ? surplus[s].most : most;
        if ((double)bytes > most * (double)file)
            fail_msg("%s: %g times the file", weft_dtype_name(dtype), (double)bytes / (double)file);
        assert_int_equal(weft_panel_bytes(dtype, 4096 + 16), 0);
        assert_int_equal(weft_panel_bytes(dtype, SIZE_MAX / 256 * 256), 0);
    }
    assert_int_equal(weft_panel_bytes(WEFT_F16, 3), 128);
    assert_int_equal(weft_panel_bytes(WEFT_F32, SIZE_MAX / 2), 0);
    assert_false(weft_panel_supported(WEFT_I32));
    assert_int_equal(weft_panel_bytes(WEFT_I32, 32), 0);
    assert_false(weft_panel_supported(WEFT_Q8_K));
}

/* Every entry of every table is filled. */
static void test_tables(void **state) {
    (void)state;
    assert_non_null(weft_kernels_of(WEFT_ISA_SCALAR));
    assert_null(weft_kernels_of(WEFT_ISA_COUNT));
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
        const weft_kernels *k = weft_kernels_of((weft_isa)isa);
        if (!k)
            continue;
        assert_int_equal(k->isa, isa);
#define KERNEL_SCALAR(entry, name) assert_true(k->entry != NULL);
#include "tensor/kernels/kernels.list"
    }
}

/* Half h of an entry: two bits a column of eight, four of four. */
static uint8_t half_of(const weft_book *book, unsigned h, uint32_t entry) {
    if (book == &weft_book_iq3_xxs || book == &weft_book_iq3_s)
        return (uint8_t)((entry >> (16 * h) & 15) | (entry >> (16 * h + 8) & 15) << 4);
    uint32_t codes = entry >> (4 * h) & 0x0f0f0f0f;
    return (uint8_t)(codes | codes >> 6 | codes >> 12 | codes >> 18);
}

/* What the tables have for half h of number n. */
static uint8_t table_half(const weft_book *book, unsigned h, unsigned n) {
    unsigned region = n >> 8, low = n & 255, table, shift = h;
    if (region == 0)
        table = low < 128 ? 0 : 1 + (h ? low & 1 : low >> 6 & 1);
    else if (region <= book->n_pairs)
        table = 1 + 2 * region + (h ? low >> 7 : low >> 6 & 1);
    else
        table = 2 + region + book->n_pairs, shift = 2 * h;
    unsigned n_tables = 2 + book->n / 256 + book->n_pairs;
    return book->halves[64 * (h * n_tables + table) + (low >> shift & 63)];
}

/* Every index of a codebook has a number of its own, whose entry is the index's, and the tables
 * for permutations of bytes give both of its halves. */
static void test_book_numbers(void **state) {
    (void)state;
    const struct {
        const weft_book *book;
        const uint32_t *grid;
        unsigned n;
    } books[] = {
        {&weft_book_iq1, weft_grid_iq1, 2048},        {&weft_book_iq2_s, weft_grid_iq2_s, 1024},
        {&weft_book_iq2_xs, weft_grid_iq2_xs, 512},   {&weft_book_iq2_xxs, weft_grid_iq2_xxs, 256},
        {&weft_book_iq3_xxs, weft_grid_iq3_xxs, 256}, {&weft_book_iq3_s, weft_grid_iq3_s, 512}};
    for (size_t i = 0; i < sizeof books / sizeof books[0]; i++) {
        const weft_book *book = books[i].book;
        bool seen[2048] = {false};
        assert_int_equal(book->n, books[i].n);
        for (unsigned index = 0; index < book->n; index++) {
            unsigned n = book->numbers[index];
            assert_true(n < book->n && !seen[n]);
            seen[n] = true;
            assert_int_equal(book->entries[n], books[i].grid[index]);
            for (unsigned h = 0; h < 2; h++)
                assert_int_equal(table_half(book, h, n), half_of(book, h, book->entries[n]));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_come_back),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_book_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
