/* What creating a network accepts and refuses: hyper-parameters in both spellings, defaults of
 * absent keys, and tensors by name, type and shape. Details name key or tensor as the file spells
 * it. */
#include <math.h>
#include "base/alloc.h"
#include "tensor/impl.h"
#include "tiny.h"

typedef struct base {
    weft_engine *engine;
    weft_metadata *metadata;
    weft_weights *weights;
    bool hf;
} base;

/* Metadata of one architecture, without a key if `without`, and weights that fit. */
static base start(const char *arch, bool hf, const char *without) {
    base b = {.hf = hf};
    weft_hparams h;
    const weft_arch *found;
    weft_spelling spelling = hf ? WEFT_SPELL_HF : WEFT_SPELL_GGUF;
    assert_weft_ok(weft_engine_create(NULL, &b.engine));
    weft_allocator a = weft_allocator_system();
    weft_metadata *whole = tiny_metadata(&a, arch, hf);
    assert_weft_ok(weft_arch_find(whole, spelling, &found));
    assert_weft_ok(weft_hparams_read(whole, found, (int)spelling, &h));
    b.weights = weft_weights_create(&a);
    tiny_fill_weights(b.engine, b.weights, found, &h, spelling);
    b.metadata = weft_metadata_create(&a);
    for (size_t i = 0; i < weft_metadata_count(whole); i++) {
        weft_value v;
        const char *key = weft_metadata_at(whole, i, &v);
        if (!without || strcmp(key, without) != 0)
            assert_weft_ok(weft_metadata_put(b.metadata, key, strlen(key), &v));
    }
    weft_metadata_destroy(whole);
    return b;
}

static void finish(base *b) {
    weft_weights_destroy(b->weights);
    weft_metadata_destroy(b->metadata);
    weft_engine_release(&b->engine);
}

static weft_status create(base *b, weft_network **out) {
    weft_network_options o = {.hugging_face = b->hf, .check_only = out == NULL};
    return weft_network_create(b->engine, b->metadata, b->weights, &o, out);
}

/* One key of one type replaced. */
static void refuse(const char *arch, bool hf, const char *key, weft_value v, weft_status status,
                   const char *named) {
    base b = start(arch, hf, key);
    assert_weft_ok(weft_metadata_put(b.metadata, key, strlen(key), &v));
    weft_status st = create(&b, NULL);
    if (st != status || !strstr(weft_detail(), named))
        fail_msg("%s: %s: %s", key, weft_status_name(st), weft_detail());
    finish(&b);
}

#define U(x) ((weft_value){.type = WEFT_VALUE_U32, .as.u = (x)})
#define I(x) ((weft_value){.type = WEFT_VALUE_I32, .as.i = (x)})
#define F(x) ((weft_value){.type = WEFT_VALUE_F64, .as.f = (x)})
#define S(x) ((weft_value){.type = WEFT_VALUE_STRING, .as.s = {x, strlen(x)}})
#define B(x) ((weft_value){.type = WEFT_VALUE_BOOL, .as.u = (x)})

static void test_bad_values_are_named(void **state) {
    (void)state;
    static const struct {
        const char *key;
        weft_value value;
    } gguf[] = {
        {"llama.block_count", U(0)},
        {"llama.block_count", U(1000000000)},
        {"llama.block_count", S("2")},
        {"llama.block_count", F(3.0)},
        {"llama.embedding_length", U(0)},
        {"llama.feed_forward_length", U(0)},
        {"llama.context_length", U(0)},
        {"llama.attention.head_count", U(0)},
        {"llama.attention.head_count", U(5)},
        {"llama.attention.head_count_kv", U(0)},
        {"llama.attention.head_count_kv", U(3)},
        {"llama.attention.head_count_kv", U(8)},
        {"llama.rope.dimension_count", U(0)},
        {"llama.rope.dimension_count", U(7)},
        {"llama.rope.dimension_count", U(64)},
        {"llama.rope.freq_base", F(0)},
        {"llama.rope.freq_base", F(-10000)},
        {"llama.rope.freq_base", F(NAN)},
        {"llama.attention.layer_norm_rms_epsilon", F(NAN)},
        {"llama.attention.layer_norm_rms_epsilon", F(-1)},
        {"llama.attention.sliding_window", I(-1)},
        {"llama.rope.scaling.factor", F(INFINITY)},
        {"llama.context_length", I(-1)},
        {"llama.context_length", F(128)},
    };
    for (size_t i = 0; i < sizeof gguf / sizeof *gguf; i++)
        refuse("llama", false, gguf[i].key, gguf[i].value, WEFT_E_FORMAT, gguf[i].key);
    static const struct {
        const char *key;
        weft_value value;
    } hf[] = {
        {"hidden_size", S("64")},
        {"hidden_size", I(-32)},
        {"hidden_size", F(1e300)},
        {"num_attention_heads", U(0)},
        {"num_hidden_layers", U(1000000000)},
        {"num_key_value_heads", U(3)},
        {"vocab_size", U(97)},
        {"rope_theta", F(0.5)},
        {"rope_theta", S("NaN")},
        {"rope_scaling", S("linear")},
        {"rope_parameters", F(2)},
        {"rope_parameters.full_attention", U(1)},
        {"max_position_embeddings", F(128)},
        {"architectures", U(3)},
    };
    for (size_t i = 0; i < sizeof hf / sizeof *hf; i++)
        refuse("llama", true, hf[i].key, hf[i].value, WEFT_E_FORMAT, hf[i].key);
}

