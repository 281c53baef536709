/* Taps: what looks at products with weights, or adds to them, in one scope: importance matrices and
 * adapters. The forward pass does not know of them. */
#ifndef WEFT_TENSOR_TAP_H
#define WEFT_TENSOR_TAP_H

#include <weft/tensor.h>

typedef struct weft_tap {
    /* After y [.., n_out] = x [.., n_in] times weight: gives y, or another result of the scope
     * that takes its place; NULL with the scope's status set. May be NULL. */
    weft_tensor *(*linear)(void *ctx, weft_scope *s, weft_tensor *weight, weft_tensor *x,
                           weft_tensor *y);
    /* After a product with a stack of experts; x and chosen as in weft_experts. May be NULL. */
    void (*experts)(void *ctx, weft_scope *s, weft_tensor *stack, weft_tensor *x,
                    weft_tensor *chosen);
    void *ctx;
} weft_tap;

/* `tap` is borrowed; NULL: none. It is off while one of its functions runs. */
void weft_scope_set_tap(weft_scope *s, const weft_tap *tap);
const weft_tap *weft_scope_tap(const weft_scope *s);

/* For the ops: y where there is no tap. */
weft_tensor *weft_tap_linear(weft_scope *s, weft_tensor *weight, weft_tensor *x, weft_tensor *y);
void weft_tap_experts(weft_scope *s, weft_tensor *stack, weft_tensor *x, weft_tensor *chosen);

#endif
