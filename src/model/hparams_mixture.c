/* The mixture's part of the hyper-parameters: counts and widths of experts, the layers that have
 * them, and the router. */
#include <string.h>
#include "base/detail.h"
#include "model/config.h"

#define MAX_EXPERTS (1 << 14)
#define MAX_WIDTH (1 << 24)

/* Whether the description has weights of a mixture in this kind of file. */
static bool has_mixture(const weft_config *c) {
    for (size_t i = 0; i < c->arch->n_layer_rules; i++)
        if (c->arch->layer[i].flags & WEFT_RULE_MIXTURE && c->arch->layer[i].name[c->spelling])
            return true;
    return false;
}

/* "softmax" or "sigmoid"; in GGUF files 1 or 2, 3: softmax over those chosen, 0: not said. */
static weft_status read_scores(const weft_config *c, weft_router *router) {
    char name[WEFT_CONFIG_NAME];
    weft_status st;
    if (!weft_config_name(c, WEFT_KEY_ROUTER_SCORES, name))
        return WEFT_OK;
    if (c->spelling == WEFT_SPELL_GGUF) {
        static const weft_scores by_number[] = {WEFT_SCORES_SOFTMAX, WEFT_SCORES_SIGMOID,
                                                WEFT_SCORES_SOFTMAX_CHOSEN};
        int32_t number = 0;
        if ((st = weft_config_i32(c, WEFT_KEY_ROUTER_SCORES, false, 0, 255, &number)))
            return st;
        if (number > 3)
            return weft_config_fail(c, WEFT_E_UNSUPPORTED, name, "the function %d is not known",
                                    number);
        if (number > 0)
            router->scores = by_number[number - 1];
        return WEFT_OK;
    }
    const char *text = NULL;
    if ((st = weft_config_string(c, WEFT_KEY_ROUTER_SCORES, &text)) || !text)
        return st;
    if (!strcmp(text, "softmax"))
        router->scores = WEFT_SCORES_SOFTMAX;
    else if (!strcmp(text, "sigmoid"))
        router->scores = WEFT_SCORES_SIGMOID;
    else
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, name, "the function \"%.64s\" is not known",
                                text);
    return WEFT_OK;
}

static weft_status read_router(const weft_config *c, weft_hparams *h) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    weft_router *r = &h->router;
    *r = c->arch->router;
    double scale = r->scale > 0 ? (double)r->scale : 1;
    if ((st = read_scores(c, r)) ||
        (st = weft_config_bool(c, WEFT_KEY_ROUTER_NORMALISE, &r->normalise)) ||
        (st = weft_config_f64(c, WEFT_KEY_ROUTER_SCALE, false, 0, 1e6, &scale)) ||
        (st = weft_config_i32(c, WEFT_KEY_ROUTER_GROUPS, false, 0, h->n_expert, &r->n_group)) ||
        (st = weft_config_i32(c, WEFT_KEY_ROUTER_GROUPS_USED, false, 0, h->n_expert,
                              &r->n_group_used)))
        return st;
    r->scale = scale > 0 ? (float)scale : 1; /* GGUF: 0 says nothing */
    if (r->n_group <= 1)
        return WEFT_OK;
    weft_config_name(c, WEFT_KEY_ROUTER_GROUPS, name);
    if (h->n_expert % r->n_group || r->n_group_used > r->n_group)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%d of %d groups of %d experts do not fit",
                                r->n_group_used, r->n_group, h->n_expert);
    if (r->n_group_used > 0 && h->n_expert / r->n_group * r->n_group_used < h->n_expert_used)
        return weft_config_fail(c, WEFT_E_FORMAT, name,
                                "%d groups hold fewer than the %d experts of a token",
                                r->n_group_used, h->n_expert_used);
    return WEFT_OK;
}

/* A number, or a list of one a layer. */
static weft_status read_shared(const weft_config *c, const weft_hparams *h, int32_t *out) {
    char name[WEFT_CONFIG_NAME];
    weft_value v;
    bool list = weft_config_name(c, WEFT_KEY_N_SHARED, name) &&
                weft_metadata_find(c->metadata, name, &v) && v.type == WEFT_VALUE_ARRAY;
    return list ? weft_config_layers_i32(c, WEFT_KEY_N_SHARED, false, MAX_EXPERTS, h->n_layer, out)
                : weft_config_i32(c, WEFT_KEY_N_SHARED, false, 0, MAX_EXPERTS, out);
}

weft_status weft_hparams_read_mixture(const weft_config *c, weft_hparams *h) {
    weft_status st;
    char name[WEFT_CONFIG_NAME];
    int32_t n_shared = 0;
    if ((st = weft_config_i32(c, WEFT_KEY_N_EXPERT, false, 0, MAX_EXPERTS, &h->n_expert)))
        return st;
    h->mixture_step = 1;
    if (h->n_expert == 0)
        return WEFT_OK;
    if (!has_mixture(c)) {
        weft_config_name(c, WEFT_KEY_N_EXPERT, name);
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                                "a mixture of %d experts is not supported for %s", h->n_expert,
                                c->arch->name);
    }
    h->n_ff_expert = h->n_ff;
    if ((st = weft_config_layers_i32(c, WEFT_KEY_N_EXPERT_USED, true, h->n_expert, h->n_layer,
                                     &h->n_expert_used)) ||
        (st = weft_config_layers_i32(c, WEFT_KEY_N_FF_EXPERT, false, MAX_WIDTH, h->n_layer,
                                     &h->n_ff_expert)) ||
        (st = read_shared(c, h, &n_shared)))
        return st;
    if (n_shared > MAX_WIDTH / h->n_ff_expert)
        return weft_fail(WEFT_E_FORMAT, "%d shared experts of %d are too many", n_shared,
                         h->n_ff_expert);
    h->n_ff_shared = n_shared * h->n_ff_expert;
    if ((st = weft_config_i32(c, WEFT_KEY_N_FF_SHARED, false, 0, MAX_WIDTH, &h->n_ff_shared)) ||
        (st = weft_config_i32(c, WEFT_KEY_N_DENSE_LEAD, false, 0, INT32_MAX, &h->n_dense_lead)) ||
        (st = weft_config_i32(c, WEFT_KEY_MIXTURE_STEP, false, 1, INT32_MAX, &h->mixture_step)))
        return st;
    return read_router(c, h);
}