/* config.json is flattened: {"head_dim": {"a": 1}} is known by its member alone. */
static void test_objects_are_not_absent(void **state) {
    (void)state;
    static const char *const keys[] = {"num_key_value_heads", "head_dim",   "vocab_size",
                                       "rms_norm_eps",        "hidden_act", "tie_word_embeddings",
                                       "attention_bias"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char member[64];
        snprintf(member, sizeof member, "%s.a", keys[i]);
        base b = start("llama", true, keys[i]);
        tiny_put_u32(b.metadata, member, 1);
        assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
        assert_detail_has(keys[i]);
        finish(&b);
    }
}

static weft_status read_llama(const char *key, weft_value_type type, const void *data, size_t n,
                              weft_hparams *h) {
    const weft_arch *arch;
    base b = start("llama", false, key);
    assert_weft_ok(weft_metadata_put_array(b.metadata, key, strlen(key), type, data, n));
    assert_weft_ok(weft_arch_find(b.metadata, WEFT_SPELL_GGUF, &arch));
    weft_status st = weft_hparams_read(b.metadata, arch, WEFT_SPELL_GGUF, h);
    finish(&b);
    return st;
}

/* Some files have one value a layer; all equal, they are one. */
static void test_one_value_a_layer(void **state) {
    (void)state;
    weft_hparams h;
    static const int32_t heads[3] = {4, 4, 4}, zeros[3], mixed[3] = {4, 2, 4};
    static const uint8_t kv[3] = {2, 2, 2};
    static const float floats[3] = {4, 4, 4};
    static const char key[] = "llama.attention.head_count";
    assert_weft_ok(read_llama(key, WEFT_VALUE_I32, heads, 3, &h));
    assert_int_equal(h.n_head, 4);
    assert_weft_ok(read_llama("llama.attention.head_count_kv", WEFT_VALUE_U8, kv, 3, &h));
    assert_int_equal(h.n_head_kv, 2);
    assert_weft_fails(read_llama(key, WEFT_VALUE_I32, heads, 2, &h), WEFT_E_FORMAT);
    assert_weft_fails(read_llama(key, WEFT_VALUE_I32, zeros, 3, &h), WEFT_E_FORMAT);
    assert_weft_fails(read_llama(key, WEFT_VALUE_I32, mixed, 3, &h), WEFT_E_UNSUPPORTED);
    assert_weft_fails(read_llama(key, WEFT_VALUE_F32, floats, 3, &h), WEFT_E_UNSUPPORTED);
    assert_detail_has(key);
}

/* A context that no cache could hold is what the file claims, not an error. */
static void test_endless_contexts(void **state) {
    (void)state;
    static const weft_value values[] = {
        {.type = WEFT_VALUE_I64, .as.i = INT64_MAX},
        {.type = WEFT_VALUE_I64, .as.i = (int64_t)1 << 32},
        {.type = WEFT_VALUE_F64, .as.f = 1e30},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        weft_hparams h;
        const weft_arch *arch;
        base b = start("llama", true, "max_position_embeddings");
        assert_weft_ok(weft_metadata_put(b.metadata, "max_position_embeddings", 23, &values[i]));
        assert_weft_ok(weft_arch_find(b.metadata, WEFT_SPELL_HF, &arch));
        assert_weft_ok(weft_hparams_read(b.metadata, arch, WEFT_SPELL_HF, &h));
        assert_int_equal(h.n_context, INT32_MAX);
        finish(&b);
    }
}

