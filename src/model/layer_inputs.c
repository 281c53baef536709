/* Inputs that each layer has of its own beside the residual stream (Gemma 3n and 4): rows of a
 * second table of embeddings and a projection of the first embedding, made once a step for all
 * layers. */
#include <math.h>
#include "model/pass.h"

weft_tensor *weft_layer_inputs(const weft_pass *p, weft_scope *s, weft_tensor *x) {
    const weft_hparams *h = &p->n->h;
    const weft_globals *g = &p->n->globals;
    int64_t n_rows[1] = {(int64_t)p->step->n};
    int64_t dims[3] = {n_rows[0], h->n_layer, h->n_embd_layer};
    if (!g->layer_embedding || !x)
        return NULL;
    weft_tensor *ids = weft_from_data(s, WEFT_I32, 1, n_rows, p->step->tokens,
                                      p->step->n * sizeof *p->step->tokens);
    weft_tensor *of_token = weft_embedding(s, g->layer_embedding, ids);
    of_token = weft_affine(s, of_token, sqrt((double)h->n_embd_layer), 0);
    weft_tensor *projected = weft_linear(s, x, g->layer_proj, NULL);
    projected = weft_affine(s, projected, 1 / sqrt((double)h->n_embd), 0);
    projected = weft_tensor_reshape(s, projected, 3, dims);
    projected = weft_pass_norm(p, s, projected, g->layer_proj_norm, NULL);
    weft_tensor *sum = weft_add(s, projected, weft_tensor_reshape(s, of_token, 3, dims));
    return weft_affine(s, sum, sqrt(0.5), 0);
}

/* The layer's part of the inputs, of the rows that go on after it: [T, n_embd_layer]. A copy: a
 * view would keep the step's arena from being used again. */
static weft_tensor *input_of(const weft_pass *p, weft_scope *s, int32_t layer) {
    int64_t flat[2] = {-1, p->n->h.n_embd_layer};
    weft_tensor *which = weft_arange(s, WEFT_I32, 1, layer, 1);
    weft_tensor *in = weft_index_select(s, p->layer_inputs, 1, which); /* [T, 1, n_embd_layer] */
    return weft_pass_wanted(p, s, layer, weft_tensor_reshape(s, in, 2, flat));
}

weft_tensor *weft_layer_end(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *x) {
    const weft_layer *l = &p->n->layers[layer];
    if (l->input_gate) {
        weft_tensor *gate = weft_linear(s, x, l->input_gate, NULL); /* [T, n_embd_layer] */
        weft_tensor *out = weft_gated_linear(s, gate, input_of(p, s, layer), p->n->h.activation,
                                             l->input_out, NULL);
        x = weft_add(s, x, weft_pass_norm(p, s, out, l->input_norm, NULL));
    }
    return l->out_scale ? weft_broadcast_mul(s, x, l->out_scale) : x;
}
