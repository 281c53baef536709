/* .npz: a ZIP archive of .npy files. */
#ifndef WEFT_LOADER_NPZ_H
#define WEFT_LOADER_NPZ_H

#include "tensor/weights.h"

/* Adds the tensors of an archive's bytes under the members' names without ".npy". Errors:
 * WEFT_E_FORMAT, _UNSUPPORTED, _MEMORY. */
weft_status weft_npz_parse(const weft_allocator *a, const unsigned char *data, size_t n,
                           weft_weights *out);

#endif
