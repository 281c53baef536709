/* Matrices of 8-bit floats: the values that they get, bit for bit, for every kind of scale; and
 * what is refused, by name. */
#include "base/alloc.h"
#include "base/floats.h"
#include "model/derive.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"
#include "tiny.h"

#define WEIGHT "model.layers.0.mlp.down_proj.weight" /* [TINY_EMBD, TINY_FF] */
#define INVERSE WEIGHT "_scale_inv"
#define SCALE WEIGHT "_scale"

typedef struct base {
    weft_engine *engine;
    weft_metadata *metadata;
    weft_weights *weights;
} base;

static weft_tensor *tensor_of(weft_dtype type, int rank, const int64_t *dims) {
    weft_allocator a = weft_allocator_system();
    weft_tensor *t;
    assert_weft_ok(weft_tensor_create_heap(&a, type, WEFT_LAYOUT_STRIDED, rank, dims, true, &t));
    return t;
}

/* A llama whose matrix WEIGHT has codes of 8 bits, none of them NaN. */
static base start(const char *method) {
    base b;
    weft_hparams h;
    const weft_arch *arch;
    int64_t dims[2] = {TINY_EMBD, TINY_FF};
    weft_allocator a = weft_allocator_system();
    assert_weft_ok(weft_engine_create(NULL, &b.engine));
    b.metadata = tiny_metadata(&a, "llama", true);
    b.weights = weft_weights_create(&a);
    assert_weft_ok(weft_arch_find(b.metadata, WEFT_SPELL_HF, &arch));
    assert_weft_ok(weft_hparams_read(b.metadata, arch, WEFT_SPELL_HF, &h));
    tiny_fill_weights(b.engine, b.weights, arch, &h, WEFT_SPELL_HF);
    weft_tensor *t = tensor_of(WEFT_F8_E4M3, 2, dims);
    unsigned char *codes = weft_tensor_data(t);
    for (size_t i = 0; i < TINY_EMBD * TINY_FF; i++)
        codes[i] = (unsigned char)(i % 2 << 7 | i % 127);
    assert_weft_ok(weft_weights_replace(b.weights, WEIGHT, t));
    if (method)
        tiny_put_string(b.metadata, "quantization_config.quant_method", method);
    return b;
}

static void finish(base *b) {
    weft_weights_destroy(b->weights);
    weft_metadata_destroy(b->metadata);
    weft_engine_release(&b->engine);
}

static void put_block(base *b, int64_t rows, int64_t cols) {
    int64_t block[2] = {rows, cols};
    const char *key = "quantization_config.weight_block_size";
    assert_weft_ok(
        weft_metadata_put_array(b->metadata, key, strlen(key), WEFT_VALUE_I64, block, 2));
}

/* Scales about `scale`, each another. */
static void put_scales(base *b, const char *name, int rank, const int64_t *dims, float scale) {
    weft_tensor *t = tensor_of(WEFT_F32, rank, dims);
    float *x = weft_tensor_data(t);
    for (int64_t i = 0; i < weft_tensor_numel(t); i++)
        x[i] = scale * (1.0f + (float)i / 37);
    assert_weft_ok(weft_weights_take(b->weights, name, t));
}

static weft_status create(const base *b, weft_network **out) {
    weft_network_options o = {.hugging_face = true, .check_only = out == NULL};
    return weft_network_create(b->engine, b->metadata, b->weights, &o, out);
}

static void refuse(base *b, bool when_loaded, weft_status status, const char *named) {
    weft_network *n;
    weft_status st = create(b, when_loaded ? &n : NULL);
    if (st != status || !strstr(weft_detail(), named))
        fail_msg("%s: %s: %s", named, weft_status_name(st), weft_detail());
    finish(b);
}

/* Each element is its code times the scale of its block, rounded once to `type`. */
static void check_values(base *b, const char *name, size_t rows, size_t cols, weft_dtype type) {
    weft_network *n;
    const weft_tensor *scales = name ? weft_weights_find(b->weights, name) : NULL;
    const unsigned char *codes = weft_tensor_data(weft_weights_find(b->weights, WEIGHT));
    const float one = 1, *scale = scales ? weft_tensor_data(scales) : &one;
    size_t across = (TINY_FF + cols - 1) / cols;
    assert_weft_ok(create(b, &n));
    const weft_tensor *t = n->layers[0].ffn_down;
    assert_int_equal(weft_tensor_dtype(t), type);
    const uint16_t *x = weft_tensor_data(t);
    for (size_t i = 0; i < TINY_EMBD * TINY_FF; i++) {
        size_t r = i / TINY_FF, c = i % TINY_FF;
        float w = weft_f8_e4m3_to_f32(codes[i]) * scale[r / rows * across + c / cols];
        assert_int_equal(x[i], type == WEFT_F16 ? weft_f32_to_f16(w) : weft_f32_to_bf16(w));
    }
    weft_network_destroy(&n);
    finish(b);
}

