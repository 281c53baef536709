/* Every architecture, from GGUF files and from folders: logits of transformers within the stated
 * tolerance fed whole, one by one and in uneven pieces, greedy texts equal, and the same bits in
 * all ways under reproducible numbers, after going back, in a fork, and saved and loaded. Models of
 * tests/data are everybody's; those of the shared reference are skipped where it is not there.
 * Prints a table, which make_table.py puts into docs/models.md. */
#include <unistd.h>
#include "base/engine_impl.h"
#include "base/file.h"
#include "reference.h"

/* Tolerances are those of the reference's README: the delta net amplifies rounding. */
static const struct {
    const char *name;
    bool gguf;
    double tolerance;
} shared[] = {
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
/* Of these GGUF files were made by llama.cpp's converter (tests/data/make_gguf.py), where it can.
 */
static const struct {
    const char *name;
    bool gguf;
} own[] = {{"cohere", true},
           {"cohere-norms", true},
           {"ernie4.5", true},
           {"falcon-old", true},
           {"glm4-moe", true},
           {"gpt-neox-sequential", true},
           {"gpt-oss-untruncated", false},
           {"gpt-oss-mxfp4", true},
           {"granite-moe-shared", true},
           {"llama-linear", true},
           {"olmo3", true},
           {"olmoe", true},
           {"phi3-longrope", true},
           {"stablelm-parallel", true},
           {"mamba", true},
           {"lfm2", true},
           {"qwen3.5-moe", true},
           {"deepseek-v2-lite", true},
           {"lfm2-moe", true},
           {"granite-hybrid", true},
           {"exaone4", true},
           {"exaone-moe", true},
           {"hunyuan-dense", true},
           {"hunyuan-moe", true},
           {"ernie4.5-moe", true},
           {"minimax-m2", true},
           {"seed-oss", true},
           {"dots1", true},
           {"nemotron", true},
           {"arcee", true},
           {"olmo", true},
           {"mellum", true},
           {"afmoe", true},
           {"bloom", true},
           {"bloom-uneven", true},
           {"mpt", true},
           {"ministral3", true},
           {"ministral", false},
           {"qwen3-moe-mixed", false},
           {"stablelm-norms", false},
           {"gemma4", false},
           {"gemma4-plain", false},
           {"gemma4-moe", false},
           {"falcon-alibi", false},
           {"solar-open", true},
           {"phi2-norms", false}};
/* Folders of 8-bit floats with scales: the reference has their values in float32, weft in f16. */
static const struct {
    const char *name;
    double tolerance;
} scaled[] = {{"llama-f8-plain", 1e-4},
              {"llama-f8-block", 5e-3},
              {"phi3-f8-tensor", 5e-3},
              {"qwen3-f8-channel", 5e-3},
              {"deepseek-v3-f8", 2e-2}};
#define N_SHARED (sizeof shared / sizeof *shared)
#define N_OWN (sizeof own / sizeof *own)

/* ---- The same bits in every way ---- */

static float whole[MAX_TOKENS * MAX_VOCAB];

static void assert_same_rows(const reference *r, const char *path, const char *way, size_t from,
                             size_t n) {
    if (memcmp(r->rows + from * r->n_vocab, whole + from * r->n_vocab,
               (n - from) * r->n_vocab * sizeof *whole) != 0)
        fail_msg("%s: other bits %s", path, way);
}

static void restart(reference *r) {
    assert_weft_ok(weft_cache_truncate(r->cache, r->sequence, 0, NULL));
    memset(r->rows, 0, sizeof r->rows);
}

static void go_back_and_on(reference *r, const char *path, const int32_t *tokens, size_t n) {
    int32_t from;
    restart(r);
    feed(r, tokens, 0, n, n, MAX_TOKENS);
    assert_weft_ok(weft_cache_truncate(r->cache, r->sequence, (int32_t)n / 2, &from));
    feed(r, tokens, (size_t)from, n, n, 3);
    assert_same_rows(r, path, "after going back", n / 2, n);
}

static void fork_and_go_on(reference *r, const char *path, const int32_t *tokens, size_t n) {
    int32_t first = r->sequence;
    restart(r);
    feed(r, tokens, 0, n / 2, n, MAX_TOKENS);
    assert_weft_ok(weft_cache_sequence_fork(r->cache, first, &r->sequence));
    feed(r, tokens, n / 2, n, n, 5);
    assert_same_rows(r, path, "in a fork", 0, n);
    weft_cache_sequence_free(r->cache, r->sequence);
    r->sequence = first;
    feed(r, tokens, n / 2, n, n, 1);
    assert_same_rows(r, path, "beside a fork", 0, n);
}

static void save_and_load(reference *r, const char *path, const int32_t *tokens, size_t n) {
    char file[] = "/tmp/weft-saved-XXXXXX";
    weft_writer *writer;
    weft_mapping map;
    int32_t first = r->sequence;
    close(mkstemp(file));
    restart(r);
    feed(r, tokens, 0, n / 2, n, MAX_TOKENS);
    assert_weft_ok(weft_writer_open(&r->engine->allocator, file, &writer));
    assert_weft_ok(weft_cache_save(r->cache, first, writer));
    assert_weft_ok(weft_writer_commit(&writer));
    assert_weft_ok(weft_cache_sequence_create(r->cache, &r->sequence));
    assert_weft_ok(weft_file_map(file, &map));
    assert_weft_ok(weft_cache_load(r->cache, r->sequence, map.data, map.size_bytes));
    weft_file_unmap(&map);
    unlink(file);
    feed(r, tokens, n / 2, n, n, 4);
    assert_same_rows(r, path, "saved and loaded", n / 2, n);
    weft_cache_sequence_free(r->cache, r->sequence);
    r->sequence = first;
}

/* Rows whose output is wanted have the bits that they have among all. */
static void want_some(reference *r, const char *path, const int32_t *tokens, size_t n) {
    static float some[MAX_TOKENS * MAX_VOCAB];
    int32_t sequences[MAX_TOKENS];
    bool wants[MAX_TOKENS];
    size_t n_wanted = 0;
    weft_tensor *out;
    for (size_t i = 0; i < n; i++) {
        sequences[i] = r->sequence;
        wants[i] = i % 5 == 2 || i == n - 1;
        if (wants[i])
            memcpy(r->rows + n_wanted++ * r->n_vocab, whole + i * r->n_vocab,
                   r->n_vocab * sizeof *whole);
    }
    assert_weft_ok(weft_cache_truncate(r->cache, r->sequence, 0, NULL));
    assert_weft_ok(weft_scope_reset(r->scope));
    assert_weft_ok(weft_forward(
        r->network, r->cache, r->scope,
        &(weft_step){.tokens = tokens, .sequences = sequences, .wants_logits = wants, .n = n}, NULL,
        &out));
    assert_weft_ok(weft_tensor_read(out, some, n_wanted * r->n_vocab * sizeof *some));
    if (memcmp(some, r->rows, n_wanted * r->n_vocab * sizeof *some) != 0)
        fail_msg("%s: other bits where only some rows are wanted", path);
    /* None: what the step leaves in the cache is what the next one sees. */
    memset(wants, 0, sizeof wants);
    restart(r);
    assert_weft_ok(weft_scope_reset(r->scope));
    assert_weft_ok(weft_forward(
        r->network, r->cache, r->scope,
        &(weft_step){.tokens = tokens, .sequences = sequences, .wants_logits = wants, .n = n - 3},
        NULL, &out));
    assert_null(out);
    feed(r, tokens, n - 3, n, n, 1);
    assert_same_rows(r, path, "after a step without outputs", n - 3, n);
}

static void check_bits(const char *path, const char *json, bool pack) {
    int32_t tokens[MAX_TOKENS];
    weft_json *root = read_json(json);
    const weft_json *prompt = weft_json_item(weft_json_get(root, "prompts"), 1);
    size_t n = ids_of(weft_json_get(prompt, "tokens"), tokens);
    reference *r = open_reference(path, WEFT_NUMBERS_REPRODUCIBLE, pack);
    feed(r, tokens, 0, n, n, MAX_TOKENS);
    memcpy(whole, r->rows, sizeof whole);
    for (size_t piece = 0; piece < 2; piece++) {
        restart(r);
        feed(r, tokens, 0, n, n, piece);
        assert_same_rows(r, path, piece ? "one by one" : "in uneven pieces", 0, n);
    }
    want_some(r, path, tokens, n);
    go_back_and_on(r, path, tokens, n);
    fork_and_go_on(r, path, tokens, n);
    save_and_load(r, path, tokens, n);
    close_reference(&r);
    weft_json_free(&root);
}

/* ---- The list ---- */

/* Quantised weights meet int8 activations but under float numbers. */
static void check_form(const char *set, const char *name, const char *form, const char *path,
                       const char *json, double tolerance) {
    weft_numbers numbers = strstr(name, "mxfp4") ? WEFT_NUMBERS_FLOAT : WEFT_NUMBERS_REPRODUCIBLE;
    double most = check_model(path, json, true, numbers, tolerance);
    check_model(path, json, false, WEFT_NUMBERS_FLOAT, tolerance);
    check_bits(path, json, true);
    print_message("| %s | %s | %s | %.1e | equal |\n", set, name, form, most);
}

/* Names on the command line choose models: none, all. */
static char **chosen;

static bool is_chosen(const char *name) {
    for (char **c = chosen; *c; c++)
        if (!strcmp(*c, name))
            return true;
    return !*chosen;
}

static void test_shared_models(void **state) {
    (void)state;
    skip_without(SHARED_MODELS "llama/reference.json");
    for (size_t i = 0; i < N_SHARED; i++) {
        char json[512], path[512];
        const char *name = shared[i].name;
        if (!is_chosen(name))
            continue;
        snprintf(json, sizeof json, SHARED_MODELS "%s/reference.json", name);
        snprintf(path, sizeof path, SHARED_MODELS "%s/%s-f32.gguf", name, name);
        if (shared[i].gguf)
            check_form("reference", name, "GGUF", path, json, shared[i].tolerance);
        snprintf(path, sizeof path, SHARED_MODELS "%s/hf", name);
        check_form("reference", name, "folder", path, json, shared[i].tolerance);
    }
}

static void test_own_models(void **state) {
    (void)state;
    for (size_t i = 0; i < N_OWN; i++) {
        char json[512], path[512];
        const char *name = own[i].name;
        if (!is_chosen(name))
            continue;
        snprintf(json, sizeof json, OWN_MODELS "%s/reference.json", name);
        snprintf(path, sizeof path, OWN_MODELS "%s/%s.gguf", name, name);
        if (own[i].gguf)
            check_form("own", name, "GGUF", path, json, 1e-4);
        snprintf(path, sizeof path, OWN_MODELS "%s", name);
        check_form("own", name, "folder", path, json, 1e-4);
    }
}

/* Steps of default numbers: exact where the weights are float32. */
static void test_default_numbers(void **state) {
    (void)state;
    skip_without(SHARED_MODELS "llama/reference.json");
    for (size_t i = 0; i < N_SHARED; i++) {
        char json[512], path[512];
        snprintf(json, sizeof json, SHARED_MODELS "%s/reference.json", shared[i].name);
        snprintf(path, sizeof path, SHARED_MODELS "%s/hf", shared[i].name);
        check_model(path, json, true, WEFT_NUMBERS_DEFAULT, shared[i].tolerance);
    }
}

/* The older spelling of config.json, in a folder of links. */
static void test_legacy_configs(void **state) {
    (void)state;
    skip_without(SHARED_MODELS "llama/reference.json");
    for (size_t i = 0; i < N_SHARED; i++) {
        char dir[] = "/tmp/weft-legacy-XXXXXX", from[512], to[128], file[512], json[512];
        assert_non_null(mkdtemp(dir));
        snprintf(json, sizeof json, SHARED_MODELS "%s/reference.json", shared[i].name);
        snprintf(from, sizeof from, SHARED_MODELS "%s/hf/config_legacy.json", shared[i].name);
        snprintf(to, sizeof to, "%s/config.json", dir);
        assert_int_equal(symlink(from, to), 0);
        snprintf(from, sizeof from, SHARED_MODELS "%s/hf/model.safetensors", shared[i].name);
        snprintf(file, sizeof file, "%s/model.safetensors", dir);
        assert_int_equal(symlink(from, file), 0);
        check_model(dir, json, true, WEFT_NUMBERS_REPRODUCIBLE, shared[i].tolerance);
        unlink(to);
        unlink(file);
        rmdir(dir);
    }
}

static void test_models_of_8_bit_floats(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        char path[512], json[512];
        const char *name = scaled[i].name;
        snprintf(path, sizeof path, OWN_MODELS "%s", name);
        snprintf(json, sizeof json, OWN_MODELS "%s/reference.json", name);
        check_form("own", name, "folder", path, json, scaled[i].tolerance);
    }
}

