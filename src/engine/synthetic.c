/* Models of random weights: shapes of well-known models, blocks of any type with panels. Bytes are
 * drawn from a generator that starts anew for each 16 rows, so that they do not depend on threads;
 * scales are set so that a product keeps the size of its input. */
#include "base/alloc.h"
#include "base/detail.h"
#include "base/floats.h"
#include "engine/impl.h"
#include "engine/mix.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/extra/bench.h>

/* ---- Shapes ---- */

typedef struct shape {
    const char *name;
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, n_vocab, n_context;
    double rope_base;
    bool tied;
} shape;

static const shape shapes[] = {
    {"llama-135m", 30, 576, 1536, 9, 3, 49152, 8192, 100000, true}, /* SmolLM2 135M */
    {"llama-1b", 16, 2048, 8192, 32, 8, 32000, 8192, 500000, false},
    {"llama-3b", 28, 3072, 8192, 24, 8, 128256, 131072, 500000, true}, /* Llama 3.2 3B */
    {"llama-8b", 32, 4096, 14336, 32, 8, 128256, 8192, 500000, false}, /* Llama 3 8B */
    {"llama-test", 2, 512, 512, 8, 2, 320, 2048, 10000, false},        /* made in no time */
};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

const char *weft_synthetic_shape(size_t i) {
    return i < N_SHAPES ? shapes[i].name : NULL;
}

static const shape *shape_of(const char *name) {
    for (size_t i = 0; i < N_SHAPES; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    return NULL;
}

static weft_status put(weft_metadata *m, const char *key, weft_value value) {
    return weft_metadata_put(m, key, strlen(key), &value);
}

static weft_status put_u32(weft_metadata *m, const char *key, uint32_t value) {
    return put(m, key, (weft_value){.type = WEFT_VALUE_U32, .as.u = value});
}

static weft_status put_text(weft_metadata *m, const char *key, const char *text) {
    weft_value value = {.type = WEFT_VALUE_STRING};
    value.as.s.text = text;
    value.as.s.n_bytes = strlen(text);
    return put(m, key, value);
}

static weft_status put_metadata(weft_metadata *m, const shape *s) {
    weft_status st = put_text(m, "general.architecture", "llama");
    const struct {
        const char *key;
        uint32_t value;
    } counts[] = {
        {"llama.block_count", s->n_layer},
        {"llama.embedding_length", s->n_embd},
        {"llama.feed_forward_length", s->n_ff},
        {"llama.attention.head_count", s->n_head},
        {"llama.attention.head_count_kv", s->n_head_kv},
        {"llama.vocab_size", s->n_vocab},
        {"llama.context_length", s->n_context},
    };
    if (!st)
        st = put_text(m, "general.name", s->name);
    for (size_t i = 0; !st && i < sizeof counts / sizeof counts[0]; i++)
        st = put_u32(m, counts[i].key, counts[i].value);
    weft_value base = {.type = WEFT_VALUE_F32, .as.f = s->rope_base};
    weft_value eps = {.type = WEFT_VALUE_F32, .as.f = 1e-5};
    if (!st)
        st = put(m, "llama.rope.freq_base", base);
    return st ? st : put(m, "llama.attention.layer_norm_rms_epsilon", eps);
}

/* ---- Blocks ---- */

/* Where the scales of a block lie, and the standard deviation of its values when the f16 scale `d`
 * is 1 and all other bytes are random. Bytes [fill_at, fill_at + n_fill) are set to `fill`: the
 * sub-scales, where random ones would not give a mean of zero. */
typedef struct block_rule {
    weft_dtype type;
    float deviation;
    int d_at, m_at; /* m_at < 0: no minimum */
    float m_share;  /* the minimum's f16 scale is d times this */
    int fill_at, n_fill, fill;
} block_rule;

static const block_rule rules[] = {
    {WEFT_Q4_0, 4.6f, 0, -1, 0, 0, 0, 0},
    {WEFT_Q4_1, 4.6f, 0, 2, -7.5f, 0, 0, 0},
    {WEFT_Q5_0, 9.2f, 0, -1, 0, 0, 0, 0},
    {WEFT_Q5_1, 9.2f, 0, 2, -15.5f, 0, 0, 0},
    {WEFT_Q8_0, 73.9f, 0, -1, 0, 0, 0, 0},
    {WEFT_Q2_K, 8 * 1.12f, 80, 82, 1.5f, 0, 16, 0x88},
    {WEFT_Q3_K, 18.5f * 2.3f, 108, -1, 0, 0, 0, 0},
    /* Eight pairs of six bits, low four and high two: 0x20 each, with the third word's all 0. */
    {WEFT_Q4_K, 32 * 4.6f, 0, 2, 7.5f, 4, 8, 0xa0},
    {WEFT_Q5_K, 32 * 9.2f, 0, 2, 15.5f, 4, 8, 0xa0},
    {WEFT_Q6_K, 73.9f * 18.5f, 208, -1, 0, 0, 0, 0},
    {WEFT_IQ4_NL, 70.0f, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ4_XS, 18.5f * 70.0f, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ1_S, 7.8f, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ1_M, 7.8f, 48, -1, 0, 0, 0, 0},
    {WEFT_IQ2_XXS, 51, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ2_XS, 51, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ2_S, 51, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ3_XXS, 139, 0, -1, 0, 0, 0, 0},
    {WEFT_IQ3_S, 148, 0, -1, 0, 0, 0, 0},
    {WEFT_TQ1_0, 0.8f, 52, -1, 0, 0, 0, 0},
    {WEFT_TQ2_0, 1.2f, 64, -1, 0, 0, 0, 0},
    {WEFT_MXFP4, 2.7f, -1, -1, 0, 0, 0, 0},
    {WEFT_NVFP4, 2.7f, -1, -1, 0, 0, 0, 0},
};

static const block_rule *rule_of(weft_dtype type) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].type == type)
            return &rules[i];
    return NULL;
}

