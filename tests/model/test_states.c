/* Networks with recurrent layers or latent attention: the same bits in whatever way the tokens are
 * fed, and what the cache does with states: snapshots, forks, steps that fail, files. */
#include <unistd.h>
#include "base/file.h"
#include "tensor/impl.h"
#include "tiny.h"

enum { N = 150 };

static const char *const archs[] = {"mamba", "mamba2", "qwen35", "deepseek2"};
#define N_ARCHS (sizeof archs / sizeof *archs)

typedef struct running {
    tiny net;
    weft_scope *scope;
    weft_cache *cache;
    const char *arch;
} running;

static int32_t tokens[N];
static float whole[N * TINY_VOCAB], other[N * TINY_VOCAB];

static void open_running(running *r, const char *arch, weft_dtype type, int32_t n_sequences) {
    weft_cache_options o = {2 * N, type, n_sequences};
    for (size_t i = 0; i < N; i++)
        tokens[i] = tiny_token(i);
    r->arch = arch;
    tiny_open(&r->net, arch, false, WEFT_NUMBERS_REPRODUCIBLE, type == WEFT_F16);
    assert_weft_ok(weft_scope_create(r->net.engine, WEFT_SCOPE_ARENA, &r->scope));
    assert_weft_ok(weft_cache_create(r->net.engine, r->net.network, &o, &r->cache));
}

static void close_running(running *r) {
    weft_cache_release(&r->cache);
    weft_scope_release(&r->scope);
    tiny_close(&r->net);
}

static int32_t new_sequence(running *r) {
    int32_t s = -1;
    assert_weft_ok(weft_cache_sequence_create(r->cache, &s));
    return s;
}

/* Tokens [from, to) in pieces (0: uneven); logits to other. */
static void feed(running *r, int32_t sequence, size_t from, size_t to, size_t piece) {
    for (size_t i = from; i < to;) {
        size_t n = piece ? piece : 1 + (i * 7 + 3) % 41;
        n = n < to - i ? n : to - i;
        assert_weft_ok(tiny_step(r->net.network, r->cache, r->scope, sequence, tokens + i, n,
                                 other + i * TINY_VOCAB));
        i += n;
    }
}

/* Goes back to n as the engine does, and gives from where it was evaluated again. */
static int32_t go_back(running *r, int32_t sequence, int32_t n) {
    int32_t resume = -1;
    assert_weft_ok(weft_cache_truncate(r->cache, sequence, n, &resume));
    assert_in_range(resume, 0, n);
    assert_int_equal(weft_cache_length(r->cache, sequence), resume);
    feed(r, sequence, (size_t)resume, (size_t)n, 0);
    return resume;
}

static void same(const running *r, const char *what, size_t from, size_t to) {
    if (memcmp(whole + from * TINY_VOCAB, other + from * TINY_VOCAB,
               (to - from) * TINY_VOCAB * sizeof *whole) != 0)
        fail_msg("%s, %s: bits differ", r->arch, what);
}

typedef struct saved {
    char path[64];
    weft_mapping map;
} saved;

static saved save(running *r, int32_t sequence) {
    saved s;
    weft_writer *writer;
    snprintf(s.path, sizeof s.path, "/tmp/weft-test-states-%d", (int)getpid());
    assert_weft_ok(weft_writer_open(&r->net.engine->allocator, s.path, &writer));
    assert_weft_ok(weft_cache_save(r->cache, sequence, writer));
    assert_weft_ok(weft_writer_commit(&writer));
    assert_weft_ok(weft_file_map(s.path, &s.map));
    return s;
}

static void drop(saved *s) {
    weft_file_unmap(&s->map);
    unlink(s->path);
}

static void check_ways(const char *arch, weft_dtype type) {
    running r;
    open_running(&r, arch, type, 3);
    int32_t a = new_sequence(&r), b, c;
    feed(&r, a, 0, N, N);
    memcpy(whole, other, sizeof whole);
    for (size_t i = 0; i < N * TINY_VOCAB; i++)
        assert_true(whole[i] == whole[i]);

    assert_int_equal(go_back(&r, a, 0), 0);
    feed(&r, a, 0, N, 1);
    same(&r, "one by one", 0, N);
    go_back(&r, a, 71);
    feed(&r, a, 71, N, 0);
    same(&r, "truncated, then in uneven pieces", 0, N);

    go_back(&r, a, 100);
    assert_weft_ok(weft_cache_sequence_fork(r.cache, a, &b));
    feed(&r, b, 100, N, 0);
    same(&r, "the fork", 100, N);
    feed(&r, a, 100, N, 13);
    same(&r, "the forked", 100, N);
    go_back(&r, b, 90);
    feed(&r, b, 90, N, 9);
    same(&r, "the fork, truncated", 0, N);
    weft_cache_sequence_free(r.cache, b);

    go_back(&r, a, 120);
    saved file = save(&r, a);
    weft_cache_sequence_free(r.cache, a);
    c = new_sequence(&r);
    feed(&r, c, 0, 30, 0); /* something else stands there before */
    assert_weft_ok(weft_cache_load(r.cache, c, file.map.data, file.map.size_bytes));
    assert_int_equal(weft_cache_length(r.cache, c), 120);
    feed(&r, c, 120, N, 0);
    same(&r, "loaded", 120, N);
    go_back(&r, c, 110);
    feed(&r, c, 110, N, 0);
    same(&r, "loaded, then truncated", 110, N);
    drop(&file);
    close_running(&r);
}

