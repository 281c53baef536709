/* Tensors: immutable headers over reference-counted storages, scopes that own results, views, and
 * the three entries that write in place. Ops on tensors are in ops.h; docs/tensor.md is the guide.
 *
 * Ownership. An op's result belongs to the scope it was made in; the caller borrows it until the
 * scope is reset or released. weft_tensor_retain makes it outlive the scope (heap scopes) and
 * weft_tensor_release gives that reference back.
 *
 * Errors. A scope has a sticky status: after an error every op in it returns NULL at once, and an
 * op given NULL returns NULL, so calls nest and one check at the end suffices.
 *
 * Thread safety. A scope is used by one thread at a time. Tensors may be shared by any threads:
 * each op locks the storages it touches, all at once and in one order, so no two calls deadlock. */
#ifndef WEFT_TENSOR_H
#define WEFT_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_MAX_RANK 8

/* X(name, spelling, elements a block, bytes a block). A block size of 1 is a plain type. Block
 * types follow the GGUF specification; their rows are a whole number of blocks. The 8-bit floats
 * (E4M3 as E4M3FN: without infinities; E8M0: powers of two) and the unsigned types behind them are
 * those of safetensors files: they are read and shown, ops do not take them. */
#define WEFT_DTYPES(X)                                                                             \
    X(F64, "f64", 1, 8)                                                                            \
    X(F32, "f32", 1, 4)                                                                            \
    X(F16, "f16", 1, 2)                                                                            \
    X(BF16, "bf16", 1, 2)                                                                          \
    X(I64, "i64", 1, 8)                                                                            \
    X(I32, "i32", 1, 4)                                                                            \
    X(I16, "i16", 1, 2)                                                                            \
    X(I8, "i8", 1, 1)                                                                              \
    X(U8, "u8", 1, 1)                                                                              \
    X(BOOL, "bool", 1, 1)                                                                          \
    X(F8_E4M3, "f8_e4m3", 1, 1)                                                                    \
    X(F8_E5M2, "f8_e5m2", 1, 1)                                                                    \
    X(Q4_0, "q4_0", 32, 18)                                                                        \
    X(Q4_1, "q4_1", 32, 20)                                                                        \
    X(Q5_0, "q5_0", 32, 22)                                                                        \
    X(Q5_1, "q5_1", 32, 24)                                                                        \
    X(Q8_0, "q8_0", 32, 34)                                                                        \
    X(Q8_1, "q8_1", 32, 36)                                                                        \
    X(Q2_K, "q2_K", 256, 84)                                                                       \
    X(Q3_K, "q3_K", 256, 110)                                                                      \
    X(Q4_K, "q4_K", 256, 144)                                                                      \
    X(Q5_K, "q5_K", 256, 176)                                                                      \
    X(Q6_K, "q6_K", 256, 210)                                                                      \
    X(Q8_K, "q8_K", 256, 292)                                                                      \
    X(IQ2_XXS, "iq2_xxs", 256, 66)                                                                 \
    X(IQ2_XS, "iq2_xs", 256, 74)                                                                   \
    X(IQ3_XXS, "iq3_xxs", 256, 98)                                                                 \
    X(IQ1_S, "iq1_s", 256, 50)                                                                     \
    X(IQ4_NL, "iq4_nl", 32, 18)                                                                    \
    X(IQ3_S, "iq3_s", 256, 110)                                                                    \
    X(IQ2_S, "iq2_s", 256, 82)                                                                     \
    X(IQ4_XS, "iq4_xs", 256, 136)                                                                  \
    X(IQ1_M, "iq1_m", 256, 56)                                                                     \
    X(TQ1_0, "tq1_0", 256, 54)                                                                     \
    X(TQ2_0, "tq2_0", 256, 66)                                                                     \
    X(MXFP4, "mxfp4", 32, 17)                                                                      \
    X(NVFP4, "nvfp4", 64, 36)                                                                      \
    X(Q1_0, "q1_0", 128, 18)                                                                       \
    X(Q2_0, "q2_0", 64, 18)                                                                        \
    X(U16, "u16", 1, 2)                                                                            \
    X(U32, "u32", 1, 4)                                                                            \
    X(U64, "u64", 1, 8)                                                                            \
    X(F8_E8M0, "f8_e8m0", 1, 1)

typedef enum weft_dtype {
#define WEFT_DTYPE_ENUM(name, spelling, block, bytes) WEFT_##name,
    WEFT_DTYPES(WEFT_DTYPE_ENUM)
#undef WEFT_DTYPE_ENUM
        WEFT_DTYPE_COUNT
} weft_dtype;

