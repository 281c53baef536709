/* Weights that do not lie in a file as a layer wants them: parts of fused tensors, transposed ones,
 * and stacks of experts. They are made once, beside their source in the weights map, and without a
 * copy where a view serves. */
#include "model/derive.h"

#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "base/floats.h"
#include "model/exact.h"
#include "model/export.h"
#include "model/unpacked.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"

static int64_t rows_up(int64_t rows) {
    return (rows + WEFT_PANEL_ROWS - 1) / WEFT_PANEL_ROWS * WEFT_PANEL_ROWS;
}

static weft_status failed(const weft_scope *s) {
    return weft_scope_status(s) ? weft_fail(weft_scope_status(s), "%s", weft_scope_detail(s))
                                : WEFT_OK;
}

/* ---- Vectors ---- */

static float element(weft_dtype type, const void *data, size_t i) {
    uint16_t h;
    float f;
    if (type == WEFT_F32) {
        memcpy(&f, (const char *)data + i * sizeof f, sizeof f);
        return f;
    }
    memcpy(&h, (const char *)data + i * sizeof h, sizeof h);
    return type == WEFT_F16 ? weft_f16_to_f32(h) : weft_bf16_to_f32(h);
}

weft_status weft_derive_floats(weft_engine *engine, weft_tensor *source, float plus,
                               weft_tensor **out) {
    const void *data;
    int64_t dims[WEFT_MAX_RANK];
    int rank = weft_tensor_rank(source);
    for (int i = 0; i < rank; i++)
        dims[i] = weft_tensor_dim(source, i);
    weft_status st = weft_tensor_create_heap(&engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED,
                                             rank, dims, true, out);
    if (st)
        return st;
    if ((st = weft_tensor_map_read(source, &data))) {
        weft_tensor_release(out);
        return st;
    }
    float *to = weft_tensor_data(*out); /* nobody else has it yet */
    for (size_t i = 0; i < (size_t)weft_tensor_numel(source); i++)
        to[i] = element(weft_tensor_dtype(source), data, i) + plus;
    weft_tensor_unmap(source);
    return WEFT_OK;
}

/* ---- Parts ---- */

/* Q, k or v [rows, …] of a tensor whose rows come K head by K head: a copy. */
static weft_tensor *of_heads(const weft_hparams *h, const weft_layer *l, weft_scope *s,
                             const weft_tensor_rule *rule, const weft_rule_shape *shape,
                             weft_tensor *t) {
    int64_t group = h->n_head / l->n_head_kv, head = l->head_dim;
    int64_t first = rule->part == 0 ? 0 : (group + rule->part - 1) * head;
    int64_t dims[3] = {l->n_head_kv, (group + 2) * head, shape->cols};
    int rank = shape->matrix ? 2 : 1;
    t = weft_tensor_reshape(s, t, rank + 1, dims);
    t = weft_tensor_narrow(s, t, 1, (size_t)first,
                           (size_t)(rule->part == 0 ? group : 1) * (size_t)head);
    int64_t flat[2] = {shape->matrix ? shape->rows : shape->cols, shape->cols};
    return weft_tensor_reshape_copy(s, t, rank, flat);
}

/* Parts of a tensor whose rows come group by group, one after the other: a copy. */
static weft_tensor *of_groups(const weft_network *n, weft_scope *s, const weft_tensor_rule *rule,
                              int32_t layer, const weft_rule_shape *shape, weft_tensor *t) {
    int64_t groups = n->h.rec.n_group, first = shape->first / groups;
    int64_t dims[3] = {groups, shape->file_rows / groups, shape->cols};
    weft_tensor *parts[WEFT_FUSED_PARTS] = {NULL};
    int span = rule->span ? rule->span : 1;
    t = weft_tensor_reshape(s, t, 3, dims);
    for (int i = 0; i < span; i++) {
        int64_t rows = weft_extent_of(n, layer, rule->parts[rule->part + i]) / groups;
        int64_t flat[2] = {groups * rows, shape->cols};
        parts[i] = weft_tensor_narrow(s, t, 1, (size_t)first, (size_t)rows);
        parts[i] = weft_tensor_reshape_copy(s, parts[i], 2, flat);
        first += rows;
    }
    return span > 1 ? weft_concat(s, parts, (size_t)span, 0) : parts[0];
}

