/* What readers and writers of safetensors files share: weft's types, memory and statuses. */
#ifndef WEFT_LOADER_SAFETENSORS_FILE_H
#define WEFT_LOADER_SAFETENSORS_FILE_H

#include "loader/safetensors.h"
#include <weft/tensor.h>

/* Parses a file's bytes with weft's allocator, which must live as long as *out; freed by
 * weft_safetensors_free. Errors: WEFT_E_FORMAT, _UNSUPPORTED, _MEMORY. */
weft_status weft_safetensors_open(const weft_allocator *a, const unsigned char *data, size_t n,
                                  weft_safetensors *out);
/* Errors: WEFT_E_UNSUPPORTED, with a detail that names the tensor. */
weft_status weft_safetensors_type(const weft_safetensors_tensor *t, weft_dtype *out);

#endif
