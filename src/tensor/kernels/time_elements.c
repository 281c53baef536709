/* Calls that are timed: norms, elementwise functions, folds and recurrent layers. */
#include "tensor/kernels/time_calls.h"

static void call_rms_norm(const time_call *c) {
    c->k->rms_norm(c->o->x, c->o->x + TIME_FLOATS, TIME_FLOATS, 1e-5f, c->o->y);
}

static void call_layer_norm(const time_call *c) {
    c->k->layer_norm(c->o->x, c->o->x + TIME_FLOATS, c->o->x + TIME_FLOATS, TIME_FLOATS, 1e-5f,
                     c->o->y);
}

static void call_softmax(const time_call *c) {
    c->k->softmax(c->o->x, TIME_FLOATS, c->o->y);
}

#define CALL_ONE(entry)                                                                            \
    static void call_##entry(const time_call *c) {                                                 \
        c->k->entry(c->o->x, TIME_FLOATS, c->o->y);                                                \
    }
CALL_ONE(exp)
CALL_ONE(tanh)
CALL_ONE(silu)
CALL_ONE(gelu_tanh)
CALL_ONE(gelu_erf)
CALL_ONE(sigmoid)
CALL_ONE(softplus)

/* States of TIME_FLOATS elements, and rows of the shapes found in models. */
static void call_conv_row(const time_call *c) {
    const float *x[4];
    for (size_t i = 0; i < 4; i++)
        x[i] = c->o->x + i * TIME_FLOATS;
    c->k->conv_row(x, c->o->x, TIME_FLOATS, NULL, 4, TIME_FLOATS, c->o->y);
}

static void call_delta_step(const time_call *c) {
    const float *x = c->o->x;
    c->k->delta_step(x, x, x, 0.9f, 0.5f, TIME_FLOATS / 64, 64, x + TIME_FLOATS, 64, c->o->y, 64,
                     c->o->y + TIME_FLOATS);
}

static void call_ssm_scan(const time_call *c) {
    const float *x = c->o->x;
    c->k->ssm_scan(TIME_FLOATS / 16, 16, x + TIME_FLOATS, c->o->y, x + 2 * TIME_FLOATS, x, x, x, x,
                   x, c->o->y + TIME_FLOATS);
}

static void call_ssm_head(const time_call *c) {
    const float *x = c->o->x;
    c->k->ssm_head(TIME_FLOATS / 128, 128, x + TIME_FLOATS, c->o->y, 0.9f, 0.1f, x, x, x, 1,
                   c->o->y + TIME_FLOATS);
}

#define CALL_TWO(entry)                                                                            \
    static void call_##entry(const time_call *c) {                                                 \
        c->k->entry(c->o->x, c->o->x + TIME_FLOATS, TIME_FLOATS, c->o->y);                         \
    }
CALL_TWO(mul)
CALL_TWO(add)

static void call_scale(const time_call *c) {
    c->k->scale(c->o->x, TIME_FLOATS, 1.5f, c->o->y);
}

static void call_f16_to_f32(const time_call *c) {
    c->k->f16_to_f32((const uint16_t *)(const void *)c->o->weights, TIME_FLOATS, c->o->y);
}

static void call_f32_to_f16(const time_call *c) {
    c->k->f32_to_f16(c->o->x, TIME_FLOATS, (uint16_t *)(void *)c->o->y);
}

static void call_bf16_to_f32(const time_call *c) {
    c->k->bf16_to_f32((const uint16_t *)(const void *)c->o->weights, TIME_FLOATS, c->o->y);
}

static void call_f32_to_bf16(const time_call *c) {
    c->k->f32_to_bf16(c->o->x, TIME_FLOATS, (uint16_t *)(void *)c->o->y);
}

static void call_sum_row(const time_call *c) {
    c->k->sum_row(c->o->x, TIME_FLOATS, (double *)(void *)c->o->y);
}

static void call_sum_columns(const time_call *c) {
    c->k->sum_columns(c->o->x, 0, 1, 0, TIME_FLOATS, (double *)(void *)c->o->y);
}

static void call_sum_tree(const time_call *c) {
    double *sums = (double *)(void *)c->o->y;
    c->k->sum_tree(c->o->x, TIME_FLOATS / 64, 64, TIME_FLOATS / 64, sums, sums + TIME_FLOATS);
}

static void call_best_row(const time_call *c) {
    c->o->y[0] = c->k->best_row(c->o->x, TIME_FLOATS, 1);
}

static void call_best_columns(const time_call *c) {
    c->k->best_columns(c->o->x, 0, 1, 0, TIME_FLOATS, 1, c->o->y);
}

