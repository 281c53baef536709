/* Sessions: whatever way a text gets into the cache the logits are the same bits, and whatever
 * fails leaves the session as it was. */
#include "fixture.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

static fixture f;

static int open_model(void **state) {
    (void)state;
    f = fixture_open(&(tiny_options){.q8_0 = true}, WEFT_NUMBERS_REPRODUCIBLE);
    return 0;
}

static int close_model(void **state) {
    (void)state;
    fixture_close(&f);
    return 0;
}

static void make_ids(int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((i * 37 + i / 5) % 290);
}

/* Logits after `ids` in a session of their own, fed whole. */
static void fresh_logits(const int32_t *ids, size_t n, float *out) {
    weft_session *s = session_open(&f, 256, 256);
    assert_weft_ok(weft_session_eval(s, ids, n));
    memcpy(out, weft_session_logits(s), TINY_N_VOCAB * sizeof *out);
    weft_session_release(&s);
}

static void test_pieces_and_batches_change_no_bit(void **state) {
    (void)state;
    int32_t ids[150];
    float want[TINY_N_VOCAB];
    make_ids(ids, 150);
    fresh_logits(ids, 150, want);
    for (int32_t batch = 1; batch < 150; batch = batch * 3 + 1) {
        weft_session *s = session_open(&f, 150, batch);
        assert_weft_ok(weft_session_eval(s, ids, 150));
        same_bits(weft_session_logits(s), want, TINY_N_VOCAB);
        assert_int_equal(weft_session_n_past(s), 150);
        assert_memory_equal(weft_session_tokens(s), ids, sizeof ids);
        weft_session_release(&s);
    }
    weft_session *s = session_open(&f, 256, 0);
    for (size_t at = 0, step = 1; at < 150; at += step, step = step * 2 + 1)
        assert_weft_ok(weft_session_eval(s, ids + at, at + step < 150 ? step : 150 - at));
    same_bits(weft_session_logits(s), want, TINY_N_VOCAB);
    weft_session_release(&s);
}

static void test_eval_all_gives_every_position(void **state) {
    (void)state;
    int32_t ids[40];
    make_ids(ids, 40);
    float *all = malloc(40 * TINY_N_VOCAB * sizeof *all), want[TINY_N_VOCAB];
    weft_session *s = session_open(&f, 64, 16);
    assert_weft_ok(weft_session_eval_all(s, ids, 40, all));
    for (size_t n = 1; n <= 40; n += 13) {
        fresh_logits(ids, n, want);
        same_bits(all + (n - 1) * TINY_N_VOCAB, want, TINY_N_VOCAB);
    }
    same_bits(weft_session_logits(s), all + 39 * TINY_N_VOCAB, TINY_N_VOCAB);
    weft_session_release(&s);
    free(all);
}

static void test_truncate(void **state) {
    (void)state;
    int32_t ids[120], resume;
    float want[TINY_N_VOCAB];
    make_ids(ids, 120);
    weft_session *s = session_open(&f, 256, 0);
    assert_weft_ok(weft_session_eval(s, ids, 120));
    ids[70] = 7;
    fresh_logits(ids, 90, want);
    assert_weft_ok(weft_session_truncate(s, 70, &resume));
    assert_int_equal(resume, 70);
    assert_int_equal(weft_session_n_past(s), 70);
    assert_null(weft_session_logits(s));
    assert_weft_ok(weft_session_eval(s, ids + 70, 20));
    same_bits(weft_session_logits(s), want, TINY_N_VOCAB);
    assert_weft_fails(weft_session_truncate(s, 91, NULL), WEFT_E_RANGE);
    assert_weft_fails(weft_session_truncate(s, -1, NULL), WEFT_E_RANGE);
    assert_non_null(weft_session_logits(s));
    weft_session_release(&s);
}

