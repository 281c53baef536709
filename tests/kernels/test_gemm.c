/* Products of float32 matrices: every variant gives the bits of one chain of fmaf over k in order,
 * whatever the tile, the layout that was packed, and the parts of k. */
#include "kernels_test.h"

/* Elements that are huge, subnormal and zero besides ordinary ones. */
static void fill(float *x, size_t n) {
    static const float odd[] = {0, -0.0f, 0x1p-149f, -0x1p-126f, 0x1p100f, -0x1p100f};
    random_floats(x, n);
    for (size_t i = 0; i < n; i += 1 + random_u32() % 97)
        x[i] = odd[random_u32() % N_ITEMS(odd)];
}

typedef struct product {
    size_t m, n, k, lda, ldb, ldy;
    float *a, *b, *turned; /* [m, lda], [k, ldb], [n, k + 3] */
    float *want, *got;     /* [m, ldy] */
} product;

static product random_product(size_t m, size_t n, size_t k) {
    product p = {m, n, k, k + 5, n + 7, n + 3, NULL, NULL, NULL, NULL, NULL};
    p.a = test_alloc(4 * m * p.lda);
    p.b = test_alloc(4 * k * p.ldb);
    p.turned = test_alloc(4 * n * (k + 3));
    p.want = test_alloc(4 * m * p.ldy);
    p.got = test_alloc(4 * m * p.ldy);
    fill(p.a, m * p.lda);
    fill(p.b, k * p.ldb);
    for (size_t i = 0; i < k * n; i++)
        p.turned[i % n * (k + 3) + i / n] = p.b[i / n * p.ldb + i % n];
    memset(p.want, 0x55, 4 * m * p.ldy);
    for (size_t i = 0; i < m * n; i++) {
        float acc = 0;
        for (size_t t = 0; t < k; t++)
            acc = fmaf(p.a[i / n * p.lda + t], p.b[t * p.ldb + i % n], acc);
        p.want[i / n * p.ldy + i % n] = acc;
    }
    return p;
}

static void release_product(product *p) {
    float *all[] = {p->a, p->b, p->turned, p->want, p->got};
    for (size_t i = 0; i < N_ITEMS(all); i++)
        free(all[i]);
}

/* In two parts of k, the first as it lies and the second turned; or in one. */
static void check_parts(const weft_kernels *k, const product *p, size_t first) {
    float *panels = test_alloc(4 * ((p->n + 15) / 16 * 16) * p->k);
    memset(p->got, 0x55, 4 * p->m * p->ldy);
    if (first > 0) {
        k->gemm_pack(p->b, (ptrdiff_t)p->ldb, false, first, p->n, panels);
        k->gemm(p->a, p->lda, p->m, first, panels, 16, 16 * first, p->n, p->got, p->ldy, true);
    }
    if (first < p->k) {
        k->gemm_pack(p->turned + first, (ptrdiff_t)p->k + 3, true, p->k - first, p->n, panels);
        k->gemm(p->a + first, p->lda, p->m, p->k - first, panels, 16, 16 * (p->k - first), p->n,
                p->got, p->ldy, first == 0);
    }
    assert_same_floats("gemm", k->isa, p->want, p->got, p->m * p->ldy);
    free(panels);
}

/* Of b as it lies, whose last columns are whole vectors. */
static void check_in_place(const weft_kernels *k, const product *p) {
    size_t n = p->n / 16 * 16;
    memset(p->got, 0x55, 4 * p->m * p->ldy);
    k->gemm(p->a, p->lda, p->m, p->k, p->b, p->ldb, 16, n, p->got, p->ldy, true);
    for (size_t i = 0; i < p->m; i++)
        assert_same_floats("gemm in place", k->isa, p->want + i * p->ldy, p->got + i * p->ldy, n);
}

static void test_blocks(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(gemm, variants);
    for (int round = 0; round < 60; round++) {
        product p =
            random_product(1 + random_u32() % 40, 1 + random_u32() % 140, 1 + random_u32() % 90);
        for (size_t v = 0; v <= n_variants; v++) {
            const weft_kernels *k = v ? variants[v - 1] : weft_kernels_of(WEFT_ISA_SCALAR);
            check_parts(k, &p, 0);
            check_parts(k, &p, p.k);
            check_parts(k, &p, random_u32() % p.k);
            check_in_place(k, &p);
        }
        release_product(&p);
    }
}

static void test_panels_end_in_zeros(void **state) {
    (void)state;
    float b[3 * 17], panels[2 * 3 * 16];
    random_floats(b, 3 * 17);
    memset(panels, 0x55, sizeof panels);
    weft_kernels_of(WEFT_ISA_SCALAR)->gemm_pack(b, 17, false, 3, 17, panels);
    for (size_t i = 0; i < 3; i++)
        for (size_t c = 0; c < 32; c++)
            assert_true(panels[c / 16 * 48 + 16 * i + c % 16] == (c < 17 ? b[17 * i + c] : 0));
}

static void test_vectors(void **state) {
    (void)state;
    const weft_kernels *variants[WEFT_ISA_COUNT];
    size_t n_variants = TEST_VARIANTS(gemv_rows, variants);
    for (int round = 0; round < 100; round++) {
        size_t n = 1 + random_u32() % 70, length = 1 + random_u32() % 90;
        product row = random_product(1, n, length), column = random_product(n, 1, length);
        float x[90];
        for (size_t t = 0; t < length; t++)
            x[t] = column.b[t * column.ldb];
        for (size_t i = 0; i < n; i++) /* as gemv writes them */
            column.want[i] = column.want[i * column.ldy];
        for (size_t v = 0; v <= n_variants; v++) {
            const weft_kernels *k = v ? variants[v - 1] : weft_kernels_of(WEFT_ISA_SCALAR);
            k->gemv_columns(row.b, (ptrdiff_t)row.ldb, length, n, row.a, row.got);
            assert_same_floats("gemv_columns", k->isa, row.want, row.got, n);
            k->gemv_rows(column.a, (ptrdiff_t)column.lda, n, length, x, column.got);
            assert_same_floats("gemv_rows", k->isa, column.want, column.got, n);
        }
        release_product(&row);
        release_product(&column);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_panels_end_in_zeros),
        cmocka_unit_test(test_vectors),
    };
    (void)argc, (void)argv; /* `weft bench --kernels gemm` times them */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
