/* Elementwise functions over packed runs, by domain: f32 (which f16 and bf16 are widened to), f64,
 * i64 (which all integers and bool may be widened to), and the shorter integers as they lie. Each
 * variant has the whole table; the bodies are in ref/map_body.h and ref/map_whole_body.h. Equal
 * bits in every variant. */
#ifndef WEFT_KERNELS_MAP_H
#define WEFT_KERNELS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_domain {
    WEFT_IN_F32,
    WEFT_IN_F64,
    WEFT_IN_I64,
    WEFT_IN_I32,
    WEFT_IN_I16,
    WEFT_IN_I8,
    WEFT_IN_U8, /* bool as well */
    WEFT_DOMAINS
} weft_domain;

/* How integers are folded as they lie (kernels/table.h). */
typedef enum weft_whole_fold {
    WEFT_WHOLE_SUM,
    WEFT_WHOLE_MAX,
    WEFT_WHOLE_MIN,
    WEFT_WHOLE_FOLDS
} weft_whole_fold;

typedef enum weft_map_op {
    /* two inputs */
    WEFT_MAP_ADD,
    WEFT_MAP_SUB,
    WEFT_MAP_MUL,
    WEFT_MAP_DIV, /* integers: toward zero */
    WEFT_MAP_REM, /* a - b trunc(a / b), with the sign of a */
    WEFT_MAP_POW,
    WEFT_MAP_MINIMUM,
    WEFT_MAP_MAXIMUM,
    /* two inputs, bytes of 0 and 1 out */
    WEFT_MAP_EQ,
    WEFT_MAP_NE,
    WEFT_MAP_LT,
    WEFT_MAP_LE,
    WEFT_MAP_GT,
    WEFT_MAP_GE,
    WEFT_MAP_AND,
    WEFT_MAP_OR,
    WEFT_MAP_XOR,
    /* one input, bytes out */
    WEFT_MAP_NOT,
    WEFT_MAP_IS_NAN,
    WEFT_MAP_IS_INF,
    /* one input */
    WEFT_MAP_NEG,
    WEFT_MAP_ABS,
    WEFT_MAP_SIGN,
    WEFT_MAP_SQUARE,
    WEFT_MAP_AFFINE, /* x * p0 + p1, two roundings */
    WEFT_MAP_CLAMP,  /* to [p0, p1] */
    WEFT_MAP_RELU,
    WEFT_MAP_LEAKY_RELU, /* x < 0: x * p0 */
    WEFT_MAP_FLOOR,
    WEFT_MAP_CEIL,
    WEFT_MAP_ROUND, /* ties to even */
    WEFT_MAP_TRUNC,
    WEFT_MAP_SQRT,
    WEFT_MAP_RSQRT,
    WEFT_MAP_EXP,
    WEFT_MAP_EXPM1,
    WEFT_MAP_LOG,
    WEFT_MAP_LOG1P,
    WEFT_MAP_SIN,
    WEFT_MAP_COS,
    WEFT_MAP_TANH,
    WEFT_MAP_ERF,
    WEFT_MAP_SIGMOID,
    WEFT_MAP_SILU,
    WEFT_MAP_GELU_TANH,
    WEFT_MAP_GELU_ERF,
    WEFT_MAP_SOFTPLUS,
    WEFT_MAP_COUNT
} weft_map_op;

typedef struct weft_map_args {
    double f0, f1;         /* parameters of float domains */
    int64_t i0, i1;        /* of integers */
    bool *divided_by_zero; /* set (relaxed) by integer DIV and REM; the element is 0 */
} weft_map_args;

/* in: packed runs of n elements of the domain; out of the domain, or bytes. out may be in[0] where
 * its elements have the same size. */
typedef void weft_map_fn(const weft_map_args *p, const void *const *in, size_t n, void *out);

#endif
