/* Adapters: beside the weights and merged they give the same logits, several add up, and what does
 * not fit is refused by name. */
#include "fixture.h"
#include <math.h>
#include "base/alloc.h"
#include "loader/gguf_write.h"
#include <weft/extra/quantize.h>

enum { N_EMBD = 64, N_FF = 96, RANK = 3, N_IDS = 9 };

static const int32_t ids[N_IDS] = {65, 66, 270, 10, 32, 33, 90, 257, 100};

typedef struct adapter_file {
    weft_gguf_item items[4];
    float scale;      /* of the numbers */
    const char *type; /* adapter.type */
    bool no_alpha;
} adapter_file;

static void put(weft_metadata *m, const char *key, weft_value v) {
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}

/* Adapters of blk.1's q and down by default; alpha is twice the rank. */
static void write_adapter(const char *path, const adapter_file *file) {
    weft_allocator a = weft_allocator_system();
    weft_metadata *m = weft_metadata_create(&a);
    weft_value adapter = {.type = WEFT_VALUE_STRING, .as.s = {"adapter", 7}};
    weft_value type = {.type = WEFT_VALUE_STRING, .as.s = {file->type, strlen(file->type)}};
    put(m, "general.type", adapter);
    put(m, "adapter.type", type);
    if (!file->no_alpha)
        put(m, "adapter.lora.alpha", (weft_value){.type = WEFT_VALUE_F32, .as.f = 2 * RANK});
    weft_gguf_out *out;
    assert_weft_ok(weft_gguf_create(&a, path, m, file->items, 4, &out));
    unsigned seed = 7;
    for (int i = 0; i < 4; i++)
        for (int64_t k = 0; k < file->items[i].dims[0] * file->items[i].dims[1]; k++) {
            seed = seed * 1664525u + 1013904223u;
            float x = file->scale * ((float)(seed >> 16 & 1023) / 512 - 1);
            assert_weft_ok(weft_gguf_put(out, &x, sizeof x));
        }
    assert_weft_ok(weft_gguf_commit(&out));
    weft_metadata_destroy(m);
}

static adapter_file usual(int64_t n_ff) {
    adapter_file f = {.scale = 0.4f, .type = "lora"};
    f.items[0] = (weft_gguf_item){"blk.1.attn_q.weight.lora_a", WEFT_F32, 2, {RANK, N_EMBD}, 0};
    f.items[1] = (weft_gguf_item){"blk.1.attn_q.weight.lora_b", WEFT_F32, 2, {N_EMBD, RANK}, 0};
    f.items[2] = (weft_gguf_item){"blk.1.ffn_down.weight.lora_a", WEFT_F32, 2, {RANK, n_ff}, 0};
    f.items[3] = (weft_gguf_item){"blk.1.ffn_down.weight.lora_b", WEFT_F32, 2, {N_EMBD, RANK}, 0};
    return f;
}

typedef struct world {
    fixture f;
    char model[64], adapter[64], merged[64];
    int64_t n_ff;
} world;

static void temporary(char path[64]) {
    strcpy(path, "/tmp/weft-adapter-XXXXXX");
    close(mkstemp(path));
}

static int open_world(void **state) {
    world *w = calloc(1, sizeof *w);
    assert_true(tiny_model_temporary(w->model, NULL));
    temporary(w->adapter);
    temporary(w->merged);
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 2;
    options.numbers = WEFT_NUMBERS_FLOAT;
    assert_weft_ok(weft_engine_create(&options, &w->f.engine));
    assert_weft_ok(weft_model_open(w->f.engine, w->model, NULL, &w->f.model));
    assert_int_equal(weft_model_get_info(w->f.model).n_embd, N_EMBD);
    w->n_ff = N_FF;
    adapter_file file = usual(w->n_ff);
    write_adapter(w->adapter, &file);
    *state = w;
    return 0;
}

static int close_world(void **state) {
    world *w = *state;
    fixture_close(&w->f);
    unlink(w->model);
    unlink(w->adapter);
    unlink(w->merged);
    free(w);
    return 0;
}

/* Logits after all ids through adapters [n]; freed with free(). */
static float *logits_of(const fixture *f, const weft_adapter_use *uses, size_t n) {
    weft_session *s = session_open(f, 32, 4);
    size_t bytes = (size_t)weft_model_get_info(f->model).n_vocab * sizeof(float);
    float *out = malloc(bytes);
    assert_weft_ok(weft_session_set_adapters(s, uses, n));
    assert_weft_ok(weft_session_eval(s, ids, N_IDS));
    memcpy(out, weft_session_logits(s), bytes);
    weft_session_release(&s);
    return out;
}