static void test_options_that_are_not_there_are_refused(void **state) {
    (void)state;
    refuse("qwen2", false, "qwen2.expert_count", U(8), WEFT_E_UNSUPPORTED, "qwen2.expert_count");
    refuse("llama", false, "llama.expert_count", U(8), WEFT_E_FORMAT, "llama.expert_used_count");
    refuse("llama", false, "llama.attention.causal", B(0), WEFT_E_UNSUPPORTED, "attention.causal");
    refuse("llama", false, "llama.attention.causal", U(0), WEFT_E_FORMAT, "attention.causal");
    refuse("llama", false, "llama.rope.scaling.type", S("nosuch"), WEFT_E_UNSUPPORTED, "nosuch");
    refuse("llama", false, "llama.rope.scaling.type", S("longrope"), WEFT_E_FORMAT,
           "rope_factors_short.weight");
    refuse("llama", true, "rope_scaling.rope_type", S("dynamic"), WEFT_E_UNSUPPORTED, "dynamic");
    refuse("llama", true, "quantization_config.quant_method", S("x"), WEFT_E_UNSUPPORTED,
           "quantization_config");
    refuse("llama", true, "hidden_act", S("mish"), WEFT_E_UNSUPPORTED, "mish");
    refuse("gemma3", true, "use_bidirectional_attention", B(1), WEFT_E_UNSUPPORTED,
           "use_bidirectional_attention");
    refuse("llama", true, "is_causal", B(0), WEFT_E_UNSUPPORTED, "is_causal");
    refuse("llama", true, "attention_bias", B(1), WEFT_E_FORMAT, "attention_bias");
    refuse("cohere", true, "use_qk_norm", B(1), WEFT_E_FORMAT, "norms of q and k");
    refuse("stablelm", true, "qk_layernorm", B(1), WEFT_E_FORMAT, "norms of q and k");
    refuse("llama", false, "llama.attention.value_length", U(8), WEFT_E_UNSUPPORTED,
           "value_length");
}

/* What a folder of `type` says, with one more key unless it is NULL. */
static weft_status read_variant(const char *type, bool mixture, const char *key,
                                const weft_value *value) {
    weft_allocator a = weft_allocator_system();
    weft_metadata *m = tiny_metadata(&a, type, true);
    const weft_arch *arch;
    weft_hparams h;
    tiny_put_u32(m, "n_positions", TINY_CTX);
    if (key)
        assert_weft_ok(weft_metadata_put(m, key, strlen(key), value));
    if (mixture) {
        tiny_put_u32(m, "num_local_experts", 8);
        if (!key || strcmp(key, "num_experts_per_tok") != 0)
            tiny_put_u32(m, "num_experts_per_tok", 2);
    }
    assert_weft_ok(weft_arch_find(m, WEFT_SPELL_HF, &arch));
    weft_status st = weft_hparams_read(m, arch, WEFT_SPELL_HF, &h);
    weft_metadata_destroy(m);
    return st;
}

