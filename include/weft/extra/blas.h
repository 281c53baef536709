/* The linear algebra library behind float matrix products. Public, but not ABI-stable. */
#ifndef WEFT_EXTRA_BLAS_H
#define WEFT_EXTRA_BLAS_H

#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the thread count of OpenBLAS for the whole process, which libweft never does by itself; an
 * application whose own threads keep the cores busy sets it to 1, which also ends the threads that
 * OpenBLAS started when it was loaded. n < 1 and builds without
 * OpenBLAS: no effect. Any thread, while no product is running. */
WEFT_API void weft_blas_set_threads(int n);

#ifdef __cplusplus
}
#endif
#endif
