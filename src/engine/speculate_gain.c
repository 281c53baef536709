/* Expected tokens per second of a step with k guesses: (1 + r + … + r^k) tokens, r the rate at
 * which guesses are right, for the time that a step of k + 1 rows takes. */
#include "engine/speculate_gain.h"

#define WEIGHT 0.15    /* of the newest measurement */
#define FIRST_RATE 0.6 /* before anything is known */
#define ROW_COST 0.12  /* of a row more, likewise, as a part of a step of one */
#define WORTH 1.08     /* less gain is noise */
#define FIRST_PAUSE 8
#define LONGEST_PAUSE 256

void weft_gain_init(weft_gain *g) {
    *g = (weft_gain){.next_pause = FIRST_PAUSE};
    for (int32_t i = 0; i < WEFT_GUESS_KINDS; i++)
        g->right[i] = FIRST_RATE;
}

static void blend(double *mean, double value) {
    *mean = *mean == 0 ? value : *mean + WEIGHT * (value - *mean);
}

void weft_gain_saw_step(weft_gain *g, int32_t n_rows, double seconds) {
    blend(&g->seconds[n_rows], seconds);
}

void weft_gain_saw_draft(weft_gain *g, int32_t n_tokens, double seconds) {
    blend(&g->draft_seconds, seconds / n_tokens);
}

void weft_gain_saw_guess(weft_gain *g, int32_t kind, bool right) {
    g->right[kind] += WEIGHT * ((right ? 1.0 : 0.0) - g->right[kind]);
}

/* The time of a step as a multiple of one row's: measured, or from the nearest longer or shorter
 * one that was. */
static double step_cost(const weft_gain *g, int32_t n_rows) {
    if (g->seconds[1] <= 0)
        return 1 + ROW_COST * (n_rows - 1);
    for (int32_t n = n_rows; n > 1; n--)
        if (g->seconds[n] > 0)
            return g->seconds[n] / g->seconds[1] + ROW_COST * (n_rows - n);
    return 1 + ROW_COST * (n_rows - 1);
}

static double gain_of(const weft_gain *g, int32_t kind, int32_t k, double guess_cost) {
    double tokens = 1, power = 1;
    for (int32_t i = 0; i < k; i++) {
        power *= g->right[kind];
        tokens += power;
    }
    return tokens / (step_cost(g, k + 1) + k * guess_cost);
}

static int32_t best(const weft_gain *g, int32_t kind, int32_t most, double guess_cost) {
    double highest = WORTH;
    int32_t found = 0;
    most = most < WEFT_GUESSES_MAX ? most : WEFT_GUESSES_MAX;
    for (int32_t k = 1; k <= most; k++) {
        double gain = gain_of(g, kind, k, guess_cost);
        if (gain > highest) {
            highest = gain;
            found = k;
        }
    }
    return found;
}

int32_t weft_gain_best(const weft_gain *g, int32_t kind, int32_t most) {
    return best(g, kind, most, 0);
}

int32_t weft_gain_best_draft(weft_gain *g, int32_t most) {
    if (g->pause > 0) {
        g->pause--;
        return 0;
    }
    double cost = g->seconds[1] > 0 ? g->draft_seconds / g->seconds[1] : 0;
    int32_t found = best(g, WEFT_GUESS_DRAFT, most, cost);
    if (found > 0) {
        g->next_pause = FIRST_PAUSE;
        return found;
    }
    /* Not worth it now: after a while two are tried, to see whether the text has changed. */
    g->pause = g->next_pause;
    g->next_pause = g->next_pause < LONGEST_PAUSE ? g->next_pause * 2 : LONGEST_PAUSE;
    return most < 2 ? most : 2;
}
