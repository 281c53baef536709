/* Sessions: the tokens of one text, their place in a cache, and the logits after the last.
 * Evaluation cuts what it is given into steps of n_batch rows; whatever fails, the session is as
 * before. */
#include "engine/adapter.h"
#include "engine/impl.h"
#include "base/alloc.h"
#include "base/detail.h"
#include "base/floats.h"

#include <string.h>

#define DEFAULT_CONTEXT 4096
#define DEFAULT_BATCH 256 /* longer steps take more memory and gain nothing */
/* A step that wants the logits of all its rows has fewer of them, so that they take no more than
 * this; never fewer than the rows at which a step still counts as prefill. */
#define ALL_LOGITS_BYTES ((size_t)64 << 20)
#define ALL_LOGITS_ROWS 32

weft_session_options weft_session_options_default(void) {
    weft_session_options options = {.cache_type = WEFT_F16};
    return options;
}

/* Everything but cache and sequence. */
static weft_session *session_new(weft_model *model, int32_t n_context, int32_t n_batch) {
    const weft_allocator *a = &model->engine->allocator;
    weft_session *s = weft_alloc_zeroed(a, sizeof *s);
    if (!s)
        return NULL;
    s->model = weft_model_retain(model);
    s->sequence = -1;
    s->n_context = n_context;
    s->n_batch = n_batch;
    s->n_vocab = weft_network_info(model->network).n_vocab;
    s->tokens = weft_alloc(a, weft_size_of((size_t)n_context, sizeof *s->tokens));
    s->row_sequences = weft_alloc(a, weft_size_of((size_t)n_batch, sizeof *s->row_sequences));
    s->no_logits = weft_alloc_zeroed(a, (size_t)n_batch);
    s->all_logits = weft_alloc(a, (size_t)n_batch);
    s->logits = weft_alloc(a, weft_size_of((size_t)s->n_vocab, sizeof *s->logits));
    atomic_init(&s->cancel, false);
    if (!s->tokens || !s->row_sequences || !s->no_logits || !s->all_logits || !s->logits) {
        weft_session_release(&s);
        return NULL;
    }
    memset(s->all_logits, true, (size_t)n_batch);
    return s;
}

static void set_sequence(weft_session *s, int32_t sequence) {
    s->sequence = sequence;
    for (int32_t i = 0; i < s->n_batch; i++)
        s->row_sequences[i] = sequence;
}

static weft_status check_options(const weft_session_options *o) {
    if (o->n_context < 0 || o->n_batch < 0 || o->n_sequences < 0)
        return weft_fail(WEFT_E_ARGUMENT,
                         "weft_session_create: n_context %d, n_batch %d, n_sequences %d: none may "
                         "be negative",
                         o->n_context, o->n_batch, o->n_sequences);
    if (!weft_cache_type_allowed(o->cache_type))
        return weft_fail(WEFT_E_ARGUMENT,
                         "weft_session_create: cache_type must be " WEFT_CACHE_TYPES ", not %s",
                         weft_dtype_name(o->cache_type));
    return WEFT_OK;
}

weft_status weft_session_create(weft_model *model, const weft_session_options *options,
                                weft_session **out) {
    if (!model || !out)
        return weft_fail(WEFT_E_NULL, "weft_session_create: model and out are required");
    *out = NULL;
    weft_status status = weft_engine_alive(model->engine);
    if (status)
        return status;
    weft_session_options o = options ? *options : weft_session_options_default();
    status = check_options(&o);
    if (status)
        return status;
    weft_model_info info = weft_network_info(model->network);
    if (info.embeds_only)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "this %s has no output for tokens: it embeds texts (weft_embed) and "
                         "generates none",
                         info.architecture);
    int32_t trained = info.n_context;
    int32_t n_context = o.n_context;
    if (n_context == 0)
        n_context = trained > 0 && trained < DEFAULT_CONTEXT ? trained : DEFAULT_CONTEXT;
    int32_t n_batch = o.n_batch ? o.n_batch : DEFAULT_BATCH;
    n_batch = n_batch < n_context ? n_batch : n_context;
    /* The cache comes first: it is what a too large context is refused for, with the size needed.
     */
    weft_cache_options cache = {.n_positions = n_context,
                                .type = o.cache_type,
                                .n_sequences = o.n_sequences ? o.n_sequences : 1};
    weft_cache *made;
    status = weft_cache_create(model->engine, model->network, &cache, &made);
    if (status)
        return status;
    weft_session *s = session_new(model, n_context, n_batch);
    if (!s) {
        weft_cache_release(&made);
        return weft_fail(WEFT_E_MEMORY, "weft_session_create: out of memory");
    }
    s->cache = made;
    int32_t sequence;
    status = weft_scope_create(model->engine, WEFT_SCOPE_ARENA, &s->scope);
    if (!status)
        status = weft_cache_sequence_create(s->cache, &sequence);
    if (status) {
        weft_session_release(&s);
        return status;
    }
    set_sequence(s, sequence);
    *out = s;
    return WEFT_OK;
}

