/* Small random networks in memory: see tiny.h. */
#include "tiny.h"

#include <math.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "tensor/impl.h"

static void *counted_alloc(void *ctx, size_t size_bytes, size_t align) {
    counter *c = ctx;
    __atomic_fetch_add(&c->n_calls, 1, __ATOMIC_RELAXED);
    if (c->fail_in >= 0 && __atomic_fetch_sub(&c->fail_in, 1, __ATOMIC_RELAXED) == 0) {
        c->fail_in = 0; /* and whatever follows */
        __atomic_fetch_add(&c->n_failed, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    void *memory = NULL;
    if (posix_memalign(&memory, align, size_bytes))
        return NULL;
    __atomic_fetch_add(&c->n_live, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->live_bytes, (long)size_bytes, __ATOMIC_RELAXED);
    return memory;
}

static void counted_release(void *ctx, void *memory, size_t size_bytes) {
    counter *c = ctx;
    __atomic_fetch_sub(&c->n_live, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&c->live_bytes, (long)size_bytes, __ATOMIC_RELAXED);
    free(memory);
}

weft_engine *tiny_engine(counter *count, weft_numbers numbers, int n_threads) {
    weft_engine *engine = NULL;
    weft_engine_options o = weft_engine_options_default();
    o.n_threads = n_threads;
    o.numbers = numbers;
    if (count) {
        *count = (counter){.fail_in = -1};
        o.allocator = (weft_allocator){counted_alloc, counted_release, count};
    }
    assert_weft_ok(weft_engine_create(&o, &engine));
    return engine;
}

static void put(weft_metadata *m, const char *key, weft_value v) {
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}

void tiny_put_u32(weft_metadata *m, const char *key, uint32_t value) {
    put(m, key, (weft_value){.type = WEFT_VALUE_U32, .as.u = value});
}

void tiny_put_f64(weft_metadata *m, const char *key, double value) {
    put(m, key, (weft_value){.type = WEFT_VALUE_F64, .as.f = value});
}

void tiny_put_string(weft_metadata *m, const char *key, const char *value) {
    put(m, key, (weft_value){.type = WEFT_VALUE_STRING, .as.s = {value, strlen(value)}});
}

static void put_gguf(weft_metadata *m, const char *arch, const char *key, double value) {
    char name[96];
    snprintf(name, sizeof name, "%s.%s", arch, key);
    if (value == floor(value))
        tiny_put_u32(m, name, (uint32_t)value);
    else
        tiny_put_f64(m, name, value);
}

/* What files of architectures with recurrent layers or latent attention say. */
static bool put_own(weft_metadata *m, const char *arch) {
    static const struct {
        const char *arch, *key;
        double value;
    } keys[] = {
        {"mamba", "ssm.conv_kernel", 4},
        {"mamba", "ssm.inner_size", 128},
        {"mamba", "ssm.state_size", 16},
        {"mamba", "ssm.time_step_rank", 4},
        {"mamba2", "ssm.conv_kernel", 4},
        {"mamba2", "ssm.inner_size", 128},
        {"mamba2", "ssm.state_size", 24},
        {"mamba2", "ssm.time_step_rank", 8},
        {"mamba2", "ssm.group_count", 2},
        {"qwen35", "full_attention_interval", 3},
        {"qwen35", "attention.key_length", 32},
        {"qwen35", "rope.dimension_count", 8},
        {"qwen35", "ssm.conv_kernel", 3},
        {"qwen35", "ssm.inner_size", 96},
        {"qwen35", "ssm.state_size", 16},
        {"qwen35", "ssm.time_step_rank", 4},
        {"qwen35", "ssm.group_count", 2},
        {"deepseek2", "attention.key_length_mla", 32},
        {"deepseek2", "attention.value_length_mla", 16},
        {"deepseek2", "attention.kv_lora_rank", 32},
        {"deepseek2", "attention.q_lora_rank", 48},
        {"deepseek2", "rope.dimension_count", 8},
    };
    bool own = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i].arch, arch)) {
            put_gguf(m, arch, keys[i].key, keys[i].value);
            own = true;
        }
    if (!own)
        return false;
    tiny_put_string(m, "general.architecture", arch);
    put_gguf(m, arch, "block_count", 3);
    put_gguf(m, arch, "embedding_length", TINY_EMBD);
    put_gguf(m, arch, "feed_forward_length", TINY_FF);
    put_gguf(m, arch, "attention.head_count", TINY_HEADS);
    put_gguf(m, arch, "attention.head_count_kv", TINY_KV);
    put_gguf(m, arch, "context_length", TINY_CTX);
    put_gguf(m, arch, "attention.layer_norm_rms_epsilon", 1e-5);
    return true;
}

