/* Rotary position embedding (Su et al., "RoFormer", 2021) from tables of cos and sin. */
#include "tensor/nn.h"
#include "tensor/walk.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct rope_job rope_job;
typedef void (*turn_fn)(const float *x, int64_t x_step, const float *c, const float *s,
                        const rope_job *job, float *y);

struct rope_job {
    const float *x, *cos_table, *sin_table;
    const unsigned char *positions;
    float *y;                        /* [T, n_head, head_dim] packed */
    int64_t position_step;           /* bytes */
    int64_t x_token, x_head, x_step; /* elements */
    int64_t cos_row, cos_step, sin_row, sin_step;
    size_t n_head, head_dim, half; /* half: pairs that turn */
    bool interleaved;
    turn_fn turn;
};

/* One head. The fused steps are spelled out, so that every build rounds alike. */
__attribute__((always_inline)) static inline void turn_head(const float *x, int64_t x_step,
                                                            const float *c, const float *s,
                                                            const rope_job *job, float *y) {
    size_t half = job->half;
    if (!job->interleaved && x_step == 1 && job->cos_step == 1 && job->sin_step == 1) {
        for (size_t i = 0; i < half; i++) {
            float x0 = x[i], x1 = x[i + half];
            y[i] = fmaf(x0, c[i], -(x1 * s[i]));
            y[i + half] = fmaf(x0, s[i], x1 * c[i]);
        }
    } else {
        for (size_t i = 0; i < half; i++) {
            size_t at0 = job->interleaved ? 2 * i : i, at1 = job->interleaved ? at0 + 1 : i + half;
            float x0 = x[(int64_t)at0 * x_step], x1 = x[(int64_t)at1 * x_step];
            float ci = c[(int64_t)i * job->cos_step], si = s[(int64_t)i * job->sin_step];
            y[at0] = fmaf(x0, ci, -(x1 * si));
            y[at1] = fmaf(x0, si, x1 * ci);
        }
    }
    for (size_t i = 2 * half; i < job->head_dim; i++)
        y[i] = x[(int64_t)i * x_step];
}

static void turn_plain(const float *x, int64_t x_step, const float *c, const float *s,
                       const rope_job *job, float *y) {
    turn_head(x, x_step, c, s, job, y);
}

#if defined(__x86_64__)
/* The same lines where fmaf is an instruction instead of a call. */
__attribute__((target("avx2,fma"))) static void turn_fma(const float *x, int64_t x_step,
                                                         const float *c, const float *s,
                                                         const rope_job *job, float *y) {
    turn_head(x, x_step, c, s, job, y);
}
#endif

static turn_fn choose_turn(weft_isa isa) {
#if defined(__x86_64__)
    if (weft_isa_includes(isa, WEFT_ISA_AVX2))
        return turn_fma;
#endif
    (void)isa;
    return turn_plain;
}

static int32_t position_at(const rope_job *job, size_t t) {
    int32_t p;
    memcpy(&p, job->positions + (int64_t)t * job->position_step, sizeof p);
    return p;
}

static void rope_tokens(void *ctx, size_t begin, size_t end, int thread) {
    const rope_job *job = ctx;
    (void)thread;
    for (size_t t = begin; t < end; t++) {
        int64_t p = position_at(job, t);
        const float *c = job->cos_table + p * job->cos_row, *s = job->sin_table + p * job->sin_row;
        for (size_t h = 0; h < job->n_head; h++)
            job->turn(job->x + (int64_t)t * job->x_token + (int64_t)h * job->x_head, job->x_step, c,
                      s, job, job->y + (t * job->n_head + h) * job->head_dim);
    }
}

static bool check_rope(weft_scope *s, const weft_tensor *x, const weft_tensor *c,
                       const weft_tensor *sn, const weft_tensor *positions) {
    char text[4][96];
    const weft_tensor *all[] = {x, c, sn, positions};
    for (int i = 0; i < 4; i++) {
        weft_dtype want = i < 3 ? WEFT_F32 : WEFT_I32;
        static const char *const argument[] = {"x", "cos", "sin", "positions"};
        if (!weft_op_plain(s, "rope", all[i]))
            return false;
        if (all[i]->dtype != want) {
            weft_scope_fail(s, WEFT_E_DTYPE, "rope", "%s is %s: %s is needed", argument[i],
                            weft_dtype_name(all[i]->dtype), weft_dtype_name(want));
            return false;
        }
    }
    bool fits = x->rank == 3 && c->rank == 2 && sn->rank == 2 && positions->rank == 1 &&
                c->dims[0] == sn->dims[0] && c->dims[1] == sn->dims[1] &&
                c->dims[1] <= x->dims[2] / 2 && positions->dims[0] == x->dims[0];
    for (int i = 0; i < 4 && !fits; i++)
        weft_shape_text(all[i], text[i], sizeof text[i]);
    if (!fits)
        weft_scope_fail(s, WEFT_E_SHAPE, "rope",
                        "x %s, cos %s, sin %s, positions %s: [T, n_head, head_dim], twice "
                        "[n_positions, n_rot/2] with n_rot <= head_dim, and [T] are needed",
                        text[0], text[1], text[2], text[3]);
    return fits;
}

static bool positions_in_range(weft_scope *s, const rope_job *job, size_t n, int64_t n_positions) {
    for (size_t t = 0; t < n; t++) {
        int32_t p = position_at(job, t);
        if (p >= 0 && p < n_positions)
            continue;
        weft_scope_fail(s, WEFT_E_RANGE, "rope",
                        "positions[%zu] is %d, the tables have %" PRId64 " rows", t, p,
                        n_positions);
        return false;
    }
    return true;
}

weft_tensor *weft_rope(weft_scope *s, weft_tensor *x, weft_tensor *cos_table,
                       weft_tensor *sin_table, weft_tensor *positions, bool interleaved) {
    weft_tensor *inputs[] = {x, cos_table, sin_table, positions};
    if (!weft_scope_ready(s, "rope", inputs, 4) ||
        !check_rope(s, x, cos_table, sin_table, positions))
        return NULL;
    weft_tensor *y = weft_scope_new(s, "rope", WEFT_F32, 3, x->dims);
    weft_op op;
    if (y == NULL || !weft_op_begin(&op, s, "rope", inputs, 4))
        return NULL;
    rope_job job = {.x = weft_tensor_data(x),
                    .cos_table = weft_tensor_data(cos_table),
                    .sin_table = weft_tensor_data(sin_table),
                    .positions = weft_tensor_data(positions),
                    .y = weft_tensor_data(y),
                    .position_step = positions->strides[0] * (int64_t)sizeof(int32_t),
                    .x_token = x->strides[0],
                    .x_head = x->strides[1],
                    .x_step = x->strides[2],
                    .cos_row = cos_table->strides[0],
                    .cos_step = cos_table->strides[1],
                    .sin_row = sin_table->strides[0],
                    .sin_step = sin_table->strides[1],
                    .n_head = (size_t)x->dims[1],
                    .head_dim = (size_t)x->dims[2],
                    .half = (size_t)cos_table->dims[1],
                    .interleaved = interleaved,
                    .turn = choose_turn(weft_scope_kernels(s)->isa)};
    size_t n = (size_t)x->dims[0];
    bool fits = positions_in_range(s, &job, n, cos_table->dims[0]);
    if (fits && weft_tensor_numel(y) > 0)
        weft_op_loop(s, n, job.n_head * job.head_dim, rope_tokens, &job);
    weft_op_end(&op);
    return fits ? y : NULL;
}
