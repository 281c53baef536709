/* Embedding texts: steps of several whole texts (or pieces of one long text, where the model may
 * see it in pieces), whose final hidden states become a vector each. A call has a cache and an
 * arena of its own, so that threads share the model only. */
#include <weft/embed.h>
#include "engine/adapter.h"
#include "engine/impl.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "base/floats.h"
#include "tensor/impl.h"

#include <math.h>
#include <string.h>

#define DEFAULT_BATCH 512
#define MOST_TEXTS 32 /* a step: each has cache blocks of its own, and more gain nothing */

typedef struct embedding {
    weft_model *model;
    const weft_embed_text *texts; /* [n_texts] */
    size_t n_texts;
    weft_embed_options o;
    bool whole;    /* every text in one step */
    size_t n_embd; /* of a vector */
    /* The most that a step has, and the most tokens and texts that go together. */
    size_t n_rows, n_positions, n_group;
    weft_cache *cache;
    weft_scope *scope;
    weft_adapters *adapters; /* NULL: none */
    int32_t ids[MOST_TEXTS]; /* sequences, the first n_group */
    int32_t *tokens;         /* [n_rows] */
    int32_t *sequences;      /* [n_rows] */
    bool *wants;             /* [n_rows] */
    float *hidden;           /* [n_rows, n_embd] */
    double *sum;             /* [n_embd] of the text in work */
    float *out;              /* the next vector's place */
} embedding;

/* ---- Which texts go together ---- */

/* Texts [first, end) share a step; a text that is longer than one is alone. */
static size_t group_end(const embedding *e, size_t first, size_t *n_tokens) {
    size_t end = first + 1, n = e->texts[first].n, most = (size_t)e->o.n_batch;
    while (end < e->n_texts && end - first < MOST_TEXTS && n < most && e->texts[end].n <= most - n)
        n += e->texts[end++].n;
    *n_tokens = n;
    return end;
}

static void measure(embedding *e) {
    for (size_t first = 0, end, n; first < e->n_texts; first = end) {
        end = group_end(e, first, &n);
        size_t rows = e->whole || n < (size_t)e->o.n_batch ? n : (size_t)e->o.n_batch;
        e->n_positions = n > e->n_positions ? n : e->n_positions;
        e->n_rows = rows > e->n_rows ? rows : e->n_rows;
        e->n_group = end - first > e->n_group ? end - first : e->n_group;
    }
}

/* ---- Pooling ---- */

/* The sum becomes the next vector. In double and in order: the same bits everywhere. */
static void put_vector(embedding *e, double n_summed) {
    double square = 0, scale = 1 / n_summed;
    for (size_t i = 0; e->o.normalize && i < e->n_embd; i++)
        square += e->sum[i] * e->sum[i];
    if (square > 0)
        scale = 1 / sqrt(square);
    for (size_t i = 0; i < e->n_embd; i++)
        e->out[i] = (float)(e->sum[i] * scale);
    e->out += e->n_embd;
    memset(e->sum, 0, e->n_embd * sizeof *e->sum);
}

/* Whether position `at` of a text of n counts. */
static bool counts(const embedding *e, size_t at, size_t n) {
    switch (e->o.pooling) {
    case WEFT_POOLING_CLS:
        return at == 0;
    case WEFT_POOLING_LAST:
        return at == n - 1;
    default:
        return true;
    }
}

/* Hidden states [n, n_embd] of positions that count, of which the last may end its text. */
static void pool(embedding *e, const float *rows, size_t n, const weft_embed_text *text,
                 bool ends) {
    bool mean = e->o.pooling == WEFT_POOLING_MEAN;
    for (size_t r = 0; r < n; r++, rows += e->n_embd) {
        for (size_t i = 0; i < e->n_embd; i++)
            e->sum[i] += (double)rows[i];
        if (!mean)
            put_vector(e, 1);
    }
    if (mean && ends)
        put_vector(e, (double)text->n);
}

/* ---- Steps ---- */