/* Options of one architecture each: all is well without, and with them their key is named. */
static void test_variants_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *type;
        bool mixture;
        const char *key;
        weft_value value;
        weft_status status;
        const char *named;
    } cases[] = {
        {"olmo", false, "rope_scaling.type", S("dynamic"), WEFT_E_UNSUPPORTED, "dynamic"},
        {"bloom", false, "apply_residual_connection_post_layernorm", B(1), WEFT_E_UNSUPPORTED,
         "apply_residual_connection_post_layernorm"},
        {"gpt2", false, "scale_attn_by_inverse_layer_idx", B(1), WEFT_E_UNSUPPORTED,
         "scale_attn_by_inverse_layer_idx"},
        {"ernie4_5_moe", false, "moe_layer_end_index", U(0), WEFT_E_UNSUPPORTED,
         "moe_layer_end_index"},
        {"gpt_oss", true, "swiglu_limit", F(5), WEFT_E_UNSUPPORTED, "swiglu_limit"},
        {"gpt_oss", true, "quantization_config.quant_method", S("awq"), WEFT_E_UNSUPPORTED,
         "quantization_config"},
        {"glm4_moe", true, "scoring_func", S("tanh"), WEFT_E_UNSUPPORTED, "scoring_func"},
        {"glm4_moe", true, "n_group", U(3), WEFT_E_FORMAT, "n_group"},
        {"qwen3_moe", true, "num_experts_per_tok", U(9), WEFT_E_FORMAT, "num_experts_per_tok"},
        {"mixtral", true, "num_experts_per_tok", U(0), WEFT_E_FORMAT, "num_experts_per_tok"},
        {"phi3", false, "rope_scaling.type", S("dynamic"), WEFT_E_UNSUPPORTED, "dynamic"},
        {"granite", false, "hidden_act", S("quick_gelu"), WEFT_E_UNSUPPORTED, "hidden_act"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *type = cases[i].type, *key = cases[i].key;
        assert_weft_ok(read_variant(type, cases[i].mixture, NULL, NULL));
        weft_status st = read_variant(type, cases[i].mixture, key, &cases[i].value);
        if (st != cases[i].status || !strstr(weft_detail(), cases[i].named))
            fail_msg("%s %s: %s: %s", type, key, weft_status_name(st), weft_detail());
    }
}

/* How DeepSeek's routers choose: the known ways, and one that is not. */
static void test_ways_to_choose_experts(void **state) {
    (void)state;
    static const char *const ways[] = {"greedy", "group_limited_greedy", "noaux_tc", "nosuch"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        weft_allocator a = weft_allocator_system();
        weft_metadata *m = tiny_metadata(&a, "deepseek_v2", true);
        const weft_arch *arch;
        weft_hparams h;
        tiny_put_u32(m, "kv_lora_rank", 32);
        tiny_put_u32(m, "qk_nope_head_dim", 24);
        tiny_put_u32(m, "qk_rope_head_dim", 8);
        tiny_put_u32(m, "v_head_dim", 16);
        tiny_put_string(m, "topk_method", ways[i]);
        assert_weft_ok(weft_arch_find(m, WEFT_SPELL_HF, &arch));
        weft_status st = weft_hparams_read(m, arch, WEFT_SPELL_HF, &h);
        if (i < 3) {
            assert_weft_ok(st);
        } else {
            assert_weft_fails(st, WEFT_E_UNSUPPORTED);
            assert_detail_has("topk_method");
            assert_detail_has("nosuch");
        }
        weft_metadata_destroy(m);
    }
}

static void test_missing_keys_are_named(void **state) {
    (void)state;
    static const char *const gguf[] = {"general.architecture",
                                       "llama.block_count",
                                       "llama.embedding_length",
                                       "llama.context_length",
                                       "llama.attention.head_count",
                                       "llama.feed_forward_length",
                                       "llama.attention.layer_norm_rms_epsilon"};
    for (size_t i = 0; i < sizeof gguf / sizeof *gguf; i++) {
        base b = start("llama", false, gguf[i]);
        assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
        assert_detail_has(gguf[i]);
        finish(&b);
    }
    static const char *const hf[] = {"model_type", "hidden_size", "num_hidden_layers"};
    for (size_t i = 0; i < sizeof hf / sizeof *hf; i++) {
        base b = start("llama", true, hf[i]);
        assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
        assert_detail_has(hf[i]);
        assert_detail_has("config.json");
        finish(&b);
    }
    base b = start("gemma3", true, "sliding_window");
    assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
    assert_detail_has("sliding_window");
    finish(&b);
}

static void test_unknown_architectures_are_named(void **state) {
    (void)state;
    base b = start("llama", false, "general.architecture");
    tiny_put_string(b.metadata, "general.architecture", "%s%n nosuch");
    assert_weft_fails(create(&b, NULL), WEFT_E_UNSUPPORTED);
    assert_detail_has("nosuch");
    assert_detail_has("known are llama, mistral, mixtral, qwen2, ");
    finish(&b);
    b = start("llama", true, "model_type");
    tiny_put_string(b.metadata, "model_type", "yarnspinner");
    assert_weft_fails(create(&b, NULL), WEFT_E_UNSUPPORTED);
    assert_detail_has("yarnspinner");
    finish(&b);
}

/* ---- Tensors ---- */