void weft_session_release(weft_session **session) {
    if (!session || !*session)
        return;
    weft_session *s = *session;
    *session = NULL;
    weft_model *model = s->model;
    const weft_allocator *a = &model->engine->allocator;
    if (s->sequence >= 0)
        weft_cache_sequence_free(s->cache, s->sequence);
    weft_adapters_free(&s->adapters);
    weft_scope_release(&s->scope);
    weft_cache_release(&s->cache);
    weft_dealloc(a, s->tokens, (size_t)s->n_context * sizeof *s->tokens);
    weft_dealloc(a, s->row_sequences, (size_t)s->n_batch * sizeof *s->row_sequences);
    weft_dealloc(a, s->no_logits, (size_t)s->n_batch);
    weft_dealloc(a, s->all_logits, (size_t)s->n_batch);
    weft_dealloc(a, s->logits, (size_t)s->n_vocab * sizeof *s->logits);
    weft_dealloc(a, s, sizeof *s);
    weft_model_release(&model);
}

int32_t weft_session_n_context(const weft_session *session) {
    return session ? session->n_context : 0;
}

int32_t weft_session_n_past(const weft_session *session) {
    return session ? session->n_past : 0;
}

const int32_t *weft_session_tokens(const weft_session *session) {
    return session ? session->tokens : NULL;
}

size_t weft_session_cache_bytes(const weft_session *session) {
    return session ? weft_cache_bytes(session->cache) : 0;
}

const float *weft_session_logits(const weft_session *session) {
    return session && session->has_logits ? session->logits : NULL;
}

void weft_session_cancel(weft_session *session) {
    if (session)
        atomic_store_explicit(&session->cancel, true, memory_order_relaxed);
}

bool weft_session_take_cancel(weft_session *session) {
    return atomic_exchange_explicit(&session->cancel, false, memory_order_relaxed);
}

int32_t weft_session_room(const weft_session *session) {
    int32_t own = session->n_context - session->n_past;
    int32_t shared = weft_cache_room(session->cache, session->sequence);
    return own < shared ? own : shared;
}

weft_status weft_session_check_ids(const weft_session *session, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= session->n_vocab)
            return weft_fail(WEFT_E_RANGE, "token %zu is %d, outside of the vocabulary of %d", i,
                             ids[i], session->n_vocab);
    return WEFT_OK;
}

/* One step; its logits go to `all` [n, n_vocab], or those of the last row to `last`, where not
 * NULL. */
static weft_status step(weft_session *s, const int32_t *tokens, size_t n, float *all, float *last) {
    weft_status status = weft_scope_reset(s->scope);
    if (status)
        return status;
    const bool *wants = all ? s->all_logits : last ? NULL : s->no_logits;
    weft_step what = {
        .tokens = tokens, .sequences = s->row_sequences, .wants_logits = wants, .n = n};
    weft_tensor *logits = NULL;
    status = weft_forward(s->model->network, s->cache, s->scope, &what, &s->cancel, &logits);
    if (status)
        return status;
    size_t row = (size_t)s->n_vocab * sizeof(float);
    if (all) {
        status = weft_tensor_read(logits, all, n * row);
        if (!status && last)
            memcpy(last, all + (n - 1) * (size_t)s->n_vocab, row);
    } else if (last) {
        status = weft_tensor_read(logits, last, row);
    }
    return status;
}

/* Steps until all is evaluated; the logits of the last token are fetched by the last step alone, so
 * that an earlier failure leaves the old ones. */
static weft_status steps(weft_session *s, const int32_t *tokens, size_t n, float *all) {
    size_t rows = (size_t)s->n_batch;
    if (all) {
        size_t fit = ALL_LOGITS_BYTES / ((size_t)s->n_vocab * sizeof(float));
        fit = fit < ALL_LOGITS_ROWS ? ALL_LOGITS_ROWS : fit;
        rows = fit < rows ? fit : rows;
    }
    for (size_t done = 0; done < n;) {
        size_t now = n - done < rows ? n - done : rows;
        bool is_last = done + now == n;
        weft_status status = step(s, tokens + done, now, all, is_last ? s->logits : NULL);
        if (status)
            return status;
        if (all)
            all += now * (size_t)s->n_vocab;
        done += now;
    }
    return WEFT_OK;
}

