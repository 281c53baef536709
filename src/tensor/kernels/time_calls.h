/* How time_kernels.c calls each operation, by subject. Private to time_*.c. */
#ifndef WEFT_KERNELS_TIME_CALLS_H
#define WEFT_KERNELS_TIME_CALLS_H

#include "tensor/kernels/panel.h"
#include "tensor/kernels/table.h"

/* ---- Operands: bytes of one value that is an ordinary number in every type ---- */

#define TIME_ROWS 512
#define TIME_COLS 2048
#define TIME_HEAD_DIM 128
#define TIME_POSITIONS 64
#define TIME_FLOATS 4096 /* of an elementwise call */
#define TIME_BLOCK 48    /* rows of a product of floats, whole tiles of any CPU */
#define TIME_WEIGHT_BYTES ((size_t)128 << 20) /* more than the caches hold */

typedef struct time_operands {
    unsigned char *weights; /* [TIME_WEIGHT_BYTES] */
    float *x, *y;           /* [TIME_ROWS, TIME_COLS]; y also takes one GEMV of the weights */
    float *sums;            /* [y_floats], and as much as another panel needs */
    weft_q8_rows q8;
    size_t y_floats;
    size_t *turn; /* counts up, where each call reads another place */
} time_operands;

typedef struct time_call {
    const weft_kernels *k;
    const time_operands *o;
    weft_dtype type;
    size_t rows, n_panels;
} time_call;

typedef enum work_kind {
    WORK_PANELS,    /* weights times 1, 4 and 64 rows */
    WORK_TILES,     /* weights of every type times 32, 128 and 512 rows */
    WORK_CACHE,     /* positions of one head, of every type of a cache */
    WORK_HISTORY,   /* the same, out of memory, for three queries */
    WORK_ATTENTION, /* the same as floats, for 1 and 16 queries */
    WORK_QUERIES,   /* the same as tiles, for all queries that go together */
    WORK_MAPS,      /* TIME_FLOATS elements of some functions */
    WORK_BLOCK,     /* a product of floats that stays in the caches */
    WORK_FLOATS     /* TIME_FLOATS elements, `bytes` each */
} work_kind;

typedef struct time_entry {
    const char *entry;
    void (*run)(const time_call *c);
    work_kind kind;
    bool bytewise;   /* panels: products of bytes, for the quantised types */
    size_t bytes;    /* of an element that moves */
    size_t elements; /* of a call; 0: TIME_FLOATS */
} time_entry;

/* Each ends with an entry of zeros. */
extern const time_entry weft_time_products[], weft_time_attention[], weft_time_elements[];

/* Some of the many functions, which `map` is timed with: `rows` of a call is the index. */
typedef struct time_map {
    const char *name;
    weft_map_op op;
    weft_domain domain;
    size_t bytes;
} time_map;
#define TIME_MAPS 2
extern const time_map weft_time_maps[TIME_MAPS];

/* Bytes of one head's position in a cache of a type. */
size_t weft_time_head_bytes(weft_dtype type);

#endif
