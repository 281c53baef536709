/* WEFT_LOAD_LAZY: the bits of every step are those of a model that was packed when it was loaded,
 * whatever has panels by then; a file that changes meanwhile, missing memory, threads. */
#include "fixture.h"
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>

#define SHARED_MODELS WEFT_SHARED_DIR "/reference/models"
#define PROMPT 40 /* rows of a step that default mode may multiply otherwise */
#define STEPS 12  /* more than the packing is spread over */

static weft_engine *engine;
static char path[64];

static weft_model *open_model(weft_engine *e, const char *file, weft_load_mode mode) {
    weft_model_options o = weft_model_options_default();
    weft_model *m = NULL;
    o.mode = mode;
    o.without_tokenizer = true;
    assert_weft_ok(weft_model_open(e, file, &o, &m));
    return m;
}

static weft_session *open_session(weft_model *m, int32_t n_batch) {
    weft_session_options o = weft_session_options_default();
    weft_session *s;
    o.n_context = PROMPT + STEPS;
    o.n_batch = n_batch;
    assert_weft_ok(weft_session_create(m, &o, &s));
    return s;
}

static void fill_ids(int32_t *ids, int32_t n, int32_t n_vocab) {
    for (int32_t i = 0; i < n; i++)
        ids[i] = (int32_t)((uint32_t)(i + 1) * 2654435761u % (uint32_t)n_vocab);
}

static void same_logits(weft_session *a, weft_session *b, int32_t n_vocab, const char *file,
                        const char *when) {
    const float *x = weft_session_logits(a), *y = weft_session_logits(b);
    if (memcmp(x, y, (size_t)n_vocab * sizeof *x) != 0)
        fail_msg("%s: the logits of %s differ", file, when);
}

/* ---- Bits ---- */

/* `n_batch` PROMPT: the prompt in one step; fewer: in parts. */
static void compare(const char *file, int32_t n_batch, bool prompt) {
    weft_model *a = open_model(engine, file, WEFT_LOAD_REPACK);
    weft_model *b = open_model(engine, file, WEFT_LOAD_LAZY);
    int32_t ids[PROMPT + STEPS], n_vocab = weft_model_get_info(a).n_vocab;
    fill_ids(ids, PROMPT + STEPS, n_vocab);
    if (!weft_model_get_info(a).embeds_only) {
        weft_session *s = open_session(a, n_batch), *t = open_session(b, n_batch);
        if (prompt) {
            assert_weft_ok(weft_session_eval(s, ids, PROMPT));
            assert_weft_ok(weft_session_eval(t, ids, PROMPT));
            same_logits(s, t, n_vocab, file, "the prompt");
        }
        for (int i = 0; i < STEPS; i++) {
            assert_weft_ok(weft_session_eval(s, ids + PROMPT + i, 1));
            assert_weft_ok(weft_session_eval(t, ids + PROMPT + i, 1));
            same_logits(s, t, n_vocab, file, "a step");
        }
        weft_session_release(&s);
        weft_session_release(&t);
    }
    weft_model_release(&a);
    weft_model_release(&b);
}

static void test_every_step_has_the_same_bits(void **state) {
    (void)state;
    char q8[64];
    assert_true(tiny_model_temporary(q8, &(tiny_options){.q8_0 = true}));
    const char *files[] = {path, q8};
    for (int i = 0; i < 2; i++) {
        compare(files[i], PROMPT, false);
        compare(files[i], PROMPT, true);
        compare(files[i], 4, true);
    }
    unlink(q8);
}

static int n_compared;

static int compare_file(const char *file, const struct stat *info, int type, struct FTW *at) {
    (void)info;
    (void)at;
    size_t n = strlen(file);
    weft_model *m = NULL;
    bool folder = type == FTW_D && n > 3 && strcmp(file + n - 3, "/hf") == 0;
    bool gguf = type == FTW_F && n > 5 && strcmp(file + n - 5, ".gguf") == 0;
    weft_model_options o = weft_model_options_default();
    o.mode = WEFT_LOAD_MAP;
    o.without_tokenizer = true;
    if ((folder || gguf) && weft_model_open(engine, file, &o, &m) == WEFT_OK) {
        weft_model_release(&m);
        compare(file, PROMPT, true);
        compare(file, PROMPT, false);
        n_compared++;
    }
    return 0;
}

