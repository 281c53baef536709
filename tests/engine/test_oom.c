/* Out of memory: the k-th allocation fails, for every k, in a run that opens a model, generates,
 * forks, saves and loads. Each such run reports WEFT_E_MEMORY and gives every byte back. */
#include "fixture.h"
#include <limits.h>
#include <stdatomic.h>

typedef struct budget {
    atomic_long left; /* allocations that still succeed */
    atomic_long live_bytes, n;
} budget;

static void *limited_alloc(void *ctx, size_t size_bytes, size_t align) {
    budget *b = ctx;
    atomic_fetch_add(&b->n, 1);
    if (atomic_fetch_sub(&b->left, 1) <= 0)
        return NULL;
    void *memory;
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size_bytes))
        return NULL;
    atomic_fetch_add(&b->live_bytes, (long)size_bytes);
    return memory;
}

static void limited_release(void *ctx, void *memory, size_t size_bytes) {
    budget *b = ctx;
    atomic_fetch_sub(&b->live_bytes, (long)size_bytes);
    free(memory);
}

static char path[64], saved[80];
static weft_model *in_use;

/* A text of a grammar, with guesses, biases and a minimum length. */
static weft_status constrained(weft_engine *engine, weft_session *s) {
    static const char schema[] = "{\"type\": \"array\", \"items\": {\"type\": \"boolean\"}}";
    static const int32_t prompt[] = {'x', 'y', 'x', 'y', 'x'};
    weft_sampler_options how = weft_sampler_options_default();
    how.logit_bias = &(weft_logit_bias){'[', 1};
    how.n_logit_bias = 1;
    how.dry_multiplier = 1;
    how.dry_breakers = prompt;
    how.n_dry_breakers = 1;
    weft_generate_options o = weft_generate_options_default();
    o.max_tokens = 12;
    o.min_tokens = 2;
    o.lookup = 4;
    o.n_top = 2;
    weft_sampler *sampler = NULL;
    weft_status status = weft_grammar_create(weft_model_tokenizer(in_use), WEFT_GRAMMAR_JSON_SCHEMA,
                                             schema, sizeof schema - 1, &o.grammar);
    if (!status)
        status = weft_sampler_create(engine, &how, &sampler);
    if (!status)
        status = weft_generate(s, prompt, 5, sampler, &o, NULL, NULL, NULL);
    weft_sampler_release(&sampler);
    weft_grammar_release(&o.grammar);
    return status;
}

static weft_status use_session(weft_engine *engine, weft_session *s, weft_session **fork) {
    static const int32_t prompt[] = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'};
    weft_sampler_options how = weft_sampler_options_default();
    how.repeat_penalty = 1.1f;
    how.penalty_last_n = -1;
    weft_generate_options o = weft_generate_options_default();
    o.max_tokens = 12;
    o.context_shift = true;
    o.n_keep = 2;
    o.stops = (const char *[]){"\x01never"};
    o.n_stops = 1;
    weft_sampler *sampler;
    weft_status status = weft_sampler_create(engine, &how, &sampler);
    if (status)
        return status;
    int32_t before = weft_session_n_past(s);
    status = weft_session_eval(s, prompt, 10);
    if (status)
        assert_int_equal(weft_session_n_past(s), before);
    if (!status)
        status = weft_generate(s, prompt, 10, sampler, &o, NULL, NULL, NULL);
    if (!status)
        status = constrained(engine, s);
    if (!status)
        status = weft_session_fork(s, fork);
    if (!status)
        status = weft_session_eval(*fork, prompt, 1);
    if (!status)
        status = weft_session_save(s, saved);
    if (!status)
        status = weft_session_load(s, saved);
    weft_sampler_release(&sampler);
    return status;
}

/* Everything, under a budget of `k` allocations. */
static weft_status run(budget *b, long k, long *after_open) {
    atomic_store(&b->left, k);
    atomic_store(&b->n, 0);
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 1;
    options.allocator = (weft_allocator){limited_alloc, limited_release, b};
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    weft_session *s = NULL, *fork = NULL;
    weft_session_options small = weft_session_options_default();
    small.n_context = 16;
    small.n_batch = 4;
    small.n_sequences = 2;
    weft_status status = weft_engine_create(&options, &engine);
    if (!status)
        status = weft_model_open(engine, path, NULL, &model);
    *after_open = atomic_load(&b->n);
    in_use = model;
    if (!status) {
        small.n_context = 64;
        status = weft_session_create(model, &small, &s);
    }
    if (!status)
        status = use_session(engine, s, &fork);
    weft_session_release(&fork);
    weft_session_release(&s);
    weft_model_release(&model);
    weft_engine_release(&engine);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    budget b = {0};
    long opened, total, ignored;
    assert_weft_ok(run(&b, LONG_MAX, &opened));
    total = atomic_load(&b.n);
    assert_int_equal(atomic_load(&b.live_bytes), 0);
    print_message("%ld allocations, %ld of them to open the model\n", total, opened);
    /* Opening repeats itself (a string, a tensor): a part of it is enough. */
    long stride = opened / 400 + 1;
    for (long k = 0; k < total; k += k < opened - 20 ? stride : 1) {
        weft_status status = run(&b, k, &ignored);
        if (status != WEFT_E_MEMORY)
            fail_msg("allocation %ld of %ld fails: %s (%s)", k, total, weft_status_name(status),
                     weft_detail());
        if (atomic_load(&b.live_bytes) != 0)
            fail_msg("allocation %ld of %ld fails: %ld bytes lost", k, total,
                     atomic_load(&b.live_bytes));
    }
}

static int make_file(void **state) {
    (void)state;
    assert_true(tiny_model_temporary(path, &(tiny_options){.q8_0 = true}));
    snprintf(saved, sizeof saved, "%s.saved", path);
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    unlink(path);
    unlink(saved);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