static void call_arg_columns(const time_call *c) {
    float *best = c->o->y;
    c->k->arg_columns(c->o->x, 0, 1, TIME_FLOATS, 1, 0, best,
                      (int32_t *)(void *)(best + TIME_FLOATS));
}

static void call_moments_row(const time_call *c) {
    double *sums = (double *)(void *)c->o->y;
    c->k->moments_row(c->o->x, TIME_FLOATS, 0, sums, sums + 16);
}

static void call_moments_columns(const time_call *c) {
    double *sums = (double *)(void *)c->o->y;
    c->k->moments_columns(c->o->x, 0, 1, TIME_FLOATS, c->o->x + TIME_FLOATS, sums,
                          sums + TIME_FLOATS);
}

static void call_whole_row(const time_call *c) {
    *(int64_t *)(void *)c->o->y =
        c->k->whole_row(WEFT_IN_I32, WEFT_WHOLE_SUM, c->o->x, TIME_FLOATS, 0);
}

static void call_whole_columns(const time_call *c) {
    c->k->whole_columns(WEFT_IN_I32, WEFT_WHOLE_SUM, c->o->x, 0, 1, TIME_FLOATS,
                        (int64_t *)(void *)c->o->y);
}

/* One instruction an element, and a polynomial in double. */
const time_map weft_time_maps[TIME_MAPS] = {
    {"sub f32", WEFT_MAP_SUB, WEFT_IN_F32, 12},
    {"log f64", WEFT_MAP_LOG, WEFT_IN_F64, 16},
};

static void call_map(const time_call *c) {
    const time_map *m = &weft_time_maps[c->rows];
    const weft_map_args args = {.f0 = 1};
    const void *in[2] = {c->o->x, c->o->x + TIME_FLOATS};
    c->k->map(m->op, m->domain)(&args, in, TIME_FLOATS, c->o->y);
}

const time_entry weft_time_elements[] = {
    {.entry = "rms_norm", .run = call_rms_norm, .kind = WORK_FLOATS, .bytes = 12},
    {.entry = "layer_norm", .run = call_layer_norm, .kind = WORK_FLOATS, .bytes = 16},
    {.entry = "softmax", .run = call_softmax, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "exp", .run = call_exp, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "tanh", .run = call_tanh, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "silu", .run = call_silu, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "gelu_tanh", .run = call_gelu_tanh, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "gelu_erf", .run = call_gelu_erf, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "sigmoid", .run = call_sigmoid, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "softplus", .run = call_softplus, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "conv_row", .run = call_conv_row, .kind = WORK_FLOATS, .bytes = 36},
    {.entry = "delta_step", .run = call_delta_step, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "ssm_scan", .run = call_ssm_scan, .kind = WORK_FLOATS, .bytes = 12},
    {.entry = "ssm_head", .run = call_ssm_head, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "mul", .run = call_mul, .kind = WORK_FLOATS, .bytes = 12},
    {.entry = "add", .run = call_add, .kind = WORK_FLOATS, .bytes = 12},
    {.entry = "scale", .run = call_scale, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "f16_to_f32", .run = call_f16_to_f32, .kind = WORK_FLOATS, .bytes = 6},
    {.entry = "f32_to_f16", .run = call_f32_to_f16, .kind = WORK_FLOATS, .bytes = 6},
    {.entry = "bf16_to_f32", .run = call_bf16_to_f32, .kind = WORK_FLOATS, .bytes = 6},
    {.entry = "f32_to_bf16", .run = call_f32_to_bf16, .kind = WORK_FLOATS, .bytes = 6},
    {.entry = "sum_row", .run = call_sum_row, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "sum_columns", .run = call_sum_columns, .kind = WORK_FLOATS, .bytes = 20},
    {.entry = "sum_tree", .run = call_sum_tree, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "best_row", .run = call_best_row, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "best_columns", .run = call_best_columns, .kind = WORK_FLOATS, .bytes = 12},
    {.entry = "arg_columns", .run = call_arg_columns, .kind = WORK_FLOATS, .bytes = 20},
    {.entry = "moments_row", .run = call_moments_row, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "moments_columns", .run = call_moments_columns, .kind = WORK_FLOATS, .bytes = 40},
    {.entry = "whole_row", .run = call_whole_row, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "whole_columns", .run = call_whole_columns, .kind = WORK_FLOATS, .bytes = 20},
    {.entry = "map", .run = call_map, .kind = WORK_MAPS},
    {.entry = NULL},
};
