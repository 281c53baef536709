/* What guesses gain, counted: texts of token ids, steps that cost what they were measured to cost
 * on a model of 135 million weights (with noise in what is measured, as on a busy machine), and no
 * model. */
#include "fixture.h"
#include "engine/speculate_gain.h"
#include "engine/speculate_lookup.h"

#include <math.h>

#define MOST 2000

typedef struct text {
    int32_t ids[MOST];
    int32_t n_prompt, n;
} text;

static uint64_t state;

static double uniform(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 33) / 2147483648.0;
}

/* Frequent ids and rare ones, as words are. */
static int32_t word(void) {
    return (int32_t)exp(uniform() * log(20000));
}

static void put(text *t, int32_t id) {
    assert_true(t->n < MOST);
    t->ids[t->n++] = id;
}

/* The prompt once more, where one token in `every` (0: none) is another, left out or new. */
static text edited(int32_t n, int every) {
    static text t;
    t.n = 0;
    for (t.n_prompt = 0; t.n_prompt < n; t.n_prompt++)
        put(&t, word());
    for (int32_t i = 0; i < n; i++) {
        double edit = every ? uniform() * every : 1;
        if (edit >= 1 || edit < 0.66)
            put(&t, edit < 0.66 ? word() : t.ids[i]);
        if (edit < 0.33)
            put(&t, word());
    }
    return t;
}

/* Words that follow each other with a liking for what followed before: `liking` 0 is none. */
static text prose(int32_t n, double liking) {
    static text t;
    t.n = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t next = word();
        for (int32_t k = i - 2; k >= 0 && uniform() < liking; k--)
            if (t.ids[k] == t.ids[i - 1]) {
                next = t.ids[k + 1];
                break;
            }
        put(&t, next);
    }
    t.n_prompt = n / 4;
    return t;
}

/* A token that came before is followed by what followed it then, with a chance of `again`. */
static text pairs(int32_t n, double again) {
    static text t;
    t.n = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t next = word(), k = i - 2;
        while (k >= 0 && t.ids[k] != t.ids[i - 1])
            k--;
        put(&t, k >= 0 && uniform() < again ? t.ids[k + 1] : next);
    }
    t.n_prompt = n / 4;
    return t;
}

/* The cost of a step of n rows, and what a clock says of it. */
typedef double (*cost_fn)(int32_t n);

static double true_cost(int32_t n) {
    return n > 1 ? 1.27 + 0.145 * (n - 1) : 1;
}

/* With kernels that take rows in passes of eight (docs/performance.md, "Steps of a few rows"). */
static double low_cost(int32_t n) {
    return n < 3 ? 1 + 0.01 * (n - 1) : n < 9 ? 1.01 + 0.088 * (n - 2) : 1.54 + 0.139 * (n - 8);
}

static double measured(double cost) {
    double noise = 0.8 + 0.4 * uniform();
    return cost * (uniform() < 0.04 ? 3 : noise) * 5e-3;
}

/* How many times as fast the text comes with guesses. */
static double speed_of(const text *t, cost_fn cost, int32_t *guessed) {
    weft_lookup l;
    weft_gain g;
    double time = 0, chances[WEFT_GUESSES_MAX];
    weft_lookup_init(&l);
    weft_gain_init(&g);
    *guessed = 0;
    for (int32_t i = t->n_prompt + 1; i < t->n;) { /* ids[i - 1] is chosen and not evaluated */
        int32_t guesses[WEFT_GUESSES_MAX], n = 0, at = 0;
        weft_lookup_find(&l, t->ids, i);
        if (l.from) {
            for (int32_t k = 0; k < WEFT_GUESSES_MAX; k++)
                chances[k] = weft_lookup_chance(&l, k);
            n = weft_gain_best(&g, chances, WEFT_GUESSES_MAX);
        }
        for (int32_t k = 0; k < n; k++)
            guesses[k] = weft_lookup_token(&l, k);
        *guessed += n;
        time += cost(n + 1);
        weft_gain_saw_step(&g, n + 1, measured(cost(n + 1)));
        for (bool right = true; right && i < t->n; at += right) {
            weft_lookup_saw(&l, t->ids[i]);
            right = at < n && guesses[at] == t->ids[i];
            i++;
        }
        weft_gain_saw_round(&g, n, at, false);
    }
    return (t->n - t->n_prompt - 1) / time;
}

