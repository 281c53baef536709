/* Sorting: merges runs of doubling length, so that equal keys keep their order. */
#include "text/jinja/impl.h"

static bool before(jinja *j, jinja_value a, jinja_value b, bool reverse) {
    return reverse ? jinja_order(j, b, a, "<") < 0 : jinja_order(j, a, b, "<") < 0;
}

void jinja_sort(jinja *j, const jinja_value *keys, size_t *order, size_t n, bool reverse) {
    size_t *scratch = jinja_alloc(j, n * sizeof *scratch);
    if (!scratch || !order)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t run = 1; run < n && !j->failed; run *= 2) {
        for (size_t low = 0; low < n && !j->failed; low += 2 * run) {
            size_t middle = n - low < run ? n : low + run;
            size_t high = n - low < 2 * run ? n : low + 2 * run;
            size_t a = low, b = middle;
            for (size_t k = low; k < high; k++) {
                bool right =
                    a == middle || (b < high && before(j, keys[order[b]], keys[order[a]], reverse));
                scratch[k] = order[right ? b++ : a++];
            }
        }
        for (size_t i = 0; i < n; i++)
            order[i] = scratch[i];
        jinja_spend(j, n / 8);
    }
}