weft_metadata *tiny_metadata(const weft_allocator *a, const char *arch, bool hf) {
    weft_metadata *m = weft_metadata_create(a);
    assert_non_null(m);
    bool gemma = !strcmp(arch, "gemma3");
    if (!hf && put_own(m, arch))
        return m;
    if (hf) {
        tiny_put_string(m, "model_type", gemma ? "gemma3_text" : arch);
        tiny_put_u32(m, "num_hidden_layers", gemma ? 7 : 3);
        tiny_put_u32(m, "hidden_size", TINY_EMBD);
        tiny_put_u32(m, "intermediate_size", TINY_FF);
        tiny_put_u32(m, "num_attention_heads", TINY_HEADS);
        tiny_put_u32(m, "num_key_value_heads", TINY_KV);
        tiny_put_u32(m, "head_dim", 32);
        tiny_put_u32(m, "max_position_embeddings", TINY_CTX);
        tiny_put_u32(m, "vocab_size", TINY_VOCAB);
        tiny_put_f64(m, "rms_norm_eps", 1e-5);
        tiny_put_f64(m, "layer_norm_eps", 1e-5);
        if (gemma)
            tiny_put_u32(m, "sliding_window", 24);
        return m;
    }
    tiny_put_string(m, "general.architecture", arch);
    put_gguf(m, arch, "block_count", gemma ? 7 : 3);
    put_gguf(m, arch, "embedding_length", TINY_EMBD);
    put_gguf(m, arch, "feed_forward_length", TINY_FF);
    put_gguf(m, arch, "attention.head_count", TINY_HEADS);
    put_gguf(m, arch, "attention.head_count_kv", TINY_KV);
    put_gguf(m, arch, "context_length", TINY_CTX);
    put_gguf(m, arch, "attention.layer_norm_rms_epsilon", 1e-5);
    if (gemma)
        put_gguf(m, arch, "attention.sliding_window", 24);
    return m;
}

/* ---- Weights ---- */

static uint64_t state;

static float uniform(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(int32_t)(state >> 32) * 0x1p-31f;
}

static void make(weft_engine *engine, weft_weights *weights, const char *name,
                 const weft_tensor_rule *rule, const weft_network *of, int32_t layer) {
    bool matrix = rule->n_rows != WEFT_EXT_NONE;
    int64_t dims[2] = {weft_extent_of(of, layer, rule->n_rows),
                       weft_extent_of(of, layer, rule->n_cols)};
    if (rule->n_rows == WEFT_EXT_VOCAB)
        dims[0] = TINY_VOCAB;
    weft_rule_shape shape = weft_rule_shape_of(of, rule, layer);
    if (rule->fusion != WEFT_FUSED_NOT) {
        bool transposed = rule->flags & WEFT_RULE_TRANSPOSED;
        dims[0] = shape.n_stacked * shape.file_rows;
        dims[1] = transposed ? shape.rows : shape.cols;
        matrix = shape.matrix;
    }
    weft_tensor *t;
    assert_weft_ok(weft_tensor_create_heap(&engine->allocator, WEFT_F32, WEFT_LAYOUT_STRIDED,
                                           matrix ? 2 : 1, matrix ? dims : dims + 1, true, &t));
    float *data = weft_tensor_data(t);
    int64_t n = (matrix ? dims[0] : 1) * dims[1];
    float scale = rule->flags & WEFT_RULE_GATHER ? 1.0f : 2.0f / sqrtf((float)dims[1]);
    for (int64_t i = 0; i < n; i++)
        data[i] = rule->flags & WEFT_RULE_LOG ? -1.0f + 0.9f * uniform()
                  : matrix                    ? uniform() * scale
                                              : 1.0f + 0.3f * uniform();
    assert_weft_ok(weft_weights_take(weights, name, t));
}

