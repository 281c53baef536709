/* See speculate_lookup.h. The longest match counts, of several the latest; each token that comes as
 * expected makes the match longer. */
#include "engine/speculate_lookup.h"

#include <string.h>

#define LONGEST_MATCH 24
#define FORGETTING 0.95
#define BELIEF 5.0 /* the first chances count as so many tokens */

/* 1, 2, 3, 4 and 5, 6 to 9, 10 to 17, more tokens. */
static int class_of(int32_t length) {
    static const int32_t first[WEFT_LOOKUP_LENGTHS] = {1, 2, 3, 4, 6, 10, 18};
    int c = WEFT_LOOKUP_LENGTHS - 1;
    while (length < first[c])
        c--;
    return c;
}

void weft_lookup_init(weft_lookup *l) {
    static const double chances[WEFT_LOOKUP_LENGTHS] = {0.15, 0.35, 0.45, 0.6, 0.75, 0.85, 0.92};
    memset(l, 0, sizeof *l);
    for (int i = 0; i < WEFT_LOOKUP_LENGTHS; i++)
        for (int contested = 0; contested < 2; contested++) {
            l->seen[i][contested] = BELIEF;
            l->right[i][contested] = BELIEF * chances[i] * (contested ? 0.6 : 1.0);
        }
}

/* How far the text up to position i agrees with its end. */
static int32_t match_length(const int32_t *text, int32_t n, int32_t i) {
    int32_t k = 0;
    while (k < LONGEST_MATCH && k <= i && text[i - k] == text[n - 1 - k])
        k++;
    return k;
}

void weft_lookup_find(weft_lookup *l, const int32_t *text, int32_t n) {
    l->text = text;
    l->n = n;
    l->from = l->at = 0;
    l->length = 0;
    l->contested = false;
    for (int32_t i = n - 2; i >= 0; i--) {
        if (text[i] != text[n - 1])
            continue;
        int32_t k = match_length(text, n, i);
        if (k > l->length) {
            l->length = k;
            l->from = i + 1;
            l->contested = false;
        } else if (k == l->length && l->from > 0 && text[i + 1] != text[l->from]) {
            l->contested = true;
        }
    }
}

int32_t weft_lookup_token(const weft_lookup *l, int32_t i) {
    /* Past the end, the repetition repeats itself. */
    return l->text[l->from + i % (l->n - l->from)];
}

double weft_lookup_chance(const weft_lookup *l, int32_t i) {
    int c = class_of(l->length + i);
    bool contested = l->contested && i == 0;
    return l->right[c][contested] / l->seen[c][contested];
}

void weft_lookup_saw(weft_lookup *l, int32_t token) {
    if (l->from == 0)
        return;
    bool right = weft_lookup_token(l, l->at) == token;
    int c = class_of(l->length + l->at);
    bool contested = l->contested && l->at == 0;
    l->seen[c][contested] = l->seen[c][contested] * FORGETTING + 1;
    l->right[c][contested] = l->right[c][contested] * FORGETTING + (right ? 1.0 : 0.0);
    l->at++;
    if (!right)
        l->from = 0;
}