static double furthest(const float *a, const float *b) {
    double most = 0;
    for (int i = 0; i < TINY_N_VOCAB; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static void merged_and_beside_are_the_same(void **state) {
    world *w = *state;
    weft_adapter *ad;
    assert_weft_ok(weft_adapter_open(w->f.model, w->adapter, &ad));
    assert_int_equal(weft_adapter_n_matrices(ad), 2);
    weft_adapter_use use = {ad, 0.75f};
    float *plain = logits_of(&w->f, NULL, 0), *beside = logits_of(&w->f, &use, 1);
    assert_true(furthest(plain, beside) > 0.05);

    weft_lora_file file = {w->adapter, 0.75f};
    weft_quantize_options options = {.mix = "", .keep_types = true, .loras = &file, .n_loras = 1};
    assert_weft_ok(weft_quantize(w->f.engine, w->model, w->merged, &options, NULL));
    fixture merged = {.engine = w->f.engine};
    assert_weft_ok(weft_model_open(w->f.engine, w->merged, NULL, &merged.model));
    float *inside = logits_of(&merged, NULL, 0);
    assert_true(furthest(inside, beside) < 2e-5);
    weft_model_release(&merged.model);

    /* Halves add up, and a scale of 0 is no adapter. */
    weft_adapter_use halves[] = {{ad, 0.5f}, {ad, 0.25f}}, none = {ad, 0};
    float *summed = logits_of(&w->f, halves, 2), *nothing = logits_of(&w->f, &none, 1);
    assert_true(furthest(summed, beside) < 2e-5);
    assert_true(furthest(nothing, plain) == 0);
    weft_adapter_release(&ad);
    free(plain);
    free(beside);
    free(inside);
    free(summed);
    free(nothing);
}

/* Vectors of texts through an adapter are those of the model that has it merged. */
static void embedding_goes_through_adapters(void **state) {
    world *w = *state;
    weft_adapter *ad;
    float plain[N_EMBD], beside[N_EMBD], inside[N_EMBD];
    weft_embed_text text = {ids, N_IDS};
    weft_embed_options o = weft_embed_options_default();
    assert_weft_ok(weft_adapter_open(w->f.model, w->adapter, &ad));
    weft_adapter_use use = {ad, 0.75f};
    assert_weft_ok(weft_embed(w->f.model, &text, 1, &o, plain));
    o.adapters = &use;
    o.n_adapters = 1;
    assert_weft_ok(weft_embed(w->f.model, &text, 1, &o, beside));

    weft_lora_file file = {w->adapter, 0.75f};
    weft_quantize_options q = {.mix = "", .keep_types = true, .loras = &file, .n_loras = 1};
    weft_model *merged;
    assert_weft_ok(weft_quantize(w->f.engine, w->model, w->merged, &q, NULL));
    assert_weft_ok(weft_model_open(w->f.engine, w->merged, NULL, &merged));
    assert_weft_fails(weft_embed(merged, &text, 1, &o, inside), WEFT_E_ARGUMENT); /* of another */
    o.n_adapters = 0;
    assert_weft_ok(weft_embed(merged, &text, 1, &o, inside));
    double moved = 0, apart = 0;
    for (int i = 0; i < N_EMBD; i++) {
        moved = fmax(moved, fabs((double)plain[i] - (double)beside[i]));
        apart = fmax(apart, fabs((double)inside[i] - (double)beside[i]));
    }
    assert_true(moved > 1e-2);
    assert_true(apart < 1e-5);
    weft_model_release(&merged);
    weft_adapter_release(&ad);
}

static void sessions_keep_their_own(void **state) {
    world *w = *state;
    char path[64];
    weft_adapter *ad;
    assert_weft_ok(weft_adapter_open(w->f.model, w->adapter, &ad));
    weft_adapter_use use = {ad, 1};
    weft_session_options options = weft_session_options_default();
    options.n_context = 32;
    options.n_sequences = 2;
    weft_session *s, *fork, *other;
    assert_weft_ok(weft_session_create(w->f.model, &options, &s));
    assert_weft_ok(weft_session_set_adapters(s, &use, 1));
    weft_adapter_release(&ad); /* the session has its own reference */
    assert_weft_ok(weft_session_eval(s, ids, N_IDS - 1));
    assert_weft_fails(weft_session_set_adapters(s, NULL, 0), WEFT_E_ARGUMENT);

    assert_weft_ok(weft_session_fork(s, &fork));
    assert_weft_ok(weft_session_eval(s, ids + N_IDS - 1, 1));
    assert_weft_ok(weft_session_eval(fork, ids + N_IDS - 1, 1));
    same_bits(weft_session_logits(s), weft_session_logits(fork), TINY_N_VOCAB);

    /* What went through an adapter is not loaded where there is none. */
    temporary(path);
    assert_weft_ok(weft_session_save(s, path));
    assert_weft_ok(weft_session_create(w->f.model, &options, &other));
    assert_weft_fails(weft_session_load(other, path), WEFT_E_FORMAT);
    unlink(path);
    weft_session_release(&other);
    weft_session_release(&fork);
    weft_session_release(&s);
}

static void what_does_not_fit_is_named(void **state) {
    world *w = *state;
    weft_adapter *ad = NULL;
    adapter_file file = usual(w->n_ff);
    file.items[0].dims[1] = 32;
    write_adapter(w->adapter, &file);
    assert_weft_fails(weft_adapter_open(w->f.model, w->adapter, &ad), WEFT_E_SHAPE);
    assert_detail_has("blk.1.attn_q.weight");
    file = usual(w->n_ff);
    file.items[3].dims[1] = RANK + 1;
    write_adapter(w->adapter, &file);
    assert_weft_fails(weft_adapter_open(w->f.model, w->adapter, &ad), WEFT_E_SHAPE);
    assert_detail_has("blk.1.ffn_down.weight");
    file = usual(w->n_ff);
    file.items[2].name = "blk.7.ffn_down.weight.lora_a";
    file.items[3].name = "blk.7.ffn_down.weight.lora_b";
    write_adapter(w->adapter, &file);
    assert_weft_fails(weft_adapter_open(w->f.model, w->adapter, &ad), WEFT_E_UNSUPPORTED);
    assert_detail_has("blk.7.ffn_down.weight.lora_a");
    file = usual(w->n_ff);
    file.items[3].name = "blk.0.ffn_down.weight.lora_b";
    write_adapter(w->adapter, &file);
    assert_weft_fails(weft_adapter_open(w->f.model, w->adapter, &ad), WEFT_E_FORMAT);
    file = usual(w->n_ff);
    file.type = "other";
    write_adapter(w->adapter, &file);
    assert_weft_fails(weft_adapter_open(w->f.model, w->adapter, &ad), WEFT_E_FORMAT);
    file = usual(w->n_ff);
    file.no_alpha = true;
    write_adapter(w->adapter, &file);
    assert_weft_fails(weft_adapter_open(w->f.model, w->adapter, &ad), WEFT_E_FORMAT);
    assert_detail_has("adapter.lora.alpha");
    assert_weft_fails(weft_adapter_open(w->f.model, w->model, &ad), WEFT_E_FORMAT);
    assert_weft_fails(weft_adapter_open(w->f.model, "/tmp/none.gguf", &ad), WEFT_E_NOT_FOUND);
    assert_null(ad);
}

/* A PEFT folder for a model from a GGUF file; what it asks for beyond plain LoRA is refused. */
static void folders_are_read(void **state) {
    world *w = *state;
    char folder[] = "/tmp/weft-peft-XXXXXX", path[128], header[512];
    float a[N_EMBD], b[N_EMBD]; /* rank 1 */
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < N_EMBD; i++) {
        a[i] = 0.1f * (float)(i % 5 - 2);
        b[i] = 0.2f * (float)(i % 7 - 3);
    }
    snprintf(path, sizeof path, "%s/adapter_config.json", folder);
    FILE *f = fopen(path, "w");
    fputs("{\"peft_type\": \"LORA\", \"r\": 1, \"lora_alpha\": 4, \"bias\": \"none\", "
          "\"rank_pattern\": {}, \"target_modules\": [\"v_proj\"]}",
          f);
    fclose(f);
    int n = snprintf(header, sizeof header,
                     "{\"base_model.model.model.layers.0.self_attn.o_proj.lora_A.weight\": "
                     "{\"dtype\": \"F32\", \"shape\": [1, 64], \"data_offsets\": [0, 256]}, "
                     "\"base_model.model.model.layers.0.self_attn.o_proj.lora_B.weight\": "
                     "{\"dtype\": \"F32\", \"shape\": [64, 1], \"data_offsets\": [256, 512]}}");
    uint64_t length = (uint64_t)n;
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", folder);
    f = fopen(path, "wb");
    fwrite(&length, 8, 1, f);
    fwrite(header, 1, length, f);
    fwrite(a, sizeof a, 1, f);
    fwrite(b, sizeof b, 1, f);
    fclose(f);
    weft_adapter *ad;
    assert_weft_ok(weft_adapter_open(w->f.model, folder, &ad));
    assert_int_equal(weft_adapter_n_matrices(ad), 1);
    weft_adapter_use use = {ad, 1};
    float *plain = logits_of(&w->f, NULL, 0), *beside = logits_of(&w->f, &use, 1);
    assert_true(furthest(plain, beside) > 0.01);
    weft_adapter_release(&ad);

    snprintf(path, sizeof path, "%s/adapter_config.json", folder);
    f = fopen(path, "w");
    fputs("{\"peft_type\": \"LORA\", \"lora_alpha\": 4, \"use_dora\": true}", f);
    fclose(f);
    assert_weft_fails(weft_adapter_open(w->f.model, folder, &ad), WEFT_E_UNSUPPORTED);
    assert_detail_has("use_dora");
    unlink(path);
    assert_weft_fails(weft_adapter_open(w->f.model, folder, &ad), WEFT_E_NOT_FOUND);
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", folder);
    unlink(path);
    rmdir(folder);
    free(plain);
    free(beside);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(merged_and_beside_are_the_same, open_world, close_world),
        cmocka_unit_test_setup_teardown(embedding_goes_through_adapters, open_world, close_world),
        cmocka_unit_test_setup_teardown(sessions_keep_their_own, open_world, close_world),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_named, open_world, close_world),
        cmocka_unit_test_setup_teardown(folders_are_read, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
