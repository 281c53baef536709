/* XTC, "exclude top choices" (p-e-w, text-generation-webui pull request 6335): sometimes, of the
 * tokens that are probable enough, only the least probable one stays. */
#include "model/sampler_impl.h"

#include <string.h>

void weft_sample_xtc(weft_sampler *s) {
    weft_candidates *c = &s->candidates;
    const weft_sampler_options *o = &s->options;
    if (o->xtc_probability <= 0 || o->xtc_threshold > 0.5f ||
        s->u_xtc >= (double)o->xtc_probability)
        return;
    weft_candidates_softmax(s);
    size_t above = 0;
    while (above < c->n && c->p[above] >= (double)o->xtc_threshold)
        above++;
    if (above < 2)
        return;
    c->n -= above - 1;
    memmove(c->ids, c->ids + above - 1, c->n * sizeof *c->ids);
    memmove(c->logits, c->logits + above - 1, c->n * sizeof *c->logits);
}