static weft_status eval(weft_session *s, const int32_t *tokens, size_t n, float *all) {
    weft_status status = weft_engine_alive(s->model->engine);
    if (status)
        return status;
    /* The count comes first: of one that is wrong (SIZE_MAX, say) no id can be looked at. */
    int32_t room = weft_session_room(s);
    if (room < 0 || n > (size_t)room)
        return weft_fail(WEFT_E_CACHE_FULL, "%zu tokens do not fit: %d of %d positions are taken",
                         n, s->n_past, s->n_context);
    if ((status = weft_session_check_ids(s, tokens, n)))
        return status;
    int32_t from;
    if ((status = weft_cache_expect(s->cache, s->sequence, s->n_past + (int32_t)n, &from)))
        return status;
    weft_cache_hold(s->cache, s->sequence); /* to come back here when a later step fails */
    weft_fpenv saved = weft_fpenv_enter();
    if (from < s->n_past) /* the rope of longer sequences is another: what was there comes anew */
        status = steps(s, s->tokens + from, (size_t)(s->n_past - from), NULL);
    if (!status)
        status = steps(s, tokens, n, all);
    weft_fpenv_restore(saved);
    if (status) {
        bool anew = from < s->n_past;
        weft_cache_truncate(s->cache, s->sequence, anew ? 0 : s->n_past, &s->n_past);
        s->has_logits = s->has_logits && !anew;
        if (status == WEFT_E_CANCELLED)
            weft_session_take_cancel(s);
        return status;
    }
    memmove(s->tokens + s->n_past, tokens, n * sizeof *tokens); /* may be the session's own */
    s->n_past += (int32_t)n;
    s->has_logits = true;
    return WEFT_OK;
}

weft_status weft_session_eval(weft_session *session, const int32_t *tokens, size_t n) {
    if (!session || (!tokens && n > 0))
        return weft_fail(WEFT_E_NULL, "weft_session_eval: session and tokens are required");
    if (n == 0)
        return weft_fail(WEFT_E_ARGUMENT, "weft_session_eval: no tokens");
    return eval(session, tokens, n, NULL);
}

weft_status weft_session_eval_all(weft_session *session, const int32_t *tokens, size_t n,
                                  float *out) {
    if (!session || (!tokens && n > 0) || !out)
        return weft_fail(WEFT_E_NULL,
                         "weft_session_eval_all: session, tokens and out are required");
    if (n == 0)
        return weft_fail(WEFT_E_ARGUMENT, "weft_session_eval_all: no tokens");
    return eval(session, tokens, n, out);
}

weft_status weft_session_truncate(weft_session *session, int32_t n, int32_t *resume) {
    if (!session)
        return weft_fail(WEFT_E_NULL, "weft_session_truncate: session is required");
    weft_status status = weft_engine_alive(session->model->engine);
    if (status)
        return status;
    if (n < 0 || n > session->n_past)
        return weft_fail(WEFT_E_RANGE, "weft_session_truncate: %d positions of %d", n,
                         session->n_past);
    int32_t from = n;
    if (n < session->n_past) {
        status = weft_cache_truncate(session->cache, session->sequence, n, &from);
        if (status)
            return status;
        session->n_past = from;
        session->has_logits = false;
    }
    if (resume)
        *resume = from;
    else if (from < n) /* the tokens between are still there */
        return eval(session, session->tokens + from, (size_t)(n - from), NULL);
    return WEFT_OK;
}

weft_status weft_session_fork(weft_session *session, weft_session **out) {
    if (!session || !out)
        return weft_fail(WEFT_E_NULL, "weft_session_fork: session and out are required");
    *out = NULL;
    weft_engine *engine = session->model->engine;
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    weft_session *fork = session_new(session->model, session->n_context, session->n_batch);
    if (!fork)
        return weft_fail(WEFT_E_MEMORY, "weft_session_fork: out of memory");
    fork->cache = weft_cache_retain(session->cache);
    int32_t sequence;
    status = weft_scope_create(engine, WEFT_SCOPE_ARENA, &fork->scope);
    if (!status)
        status = weft_adapters_give(session->adapters, fork);
    if (!status)
        status = weft_cache_sequence_fork(fork->cache, session->sequence, &sequence);
    if (status) {
        weft_session_release(&fork);
        return status;
    }
    set_sequence(fork, sequence);
    memcpy(fork->tokens, session->tokens, (size_t)session->n_past * sizeof *fork->tokens);
    fork->n_past = session->n_past;
    fork->has_logits = session->has_logits;
    if (fork->has_logits)
        memcpy(fork->logits, session->logits, (size_t)session->n_vocab * sizeof *fork->logits);
    *out = fork;
    return WEFT_OK;
}