static void test_the_same_bits_however_fed(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ARCHS; i++) {
        check_ways(archs[i], WEFT_F32);
        check_ways(archs[i], WEFT_F16);
    }
    check_ways("qwen35", WEFT_Q8_0);
    check_ways("deepseek2", WEFT_BF16);
}

/* Two texts in one step: each as it is alone. */
static void test_batches(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ARCHS; i++) {
        running r;
        open_running(&r, archs[i], WEFT_F32, 2);
        int32_t a = new_sequence(&r), b = new_sequence(&r);
        feed(&r, a, 0, 60, 60);
        memcpy(whole, other, sizeof whole);
        assert_int_equal(go_back(&r, a, 0), 0);
        feed(&r, a, 0, 20, 20); /* then tokens 20 … 59 beside 0 … 9 of the other */
        int32_t rows[50], sequences[50];
        bool wants[50];
        for (int j = 0; j < 50; j++) {
            rows[j] = tokens[j < 10 ? j : 10 + j];
            sequences[j] = j < 10 ? b : a;
            wants[j] = true;
        }
        weft_step step = {rows, sequences, wants, 50, false};
        weft_tensor *logits;
        assert_weft_ok(weft_scope_reset(r.scope));
        assert_weft_ok(weft_forward(r.net.network, r.cache, r.scope, &step, NULL, &logits));
        static float both[50 * TINY_VOCAB];
        assert_weft_ok(weft_tensor_read(logits, both, sizeof both));
        assert_memory_equal(both, whole, 10 * TINY_VOCAB * sizeof *both);
        assert_memory_equal(both + 10 * TINY_VOCAB, whole + 20 * TINY_VOCAB,
                            40 * TINY_VOCAB * sizeof *both);
        close_running(&r);
    }
}

/* ---- Snapshots ---- */

/* Going back by d positions evaluates at most a few times d again, and 0 is always there. */
static void test_how_far_back(void **state) {
    (void)state;
    running r;
    open_running(&r, "mamba2", WEFT_F32, 1);
    int32_t a = new_sequence(&r), resume;
    for (int32_t back = 1; back < N; back += 1 + back / 3) {
        assert_weft_ok(weft_cache_truncate(r.cache, a, 0, &resume));
        assert_int_equal(resume, 0);
        feed(&r, a, 0, N, 1);
        assert_weft_ok(weft_cache_truncate(r.cache, a, N - back, &resume));
        if (N - back - resume > 4 * back)
            fail_msg("back by %d: from %d", back, resume);
        assert_int_equal(weft_cache_length(r.cache, a), resume);
    }
    /* The end of a prompt stays in reach while a reply is generated. */
    assert_weft_ok(weft_cache_truncate(r.cache, a, 0, NULL));
    feed(&r, a, 0, 50, 50);
    feed(&r, a, 50, N, 1);
    assert_weft_ok(weft_cache_truncate(r.cache, a, 60, &resume));
    assert_in_range(resume, 50, 60);
    close_running(&r);
}

/* What is held can be gone back to exactly, however many steps follow. */
static void test_hold(void **state) {
    (void)state;
    running r;
    open_running(&r, "qwen35", WEFT_F32, 1);
    int32_t a = new_sequence(&r), resume;
    feed(&r, a, 0, 37, 1);
    weft_cache_hold(r.cache, a);
    feed(&r, a, 37, N, 1);
    assert_weft_ok(weft_cache_truncate(r.cache, a, 37, &resume));
    assert_int_equal(resume, 37);
    close_running(&r);
}

