/* Every op, as X(name, kind, types, sums): for lists that must not miss one (tests,
 * benchmarks, bindings). Kinds and types: src/tensor/ops.table, from which
 * make_ops.py writes this. Public, but not ABI-stable. */
#ifndef WEFT_EXTRA_OP_LIST_H
#define WEFT_EXTRA_OP_LIST_H

#define WEFT_OP_LIST(X)                                                                            \
    X(zeros, CREATE, "any", "-")                                                                   \
    X(full, CREATE, "any", "-")                                                                    \
    X(arange, CREATE, "any", "-")                                                                  \
    X(from_data, CREATE, "any", "-")                                                               \
    X(ones, OP, "any", "-")                                                                        \
    X(linspace, OP, "float", "-")                                                                  \
    X(eye, OP, "any", "-")                                                                         \
    X(random_uniform, OP, "float", "-")                                                            \
    X(random_normal, OP, "float", "-")                                                             \
    X(random_permutation, OP, "i64", "-")                                                          \
    X(narrow, VIEW, "any", "-")                                                                    \
    X(slice, VIEW, "any", "-")                                                                     \
    X(select, VIEW, "any", "-")                                                                    \
    X(transpose, VIEW, "any", "-")                                                                 \
    X(permute, VIEW, "any", "-")                                                                   \
    X(reshape, VIEW, "any", "-")                                                                   \
    X(flatten, VIEW, "any", "-")                                                                   \
    X(squeeze, VIEW, "any", "-")                                                                   \
    X(unsqueeze, VIEW, "any", "-")                                                                 \
    X(expand, VIEW, "any", "-")                                                                    \
    X(unfold, VIEW, "any", "-")                                                                    \
    X(diagonal, VIEW, "any", "-")                                                                  \
    X(split, VIEW, "any", "-")                                                                     \
    X(chunk, VIEW, "any", "-")                                                                     \
    X(add, MAP2, "number", "-")                                                                    \
    X(sub, MAP2, "number", "-")                                                                    \
    X(mul, MAP2, "number", "-")                                                                    \
    X(div, MAP2, "number", "-")                                                                    \
    X(rem, MAP2, "number", "-")                                                                    \
    X(pow, MAP2, "float", "-")                                                                     \
    X(minimum, MAP2, "number", "-")                                                                \
    X(maximum, MAP2, "number", "-")                                                                \
    X(eq, MAP2, "any", "-")                                                                        \
    X(ne, MAP2, "any", "-")                                                                        \
    X(lt, MAP2, "any", "-")                                                                        \
    X(le, MAP2, "any", "-")                                                                        \
    X(gt, MAP2, "any", "-")                                                                        \
    X(ge, MAP2, "any", "-")                                                                        \
    X(logical_and, LOGIC, "bool", "-")                                                             \
    X(logical_or, LOGIC, "bool", "-")                                                              \
    X(logical_xor, LOGIC, "bool", "-")                                                             \
    X(logical_not, MAP1, "bool", "-")                                                              \
    X(is_nan, MAP1, "number", "-")                                                                 \
    X(is_inf, MAP1, "number", "-")                                                                 \
    X(where, WHERE, "any", "-")                                                                    \
    X(masked_fill, OP, "any", "-")                                                                 \
    X(neg, MAP1, "number", "-")                                                                    \
    X(abs, MAP1, "number", "-")                                                                    \
    X(sign, MAP1, "number", "-")                                                                   \
    X(square, MAP1, "number", "-")                                                                 \
    X(affine, OP, "number", "-")                                                                   \
    X(clamp, OP, "number", "-")                                                                    \
    X(floor, MAP1, "number", "-")                                                                  \
    X(ceil, MAP1, "number", "-")                                                                   \
    X(round, MAP1, "number", "-")                                                                  \
    X(trunc, MAP1, "number", "-")                                                                  \
    X(sqrt, MAP1, "float", "-")                                                                    \
    X(rsqrt, MAP1, "float", "-")                                                                   \
    X(exp, MAP1, "float", "-")                                                                     \
    X(expm1, MAP1, "float", "-")                                                                   \
    X(log, MAP1, "float", "-")                                                                     \
    X(log1p, MAP1, "float", "-")                                                                   \
    X(sin, MAP1, "float", "-")                                                                     \
    X(cos, MAP1, "float", "-")                                                                     \
    X(tanh, MAP1, "float", "-")                                                                    \
    X(erf, MAP1, "float", "-")                                                                     \
    X(sigmoid, MAP1, "float", "-")                                                                 \
    X(relu, MAP1, "number", "-")                                                                   \
    X(leaky_relu, OP, "float", "-")                                                                \
    X(silu, MAP1, "float", "-")                                                                    \
    X(gelu_tanh, MAP1, "float", "-")                                                               \
    X(gelu_erf, MAP1, "float", "-")                                                                \
    X(softplus, MAP1, "float", "-")                                                                \
    X(cast, OP, "any", "-")                                                                        \
    X(sum, REDUCE, "any", "f64; integers and bool i64")                                            \
    X(mean, REDUCE, "float", "f64")                                                                \
    X(prod, REDUCE, "any", "f64; integers i64")                                                    \
    X(max, REDUCE, "any", "-")                                                                     \
    X(min, REDUCE, "any", "-")                                                                     \
    X(argmax, REDUCE, "any", "-")                                                                  \
    X(argmin, REDUCE, "any", "-")                                                                  \
    X(var, REDUCE, "float", "f64")                                                                 \
    X(std, REDUCE, "float", "f64")                                                                 \
    X(norm, REDUCE, "float", "f64")                                                                \
    X(logsumexp, REDUCE, "float", "f64")                                                           \
    X(any, REDUCE, "bool", "-")                                                                    \
    X(all, REDUCE, "bool", "-")                                                                    \
    X(cumsum, OP, "any", "f64; integers i64")                                                      \
    X(cumprod, OP, "any", "f64; integers i64")                                                     \
    X(sort, OP, "any", "-")                                                                        \
    X(argsort, OP, "any", "-")                                                                     \
    X(topk, OP, "any", "-")                                                                        \
    X(unique, OP, "any", "-")                                                                      \
    X(histogram, OP, "number", "i64")                                                              \
    X(softmax, OP, "float", "f32, 16 lanes; f64 in order")                                         \
    X(log_softmax, OP, "float", "f64")                                                             \
    X(rms_norm, OP, "half", "f32, 16 lanes")                                                       \
    X(layer_norm, OP, "float", "f32, 16 lanes; f64")                                               \
    X(linear, OP, "half, blocks", "docs/numerics.md")                                              \
    X(linear_act, OP, "half, blocks", "docs/numerics.md")                                          \
    X(embedding, OP, "half, blocks", "-")                                                          \
    X(rope, OP, "f32", "-")                                                                        \
    X(cross_entropy, OP, "float", "f64")                                                           \
    X(scaled_dot_product_attention, OP, "float", "as matmul")                                      \
    X(dropout, OP, "float", "-")                                                                   \
    X(conv1d, OP, "float", "as matmul")                                                            \
    X(max_pool1d, OP, "any", "-")                                                                  \
    X(avg_pool1d, OP, "float", "f64")                                                              \
    X(max_pool2d, OP, "any", "-")                                                                  \
    X(avg_pool2d, OP, "float", "f64")                                                              \
    X(dequantize, OP, "half, blocks", "-")                                                         \
    X(matmul, OP, "number", "docs/numerics.md; f64 f64; integers wrap")                            \
    X(outer, OP, "number", "-")                                                                    \
    X(einsum, OP, "number", "as matmul")                                                           \
    X(index_select, OP, "any", "-")                                                                \
    X(gather, OP, "any", "-")                                                                      \
    X(scatter, OP, "any", "-")                                                                     \
    X(scatter_add, OP, "number", "each step in x's type")                                          \
    X(index_put, OP, "any", "each step in x's type")                                               \
    X(masked_select, OP, "any", "-")                                                               \
    X(concat, OP, "any", "-")                                                                      \
    X(stack, OP, "any", "-")                                                                       \
    X(repeat, OP, "any", "-")                                                                      \
    X(tile, OP, "any", "-")                                                                        \
    X(flip, OP, "any", "-")                                                                        \
    X(roll, OP, "any", "-")                                                                        \
    X(pad, OP, "any", "-")                                                                         \
    X(tril, OP, "any", "-")                                                                        \
    X(triu, OP, "any", "-")                                                                        \
    X(one_hot, OP, "any", "-")                                                                     \
    X(allclose, OP, "any", "-")

#endif
