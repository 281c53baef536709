/* The thread team covers every item exactly once, whatever the load and the number of threads. */
#include <pthread.h>
#include <stdatomic.h>
#include "test.h"
#include "base/alloc.h"
#include "base/team.h"

#define N 10007

typedef struct marks {
    atomic_int count[N];
    weft_team *team;
} marks;

static marks shared; /* zeroed by each user */

static void mark(void *ctx, size_t begin, size_t end, int thread) {
    marks *m = ctx;
    if (thread < 0 || begin >= end || end > N)
        abort();
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&m->count[i], 1);
}

static void check_all_marked(const marks *m, int times) {
    for (size_t i = 0; i < N; i++)
        assert_int_equal(atomic_load(&m->count[i]), times);
}

static void every_item_runs_once(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    for (int n_threads = 1; n_threads <= 9; n_threads += 2) {
        weft_team *team = weft_team_create(&a, n_threads);
        assert_non_null(team);
        assert_int_equal(weft_team_n_threads(team), n_threads);
        for (size_t grain = 1; grain < 3 * N; grain = grain * 7 + 1) {
            memset(&shared, 0, sizeof shared);
            weft_team_for(team, N, grain, mark, &shared);
            check_all_marked(&shared, 1);
        }
        weft_team_for(team, 0, 1, mark, &shared);
        weft_team_destroy(team);
    }
}

static void thousands_of_short_loops_run(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    for (int n_threads = 2; n_threads <= 8; n_threads *= 2) {
        weft_team *team = weft_team_create(&a, n_threads);
        memset(&shared, 0, sizeof shared);
        for (int loop = 0; loop < 2000; loop++) {
            weft_team_for(team, 16, 1, mark, &shared);
            if (loop % 500 == 0)
                usleep(1000); /* the workers fall asleep */
        }
        for (size_t i = 0; i < 16; i++)
            assert_int_equal(atomic_load(&shared.count[i]), 2000);
        weft_team_destroy(team);
    }
}

static void inner_loop(void *ctx, size_t begin, size_t end, int thread) {
    (void)begin;
    (void)end;
    (void)thread;
    marks *m = ctx;
    weft_team_for(m->team, N, 100, mark, m);
}

static void a_loop_inside_a_loop_runs(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    memset(&shared, 0, sizeof shared);
    shared.team = weft_team_create(&a, 3);
    weft_team_for(shared.team, 4, 4, inner_loop, &shared); /* on the caller alone */
    check_all_marked(&shared, 1);
    weft_team_for(shared.team, 3, 1, inner_loop, &shared); /* on workers */
    check_all_marked(&shared, 4);
    weft_team_destroy(shared.team);
}

static void *rival(void *ctx) {
    marks *m = ctx;
    for (int i = 0; i < 50; i++)
        weft_team_for(m->team, N, 13, mark, m);
    return NULL;
}

static void two_threads_may_use_a_team_at_once(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    memset(&shared, 0, sizeof shared);
    shared.team = weft_team_create(&a, 4);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, rival, &shared), 0);
    rival(&shared);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    check_all_marked(&shared, 4 * 50);
    weft_team_destroy(shared.team);
}

static void the_default_is_within_the_affinity_mask(void **state) {
    (void)state;
    assert_in_range(weft_team_default_threads(), 1, sysconf(_SC_NPROCESSORS_CONF));
}

/* Which threads took a part. */
typedef struct seen {
    atomic_int by[8];
} seen;

static void note_thread(void *ctx, size_t begin, size_t end, int thread) {
    seen *s = ctx;
    (void)begin, (void)end;
    if (thread < 0 || thread >= 8)
        abort();
    atomic_fetch_add(&s->by[thread], 1);
    usleep(200); /* a worker has the time to come */
}

/* Loops until some thread from `first` on took part, for ten seconds at most. */
static bool seen_from(weft_team *team, seen *s, int first) {
    for (int loop = 0; loop < 2000; loop++) {
        weft_team_for(team, 16, 1, note_thread, s);
        for (int i = first; i < 8; i++)
            if (atomic_load(&s->by[i]) > 0)
                return true;
    }
    return false;
}

static void the_limit_leaves_workers_out(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_team *team = weft_team_create(&a, 2);
    bool can = weft_team_cpus() >= 2; /* else no worker is started */
    for (int round = 0; round < 3; round++) {
        seen all = {0}, one = {0};
        weft_team_limit(team, 2);
        assert_true(seen_from(team, &all, 1) == can);
        weft_team_limit(team, 1);
        for (int loop = 0; loop < 20; loop++)
            weft_team_for(team, 16, 1, note_thread, &one);
        assert_int_equal(atomic_load(&one.by[0]), 20); /* one call for all items */
        assert_int_equal(atomic_load(&one.by[1]), 0);
    }
    assert_int_equal(weft_team_n_threads(team), 2);
    weft_team_pin(team);
    weft_team_destroy(team); /* while the worker sits out */
}

/* Where each of two threads began. */
typedef struct firsts {
    atomic_int of[2];
} firsts;

static void note_first(void *ctx, size_t begin, size_t end, int thread) {
    firsts *f = ctx;
    int none = -1;
    (void)end;
    atomic_compare_exchange_strong(&f->of[thread], &none, (int)begin);
    usleep(200);
}

/* Each reads a stream of its own; a worker that comes late may find some of it done. */
static void threads_begin_in_spans_of_their_own(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_team *team = weft_team_create(&a, 2);
    bool both = weft_team_cpus() < 2; /* else no worker is started */
    for (int loop = 0; loop < 2000 && !both; loop++) {
        firsts f = {{-1, -1}};
        weft_team_for(team, 32, 2, note_first, &f);
        assert_int_equal(atomic_load(&f.of[0]), 0);
        both = atomic_load(&f.of[1]) == 16;
    }
    assert_true(both);
    weft_team_destroy(team);
}

static void cpus_are_distinct(void **state) {
    (void)state;
    int n = 0;
    for (; weft_team_cpu(n) >= 0; n++)
        for (int i = 0; i < n; i++)
            assert_int_not_equal(weft_team_cpu(i), weft_team_cpu(n));
    assert_true(n >= weft_team_cpus() && n >= 1); /* a quota may allow fewer */
    assert_int_equal(weft_team_cpu(-1), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once),
        cmocka_unit_test(thousands_of_short_loops_run),
        cmocka_unit_test(a_loop_inside_a_loop_runs),
        cmocka_unit_test(two_threads_may_use_a_team_at_once),
        cmocka_unit_test(the_default_is_within_the_affinity_mask),
        cmocka_unit_test(the_limit_leaves_workers_out),
        cmocka_unit_test(threads_begin_in_spans_of_their_own),
        cmocka_unit_test(cpus_are_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
