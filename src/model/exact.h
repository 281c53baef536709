/* Elementary functions in double whose bits do not depend on the C library or the CPU: only the
 * four operations of IEEE arithmetic in a fixed order. Error below 4e-16 relative (sin and cos:
 * absolute, for |x| < 1e9 plus one rounding of x itself). Internal. */
#ifndef WEFT_MODEL_EXACT_H
#define WEFT_MODEL_EXACT_H

double weft_exact_exp(double x); /* 0 below -745, infinity above 709.8, NaN for NaN */
double weft_exact_log(double x); /* x > 0 and finite */
void weft_exact_sincos(double x, double *sine, double *cosine);

#endif
