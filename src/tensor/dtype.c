/* The table of data types. */
#include <weft/tensor.h>

typedef struct dtype_row {
    const char *name;
    unsigned short block, block_bytes;
} dtype_row;

static const dtype_row rows[WEFT_DTYPE_COUNT] = {
#define DTYPE_ROW(name, spelling, block, bytes) {spelling, block, bytes},
    WEFT_DTYPES(DTYPE_ROW)
#undef DTYPE_ROW
};

static const dtype_row unknown = {"?", 0, 0};

static const dtype_row *row_of(weft_dtype dtype) {
    return (unsigned)dtype < WEFT_DTYPE_COUNT ? &rows[dtype] : &unknown;
}

const char *weft_dtype_name(weft_dtype dtype) {
    return row_of(dtype)->name;
}

size_t weft_dtype_block(weft_dtype dtype) {
    return row_of(dtype)->block;
}

size_t weft_dtype_block_bytes(weft_dtype dtype) {
    return row_of(dtype)->block_bytes;
}

bool weft_dtype_is_float(weft_dtype dtype) {
    return dtype == WEFT_F64 || dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

bool weft_dtype_is_integer(weft_dtype dtype) {
    return dtype == WEFT_I64 || dtype == WEFT_I32 || dtype == WEFT_I16 || dtype == WEFT_I8 ||
           dtype == WEFT_U8;
}

bool weft_dtype_is_quantized(weft_dtype dtype) {
    return row_of(dtype)->block > 1;
}
