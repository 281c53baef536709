/* The engine: what models, sessions and scopes of one application share: a thread team, an
 * allocator, a log callback and the choice of kernels.
 *
 * Thread safety: an engine may be used from any number of threads; passes of one engine take turns
 * on its team. In the child of a fork(2) every call that takes an engine, or something made from
 * one, returns WEFT_E_FORKED. */
#ifndef WEFT_ENGINE_H
#define WEFT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_engine weft_engine;

/* Replaces malloc and free. Both are called from any thread. `align` is a power of two >= 16.
 * `alloc` returns NULL when there is no memory; `release` gets the size that was asked for. */
typedef struct weft_allocator {
    void *(*alloc)(void *ctx, size_t size_bytes, size_t align);
    void (*release)(void *ctx, void *memory, size_t size_bytes);
    void *ctx;
} weft_allocator;

typedef enum weft_log_level { WEFT_LOG_DEBUG, WEFT_LOG_INFO, WEFT_LOG_WARNING } weft_log_level;

/* `line` ends without a newline and is valid during the call only. Called from any thread. */
typedef void (*weft_log_fn)(void *ctx, weft_log_level level, const char *line);

/* How sums are ordered and products rounded; docs/numerics.md has the definition. */
typedef enum weft_numbers {
    WEFT_NUMBERS_DEFAULT,      /* decode reproducible, prefill by whatever measures fastest */
    WEFT_NUMBERS_REPRODUCIBLE, /* the same bits on every CPU, thread count and batch size */
    WEFT_NUMBERS_FLOAT         /* float activations times dequantised weights: a checking path */
} weft_numbers;

typedef struct weft_engine_options {
    int n_threads;       /* 0: physical cores within affinity and cgroup quota */
    int n_threads_batch; /* of steps of 32 rows and more, as in prompts; 0: n_threads */
    bool pin;            /* each thread that weft starts stays on a CPU of its own */
    const char *cpu;     /* NULL: the WEFT_CPU variable, else all the CPU has. Otherwise the highest
                            variant allowed: "scalar", "avx2", "avxvnni", "avx512", "vnni", "vbmi",
                            "bf16", "amx", "neon", "dotprod", "i8mm" (docs/numerics.md) */
    weft_numbers numbers;
    weft_allocator allocator; /* .alloc == NULL: malloc and free */
    weft_log_fn log;          /* NULL: silence */
    void *log_ctx;
} weft_engine_options;

/* All defaults; start from this so that later members are set as well. */
WEFT_API weft_engine_options weft_engine_options_default(void);

/* `options` may be NULL (defaults). On success *out is owned by the caller.
 * Errors: WEFT_E_NULL, WEFT_E_ARGUMENT (unknown or unavailable cpu, bad thread count),
 * WEFT_E_MEMORY. */
WEFT_API weft_status weft_engine_create(const weft_engine_options *options, weft_engine **out);

/* Another reference to the same engine; models, sessions and scopes hold one each. NULL gives NULL.
 */
WEFT_API weft_engine *weft_engine_retain(weft_engine *engine);

/* Drops a reference and nulls *engine. NULL and pointer to NULL are allowed. */
WEFT_API void weft_engine_release(weft_engine **engine);

WEFT_API int weft_engine_n_threads(const weft_engine *engine);

/* The kernels chosen, as "avx2" or "avx512 vnni"; static memory. */
WEFT_API const char *weft_engine_cpu(const weft_engine *engine);

/* weft's version, as "0.1.0". */
WEFT_API const char *weft_version(void);

/* Libraries compiled in and their versions, as "OpenBLAS 0.3.21, PCRE2 10.42"; static memory. */
WEFT_API const char *weft_libraries(void);

#ifdef __cplusplus
}
#endif
#endif
