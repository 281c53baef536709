/* Entries of the elementwise functions and folds of the tensor ops, for the variant whose lanes_*.h
 * header comes first: the bodies over its lanes. */
#ifndef WEFT_KERNELS_MAP_ENTRIES_H
#define WEFT_KERNELS_MAP_ENTRIES_H

#include "tensor/kernels/declare.h"
#include "tensor/kernels/ref/fold_body.h"
#include "tensor/kernels/ref/fold_whole_body.h"
#include "tensor/kernels/ref/map_body.h"

weft_map_fn *WEFT_KERNEL(weft_kernel_map)(weft_map_op op, weft_domain domain) {
    return map_table[op][domain];
}

void WEFT_KERNEL(weft_kernel_sum_row_f32)(const float *x, size_t n, double *lanes) {
    sum_row_body(x, n, lanes);
}

void WEFT_KERNEL(weft_kernel_sum_columns_f32)(const float *x, ptrdiff_t ld, size_t rows,
                                              ptrdiff_t ahead, size_t n, double *sums) {
    sum_columns_body(x, ld, rows, ahead, n, sums);
}

void WEFT_KERNEL(weft_kernel_sum_tree_f32)(const float *x, ptrdiff_t ld, size_t rows, size_t n,
                                           double *parts, double *sums) {
    sum_tree_body(x, ld, rows, n, parts, sums);
}

float WEFT_KERNEL(weft_kernel_best_row_f32)(const float *x, size_t n, float sign) {
    return best_row_body(x, n, sign);
}

void WEFT_KERNEL(weft_kernel_best_columns_f32)(const float *x, ptrdiff_t ld, size_t rows,
                                               ptrdiff_t ahead, size_t n, float sign, float *best) {
    best_columns_body(x, ld, rows, ahead, n, sign, best);
}

void WEFT_KERNEL(weft_kernel_arg_columns_f32)(const float *x, ptrdiff_t ld, size_t rows, size_t n,
                                              float sign, int32_t at, float *best, int32_t *index) {
    arg_columns_body(x, ld, rows, n, sign, at, best, index);
}

void WEFT_KERNEL(weft_kernel_moments_row_f32)(const float *x, size_t n, double shift, double *sums,
                                              double *squares) {
    moments_row_body(x, n, shift, sums, squares);
}

void WEFT_KERNEL(weft_kernel_moments_columns_f32)(const float *x, ptrdiff_t ld, size_t rows,
                                                  size_t n, const float *shift, double *sums,
                                                  double *squares) {
    moments_columns_body(x, ld, rows, n, shift, sums, squares);
}

int64_t WEFT_KERNEL(weft_kernel_whole_row)(weft_domain domain, weft_whole_fold fold, const void *x,
                                           size_t n, int64_t acc) {
    return whole_row_body(domain, fold, x, n, acc);
}

void WEFT_KERNEL(weft_kernel_whole_columns)(weft_domain domain, weft_whole_fold fold, const void *x,
                                            ptrdiff_t ld, size_t rows, size_t n, int64_t *acc) {
    whole_columns_body(domain, fold, x, ld, rows, n, acc);
}

void WEFT_KERNEL(weft_kernel_bf16_to_f32)(const uint16_t *x, size_t n, float *y) {
    bf16_to_f32_body(x, n, y);
}

void WEFT_KERNEL(weft_kernel_f32_to_bf16)(const float *x, size_t n, uint16_t *y) {
    f32_to_bf16_body(x, n, y);
}

#endif