/* A matrix a head, of a tensor whose rows come head by head: a view, of floats where blocks would
 * have to be transposed. */
static weft_tensor *of_stack(weft_scope *s, const weft_tensor_rule *rule,
                             const weft_rule_shape *shape, weft_tensor *t) {
    bool transposed = rule->flags & WEFT_RULE_TRANSPOSED;
    int64_t rows = transposed ? shape->cols : shape->rows;
    int64_t dims[3] = {shape->n_stacked, shape->file_rows, transposed ? shape->rows : shape->cols};
    if (transposed && t && weft_dtype_is_quantized(weft_tensor_dtype(t)))
        t = weft_dequantize(s, t);
    t = weft_tensor_reshape(s, t, 3, dims);
    t = weft_tensor_narrow(s, t, 1, (size_t)shape->first, (size_t)rows);
    return transposed ? weft_tensor_transpose(s, t, 1, 2) : t;
}

/* The rule's part of the file's tensor [(n_expert,) rows, cols]. */
static weft_tensor *part_of(const weft_network *n, weft_scope *s, const weft_tensor_rule *rule,
                            int32_t layer, weft_tensor *t) {
    weft_rule_shape shape = weft_rule_shape_of(n, rule, layer);
    if (rule->fusion == WEFT_FUSED_STACK)
        return of_stack(s, rule, &shape, t);
    if (rule->n_rows == WEFT_EXT_ONE && t && weft_tensor_rank(t) == 1)
        return weft_tensor_unsqueeze(s, t, 0);
    if (rule->flags & WEFT_RULE_TRANSPOSED && shape.matrix)
        t = weft_tensor_transpose(s, t, -2, -1);
    int axis = shape.matrix ? -2 : -1;
    size_t rows = (size_t)(shape.matrix ? shape.rows : shape.cols);
    switch (rule->fusion) {
    case WEFT_FUSED_ROWS:
        return weft_tensor_narrow(s, t, axis, (size_t)shape.first, rows);
    case WEFT_FUSED_TURNS:
        return weft_tensor_slice(s, t, axis, rule->part, shape.file_rows, shape.n_parts);
    case WEFT_FUSED_HEADS:
        return of_heads(&n->h, &n->layers[layer], s, rule, &shape, t);
    case WEFT_FUSED_GROUPS:
        return of_groups(n, s, rule, layer, &shape, t);
    case WEFT_FUSED_STACK:
    case WEFT_FUSED_NOT:
        break;
    }
    return t;
}

/* ---- Matrices ---- */

typedef struct derivation {
    weft_binding *b;
    weft_scope *s;
    const weft_tensor_rule *rule;
    int32_t layer;
    weft_rule_shape shape;
    bool apart; /* a tensor for each expert */
    bool f8;    /* the file has 8-bit floats, which become floats of `type` */
    weft_dtype type;
} derivation;

/* The matrix of head e alone, as of_stack has it. */
static weft_tensor *of_head(const derivation *d, const char *name, weft_tensor *t, int32_t e) {
    weft_scope *s = d->s;
    const weft_rule_shape *shape = &d->shape;
    bool transposed = d->rule->flags & WEFT_RULE_TRANSPOSED;
    int64_t rows = transposed ? shape->cols : shape->rows;
    int64_t first = e * shape->file_rows + shape->first;
    t = d->f8 ? weft_f8_rows(d->b, s, name, t, d->type, first, rows)
              : weft_tensor_narrow(s, t, 0, (size_t)first, (size_t)rows);
    if (transposed && t && weft_dtype_is_quantized(weft_tensor_dtype(t)))
        t = weft_dequantize(s, t);
    return transposed ? weft_tensor_transpose(s, t, 0, 1) : t;
}

