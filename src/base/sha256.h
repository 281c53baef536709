/* SHA-256 (FIPS 180-4), in pieces. */
#ifndef WEFT_BASE_SHA256_H
#define WEFT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct weft_sha256 {
    uint32_t state[8];
    uint64_t n_bytes; /* so far */
    unsigned char block[64];
} weft_sha256;

void weft_sha256_start(weft_sha256 *h);
void weft_sha256_add(weft_sha256 *h, const void *data, size_t size_bytes);
void weft_sha256_finish(weft_sha256 *h, uint8_t digest[32]);

#endif
