/* Making weights that a file holds in another form. Internal to src/model. */
#ifndef WEFT_MODEL_DERIVE_H
#define WEFT_MODEL_DERIVE_H

#include "model/network_impl.h"

/* Whether the rule's weight is not simply a tensor of the file: a part, transposed, or a stack. */
bool weft_rule_derives(const weft_network *n, const weft_tensor_rule *rule);

/* *field holds the tensor that binding found; becomes the rule's own: f32 for vectors, panels of a
 * matrix if the options ask for them, experts' rows rounded up to whole panels, else a view where
 * that serves. It is kept in the map under a name in brackets, which a second network finds. */
weft_status weft_derive(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                        weft_tensor **field);

/* Instead of making it: a header of `type` without data is kept under the name `derived`, and the
 * rule beside it. */
weft_status weft_derive_later(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                              const char *derived, weft_dtype type, weft_tensor **field);

/* The same for a rule of WEFT_RULE_FLOATS: f32 in the rule's own shape. */
weft_status weft_derive_table(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                              const char *name, weft_tensor **field);

/* A contiguous f32, f16 or bf16 tensor as immutable f32, `plus` added; one reference. */
weft_status weft_derive_floats(weft_engine *engine, weft_tensor *source, float plus,
                               weft_tensor **out);

/* Rank-3 `stack` as panels, the rows of each matrix rounded up to whole ones; one reference. */
weft_status weft_derive_panels(weft_engine *engine, weft_slabs *slabs, weft_tensor *stack,
                               weft_tensor **out);

/* 8-bit floats (derive_f8.c): whether a tensor is of them, its scales fit, and whether f16 holds
 * its values well (else *fits_f16 becomes false). */
bool weft_is_f8(const weft_tensor *t);
weft_status weft_f8_check(const weft_binding *b, const char *name, const weft_tensor *t);
weft_status weft_f8_range(const weft_binding *b, const char *name, const weft_tensor *t,
                          bool *fits_f16);
/* Rows [first, first + n) of `t` [(n_matrices,) rows, cols], counted through all matrices, times
 * their scales: a result [n, cols] of the scope, of type f32, f16 or bf16. An element that is not
 * finite is WEFT_E_FORMAT. */
weft_tensor *weft_f8_rows(const weft_binding *b, weft_scope *scope, const char *name,
                          const weft_tensor *t, weft_dtype type, int64_t first, int64_t n);
/* Whether a tensor of that name says something of one of 8-bit floats: a scale. */
bool weft_f8_is_beside(const weft_binding *b, const char *name);

/* WEFT_RULE_MXFP4: whether blocks and scales are there and fit; and *field as MXFP4 of GGUF. */
weft_status weft_mxfp4_check(const weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                             const char *name, const weft_tensor *blocks);
weft_status weft_derive_mxfp4(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                              const char *name, weft_tensor **field);
/* One reference. */
weft_status weft_mxfp4_make(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                            const char *name, weft_tensor *blocks, weft_tensor **out);

#endif