/* A file's whole tensor of 8-bit floats as floats. */
static weft_tensor *widened(const derivation *d, const char *name, const weft_tensor *t) {
    int64_t dims[3] = {1, 1, 1}, rows = 1;
    int rank = weft_tensor_rank(t);
    for (int i = 0; i < rank; i++)
        dims[i] = weft_tensor_dim(t, i);
    for (int i = 0; i < rank - 1; i++)
        rows *= dims[i];
    weft_tensor *floats = weft_f8_rows(d->b, d->s, name, t, d->type, 0, rows);
    return rank == 2 ? floats : weft_tensor_reshape(d->s, floats, rank, dims);
}

/* The matrix [rows, cols] of expert or head e, borrowed from the scope or the map. */
static weft_tensor *matrix_of(const derivation *d, int32_t e) {
    char name[WEFT_TENSOR_NAME];
    weft_rule_name(d->b->network, d->rule, d->layer, e, name);
    weft_tensor *t = weft_weights_find(d->b->weights, name);
    if (d->rule->fusion == WEFT_FUSED_STACK)
        return of_head(d, name, t, e);
    bool stacked = d->rule->flags & (WEFT_RULE_EXPERTS | WEFT_RULE_HEADS) && !d->apart;
    if (d->f8 && stacked) {
        int64_t rows = weft_tensor_dim(t, 1);
        t = weft_f8_rows(d->b, d->s, name, t, d->type, e * rows, rows);
        return part_of(d->b->network, d->s, d->rule, d->layer, t);
    }
    if (d->f8)
        t = widened(d, name, t);
    t = part_of(d->b->network, d->s, d->rule, d->layer, t);
    return stacked ? weft_tensor_select(d->s, t, 0, (size_t)e) : t;
}

/* Tells the source that a packed tensor's pages can go. */
static void drop(const derivation *d, int32_t e) {
    char name[WEFT_TENSOR_NAME];
    if (!d->b->options->packed)
        return;
    weft_rule_name(d->b->network, d->rule, d->layer, e, name);
    d->b->options->packed(d->b->options->packed_ctx, weft_weights_find(d->b->weights, name));
}

static weft_status pack(const derivation *d, weft_dtype type, weft_tensor **out) {
    int64_t step = d->shape.n_stacked > 1 ? rows_up(d->shape.rows) : d->shape.rows;
    int64_t dims[2] = {step * d->shape.n_stacked, d->shape.cols};
    weft_status st = weft_tensor_create_panels(&d->b->engine->allocator,
                                               weft_weights_slabs(d->b->weights), type, dims, out);
    for (int32_t e = 0; !st && e < d->shape.n_stacked; e++) {
        weft_tensor *matrix = matrix_of(d, e);
        if (!(st = failed(d->s)) &&
            !(st = weft_tensor_pack_into(d->b->engine, matrix, *out, e * step)) &&
            (d->apart || e == d->shape.n_stacked - 1))
            drop(d, e);
        if (!st)
            st = weft_scope_reset(d->s);
    }
    if (st)
        weft_tensor_release(out);
    return st;
}

weft_status weft_derive_panels(weft_engine *engine, weft_slabs *slabs, weft_tensor *stack,
                               weft_tensor **out) {
    weft_scope *s = NULL;
    int64_t n = weft_tensor_dim(stack, 0), rows = weft_tensor_dim(stack, 1);
    int64_t step = n > 1 ? rows_up(rows) : rows;
    int64_t dims[2] = {n * step, weft_tensor_dim(stack, 2)};
    *out = NULL;
    weft_status st = weft_scope_create(engine, WEFT_SCOPE_HEAP, &s);
    if (!st)
        st = weft_tensor_create_panels(&engine->allocator, slabs, weft_tensor_dtype(stack), dims,
                                       out);
    for (int64_t e = 0; !st && e < n; e++) {
        weft_tensor *matrix = weft_tensor_select(s, stack, 0, (size_t)e);
        if (!(st = failed(s)))
            st = weft_tensor_pack_into(engine, matrix, *out, e * step);
    }
    weft_scope_release(&s);
    if (st)
        weft_tensor_release(out);
    return st;
}

