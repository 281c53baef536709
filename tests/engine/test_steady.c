/* A steady-state decode step makes no heap allocation: neither through the engine's allocator nor
 * past it. The linker sends weft's calls of the C library's allocation functions through here. */
#include "fixture.h"
#include <stdatomic.h>

static atomic_long n_calls;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
int __real_posix_memalign(void **p, size_t align, size_t n);

void *__wrap_malloc(size_t n) {
    atomic_fetch_add(&n_calls, 1);
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t m) {
    atomic_fetch_add(&n_calls, 1);
    return __real_calloc(n, m);
}
void *__wrap_realloc(void *p, size_t n) {
    atomic_fetch_add(&n_calls, 1);
    return __real_realloc(p, n);
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
    atomic_fetch_add(&n_calls, 1);
    return __real_aligned_alloc(align, n);
}
int __wrap_posix_memalign(void **p, size_t align, size_t n) {
    atomic_fetch_add(&n_calls, 1);
    return __real_posix_memalign(p, align, n);
}

static void *counted_alloc(void *ctx, size_t size_bytes, size_t align) {
    (void)ctx;
    void *memory;
    return __wrap_posix_memalign(&memory, align, size_bytes) ? NULL : memory;
}

static void counted_release(void *ctx, void *memory, size_t size_bytes) {
    (void)ctx;
    (void)size_bytes;
    free(memory);
}

static long after_warm_up[600];

static bool watch(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    (void)text;
    (void)n_bytes;
    int *n = ctx;
    if (token >= 0)
        after_warm_up[(*n)++] = atomic_load(&n_calls);
    return true;
}

static void check(bool q8_0, weft_dtype cache_type) {
    char path[64];
    assert_true(tiny_model_temporary(path, &(tiny_options){.q8_0 = q8_0}));
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    options.allocator = (weft_allocator){counted_alloc, counted_release, NULL};
    weft_engine *engine;
    weft_model *model;
    weft_session *s;
    weft_sampler *sampler;
    assert_weft_ok(weft_engine_create(&options, &engine));
    weft_status status = weft_model_open(engine, path, NULL, &model);
    unlink(path);
    assert_weft_ok(status);
    weft_session_options how = weft_session_options_default();
    how.n_context = 512;
    how.cache_type = cache_type;
    assert_weft_ok(weft_session_create(model, &how, &s));
    weft_sampler_options sampling = weft_sampler_options_default();
    sampling.repeat_penalty = 1.1f;
    assert_weft_ok(weft_sampler_create(engine, &sampling, &sampler));
    int32_t prompt[40];
    for (int32_t i = 0; i < 40; i++)
        prompt[i] = 'a' + i % 26;
    weft_generate_options o = weft_generate_options_default();
    o.max_tokens = 300;
    o.ignore_eos = true;
    o.stops = (const char *[]){"\x01\x02"};
    o.n_stops = 1;
    int n = 0;
    assert_weft_ok(weft_generate(s, prompt, 40, sampler, &o, watch, &n, NULL));
    assert_int_equal(n, 300);
    /* Several blocks of the cache are filled between these two. */
    assert_int_equal(after_warm_up[299] - after_warm_up[8], 0);
    weft_sampler_release(&sampler);
    weft_session_release(&s);
    weft_model_release(&model);
    weft_engine_release(&engine);
}

static void test_no_allocation_in_steady_state(void **state) {
    (void)state;
    check(false, WEFT_F16);
    check(true, WEFT_F16);
    check(true, WEFT_F32);
    assert_true(atomic_load(&n_calls) > 100); /* the counting works */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_allocation_in_steady_state)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
