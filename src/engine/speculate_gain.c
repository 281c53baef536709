/* A step with k guesses gives 1 + c1 + c1 c2 + … tokens on the average, c the chances, and costs as
 * much as some steps of one row. It is taken where it gives more than the same time would give at
 * the speed of late; after losses guessing rests, ever longer. */
#include "engine/speculate_gain.h"

#include <math.h>
#include <stdlib.h>

#define WEIGHT 0.1 /* of the newest measurement */
/* A measurement further than this from what was expected was disturbed, and counts only as far. */
#define LEAST_OF_EXPECTED 0.7
#define MOST_OF_EXPECTED 1.5
#define NEIGHBOUR 0.7 /* a measurement counts so much for a row more or less */
/* Before anything is known: the cost of more rows than one, and of each of them. */
#define FIRST_COST 0.1
#define EACH_COST 0.13
#define WORTH 1.05    /* less gain is noise */
#define MOST_LOST 2.0 /* steps of one row, before guessing rests */
#define MOST_SAVED 3.0
#define FIRST_PAUSE 8
#define LONGEST_PAUSE 256
#define FIRST_DRAFT_RATE 0.6

/* ---- The cost of a step ---- */

static double within(double x, double expected) {
    double least = LEAST_OF_EXPECTED * expected, most = MOST_OF_EXPECTED * expected;
    return x < least ? least : x > most ? most : x;
}

double weft_gain_cost(const weft_gain *g, int32_t n_rows) {
    return g->cost.rows[n_rows];
}

/* More rows never cost less: what was measured of n rows bounds the others. */
static void keep_order(double *rows, int32_t n) {
    rows[n] = rows[n] > 1 ? rows[n] : 1;
    for (int32_t i = n + 1; i <= WEFT_GUESSES_MAX + 1; i++)
        rows[i] = rows[i] > rows[i - 1] ? rows[i] : rows[i - 1];
    for (int32_t i = n - 1; i > 0; i--)
        rows[i] = rows[i] < rows[i + 1] ? rows[i] : rows[i + 1];
}

void weft_gain_saw_step(weft_gain *g, int32_t n_rows, double seconds) {
    weft_step_cost *c = &g->cost;
    if (n_rows == 1) {
        /* No step takes less time than it needs: what was known of it was disturbed. */
        if (c->one <= 0 || seconds < LEAST_OF_EXPECTED * c->one)
            c->one = seconds;
        c->one += WEIGHT * (within(seconds, c->one) - c->one);
        return;
    }
    if (c->one <= 0)
        return;
    double expected = c->rows[n_rows];
    double change = WEIGHT * (within(seconds / c->one, expected) - expected);
    for (int32_t n = 2; n <= WEFT_GUESSES_MAX + 1; n++)
        c->rows[n] += change * pow(NEIGHBOUR, abs(n - n_rows));
    keep_order(c->rows, n_rows);
}

void weft_gain_init(weft_gain *g) {
    *g = (weft_gain){.next_pause = FIRST_PAUSE, .speed = 1, .draft_right = FIRST_DRAFT_RATE};
    g->cost.rows[1] = 1;
    for (int32_t n = 2; n <= WEFT_GUESSES_MAX + 1; n++)
        g->cost.rows[n] = 1 + FIRST_COST + EACH_COST * (n - 1);
}

/* ---- Drafts ---- */

void weft_gain_saw_draft(weft_gain *g, int32_t n_tokens, double seconds) {
    double one = seconds / n_tokens;
    g->draft_seconds =
        g->draft_seconds > 0
            ? g->draft_seconds + WEIGHT * (within(one, g->draft_seconds) - g->draft_seconds)
            : one;
}

/* Of a guess, in steps of one row. */
static double draft_cost(const weft_gain *g) {
    return g->cost.one > 0 ? g->draft_seconds / g->cost.one : 0;
}

void weft_gain_saw_draft_guess(weft_gain *g, bool right) {
    g->draft_right += WEIGHT * ((right ? 1.0 : 0.0) - g->draft_right);
}

/* ---- Decisions ---- */

static bool rests(weft_gain *g) {
    if (g->pause == 0)
        return false;
    g->pause--;
    return true;
}

static void rest(weft_gain *g) {
    g->pause = g->next_pause;
    g->next_pause = g->next_pause < LONGEST_PAUSE ? g->next_pause * 2 : LONGEST_PAUSE;
}

void weft_gain_saw_round(weft_gain *g, int32_t n_guesses, int32_t n_right, bool by_draft) {
    double cost = weft_gain_cost(g, n_guesses + 1) + (by_draft ? n_guesses * draft_cost(g) : 0);
    double speed = (n_right + 1) / cost;
    g->speed += WEIGHT * (speed - g->speed);
    g->speed = g->speed > 1 ? g->speed : 1;
    if (n_guesses == 0)
        return;
    g->balance += n_right + 1 - cost;
    g->balance = g->balance < MOST_SAVED ? g->balance : MOST_SAVED;
    if (g->balance < -MOST_LOST) {
        g->balance = 0;
        rest(g);
    } else if (n_right == n_guesses && g->next_pause > FIRST_PAUSE) {
        g->next_pause /= 2;
    }
}

static int32_t best(const weft_gain *g, const double *chances, int32_t most, double guess_cost) {
    double highest = 0, chance = 1, tokens = 0;
    int32_t found = 0;
    most = most < WEFT_GUESSES_MAX ? most : WEFT_GUESSES_MAX;
    for (int32_t k = 1; k <= most; k++) {
        chance *= chances[k - 1];
        tokens += chance;
        double cost = weft_gain_cost(g, k + 1) - 1 + k * guess_cost;
        double gain = tokens - WORTH * g->speed * cost;
        if (gain > highest) {
            highest = gain;
            found = k;
        }
    }
    return found;
}

int32_t weft_gain_best(weft_gain *g, const double *chances, int32_t most) {
    return rests(g) ? 0 : best(g, chances, most, 0);
}

int32_t weft_gain_best_draft(weft_gain *g, int32_t most) {
    double chances[WEFT_GUESSES_MAX];
    for (int32_t i = 0; i < WEFT_GUESSES_MAX; i++)
        chances[i] = g->draft_right;
    if (rests(g))
        return 0;
    int32_t found = best(g, chances, most, draft_cost(g));
    if (found > 0)
        return found;
    /* Not worth it now: after a while two are tried, to see whether the text has changed. */
    rest(g);
    return most < 2 ? most : 2;
}