static void test_fork(void **state) {
    (void)state;
    int32_t ids[100], other[100];
    float want[TINY_N_VOCAB], want_other[TINY_N_VOCAB];
    make_ids(ids, 100);
    memcpy(other, ids, sizeof ids);
    for (size_t i = 80; i < 100; i++)
        other[i] = (int32_t)i;
    fresh_logits(ids, 100, want);
    fresh_logits(other, 100, want_other);
    weft_session_options options = weft_session_options_default();
    options.n_context = 512;
    options.n_sequences = 2;
    weft_session *a, *b, *c;
    assert_weft_ok(weft_session_create(f.model, &options, &a));
    assert_weft_ok(weft_session_eval(a, ids, 80));
    assert_weft_ok(weft_session_fork(a, &b));
    assert_int_equal(weft_session_n_past(b), 80);
    same_bits(weft_session_logits(a), weft_session_logits(b), TINY_N_VOCAB);
    assert_weft_fails(weft_session_fork(a, &c), WEFT_E_CACHE_FULL); /* two may live at once */
    for (size_t i = 80; i < 100; i += 5) {
        assert_weft_ok(weft_session_eval(a, ids + i, 5));
        assert_weft_ok(weft_session_eval(b, other + i, 5));
    }
    same_bits(weft_session_logits(a), want, TINY_N_VOCAB);
    same_bits(weft_session_logits(b), want_other, TINY_N_VOCAB);
    weft_session_release(&a); /* the fork goes on without its origin */
    assert_weft_ok(weft_session_truncate(b, 80, NULL));
    assert_weft_ok(weft_session_eval(b, ids + 80, 20));
    same_bits(weft_session_logits(b), want, TINY_N_VOCAB);
    weft_session_release(&b);
}

static void test_errors_change_nothing(void **state) {
    (void)state;
    int32_t ids[80];
    float before[TINY_N_VOCAB];
    make_ids(ids, 80);
    weft_session *s = session_open(&f, 64, 16);
    assert_weft_ok(weft_session_eval(s, ids, 30));
    memcpy(before, weft_session_logits(s), sizeof before);
    assert_weft_fails(weft_session_eval(s, ids, 0), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_session_eval(s, NULL, 3), WEFT_E_NULL);
    assert_weft_fails(weft_session_eval(s, ids, 35), WEFT_E_CACHE_FULL);
    assert_detail_has("30 of 64");
    assert_weft_fails(weft_session_eval(s, ids, SIZE_MAX), WEFT_E_CACHE_FULL); /* none is read */
    assert_weft_fails(weft_session_eval_all(s, ids, SIZE_MAX, before), WEFT_E_CACHE_FULL);
    ids[33] = TINY_N_VOCAB;
    assert_weft_fails(weft_session_eval(s, ids, 34), WEFT_E_RANGE);
    ids[33] = -1;
    assert_weft_fails(weft_session_eval(s, ids, 34), WEFT_E_RANGE);
    weft_session_cancel(s);
    ids[33] = 1;
    assert_weft_fails(weft_session_eval(s, ids, 34), WEFT_E_CANCELLED);
    assert_int_equal(weft_session_n_past(s), 30);
    same_bits(weft_session_logits(s), before, TINY_N_VOCAB);
    make_ids(ids, 80);
    assert_weft_ok(weft_session_eval(s, ids + 30, 34)); /* the last position is usable */
    fresh_logits(ids, 64, before);
    same_bits(weft_session_logits(s), before, TINY_N_VOCAB);
    assert_weft_fails(weft_session_eval(s, ids, 1), WEFT_E_CACHE_FULL);
    weft_session_release(&s);
}

