/* Calling a scope's tap. */
#include "tensor/tap.h"
#include "tensor/scope.h"

void weft_scope_set_tap(weft_scope *s, const weft_tap *tap) {
    s->tap = tap;
}

const weft_tap *weft_scope_tap(const weft_scope *s) {
    return s->tap;
}

weft_tensor *weft_tap_linear(weft_scope *s, weft_tensor *weight, weft_tensor *x, weft_tensor *y) {
    const weft_tap *tap = s->tap;
    if (!tap || !tap->linear || !y)
        return y;
    s->tap = NULL;
    y = tap->linear(tap->ctx, s, weight, x, y);
    s->tap = tap;
    return y;
}

void weft_tap_experts(weft_scope *s, weft_tensor *stack, weft_tensor *x, weft_tensor *chosen) {
    const weft_tap *tap = s->tap;
    if (!tap || !tap->experts || s->status)
        return;
    s->tap = NULL;
    tap->experts(tap->ctx, s, stack, x, chosen);
    s->tap = tap;
}
