/* Products of rows with one or several weights as a job: what linear.c checked and placed,
 * linear_run.c multiplies. Internal to these two. */
#ifndef WEFT_TENSOR_LINEAR_JOB_H
#define WEFT_TENSOR_LINEAR_JOB_H

#include "tensor/gate.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"
#include "tensor/kernels/table.h"

typedef struct linear_part { /* one of the linears */
    const weft_tensor *weight;
    const unsigned char *panels; /* NULL: rows */
    const float *bias;           /* NULL: none */
    int64_t bias_step;
    float *y;                                   /* [n_rows, n_out] */
    size_t n_out, panel_bytes, first, n_panels; /* `first`: its place among all panels */
    bool q8, bf16;                              /* neither: float32 */
} linear_part;

typedef struct linear_job {
    const weft_kernels *k;
    const char *name;
    linear_part parts[WEFT_LINEAR_MANY];
    size_t n_parts, n_panels; /* of all parts */
    const float *x;           /* [n_rows, n_in], row step x_row */
    size_t n_rows, n_in, x_row;
    weft_q8_rows q8;
    uint16_t *tiles; /* of x as bfloat16, 16 rows after 16 rows */
    float *sums;     /* a thread: of parts of the columns of `tiles` */
    size_t sums_floats;
    bool any_q8, any_float, any_bf16;
    const float *up; /* of a gate x; NULL: x goes in as it is */
    size_t up_row;
    weft_activation act; /* of the gate, or of y */
    bool activate_y;
    float *gated; /* [n_rows, n_in] */
    size_t rows_a_group;
    unsigned char *scratch; /* a thread: a chunk of panels and 16 rows */
    size_t scratch_bytes, rows_at;
} linear_job;

/* Places and prepares what the products read, and multiplies: n_in, n_rows and n_panels above 0.
 * False: the scope's status is set. */
bool weft_linear_run(weft_scope *s, linear_job *j);

#endif
