/* Between the ops of recurrent layers and the cache. */
#include "model/mixers/states.h"

weft_states weft_pass_states(const weft_pass *p, int32_t layer, int which) {
    return (weft_states){
        .states = weft_cache_states(p->cache, layer, which), .runs = p->runs, .n_runs = p->n_runs};
}

void weft_pass_keep(const weft_pass *p, weft_scope *s, int32_t layer, int which,
                    const weft_states *states) {
    for (size_t i = 0; i < p->n_runs && states->next; i++)
        weft_cache_state_set(p->cache, s, layer, which, p->step->sequences[p->runs[i].row],
                             weft_tensor_narrow(s, states->next, 0, i, 1));
}

weft_tensor *weft_columns(weft_scope *s, weft_tensor *x, int64_t first, int64_t n, int32_t n_head) {
    x = weft_tensor_narrow(s, x, 1, (size_t)first, (size_t)n);
    if (!x || n_head == 0)
        return x;
    int64_t dims[3] = {weft_tensor_dim(x, 0), n_head, n / n_head};
    return weft_tensor_reshape(s, x, 3, dims);
}