WEFT_API const char *weft_dtype_name(weft_dtype dtype);   /* "f32"; "?" outside the enum */
WEFT_API size_t weft_dtype_block(weft_dtype dtype);       /* elements a block; 0 outside */
WEFT_API size_t weft_dtype_block_bytes(weft_dtype dtype); /* bytes a block; 0 outside */
WEFT_API bool weft_dtype_is_float(weft_dtype dtype);      /* f64 f32 f16 bf16 */
WEFT_API bool weft_dtype_is_integer(weft_dtype dtype);    /* i64 i32 i16 i8 u8 */
WEFT_API bool weft_dtype_is_quantized(weft_dtype dtype);  /* a block type */

typedef struct weft_tensor weft_tensor;
typedef struct weft_scope weft_scope;

/* What ops that end in an activation apply (weft_linear_act). */
typedef enum weft_activation {
    WEFT_ACT_SILU,
    WEFT_ACT_GELU_TANH,
    WEFT_ACT_GELU_ERF,
    WEFT_ACT_RELU,
    WEFT_ACT_RELU_SQUARED, /* So et al. 2021 */
    WEFT_ACT_SIGMOID,
    WEFT_ACT_SWIGLU_CLAMPED /* of a gate g <= 7 and -7 <= u <= 7: g sigmoid(1.702 g) (u + 1); of
                               gates alone */
} weft_activation;

/* ---- Scopes ---- */

typedef enum weft_scope_kind {
    WEFT_SCOPE_HEAP, /* each result has a storage of its own; reset drops the scope's references */
    WEFT_SCOPE_ARENA /* headers and data lie in memory that the scope keeps and reuses */
} weft_scope_kind;

/* *out is owned by the caller and holds a reference to `engine`. Errors: WEFT_E_NULL,
 * WEFT_E_MEMORY, WEFT_E_FORKED. */
WEFT_API weft_status weft_scope_create(weft_engine *engine, weft_scope_kind kind, weft_scope **out);

/* Drops every result and clears the status. An arena with results retained outside of it returns
 * WEFT_E_RETAINED and changes nothing. */
WEFT_API weft_status weft_scope_reset(weft_scope *scope);

/* Resets and frees; nulls *scope. With results retained outside, an arena's memory lives until the
 * last of them is released. NULL is allowed. */
WEFT_API void weft_scope_release(weft_scope **scope);

/* The first error since creation or the last reset, and its detail (never NULL). */
WEFT_API weft_status weft_scope_status(const weft_scope *scope);
WEFT_API const char *weft_scope_detail(const weft_scope *scope);

/* Gives one result of the scope back early and nulls *tensor. A tensor that is not one of the
 * scope's results is WEFT_E_ARGUMENT. In an arena the memory is reused after the next reset. */
WEFT_API weft_status weft_scope_discard(weft_scope *scope, weft_tensor **tensor);

/* ---- Headers ---- */

WEFT_API weft_tensor *weft_tensor_retain(
    weft_tensor *tensor);                                /* same id, 0 bytes; NULL gives NULL */
WEFT_API void weft_tensor_release(weft_tensor **tensor); /* nulls *tensor; NULL is allowed */

WEFT_API uint64_t weft_tensor_id(const weft_tensor *t);
WEFT_API weft_dtype weft_tensor_dtype(const weft_tensor *t);
WEFT_API int weft_tensor_rank(const weft_tensor *t);
WEFT_API int64_t weft_tensor_dim(const weft_tensor *t,
                                 int axis); /* negative axes count from the end */
WEFT_API int64_t weft_tensor_stride(const weft_tensor *t, int axis); /* in elements */
WEFT_API int64_t weft_tensor_offset(const weft_tensor *t); /* in elements, into the storage */
WEFT_API int64_t weft_tensor_numel(const weft_tensor *t);
WEFT_API bool weft_tensor_is_contiguous(const weft_tensor *t);
WEFT_API bool weft_tensor_is_immutable(const weft_tensor *t);
WEFT_API bool weft_tensor_same_storage(const weft_tensor *a, const weft_tensor *b);
WEFT_API size_t weft_tensor_storage_bytes(const weft_tensor *t);     /* of the whole storage */
WEFT_API uint64_t weft_tensor_storage_version(const weft_tensor *t); /* in-place writes so far */

/* ---- Creation: fresh storage owned by the scope ---- */

WEFT_API weft_tensor *weft_zeros(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims);
WEFT_API weft_tensor *weft_full(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                                double value);
/* start, start + step, … for `n` elements, computed in double; plain types. */
WEFT_API weft_tensor *weft_arange(weft_scope *s, weft_dtype dtype, int64_t n, double start,
                                  double step);
