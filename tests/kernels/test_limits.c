/* The loops that measure the machine: reading touches every word, and time grows with rounds. */
#include "kernels_test.h"
#include "tensor/kernels/limits.h"

static void test_reading_touches_every_word(void **state) {
    (void)state;
    enum { STEPS = 3, WORDS = STEPS * WEFT_LIMIT_READ_STEP / 8 };
    uint64_t *memory = test_alloc(8 * WORDS), all = 0;
    for (size_t i = 0; i < WORDS; i++) {
        memory[i] = (uint64_t)random_u32() << 32 | random_u32();
        all ^= memory[i];
    }
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
        if (!weft_cpu_has((weft_isa)isa))
            continue;
        weft_limit_kernels k = weft_limit_kernels_of((weft_isa)isa);
        assert_true(k.read(memory, 8 * WORDS) == all);
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t bit = (uint64_t)1 << i % 64;
            memory[i] ^= bit;
            assert_true(k.read(memory, 8 * WORDS) == (all ^ bit));
            memory[i] ^= bit;
        }
    }
    free(memory);
}

/* Of ten runs, so that what else the machine does hardly counts. */
static double least_seconds(weft_limit_loop *loop, size_t rounds) {
    double least = 1e9;
    volatile float kept;
    for (int run = 0; run < 10; run++) {
        double begin = seconds_now();
        kept = loop(rounds);
        double took = seconds_now() - begin;
        least = took < least ? took : least;
    }
    (void)kept;
    return least;
}

/* A loop that a compiler took apart would end at once: ten times the rounds take several times as
 * long. */
static void test_loops_take_time_by_their_rounds(void **state) {
    (void)state;
    enum { ROUNDS = 20000 };
    for (int isa = 0; isa < WEFT_ISA_COUNT; isa++) {
        if (!weft_cpu_has((weft_isa)isa))
            continue;
        weft_limit_kernels k = weft_limit_kernels_of((weft_isa)isa);
        weft_limit_loop *loops[] = {k.f32, k.int8, k.bf16};
        size_t ops[] = {k.f32_ops, k.int8_ops, k.bf16_ops};
        for (size_t l = 0; l < N_ITEMS(loops); l++) {
            if (!loops[l])
                continue;
            assert_true(ops[l] > 0);
            assert_true(least_seconds(loops[l], 10 * ROUNDS) > 3 * least_seconds(loops[l], ROUNDS));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading_touches_every_word),
        cmocka_unit_test(test_loops_take_time_by_their_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