/* ---- Memory ---- */

/* Opening, one step of three rows and closing, with `fail_in` as in tiny.h; what the step gave. */
static weft_status open_and_step(const char *path, counter *count, long fail_in, bool pack) {
    static const int32_t tokens[3] = {5, 6, 7}, sequences[3] = {0};
    weft_engine *engine = tiny_engine(count, WEFT_NUMBERS_DEFAULT, 1);
    weft_source source = {0};
    weft_network *network = NULL;
    weft_cache *cache = NULL;
    weft_scope *scope = NULL;
    weft_tensor *logits = NULL;
    int32_t sequence;
    count->fail_in = fail_in;
    weft_status st = weft_source_open(engine, path, false, NULL, NULL, &source);
    weft_network_options o = {.hugging_face = true, .pack = pack};
    if (!st)
        st = weft_network_create(engine, source.metadata, source.weights, &o, &network);
    if (!st)
        st = weft_cache_create(engine, network, &(weft_cache_options){64, WEFT_F16, 1}, &cache);
    if (!st)
        st = weft_cache_sequence_create(cache, &sequence);
    if (!st)
        st = weft_scope_create(engine, WEFT_SCOPE_ARENA, &scope);
    weft_step step = {tokens, sequences, NULL, 3, false};
    if (!st)
        st = weft_forward(network, cache, scope, &step, NULL, &logits);
    count->fail_in = -1;
    weft_scope_release(&scope);
    weft_cache_release(&cache);
    weft_network_destroy(&network);
    weft_source_close(&source);
    weft_engine_release(&engine);
    return st;
}

