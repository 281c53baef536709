/* The cache alone: blocks and sequences, limits, saving and loading. */
#include <unistd.h>
#include "base/file.h"
#include "model/memory.h"
#include "tensor/impl.h"
#include "tiny.h"

static tiny net;
static weft_scope *scope;

static int setup(void **state) {
    (void)state;
    tiny_open(&net, "llama", false, WEFT_NUMBERS_REPRODUCIBLE, true);
    return weft_scope_create(net.engine, WEFT_SCOPE_ARENA, &scope) != WEFT_OK;
}

static int teardown(void **state) {
    (void)state;
    weft_scope_release(&scope);
    tiny_close(&net);
    return 0;
}

static weft_cache *cache_of_type(weft_dtype type, int32_t n_positions, int32_t n_sequences) {
    weft_cache *cache = NULL;
    weft_cache_options o = {n_positions, type, n_sequences};
    assert_weft_ok(weft_cache_create(net.engine, net.network, &o, &cache));
    return cache;
}

static weft_cache *new_cache(int32_t n_positions, int32_t n_sequences) {
    return cache_of_type(WEFT_F16, n_positions, n_sequences);
}

static float scratch[200 * TINY_VOCAB];

static void feed(weft_cache *cache, int32_t sequence, size_t from, size_t to, float *last) {
    int32_t tokens[200];
    for (size_t i = from; i < to; i++)
        tokens[i - from] = tiny_token(i);
    assert_weft_ok(tiny_step(net.network, cache, scope, sequence, tokens, to - from, scratch));
    if (last)
        memcpy(last, scratch + (to - from - 1) * TINY_VOCAB, TINY_VOCAB * sizeof *last);
}

static void test_a_context_of_one(void **state) {
    (void)state;
    weft_cache *cache = new_cache(1, 1);
    int32_t s;
    assert_weft_ok(weft_cache_sequence_create(cache, &s));
    assert_int_equal(weft_cache_bytes(cache), weft_network_cache_bytes(net.network, 1, WEFT_F16));
    feed(cache, s, 0, 1, NULL);
    assert_int_equal(weft_cache_length(cache, s), 1);
    weft_cache_release(&cache);
    assert_null(cache);
}

static void test_sequences_are_limited_and_reused(void **state) {
    (void)state;
    weft_cache *cache = new_cache(64, 2);
    int32_t a, b, c = -1;
    assert_weft_ok(weft_cache_sequence_create(cache, &a));
    assert_weft_ok(weft_cache_sequence_create(cache, &b));
    assert_weft_fails(weft_cache_sequence_create(cache, &c), WEFT_E_CACHE_FULL);
    assert_weft_fails(weft_cache_sequence_fork(cache, a, &c), WEFT_E_CACHE_FULL);
    weft_cache_sequence_free(cache, a);
    assert_weft_ok(weft_cache_sequence_fork(cache, b, &c));
    assert_int_equal(weft_cache_length(cache, c), 0);
    assert_weft_fails(weft_cache_truncate(cache, b, 1, NULL), WEFT_E_RANGE);
    assert_weft_fails(weft_cache_truncate(cache, 9, 0, NULL), WEFT_E_ARGUMENT);
    weft_cache_release(&cache);
}

/* A fork takes no room until it is written to, and then one block. */
static void test_forks_share_blocks(void **state) {
    (void)state;
    weft_cache *cache = new_cache(4 * 64, 3); /* and 2 blocks for the tails of 2 more sequences */
    int32_t a, b, c;
    assert_weft_ok(weft_cache_sequence_create(cache, &a));
    feed(cache, a, 0, 100, NULL);
    assert_int_equal(weft_cache_room(cache, a), 28 + 4 * 64);
    assert_weft_ok(weft_cache_sequence_fork(cache, a, &b));
    assert_weft_ok(weft_cache_sequence_fork(cache, b, &c));
    assert_int_equal(weft_cache_room(cache, c), 28 + 3 * 64); /* one goes to the private copy */
    assert_int_equal(weft_cache_blocks(cache, a)[0], weft_cache_blocks(cache, c)[0]);
    assert_int_equal(weft_cache_blocks(cache, a)[1], weft_cache_blocks(cache, c)[1]);
    feed(cache, c, 100, 101, NULL);
    assert_int_equal(weft_cache_blocks(cache, a)[0], weft_cache_blocks(cache, c)[0]);
    assert_true(weft_cache_blocks(cache, a)[1] != weft_cache_blocks(cache, c)[1]);
    assert_int_equal(weft_cache_room(cache, c), 27 + 3 * 64);
    weft_cache_sequence_free(cache, a);
    weft_cache_sequence_free(cache, b);
    assert_int_equal(weft_cache_room(cache, c), 27 + 4 * 64);
    weft_cache_sequence_free(cache, c);
    assert_weft_ok(weft_cache_sequence_create(cache, &a));
    assert_int_equal(weft_cache_room(cache, a), 6 * 64);
    weft_cache_release(&cache);
}

