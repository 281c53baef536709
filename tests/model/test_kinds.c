/* Layers that differ in size: what gemma4's two spellings of metadata give each layer, and what is
 * refused. */
#include "base/alloc.h"
#include "model/config.h"
#include "tiny.h"

enum { N_LAYER = 6 }; /* window, everything, window, … */

typedef struct sizes {
    int32_t head_dim, n_head_kv, n_ff, kv_layer;
} sizes;

static weft_metadata *empty(void) {
    weft_allocator a = weft_allocator_system();
    return weft_metadata_create(&a);
}

static void put_i32s(weft_metadata *m, const char *key, const int32_t *numbers) {
    assert_weft_ok(weft_metadata_put_array(m, key, strlen(key), WEFT_VALUE_I32, numbers, N_LAYER));
}

static void put_bool(weft_metadata *m, const char *key, bool on) {
    weft_value v = {.type = WEFT_VALUE_BOOL, .as.u = on};
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}

/* A GGUF file's keys, but for those of `without` and those whose values the tests choose. */
static weft_metadata *file(const char *without) {
    static const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"gemma4.block_count", N_LAYER},
                   {"gemma4.embedding_length", 64},
                   {"gemma4.context_length", 512},
                   {"gemma4.attention.head_count", 4},
                   {"gemma4.attention.key_length", 32},
                   {"gemma4.attention.value_length", 32},
                   {"gemma4.attention.key_length_swa", 16},
                   {"gemma4.attention.value_length_swa", 16},
                   {"gemma4.attention.shared_kv_layers", 3},
                   {"gemma4.attention.sliding_window", 24},
                   {"gemma4.rope.dimension_count", 32},
                   {"gemma4.rope.dimension_count_swa", 16},
                   {"gemma4.embedding_length_per_layer_input", 8}};
    static const uint8_t window[N_LAYER] = {1, 0, 1, 0, 1, 0};
    static const int32_t kv[N_LAYER] = {2, 1, 2, 1, 2, 1},
                         ff[N_LAYER] = {96, 96, 96, 192, 192, 192};
    static const char pattern[] = "gemma4.attention.sliding_window_pattern";
    weft_metadata *m = empty();
    tiny_put_string(m, "general.architecture", "gemma4");
    tiny_put_f64(m, "gemma4.attention.layer_norm_rms_epsilon", 1e-6);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].key, without) != 0)
            tiny_put_u32(m, numbers[i].key, numbers[i].value);
    if (strcmp(pattern, without) != 0)
        assert_weft_ok(
            weft_metadata_put_array(m, pattern, strlen(pattern), WEFT_VALUE_BOOL, window, N_LAYER));
    if (strcmp("gemma4.attention.head_count_kv", without) != 0)
        put_i32s(m, "gemma4.attention.head_count_kv", kv);
    if (strcmp("gemma4.feed_forward_length", without) != 0)
        put_i32s(m, "gemma4.feed_forward_length", ff);
    return m;
}

/* config.json, flattened, likewise. */
static weft_metadata *config(const char *without) {
    static const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"num_hidden_layers", N_LAYER},
                   {"hidden_size", 64},
                   {"intermediate_size", 96},
                   {"max_position_embeddings", 512},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"num_global_key_value_heads", 1},
                   {"head_dim", 16},
                   {"global_head_dim", 32},
                   {"num_kv_shared_layers", 3},
                   {"sliding_window", 24},
                   {"hidden_size_per_layer_input", 8}};
    static const struct {
        const char *key, *value;
    } words[] = {{"model_type", "gemma4_text"},
                 {"rope_parameters.full_attention.rope_type", "proportional"},
                 {"rope_parameters.sliding_attention.rope_type", "default"}};
    static const char types[] = "sliding_attentionfull_attentionsliding_attentionfull_attention"
                                "sliding_attentionfull_attention";
    static const size_t lengths[N_LAYER] = {17, 14, 17, 14, 17, 14};
    weft_metadata *m = empty();
    tiny_put_f64(m, "rms_norm_eps", 1e-6);
    tiny_put_f64(m, "rope_parameters.full_attention.partial_rotary_factor", 0.25);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].key, without) != 0)
            tiny_put_u32(m, numbers[i].key, numbers[i].value);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].key, without) != 0)
            tiny_put_string(m, words[i].key, words[i].value);
    if (strcmp("layer_types", without) != 0)
        assert_weft_ok(weft_metadata_put_strings(m, "layer_types", 11, types, lengths, N_LAYER));
    put_bool(m, "attention_k_eq_v", true);
    put_bool(m, "use_double_wide_mlp", true);
    return m;
}

static weft_status read_all(weft_metadata **m, bool hf, weft_hparams *h, sizes *out) {
    const weft_arch *arch;
    int spelling = hf ? WEFT_SPELL_HF : WEFT_SPELL_GGUF;
    weft_status st = weft_arch_find(*m, (weft_spelling)spelling, &arch);
    if (!st)
        st = weft_hparams_read(*m, arch, spelling, h);
    for (int32_t i = 0; !st && i < N_LAYER; i++) {
        weft_layer l = {0};
        st = weft_hparams_layer(*m, arch, spelling, h, i, &l);
        out[i] = (sizes){l.head_dim, l.n_head_kv, l.n_ff, l.kv_layer};
    }
    weft_metadata_destroy(*m);
    *m = NULL;
    return st;
}

