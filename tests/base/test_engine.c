/* Engines: options are checked, references counted, memory returned, forks noticed. */
#include <sys/wait.h>
#include "test.h"
#include "base/engine_impl.h"

typedef struct counter {
    long n_live, n_allocs, fail_at; /* fail_at 0: never */
    pthread_mutex_t lock;
} counter;

static void *counted_alloc(void *ctx, size_t size, size_t align) {
    counter *c = ctx;
    pthread_mutex_lock(&c->lock);
    bool fail = ++c->n_allocs == c->fail_at;
    c->n_live += !fail;
    pthread_mutex_unlock(&c->lock);
    void *p = NULL;
    return fail || posix_memalign(&p, align, size) ? NULL : p;
}

static void counted_release(void *ctx, void *memory, size_t size) {
    counter *c = ctx;
    (void)size;
    pthread_mutex_lock(&c->lock);
    c->n_live--;
    pthread_mutex_unlock(&c->lock);
    free(memory);
}

static void defaults_make_an_engine(void **state) {
    (void)state;
    weft_engine *e = NULL;
    assert_weft_ok(weft_engine_create(NULL, &e));
    assert_in_range(weft_engine_n_threads(e), 1, 1024);
    assert_true(strlen(weft_engine_cpu(e)) > 0);
    weft_engine *again = weft_engine_retain(e);
    assert_ptr_equal(again, e);
    weft_engine_release(&e);
    assert_null(e);
    assert_true(weft_engine_n_threads(again) >= 1);
    weft_engine_release(&again);
    weft_engine_release(&again);
    weft_engine_release(NULL);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    weft_engine *e = (void *)1;
    weft_engine_options o = weft_engine_options_default();
    assert_weft_fails(weft_engine_create(&o, NULL), WEFT_E_NULL);
    o.n_threads = -1;
    assert_weft_fails(weft_engine_create(&o, &e), WEFT_E_ARGUMENT);
    assert_null(e);
    o.n_threads = 1 << 20;
    assert_weft_fails(weft_engine_create(&o, &e), WEFT_E_ARGUMENT);
    o.n_threads = 1;
    o.cpu = "pentium";
    assert_weft_fails(weft_engine_create(&o, &e), WEFT_E_ARGUMENT);
    assert_detail_has("pentium");
    o.cpu = weft_cpu_has(WEFT_ISA_NEON) ? "avx2" : "neon";
    assert_weft_fails(weft_engine_create(&o, &e), WEFT_E_ARGUMENT);
    assert_detail_has("cannot run");
}

static void the_variant_can_be_limited(void **state) {
    (void)state;
    weft_engine *e;
    weft_engine_options o = weft_engine_options_default();
    o.n_threads = 1;
    o.cpu = "scalar";
    assert_weft_ok(weft_engine_create(&o, &e));
    assert_string_equal(weft_engine_cpu(e), "scalar");
    weft_engine_release(&e);
    o.cpu = NULL;
    setenv("WEFT_CPU", "scalar", 1);
    assert_weft_ok(weft_engine_create(&o, &e));
    assert_string_equal(weft_engine_cpu(e), "scalar");
    weft_engine_release(&e);
    setenv("WEFT_CPU", "nonsense", 1);
    assert_weft_fails(weft_engine_create(&o, &e), WEFT_E_ARGUMENT);
    assert_detail_has("WEFT_CPU");
    unsetenv("WEFT_CPU");
}

static void all_memory_comes_from_the_allocator_and_goes_back(void **state) {
    (void)state;
    counter c = {.lock = PTHREAD_MUTEX_INITIALIZER};
    weft_engine_options o = weft_engine_options_default();
    o.n_threads = 3;
    o.allocator = (weft_allocator){counted_alloc, counted_release, &c};
    weft_engine *e;
    assert_weft_ok(weft_engine_create(&o, &e));
    assert_true(c.n_live > 0);
    weft_engine_release(&e);
    assert_int_equal(c.n_live, 0);
    long n = c.n_allocs;
    for (long i = 1; i <= n; i++) {
        c.n_allocs = 0;
        c.fail_at = i;
        assert_weft_fails(weft_engine_create(&o, &e), WEFT_E_MEMORY);
        assert_null(e);
        assert_int_equal(c.n_live, 0);
    }
}

static void a_forked_child_is_told(void **state) {
    (void)state;
    skip_without_fork_notice();
    weft_engine *e;
    assert_weft_ok(weft_engine_create(NULL, &e));
    assert_weft_ok(weft_engine_alive(e));
    pid_t child = fork();
    if (child == 0) {
        bool told = weft_engine_alive(e) == WEFT_E_FORKED;
        weft_engine_release(&e); /* must not wait for workers that are not here */
        _exit(told ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_weft_ok(weft_engine_alive(e));
    weft_engine_release(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_make_an_engine),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(the_variant_can_be_limited),
        cmocka_unit_test(all_memory_comes_from_the_allocator_and_goes_back),
        cmocka_unit_test(a_forked_child_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