static bool is_float(weft_dtype type) {
    return type == WEFT_F32 || type == WEFT_F16 || type == WEFT_BF16;
}

static bool supported(weft_dtype type) {
    return weft_panel_supported(type) && (is_float(type) || rule_of(type));
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void draw_floats(uint64_t *state, weft_dtype type, float deviation, size_t n,
                        unsigned char *out) {
    float width = deviation * 1.7320508f; /* of a uniform distribution */
    for (size_t i = 0; i < n; i++) {
        float f = width * (float)((double)(int64_t)draw(state) * 0x1p-63);
        uint16_t h = type == WEFT_F16 ? weft_f32_to_f16(f) : weft_f32_to_bf16(f);
        if (type == WEFT_F32)
            memcpy(out + 4 * i, &f, 4);
        else
            memcpy(out + 2 * i, &h, 2);
    }
}

static void put_f16(unsigned char *at, float f) {
    uint16_t h = weft_f32_to_f16(f);
    at[0] = (unsigned char)h;
    at[1] = (unsigned char)(h >> 8);
}

static void set_scales(const block_rule *rule, float d, unsigned char *block) {
    if (rule->n_fill)
        memset(block + rule->fill_at, rule->fill, (size_t)rule->n_fill);
    if (rule->type == WEFT_Q4_K || rule->type == WEFT_Q5_K)
        memset(block + 12, 0, 4);
    if (rule->type == WEFT_IQ1_M) /* in the highest nibbles of four words */
        for (size_t i = 0; i < 4; i++)
            block[49 + 2 * i] = (unsigned char)((block[49 + 2 * i] & 15) |
                                                (weft_f32_to_f16(d) >> (4 * i) & 15) << 4);
    else if (rule->type == WEFT_NVFP4) /* 8-bit floats: those below 2^-6 are steps of 2^-9 */
        memset(block, 1 + (int)lrintf(fminf(d, 0.0117f) * 512), 4);
    else if (rule->d_at >= 0)
        put_f16(block + rule->d_at, d);
    else
        block[0] = (unsigned char)(127 + (int)lrintf(log2f(d))); /* a power of two */
    if (rule->m_at >= 0)
        put_f16(block + rule->m_at, d * rule->m_share);
}

/* Whole blocks of n_cols * n_rows elements, one after the other. */
static void draw_rows(uint64_t seed, weft_dtype type, size_t n_rows, size_t n_cols,
                      unsigned char *out) {
    float deviation = 1 / sqrtf((float)n_cols);
    uint64_t state = seed;
    if (is_float(type)) {
        draw_floats(&state, type, deviation, n_rows * n_cols, out);
        return;
    }
    const block_rule *rule = rule_of(type);
    size_t bytes = weft_dtype_block_bytes(type), n = n_rows * n_cols / weft_dtype_block(type);
    for (size_t i = 0; i < n * bytes; i += 8) {
        uint64_t word = draw(&state);
        memcpy(out + i, &word, n * bytes - i < 8 ? n * bytes - i : 8);
    }
    for (size_t i = 0; i < n; i++)
        set_scales(rule, deviation / rule->deviation, out + i * bytes);
}

/* ---- Tensors ---- */

typedef struct maker {
    weft_engine *engine;
    weft_weights *weights;
    const shape *shape;
    weft_dtype type;
    const weft_mix *mix; /* NULL: all of the type */
    weft_progress_fn progress;
    void *progress_ctx;
    uint64_t done, total, weight_bytes;
    uint64_t n_made;
} maker;

typedef struct fill_job {
    unsigned char *rows; /* of the tensor [n_rows, n_cols] */
    weft_dtype type;
    size_t n_rows, n_cols, row_bytes;
    uint64_t seed;
} fill_job;

static void fill_groups(void *ctx, size_t begin, size_t end, int thread) {
    const fill_job *j = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t first = i * WEFT_PANEL_ROWS, n = j->n_rows - first;
        draw_rows(j->seed + i * UINT64_C(0xd1342543de82ef95), j->type,
                  n < WEFT_PANEL_ROWS ? n : WEFT_PANEL_ROWS, j->n_cols,
                  j->rows + first * j->row_bytes);
    }
}

