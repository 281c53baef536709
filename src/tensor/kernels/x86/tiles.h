/* AMX's tiles of 16 rows of 64 bytes, all eight of them. Where WEFT_TILES_MODEL names a header,
 * that defines the instructions instead, so that a kernel's logic runs on any machine. */
#ifndef WEFT_KERNELS_TILES_H
#define WEFT_KERNELS_TILES_H

#ifdef WEFT_TILES_MODEL
#include WEFT_TILES_MODEL
#else
#include <immintrin.h>
#endif
#include <stdint.h>

/* The memory operand of ldtilecfg (Intel's manual, volume 2): palette 1, then columns in bytes and
 * rows of each tile. Static, for gcc 12 may drop the stores to one on the stack. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_config;

static const tile_config whole_tiles = {
    .palette = 1,
    .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

/* Tiles are zeros afterwards, and belong to this thread until tiles_end. */
static inline void tiles_begin(void) {
    _tile_loadconfig(&whole_tiles);
}
static inline void tiles_end(void) {
    _tile_release();
}

#endif