static void test_a_step_that_fails_changes_nothing(void **state) {
    (void)state;
    running r;
    open_running(&r, "qwen35", WEFT_F32, 2);
    int32_t a = new_sequence(&r), b;
    feed(&r, a, 0, N, 30);
    memcpy(whole, other, sizeof whole);
    go_back(&r, a, 80);
    assert_weft_ok(weft_cache_sequence_fork(r.cache, a, &b));
    atomic_bool cancel = true;
    int32_t sequences[20];
    for (int i = 0; i < 20; i++)
        sequences[i] = a;
    weft_step step = {tokens, sequences, NULL, 20, false};
    weft_tensor *logits;
    for (int i = 0; i < 40; i++) { /* more often than there are slots */
        assert_weft_ok(weft_scope_reset(r.scope));
        assert_weft_fails(weft_forward(r.net.network, r.cache, r.scope, &step, &cancel, &logits),
                          WEFT_E_CANCELLED);
    }
    feed(&r, a, 80, N, 0);
    same(&r, "after a cancelled step", 80, N);
    feed(&r, b, 80, N, 1);
    same(&r, "its fork", 80, N);
    close_running(&r);
}

/* Any number of forks and steps: slots are given back. */
static void test_slots_are_given_back(void **state) {
    (void)state;
    running r;
    open_running(&r, "mamba", WEFT_F32, 4);
    int32_t a = new_sequence(&r), forks[3];
    feed(&r, a, 0, 40, 1);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 3; i++)
            assert_weft_ok(weft_cache_sequence_fork(r.cache, i ? forks[i - 1] : a, &forks[i]));
        for (int i = 0; i < 3; i++)
            feed(&r, forks[i], 40, 60, 1);
        for (int i = 0; i < 3; i++)
            weft_cache_sequence_free(r.cache, forks[i]);
    }
    weft_cache_sequence_free(r.cache, a);
    close_running(&r);
}

/* What the cache says that it takes, for rows and for states. */
static void test_sizes(void **state) {
    (void)state;
    running r;
    open_running(&r, "qwen35", WEFT_F16, 2); /* two delta nets, then attention */
    size_t blocks = (2 * N + 63) / 64 + 1, states = 4 * 16 * 24, taps = 2 * (96 + 2 * 2 * 16);
    size_t slots = 2 * (4 + 2);
    assert_int_equal(weft_cache_bytes(r.cache), blocks * 64 * 2 * TINY_KV * 32 * 2 +
                                                    slots * 2 * (states + taps) * sizeof(float));
    assert_true(weft_cache_has_states(r.cache));
    assert_null(weft_cache_k(r.cache, 0));
    close_running(&r);
    open_running(&r, "deepseek2", WEFT_F16, 1); /* one latent of 32 and a key of 8 */
    assert_int_equal(weft_cache_bytes(r.cache), (blocks - 1) * 64 * 3 * 40 * 2);
    assert_false(weft_cache_has_states(r.cache));
    assert_ptr_equal(weft_cache_k(r.cache, 1), weft_cache_v(r.cache, 1));
    assert_int_equal(weft_cache_bytes(r.cache),
                     weft_network_cache_bytes(r.net.network, 2 * N, WEFT_F16));
    close_running(&r);
    open_running(&r, "mamba", WEFT_F16, 1);
    assert_int_equal(weft_cache_bytes(r.cache),
                     weft_network_cache_bytes(r.net.network, 2 * N, WEFT_F16));
    assert_int_equal(weft_network_cache_bytes(r.net.network, 1, WEFT_F32),
                     weft_network_cache_bytes(r.net.network, 500, WEFT_F16));
    close_running(&r);
}

/* From a cache of one sequence into one of many, which keeps fewer snapshots. */
static void test_files_of_other_caches(void **state) {
    (void)state;
    running r;
    open_running(&r, "mamba", WEFT_F32, 1);
    int32_t a = new_sequence(&r), b, resume;
    feed(&r, a, 0, N, N);
    memcpy(whole, other, sizeof whole);
    go_back(&r, a, 0);
    feed(&r, a, 0, 100, 1);
    saved file = save(&r, a);
    weft_cache *alone = r.cache;
    weft_cache_options o = {8 * N, WEFT_F32, 8};
    assert_weft_ok(weft_cache_create(r.net.engine, r.net.network, &o, &r.cache));
    for (int i = 0; i < 8; i++) { /* all of them at once: no slot is missing */
        b = new_sequence(&r);
        assert_weft_ok(weft_cache_load(r.cache, b, file.map.data, file.map.size_bytes));
        feed(&r, b, 100, 110, 1);
        assert_weft_ok(weft_cache_truncate(r.cache, b, 105, &resume));
        assert_in_range(resume, 90, 105);
        feed(&r, b, (size_t)resume, N, 0);
        same(&r, "loaded into another cache", (size_t)resume, N);
    }
    drop(&file);
    weft_cache_release(&alone);
    close_running(&r);
}