static weft_dtype type_of(const maker *m, const char *name, uint32_t layer, uint32_t n_cols) {
    const shape *s = m->shape;
    weft_place_in_model place = {.role = weft_role_of(name, 2),
                                 .index = (int)layer,
                                 .count = (int)s->n_layer,
                                 .n_gqa = (int)(s->n_head / s->n_head_kv),
                                 .n_cols = n_cols};
    if (place.role == WEFT_ROLE_EMBEDDING && s->tied)
        place.role = WEFT_ROLE_OUTPUT;
    return weft_fitting_type(m->mix ? weft_mix_type(m->mix, &place) : m->type, n_cols);
}

/* Rows as in a file, packed at once, so that only one tensor is there twice. */
static weft_status make_matrix(maker *m, const char *name, uint32_t layer, uint32_t n_rows,
                               uint32_t n_cols) {
    weft_dtype type = type_of(m, name, layer, n_cols);
    int64_t dims[2] = {n_rows, n_cols};
    weft_tensor *rows, *packed;
    weft_status st = weft_tensor_create_heap(&m->engine->allocator, type, WEFT_LAYOUT_STRIDED, 2,
                                             dims, false, &rows);
    if (st)
        return weft_fail_in(st, "%s", name);
    fill_job job = {.rows = weft_tensor_data(rows), .type = type, .n_rows = n_rows};
    job.n_cols = n_cols;
    job.row_bytes = n_cols / weft_dtype_block(type) * weft_dtype_block_bytes(type);
    job.seed = ++m->n_made << 32;
    weft_team_for(m->engine->team, (n_rows + WEFT_PANEL_ROWS - 1) / WEFT_PANEL_ROWS, 4, fill_groups,
                  &job);
    st = weft_tensor_pack(m->engine, weft_weights_slabs(m->weights), rows, &packed);
    weft_tensor_release(&rows);
    if (st)
        return weft_fail_in(st, "%s", name);
    m->weight_bytes += job.row_bytes * n_rows;
    m->done += (uint64_t)n_rows * n_cols;
    st = weft_weights_take(m->weights, name, packed);
    if (!st && m->progress && !m->progress(m->progress_ctx, m->done, m->total))
        st = weft_fail(WEFT_E_CANCELLED, "making the model was cancelled at %s", name);
    return st;
}

/* The vector of a norm: ones. */
static weft_status make_norm(maker *m, const char *name, uint32_t n) {
    int64_t dims[1] = {n};
    weft_tensor *t;
    weft_status st = weft_tensor_create_heap(&m->engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED,
                                             1, dims, false, &t);
    if (st)
        return weft_fail_in(st, "%s", name);
    float *ones = weft_tensor_data(t);
    for (uint32_t i = 0; i < n; i++)
        ones[i] = 1;
    m->weight_bytes += n * sizeof(float);
    return weft_weights_take(m->weights, name, t);
}