static void test_both_spellings_give_the_same(void **state) {
    (void)state;
    static const sizes expected[N_LAYER] = {{16, 2, 96, 0},  {32, 1, 96, 1},  {16, 2, 96, 2},
                                            {32, 0, 192, 1}, {16, 0, 192, 2}, {32, 0, 192, 1}};
    for (int hf = 0; hf < 2; hf++) {
        weft_hparams h;
        sizes found[N_LAYER];
        weft_metadata *m = hf ? config("") : file("");
        assert_weft_ok(read_all(&m, hf, &h, found));
        assert_memory_equal(found, expected, sizeof expected);
        assert_int_equal(h.n_embd_layer, 8);
        assert_int_equal(h.rope.n_rot, 32);
        assert_int_equal(h.rope_local.n_rot, 16);
        assert_true(h.attn_scale == 1.0f);
        assert_true(h.rope.base == 1e6 && h.rope_local.base == 1e4);
    }
}

/* Newer config.json: values of single layers, where older ones had those of their kind. */
static void test_values_of_single_layers(void **state) {
    (void)state;
    weft_hparams h;
    sizes found[N_LAYER];
    for (int n = 1; n < N_LAYER + 2; n += 2) {
        weft_metadata *m = config("global_head_dim");
        for (int i = 1; i < n; i += 2) {
            char key[64];
            snprintf(key, sizeof key, "per_layer_config.%d.head_dim", i);
            tiny_put_u32(m, key, 48);
        }
        weft_status st = read_all(&m, true, &h, found);
        if (n == 1 || n == N_LAYER + 1) { /* none; all that see everything */
            assert_weft_ok(st);
            assert_int_equal(found[1].head_dim, n == 1 ? 512 : 48);
            assert_int_equal(found[0].head_dim, 16);
            assert_int_equal(h.rope.n_rot, found[1].head_dim);
        } else {
            assert_weft_fails(st, WEFT_E_UNSUPPORTED);
            assert_detail_has("global_head_dim");
        }
    }
    weft_metadata *m = config("");
    tiny_put_u32(m, "per_layer_config.1.sliding_window", 8);
    assert_weft_fails(read_all(&m, true, &h, found), WEFT_E_UNSUPPORTED);
    assert_detail_has("per_layer_config.1.sliding_window");
}

static void refuse(weft_metadata *m, bool hf, weft_status status, const char *named) {
    weft_hparams h;
    sizes found[N_LAYER];
    weft_status st = read_all(&m, hf, &h, found);
    if (st != status || !strstr(weft_detail(), named))
        fail_msg("%s: %s: %s", named, weft_status_name(st), weft_detail());
}

static void test_bad_values_of_files(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        weft_status status;
    } numbers[] = {{"gemma4.attention.key_length_swa", 0, WEFT_E_FORMAT},
                   {"gemma4.attention.value_length_swa", 8, WEFT_E_UNSUPPORTED},
                   {"gemma4.attention.shared_kv_layers", N_LAYER, WEFT_E_FORMAT},
                   {"gemma4.attention.shared_kv_layers", N_LAYER - 1, WEFT_E_FORMAT},
                   {"gemma4.rope.dimension_count_swa", 15, WEFT_E_FORMAT},
                   {"gemma4.rope.dimension_count_swa", 18, WEFT_E_FORMAT}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        weft_metadata *m = file(numbers[i].key);
        tiny_put_u32(m, numbers[i].key, numbers[i].value);
        refuse(m, false, numbers[i].status, numbers[i].key);
    }
    static const int32_t kv[N_LAYER] = {2, 1, 2, 2, 2, 1}, odd[N_LAYER] = {3, 1, 3, 1, 3, 1};
    static const int32_t ff[N_LAYER] = {96, 96, 96, 192, 96, 192}, none[N_LAYER] = {0};
    weft_metadata *m = file("gemma4.attention.head_count_kv");
    put_i32s(m, "gemma4.attention.head_count_kv", kv);
    refuse(m, false, WEFT_E_UNSUPPORTED, "head_count_kv");
    m = file("gemma4.attention.head_count_kv");
    put_i32s(m, "gemma4.attention.head_count_kv", odd);
    refuse(m, false, WEFT_E_FORMAT, "head_count_kv");
    m = file("gemma4.feed_forward_length");
    put_i32s(m, "gemma4.feed_forward_length", ff);
    refuse(m, false, WEFT_E_UNSUPPORTED, "feed_forward_length");
    m = file("gemma4.feed_forward_length");
    put_i32s(m, "gemma4.feed_forward_length", none);
    refuse(m, false, WEFT_E_FORMAT, "feed_forward_length");
}

static void test_bad_values_of_configs(void **state) {
    (void)state;
    static const char *const needed[] = {"layer_types", "rope_parameters.full_attention.rope_type",
                                         "rope_parameters.sliding_attention.rope_type"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        refuse(config(needed[i]), true, WEFT_E_FORMAT, needed[i]);
    weft_metadata *m = config("");
    tiny_put_string(m, "use_bidirectional_attention", "all");
    refuse(m, true, WEFT_E_UNSUPPORTED, "use_bidirectional_attention");
    weft_hparams h;
    sizes found[N_LAYER];
    m = config("");
    tiny_put_string(m, "use_bidirectional_attention", "vision"); /* text is causal then */
    assert_weft_ok(read_all(&m, true, &h, found));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_spellings_give_the_same),
        cmocka_unit_test(test_values_of_single_layers),
        cmocka_unit_test(test_bad_values_of_files),
        cmocka_unit_test(test_bad_values_of_configs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
