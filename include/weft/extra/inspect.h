/* Looking into model files without loading them: metadata, tensors, a summary, a check. Public, but
 * not ABI-stable. A weft_file is immutable after opening; shared by any threads. */
#ifndef WEFT_EXTRA_INSPECT_H
#define WEFT_EXTRA_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>
#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_file weft_file;

/* A GGUF file or a Hugging Face folder; any well-formed one, a model or not. */
WEFT_API weft_status weft_file_open(weft_engine *engine, const char *path, weft_file **out);
WEFT_API void weft_file_release(weft_file **file);

typedef enum weft_value_type {
    WEFT_VALUE_U8,
    WEFT_VALUE_I8,
    WEFT_VALUE_U16,
    WEFT_VALUE_I16,
    WEFT_VALUE_U32,
    WEFT_VALUE_I32,
    WEFT_VALUE_F32,
    WEFT_VALUE_BOOL,
    WEFT_VALUE_STRING,
    WEFT_VALUE_ARRAY,
    WEFT_VALUE_U64,
    WEFT_VALUE_I64,
    WEFT_VALUE_F64
} weft_value_type; /* numbered as in the GGUF specification */

/* One metadata value; strings are borrowed from the file object and not NUL-terminated. */
typedef struct weft_value {
    weft_value_type type;
    union {
        uint64_t u; /* U8 … U64, BOOL */
        int64_t i;  /* I8 … I64 */
        double f;   /* F32, F64 */
        struct {
            const char *text;
            size_t n_bytes;
        } s;
        struct {
            weft_value_type type; /* of the elements */
            size_t n;
        } array;
    } as;
} weft_value;

WEFT_API size_t weft_file_n_metadata(const weft_file *file);
/* Key and value of entry `i`; NULL (and *value untouched) out of range. The key is NUL-terminated.
 */
WEFT_API const char *weft_file_metadata(const weft_file *file, size_t i, weft_value *value);
/* Element `j` of the array in entry `i`. False out of range. */
WEFT_API bool weft_file_array_item(const weft_file *file, size_t i, size_t j, weft_value *value);

typedef struct weft_tensor_info {
    const char *name; /* NUL-terminated, borrowed */
    weft_dtype dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK]; /* row-major: the row length comes last */
    uint64_t size_bytes;
    uint64_t offset; /* from the start of its file */
} weft_tensor_info;

WEFT_API size_t weft_file_n_tensors(const weft_file *file);
WEFT_API bool weft_file_tensor(const weft_file *file, size_t i, weft_tensor_info *info);

/* SHA-256 of tensor `i` dequantised to little-endian float32 (plain floats are converted). Types
 * that have no definition here are WEFT_E_UNSUPPORTED. */
WEFT_API weft_status weft_file_digest(const weft_file *file, size_t i, uint8_t sha256[32]);

typedef struct weft_file_summary {
    const char *format;       /* "GGUF v3", "safetensors" */
    const char *architecture; /* "" if none is named */
    const char *name;
    uint64_t n_parameters, weight_bytes;
    double bits_per_weight;
    int32_t n_context;     /* 0: unknown */
    uint64_t memory_bytes; /* weights + cache (f16) at `n_context_asked`; 0: unknown */
    int32_t n_context_asked;
} weft_file_summary;

/* `n_context` 0: min(the model's, 4096). */
WEFT_API weft_file_summary weft_file_summarize(const weft_file *file, int32_t n_context);

/* How far tensor `j` of `b` is from tensor `i` of `a`, element by element as float32. */
typedef struct weft_tensor_difference {
    uint64_t n_elements, n_different;
    double max_error, mean_error; /* of |a - b| */
    double mean_square;           /* of a - b */
    double mean_square_a;         /* of a */
    double weighed_square; /* of a - b, each square times its column's share of the importance; NAN
                              without one */
} weft_tensor_difference;

/* Importance of the columns of `file`'s tensors, by their names, for comparisons that have `file`
 * as their first: read from `imatrix`, the path of a file of weft imatrix or llama-imatrix. `file`
 * owns what is read, which takes the place of what an earlier call read; not while another thread
 * uses `file`. Errors: WEFT_E_NULL, and those of reading: WEFT_E_IO, _FORMAT, _MEMORY. */
WEFT_API weft_status weft_file_weigh(weft_file *file, const char *imatrix);

/* Shapes must be equal (WEFT_E_SHAPE). Two NaN are equal; a NaN beside a number is infinitely far.
 * WEFT_E_UNSUPPORTED for types without a definition. */
WEFT_API weft_status weft_file_compare(const weft_file *a, size_t i, const weft_file *b, size_t j,
                                       weft_tensor_difference *out);

/* Everything that opening the model for running would refuse, without copying weights. */
WEFT_API weft_status weft_file_check(const weft_file *file);

#ifdef __cplusplus
}
#endif
#endif
