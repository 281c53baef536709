/* Timing every kernel of kernels.list in every variant that this machine can run. */
#ifndef WEFT_KERNELS_TIME_KERNELS_H
#define WEFT_KERNELS_TIME_KERNELS_H

#include <weft/extra/bench.h>

/* As weft_time_kernels, whose arguments are checked. */
weft_status weft_kernels_time(const weft_allocator *a, const char *filter, double seconds,
                              weft_kernel_time_fn fn, void *ctx);

#endif
