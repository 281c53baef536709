/* Repetition penalty (Keskar et al. 2019, CTRL), then frequency and presence penalties (OpenAI API
 * reference), over the last tokens of the history; each token once. */
#include "model/sampler_impl.h"

void weft_sample_penalties(weft_sampler *s) {
    const weft_sampler_options *o = &s->options;
    if (!weft_sampler_penalises(o))
        return;
    const int32_t *history;
    size_t n = weft_sampler_window(s, o->penalty_last_n, &history);
    double r = (double)o->repeat_penalty;
    for (size_t i = 0; i < n; i++)
        if (history[i] >= 0 && (size_t)history[i] < s->n_vocab)
            s->counts[history[i]]++;
    for (size_t i = 0; i < n; i++) {
        size_t t = (size_t)history[i];
        if (history[i] < 0 || t >= s->n_vocab || s->counts[t] == 0)
            continue;
        double l = s->logits[t] > 0 ? s->logits[t] / r : s->logits[t] * r;
        s->logits[t] =
            l - s->counts[t] * (double)o->frequency_penalty - (double)o->presence_penalty;
        s->counts[t] = 0;
    }
}
