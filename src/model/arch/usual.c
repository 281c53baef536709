/* Spellings that most decoders share, and the list of known architectures. */
#include <string.h>
#include "base/detail.h"
#include "model/arch.h"
#include "model/arch/list.h"

const weft_key_name weft_keys_usual[] = {
    {WEFT_KEY_N_LAYER, "block_count", {"num_hidden_layers", "n_layer"}},
    {WEFT_KEY_N_EMBD, "embedding_length", {"hidden_size", "n_embd"}},
    {WEFT_KEY_N_FF, "feed_forward_length", {"intermediate_size"}},
    {WEFT_KEY_N_HEAD, "attention.head_count", {"num_attention_heads", "n_head"}},
    {WEFT_KEY_N_HEAD_KV, "attention.head_count_kv", {"num_key_value_heads"}},
    {WEFT_KEY_HEAD_DIM, "attention.key_length", {"head_dim"}},
    {WEFT_KEY_HEAD_DIM_V, "attention.value_length", {NULL}},
    {WEFT_KEY_N_CONTEXT, "context_length", {"max_position_embeddings"}},
    {WEFT_KEY_N_VOCAB, NULL, {"vocab_size"}},
    {WEFT_KEY_NORM_EPS, "attention.layer_norm_rms_epsilon", {"rms_norm_eps"}},
    {WEFT_KEY_LAYER_NORM_EPS,
     "attention.layer_norm_epsilon",
     {"layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"}},
    {WEFT_KEY_N_ROT, "rope.dimension_count", {NULL}},
    {WEFT_KEY_ROT_FACTOR,
     NULL,
     {"rope_parameters.partial_rotary_factor", "partial_rotary_factor", "rotary_pct"}},
    {WEFT_KEY_ROPE_BASE,
     "rope.freq_base",
     {"rope_parameters.rope_theta", "rope_theta", "rotary_emb_base"}},
    {WEFT_KEY_ATTN_SCALE, "attention.scale", {NULL}},
    {WEFT_KEY_ATTN_SOFTCAP, "attn_logit_softcapping", {"attn_logit_softcapping"}},
    {WEFT_KEY_FINAL_SOFTCAP, "final_logit_softcapping", {"final_logit_softcapping"}},
    {WEFT_KEY_ACTIVATION, NULL, {"hidden_act"}},
    {WEFT_KEY_CLIP_QKV, "attention.clamp_kqv", {NULL}},
    {WEFT_KEY_TIED, NULL, {"tie_word_embeddings"}},
    {WEFT_KEY_ATTN_BIAS, NULL, {"attention_bias"}},
    {WEFT_KEY_MLP_BIAS, NULL, {"mlp_bias"}},
    {WEFT_KEY_N_EXPERT, "expert_count", {"num_local_experts", "num_experts", "n_routed_experts"}},
    {WEFT_KEY_N_EXPERT_USED, "expert_used_count", {"num_experts_per_tok"}},
    {WEFT_KEY_N_FF_EXPERT, "expert_feed_forward_length", {"moe_intermediate_size"}},
    {WEFT_KEY_N_DENSE_LEAD, "leading_dense_block_count", {"first_k_dense_replace"}},
    {WEFT_KEY_MIXTURE_STEP, NULL, {"decoder_sparse_step"}},
    {WEFT_KEY_DENSE_LAYERS, NULL, {"mlp_only_layers"}},
    {WEFT_KEY_NETWORK_TYPES, NULL, {"mlp_layer_types"}},
    {WEFT_KEY_ROUTER_SCORES, "expert_gating_func", {"scoring_func"}},
    {WEFT_KEY_ROUTER_NORMALISE, "expert_weights_norm", {"norm_topk_prob"}},
    {WEFT_KEY_ROUTER_SCALE, "expert_weights_scale", {"routed_scaling_factor"}},
    {WEFT_KEY_ROUTER_GROUPS, "expert_group_count", {"n_group"}},
    {WEFT_KEY_ROUTER_GROUPS_USED, "expert_group_used_count", {"topk_group"}},
    {WEFT_KEY_BIDIRECTIONAL, NULL, {"use_bidirectional_attention"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

#define WEFT_ARCH_POINTER(name) &name,
static const weft_arch *const known[] = {WEFT_ARCHS(WEFT_ARCH_POINTER)};
#undef WEFT_ARCH_POINTER
#define N_KNOWN (sizeof known / sizeof *known)

static bool one_of(const char *const *names, const char *name) {
    for (size_t i = 0; i < WEFT_ARCH_NAMES && names[i]; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static weft_status unknown(const char *key, const char *name, size_t n_bytes) {
    char list[2048] = "";
    for (size_t i = 0; i < N_KNOWN; i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, known[i]->name, sizeof list - strlen(list) - 1);
    }
    int shown = n_bytes > 64 ? 64 : (int)n_bytes;
    return weft_fail(WEFT_E_UNSUPPORTED,
                     "%s: the architecture \"%.*s%s\" is not known; known are %s", key, shown, name,
                     n_bytes > 64 ? "…" : "", list);
}

static weft_status find_gguf(const weft_metadata *metadata, const weft_arch **out) {
    const char *name;
    weft_status st = weft_metadata_string(metadata, "general.architecture", &name);
    if (st == WEFT_E_NOT_FOUND)
        return weft_fail(WEFT_E_FORMAT, "general.architecture is missing");
    if (st)
        return st;
    for (size_t i = 0; i < N_KNOWN; i++)
        if (!strcmp(known[i]->name, name)) {
            *out = known[i];
            return WEFT_OK;
        }
    return unknown("general.architecture", name, strlen(name));
}

/* A class of "architectures", or the same model without its head: "LlamaModel" for
 * "LlamaForCausalLM". */
static bool is_class(const weft_arch *arch, const char *name) {
    static const char with[] = "ForCausalLM", without[] = "Model";
    size_t n = strlen(name), tail = sizeof without - 1;
    if (one_of(arch->classes, name))
        return true;
    if (n < tail || strcmp(name + n - tail, without) != 0)
        return false;
    for (size_t i = 0; i < WEFT_ARCH_NAMES && arch->classes[i]; i++)
        if (!strncmp(arch->classes[i], name, n - tail) &&
            !strcmp(arch->classes[i] + n - tail, with))
            return true;
    return false;
}

/* "architectures" must name a class that gives logits or hidden states: the same weights also serve
 * as classifiers. */
static weft_status check_class(const weft_metadata *metadata, const weft_arch *arch) {
    size_t index;
    weft_value v;
    if (!weft_metadata_index(metadata, "architectures", &index) ||
        !weft_metadata_find(metadata, "architectures", &v) ||
        (v.type == WEFT_VALUE_ARRAY && v.as.array.n == 0))
        return WEFT_OK;
    char name[96];
    if (!weft_metadata_item(metadata, index, 0, &v) || v.type != WEFT_VALUE_STRING)
        return weft_fail(WEFT_E_FORMAT, "config.json: architectures is not a list of strings");
    if (v.as.s.n_bytes < sizeof name) {
        memcpy(name, v.as.s.text, v.as.s.n_bytes);
        name[v.as.s.n_bytes] = 0;
        if (is_class(arch, name))
            return WEFT_OK;
    }
    return unknown("config.json: architectures", v.as.s.text, v.as.s.n_bytes);
}

static weft_status find_hf(const weft_metadata *metadata, const weft_arch **out) {
    const char *type;
    weft_status st = weft_metadata_string(metadata, "model_type", &type);
    if (st == WEFT_E_NOT_FOUND)
        return weft_fail(WEFT_E_FORMAT,
                         "config.json: model_type is missing, so the architecture is not known");
    if (st)
        return weft_fail_in(st, "config.json");
    for (size_t i = 0; i < N_KNOWN; i++)
        if (one_of(known[i]->model_types, type)) {
            *out = known[i];
            return check_class(metadata, known[i]);
        }
    return unknown("config.json: model_type", type, strlen(type));
}

weft_status weft_arch_find(const weft_metadata *metadata, weft_spelling spelling,
                           const weft_arch **out) {
    *out = NULL;
    return spelling == WEFT_SPELL_HF ? find_hf(metadata, out) : find_gguf(metadata, out);
}