static void test_repetitions_are_much_faster(void **test) {
    (void)test;
    static const struct {
        int every;
        double least;
    } cases[] = {{0, 4}, {40, 2.6}, {20, 2}, {10, 1.5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint64_t seed = 1; seed < 6; seed++) {
            int32_t guessed;
            state = seed;
            text t = edited(300, cases[i].every);
            double speed = speed_of(&t, true_cost, &guessed);
            if (seed == 1)
                print_message("an edit in %d tokens: %.2f times as fast\n", cases[i].every, speed);
            if (speed < cases[i].least)
                fail_msg("an edit in %d tokens: %.2f", cases[i].every, speed);
        }
}

static void test_nothing_is_lost_elsewhere(void **test) {
    (void)test;
    double least = 9, sum = 0;
    int n = 0;
    for (double liking = 0; liking < 0.55; liking += 0.1)
        for (uint64_t seed = 1; seed < 20; seed++, n++) {
            int32_t guessed;
            state = seed;
            text t = prose(500, liking);
            double speed = speed_of(&t, true_cost, &guessed);
            if (liking == 0)
                assert_true(guessed < 10);
            least = speed < least ? speed : least;
            sum += speed;
        }
    print_message("least %.3f, mean %.3f of %d texts\n", least, sum / n, n);
    assert_true(least > 0.96);
    assert_true(sum / n > 0.995);
}

/* Where a second row costs next to nothing, a match of a single token is worth a guess. */
static void test_cheap_rows_make_small_matches_pay(void **test) {
    (void)test;
    static const double least[] = {0.995, 1.01, 1.04, 1.08, 1.12};
    for (int i = 0; i < 5; i++) {
        double sum = 0;
        for (uint64_t seed = 1; seed < 20; seed++) {
            int32_t guessed;
            state = seed;
            text t = pairs(500, i / 10.0);
            double speed = speed_of(&t, low_cost, &guessed);
            assert_true(speed > 0.985);
            sum += speed / 19;
        }
        print_message("pairs that come again with %.1f: %.3f times as fast\n", i / 10.0, sum);
        assert_true(sum > least[i]);
    }
}

/* The first step of a text may take many times as long as the others: weights are read. */
static void test_a_slow_first_step_is_forgotten(void **test) {
    (void)test;
    weft_gain g;
    weft_gain_init(&g);
    weft_gain_saw_step(&g, 1, 0.1);
    weft_gain_saw_step(&g, 1, 0.01);
    for (int i = 0; i < 20; i++)
        weft_gain_saw_step(&g, 2, 0.012);
    assert_true(weft_gain_cost(&g, 2) > 1.1 && weft_gain_cost(&g, 2) < 1.25);
    /* More rows never cost less, whatever was measured. */
    for (int i = 0; i < 50; i++)
        weft_gain_saw_step(&g, 4, 0.005);
    assert_true(weft_gain_cost(&g, 4) == 1);
    for (int32_t n = 1; n <= WEFT_GUESSES_MAX; n++)
        assert_true(weft_gain_cost(&g, n) <= weft_gain_cost(&g, n + 1));
}

static void test_costs_are_learned_among_noise(void **test) {
    (void)test;
    weft_gain g;
    state = 5;
    weft_gain_init(&g);
    for (int i = 0; i < 300; i++) {
        int32_t n = i % 2 ? 1 : 2 + (int32_t)(uniform() * 14);
        double cost = n > 1 ? 1.6 + 0.3 * (n - 1) : 1;
        weft_gain_saw_step(&g, n, measured(cost));
    }
    print_message("cost of 2 rows %.2f, of 16 %.2f\n", weft_gain_cost(&g, 2),
                  weft_gain_cost(&g, 16));
    assert_true(fabs(weft_gain_cost(&g, 2) - 1.9) < 0.3);
    assert_true(fabs(weft_gain_cost(&g, 16) - 6.1) < 0.6);
}

static void test_matches(void **test) {
    (void)test;
    weft_lookup l;
    weft_lookup_init(&l);
    static const int32_t once[] = {1, 2, 3, 4, 5}, again[] = {7, 1, 2, 3, 9, 2, 3, 8, 1, 2, 3};
    weft_lookup_find(&l, once, 5);
    assert_int_equal(l.from, 0);
    weft_lookup_find(&l, again, 11); /* the longest, not the latest */
    assert_int_equal(l.from, 4);
    assert_int_equal(l.length, 3);
    assert_false(l.contested);
    weft_lookup_find(&l, again, 6); /* a single token matches: 2 3 9 … */
    assert_int_equal(l.from, 3);
    assert_int_equal(l.length, 1);
    weft_lookup_find(&l, again, 11);
    static const int32_t expected[] = {9, 2, 3, 8, 1, 2, 3, 9, 2};
    for (int32_t i = 0; i < 9; i++)
        assert_int_equal(weft_lookup_token(&l, i), expected[i]);
    weft_lookup_find(&l, again, 7); /* 2 3: goes on with 9 */
    assert_int_equal(l.from, 4);
    static const int32_t two_ways[] = {1, 2, 3, 5, 1, 2, 4, 6, 1, 2};
    weft_lookup_find(&l, two_ways, 10);
    assert_int_equal(l.from, 6);
    assert_true(l.contested);
    double before = weft_lookup_chance(&l, 0);
    weft_lookup_saw(&l, 4);
    assert_int_equal(l.at, 1);
    assert_true(weft_lookup_chance(&l, 0) > before);
    weft_lookup_saw(&l, 7);
    assert_int_equal(l.from, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_costs_are_learned_among_noise),
        cmocka_unit_test(test_a_slow_first_step_is_forgotten),
        cmocka_unit_test(test_repetitions_are_much_faster),
        cmocka_unit_test(test_nothing_is_lost_elsewhere),
        cmocka_unit_test(test_cheap_rows_make_small_matches_pay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