/* Experts that the file keeps apart, in its own layout, as one stack: a copy. */
static weft_status stack(const derivation *d, weft_dtype type, weft_tensor **out) {
    int64_t dims[3] = {d->shape.n_stacked, d->shape.rows, d->shape.cols};
    weft_status st = weft_tensor_create_heap(&d->b->engine->allocator, type, WEFT_LAYOUT_STRIDED, 3,
                                             dims, true, out);
    if (st)
        return st;
    size_t bytes = weft_tensor_storage_bytes(*out) / (size_t)d->shape.n_stacked;
    unsigned char *to = weft_tensor_data(*out); /* nobody else has it yet */
    for (int32_t e = 0; !st && e < d->shape.n_stacked; e++, to += bytes) {
        const void *data;
        weft_tensor *matrix = weft_tensor_contiguous(d->s, matrix_of(d, e));
        if ((st = failed(d->s)) || (st = weft_tensor_map_read(matrix, &data)))
            break;
        memcpy(to, data, bytes);
        weft_tensor_unmap(matrix);
        drop(d, e);
        st = weft_scope_reset(d->s);
    }
    if (st)
        weft_tensor_release(out);
    return st;
}

/* The type that 8-bit floats of the rule become: one for all experts. */
static weft_status choose_type(derivation *d, const weft_tensor *source) {
    char name[WEFT_TENSOR_NAME];
    bool f16 = true;
    weft_status st = WEFT_OK;
    d->type = weft_tensor_dtype(source);
    d->f8 = weft_is_f8(source);
    for (int32_t e = 0; d->f8 && !st && e < (d->apart ? d->shape.n_stacked : 1); e++) {
        weft_rule_name(d->b->network, d->rule, d->layer, e, name);
        const weft_tensor *t = weft_weights_find(d->b->weights, name);
        if (weft_tensor_dtype(t) != weft_tensor_dtype(source))
            return weft_fail(WEFT_E_UNSUPPORTED, "%s: experts of several types", name);
        st = weft_f8_range(d->b, name, t, &f16);
    }
    if (d->f8)
        d->type = d->rule->flags & WEFT_RULE_WIDE ? WEFT_F32 : f16 ? WEFT_F16 : WEFT_BF16;
    return st;
}

/* The rule's part of the file as it lies there, where its panels can wait; else *out is NULL. */
static weft_status leave(const derivation *d, weft_tensor *source, weft_tensor **out) {
    weft_fusion fusion = d->rule->fusion;
    bool view = fusion == WEFT_FUSED_NOT || fusion == WEFT_FUSED_ROWS || fusion == WEFT_FUSED_TURNS;
    unsigned made = WEFT_RULE_HEADS | WEFT_RULE_TRANSPOSED;
    *out = NULL;
    if (!view || d->f8 || d->apart || d->rule->flags & made || !weft_can_wait(d->b, source))
        return WEFT_OK;
    weft_tensor *part = part_of(d->b->network, d->s, d->rule, d->layer, source);
    weft_status st = failed(d->s);
    if (st || (st = weft_unpacked_add(d->b, part)))
        return st;
    *out = weft_tensor_retain(part);
    return WEFT_OK;
}

static weft_status make(derivation *d, const char *name, weft_tensor *source, weft_tensor **out) {
    const weft_network *n = d->b->network;
    weft_status st = choose_type(d, source);
    weft_dtype type = d->type;
    if (st)
        return st;
    if (d->rule->fusion == WEFT_FUSED_STACK && d->rule->flags & WEFT_RULE_TRANSPOSED &&
        weft_dtype_is_quantized(type))
        type = WEFT_F32;
    if (d->shape.matrix && d->b->options->pack && !(d->rule->flags & WEFT_RULE_LOOKUP))
        return (st = leave(d, source, out)) || *out ? st : pack(d, type, out);
    if (d->shape.matrix && d->apart)
        return stack(d, d->type, out);
    if (d->f8) {
        source = widened(d, name, source);
        drop(d, 0);
    }
    weft_tensor *part = part_of(n, d->s, d->rule, d->layer, source);
    if (!d->shape.matrix || d->f8 || d->rule->flags & WEFT_RULE_HEADS)
        part = weft_tensor_contiguous(d->s, part);
    if ((st = failed(d->s)))
        return st;
    if (!d->shape.matrix)
        return weft_derive_floats(d->b->engine, part, 0, out);
    *out = weft_tensor_retain(part);
    return WEFT_OK;
}