static weft_status make_weights(maker *m) {
    const shape *s = m->shape;
    uint32_t kv = s->n_embd / s->n_head * s->n_head_kv;
    const struct {
        const char *name;
        uint32_t n_rows, n_cols; /* n_rows 0: a norm */
    } layer[] = {
        {"attn_norm", 0, s->n_embd},
        {"attn_q", s->n_embd, s->n_embd},
        {"attn_k", kv, s->n_embd},
        {"attn_v", kv, s->n_embd},
        {"attn_output", s->n_embd, s->n_embd},
        {"ffn_norm", 0, s->n_embd},
        {"ffn_gate", s->n_ff, s->n_embd},
        {"ffn_up", s->n_ff, s->n_embd},
        {"ffn_down", s->n_embd, s->n_ff},
    };
    size_t n_tensors = sizeof layer / sizeof layer[0];
    m->total = (s->tied ? 1u : 2u) * (uint64_t)s->n_vocab * s->n_embd;
    for (size_t i = 0; i < n_tensors; i++)
        m->total += (uint64_t)s->n_layer * layer[i].n_rows * layer[i].n_cols;
    weft_status st = make_matrix(m, "token_embd.weight", 0, s->n_vocab, s->n_embd);
    for (uint32_t l = 0; !st && l < s->n_layer; l++)
        for (size_t i = 0; !st && i < n_tensors; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%u.%s.weight", l, layer[i].name);
            st = layer[i].n_rows ? make_matrix(m, name, l, layer[i].n_rows, layer[i].n_cols)
                                 : make_norm(m, name, layer[i].n_cols);
        }
    if (!st)
        st = make_norm(m, "output_norm.weight", s->n_embd);
    return st || s->tied ? st : make_matrix(m, "output.weight", 0, s->n_vocab, s->n_embd);
}

/* ---- The model ---- */

static weft_status make(weft_model *model, maker *m) {
    weft_source *source = &model->source;
    source->allocator = model->engine->allocator;
    source->format = WEFT_FORMAT_GGUF;
    source->metadata = weft_metadata_create(&source->allocator);
    source->weights = weft_weights_create(&source->allocator);
    if (!source->metadata || !source->weights)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", m->shape->name);
    m->engine = model->engine;
    m->weights = source->weights;
    weft_status st = put_metadata(source->metadata, m->shape);
    if (!st)
        st = make_weights(m);
    if (st)
        return st;
    source->weight_bytes = m->weight_bytes;
    weft_network_options options = {.pack = true}; /* what is packed already stays as it is */
    return weft_network_create(model->engine, source->metadata, source->weights, &options,
                               &model->network);
}

weft_status weft_model_synthetic(weft_engine *engine, const char *shape_name, weft_dtype type,
                                 bool mixed, weft_progress_fn progress, void *progress_ctx,
                                 weft_model **out) {
    if (!engine || !shape_name || !out)
        return weft_fail(WEFT_E_NULL, "weft_model_synthetic: engine, shape and out are required");
    *out = NULL;
    weft_status st = weft_engine_alive(engine);
    const shape *s = shape_of(shape_name);
    if (st)
        return st;
    if (!s)
        return weft_fail(WEFT_E_ARGUMENT, "weft_model_synthetic: unknown shape '%s'", shape_name);
    if (!supported(type))
        return weft_fail(WEFT_E_UNSUPPORTED, "weft_model_synthetic: weights of %s cannot be made",
                         weft_dtype_name(type));
    maker m = {.shape = s, .type = type, .progress = progress, .progress_ctx = progress_ctx};
    char mix[32];
    snprintf(mix, sizeof mix, "%s_M", weft_dtype_name(type));
    if (mixed && !(m.mix = weft_mix_find(mix)))
        return weft_fail(WEFT_E_UNSUPPORTED, "weft_model_synthetic: there is no mix %s", mix);
    weft_model *model = weft_alloc_zeroed(&engine->allocator, sizeof *model);
    if (!model)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", shape_name);
    atomic_init(&model->n_refs, 1);
    model->engine = weft_engine_retain(engine);
    st = make(model, &m);
    if (st) {
        weft_model_release(&model);
        return weft_fail_in(st, "%s", shape_name);
    }
    *out = model;
    return WEFT_OK;
}