static weft_tensor *tensor(base *b, weft_dtype type, int rank, int64_t rows, int64_t cols) {
    weft_tensor *t;
    int64_t dims[2] = {rows, cols};
    assert_weft_ok(weft_tensor_create_heap(&b->engine->allocator, type, WEFT_LAYOUT_STRIDED, rank,
                                           dims, true, &t));
    return t;
}

static void refuse_tensor(const char *name, weft_dtype type, int rank, int64_t rows, int64_t cols,
                          weft_status status, const char *also) {
    base b = start("llama", false, NULL);
    assert_weft_ok(weft_weights_replace(b.weights, name, tensor(&b, type, rank, rows, cols)));
    assert_weft_fails(create(&b, NULL), status);
    assert_detail_has(name);
    assert_detail_has(also);
    finish(&b);
}

static void test_bad_tensors_are_named(void **state) {
    (void)state;
    refuse_tensor("blk.1.attn_q.weight", WEFT_I8, 2, 64, 64, WEFT_E_UNSUPPORTED, "i8");
    refuse_tensor("blk.1.attn_q.weight", WEFT_Q8_K, 2, 64, 256, WEFT_E_UNSUPPORTED, "q8_K");
    refuse_tensor("blk.1.attn_q.weight", WEFT_F32, 2, 64, 32, WEFT_E_FORMAT, "[64, 32]");
    refuse_tensor("blk.1.attn_q.weight", WEFT_F32, 1, 64, 0, WEFT_E_FORMAT, "[64]");
    refuse_tensor("output_norm.weight", WEFT_F32, 1, 63, 0, WEFT_E_FORMAT, "[63]");
    refuse_tensor("output_norm.weight", WEFT_Q8_0, 1, 64, 0, WEFT_E_UNSUPPORTED, "q8_0");
    refuse_tensor("token_embd.weight", WEFT_F32, 2, 64, 96, WEFT_E_FORMAT, "[64, 96]");
    refuse_tensor("output.weight", WEFT_F32, 2, 95, 64, WEFT_E_FORMAT, "[95, 64]");
}

static void test_missing_and_strange_tensors_are_named(void **state) {
    (void)state;
    base b = start("llama", false, "llama.block_count");
    tiny_put_u32(b.metadata, "llama.block_count", 4); /* tensors for 3 */
    assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
    assert_detail_has("blk.3.");
    finish(&b);
    b = start("llama", false, "llama.block_count");
    tiny_put_u32(b.metadata, "llama.block_count", 2);
    assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
    assert_detail_has("blk.2.");
    finish(&b);
    b = start("llama", false, NULL);
    assert_weft_ok(
        weft_weights_take(b.weights, "blk.0.attn_sinks.weight", tensor(&b, WEFT_F32, 1, 4, 0)));
    assert_weft_fails(create(&b, NULL), WEFT_E_UNSUPPORTED);
    assert_detail_has("blk.0.attn_sinks.weight");
    finish(&b);
    b = start("llama", false, NULL); /* a layer beyond any number */
    assert_weft_ok(weft_weights_take(b.weights, "blk.99999999999999999999.attn_q.weight",
                                     tensor(&b, WEFT_F32, 1, 4, 0)));
    assert_weft_fails(create(&b, NULL), WEFT_E_FORMAT);
    finish(&b);
    b = start("llama", false, NULL); /* outside of the layers it does no harm */
    assert_weft_ok(
        weft_weights_take(b.weights, "adapter.unused.weight", tensor(&b, WEFT_F16, 2, 3, 32)));
    assert_weft_ok(create(&b, NULL));
    finish(&b);
}

/* ---- Defaults ---- */