/* Of every architecture and every type: parts of fused tensors, stacks of experts, tied outputs. */
static void test_reference_models(void **state) {
    (void)state;
    skip_without(SHARED_MODELS);
    assert_int_equal(nftw(SHARED_MODELS, compare_file, 16, FTW_PHYS), 0);
    print_message("%d models compared\n", n_compared);
    assert_true(n_compared > 80);
}

/* ---- The file ---- */

static void test_a_changed_file_is_an_error(void **state) {
    (void)state;
    int32_t ids[PROMPT];
    fill_ids(ids, PROMPT, TINY_N_VOCAB);
    for (int how = 0; how < 3; how++) {
        char copy[64];
        assert_true(tiny_model_temporary(copy, NULL));
        weft_model *m = open_model(engine, copy, WEFT_LOAD_LAZY);
        weft_session *s = open_session(m, PROMPT);
        if (how > 0)
            assert_weft_ok(weft_session_eval(s, ids, 2));
        if (how == 2)
            assert_weft_ok(weft_model_pack(m, NULL, NULL));
        assert_int_equal(truncate(copy, 0), 0);
        if (how == 2) {
            assert_weft_ok(weft_session_eval(s, ids, PROMPT));
            assert_weft_ok(weft_model_pack(m, NULL, NULL));
        } else {
            assert_weft_fails(weft_session_eval(s, ids, PROMPT), WEFT_E_IO);
            assert_detail_has("changed");
            assert_weft_fails(weft_model_pack(m, NULL, NULL), WEFT_E_IO);
            assert_int_equal(weft_session_n_past(s), how == 0 ? 0 : 2);
        }
        weft_session_release(&s);
        weft_model_release(&m);
        unlink(copy);
    }
}

/* Another file under its name, as careful writers put it there, does not matter. */
static void test_a_replaced_file_is_none(void **state) {
    (void)state;
    char copy[64], other[64];
    int32_t id = 65;
    assert_true(tiny_model_temporary(copy, NULL));
    assert_true(tiny_model_temporary(other, &(tiny_options){.q8_0 = true}));
    weft_model *m = open_model(engine, copy, WEFT_LOAD_LAZY);
    weft_session *s = open_session(m, PROMPT);
    assert_int_equal(rename(other, copy), 0);
    for (int i = 0; i < STEPS; i++)
        assert_weft_ok(weft_session_eval(s, &id, 1));
    weft_session_release(&s);
    weft_model_release(&m);
    unlink(copy);
}

/* ---- Packing ---- */

typedef struct seen {
    uint64_t last, total;
    int calls, stop_at;
} seen;

static bool on_progress(void *ctx, uint64_t done, uint64_t total) {
    seen *p = ctx;
    assert_true(done >= p->last && done <= total);
    p->last = done;
    p->total = total;
    return ++p->calls != p->stop_at;
}

static void test_packing_is_cancelled_and_taken_up_again(void **state) {
    (void)state;
    weft_model *m = open_model(engine, path, WEFT_LOAD_LAZY);
    seen p = {.stop_at = 3};
    assert_weft_fails(weft_model_pack(m, on_progress, &p), WEFT_E_CANCELLED);
    assert_true(p.last > 0 && p.last < p.total);
    p.stop_at = 0;
    assert_weft_ok(weft_model_pack(m, on_progress, &p));
    assert_true(p.last == p.total);
    weft_model_release(&m);
    m = open_model(engine, path, WEFT_LOAD_REPACK);
    p = (seen){0};
    assert_weft_ok(weft_model_pack(m, on_progress, &p));
    assert_int_equal(p.calls, 0);
    weft_model_release(&m);
    assert_weft_fails(weft_model_pack(NULL, NULL, NULL), WEFT_E_NULL);
}

typedef struct budget {
    atomic_long left; /* allocations that still succeed */
} budget;

static void *limited_alloc(void *ctx, size_t size_bytes, size_t align) {
    budget *b = ctx;
    void *memory;
    if (atomic_fetch_sub(&b->left, 1) <= 0)
        return NULL;
    return posix_memalign(&memory, align, size_bytes) ? NULL : memory;
}

static void limited_release(void *ctx, void *memory, size_t size_bytes) {
    (void)ctx;
    (void)size_bytes;
    free(memory);
}

