/* Granite 4 (IBM 2025): Granite's multipliers over Mamba-2 layers and some of attention, without
 * positions or with rope; dense, or a mixture beside a shared network. */
#include <string.h>
#include "base/detail.h"
#include "model/arch/list.h"
#include "model/arch/rules.h"
#include "model/config.h"
#include "model/pass.h"

static const weft_tensor_rule globals[] = {WEFT_USUAL_GLOBALS, WEFT_USUAL_ROPE_FACTORS};

#define REC WEFT_RULE_RECURRENT
#define STACKED (WEFT_RULE_MIXTURE | WEFT_RULE_EXPERTS)
#define GATE_UP(f, hf, n, rows, what)                                                              \
    WEFT_PART(f, NULL, hf, WEFT_FUSED_ROWS, n, rows, rows, WEFT_EXT_NONE, WEFT_EXT_EMBD, what)

static const weft_tensor_rule layer[] = {
    WEFT_USUAL_ATTN_NORM,
    WEFT_USUAL_ATTENTION,
    WEFT_MATRIX(rec_in, "ssm_in.weight", "mamba.in_proj.weight", WEFT_EXT_REC_IN, WEFT_EXT_EMBD,
                REC),
    WEFT_MATRIX(rec_conv, "ssm_conv1d.weight", "mamba.conv1d.weight", WEFT_EXT_REC_CONV,
                WEFT_EXT_REC_TAPS, REC | WEFT_RULE_FLOATS),
    WEFT_VECTOR(rec_conv_bias, "ssm_conv1d.bias", "mamba.conv1d.bias", WEFT_EXT_REC_CONV,
                REC | WEFT_RULE_OPTIONAL),
    WEFT_VECTOR(rec_dt_bias, "ssm_dt.bias", "mamba.dt_bias", WEFT_EXT_REC_HEADS, REC),
    WEFT_VECTOR(rec_a, "ssm_a", "mamba.A_log", WEFT_EXT_REC_HEADS,
                REC | WEFT_RULE_FLOATS | WEFT_RULE_LOG | WEFT_RULE_COLUMN),
    WEFT_VECTOR(rec_d, "ssm_d", "mamba.D", WEFT_EXT_REC_HEADS,
                REC | WEFT_RULE_FLOATS | WEFT_RULE_COLUMN),
    WEFT_VECTOR(rec_norm, "ssm_norm.weight", "mamba.norm.weight", WEFT_EXT_REC_INNER,
                REC | WEFT_RULE_FLOATS | WEFT_RULE_GROUPED),
    WEFT_MATRIX(rec_out, "ssm_out.weight", "mamba.out_proj.weight", WEFT_EXT_EMBD,
                WEFT_EXT_REC_INNER, REC),
    WEFT_USUAL_FFN_NORM,
    WEFT_MATRIX(ffn_gate, "ffn_gate.weight", NULL, WEFT_EXT_FF, WEFT_EXT_EMBD, WEFT_RULE_DENSE),
    WEFT_MATRIX(ffn_up, "ffn_up.weight", NULL, WEFT_EXT_FF, WEFT_EXT_EMBD, WEFT_RULE_DENSE),
    GATE_UP(ffn_gate, "shared_mlp.input_linear.weight", 0, WEFT_EXT_FF, WEFT_RULE_DENSE),
    GATE_UP(ffn_up, "shared_mlp.input_linear.weight", 1, WEFT_EXT_FF, WEFT_RULE_DENSE),
    WEFT_MATRIX(ffn_down, "ffn_down.weight", "shared_mlp.output_linear.weight", WEFT_EXT_EMBD,
                WEFT_EXT_FF, WEFT_RULE_DENSE),
    WEFT_USUAL_FFN_BIASES,
    WEFT_ROUTER("ffn_gate_inp.weight", "block_sparse_moe.router.layer.weight"),
    WEFT_EXPERTS_GATE("ffn_gate_exps.weight", NULL),
    WEFT_EXPERTS_UP("ffn_up_exps.weight", NULL),
    GATE_UP(experts_gate, "block_sparse_moe.input_linear.weight", 0, WEFT_EXT_FF_EXPERT, STACKED),
    GATE_UP(experts_up, "block_sparse_moe.input_linear.weight", 1, WEFT_EXT_FF_EXPERT, STACKED),
    WEFT_EXPERTS_DOWN("ffn_down_exps.weight", "block_sparse_moe.output_linear.weight"),
    WEFT_MATRIX(shared_gate, "ffn_gate_shexp.weight", NULL, WEFT_EXT_FF_SHARED, WEFT_EXT_EMBD,
                WEFT_RULE_MIXTURE),
    WEFT_MATRIX(shared_up, "ffn_up_shexp.weight", NULL, WEFT_EXT_FF_SHARED, WEFT_EXT_EMBD,
                WEFT_RULE_MIXTURE),
    GATE_UP(shared_gate, "shared_mlp.input_linear.weight", 0, WEFT_EXT_FF_SHARED,
            WEFT_RULE_MIXTURE),
    GATE_UP(shared_up, "shared_mlp.input_linear.weight", 1, WEFT_EXT_FF_SHARED, WEFT_RULE_MIXTURE),
    WEFT_MATRIX(shared_down, "ffn_down_shexp.weight", "shared_mlp.output_linear.weight",
                WEFT_EXT_EMBD, WEFT_EXT_FF_SHARED, WEFT_RULE_MIXTURE),
};

