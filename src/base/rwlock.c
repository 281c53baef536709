/* Waiting for a lock and waking those who wait. */
#include "base/rwlock.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WRITER WEFT_RWLOCK_WRITER
#define WAITING WEFT_RWLOCK_WAITING

/* Sleeps unless the state has changed by now; may return early. */
static void sleep_while(weft_rwlock *lock, uint32_t state) {
    syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

static bool change(weft_rwlock *lock, uint32_t *from, uint32_t to) {
    return atomic_compare_exchange_weak_explicit(&lock->state, from, to, memory_order_acquire,
                                                 memory_order_relaxed);
}

/* Says that this thread is going to sleep, and does. */
static void wait_in(weft_rwlock *lock, uint32_t state) {
    if ((state & WAITING) || change(lock, &state, state | WAITING))
        sleep_while(lock, state | WAITING);
}

void weft_rwlock_wait_read(weft_rwlock *lock) {
    for (;;) {
        uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
        if (state >= WAITING)
            wait_in(lock, state);
        else if (change(lock, &state, state + 1))
            return;
    }
}

void weft_rwlock_wait_write(weft_rwlock *lock) {
    for (;;) {
        uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
        if (state & ~WAITING)
            wait_in(lock, state);
        else if (change(lock, &state, state | WRITER)) /* the others that wait are woken after it */
            return;
    }
}

/* Nobody holds the lock and somebody sleeps: unless another took it since, who then wakes them. */
void weft_rwlock_wake(weft_rwlock *lock) {
    uint32_t state = WAITING;
    if (atomic_compare_exchange_strong_explicit(&lock->state, &state, 0, memory_order_relaxed,
                                                memory_order_relaxed))
        syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