/* Each allocation of the first steps fails once; afterwards everything goes on as if none had. */
static void test_missing_memory_harms_nothing(void **state) {
    (void)state;
    budget b = {.left = 1 << 30};
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    options.allocator = (weft_allocator){limited_alloc, limited_release, &b};
    weft_engine *e;
    assert_weft_ok(weft_engine_create(&options, &e));
    weft_model *a = open_model(e, path, WEFT_LOAD_REPACK);
    weft_model *m = open_model(e, path, WEFT_LOAD_LAZY);
    weft_session *s = open_session(a, PROMPT), *t = open_session(m, PROMPT);
    int32_t ids[STEPS];
    fill_ids(ids, STEPS, TINY_N_VOCAB);
    int n_failed = 0;
    for (int i = 0; i < STEPS; i++) {
        for (long left = 0;; left++) {
            atomic_store(&b.left, left);
            weft_status status = weft_session_eval(t, ids + i, 1);
            atomic_store(&b.left, 1 << 30);
            if (status == WEFT_OK)
                break;
            assert_int_equal(status, WEFT_E_MEMORY);
            assert_int_equal(weft_session_n_past(t), i);
            n_failed++;
        }
        assert_weft_ok(weft_session_eval(s, ids + i, 1));
        same_logits(s, t, TINY_N_VOCAB, path, "a step after a failure");
    }
    assert_true(n_failed >= 8); /* panels were among them */
    weft_session_release(&s);
    weft_session_release(&t);
    weft_model_release(&a);
    weft_model_release(&m);
    weft_engine_release(&e);
}

/* ---- Threads ---- */

typedef struct worker {
    weft_model *model;
    const float *want; /* [STEPS, TINY_N_VOCAB]; NULL: packs */
    bool equal;
} worker;

static void *work(void *ctx) {
    worker *w = ctx;
    int32_t ids[STEPS];
    fill_ids(ids, STEPS, TINY_N_VOCAB);
    w->equal = true;
    if (!w->want) {
        w->equal = weft_model_pack(w->model, NULL, NULL) == WEFT_OK;
        return NULL;
    }
    weft_session *s;
    if (weft_session_create(w->model, NULL, &s) != WEFT_OK)
        return NULL;
    for (int i = 0; i < STEPS; i++)
        w->equal = w->equal && weft_session_eval(s, ids + i, 1) == WEFT_OK &&
                   memcmp(weft_session_logits(s), w->want + i * TINY_N_VOCAB,
                          TINY_N_VOCAB * sizeof(float)) == 0;
    weft_session_release(&s);
    return NULL;
}

static void test_sessions_share_a_model_that_is_being_packed(void **state) {
    (void)state;
    static float want[STEPS * TINY_N_VOCAB];
    int32_t ids[STEPS];
    fill_ids(ids, STEPS, TINY_N_VOCAB);
    weft_model *m = open_model(engine, path, WEFT_LOAD_REPACK);
    weft_session *s = open_session(m, PROMPT);
    for (int i = 0; i < STEPS; i++) {
        assert_weft_ok(weft_session_eval(s, ids + i, 1));
        memcpy(want + i * TINY_N_VOCAB, weft_session_logits(s), TINY_N_VOCAB * sizeof *want);
    }
    weft_session_release(&s);
    weft_model_release(&m);
    for (int round = 0; round < 10; round++) {
        m = open_model(engine, path, WEFT_LOAD_LAZY);
        worker workers[4] = {
            {m, want, false}, {m, want, false}, {m, NULL, false}, {m, NULL, false}};
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 4; i++)
            assert_true(workers[i].equal);
        weft_model_release(&m);
    }
}

static int set_up(void **state) {
    (void)state;
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    assert_true(tiny_model_temporary(path, NULL));
    assert_weft_ok(weft_engine_create(&options, &engine));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    weft_engine_release(&engine);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_step_has_the_same_bits),
        cmocka_unit_test(test_a_changed_file_is_an_error),
        cmocka_unit_test(test_a_replaced_file_is_none),
        cmocka_unit_test(test_packing_is_cancelled_and_taken_up_again),
        cmocka_unit_test(test_missing_memory_harms_nothing),
        cmocka_unit_test(test_sessions_share_a_model_that_is_being_packed),
        cmocka_unit_test(test_reference_models),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