/* Copies `size_bytes` of row-major data, which must be exactly the shape's size. Block types too.
 */
WEFT_API weft_tensor *weft_from_data(weft_scope *s, weft_dtype dtype, int rank, const int64_t *dims,
                                     const void *data, size_t size_bytes);
/* Uses the caller's memory, which must stay until the last reference is gone and is never freed by
 * weft; aligned to its element. `immutable` memory is never written to and takes no locks. */
WEFT_API weft_tensor *weft_tensor_wrap(weft_scope *s, weft_dtype dtype, int rank,
                                       const int64_t *dims, void *data, size_t size_bytes,
                                       bool immutable);

/* ---- Views: fresh id, same storage, 0 bytes copied. Axes may be negative. ---- */

WEFT_API weft_tensor *weft_tensor_narrow(weft_scope *s, weft_tensor *t, int axis, size_t start,
                                         size_t length);
/* Elements start, start + step, … before `stop`, as Python's t[start:stop:step] after its indices
 * are resolved; step may be negative (then stop may be -1: one before the first). */
WEFT_API weft_tensor *weft_tensor_slice(weft_scope *s, weft_tensor *t, int axis, int64_t start,
                                        int64_t stop, int64_t step);
WEFT_API weft_tensor *weft_tensor_select(weft_scope *s, weft_tensor *t, int axis, size_t index);
WEFT_API weft_tensor *weft_tensor_transpose(weft_scope *s, weft_tensor *t, int axis_a, int axis_b);
WEFT_API weft_tensor *weft_tensor_permute(weft_scope *s, weft_tensor *t, const int *axes);
/* One extent may be -1: inferred. Strides that do not allow a view: WEFT_E_NOT_A_VIEW. */
WEFT_API weft_tensor *weft_tensor_reshape(weft_scope *s, weft_tensor *t, int rank,
                                          const int64_t *dims);
/* A view where possible, else a copy. */
WEFT_API weft_tensor *weft_tensor_reshape_copy(weft_scope *s, weft_tensor *t, int rank,
                                               const int64_t *dims);
WEFT_API weft_tensor *weft_tensor_squeeze(weft_scope *s, weft_tensor *t, int axis);
WEFT_API weft_tensor *weft_tensor_unsqueeze(weft_scope *s, weft_tensor *t, int axis);
/* Broadcast to `dims` by stride 0 (numpy's rule, axes aligned at the end). */
WEFT_API weft_tensor *weft_tensor_expand(weft_scope *s, weft_tensor *t, int rank,
                                         const int64_t *dims);
/* `n` views of the given lengths, which add up to the axis; written to out[0 … n-1]. */
WEFT_API weft_status weft_tensor_split(weft_scope *s, weft_tensor *t, int axis,
                                       const size_t *lengths, size_t n, weft_tensor **out);
/* The same in `n` parts as equal as possible, the longer ones first. */
WEFT_API weft_status weft_tensor_chunk(weft_scope *s, weft_tensor *t, int axis, size_t n,
                                       weft_tensor **out);
/* Dims first … last (both may be negative) as one; strides that do not allow it: WEFT_E_NOT_A_VIEW.
 * Of rank 0: rank 1. */
WEFT_API weft_tensor *weft_tensor_flatten(weft_scope *s, weft_tensor *t, int first, int last);
/* Windows of `size` elements, each `step` after the one before: the axis becomes their number,
 * their elements a new last dim. Plain types. */
WEFT_API weft_tensor *weft_tensor_unfold(weft_scope *s, weft_tensor *t, int axis, size_t size,
                                         size_t step);
/* Elements [i, i + offset] of two axes, as a new last dim; both axes go. offset < 0: [i - offset,
 * i]. Plain types. */
WEFT_API weft_tensor *weft_tensor_diagonal(weft_scope *s, weft_tensor *t, int64_t offset,
                                           int axis_a, int axis_b);
/* Fresh id, same storage; cut from the gradient graph. */
WEFT_API weft_tensor *weft_tensor_detach(weft_scope *s, weft_tensor *t);

/* ---- Copies ---- */

/* Own storage holding the view's elements only, contiguous. */
WEFT_API weft_tensor *weft_tensor_copy(weft_scope *s, weft_tensor *t);
/* `t` itself where it is contiguous (then borrowed from the scope), else a copy. */
WEFT_API weft_tensor *weft_tensor_contiguous(weft_scope *s, weft_tensor *t);