static void test_damaged_files(void **state) {
    (void)state;
    running r;
    open_running(&r, "mamba2", WEFT_F32, 2);
    int32_t a = new_sequence(&r), b = new_sequence(&r);
    feed(&r, a, 0, N, 20);
    memcpy(whole, other, sizeof whole);
    go_back(&r, a, 100);
    feed(&r, b, 0, 60, 0);
    saved file = save(&r, a);
    size_t n = file.map.size_bytes;
    unsigned char *bytes = malloc(n);
    memcpy(bytes, file.map.data, n);
    for (size_t i = 0; i < n; i += i < 80 ? 1 : 997) {
        bytes[i] ^= 1;
        assert_weft_fails(weft_cache_load(r.cache, b, bytes, n), WEFT_E_FORMAT);
        bytes[i] ^= 1;
        assert_weft_fails(weft_cache_load(r.cache, b, bytes, i), WEFT_E_FORMAT);
    }
    feed(&r, b, 60, N, 0); /* nothing of that changed its text */
    same(&r, "after files that were refused", 60, N);
    free(bytes);
    drop(&file);
    close_running(&r);
}

/* Every allocation of a cache may fail. */
static void test_out_of_memory(void **state) {
    (void)state;
    running r;
    open_running(&r, "qwen35", WEFT_F16, 2);
    weft_cache_options o = {100, WEFT_F16, 2};
    weft_cache *cache;
    weft_status st = WEFT_E_MEMORY;
    for (long k = 0; st == WEFT_E_MEMORY; k++) {
        assert_true(k < 200);
        r.net.count.fail_in = k;
        st = weft_cache_create(r.net.engine, r.net.network, &o, &cache);
    }
    r.net.count.fail_in = -1;
    assert_weft_ok(st);
    weft_cache_release(&cache);
    close_running(&r);
}

/* What would run wrong is refused by its name: numbers that do not fit together, other variants. */
static void test_what_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *arch, *key;
        weft_value value;
        weft_status status;
    } cases[] = {
        {"mamba", "mamba.ssm.dt_b_c_rms", {.type = WEFT_VALUE_BOOL, .as.u = 1}, WEFT_E_UNSUPPORTED},
        {"mamba2", "mamba2.ssm.group_count", {.type = WEFT_VALUE_U32, .as.u = 3}, WEFT_E_FORMAT},
        {"mamba2", "mamba2.ssm.inner_size", {.type = WEFT_VALUE_U32, .as.u = 100}, WEFT_E_FORMAT},
        {"qwen35", "qwen35.ssm.conv_kernel", {.type = WEFT_VALUE_U32, .as.u = 17}, WEFT_E_FORMAT},
        {"qwen35",
         "qwen35.nextn_predict_layers",
         {.type = WEFT_VALUE_U32, .as.u = 3},
         WEFT_E_FORMAT},
        {"deepseek2",
         "deepseek2.rope.dimension_count",
         {.type = WEFT_VALUE_U32, .as.u = 32},
         WEFT_E_FORMAT},
        {"deepseek2",
         "deepseek2.attention.kv_lora_rank",
         {.type = WEFT_VALUE_U32, .as.u = 0},
         WEFT_E_FORMAT},
    };
    weft_engine *engine = tiny_engine(NULL, WEFT_NUMBERS_DEFAULT, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_metadata *all = tiny_metadata(&engine->allocator, cases[i].arch, false);
        weft_metadata *m = weft_metadata_create(&engine->allocator);
        const weft_arch *arch;
        weft_hparams h;
        weft_value v;
        for (size_t j = 0; j < weft_metadata_count(all); j++)
            if (strcmp(weft_metadata_at(all, j, &v), cases[i].key) != 0)
                assert_weft_ok(weft_metadata_put_from(m, all, j));
        assert_weft_ok(weft_metadata_put(m, cases[i].key, strlen(cases[i].key), &cases[i].value));
        assert_weft_ok(weft_arch_find(m, WEFT_SPELL_GGUF, &arch));
        assert_weft_fails(weft_hparams_read(m, arch, WEFT_SPELL_GGUF, &h), cases[i].status);
        assert_detail_has(strcmp(cases[i].arch, "deepseek2") || cases[i].value.as.u == 0
                              ? cases[i].key
                              : "key_length_mla");
        weft_metadata_destroy(m);
        weft_metadata_destroy(all);
    }
    weft_engine_release(&engine);
}

/* A decode step makes no allocation. */
static void test_steady_steps(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ARCHS; i++) {
        running r;
        open_running(&r, archs[i], WEFT_F16, 1);
        int32_t a = new_sequence(&r);
        feed(&r, a, 0, 70, 10);
        feed(&r, a, 70, 80, 1);
        long before = r.net.count.n_calls;
        feed(&r, a, 80, N, 1);
        assert_int_equal(r.net.count.n_calls, before);
        close_running(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_bits_however_fed),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_how_far_back),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_a_step_that_fails_changes_nothing),
        cmocka_unit_test(test_slots_are_given_back),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_files_of_other_caches),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_steady_steps),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
