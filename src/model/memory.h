/* How much memory this process may use. */
#ifndef WEFT_MODEL_MEMORY_H
#define WEFT_MODEL_MEMORY_H

#include <stdint.h>

/* The least of the machine's physical memory and the limits of the process's memory cgroup and its
 * ancestors (v1 and v2); UINT64_MAX when nothing is known. */
uint64_t weft_memory_limit(void);

#endif
