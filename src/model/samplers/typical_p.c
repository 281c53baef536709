/* Locally typical sampling (Meister et al. 2022): of the candidates, ordered by how far their
 * information content is from the entropy, the shortest prefix whose probabilities reach P. */
#include "model/sampler_impl.h"

#include <math.h>
#include <string.h>
#include "model/exact.h"

/* How far candidate i is from the expected information. */
static double distance(const weft_candidates *c, size_t i, double entropy) {
    return fabs(-weft_exact_log(c->p[i] > 1e-300 ? c->p[i] : 1e-300) - entropy);
}

/* Candidates are sorted by probability, so that the distance falls to a lowest point and rises
 * again: the prefix in order of distance is a range around that point, found from both sides. */
void weft_sample_typical_p(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    double wanted = (double)s->options.typical_p, sum = 0;
    if (wanted <= 0 || wanted >= 1)
        return;
    weft_candidates_softmax(s);
    double entropy = weft_candidates_entropy(c);
    size_t end = 0; /* the range is [begin, end) */
    while (end < c->n && -weft_exact_log(c->p[end] > 1e-300 ? c->p[end] : 1e-300) < entropy)
        end++;
    size_t begin = end;
    while (sum < wanted && (begin > 0 || end < c->n)) {
        /* A tie goes to the more probable one. */
        if (end == c->n ||
            (begin > 0 && distance(c, begin - 1, entropy) <= distance(c, end, entropy)))
            sum += c->p[--begin];
        else
            sum += c->p[end++];
    }
    c->n = end - begin;
    memmove(c->ids, c->ids + begin, c->n * sizeof *c->ids);
    memmove(c->logits, c->logits + begin, c->n * sizeof *c->logits);
}
