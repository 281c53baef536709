/* The .npy format: NEP 1 and numpy.lib.format's documentation. */
#ifndef WEFT_LOADER_NPY_H
#define WEFT_LOADER_NPY_H

#include <weft/tensor.h>

typedef struct weft_npy {
    weft_dtype dtype;
    bool fortran; /* the first dim is the fastest */
    bool swapped; /* big-endian */
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    const unsigned char *data;
    size_t size_bytes; /* of the elements */
} weft_npy;

/* The header of a whole file; `data` is borrowed. The elements take exactly the bytes that follow
 * it. Errors: WEFT_E_FORMAT, _UNSUPPORTED. */
weft_status weft_npy_parse(const unsigned char *data, size_t n, weft_npy *out);
/* The elements in C order and the machine's byte order. WEFT_E_FORMAT for a bool not 0 or 1. */
weft_status weft_npy_read(const weft_npy *npy, void *to);

#define WEFT_NPY_HEADER_ROOM 384
/* A header of version 1 in C order, a multiple of 64 bytes; *n is its length. WEFT_E_DTYPE where
 * the format has no such type. */
weft_status weft_npy_header(weft_dtype dtype, int rank, const int64_t *dims,
                            char out[WEFT_NPY_HEADER_ROOM], size_t *n);

#endif
