/* For benchmarks: models of random weights, what a step costs by the model's shape, the machine's
 * limits, the time of single kernels, and a profile of running ops. Public, but not ABI-stable. */
#ifndef WEFT_EXTRA_BENCH_H
#define WEFT_EXTRA_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/model.h>
#include <weft/status.h>
#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Models without a file ---- */

/* The shapes known, by name, as "llama-1b"; NULL from the first i that has none. Static memory. */
WEFT_API const char *weft_synthetic_shape(size_t i);

/* A model of random weights, the same ones at every call, packed as weft_model_open packs: one copy
 * in memory. Matrices are of `type`; of a type of 256 columns, those whose rows are no multiple of
 * it are of the next larger type of 32 columns. `mixed`: as in files of type Q4_K_M or Q5_K_M,
 * where weft_quantize gives some tensors more bits; `type` is Q4_K or Q5_K (others of a mix so
 * named: Q3_K). No tokeniser. *out is owned by the caller. Errors: WEFT_E_NULL, WEFT_E_ARGUMENT
 * (unknown shape), WEFT_E_UNSUPPORTED (a type without panels or mix), WEFT_E_MEMORY,
 * WEFT_E_CANCELLED. */
WEFT_API weft_status weft_model_synthetic(weft_engine *engine, const char *shape, weft_dtype type,
                                          bool mixed, weft_progress_fn progress, void *progress_ctx,
                                          weft_model **out);

/* ---- What a token costs, by the shape alone ---- */

typedef struct weft_model_cost {
    uint64_t weight_bytes; /* a step reads: every matrix as it lies in memory, of tables a row */
    uint64_t weight_ops;   /* a token: a multiply and an add are two */
    uint64_t output_ops;   /* of these, what the logits take, which a prompt needs once */
    uint64_t cache_bytes;  /* the positions that a token at `depth` sees */
    uint64_t cache_ops;
    bool quantized; /* most products are of bytes, not of floats */
} weft_model_cost;

/* Of one token after `depth` others, logits included; all zeros for NULL. */
WEFT_API weft_model_cost weft_model_get_cost(const weft_model *model, int32_t depth,
                                             weft_dtype cache_type);

/* ---- The machine's limits ---- */

/* By small loops that do nothing else, the best of several; a second or so. Bytes or operations a
 * second, of one thread and of the engine's team; 0 where the CPU has no such instruction. */
typedef struct weft_limits {
    const char *cpu; /* the variant; static memory */
    double read_one, read_all;
    double f32_one, f32_all;
    double int8_one, int8_all;
    double bf16_one, bf16_all;
} weft_limits;

/* The variants that this machine can run, by name, scalar first; NULL from the first i that has
 * none. Static memory. */
WEFT_API const char *weft_variant(size_t i);

/* `cpu`: a variant as in weft_engine_options, or NULL for the engine's own. Reads 256 MiB that it
 * allocates. Errors: WEFT_E_NULL, WEFT_E_ARGUMENT, WEFT_E_MEMORY, WEFT_E_FORKED. */
WEFT_API weft_status weft_measure_limits(weft_engine *engine, const char *cpu, weft_limits *out);

/* ---- Kernels ---- */

typedef struct weft_kernel_time {
    const char *kernel;  /* its operation, as "panel_q8" */
    const char *name;    /* of this variant, as "weft_kernel_panel_q8_avx2" */
    const char *variant; /* "avx2" */
    const char *type;    /* of the weights or of the cache; "" where there is one only */
    const char *limit;   /* what bounds it: "read", "int8", "f32", "bf16"; "": the caches */
    size_t rows;         /* of activations */
    double seconds;      /* of one call, the best of several, on one thread */
    double bytes, ops;   /* of one call */
} weft_kernel_time;

/* False ends the run. */
typedef bool (*weft_kernel_time_fn)(void *ctx, const weft_kernel_time *time);

/* Times every kernel in every variant that this machine can run (scalar first), about `seconds` for
 * each line, on the calling thread. `filter`: a part of a kernel's name, variant or type; NULL for
 * all. Errors: WEFT_E_NULL, WEFT_E_NOT_FOUND (nothing fits the filter), WEFT_E_MEMORY. */
WEFT_API weft_status weft_time_kernels(weft_engine *engine, const char *filter, double seconds,
                                       weft_kernel_time_fn fn, void *ctx);

/* ---- Profiles ---- */

typedef struct weft_profile weft_profile;

/* Sums over one op in one kind of place. */
typedef struct weft_profile_row {
    const char *place; /* "embedding", "attention", "feed forward", "output", "other"; "step": whole
                          passes, the time between ops included */
    const char *op;
    uint64_t calls;
    double seconds;
    uint64_t bytes; /* of the operands: weights, activations, the positions seen */
} weft_profile_row;

typedef struct weft_profile_event {
    const char *place, *op;
    int32_t layer;         /* -1: outside of the layers */
    double begin, seconds; /* since the profile was made or cleared */
    uint64_t bytes;
} weft_profile_event;

/* Records every op of the engine from now on: sums, and the last `n_events` single ops (0: sums
 * only). No op may be running during create, clear and release. *out is owned by the caller and
 * holds a reference to `engine`. An engine has at most one. Errors: WEFT_E_NULL, WEFT_E_BUSY (it
 * has one), WEFT_E_MEMORY. */
WEFT_API weft_status weft_profile_create(weft_engine *engine, size_t n_events, weft_profile **out);
WEFT_API void weft_profile_clear(weft_profile *profile);
WEFT_API void weft_profile_release(weft_profile **profile); /* ends recording; NULL is allowed */

/* Rows in the order in which they first ran, events in that in which they ended. False from the
 * first i that has none. */
WEFT_API bool weft_profile_get_row(const weft_profile *profile, size_t i, weft_profile_row *out);
WEFT_API bool weft_profile_get_event(const weft_profile *profile, size_t i,
                                     weft_profile_event *out);
/* Events that did not fit. */
WEFT_API uint64_t weft_profile_n_lost(const weft_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
