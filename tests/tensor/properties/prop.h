/* Property tests: every op of weft/extra/op_list.h against a naive loop in f64 (int64 for
 * integers). A check makes or picks random operands, calls its op, compares, and puts the result
 * where later checks may pick it: so a series of checks is a random program over views of views. */
#ifndef WEFT_TESTS_PROP_H
#define WEFT_TESTS_PROP_H

#include "ops_test.h"

#define POOL 12

typedef struct prop {
    fixture base; /* engine, scope, rng */
    weft_tensor *pool[POOL];
    size_t n_pool;
    const char *op; /* being checked */
    uint64_t seed;  /* of the program, for messages */
    bool tame;      /* fresh operands only, without NaN and infinities */
} prop;

/* A tensor's elements: f for float types, i for the others. */
typedef struct nd {
    weft_dtype dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK];
    size_t n;
    double *f;
    int64_t *i;
} nd;

typedef struct prop_check {
    const char *name;
    void (*check)(prop *p);
} prop_check;

/* One list a family; a row {NULL, NULL} at the end. */
extern const prop_check prop_creation[], prop_views[], prop_maps[], prop_reductions[], prop_order[],
    prop_index[], prop_neural[];

/* ---- Chance ---- */

int64_t below(prop *p, int64_t n); /* 0 … n - 1 */
bool one_in(prop *p, int64_t n);
weft_dtype any_type(prop *p);
weft_dtype float_type(prop *p);
weft_dtype number_type(prop *p);
weft_dtype half_type(prop *p); /* f32 f16 bf16 */
/* Rank within [low, high], some hundred elements at most; sometimes extents of 0 and 1. */
int any_shape(prop *p, int low, int high, int64_t *dims);

/* ---- Operands ---- */

/* A fresh view of data: permuted, stepped, reversed, repeated. */
weft_tensor *fresh(prop *p, weft_dtype dtype, int rank, const int64_t *dims);
/* One of the pool that has such a rank and type (types: the number's bits as of enum below), or a
 * fresh one. */
enum { FLOATS = 1, INTEGERS = 2, BOOLS = 4, HALVES = 8, NUMBERS = 3, ALL = 7 };
weft_tensor *pick(prop *p, unsigned types, int low_rank, int high_rank);
/* Another operand of the same type and shape: often the same one. */
weft_tensor *pick_like(prop *p, weft_tensor *t);
void keep(prop *p, weft_tensor *t); /* into the pool */

/* ---- Comparison ---- */

nd load(prop *p, weft_tensor *t);
/* Zeros of a shape. */
nd make_nd(weft_dtype dtype, int rank, const int64_t *dims);
void drop(nd *x);
size_t ravel(const nd *x, const int64_t *at);
void unravel(const nd *x, size_t index, int64_t *at);
/* Element of either kind, exactly, and stored into either kind (floats round to the type). */
long double value(const nd *x, size_t i);
void set(nd *x, size_t i, long double v);
bool is_whole(weft_dtype dtype);
/* The integer wrapped to its type. */
int64_t wrapped(weft_dtype dtype, int64_t v);

/* y has want's type, dims and elements within tolerance * (1 + |want|) (0: equal); frees want;
 * keeps y. Tolerances in units of the type's precision. */
void expect(prop *p, weft_tensor *y, nd *want, double units);
/* The same within tolerance * terms[i]: where terms cancel, an element has the roundings of sums
 * that are greater than itself. NULL: 1 + |want|. */
void expect_terms(prop *p, weft_tensor *y, nd *want, double units, const double *terms);
/* The scope has this error; starts afresh. */
void expect_error(prop *p, const void *result, weft_status status);
void fine(prop *p); /* the scope has no error */

#endif