/* A reserve that does not fit, or that follows another one, changes nothing. */
static void test_rollback(void **state) {
    (void)state;
    weft_cache *cache = new_cache(3 * 64, 1);
    int32_t s;
    assert_weft_ok(weft_cache_sequence_create(cache, &s));
    feed(cache, s, 0, 10, NULL);
    assert_weft_ok(weft_scope_reset(scope));
    assert_weft_fails(weft_cache_reserve(cache, scope, s, 183), WEFT_E_CACHE_FULL);
    assert_weft_ok(weft_cache_reserve(cache, scope, s, 182));
    assert_weft_fails(weft_cache_reserve(cache, scope, s, 1), WEFT_E_ARGUMENT);
    assert_int_equal(weft_cache_length(cache, s), 10);
    weft_cache_rollback(cache);
    assert_int_equal(weft_cache_length(cache, s), 10);
    assert_int_equal(weft_cache_room(cache, s), 182);
    weft_cache_release(&cache);
}

static void test_bad_options(void **state) {
    (void)state;
    weft_cache *cache;
    weft_cache_options huge = {INT32_MAX, WEFT_F32, 1}, type = {64, WEFT_Q4_0, 1},
                       none = {0, WEFT_F16, 1}, sequences = {64, WEFT_F16, 0};
    assert_weft_fails(weft_cache_create(net.engine, net.network, &huge, &cache), WEFT_E_MEMORY);
    assert_detail_has("MiB");
    assert_detail_has("2147483647");
    assert_weft_fails(weft_cache_create(net.engine, net.network, &type, &cache), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_cache_create(net.engine, net.network, &none, &cache), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_cache_create(net.engine, net.network, &sequences, &cache),
                      WEFT_E_ARGUMENT);
    assert_true(weft_memory_limit() > 1 << 20);
}

/* One storage for all layers, so that it is large enough for huge pages; views are whole, do not
 * meet, and are written as slice_set wants it. */
static void test_layers_share_one_storage(void **state) {
    (void)state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_Q8_0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        weft_cache *cache = cache_of_type(types[i], 100, 2);
        weft_tensor *first = weft_cache_k(cache, 0);
        int64_t at = 0;
        for (int32_t l = 0; l < net.network->h.n_layer; l++)
            for (int which = 0; which < 2; which++) {
                weft_tensor *t = which ? weft_cache_v(cache, l) : weft_cache_k(cache, l);
                assert_true(weft_tensor_same_storage(first, t));
                assert_true(weft_tensor_is_contiguous(t));
                assert_int_equal(weft_tensor_offset(t), at);
                assert_int_equal((uintptr_t)weft_tensor_data(t) % 64, 0);
                at += weft_tensor_numel(t);
            }
        assert_int_equal(weft_tensor_storage_bytes(first), weft_cache_bytes(cache));
        assert_weft_ok(weft_scope_reset(scope));
        weft_tensor *target = weft_tensor_narrow(scope, first, 0, 64, 2);
        weft_tensor *source = weft_tensor_narrow(scope, weft_cache_v(cache, 1), 0, 7, 2);
        assert_weft_fails(weft_slice_set(scope, target, source, 0, 0), WEFT_E_SAME_STORAGE);
        assert_weft_ok(weft_scope_reset(scope));
        target = weft_tensor_narrow(scope, first, 0, 64, 2);
        source = weft_tensor_narrow(scope, weft_cache_v(cache, 1), 0, 7, 2);
        assert_weft_ok(weft_slice_set(scope, target, weft_tensor_copy(scope, source), 0, 0));
        assert_weft_ok(weft_scope_reset(scope));
        weft_cache_release(&cache);
    }
}

/* ---- Saving ---- */

typedef struct saved {
    char path[64];
    weft_mapping map;
} saved;

static saved save(const weft_cache *cache, int32_t sequence) {
    saved s;
    weft_writer *writer;
    snprintf(s.path, sizeof s.path, "/tmp/weft-test-cache-%d", (int)getpid());
    assert_weft_ok(weft_writer_open(&net.engine->allocator, s.path, &writer));
    assert_weft_ok(weft_cache_save(cache, sequence, writer));
    assert_weft_ok(weft_writer_commit(&writer));
    assert_weft_ok(weft_file_map(s.path, &s.map));
    return s;
}

static void drop(saved *s) {
    weft_file_unmap(&s->map);
    unlink(s->path);
}

static void test_saved_and_loaded_goes_on_the_same(void **state) {
    (void)state;
    float expected[TINY_VOCAB], got[TINY_VOCAB];
    weft_cache *from = new_cache(200, 1), *to = new_cache(200, 2);
    int32_t a, b, c;
    assert_weft_ok(weft_cache_sequence_create(from, &a));
    feed(from, a, 0, 150, NULL);
    saved s = save(from, a);
    feed(from, a, 150, 160, expected);
    assert_weft_ok(weft_cache_sequence_create(to, &b));
    assert_weft_ok(weft_cache_sequence_create(to, &c));
    feed(to, b, 40, 120, NULL); /* something else stands there before */
    feed(to, c, 0, 5, NULL);
    assert_weft_ok(weft_cache_load(to, b, s.map.data, s.map.size_bytes));
    assert_int_equal(weft_cache_length(to, b), 150);
    feed(to, b, 150, 160, got);
    assert_memory_equal(expected, got, sizeof got);
    drop(&s);
    weft_cache_truncate(from, a, 0, NULL); /* an empty one as well */
    s = save(from, a);
    assert_weft_ok(weft_cache_load(to, b, s.map.data, s.map.size_bytes));
    assert_int_equal(weft_cache_length(to, b), 0);
    drop(&s);
    weft_cache_release(&from);
    weft_cache_release(&to);
}