/* Tokens [from, from + n) of the group's texts taken as one list; from > 0 in long texts only. */
static weft_status run_step(embedding *e, const weft_embed_text *texts, size_t n_texts, size_t from,
                            size_t n) {
    weft_tensor *hidden = NULL;
    size_t row = 0, taken[MOST_TEXTS] = {0}; /* of each text the rows that count */
    for (size_t t = 0; t < n_texts; t++)
        for (size_t i = from; i < texts[t].n && row < n; i++, row++) {
            e->tokens[row] = texts[t].tokens[i];
            e->sequences[row] = e->ids[t];
            e->wants[row] = counts(e, i, texts[t].n);
            taken[t] += e->wants[row];
        }
    weft_step step = {.tokens = e->tokens,
                      .sequences = e->sequences,
                      .wants_logits = e->wants,
                      .n = n,
                      .hidden = true};
    weft_status st = weft_scope_reset(e->scope);
    if (!st)
        st = weft_forward(e->model->network, e->cache, e->scope, &step, NULL, &hidden);
    if (!st && hidden)
        st = weft_tensor_read(hidden, e->hidden,
                              (size_t)weft_tensor_dim(hidden, 0) * e->n_embd * sizeof(float));
    const float *rows = e->hidden;
    for (size_t t = 0; !st && t < n_texts; rows += taken[t++] * e->n_embd)
        pool(e, rows, taken[t], &texts[t], from + n >= texts[t].n);
    return st;
}

static weft_status run_group(embedding *e, const weft_embed_text *texts, size_t n_texts,
                             size_t n_tokens) {
    weft_status st = WEFT_OK;
    int32_t from;
    for (size_t t = 0; !st && t < n_texts; t++)
        st = weft_cache_expect(e->cache, e->ids[t], (int32_t)texts[t].n, &from);
    for (size_t done = 0; !st && done < n_tokens; done += e->n_rows)
        st = run_step(e, texts, n_texts, done,
                      n_tokens - done < e->n_rows ? n_tokens - done : e->n_rows);
    for (size_t t = 0; !st && t < n_texts; t++)
        st = weft_cache_truncate(e->cache, e->ids[t], 0, NULL);
    return st;
}

static weft_status run(embedding *e) {
    weft_status st = WEFT_OK;
    for (size_t first = 0, end, n; !st && first < e->n_texts; first = end) {
        end = group_end(e, first, &n);
        st = run_group(e, e->texts + first, end - first, n);
        if (!st && e->o.progress && !e->o.progress(e->o.progress_ctx, end, e->n_texts))
            st = weft_fail(WEFT_E_CANCELLED, "cancelled after %zu of %zu texts", end, e->n_texts);
    }
    return st;
}

/* ---- Memory ---- */

static weft_status take_memory(embedding *e) {
    weft_engine *engine = e->model->engine;
    const weft_allocator *a = &engine->allocator;
    /* An encoder's rows are of one layer and one step; a decoder's are those of a session. */
    weft_cache_options cache = {.n_positions = (int32_t)e->n_positions,
                                .type = e->whole ? WEFT_F32 : WEFT_F16,
                                .n_sequences = (int32_t)e->n_group};
    weft_status st = weft_cache_create(engine, e->model->network, &cache, &e->cache);
    if (!st)
        st = weft_scope_create(engine, WEFT_SCOPE_ARENA, &e->scope);
    if (!st)
        st = weft_adapters_create(e->model, "weft_embed", e->o.adapters, e->o.n_adapters,
                                  &e->adapters);
    if (!st)
        weft_scope_set_tap(e->scope, weft_adapters_tap(e->adapters));
    for (size_t t = 0; !st && t < e->n_group; t++)
        st = weft_cache_sequence_create(e->cache, &e->ids[t]);
    if (st)
        return st;
    e->tokens = weft_alloc(a, weft_size_of(e->n_rows, sizeof *e->tokens));
    e->sequences = weft_alloc(a, weft_size_of(e->n_rows, sizeof *e->sequences));
    e->wants = weft_alloc(a, weft_size_of(e->n_rows, sizeof *e->wants));
    e->hidden = weft_alloc(a, weft_size_of(weft_size_of(e->n_rows, e->n_embd), sizeof *e->hidden));
    e->sum = weft_alloc_zeroed(a, weft_size_of(e->n_embd, sizeof *e->sum));
    if (!e->tokens || !e->sequences || !e->wants || !e->hidden || !e->sum)
        return weft_fail(WEFT_E_MEMORY, "weft_embed: out of memory for steps of %zu tokens",
                         e->n_rows);
    return WEFT_OK;
}