/* Rows that the file keeps apart, as one matrix. */
static weft_status gather_rows(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                               weft_tensor **out) {
    char name[WEFT_TENSOR_NAME];
    weft_rule_shape shape = weft_rule_shape_of(b->network, rule, layer);
    int64_t dims[2] = {shape.rows, shape.cols};
    weft_status st = weft_tensor_create_heap(&b->engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED,
                                             2, dims, true, out);
    if (st)
        return st;
    float *to = weft_tensor_data(*out); /* nobody else has it yet */
    for (int32_t i = 0; !st && i < shape.rows; i++, to += shape.cols) {
        weft_tensor *row;
        weft_rule_name(b->network, rule, layer, i, name);
        st = weft_derive_floats(b->engine, weft_weights_find(b->weights, name), 0, &row);
        if (!st)
            memcpy(to, weft_tensor_data(row), (size_t)shape.cols * sizeof *to);
        if (!st)
            weft_tensor_release(&row);
    }
    if (st)
        weft_tensor_release(out);
    return st;
}

weft_status weft_derive_table(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                              const char *name, weft_tensor **field) {
    char derived[WEFT_TENSOR_NAME + 16];
    weft_rule_shape shape = weft_rule_shape_of(b->network, rule, layer);
    int64_t dims[2] = {shape.rows, shape.cols};
    weft_tensor *floats, *t = NULL;
    snprintf(derived, sizeof derived, "%s(f)", name);
    if ((*field = weft_weights_find(b->weights, derived)))
        return WEFT_OK;
    bool apart = strchr(rule->name[b->network->spelling], '*') != NULL;
    weft_tensor *source = weft_weights_find(b->weights, name);
    weft_status st = apart ? gather_rows(b, rule, layer, &floats)
                           : weft_derive_floats(b->engine, source, 0, &floats);
    if (st)
        return st;
    float *x = weft_tensor_data(floats); /* nobody else has it yet */
    bool log = rule->flags & WEFT_RULE_LOG && b->network->spelling == WEFT_SPELL_HF;
    for (int64_t i = 0; log && i < weft_tensor_numel(floats); i++)
        x[i] = (float)-weft_exact_exp((double)x[i]);
    st = weft_tensor_create_part(&b->engine->allocator, floats, 0, shape.matrix ? 2 : 1,
                                 shape.matrix ? dims : dims + 1, NULL, &t);
    weft_tensor_release(&floats);
    if (st || (st = weft_weights_take(b->weights, derived, t)))
        return st;
    *field = t;
    return WEFT_OK;
}

bool weft_rule_derives(const weft_network *n, const weft_tensor_rule *rule) {
    return rule->fusion != WEFT_FUSED_NOT || rule->n_rows == WEFT_EXT_ONE ||
           rule->flags & WEFT_RULE_TRANSPOSED ||
           (rule->flags & (WEFT_RULE_EXPERTS | WEFT_RULE_HEADS) && rule->name[n->spelling]);
}

/* ---- Later ---- */

static weft_status keep_deferred(weft_network *n, weft_deferred later) {
    const weft_allocator *a = &n->engine->allocator;
    if (n->n_deferred == n->deferred_room) {
        size_t room = n->deferred_room * 2 + 64;
        weft_deferred *list = weft_alloc(a, weft_size_of(room, sizeof *list));
        if (!list)
            return weft_fail(WEFT_E_MEMORY, "no memory for %zu matrices", room);
        if (n->n_deferred > 0)
            memcpy(list, n->deferred, n->n_deferred * sizeof *list);
        weft_dealloc(a, n->deferred, n->deferred_room * sizeof *list);
        n->deferred = list;
        n->deferred_room = room;
    }
    n->deferred[n->n_deferred++] = later;
    return WEFT_OK;
}

weft_status weft_derive_later(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                              const char *derived, weft_dtype type, weft_tensor **field) {
    weft_tensor *t;
    weft_rule_shape shape = weft_rule_shape_of(b->network, rule, layer);
    int stacked = (rule->flags & (WEFT_RULE_EXPERTS | WEFT_RULE_HEADS)) != 0;
    int64_t dims[3] = {shape.n_stacked, shape.rows, shape.cols};
    weft_status st = weft_tensor_create_custom(&b->engine->allocator, type, 2 + stacked,
                                               dims + !stacked, NULL, SIZE_MAX, NULL, NULL, &t);
    if (!st)
        st = weft_weights_take(b->weights, derived, t);
    if (st)
        return weft_fail_in(st, "%s", derived);
    *field = t;
    return keep_deferred(b->network, (weft_deferred){t, rule, layer});
}