/* Every type: what it takes, and fork, truncate, save and load go on with the same bits. */
static void test_every_type(void **state) {
    (void)state;
    static const struct {
        weft_dtype type;
        size_t head_bytes; /* of 16 elements */
    } types[] = {{WEFT_F32, 64}, {WEFT_F16, 32}, {WEFT_BF16, 32}, {WEFT_Q8_0, 34}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        weft_cache *cache = cache_of_type(types[i].type, 256, 3);
        int32_t a, b, c;
        float expected[TINY_VOCAB], got[TINY_VOCAB];
        assert_weft_ok(weft_cache_sequence_create(cache, &a));
        assert_int_equal(weft_cache_bytes(cache),
                         6 * 64 * 2 * net.network->h.n_layer * TINY_KV * types[i].head_bytes);
        feed(cache, a, 0, 120, NULL);
        saved file = save(cache, a);
        feed(cache, a, 120, 130, expected);
        assert_weft_ok(weft_cache_truncate(cache, a, 100, NULL));
        assert_weft_ok(weft_cache_sequence_fork(cache, a, &b));
        feed(cache, b, 100, 130, got);
        assert_memory_equal(expected, got, sizeof got);
        feed(cache, a, 100, 130, got);
        assert_memory_equal(expected, got, sizeof got);
        weft_cache_sequence_free(cache, a);
        assert_weft_ok(weft_cache_sequence_create(cache, &c));
        assert_weft_ok(weft_cache_load(cache, c, file.map.data, file.map.size_bytes));
        feed(cache, c, 120, 130, got);
        assert_memory_equal(expected, got, sizeof got);
        drop(&file);
        weft_cache_release(&cache);
    }
}

static void test_damaged_and_foreign_files_are_refused(void **state) {
    (void)state;
    float expected[TINY_VOCAB], got[TINY_VOCAB];
    weft_cache *cache = new_cache(100, 1);
    int32_t s;
    assert_weft_ok(weft_cache_sequence_create(cache, &s));
    feed(cache, s, 0, 70, NULL);
    saved file = save(cache, s);
    size_t n = file.map.size_bytes;
    unsigned char *bytes = malloc(n + 1);
    memcpy(bytes, file.map.data, n);
    bytes[n] = 0;
    for (size_t i = 0; i < n; i += i < 60 ? 1 : 97) {
        bytes[i] ^= 4;
        assert_weft_fails(weft_cache_load(cache, s, bytes, n), WEFT_E_FORMAT);
        bytes[i] ^= 4;
    }
    for (size_t i = 0; i < n; i += i < 60 ? 1 : 997)
        assert_weft_fails(weft_cache_load(cache, s, bytes, i), WEFT_E_FORMAT);
    assert_weft_fails(weft_cache_load(cache, s, bytes, n + 1), WEFT_E_FORMAT);
    tiny other;
    tiny_open(&other, "llama", true, WEFT_NUMBERS_DEFAULT, false); /* heads of 32, not 16 */
    weft_cache *foreign = NULL;
    weft_cache_options o = {100, WEFT_F16, 1};
    assert_weft_ok(weft_cache_create(other.engine, other.network, &o, &foreign));
    int32_t f;
    assert_weft_ok(weft_cache_sequence_create(foreign, &f));
    assert_weft_fails(weft_cache_load(foreign, f, bytes, n), WEFT_E_FORMAT);
    assert_detail_has("another model");
    weft_cache_release(&foreign);
    tiny_close(&other);
    /* Nothing of that changed the text. */
    assert_int_equal(weft_cache_length(cache, s), 70);
    feed(cache, s, 70, 75, got);
    weft_cache_truncate(cache, s, 0, NULL);
    feed(cache, s, 0, 75, expected);
    assert_memory_equal(expected, got, sizeof got);
    weft_cache *small = new_cache(64, 1);
    assert_weft_ok(weft_cache_sequence_create(small, &f));
    feed(small, f, 0, 3, NULL);
    assert_weft_fails(weft_cache_load(small, f, bytes, n), WEFT_E_CACHE_FULL);
    assert_int_equal(weft_cache_length(small, f), 3);
    weft_cache_release(&small);
    free(bytes);
    drop(&file);
    weft_cache_release(&cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_context_of_one),
        cmocka_unit_test(test_sequences_are_limited_and_reused),
        cmocka_unit_test(test_forks_share_blocks),
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_layers_share_one_storage),
        cmocka_unit_test(test_saved_and_loaded_goes_on_the_same),
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_damaged_and_foreign_files_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
