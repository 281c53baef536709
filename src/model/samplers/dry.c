/* DRY (p-e-w, "DRY: a modern repetition penalty", text-generation-webui pull request 5677): a token
 * that would go on with a repetition costs the more, the longer the repetition is already. */
#include "model/sampler_impl.h"

#include <math.h>

static bool is_breaker(const weft_sampler *s, int32_t token) {
    for (size_t i = 0; i < s->options.n_dry_breakers; i++)
        if (s->breakers[i] == token)
            return true;
    return false;
}

/* match[i] = length of the longest common suffix of h[0 … i] and h[0 … n-1], for i < n - 1: the
 * Z function (Gusfield 1997) of the history read backwards, so that time is linear. */
static void find_matches(const int32_t *h, size_t n, int32_t *match) {
    size_t left = 0, right = 0; /* z[left] reaches right */
    for (size_t i = 1; i < n; i++) {
        size_t k = 0;
        if (i < right) {
            k = (size_t)match[n - 1 - (i - left)];
            k = k < right - i ? k : right - i;
        }
        while (i + k < n && h[n - 1 - k] == h[n - 1 - i - k])
            k++;
        match[n - 1 - i] = (int32_t)k;
        if (i + k > right) {
            left = i;
            right = i + k;
        }
    }
}

static double power(double base, size_t exponent) {
    double x = 1;
    for (size_t i = 0; i < exponent && x < INFINITY && base > 1; i++)
        x *= base;
    return x;
}

void weft_sample_dry(weft_sampler *s) {
    const weft_sampler_options *o = &s->options;
    if (!weft_sampler_dries(o))
        return;
    const int32_t *h;
    size_t n = weft_sampler_window(s, o->dry_last_n, &h), reach = 0;
    while (reach < n && !is_breaker(s, h[n - 1 - reach]))
        reach++; /* no repetition goes on before the last breaker */
    if (n < 2 || reach == 0)
        return;
    find_matches(h, n, s->matches);
    size_t allowed = o->dry_allowed_length > 0 ? (size_t)o->dry_allowed_length : 0;
    for (size_t i = 0; i + 1 < n; i++) {
        size_t m = (size_t)s->matches[i] < reach ? (size_t)s->matches[i] : reach;
        int32_t t = h[i + 1];
        if (m > 0 && t >= 0 && (size_t)t < s->n_vocab && m > s->counts[t] && !is_breaker(s, t))
            s->counts[t] = (uint32_t)m;
    }
    for (size_t i = 1; i < n; i++) {
        if (h[i] < 0 || (size_t)h[i] >= s->n_vocab)
            continue;
        uint32_t m = s->counts[h[i]];
        if (m > 0 && m >= allowed)
            s->logits[h[i]] -= (double)o->dry_multiplier * power((double)o->dry_base, m - allowed);
        s->counts[h[i]] = 0;
    }
}