static void test_defaults_of_absent_keys(void **state) {
    (void)state;
    weft_hparams h;
    const weft_arch *arch;
    weft_allocator a = weft_allocator_system();
    weft_metadata *m = weft_metadata_create(&a);
    tiny_put_string(m, "general.architecture", "llama");
    tiny_put_u32(m, "llama.block_count", 2);
    tiny_put_u32(m, "llama.embedding_length", 64);
    tiny_put_u32(m, "llama.feed_forward_length", 96);
    tiny_put_u32(m, "llama.attention.head_count", 4);
    tiny_put_u32(m, "llama.context_length", 4294967295u);
    tiny_put_f64(m, "llama.attention.layer_norm_rms_epsilon", 1e-5);
    assert_weft_ok(weft_arch_find(m, WEFT_SPELL_GGUF, &arch));
    assert_weft_ok(weft_hparams_read(m, arch, WEFT_SPELL_GGUF, &h));
    assert_int_equal(h.n_head_kv, 4);
    assert_int_equal(h.head_dim, 16);
    assert_int_equal(h.rope.n_rot, 16);
    assert_int_equal(h.n_context, INT32_MAX);
    assert_true(h.rope.base == 10000 && h.rope.scaling == WEFT_ROPE_PLAIN);
    assert_true(h.attn_scale == 0.25f && h.window == 0);
    int32_t n_context;
    uint64_t bytes;
    assert_true(weft_network_estimate(m, false, 100, WEFT_F16, &n_context, &bytes));
    assert_int_equal(bytes, 2 * 128 * 64 * 2 * 2);
    weft_metadata_destroy(m);
}

/* Both spellings of Gemma's two ropes; the scaling is the global one's alone. */
static void test_gemma_ropes(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    for (int newer = 0; newer < 2; newer++) {
        weft_hparams h;
        const weft_arch *arch;
        weft_metadata *m = tiny_metadata(&a, "gemma3", true);
        if (newer) {
            tiny_put_f64(m, "rope_parameters.full_attention.rope_theta", 2e6);
            tiny_put_string(m, "rope_parameters.full_attention.rope_type", "linear");
            tiny_put_f64(m, "rope_parameters.full_attention.factor", 8);
            tiny_put_f64(m, "rope_parameters.sliding_attention.rope_theta", 20000);
            tiny_put_string(m, "rope_parameters.sliding_attention.rope_type", "default");
        } else {
            tiny_put_f64(m, "rope_theta", 2e6);
            tiny_put_f64(m, "rope_local_base_freq", 20000);
            tiny_put_string(m, "rope_scaling.rope_type", "linear");
            tiny_put_f64(m, "rope_scaling.factor", 8);
        }
        tiny_put_u32(m, "query_pre_attn_scalar", 64);
        assert_weft_ok(weft_arch_find(m, WEFT_SPELL_HF, &arch));
        assert_weft_ok(weft_hparams_read(m, arch, WEFT_SPELL_HF, &h));
        assert_true(h.rope.base == 2e6 && h.rope.scaling == WEFT_ROPE_LINEAR && h.rope.factor == 8);
        assert_true(h.rope_local.base == 20000 && h.rope_local.scaling == WEFT_ROPE_PLAIN);
        assert_true(h.attn_scale == 0.125f && h.embd_scale == 8 && h.tied);
        for (int32_t i = 0; i < 7; i++) {
            weft_layer l = {0};
            assert_weft_ok(weft_hparams_layer(m, arch, WEFT_SPELL_HF, &h, i, &l));
            assert_int_equal(l.kind == WEFT_LAYER_LOCAL, i != 5);
        }
        weft_metadata_destroy(m);
    }
}

/* A list of layer types wins over the pattern; unknown types are refused. */
static void test_layer_types(void **state) {
    (void)state;
    static const char blob[] = "sliding_attentionfull_attentionlinear_attention";
    size_t lengths[3] = {17, 14, 16};
    weft_layer l = {0};
    weft_hparams h;
    const weft_arch *arch;
    weft_allocator a = weft_allocator_system();
    weft_metadata *m = tiny_metadata(&a, "qwen3", true);
    tiny_put_u32(m, "sliding_window", 16);
    assert_weft_ok(weft_metadata_put_strings(m, "layer_types", 11, blob, lengths, 3));
    assert_weft_ok(weft_arch_find(m, WEFT_SPELL_HF, &arch));
    assert_weft_ok(weft_hparams_read(m, arch, WEFT_SPELL_HF, &h));
    assert_weft_ok(weft_hparams_layer(m, arch, WEFT_SPELL_HF, &h, 0, &l));
    assert_true(l.kind == WEFT_LAYER_LOCAL);
    assert_weft_ok(weft_hparams_layer(m, arch, WEFT_SPELL_HF, &h, 1, &l));
    assert_true(l.kind == WEFT_LAYER_GLOBAL);
    assert_weft_fails(weft_hparams_layer(m, arch, WEFT_SPELL_HF, &h, 2, &l), WEFT_E_UNSUPPORTED);
    assert_detail_has("linear_attention");
    assert_weft_fails(weft_hparams_layer(m, arch, WEFT_SPELL_HF, &h, 3, &l), WEFT_E_FORMAT);
    weft_metadata_destroy(m);
}