static void test_options_refused(void **state) {
    (void)state;
    weft_session *s;
    weft_session_options o = weft_session_options_default();
    o.n_context = -1;
    assert_weft_fails(weft_session_create(f.model, &o, &s), WEFT_E_ARGUMENT);
    o.n_context = 64;
    o.cache_type = WEFT_Q4_0;
    assert_weft_fails(weft_session_create(f.model, &o, &s), WEFT_E_ARGUMENT);
    assert_detail_has("q8_0");
    o.cache_type = WEFT_F32;
    o.n_context = INT32_MAX;
    assert_weft_fails(weft_session_create(f.model, &o, &s), WEFT_E_MEMORY);
    assert_null(s);
    s = session_open(&f, 0, 0); /* the model's own, below 4,096 */
    assert_int_equal(weft_session_n_context(s), TINY_N_CONTEXT);
    weft_session_release(&s);
    weft_session_release(NULL);
}

/* ---- Files ---- */

static char *read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*n + 1);
    assert_int_equal(fread(data, 1, *n, file), *n);
    fclose(file);
    return data;
}

static void write_file(const char *path, const char *data, size_t n) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
}

static void test_save_and_load(void **state) {
    (void)state;
    char folder[] = "/tmp/weft-session-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/saved", folder);
    int32_t ids[100];
    float want[TINY_N_VOCAB];
    make_ids(ids, 100);
    fresh_logits(ids, 100, want);
    weft_session *a = session_open(&f, 256, 0), *b = session_open(&f, 128, 0);
    assert_weft_ok(weft_session_eval(a, ids, 90));
    assert_weft_ok(weft_session_save(a, path));
    assert_weft_ok(weft_session_eval(b, ids + 3, 5));
    assert_weft_ok(weft_session_load(b, path));
    assert_int_equal(weft_session_n_past(b), 90);
    assert_memory_equal(weft_session_tokens(b), ids, 90 * sizeof *ids);
    assert_null(weft_session_logits(b));
    assert_weft_ok(weft_session_eval(b, ids + 90, 10));
    same_bits(weft_session_logits(b), want, TINY_N_VOCAB);

    /* Nothing damaged is taken, and what the session held stays. */
    size_t n;
    char *data = read_file(path, &n);
    for (size_t at = 0; at < n; at += at < 128 ? 5 : n / 50 + 1) {
        data[at] ^= 0x10;
        write_file(path, data, n);
        assert_weft_fails(weft_session_load(b, path), WEFT_E_FORMAT);
        data[at] ^= 0x10;
    }
    for (size_t cut = 0; cut < n; cut += n / 20 + 1) {
        write_file(path, data, cut);
        assert_weft_fails(weft_session_load(b, path), WEFT_E_FORMAT);
    }
    assert_int_equal(weft_session_n_past(b), 100);
    same_bits(weft_session_logits(b), want, TINY_N_VOCAB);
    write_file(path, data, n);
    free(data);

    weft_session *small = session_open(&f, 64, 0);
    assert_weft_fails(weft_session_load(small, path), WEFT_E_CACHE_FULL);
    fixture other = fixture_open(&(tiny_options){.q8_0 = true, .seed = 5}, WEFT_NUMBERS_DEFAULT);
    weft_session *c = session_open(&other, 256, 0);
    assert_weft_fails(weft_session_load(c, path), WEFT_E_FORMAT);
    assert_detail_has("another model");
    unlink(path);
    assert_weft_fails(weft_session_load(c, path), WEFT_E_NOT_FOUND);
    assert_detail_has(path);
    weft_session_release(&a);
    weft_session_release(&b);
    weft_session_release(&c);
    weft_session_release(&small);
    fixture_close(&other);
    assert_int_equal(rmdir(folder), 0); /* no partial file is left */
}

/* ---- Threads ---- */

typedef struct job {
    int32_t first;
    float logits[TINY_N_VOCAB];
} job;

static void *decode(void *ctx) {
    job *j = ctx;
    weft_session *s;
    weft_session_options options = weft_session_options_default();
    options.n_context = 128;
    if (weft_session_create(f.model, &options, &s))
        return NULL;
    int32_t token = j->first;
    for (int i = 0; i < 100 && !weft_session_eval(s, &token, 1); i++) {
        const float *logits = weft_session_logits(s);
        token = 0;
        for (int32_t t = 1; t < TINY_N_VOCAB; t++)
            token = logits[t] > logits[token] ? t : token;
    }
    memcpy(j->logits, weft_session_logits(s), sizeof j->logits);
    weft_session_release(&s);
    return j;
}