static void test_values(void **state) {
    (void)state;
    base b = start(NULL);
    check_values(&b, NULL, TINY_EMBD, TINY_FF, WEFT_F16);
    b = start("fp8"); /* 64 = 2 · 24 + 16, 96 = 40 + 40 + 16 */
    put_block(&b, 24, 40);
    put_scales(&b, INVERSE, 2, (int64_t[]){3, 3}, 0.01f);
    check_values(&b, INVERSE, 24, 40, WEFT_F16);
    b = start("fp8"); /* a block beyond the matrix */
    put_block(&b, 128, 128);
    put_scales(&b, INVERSE, 2, (int64_t[]){1, 1}, 0.01f);
    check_values(&b, INVERSE, 128, 128, WEFT_F16);
    b = start("compressed-tensors");
    put_scales(&b, SCALE, 2, (int64_t[]){TINY_EMBD, 1}, 0.01f);
    check_values(&b, SCALE, 1, TINY_FF, WEFT_F16);
    b = start("compressed-tensors");
    put_scales(&b, SCALE, 1, (int64_t[]){1}, 0.01f);
    check_values(&b, SCALE, TINY_EMBD, TINY_FF, WEFT_F16);
}

/* Beyond f16's range, and where most of it would be denormal there. */
static void test_ranges(void **state) {
    (void)state;
    static const float scales[] = {1000.0f, 1e-9f};
    for (size_t i = 0; i < 2; i++) {
        base b = start("fp8");
        put_scales(&b, SCALE, 0, NULL, scales[i]);
        check_values(&b, SCALE, TINY_EMBD, TINY_FF, WEFT_BF16);
    }
}

static void test_wrong_scales_are_refused(void **state) {
    (void)state;
    base b = start("fp8");
    refuse(&b, false, WEFT_E_FORMAT, INVERSE);
    static const int64_t wrong[][2] = {{3, 2}, {2, 3}, {4, 3}, {3, 4}, {9, 1}, {64, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        b = start("fp8");
        put_block(&b, 24, 40);
        put_scales(&b, INVERSE, 2, wrong[i], 1);
        refuse(&b, false, WEFT_E_FORMAT, INVERSE);
    }
    b = start("fp8");
    put_scales(&b, SCALE, 1, (int64_t[]){TINY_FF}, 1);
    refuse(&b, false, WEFT_E_FORMAT, SCALE);
    b = start(NULL); /* nobody says what it is */
    put_scales(&b, SCALE, 1, (int64_t[]){1}, 1);
    refuse(&b, false, WEFT_E_UNSUPPORTED, SCALE);
    b = start("fp8"); /* beside a matrix of floats */
    put_scales(&b, SCALE, 1, (int64_t[]){1}, 1);
    put_scales(&b, "model.layers.0.mlp.up_proj.weight_scale", 1, (int64_t[]){1}, 1);
    refuse(&b, false, WEFT_E_UNSUPPORTED, "up_proj.weight_scale");
    b = start("fp8");
    assert_weft_ok(weft_weights_take(b.weights, SCALE, tensor_of(WEFT_I32, 1, (int64_t[]){1})));
    refuse(&b, false, WEFT_E_UNSUPPORTED, SCALE);
}

static void test_values_that_are_not_finite_are_refused(void **state) {
    (void)state;
    base b = start(NULL);
    unsigned char *codes = weft_tensor_data(weft_weights_find(b.weights, WEIGHT));
    codes[TINY_FF + 3] = 0xff;
    refuse(&b, true, WEFT_E_FORMAT, WEIGHT);
    b = start("fp8");
    put_scales(&b, SCALE, 1, (int64_t[]){1}, weft_float_of(0x7f800000));
    refuse(&b, true, WEFT_E_FORMAT, WEIGHT);
}

static void test_other_quantisations_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *method, *key, *text;
        weft_status status;
    } cases[] = {
        {"awq", NULL, NULL, WEFT_E_UNSUPPORTED},
        {"fp8", "quantization_config.fmt", "int8", WEFT_E_UNSUPPORTED},
        {"fp8", "quantization_config.nosuch", "x", WEFT_E_UNSUPPORTED},
        {"fp8", "quantization_config.weight_block_size", "x", WEFT_E_FORMAT},
        {"compressed-tensors", "quantization_config.format", "pack-quantized", WEFT_E_UNSUPPORTED},
        {"compressed-tensors", "quantization_config.config_groups.g.weights.type", "int",
         WEFT_E_UNSUPPORTED},
        {"compressed-tensors", "quantization_config.config_groups.g.weights.strategy", "group",
         WEFT_E_UNSUPPORTED},
        {"compressed-tensors", "quantization_config.kv_cache_scheme.type", "float",
         WEFT_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        base b = start(cases[i].method);
        if (cases[i].key)
            tiny_put_string(b.metadata, cases[i].key, cases[i].text);
        put_scales(&b, SCALE, 1, (int64_t[]){1}, 1);
        refuse(&b, false, cases[i].status,
               cases[i].key ? cases[i].key : "quantization_config.quant_method");
    }
    base b = start("compressed-tensors");
    tiny_put_u32(b.metadata, "quantization_config.config_groups.g.weights.num_bits", 4);
    put_scales(&b, SCALE, 1, (int64_t[]){1}, 1);
    refuse(&b, false, WEFT_E_UNSUPPORTED, "num_bits");
    static const int64_t sizes[][2] = {{0, 128}, {128, -1}, {1 << 20, 128}};
    for (size_t i = 0; i < 3; i++) {
        b = start("fp8");
        put_block(&b, sizes[i][0], sizes[i][1]);
        refuse(&b, false, WEFT_E_FORMAT, "weight_block_size");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_wrong_scales_are_refused),
        cmocka_unit_test(test_values_that_are_not_finite_are_refused),
        cmocka_unit_test(test_other_quantisations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
