/* The only file that knows OpenBLAS. Its thread count belongs to the application. */
#include "tensor/blas.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#ifdef WEFT_HAVE_OPENBLAS
#include <cblas.h>
#endif

/* Leading dimension of a factor and whether it is stored by columns; false if neither way works. */
static bool leading(int64_t rows, int64_t cols, int64_t row, int64_t col, int64_t *ld,
                    bool *by_columns) {
    if (rows <= 0 || cols <= 0)
        return false;
    if ((col == 1 || cols == 1) && (row >= cols || rows == 1)) {
        *ld = rows == 1 ? cols : row;
        *by_columns = false;
    } else if ((row == 1 || rows == 1) && (col >= rows || cols == 1)) {
        *ld = cols == 1 ? rows : col;
        *by_columns = true;
    } else {
        return false;
    }
    return *ld <= INT_MAX;
}

bool weft_blas_takes(int64_t rows, int64_t cols, int64_t row, int64_t col) {
    int64_t ld;
    bool by_columns;
    return weft_blas_version() != NULL && rows <= INT_MAX && cols <= INT_MAX &&
           leading(rows, cols, row, col, &ld, &by_columns);
}

#ifdef WEFT_HAVE_OPENBLAS

/* y [rows] = matrix [rows, k] times x, whose elements lie `step` apart; `turned`: the matrix lies
 * as [k, rows]. The library reads y even where its factor is 0. */
static void times_vector(int64_t rows, int64_t k, const float *matrix, int64_t ld, bool turned,
                         const float *x, int64_t step, float *y) {
    memset(y, 0, (size_t)rows * sizeof *y);
    cblas_sgemv(CblasRowMajor, turned ? CblasTrans : CblasNoTrans, (blasint)(turned ? k : rows),
                (blasint)(turned ? rows : k), 1.0f, matrix, (blasint)ld, x,
                (blasint)(k == 1 ? 1 : step), 0.0f, y, 1);
}

bool weft_blas_product(int64_t m, int64_t n, int64_t k, weft_blas_factor a, weft_blas_factor b,
                       float *y, int64_t ldy) {
    int64_t lda, ldb;
    bool ta, tb;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || ldy > INT_MAX ||
        !leading(m, k, a.row, a.col, &lda, &ta) || !leading(k, n, b.row, b.col, &ldb, &tb))
        return false;
    if (n == 1 && ldy == 1 && b.row <= INT_MAX) {
        times_vector(m, k, a.data, lda, ta, b.data, b.row, y);
        return true;
    }
    if (m == 1 && a.col <= INT_MAX) {
        times_vector(n, k, b.data, ldb, !tb, a.data, a.col, y);
        return true;
    }
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                (blasint)m, (blasint)n, (blasint)k, 1.0f, a.data, (blasint)lda, b.data,
                (blasint)ldb, 0.0f, y, (blasint)ldy);
    return true;
}

/* Ends the threads that OpenBLAS starts when it is loaded, and which then wait for work in a loop
 * for tens of milliseconds. It is what OpenBLAS does before a fork; its header leaves it out, and
 * so do builds without threads. Products of several threads start them anew. */
extern int blas_thread_shutdown_(void) __attribute__((weak));

void weft_blas_set_threads(int n) {
    if (n >= 1)
        openblas_set_num_threads(n);
    if (n == 1 && blas_thread_shutdown_ != NULL)
        blas_thread_shutdown_();
}

int weft_blas_threads(void) {
    return openblas_get_num_threads();
}

const char *weft_blas_version(void) {
#ifdef OPENBLAS_VERSION /* " OpenBLAS 0.3.21 " */
    static const char name[] = OPENBLAS_VERSION;
    return name[0] == ' ' ? name + 1 : name;
#else
    return "OpenBLAS";
#endif
}

#else

bool weft_blas_product(int64_t m, int64_t n, int64_t k, weft_blas_factor a, weft_blas_factor b,
                       float *y, int64_t ldy) {
    (void)m, (void)n, (void)k, (void)a, (void)b, (void)y, (void)ldy;
    return false;
}

int weft_blas_threads(void) {
    return 1;
}

void weft_blas_set_threads(int n) {
    (void)n;
}

const char *weft_blas_version(void) {
    return NULL;
}

#endif
