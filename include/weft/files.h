/* Tensors in files: one as .npy, named ones as .npz or safetensors. Reading copies: what was read
 * is ordinary memory, independent of the file. Every file that is written appears by rename.
 *
 * .npy and .npz (numpy's format, NEP 1) hold f64 f32 f16 i64 i32 i16 i8 u8 bool; they have no bf16:
 * cast it to f32, or use safetensors, which holds these, bf16 and both f8 types. Block types are
 * for GGUF files. Files come from anywhere: whatever is in them, they are read or refused. */
#ifndef WEFT_FILES_H
#define WEFT_FILES_H

#include <stddef.h>
#include <weft/engine.h>
#include <weft/status.h>
#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One tensor: .npy ---- */

/* Versions 1 to 3, C and Fortran order, either byte order. Gives a contiguous tensor of the scope.
 * Errors (of the scope, and NULL): WEFT_E_NOT_FOUND, _IO, _FORMAT (damaged, or bytes left over),
 * _UNSUPPORTED (a type that weft lacks; Python objects, which are never run), _MEMORY. */
WEFT_API weft_tensor *weft_npy_load(weft_scope *s, const char *path);
/* Any strides; written in C order. Errors (of the scope as well): WEFT_E_DTYPE, _LAYOUT, _IO,
 * _REENTRANT, _MEMORY. */
WEFT_API weft_status weft_npy_save(weft_scope *s, const char *path, weft_tensor *t);

/* ---- Named tensors: .npz, .safetensors ---- */

/* Tensors by name, in order. Used by one thread at a time. */
typedef struct weft_bundle weft_bundle;

/* Empty; owned by the caller. Errors: WEFT_E_NULL, _MEMORY. */
WEFT_API weft_status weft_bundle_create(weft_engine *engine, weft_bundle **out);
/* Lets go of its tensors and nulls *bundle; NULL is allowed. */
WEFT_API void weft_bundle_release(weft_bundle **bundle);
/* Retains `t` under a name (copied): not empty, UTF-8, and not there yet, else WEFT_E_ARGUMENT. */
WEFT_API weft_status weft_bundle_put(weft_bundle *bundle, const char *name, weft_tensor *t);
WEFT_API size_t weft_bundle_count(const weft_bundle *bundle);
/* Borrowed from the bundle; NULL where absent. */
WEFT_API weft_tensor *weft_bundle_find(const weft_bundle *bundle, const char *name);
/* The same by place, with the name (may be NULL), borrowed too. */
WEFT_API weft_tensor *weft_bundle_at(const weft_bundle *bundle, size_t i, const char **name);

/* Texts beside the tensors, in order: the __metadata__ of safetensors files (.npz has no place for
 * them and leaves them out). Put copies both, which are UTF-8, else WEFT_E_ARGUMENT, as for a key
 * that is there; WEFT_E_NULL, WEFT_E_MEMORY. */
WEFT_API weft_status weft_bundle_put_text(weft_bundle *bundle, const char *key, const char *text);
/* Borrowed and NUL-terminated; NULL where absent. *n_bytes (may be NULL): what comes from a file
 * may have NULs inside. */
WEFT_API const char *weft_bundle_find_text(const weft_bundle *bundle, const char *key,
                                           size_t *n_bytes);
WEFT_API size_t weft_bundle_n_texts(const weft_bundle *bundle);
/* The same by place, with the key (may be NULL). */
WEFT_API const char *weft_bundle_text_at(const weft_bundle *bundle, size_t i, const char **key,
                                         size_t *n_bytes);

/* Load: *out is owned by the caller; on failure it is NULL. Errors as weft_npy_load's. An archive's
 * members must be stored, as numpy.savez does: compressed ones are WEFT_E_UNSUPPORTED.
 * Save: errors as weft_npy_save's; nothing is written when anything fails. */
WEFT_API weft_status weft_npz_load(weft_engine *engine, const char *path, weft_bundle **out);
WEFT_API weft_status weft_npz_save(const weft_bundle *bundle, const char *path);
WEFT_API weft_status weft_safetensors_load(weft_engine *engine, const char *path,
                                           weft_bundle **out);
WEFT_API weft_status weft_safetensors_save(const weft_bundle *bundle, const char *path);

#ifdef __cplusplus
}
#endif
#endif
