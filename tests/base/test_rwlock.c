/* The lock of storages: writers exclude everyone, readers share, nobody waits for ever. Made for
 * the thread sanitizer as well. */
#include "test.h"

#include <pthread.h>
#include "base/clock.h"
#include "base/rwlock.h"

enum { THREADS = 6, ROUNDS = 20000 };

static weft_rwlock lock;
static long pair[2]; /* equal, whenever the lock can be had */

typedef struct worker {
    pthread_t thread;
    int index;
    long n_writes;
    bool unequal;
} worker;

static void *read_and_write(void *ctx) {
    worker *w = ctx;
    for (int i = 0; i < ROUNDS; i++) {
        if ((i + w->index) % 4 == 0) {
            weft_rwlock_write(&lock);
            pair[0]++;
            pair[1]++;
            weft_rwlock_unlock_write(&lock);
            w->n_writes++;
        } else {
            weft_rwlock_read(&lock);
            w->unequal |= pair[0] != pair[1];
            weft_rwlock_unlock_read(&lock);
        }
    }
    return NULL;
}

static void no_write_is_lost_or_seen_half(void **state) {
    (void)state;
    worker workers[THREADS];
    long n_writes = 0;
    pair[0] = pair[1] = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.index = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, read_and_write, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_false(workers[i].unequal);
        n_writes += workers[i].n_writes;
    }
    assert_int_equal(pair[0], n_writes);
    assert_int_equal(atomic_load(&lock.state), 0);
}

static atomic_int n_inside;

/* Holds the lock for reading until the other one has it too. */
static void *read_together(void *ctx) {
    double until = weft_clock_seconds() + 10;
    weft_rwlock_read(&lock);
    atomic_fetch_add(&n_inside, 1);
    while (atomic_load(&n_inside) < 2 && weft_clock_seconds() < until)
        ;
    weft_rwlock_unlock_read(&lock);
    return ctx;
}

static void readers_share(void **state) {
    (void)state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_together, NULL), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&n_inside), 2);
}

static void *write_once(void *ctx) {
    weft_rwlock_write(&lock);
    *(bool *)ctx = true;
    weft_rwlock_unlock_write(&lock);
    return NULL;
}

/* A writer that came gets its turn although readers keep coming. */
static void readers_do_not_starve_a_writer(void **state) {
    (void)state;
    pthread_t writer;
    bool written = false;
    double until = weft_clock_seconds() + 10;
    weft_rwlock_read(&lock);
    assert_int_equal(pthread_create(&writer, NULL, write_once, &written), 0);
    while (!(atomic_load(&lock.state) & WEFT_RWLOCK_WAITING) && weft_clock_seconds() < until)
        ;
    assert_true(atomic_load(&lock.state) & WEFT_RWLOCK_WAITING);
    assert_false(written); /* under the lock for reading */
    weft_rwlock_unlock_read(&lock);
    weft_rwlock_read(&lock); /* waits for the writer, or came before it: both end */
    weft_rwlock_unlock_read(&lock);
    pthread_join(writer, NULL);
    assert_true(written);
    assert_int_equal(atomic_load(&lock.state), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_write_is_lost_or_seen_half),
        cmocka_unit_test(readers_share),
        cmocka_unit_test(readers_do_not_starve_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
