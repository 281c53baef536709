/* A typed map from key to value, in insertion order: what loaders read of a model beside its
 * tensors. Keys of GGUF files are theirs ("llama.block_count"); members of a Hugging Face
 * config.json keep their names, nested ones joined by dots ("rope_parameters.rope_theta"). Owns all
 * its memory. */
#ifndef WEFT_BASE_METADATA_H
#define WEFT_BASE_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/extra/inspect.h>

typedef struct weft_metadata weft_metadata;

weft_metadata *weft_metadata_create(const weft_allocator *a); /* NULL: no memory */
void weft_metadata_destroy(weft_metadata *m);                 /* NULL is allowed */

/* Adding: copies key and value. WEFT_E_FORMAT for a key that exists, WEFT_E_MEMORY. */
weft_status weft_metadata_put(weft_metadata *m, const char *key, size_t key_bytes,
                              const weft_value *value);
/* An array of scalars: `data` holds n elements in native byte order (BOOL: one byte each). */
weft_status weft_metadata_put_array(weft_metadata *m, const char *key, size_t key_bytes,
                                    weft_value_type type, const void *data, size_t n);
/* An array of n strings: lengths and one blob in which they follow each other. Arrays of arrays are
 * put as an array of type WEFT_VALUE_ARRAY and n, without their elements. */
weft_status weft_metadata_put_strings(weft_metadata *m, const char *key, size_t key_bytes,
                                      const char *blob, const size_t *lengths, size_t n);

/* A copy of entry i of another map. */
weft_status weft_metadata_put_from(weft_metadata *m, const weft_metadata *from, size_t i);

size_t weft_metadata_count(const weft_metadata *m);
/* Entry i, its key NUL-terminated; NULL out of range. */
const char *weft_metadata_at(const weft_metadata *m, size_t i, weft_value *value);
/* False if absent. O(1). */
bool weft_metadata_find(const weft_metadata *m, const char *key, weft_value *value);
bool weft_metadata_index(const weft_metadata *m, const char *key, size_t *index);
/* Element j of the array in entry i. */
bool weft_metadata_item(const weft_metadata *m, size_t i, size_t j, weft_value *value);

/* Typed reading. Each gives WEFT_E_NOT_FOUND (no detail is set) when absent and WEFT_E_FORMAT with
 * a detail naming the key when the type or range is wrong; any integer type that fits is accepted.
 */
weft_status weft_metadata_u32(const weft_metadata *m, const char *key, uint32_t *out);
weft_status weft_metadata_f64(const weft_metadata *m, const char *key, double *out); /* ints too */
weft_status weft_metadata_bool(const weft_metadata *m, const char *key, bool *out);
/* Borrowed, NUL-terminated; a string with a NUL inside is WEFT_E_FORMAT. */
weft_status weft_metadata_string(const weft_metadata *m, const char *key, const char **out);
/* The elements of a numeric array in native memory: I8 … F64 as stored. Borrowed. */
weft_status weft_metadata_array(const weft_metadata *m, const char *key, weft_value_type *type,
                                const void **data, size_t *n);

#endif
