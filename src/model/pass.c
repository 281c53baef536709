/* What the parts of a step's way through the layers share: see pass.h. */
#include "model/pass.h"

/* The last layer that adds to the cache. */
static int32_t last_keeping(const weft_pass *p) {
    return p->n->h.n_layer - 1 - p->n->h.n_sharing;
}

bool weft_pass_ends(const weft_pass *p, int32_t layer) {
    return layer == last_keeping(p) && !p->wanted;
}

weft_tensor *weft_pass_wanted(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *x) {
    return layer == last_keeping(p) ? weft_index_select(s, x, 0, p->wanted) : x;
}

void weft_pass_narrow(weft_pass *p, weft_scope *s, int32_t layer) {
    if (layer != last_keeping(p) || layer == p->n->h.n_layer - 1)
        return;
    for (size_t i = 0; i < p->n_wanted; i++)
        p->rows[i] = p->rows[p->wanted_ids[i]]; /* ascending */
    p->row_ids = p->wanted;
    if (p->layer_inputs)
        p->layer_inputs = weft_index_select(s, p->layer_inputs, 0, p->wanted);
}

weft_tensor *weft_pass_norm(const weft_pass *p, weft_scope *s, weft_tensor *x, weft_tensor *weight,
                            weft_tensor *bias) {
    if (!weight)
        return x;
    return p->n->h.norm == WEFT_NORM_LAYER ? weft_layer_norm(s, x, weight, bias, p->n->h.norm_eps)
                                           : weft_rms_norm(s, x, weight, p->n->h.norm_eps);
}

void weft_pass_append(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *k,
                      weft_tensor *v) {
    for (size_t first = 0, end; first < p->step->n; first = end) {
        int32_t sequence = p->step->sequences[first];
        for (end = first + 1; end < p->step->n && p->step->sequences[end] == sequence;)
            end++;
        weft_cache_append(p->cache, s, layer, sequence, weft_cache_length(p->cache, sequence),
                          weft_tensor_narrow(s, k, 0, first, end - first),
                          v ? weft_tensor_narrow(s, v, 0, first, end - first) : NULL);
    }
}