static void give_memory(embedding *e) {
    const weft_allocator *a = &e->model->engine->allocator;
    weft_dealloc(a, e->tokens, e->n_rows * sizeof *e->tokens);
    weft_dealloc(a, e->sequences, e->n_rows * sizeof *e->sequences);
    weft_dealloc(a, e->wants, e->n_rows * sizeof *e->wants);
    weft_dealloc(a, e->hidden, weft_size_of(e->n_rows * e->n_embd, sizeof *e->hidden));
    weft_dealloc(a, e->sum, e->n_embd * sizeof *e->sum);
    weft_scope_release(&e->scope);
    weft_adapters_free(&e->adapters);
    weft_cache_release(&e->cache);
}

/* ---- Public ---- */

weft_embed_options weft_embed_options_default(void) {
    weft_embed_options options = {.normalize = true};
    return options;
}

weft_pooling weft_embed_pooling(const weft_model *model) {
    return model ? weft_network_pooling(model->network) : WEFT_POOLING_DEFAULT;
}

size_t weft_embed_rows(const weft_embed_text *texts, size_t n_texts, weft_pooling pooling) {
    size_t n = 0;
    for (size_t t = 0; texts && pooling == WEFT_POOLING_NONE && t < n_texts; t++)
        n += texts[t].n;
    return pooling == WEFT_POOLING_NONE ? n : n_texts;
}

static weft_status check_texts(const weft_model *model, const weft_embed_text *texts, size_t n) {
    weft_model_info info = weft_network_info(model->network);
    for (size_t t = 0; t < n; t++) {
        if (!texts[t].tokens)
            return weft_fail(WEFT_E_NULL, "weft_embed: text %zu: tokens is NULL", t);
        if (texts[t].n < 1)
            return weft_fail(WEFT_E_ARGUMENT, "weft_embed: text %zu has no tokens", t);
        if (texts[t].n > (size_t)info.n_context)
            return weft_fail(WEFT_E_RANGE, "text %zu: %zu tokens are more than the model's %d", t,
                             texts[t].n, info.n_context);
        for (size_t i = 0; i < texts[t].n; i++)
            if (texts[t].tokens[i] < 0 || texts[t].tokens[i] >= info.n_vocab)
                return weft_fail(WEFT_E_RANGE,
                                 "text %zu: token %zu is %d, outside of the vocabulary of %d", t, i,
                                 texts[t].tokens[i], info.n_vocab);
    }
    return WEFT_OK;
}

weft_status weft_embed(weft_model *model, const weft_embed_text *texts, size_t n_texts,
                       const weft_embed_options *options, float *out) {
    if (!model || (n_texts > 0 && (!texts || !out)))
        return weft_fail(WEFT_E_NULL, "weft_embed: model, texts and out are required");
    embedding e = {.model = model, .texts = texts, .n_texts = n_texts, .out = out};
    e.o = options ? *options : weft_embed_options_default();
    if (e.o.n_batch < 0 || e.o.pooling < WEFT_POOLING_DEFAULT || e.o.pooling > WEFT_POOLING_LAST)
        return weft_fail(WEFT_E_ARGUMENT, "weft_embed: n_batch %d, pooling %d", e.o.n_batch,
                         (int)e.o.pooling);
    weft_status st = weft_engine_alive(model->engine);
    if (st || (st = check_texts(model, texts, n_texts)) || n_texts == 0)
        return st;
    weft_model_info info = weft_network_info(model->network);
    e.o.n_batch = e.o.n_batch ? e.o.n_batch : DEFAULT_BATCH;
    if (e.o.pooling == WEFT_POOLING_DEFAULT)
        e.o.pooling = weft_network_pooling(model->network);
    e.whole = weft_network_is_bidirectional(model->network);
    e.n_embd = (size_t)info.n_embd;
    measure(&e);
    weft_fpenv saved = weft_fpenv_enter();
    st = take_memory(&e);
    if (!st)
        st = run(&e);
    weft_fpenv_restore(saved);
    give_memory(&e);
    return st;
}
