/* Small models of every architecture against reference outputs of transformers (float32):
 * tolerances are those that the reference's README gives, greedy continuations must be equal.
 * Skipped where the data is not there, but for what lies in tests/data. */
#include <math.h>
#include "base/file.h"
#include "base/json.h"
#include "loader/loader.h"
#include "tiny.h"

#define MODELS WEFT_SHARED_DIR "/reference/models/"
#define MAX_TOKENS 64
#define VOCAB 320

/* Tolerances are those of the reference's README: the delta net amplifies rounding. */
static const struct {
    const char *name;
    bool gguf;
    double tolerance;
} known[] = {
    {"llama", true, 1e-4},         {"llama-rope3", true, 1e-4},  {"llama-tied", true, 1e-4},
    {"llama-k256", true, 1e-4},    {"mistral-swa", false, 1e-4}, {"mixtral", true, 1e-4},
    {"qwen2", true, 1e-4},         {"qwen2-moe", true, 1e-4},    {"qwen3", true, 1e-4},
    {"qwen3-moe", true, 1e-4},     {"gemma", true, 1e-4},        {"gemma2", true, 1e-4},
    {"gemma3", true, 1e-4},        {"phi2", true, 1e-4},         {"phi3", true, 1e-4},
    {"phi3-longrope", true, 1e-4}, {"gpt2", true, 1e-4},         {"gpt-neox", true, 1e-4},
    {"falcon-new", true, 1e-4},    {"starcoder2", true, 1e-4},   {"stablelm", true, 1e-4},
    {"olmo2", true, 1e-4},         {"granite", true, 1e-4},      {"granite-moe", true, 1e-4},
    {"cohere2", true, 1e-4},       {"glm4", true, 1e-4},         {"smollm3", true, 1e-4},
    {"gpt-oss", true, 1e-4},       {"deepseek-v2", true, 1e-4},  {"deepseek-v3", true, 1e-4},
    {"lfm2", true, 1e-4},          {"mamba2", true, 1e-4},       {"qwen3-next", true, 2e-4},
    {"qwen3.5", true, 2e-4},
};
#define N_KNOWN (sizeof known / sizeof *known)

typedef struct opened {
    weft_engine *engine;
    weft_source source;
    weft_network *network;
    weft_cache *cache;
    weft_scope *scope;
    int32_t sequence;
} opened;

static void open_model(opened *o, const char *path, weft_numbers numbers, bool pack) {
    o->engine = tiny_engine(NULL, numbers, 2);
    assert_weft_ok(weft_source_open(o->engine, path, false, NULL, NULL, &o->source));
    weft_network_options options = {.hugging_face = o->source.format == WEFT_FORMAT_HF,
                                    .pack = pack};
    assert_weft_ok(weft_network_create(o->engine, o->source.metadata, o->source.weights, &options,
                                       &o->network));
    weft_cache_options c = {128, WEFT_F32, 2};
    assert_weft_ok(weft_cache_create(o->engine, o->network, &c, &o->cache));
    assert_weft_ok(weft_cache_sequence_create(o->cache, &o->sequence));
    assert_weft_ok(weft_scope_create(o->engine, WEFT_SCOPE_ARENA, &o->scope));
}

static void close_model(opened *o) {
    weft_scope_release(&o->scope);
    weft_cache_release(&o->cache);
    weft_network_destroy(&o->network);
    weft_source_close(&o->source);
    weft_engine_release(&o->engine);
}

static weft_json *read_json(const char *path) {
    weft_mapping map;
    weft_json *root;
    assert_weft_ok(weft_file_map(path, &map));
    assert_weft_ok(weft_json_parse((const char *)map.data, map.size_bytes, path, &root));
    weft_file_unmap(&map);
    return root;
}

static size_t ids_of(const weft_json *list, int32_t *out) {
    size_t n = weft_json_length(list);
    assert_true(n <= MAX_TOKENS);
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)weft_json_integer(weft_json_item(list, i));
    return n;
}

static double difference(const float *logits, const weft_json *list) {
    double most = 0;
    assert_int_equal(weft_json_length(list), VOCAB);
    for (size_t i = 0; i < VOCAB; i++)
        most = fmax(most, fabs((double)logits[i] - weft_json_number(weft_json_item(list, i))));
    return most;
}

static double log_sum(const float *logits) {
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < VOCAB; i++)
        most = fmax(most, (double)logits[i]);
    for (int i = 0; i < VOCAB; i++)
        sum += exp((double)logits[i] - most);
    return most + log(sum);
}