static void test_yarn_spellings(void **state) {
    (void)state;
    weft_hparams h;
    const weft_arch *arch;
    weft_allocator a = weft_allocator_system();
    weft_metadata *m = tiny_metadata(&a, "qwen2", true);
    tiny_put_string(m, "rope_parameters.rope_type", "yarn");
    tiny_put_f64(m, "rope_parameters.rope_theta", 1e6);
    tiny_put_f64(m, "rope_parameters.factor", 4);
    tiny_put_u32(m, "rope_parameters.original_max_position_embeddings", 32768);
    weft_value no = B(0);
    assert_weft_ok(weft_metadata_put(m, "rope_parameters.truncate", 24, &no));
    assert_weft_ok(weft_arch_find(m, WEFT_SPELL_HF, &arch));
    assert_weft_ok(weft_hparams_read(m, arch, WEFT_SPELL_HF, &h));
    assert_true(h.rope.scaling == WEFT_ROPE_YARN && h.rope.base == 1e6 && h.rope.factor == 4);
    assert_true(h.rope.n_original == 32768 && !h.rope.truncate);
    assert_float_equal(h.rope.magnitude, 0.1 * log(4) + 1, 1e-12);
    weft_metadata_destroy(m);
    m = tiny_metadata(&a, "qwen2", false);
    tiny_put_string(m, "qwen2.rope.scaling.type", "yarn");
    tiny_put_f64(m, "qwen2.rope.scaling.factor", 4);
    tiny_put_u32(m, "qwen2.rope.scaling.original_context_length", 32768);
    assert_weft_ok(weft_arch_find(m, WEFT_SPELL_GGUF, &arch));
    assert_weft_ok(weft_hparams_read(m, arch, WEFT_SPELL_GGUF, &h));
    assert_true(h.rope.scaling == WEFT_ROPE_YARN && h.rope.n_original == 32768);
    assert_float_equal(h.rope.magnitude, 0.1 * log(4) + 1, 1e-12);
    weft_metadata_destroy(m);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *seen = ctx;
    assert_true(done > 0 && done <= total);
    seen[0]++;
    seen[1] = done == total;
    return seen[2] == 0;
}

static void test_progress_counts_up_and_cancels(void **state) {
    (void)state;
    uint64_t seen[3] = {0, 0, 0};
    weft_network *n;
    base b = start("llama", false, NULL);
    weft_network_options o = {.pack = true, .progress = stop_at_once, .progress_ctx = seen};
    assert_weft_ok(weft_network_create(b.engine, b.metadata, b.weights, &o, &n));
    assert_true(seen[0] > 10 && seen[1]);
    weft_model_info info = weft_network_info(n);
    assert_string_equal(info.architecture, "llama");
    assert_string_equal(info.name, "");
    assert_int_equal(info.n_vocab, TINY_VOCAB);
    assert_int_equal(info.weight_bytes, info.n_parameters * 4);
    weft_network_destroy(&n);
    assert_null(n);
    finish(&b);
    b = start("llama", false, NULL);
    seen[2] = 1;
    assert_weft_fails(weft_network_create(b.engine, b.metadata, b.weights, &o, &n),
                      WEFT_E_CANCELLED);
    assert_null(n);
    finish(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_values_are_named),
        cmocka_unit_test(test_objects_are_not_absent),
        cmocka_unit_test(test_one_value_a_layer),
        cmocka_unit_test(test_endless_contexts),
        cmocka_unit_test(test_options_that_are_not_there_are_refused),
        cmocka_unit_test(test_variants_are_refused_by_name),
        cmocka_unit_test(test_ways_to_choose_experts),
        cmocka_unit_test(test_missing_keys_are_named),
        cmocka_unit_test(test_unknown_architectures_are_named),
        cmocka_unit_test(test_bad_tensors_are_named),
        cmocka_unit_test(test_missing_and_strange_tensors_are_named),
        cmocka_unit_test(test_defaults_of_absent_keys),
        cmocka_unit_test(test_gemma_ropes),
        cmocka_unit_test(test_layer_types),
        cmocka_unit_test(test_yarn_spellings),
        cmocka_unit_test(test_progress_counts_up_and_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