static const weft_key_name keys[] = {
    WEFT_GRANITE_KEYS,
    {WEFT_KEY_LAYER_TYPES, NULL, {"layer_types", "layers_block_type"}},
    {WEFT_KEY_N_FF, "feed_forward_length", {"shared_intermediate_size"}},
    {WEFT_KEY_N_FF_EXPERT, "expert_feed_forward_length", {"intermediate_size"}},
    {WEFT_KEY_N_FF_SHARED, "expert_shared_feed_forward_length", {"shared_intermediate_size"}},
    {WEFT_KEY_REC_TAPS, "ssm.conv_kernel", {"mamba_d_conv"}},
    {WEFT_KEY_REC_INNER, "ssm.inner_size", {NULL}},
    {WEFT_KEY_REC_EXPAND, NULL, {"mamba_expand"}},
    {WEFT_KEY_REC_HEADS, "ssm.time_step_rank", {"mamba_n_heads"}},
    {WEFT_KEY_REC_GROUPS, "ssm.group_count", {"mamba_n_groups"}},
    {WEFT_KEY_REC_STATE, "ssm.state_size", {"mamba_d_state"}},
    {WEFT_KEY_COUNT, NULL, {NULL}},
};

static const char *const refused[] = {"mamba_proj_bias", NULL};

/* Rope is an option: said in words in folders, by a bool in files, which may leave it out. */
static weft_status read(const weft_config *c, weft_hparams *h) {
    bool rope = c->spelling == WEFT_SPELL_GGUF;
    const char *type = NULL;
    weft_status st;
    if (c->spelling == WEFT_SPELL_HF) {
        st = weft_metadata_string(c->metadata, "position_embedding_type", &type);
        rope = !st && !strcmp(type, "rope");
        if (!st && !rope && strcmp(type, "nope") != 0)
            return weft_config_fail(c, WEFT_E_UNSUPPORTED, "position_embedding_type",
                                    "\"%.64s\" is not known", type);
    } else {
        st = weft_metadata_bool(c->metadata, "granitehybrid.rope.scaling.finetuned", &rope);
    }
    if (st && st != WEFT_E_NOT_FOUND)
        return st;
    if (!rope)
        h->rope.n_rot = h->rope_local.n_rot = 0;
    return weft_read_mamba2(c, h);
}

const weft_arch weft_arch_granitehybrid = {
    .name = "granitehybrid",
    .model_types = {"granitemoehybrid"},
    .classes = {"GraniteMoeHybridForCausalLM"},
    .keys = keys,
    .globals = globals,
    .n_globals = sizeof globals / sizeof *globals,
    .layer = layer,
    .n_layer_rules = sizeof layer / sizeof *layer,
    .recurrent = &weft_mixer_mamba2,
    .rope_interleaved = {true, false},
    .activation = WEFT_ACT_SILU,
    .logit_scale_divides = true,
    .rope_base_default = {10000, 10000},
    .router = {.scores = WEFT_SCORES_SOFTMAX_CHOSEN},
    .refused = refused,
    .read = read,
    .kind_of = weft_kind_by_heads,
};
