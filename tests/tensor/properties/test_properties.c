/* Random programs over every op of the table. Arguments: PROGRAMS (10,000) and SEED (1): with other
 * numbers, more of them or one again. */
#include "prop.h"
#include <weft/extra/op_list.h>

#define STEPS 6

typedef struct op_row {
    const char *name;
    void (*check)(prop *p);
} op_row;

static op_row ops[] = {
#define OP_ROW(name, kind, types, sums) {#name, NULL},
    WEFT_OP_LIST(OP_ROW)
#undef OP_ROW
};
#define N_OPS (sizeof ops / sizeof ops[0])

static const prop_check *const families[] = {prop_creation, prop_views, prop_maps,  prop_reductions,
                                             prop_order,    prop_index, prop_neural};

static unsigned long long n_programs = 10000, first_seed = 1;

/* Fills ops[].check; an op of the table without a check, or a check of no op, is a failure. */
static void test_every_op_has_a_check(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        for (const prop_check *c = families[f]; c->name; c++) {
            size_t i = 0;
            while (i < N_OPS && strcmp(ops[i].name, c->name) != 0)
                i++;
            if (i == N_OPS)
                fail_msg("%s is checked, but not in src/tensor/ops.table", c->name);
            ops[i].check = c->check;
        }
    for (size_t i = 0; i < N_OPS; i++)
        if (!ops[i].check)
            fail_msg("%s of src/tensor/ops.table has no check", ops[i].name);
}

static void open_prop(prop *p, weft_engine *engine, weft_scope_kind kind) {
    memset(p, 0, sizeof *p);
    p->base.engine = engine;
    assert_weft_ok(weft_scope_create(engine, kind, &p->base.s));
}

static void begin_program(prop *p, uint64_t seed) {
    p->seed = seed;
    p->base.rng = seed * 0x9e3779b97f4a7c15u + 0xd1b54a32d192ed03u;
    for (int i = 0; i < 8; i++)
        rng_next(&p->base.rng);
    p->n_pool = 0;
    assert_weft_ok(weft_scope_reset(p->base.s));
}

static void run_op(prop *p, const op_row *row) {
    p->op = row->name;
    p->tame = false;
    row->check(p);
}

static void test_each_op_alone(void **state) {
    prop p;
    open_prop(&p, *state, WEFT_SCOPE_HEAP);
    for (size_t i = 0; i < N_OPS; i++)
        for (uint64_t round = 0; round < 60; round++) {
            begin_program(&p, 1000003 * i + round);
            run_op(&p, &ops[i]);
        }
    weft_scope_release(&p.base.s);
}

static void test_programs(void **state) {
    prop heap, arena;
    open_prop(&heap, *state, WEFT_SCOPE_HEAP);
    open_prop(&arena, *state, WEFT_SCOPE_ARENA);
    for (uint64_t i = 0; i < n_programs; i++) {
        prop *p = i % 2 ? &arena : &heap;
        begin_program(p, first_seed + i);
        for (int step = 0; step < STEPS; step++)
            run_op(p, &ops[below(p, N_OPS)]);
    }
    weft_scope_release(&heap.base.s);
    weft_scope_release(&arena.base.s);
}

static int open_engine(void **state) {
    *state = make_engine(2, WEFT_NUMBERS_DEFAULT, NULL);
    return 0;
}
static int close_engine(void **state) {
    weft_engine *engine = *state;
    weft_engine_release(&engine);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1)
        n_programs = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_has_a_check),
        cmocka_unit_test(test_each_op_alone),
        cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
