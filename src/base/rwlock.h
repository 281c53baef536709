/* A lock for many readers or one writer in one word: two atomic steps where nobody waits, which is
 * all that an op of a few elements can afford. Those who wait sleep in the kernel (futex); readers
 * that come after a waiting thread queue behind it, so that no writer starves. Not recursive. */
#ifndef WEFT_BASE_RWLOCK_H
#define WEFT_BASE_RWLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WEFT_RWLOCK_WRITER ((uint32_t)1 << 31)  /* a writer holds it */
#define WEFT_RWLOCK_WAITING ((uint32_t)1 << 30) /* somebody sleeps, or is about to */

typedef struct weft_rwlock {
    _Atomic uint32_t state; /* the two bits, and below them the number of readers; 0: free */
} weft_rwlock;

/* Slow paths, where somebody has to wait or to be woken. */
void weft_rwlock_wait_read(weft_rwlock *lock);
void weft_rwlock_wait_write(weft_rwlock *lock);
void weft_rwlock_wake(weft_rwlock *lock);

static inline void weft_rwlock_read(weft_rwlock *lock) {
    uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
    if (state >= WEFT_RWLOCK_WAITING ||
        !atomic_compare_exchange_strong_explicit(&lock->state, &state, state + 1,
                                                 memory_order_acquire, memory_order_relaxed))
        weft_rwlock_wait_read(lock);
}

static inline void weft_rwlock_write(weft_rwlock *lock) {
    uint32_t state = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &state, WEFT_RWLOCK_WRITER,
                                                 memory_order_acquire, memory_order_relaxed))
        weft_rwlock_wait_write(lock);
}

static inline void weft_rwlock_unlock_read(weft_rwlock *lock) {
    uint32_t before = atomic_fetch_sub_explicit(&lock->state, 1, memory_order_release);
    if (before == (WEFT_RWLOCK_WAITING | 1))
        weft_rwlock_wake(lock);
}

static inline void weft_rwlock_unlock_write(weft_rwlock *lock) {
    uint32_t before =
        atomic_fetch_and_explicit(&lock->state, ~WEFT_RWLOCK_WRITER, memory_order_release);
    if (before & WEFT_RWLOCK_WAITING)
        weft_rwlock_wake(lock);
}

#endif