/* Of this process. */
static int count_threads(void) {
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        n += e->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return n;
}

/* They take turns on one team: beside the application's own two, no thread is started. */
static void test_two_sessions_in_two_threads(void **state) {
    (void)state;
    int n_threads = count_threads();
    job alone[2] = {{.first = 65}, {.first = 66}}, together[2] = {{.first = 65}, {.first = 66}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_non_null(decode(&alone[i]));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decode, &together[i]), 0);
    for (int i = 0; i < 20; i++) {
        assert_true(count_threads() <= n_threads + 2);
        usleep(200);
    }
    for (int i = 0; i < 2; i++) {
        void *done;
        pthread_join(threads[i], &done);
        assert_non_null(done);
        same_bits(alone[i].logits, together[i].logits, TINY_N_VOCAB);
    }
}

static void test_a_forked_child_is_told(void **state) {
    (void)state;
    skip_without_fork_notice();
    int32_t id = 65;
    weft_session *s = session_open(&f, 64, 0), *other;
    weft_sampler *sampler;
    assert_weft_ok(weft_session_eval(s, &id, 1));
    assert_weft_ok(weft_sampler_create(f.engine, NULL, &sampler));
    pid_t child = fork();
    if (child == 0) {
        weft_model *m;
        float logits[2] = {1, 2};
        bool told = weft_sampler_accept(sampler, 1) == WEFT_E_FORKED &&
                    weft_sampler_choose(sampler, logits, 2, &id) == WEFT_E_FORKED &&
                    weft_session_eval(s, &id, 1) == WEFT_E_FORKED &&
                    weft_generate(s, &id, 1, NULL, NULL, NULL, NULL, NULL) == WEFT_E_FORKED &&
                    weft_session_truncate(s, 0, NULL) == WEFT_E_FORKED &&
                    weft_session_fork(s, &other) == WEFT_E_FORKED &&
                    weft_session_create(f.model, NULL, &other) == WEFT_E_FORKED &&
                    weft_model_open(f.engine, "x", NULL, &m) == WEFT_E_FORKED;
        _exit(told ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_weft_ok(weft_session_eval(s, &id, 1)); /* the parent goes on */
    weft_sampler_release(&sampler);
    weft_session_release(&s);
}

static void *cancel_soon(void *ctx) {
    usleep(2000);
    weft_session_cancel(ctx);
    return NULL;
}

static void test_cancel_ends_a_long_prompt(void **state) {
    (void)state;
    enum { N = 60000 };
    int32_t *ids = malloc(N * sizeof *ids);
    make_ids(ids, N);
    weft_session *s = session_open(&f, N, 64);
    assert_weft_ok(weft_session_eval(s, ids, 10));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, s), 0);
    assert_weft_fails(weft_session_eval(s, ids, N - 10), WEFT_E_CANCELLED);
    pthread_join(thread, NULL);
    assert_int_equal(weft_session_n_past(s), 10);
    float want[TINY_N_VOCAB];
    fresh_logits(ids, 20, want);
    assert_weft_ok(weft_session_eval(s, ids + 10, 10)); /* and is over with that */
    same_bits(weft_session_logits(s), want, TINY_N_VOCAB);
    weft_session_release(&s);
    free(ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_and_batches_change_no_bit),
        cmocka_unit_test(test_eval_all_gives_every_position),
        cmocka_unit_test(test_truncate),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_errors_change_nothing),
        cmocka_unit_test(test_options_refused),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_two_sessions_in_two_threads),
        cmocka_unit_test(test_a_forked_child_is_told),
        cmocka_unit_test(test_cancel_ends_a_long_prompt),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