static void make_all(weft_engine *engine, weft_weights *weights, const weft_tensor_rule *rules,
                     size_t n, const weft_network *of, int32_t layer, const char *prefix) {
    weft_spelling spelling = of->spelling;
    for (size_t i = 0; i < n; i++) {
        char name[160];
        bool wanted =
            rules[i].name[spelling] && !(rules[i].flags & (WEFT_RULE_OPTIONAL | WEFT_RULE_MIXTURE));
        if (!wanted || (rules[i].flags & WEFT_RULE_OUTPUT && of->h.tied))
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, rules[i].name[spelling]);
        weft_rule_shape shape = weft_rule_shape_of(of, &rules[i], layer);
        bool nothing = rules[i].n_rows != WEFT_EXT_VOCAB && (shape.rows == 0 || shape.cols == 0);
        if (nothing || weft_weights_find(weights, name))
            continue; /* the latter: a part of a tensor that another rule made */
        make(engine, weights, name, &rules[i], of, layer);
    }
}

void tiny_fill_weights(weft_engine *engine, weft_weights *weights, const weft_arch *arch,
                       const weft_hparams *h, weft_spelling spelling) {
    /* All layers are of one size. */
    weft_layer all = {.head_dim = h->head_dim, .n_head_kv = h->n_head_kv, .n_ff = h->n_ff};
    weft_network of = {.h = *h, .spelling = spelling, .layers = &all};
    state = 20261130;
    make_all(engine, weights, arch->globals, arch->n_globals, &of, -1, "");
    for (int32_t i = 0; i < h->n_layer; i++) {
        char prefix[48];
        snprintf(prefix, sizeof prefix, spelling == WEFT_SPELL_HF ? "model.layers.%d." : "blk.%d.",
                 i);
        make_all(engine, weights, arch->layer, arch->n_layer_rules, &of, 0, prefix);
    }
}

void tiny_open(tiny *t, const char *arch, bool hf, weft_numbers numbers, bool pack) {
    const weft_arch *found;
    weft_hparams h;
    weft_spelling spelling = hf ? WEFT_SPELL_HF : WEFT_SPELL_GGUF;
    t->engine = tiny_engine(&t->count, numbers, 2);
    t->metadata = tiny_metadata(&t->engine->allocator, arch, hf);
    t->weights = weft_weights_create(&t->engine->allocator);
    assert_non_null(t->weights);
    assert_weft_ok(weft_arch_find(t->metadata, spelling, &found));
    assert_weft_ok(weft_hparams_read(t->metadata, found, (int)spelling, &h));
    tiny_fill_weights(t->engine, t->weights, found, &h, spelling);
    weft_network_options o = {.hugging_face = hf, .pack = pack};
    assert_weft_ok(weft_network_create(t->engine, t->metadata, t->weights, &o, &t->network));
}

void tiny_close(tiny *t) {
    weft_network_destroy(&t->network);
    weft_weights_destroy(t->weights);
    weft_metadata_destroy(t->metadata);
    weft_engine_release(&t->engine);
    assert_int_equal(t->count.n_live, 0);
    assert_int_equal(t->count.live_bytes, 0);
}

/* ---- Running ---- */

weft_status tiny_step(const weft_network *network, weft_cache *cache, weft_scope *scope,
                      int32_t sequence, const int32_t *tokens, size_t n, float *out) {
    int32_t sequences[256];
    bool wants[256];
    weft_tensor *logits = NULL;
    assert_true(n <= 256);
    for (size_t i = 0; i < n; i++) {
        sequences[i] = sequence;
        wants[i] = true;
    }
    weft_step step = {tokens, sequences, wants, n, false};
    assert_weft_ok(weft_scope_reset(scope));
    weft_status st = weft_forward(network, cache, scope, &step, NULL, &logits);
    if (st)
        return st;
    return weft_tensor_read(logits, out,
                            n * (size_t)weft_network_info(network).n_vocab * sizeof(float));
}

int32_t tiny_token(size_t i) {
    return (int32_t)((i * 37 + i * i * 11 + 5) % TINY_VOCAB);
}
