/* Elementary functions in double with one fixed order of IEEE operations: argument reduction by
 * constants split into short parts (Cody and Waite 1980), then a Taylor series. */
#include "model/exact.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
static const double INV_LN2 = 0x1.71547652b82fep+0;
static const double HALF_PI_A = 0x1.921fb5p+0, HALF_PI_B = 0x1.110b46p-26;
static const double HALF_PI_C = 0x1.1a62633145c07p-54, TWO_OVER_PI = 0x1.45f306dc9c883p-1;

/* 1 / n! for n = 0, 1, …: n! is exact in a double up to 22!. */
#define N_TERMS 19
static const double INVERSE_FACTORIALS[N_TERMS] = {1.0,
                                                   1.0,
                                                   1.0 / 2,
                                                   1.0 / 6,
                                                   1.0 / 24,
                                                   1.0 / 120,
                                                   1.0 / 720,
                                                   1.0 / 5040,
                                                   1.0 / 40320,
                                                   1.0 / 362880,
                                                   1.0 / 3628800,
                                                   1.0 / 39916800,
                                                   1.0 / 479001600,
                                                   1.0 / 6227020800,
                                                   1.0 / 87178291200,
                                                   1.0 / 1307674368000,
                                                   1.0 / 20922789888000,
                                                   1.0 / 355687428096000,
                                                   1.0 / 6402373705728000};

/* 2^k for -1022 <= k <= 1023. */
static double power_of_two(int k) {
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

double weft_exact_exp(double x) {
    if (x != x)
        return x;
    if (x > 709.7)
        return INFINITY;
    if (x < -745.0)
        return 0.0;
    double k = rint(x * INV_LN2), r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 0;
    for (int i = N_TERMS - 1; i >= 0; i--)
        sum = sum * r + INVERSE_FACTORIALS[i];
    int half = (int)k / 2; /* two steps, so that results below 2^-1022 round once */
    return sum * power_of_two((int)k - half) * power_of_two(half);
}

/* e^x for x <= 0, with an error below 1e-9 relative, the same bits everywhere: a fixed order of
 * IEEE operations without branches, so that rows of it are quick. */
static double quick_exp(double x) {
    static const double MAGIC = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to a whole */
    x = x < -700 ? -700 : x;
    double shifted = x * 0x1.71547652b82fep+0 + MAGIC, k = shifted - MAGIC;
    double r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double sum = 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 1.0 / 2;
    sum = sum * r + 1;
    sum = sum * r + 1;
    uint64_t bits, scale;
    memcpy(&bits, &shifted, sizeof bits);
    scale = (bits + 1023) << 52; /* the low bits of `shifted` are k */
    double power;
    memcpy(&power, &scale, sizeof power);
    return sum * power;
}

void weft_exact_exp_row(const double *x, double top, double *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - top, e = quick_exp(d);
        out[i] = d > -700 ? e : 0;
    }
}

double weft_exact_log(double x) {
    int k;
    double m = frexp(x, &k);
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    double s = (m - 1) / (m + 1), z = s * s, sum = 0;
    for (int n = 23; n >= 3; n -= 2)
        sum = (sum + 1.0 / n) * z;
    return k * LN2_HIGH + (k * LN2_LOW + (2 * s + 2 * s * sum));
}

void weft_exact_sincos(double x, double *sine, double *cosine) {
    double k = rint(x * TWO_OVER_PI);
    double r = ((x - k * HALF_PI_A) - k * HALF_PI_B) - k * HALF_PI_C, z = r * r;
    double s = 0, c = 0; /* |r| <= pi/4: the next terms are below 2^-57 */
    for (int i = N_TERMS - 2; i >= 1; i -= 2) {
        s = INVERSE_FACTORIALS[i] - s * z;
        c = INVERSE_FACTORIALS[i + 1] - c * z;
    }
    c = 1.0 - c * z;
    s *= r;
    switch ((int64_t)k & 3) {
    case 0:
        *sine = s;
        *cosine = c;
        break;
    case 1:
        *sine = c;
        *cosine = -s;
        break;
    case 2:
        *sine = -s;
        *cosine = -c;
        break;
    default:
        *sine = -c;
        *cosine = s;
        break;
    }
}
