/* Calls that are timed: products with panels and of matrices, and what packs their operands. */
#include "tensor/kernels/time_calls.h"

static void call_quantize_q8(const time_call *c) {
    const weft_q8_rows *q = &c->o->q8;
    c->k->quantize_q8(c->o->x, TIME_COLS, q->q, q->d, q->sums);
}

static void call_panel_q8(const time_call *c) {
    weft_q8_rows x = c->o->q8;
    x.n = c->rows;
    c->k->panel_q8(c->type, c->o->weights, c->n_panels, &x, c->o->y, c->n_panels * WEFT_PANEL_ROWS);
}

static void call_panel_f32(const time_call *c) {
    c->k->panel_f32(c->type, c->o->weights, c->n_panels, c->o->x, c->rows, TIME_COLS, TIME_COLS,
                    c->o->y, c->n_panels * WEFT_PANEL_ROWS);
}

static void call_gemm_pack(const time_call *c) {
    c->k->gemm_pack(c->o->x, TIME_FLOATS / WEFT_PANEL_ROWS, true, TIME_FLOATS / WEFT_PANEL_ROWS,
                    WEFT_PANEL_ROWS, c->o->y);
}

/* TIME_BLOCK rows of a times TIME_FLOATS / TIME_BLOCK by TIME_BLOCK of panels. */
static void call_gemm(const time_call *c) {
    c->k->gemm(c->o->x, TIME_FLOATS / TIME_BLOCK, TIME_BLOCK, TIME_FLOATS / TIME_BLOCK,
               (const float *)(const void *)c->o->weights, 16, 16 * (TIME_FLOATS / TIME_BLOCK),
               TIME_BLOCK, c->o->y, TIME_BLOCK, true);
}

static void call_gemv_rows(const time_call *c) {
    c->k->gemv_rows(c->o->x, TIME_FLOATS / TIME_BLOCK, TIME_BLOCK, TIME_FLOATS / TIME_BLOCK,
                    c->o->sums, c->o->y);
}

static void call_gemv_columns(const time_call *c) {
    c->k->gemv_columns(c->o->x, TIME_FLOATS / TIME_BLOCK, TIME_BLOCK, TIME_FLOATS / TIME_BLOCK,
                       c->o->sums, c->o->y);
}

/* Any bytes will do for tiles of x, and room beside them for sums. */
static void call_panel_bf16(const time_call *c) {
    weft_bf16_rows x = {(const uint16_t *)(const void *)c->o->x, weft_bf16_step(TIME_COLS), c->rows,
                        TIME_COLS};
    c->k->panel_bf16(c->type, c->o->weights, c->n_panels, &x, c->o->sums, c->o->y,
                     c->n_panels * WEFT_PANEL_ROWS);
}

static void call_rows_bf16(const time_call *c) {
    c->k->rows_bf16(c->o->x, WEFT_PANEL_ROWS, TIME_COLS, TIME_COLS, (uint16_t *)(void *)c->o->y);
}

const time_entry weft_time_products[] = {
    {.entry = "quantize_q8",
     .run = call_quantize_q8,
     .kind = WORK_FLOATS,
     .bytes = 5,
     .elements = TIME_COLS},
    {.entry = "panel_q8", .run = call_panel_q8, .kind = WORK_PANELS, .bytewise = true},
    {.entry = "panel_f32", .run = call_panel_f32, .kind = WORK_PANELS},
    {.entry = "gemm_pack", .run = call_gemm_pack, .kind = WORK_FLOATS, .bytes = 8},
    {.entry = "gemm", .run = call_gemm, .kind = WORK_BLOCK},
    {.entry = "gemv_rows", .run = call_gemv_rows, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "gemv_columns", .run = call_gemv_columns, .kind = WORK_FLOATS, .bytes = 4},
    {.entry = "rows_bf16",
     .run = call_rows_bf16,
     .kind = WORK_FLOATS,
     .bytes = 6,
     .elements = WEFT_PANEL_ROWS * TIME_COLS},
    {.entry = "panel_bf16", .run = call_panel_bf16, .kind = WORK_TILES},
    {.entry = NULL},
};
