/* Elementary functions in double whose bits do not depend on the C library or the CPU: only the
 * four operations of IEEE arithmetic in a fixed order. Error below 4e-16 relative (sin and cos:
 * absolute, for |x| < 1e9 plus one rounding of x itself). Internal. */
#ifndef WEFT_MODEL_EXACT_H
#define WEFT_MODEL_EXACT_H

#include <stddef.h>

double weft_exact_exp(double x); /* 0 below -745, infinity above 709.8, NaN for NaN */
/* out[i] = e^(x[i] - top) for x[i] <= top, -inf included; error below 1e-9 relative, 0 below
 * e^-700. For rows as long as a vocabulary. `out` may be `x`. */
void weft_exact_exp_row(const double *x, double top, double *out, size_t n);
double weft_exact_log(double x); /* x > 0 and finite */
void weft_exact_sincos(double x, double *sine, double *cosine);

#endif
