/* The mixer of LFM2's convolution layers (Liquid AI 2025): a causal convolution of a few taps
 * between two gates that come from the same projection as its input. */
#include "model/mixers/states.h"

static void keeps(const weft_hparams *h, const weft_layer *l, weft_cache_layer *out) {
    (void)l;
    out->states[0] = (weft_cache_state){2, {h->rec.n_taps - 1, h->rec.n_conv}};
}

static weft_tensor *run(const weft_pass *p, weft_scope *s, int32_t index, weft_tensor *in) {
    const weft_layer *l = &p->n->layers[index];
    int64_t n = p->n->h.rec.n_conv;
    weft_states states = weft_pass_states(p, index, 0);
    weft_tensor *bcx = weft_linear(s, in, l->rec_in, NULL); /* [T, 3 n_conv] */
    weft_tensor *before = weft_columns(s, bcx, 0, n, 0), *after = weft_columns(s, bcx, n, n, 0);
    weft_tensor *x = weft_mul(s, before, weft_columns(s, bcx, 2 * n, n, 0));
    x = weft_short_conv(s, x, l->rec_conv, l->rec_conv_bias, false, &states); /* [T, n_conv] */
    weft_pass_keep(p, s, index, 0, &states);
    if (weft_pass_ends(p, index))
        return NULL;
    x = weft_pass_wanted(p, s, index, weft_mul(s, after, x));
    return weft_linear(s, x, l->rec_out, NULL);
}

const weft_mixer weft_mixer_short_conv = {"short convolution", run, keeps};