/* ---- In-place writes: these three and no others ---- */

/* Copies src into dst at [start, start + src.dim(axis)) of `axis`. Same dtype, rank and other dims,
 * both contiguous, different storages whatever the ranges. Nothing is written on any error:
 * WEFT_E_DTYPE, _SHAPE, _NOT_CONTIGUOUS, _RANGE, _SAME_STORAGE, _IMMUTABLE, _REENTRANT. */
WEFT_API weft_status weft_slice_set(weft_scope *s, weft_tensor *dst, weft_tensor *src, int axis,
                                    size_t start);

/* A variable: a leaf with storage of its own, a copy of `t`. */
WEFT_API weft_tensor *weft_var_create(weft_scope *s, weft_tensor *t);
WEFT_API bool weft_tensor_is_var(const weft_tensor *t);
/* Replaces the variable's elements by those of `t` (same shape and dtype, any strides, another
 * storage). Errors: WEFT_E_NOT_A_LEAF, _SHAPE, _DTYPE, _SAME_STORAGE, _REENTRANT. */
WEFT_API weft_status weft_var_set(weft_scope *s, weft_tensor *var, weft_tensor *t);

/* What a callback sees of one tensor: `data` points at its first element. */
typedef struct weft_raw {
    void *data; /* const for all but argument 0 */
    weft_dtype dtype;
    int rank;
    const int64_t *dims;
    const int64_t *strides; /* in elements */
} weft_raw;

/* args[0] is the destination. Returns WEFT_OK or the error that the entry shall return. Calls into
 * weft that would take a lock return WEFT_E_REENTRANT inside it. */
typedef weft_status (*weft_inplace_fn)(void *ctx, const weft_raw *args);

WEFT_API weft_status weft_inplace_op1(weft_scope *s, weft_tensor *dst, weft_inplace_fn fn,
                                      void *ctx);
WEFT_API weft_status weft_inplace_op2(weft_scope *s, weft_tensor *dst, weft_tensor *a,
                                      weft_inplace_fn fn, void *ctx);
WEFT_API weft_status weft_inplace_op3(weft_scope *s, weft_tensor *dst, weft_tensor *a,
                                      weft_tensor *b, weft_inplace_fn fn, void *ctx);

/* ---- Access to the elements, under the same guard as ops ---- */

/* Locks the storage for reading (or writing) until weft_tensor_unmap by the same thread, and gives
 * the address of the first element. While a thread holds a mapping, its other calls that would lock
 * return WEFT_E_REENTRANT; map several tensors at once with weft_tensor_map_all. */
WEFT_API weft_status weft_tensor_map_read(weft_tensor *t, const void **out);
WEFT_API weft_status weft_tensor_map_write(weft_tensor *t, void **out);
WEFT_API void weft_tensor_unmap(weft_tensor *t);

typedef struct weft_access {
    weft_tensor *tensor;
    bool write;
    void *data; /* result; const unless `write` */
} weft_access;

WEFT_API weft_status weft_tensor_map_all(weft_access *list, size_t n); /* n <= 8 */
WEFT_API void weft_tensor_unmap_all(weft_access *list, size_t n);

/* Copies all elements, row-major, into `out` of exactly `size_bytes`. */
WEFT_API weft_status weft_tensor_read(weft_tensor *t, void *out, size_t size_bytes);

/* ---- Text, in numpy's manner ---- */

typedef struct weft_text_format {
    int precision;      /* significant digits of floats, 1 … 17 */
    int64_t threshold;  /* more elements than these are shown in part */
    int64_t edge_items; /* then so many at both ends of each axis */
} weft_text_format;

/* 6 digits, 1000 elements, 3 at the ends. */
WEFT_API weft_text_format weft_text_format_default(void);

/* A piece of the text; false ends it. Inside, calls that would lock return WEFT_E_REENTRANT. */
typedef bool (*weft_text_part_fn)(void *ctx, const char *text, size_t n_bytes);

/* `format` NULL: defaults. Errors: WEFT_E_NULL, _DTYPE (block types), _ARGUMENT, _REENTRANT,
 * _CANCELLED. */
WEFT_API weft_status weft_tensor_format(weft_tensor *t, const weft_text_format *format,
                                        weft_text_part_fn fn, void *ctx);
/* The same into `out`, cut to `room` and NUL-terminated. The whole length without the NUL, 0 on an
 * error. */
WEFT_API size_t weft_tensor_text(weft_tensor *t, const weft_text_format *format, char *out,
                                 size_t room);

#ifdef __cplusplus
}
#endif
#endif