static const weft_deferred *find_deferred(const weft_network *n, const weft_tensor *part) {
    for (size_t i = 0; i < n->n_deferred; i++)
        if (n->deferred[i].t == part)
            return &n->deferred[i];
    return NULL;
}

bool weft_network_is_deferred(const weft_network *network, const weft_tensor *part) {
    return find_deferred(network, part) != NULL;
}

static weft_status make_now(weft_binding *b, const weft_deferred *later, weft_tensor **out) {
    char name[WEFT_TENSOR_NAME];
    derivation d = {.b = b, .rule = later->rule, .layer = later->layer};
    weft_rule_name(b->network, d.rule, d.layer, 0, name);
    weft_tensor *source = weft_weights_find(b->weights, name);
    if (d.rule->flags & WEFT_RULE_MXFP4) {
        weft_status made = weft_mxfp4_make(b, d.rule, d.layer, name, source, out);
        drop(&d, 0);
        return made;
    }
    d.shape = weft_rule_shape_of(b->network, d.rule, d.layer);
    d.apart = strchr(d.rule->name[b->network->spelling], '*') != NULL;
    weft_status st = weft_scope_create(b->engine, WEFT_SCOPE_HEAP, &d.s);
    if (!st)
        st = make(&d, name, source, out);
    weft_scope_release(&d.s);
    return st ? weft_fail_in(st, "%s", name) : WEFT_OK;
}

weft_status weft_network_make(weft_network *network, weft_weights *weights, const weft_tensor *part,
                              void (*dropped)(void *ctx, const weft_tensor *source), void *ctx,
                              weft_tensor **out) {
    const weft_deferred *later = find_deferred(network, part);
    weft_network_options options = {
        .hugging_face = network->spelling == WEFT_SPELL_HF, .packed = dropped, .packed_ctx = ctx};
    weft_binding b = {network->engine, weights, &options, network, 0, 0};
    *out = NULL;
    return later ? make_now(&b, later, out)
                 : weft_fail(WEFT_E_ARGUMENT, "a matrix that has its data already");
}

/* Whether the result would be a copy in memory, not a view. */
static bool copies(const derivation *d) {
    return d->shape.matrix &&
           (d->apart || d->f8 || d->rule->flags & WEFT_RULE_HEADS ||
            d->rule->fusion == WEFT_FUSED_HEADS || d->rule->fusion == WEFT_FUSED_GROUPS);
}

weft_status weft_derive(weft_binding *b, const weft_tensor_rule *rule, int32_t layer,
                        weft_tensor **field) {
    char name[WEFT_TENSOR_NAME], derived[WEFT_TENSOR_NAME + 16];
    derivation d = {.b = b, .rule = rule, .layer = layer};
    d.shape = weft_rule_shape_of(b->network, rule, layer);
    d.apart = strchr(rule->name[b->network->spelling], '*') != NULL;
    weft_rule_name(b->network, rule, layer, 0, name);
    snprintf(derived, sizeof derived, "%s(%d%s)", name, rule->part, b->options->pack ? "p" : "");
    weft_tensor *source = *field, *t = NULL;
    if ((*field = weft_weights_find(b->weights, derived)))
        return WEFT_OK;
    weft_status st = choose_type(&d, source);
    if (st)
        return weft_fail_in(st, "%s", name);
    if (b->options->defer && copies(&d))
        return weft_derive_later(b, rule, layer, derived, d.type, field);
    st = weft_scope_create(b->engine, WEFT_SCOPE_HEAP, &d.s);
    if (!st)
        st = make(&d, name, source, &t);
    weft_scope_release(&d.s);
    if (st || (st = weft_weights_take(b->weights, derived, t)))
        return weft_fail_in(st, "%s", name);
    *field = t;
    return WEFT_OK;
}
