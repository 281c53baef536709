/* A tiny model on a small engine, and what a generation produced. */
#ifndef WEFT_TESTS_ENGINE_FIXTURE_H
#define WEFT_TESTS_ENGINE_FIXTURE_H

#include "test.h"
#include "tiny_model.h"
#include <weft/weft.h>

typedef struct fixture {
    weft_engine *engine;
    weft_model *model;
} fixture;

static inline fixture fixture_open(const tiny_options *options, weft_numbers numbers) {
    fixture f = {0};
    char path[64];
    assert_true(tiny_model_temporary(path, options));
    weft_engine_options engine = weft_engine_options_default();
    engine.n_threads = 2;
    engine.numbers = numbers;
    assert_weft_ok(weft_engine_create(&engine, &f.engine));
    weft_status status = weft_model_open(f.engine, path, NULL, &f.model);
    unlink(path);
    assert_weft_ok(status);
    return f;
}

static inline void fixture_close(fixture *f) {
    weft_model_release(&f->model);
    weft_engine_release(&f->engine);
}

static inline weft_session *session_open(const fixture *f, int32_t n_context, int32_t n_batch) {
    weft_session_options options = weft_session_options_default();
    options.n_context = n_context;
    options.n_batch = n_batch;
    weft_session *s;
    assert_weft_ok(weft_session_create(f->model, &options, &s));
    return s;
}

/* The tokens [n] of a text of bytes: tiny's ids 0 … 255 are bytes. */
static inline void bytes_to_ids(const char *text, int32_t *ids) {
    for (size_t i = 0; text[i]; i++)
        ids[i] = (unsigned char)text[i];
}

typedef struct captured {
    char text[16384];
    size_t n_bytes;
    int32_t tokens[4096];
    size_t n_tokens;
    size_t stop_after; /* the callback refuses this token and later ones; 0: never */
} captured;

static inline bool capture(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    captured *c = ctx;
    assert_true(c->n_bytes + n_bytes < sizeof c->text);
    memcpy(c->text + c->n_bytes, text, n_bytes);
    c->n_bytes += n_bytes;
    c->text[c->n_bytes] = 0;
    if (token >= 0)
        c->tokens[c->n_tokens++] = token;
    return !c->stop_after || c->n_tokens < c->stop_after;
}

static inline void same_bits(const float *a, const float *b, size_t n) {
    assert_non_null(a);
    assert_non_null(b);
    assert_memory_equal(a, b, n * sizeof *a);
}

#endif
