/* Half-precision and quantised files of the shared reference against logits of transformers, and
 * what is refused. Skipped where the data is not there, but for what lies in tests/data. */
#include <math.h>
#include "reference.h"

static void test_f16_gguf(void **state) {
    (void)state;
    skip_without(SHARED_MODELS "llama/reference.json");
    check_model(SHARED_MODELS "llama/llama-f16.gguf", SHARED_MODELS "llama/reference.json", true,
                WEFT_NUMBERS_REPRODUCIBLE, 1e-2);
    check_model(SHARED_MODELS "qwen2/qwen2-f16.gguf", SHARED_MODELS "qwen2/reference.json", false,
                WEFT_NUMBERS_REPRODUCIBLE, 1e-2);
    check_model(SHARED_MODELS "gemma3/gemma3-f16.gguf", SHARED_MODELS "gemma3/reference.json", true,
                WEFT_NUMBERS_REPRODUCIBLE, 1e-2);
    /* Some CPUs multiply long prompts in bfloat16; int8 activations are off by twice as much. */
    check_model(SHARED_MODELS "llama/llama-f16.gguf", SHARED_MODELS "llama/reference.json", true,
                WEFT_NUMBERS_DEFAULT, 1e-1);
    check_model(SHARED_MODELS "gemma3/gemma3-f16.gguf", SHARED_MODELS "gemma3/reference.json", true,
                WEFT_NUMBERS_DEFAULT, 1e-1);
}

/* Variants that tests/data/make_reference.py makes: folders, and files. One has a quantised matrix:
 * with float activations it is that of the folder. */
static void test_own_references(void **state) {
    (void)state;
    static const struct {
        const char *name, *file;
        weft_numbers numbers;
    } own[] = {{"mamba", "", WEFT_NUMBERS_REPRODUCIBLE},
               {"mamba", "/mamba-f32.gguf", WEFT_NUMBERS_REPRODUCIBLE},
               {"lfm2", "", WEFT_NUMBERS_DEFAULT},
               {"lfm2-moe", "", WEFT_NUMBERS_DEFAULT},
               {"granite-hybrid", "", WEFT_NUMBERS_DEFAULT},
               {"granite-hybrid-dense", "", WEFT_NUMBERS_REPRODUCIBLE},
               {"qwen3.5-moe", "", WEFT_NUMBERS_DEFAULT},
               {"qwen3.5-vision", "", WEFT_NUMBERS_DEFAULT},
               {"gemma4-moe", "/gemma4-moe-f32.gguf", WEFT_NUMBERS_REPRODUCIBLE},
               {"gemma4", "", WEFT_NUMBERS_DEFAULT},
               {"deepseek-v2-lite", "", WEFT_NUMBERS_REPRODUCIBLE},
               {"deepseek-v2-lite", "/deepseek-v2-lite-f32.gguf", WEFT_NUMBERS_FLOAT}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        for (int pack = 0; pack < 2; pack++) {
            char path[512], json[512];
            snprintf(path, sizeof path, OWN_MODELS "%s%s", own[i].name, own[i].file);
            snprintf(json, sizeof json, OWN_MODELS "%s/reference.json", own[i].name);
            check_model(path, json, pack, own[i].numbers, 1e-4);
        }
}

/* ---- Quantised files against the logits of their own dequantised weights ---- */

static double quantised_difference(const char *type, const weft_json *expected,
                                   const weft_json *prompts, weft_numbers numbers, bool pack) {
    char path[512];
    reference *r;
    double most = 0;
    snprintf(path, sizeof path, SHARED_MODELS "llama-k256/quant/llama-k256-%s.gguf", type);
    r = open_reference(path, numbers, pack);
    for (size_t p = 0; p < weft_json_length(prompts); p++) {
        int32_t tokens[MAX_TOKENS];
        size_t n = ids_of(weft_json_get(weft_json_item(prompts, p), "tokens"), tokens);
        assert_weft_ok(weft_cache_truncate(r->cache, r->sequence, 0, NULL));
        feed(r, tokens, 0, n, n, p ? MAX_TOKENS : 1);
        most =
            fmax(most, difference(r, r->rows + (n - 1) * r->n_vocab, weft_json_item(expected, p)));
    }
    close_reference(&r);
    return most;
}

static void test_quantised_types(void **state) {
    (void)state;
    skip_without(SHARED_MODELS "llama-k256/dequant.json");
    weft_json *dequant = read_json(SHARED_MODELS "llama-k256/dequant.json");
    weft_json *expected_of = read_json(SHARED_MODELS "llama-k256/reference.json");
    const weft_json *prompts = weft_json_get(expected_of, "prompts");
    void *cursor = NULL;
    const char *name;
    const weft_json *quant;
    size_t n = 0;
    while (weft_json_next(weft_json_get(dequant, "quants"), &cursor, &name, &quant)) {
        const weft_json *expected = weft_json_get(quant, "last_logits");
        if (!expected) /* nobody else reads Q1_0 and Q2_0 */
            continue;
        assert_int_equal(weft_json_length(expected), 2);
        bool pack = n++ % 2;
        double exact = quantised_difference(name, expected, prompts, WEFT_NUMBERS_FLOAT, pack);
        double usual = quantised_difference(name, expected, prompts, WEFT_NUMBERS_DEFAULT, !pack);
        if (exact > 1e-4 || usual > 0.35)
            fail_msg("%s: off by %g with float activations, %g with quantised ones", name, exact,
                     usual);
        print_message("%s: %.2e with float activations, %.3f with quantised ones\n", name, exact,
                      usual);
    }
    assert_true(n >= 33);
    weft_json_free(&expected_of);
    weft_json_free(&dequant);
}

/* Types that have no kernel yet are refused by name. */
static void test_what_is_not_due_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *path, *named;
    } cases[] = {{SHARED_MODELS "llama-k256/quant/llama-k256-Q1_0.gguf", "q1_0"},
                 {SHARED_MODELS "llama-k256/quant/llama-k256-Q2_0.gguf", "q2_0"}};
    skip_without(SHARED_MODELS "llama/reference.json");
    weft_engine *engine = tiny_engine(NULL, WEFT_NUMBERS_DEFAULT, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_source source;
        assert_weft_ok(weft_source_open(engine, cases[i].path, false, NULL, NULL, &source));
        weft_network_options o = {.hugging_face = source.format == WEFT_FORMAT_HF,
                                  .check_only = true};
        weft_status st = weft_network_create(engine, source.metadata, source.weights, &o, NULL);
        if (st != WEFT_E_UNSUPPORTED || !strstr(weft_detail(), cases[i].named))
            fail_msg("%s: %s: %s", cases[i].path, weft_status_name(st), weft_detail());
        weft_source_close(&source);
    }
    weft_engine_release(&engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_gguf),
        cmocka_unit_test(test_own_references),
        cmocka_unit_test(test_quantised_types),
        cmocka_unit_test(test_what_is_not_due_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
