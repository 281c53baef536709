/* The engine of elementwise ops: any strides, up to three inputs of one shape after broadcasting,
 * tiles of packed runs through the functions of kernels/map.h. Internal to src/tensor. */
#ifndef WEFT_TENSOR_MAP_H
#define WEFT_TENSOR_MAP_H

#include "tensor/walk.h"

/* Which data types an op takes. */
typedef enum weft_types {
    WEFT_TYPES_FLOAT = 1,   /* f64 f32 f16 bf16 */
    WEFT_TYPES_INTEGER = 2, /* i64 i32 i16 i8 u8 */
    WEFT_TYPES_BOOL = 4,
    WEFT_TYPES_NUMBER = WEFT_TYPES_FLOAT | WEFT_TYPES_INTEGER,
    WEFT_TYPES_ANY = WEFT_TYPES_NUMBER | WEFT_TYPES_BOOL
} weft_types;

/* One elementwise op. */
typedef struct weft_map_def {
    weft_map_op op;
    weft_types types;
    bool predicate; /* gives bool */
} weft_map_def;

/* The domain in which elements of a plain type are added up: integers and bool in i64. */
weft_domain weft_domain_of(weft_dtype dtype);
/* The domain in which maps compute them: as they lie, but for 16-bit floats. */
weft_domain weft_map_domain(weft_dtype dtype);
/* Packed elements of `dtype` as elements of its domain: `x` itself where they are, else in
 * `buffer`. */
const void *weft_to_domain(const weft_kernels *k, weft_dtype dtype, const void *x, size_t n,
                           void *buffer);

/* True when `t` is plain and of one of the types; else the status is set. */
bool weft_op_types(weft_scope *s, const char *name, const weft_tensor *t, weft_types types);
/* True when both have the same type; else the status is set. */
bool weft_op_same_dtype(weft_scope *s, const char *name, const weft_tensor *a,
                        const weft_tensor *b);
/* numpy's rule over n tensors: the common dims, and each one's strides over them (0 where it is
 * repeated). False: the status is set, naming the shapes and the dim. */
bool weft_op_broadcast(weft_scope *s, const char *name, weft_tensor *const *list, size_t n,
                       int *rank, int64_t *dims, int64_t (*strides)[WEFT_MAX_RANK]);

weft_tensor *weft_map1(weft_scope *s, const char *name, const weft_map_def *def, weft_tensor *x,
                       const weft_map_args *args /* or NULL */);
/* Equal shapes, or broadcast ones. */
weft_tensor *weft_map2(weft_scope *s, const char *name, const weft_map_def *def, weft_tensor *a,
                       weft_tensor *b, bool broadcast);
/* x and a number of its type: integers take whole numbers in their range only. */
weft_tensor *weft_map2_scalar(weft_scope *s, const char *name, const weft_map_def *def,
                              weft_tensor *x, double value);
/* cond ? a : b; cond is bool. */
weft_tensor *weft_map_where(weft_scope *s, const char *name, weft_tensor *cond, weft_tensor *a,
                            weft_tensor *b, bool broadcast);
/* mask ? value : x; the mask is broadcast to x. */
weft_tensor *weft_map_fill(weft_scope *s, const char *name, weft_tensor *x, weft_tensor *mask,
                           double value);

/* One element of a plain type; false where the type cannot hold the number exactly as integers and
 * bool must (floats round). */
bool weft_encode(weft_dtype dtype, double value, void *item);

#endif
