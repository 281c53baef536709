/* Monotonic time. */
#ifndef WEFT_BASE_CLOCK_H
#define WEFT_BASE_CLOCK_H

double weft_clock_seconds(void);

#endif