static int32_t argmax(const float *logits) {
    int32_t best = 0;
    for (int32_t i = 1; i < VOCAB; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

static float rows[MAX_TOKENS * VOCAB];

/* Feeds tokens [from, to) in pieces of `piece` (0: uneven). */
static void feed(opened *o, const int32_t *tokens, size_t from, size_t to, size_t piece) {
    for (size_t i = from; i < to;) {
        size_t n = piece ? piece : 1 + i * 5 % 7;
        n = n < to - i ? n : to - i;
        assert_weft_ok(tiny_step(o->network, o->cache, o->scope, o->sequence, tokens + i, n,
                                 rows + i * VOCAB));
        i += n;
    }
}

static void check_prompt(opened *o, const char *name, const weft_json *prompt, size_t piece,
                         double tolerance) {
    int32_t tokens[MAX_TOKENS], greedy[MAX_TOKENS];
    const weft_json *continuation = weft_json_get(prompt, "greedy");
    size_t n = ids_of(weft_json_get(prompt, "tokens"), tokens);
    size_t n_greedy = ids_of(weft_json_get(continuation, "tokens"), greedy);
    assert_weft_ok(weft_cache_truncate(o->cache, o->sequence, 0, NULL));
    feed(o, tokens, 0, n, piece);
    for (size_t i = 0; i < n; i++) {
        double margin = weft_json_number(weft_json_item(weft_json_get(prompt, "argmax_margin"), i));
        if (margin > 2 * tolerance)
            assert_int_equal(argmax(rows + i * VOCAB),
                             weft_json_integer(weft_json_item(weft_json_get(prompt, "argmax"), i)));
        double off = log_sum(rows + i * VOCAB) -
                     weft_json_number(weft_json_item(weft_json_get(prompt, "logsumexp"), i));
        if (fabs(off) > tolerance)
            fail_msg("%s: logsumexp of position %zu is off by %g", name, i, off);
    }
    double off = difference(rows + (n - 1) * VOCAB, weft_json_get(prompt, "last_logits"));
    if (off > tolerance)
        fail_msg("%s: last_logits are off by %g", name, off);
    const float *last = rows + (n - 1) * VOCAB;
    for (size_t i = 0; i < n_greedy; i++) {
        assert_int_equal(argmax(last), greedy[i]);
        if (i + 1 == n_greedy)
            break;
        tokens[n] = greedy[i];
        feed(o, tokens, n, n + 1, 1);
        last = rows + n++ * VOCAB;
    }
    off = difference(last, weft_json_get(continuation, "final_logits"));
    if (off > tolerance)
        fail_msg("%s: final_logits are off by %g", name, off);
}

/* Compares the model at `path` with the reference of `name` in the folder `root`. */
static void check_at(const char *root, const char *name, const char *path, bool pack,
                     weft_numbers numbers, double tolerance) {
    char json[512];
    opened o;
    snprintf(json, sizeof json, "%s%s/reference.json", root, name);
    weft_json *reference = read_json(json);
    const weft_json *prompts = weft_json_get(reference, "prompts");
    open_model(&o, path, numbers, pack);
    static const size_t pieces[] = {MAX_TOKENS, 1, 0};
    for (size_t p = 0; p < weft_json_length(prompts); p++)
        for (size_t i = 0; i < 3; i++)
            check_prompt(&o, path, weft_json_item(prompts, p), pieces[i], tolerance);
    close_model(&o);
    weft_json_free(&reference);
}

static void check_path(const char *name, const char *path, bool pack, weft_numbers numbers,
                       double tolerance) {
    check_at(MODELS, name, path, pack, numbers, tolerance);
}

static void check_model(const char *name, const char *file, bool pack, weft_numbers numbers,
                        double tolerance) {
    char path[512];
    snprintf(path, sizeof path, MODELS "%s/%s", name, file);
    check_path(name, path, pack, numbers, tolerance);
}

static void test_f32_gguf(void **state) {
    (void)state;
    skip_without(MODELS "llama/reference.json");
    for (size_t i = 0; i < N_KNOWN; i++) {
        char file[64];
        if (!known[i].gguf)
            continue;
        snprintf(file, sizeof file, "%s-f32.gguf", known[i].name);
        check_model(known[i].name, file, true, WEFT_NUMBERS_DEFAULT, known[i].tolerance);
        check_model(known[i].name, file, false, WEFT_NUMBERS_REPRODUCIBLE, known[i].tolerance);
    }
}

static void test_f16_gguf(void **state) {
    (void)state;
    skip_without(MODELS "llama/reference.json");
    check_model("llama", "llama-f16.gguf", true, WEFT_NUMBERS_REPRODUCIBLE, 1e-2);
    check_model("qwen2", "qwen2-f16.gguf", false, WEFT_NUMBERS_REPRODUCIBLE, 1e-2);
    check_model("gemma3", "gemma3-f16.gguf", true, WEFT_NUMBERS_REPRODUCIBLE, 1e-2);
    /* Some CPUs multiply long prompts in bfloat16; int8 activations are off by twice as much. */
    check_model("llama", "llama-f16.gguf", true, WEFT_NUMBERS_DEFAULT, 1e-1);
    check_model("gemma3", "gemma3-f16.gguf", true, WEFT_NUMBERS_DEFAULT, 1e-1);
}

static void test_hugging_face_folders(void **state) {
    (void)state;
    skip_without(MODELS "llama/reference.json");
    for (size_t i = 0; i < N_KNOWN; i++) {
        check_model(known[i].name, "hf", true, WEFT_NUMBERS_DEFAULT, known[i].tolerance);
        check_model(known[i].name, "hf", false, WEFT_NUMBERS_FLOAT, known[i].tolerance);
    }
}

/* The older spelling of config.json, in a folder of links. */
static void test_legacy_configs(void **state) {
    (void)state;
    skip_without(MODELS "llama/reference.json");
    for (size_t i = 0; i < N_KNOWN; i++) {
        char dir[] = "/tmp/weft-legacy-XXXXXX", from[512], to[128], file[512];
        assert_non_null(mkdtemp(dir));
        snprintf(from, sizeof from, MODELS "%s/hf/config_legacy.json", known[i].name);
        snprintf(to, sizeof to, "%s/config.json", dir);
        assert_int_equal(symlink(from, to), 0);
        snprintf(from, sizeof from, MODELS "%s/hf/model.safetensors", known[i].name);
        snprintf(file, sizeof file, "%s/model.safetensors", dir);
        assert_int_equal(symlink(from, file), 0);
        check_path(known[i].name, dir, true, WEFT_NUMBERS_DEFAULT, known[i].tolerance);
        unlink(to);
        unlink(file);
        rmdir(dir);
    }
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
               {"deepseek-v2-lite", "", WEFT_NUMBERS_REPRODUCIBLE},
               {"deepseek-v2-lite", "/deepseek-v2-lite-f32.gguf", WEFT_NUMBERS_FLOAT}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        for (int pack = 0; pack < 2; pack++) {
            char path[512];
            snprintf(path, sizeof path, WEFT_TEST_DATA "/reference/%s%s", own[i].name, own[i].file);
            check_at(WEFT_TEST_DATA "/reference/", own[i].name, path, pack, own[i].numbers, 1e-4);
        }
}

/* ---- Quantised files against the logits of their own dequantised weights ---- */

static double quantised_difference(const char *type, const weft_json *expected,
                                   const weft_json *prompts, weft_numbers numbers, bool pack) {
    char path[512];
    opened o;
    double most = 0;
    snprintf(path, sizeof path, MODELS "llama-k256/quant/llama-k256-%s.gguf", type);
    open_model(&o, path, numbers, pack);
    for (size_t p = 0; p < weft_json_length(prompts); p++) {
        int32_t tokens[MAX_TOKENS];
        size_t n = ids_of(weft_json_get(weft_json_item(prompts, p), "tokens"), tokens);
        assert_weft_ok(weft_cache_truncate(o.cache, o.sequence, 0, NULL));
        feed(&o, tokens, 0, n, p ? MAX_TOKENS : 1);
        most = fmax(most, difference(rows + (n - 1) * VOCAB, weft_json_item(expected, p)));
    }
    close_model(&o);
    return most;
}

static void test_quantised_types(void **state) {
    (void)state;
    skip_without(MODELS "llama-k256/dequant.json");
    weft_json *dequant = read_json(MODELS "llama-k256/dequant.json");
    weft_json *reference = read_json(MODELS "llama-k256/reference.json");
    const weft_json *prompts = weft_json_get(reference, "prompts");
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
    weft_json_free(&reference);
    weft_json_free(&dequant);
}

/* Types that have no kernel yet are refused by name, and so are architectures. */
static void test_what_is_not_due_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *path, *named;
    } cases[] = {{MODELS "llama-k256/quant/llama-k256-Q1_0.gguf", "q1_0"},
                 {MODELS "llama-k256/quant/llama-k256-Q2_0.gguf", "q2_0"},
                 {MODELS "bert/hf", "bert"}};
    skip_without(MODELS "llama/reference.json");
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
        cmocka_unit_test(test_f32_gguf),
        cmocka_unit_test(test_f16_gguf),
        cmocka_unit_test(test_hugging_face_folders),
        cmocka_unit_test(test_legacy_configs),
        cmocka_unit_test(test_own_references),
        cmocka_unit_test(test_quantised_types),
        cmocka_unit_test(test_what_is_not_due_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
