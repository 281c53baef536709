/* Activations as plain loops, for ops that fuse them. Private to src/tensor. */
#ifndef WEFT_TENSOR_GATE_H
#define WEFT_TENSOR_GATE_H

#include "tensor/kernels/table.h"
#include "tensor/nn.h"

/* y = act(x), of one input; y may be x. */
void weft_act_floats(const weft_kernels *k, weft_activation act, const float *x, size_t n,
                     float *y);
/* Whether `act` is one of one input; else the scope's status is set. */
bool weft_act_allowed(weft_scope *s, const char *op, weft_activation act);

/* y = act(gate) * up; y may be gate. */
void weft_gate_floats(const weft_kernels *k, weft_activation act, const float *gate,
                      const float *up, size_t n, float *y);

/* Whether `act` is one that a gate may have; else the scope's status is set. */
bool weft_gate_allowed(weft_scope *s, const char *op, weft_activation act);

#endif