/* Fused, transposed, stacked and converted weights: every allocation may fail, nothing is lost. */
static void test_every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const names[] = {
        "falcon-old",     "gpt-oss-mxfp4", "gpt-oss-untruncated", "granite-moe-shared",
        "phi3-longrope",  "gemma4",        "gemma4-moe",          "stablelm-norms",
        "deepseek-v3-f8", "deepseek-v3-f8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, OWN_MODELS "%s", names[i]);
        weft_status st = WEFT_E_MEMORY;
        for (long at = 0; st; at += at < 40 ? 1 : 7) {
            counter count;
            st = open_and_step(path, &count, at, i % 2);
            if (st && st != WEFT_E_MEMORY)
                fail_msg("%s: allocation %ld: %s", names[i], at, weft_status_name(st));
            assert_int_equal(count.n_live, 0);
            assert_int_equal(count.live_bytes, 0);
            assert_true(at < 100000);
        }
    }
}

/* Once warm, a decode step of a mixture takes no memory. */
static void test_steady_steps_take_no_memory(void **state) {
    (void)state;
    static const char *const names[] = {"glm4-moe", "gpt-oss-mxfp4", "phi3-longrope",
                                        "cohere",   "gemma4",        "gemma4-moe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        counter count;
        weft_source source;
        weft_network *network;
        weft_cache *cache;
        weft_scope *scope;
        int32_t sequence;
        float logits[MAX_VOCAB];
        snprintf(path, sizeof path, OWN_MODELS "%s", names[i]);
        weft_engine *engine = tiny_engine(&count, WEFT_NUMBERS_DEFAULT, 2);
        assert_weft_ok(weft_source_open(engine, path, false, NULL, NULL, &source));
        weft_network_options o = {.hugging_face = true, .pack = true};
        assert_weft_ok(weft_network_create(engine, source.metadata, source.weights, &o, &network));
        assert_weft_ok(
            weft_cache_create(engine, network, &(weft_cache_options){64, WEFT_F16, 1}, &cache));
        assert_weft_ok(weft_cache_sequence_create(cache, &sequence));
        assert_weft_ok(weft_scope_create(engine, WEFT_SCOPE_ARENA, &scope));
        for (int32_t t = 0; t < 12; t++) {
            long before = count.n_calls, token = t % 50 + 5;
            int32_t id = (int32_t)token;
            assert_weft_ok(tiny_step(network, cache, scope, sequence, &id, 1, logits));
            if (t > 4)
                assert_int_equal(count.n_calls, before);
        }
        weft_scope_release(&scope);
        weft_cache_release(&cache);
        weft_network_destroy(&network);
        weft_source_close(&source);
        weft_engine_release(&engine);
    }
}

int main(int argc, char **argv) {
    chosen = argv + 1;
    if (argc > 1)
        cmocka_set_test_filter("test_*_models");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_steady_steps_take_no_memory),
        cmocka_unit_test(test_own_models),
        cmocka_unit_test(test_models_of_8_bit_floats),
        cmocka_unit_test(test_shared_models),
        cmocka_unit_test(test_default_numbers),
        cmocka_unit_test(test_legacy_configs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
