/* Embeddings: encoders give what transformers calculates, from folders and from GGUF files; a
 * text's vector has the same bits whatever is embedded beside it; decoders give their last hidden
 * states; pooling is what the files say; what cannot be embedded is refused. */
#include <math.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/floats.h"
#include "base/json.h"
#include "loader/loader.h"
#include "tensor/weights.h"
#include "test.h"
#include <weft/extra/write.h>
#include <weft/weft.h>

#define OWN WEFT_TEST_DATA "/reference/"
#define SHARED WEFT_SHARED_DIR "/reference/models/"

enum { MOST_TOKENS = 64, MOST_EMBD = 64, MOST_ROWS = 256 };

typedef struct opened {
    weft_engine *engine;
    weft_model *model;
    size_t n_embd;
} opened;

static opened open_model(const char *path, weft_numbers numbers, int n_threads) {
    opened o = {0};
    weft_engine_options engine = weft_engine_options_default();
    engine.n_threads = n_threads;
    engine.numbers = numbers;
    assert_weft_ok(weft_engine_create(&engine, &o.engine));
    weft_model_options options = weft_model_options_default();
    options.without_tokenizer = true;
    assert_weft_ok(weft_model_open(o.engine, path, &options, &o.model));
    o.n_embd = (size_t)weft_model_get_info(o.model).n_embd;
    assert_in_range(o.n_embd, 1, MOST_EMBD);
    return o;
}

static void close_model(opened *o) {
    weft_model_release(&o->model);
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
    assert_in_range(n, 1, MOST_TOKENS);
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)weft_json_integer(weft_json_item(list, i));
    return n;
}

/* ---- References ---- */

/* Gives the largest error. */
static double check_vector(const char *path, const char *what, const float *x,
                           const weft_json *want, double tolerance) {
    double most = 0;
    for (size_t i = 0; i < weft_json_length(want); i++) {
        double off = fabs((double)x[i] - weft_json_number(weft_json_item(want, i)));
        if (!(off <= tolerance))
            fail_msg("%s: %s: element %zu is off by %g", path, what, i, off);
        most = fmax(most, off);
    }
    return most;
}

/* Every pooling of both prompts together, and the length of each token's hidden state. */
static void check_model(const char *path, const char *reference, weft_numbers numbers,
                        double tolerance) {
    static const struct {
        const char *name;
        weft_pooling pooling;
    } ways[] = {
        {"mean", WEFT_POOLING_MEAN}, {"cls", WEFT_POOLING_CLS}, {"last", WEFT_POOLING_LAST}};
    int32_t ids[2][MOST_TOKENS];
    float out[2 * MOST_TOKENS * MOST_EMBD];
    weft_embed_text texts[2];
    opened o = open_model(path, numbers, 2);
    weft_json *root = read_json(reference);
    const weft_json *prompts = weft_json_get(root, "prompts");
    weft_embed_options how = weft_embed_options_default();
    double most = 0;
    how.normalize = false;
    for (size_t p = 0; p < 2; p++)
        texts[p] = (weft_embed_text){
            ids[p], ids_of(weft_json_get(weft_json_item(prompts, p), "tokens"), ids[p])};
    for (size_t w = 0; w < 3; w++) {
        how.pooling = ways[w].pooling;
        assert_weft_ok(weft_embed(o.model, texts, 2, &how, out));
        for (size_t p = 0; p < 2; p++) {
            const weft_json *want = weft_json_get(weft_json_item(prompts, p), ways[w].name);
            assert_int_equal(weft_json_length(want), o.n_embd);
            double off = check_vector(path, ways[w].name, out + p * o.n_embd, want, tolerance);
            most = fmax(most, off);
        }
    }
    how.pooling = WEFT_POOLING_NONE;
    assert_int_equal(weft_embed_rows(texts, 2, how.pooling), texts[0].n + texts[1].n);
    assert_weft_ok(weft_embed(o.model, texts, 2, &how, out));
    const float *row = out;
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; i < texts[p].n; i++, row += o.n_embd) {
            const weft_json *norms = weft_json_get(weft_json_item(prompts, p), "hidden_norms");
            double square = 0;
            for (size_t k = 0; k < o.n_embd; k++)
                square += (double)row[k] * (double)row[k];
            assert_true(fabs(sqrt(square) - weft_json_number(weft_json_item(norms, i))) <=
                        8 * tolerance);
        }
    print_message("%s: numbers %d: largest error %.1e\n", path, (int)numbers, most);
    weft_json_free(&root);
    close_model(&o);
}

/* A step of 32 tokens and more may be calculated in bfloat16 by default. */
static void check_numbers(const char *path, const char *reference) {
    check_model(path, reference, WEFT_NUMBERS_REPRODUCIBLE, 1e-5);
    check_model(path, reference, WEFT_NUMBERS_FLOAT, 1e-5);
    check_model(path, reference, WEFT_NUMBERS_DEFAULT, 5e-2);
}

static void test_shared_bert(void **state) {
    (void)state;
    skip_without(SHARED "bert/reference.json");
    check_numbers(SHARED "bert/hf", SHARED "bert/reference.json");
    check_numbers(SHARED "bert/bert-f32.gguf", SHARED "bert/reference.json");
}

static void link_into(const char *dir, const char *name, const char *from) {
    char to[256];
    snprintf(to, sizeof to, "%s/%s", dir, name);
    assert_int_equal(symlink(from, to), 0);
}

static void write_bytes(const char *dir, const char *name, const char *bytes, size_t n) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A folder of links to a model of tests/data, for changes; removed by `remove_folder`. */
static void make_folder(char dir[32], const char *model) {
    static const char *const files[] = {"config.json", "model.safetensors"};
    char from[512];
    strcpy(dir, "/tmp/weft-embed-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < 2; i++) {
        snprintf(from, sizeof from, OWN "%s/%s", model, files[i]);
        link_into(dir, files[i], from);
    }
}

static void remove_folder(const char *dir) {
    static const char *const files[] = {"config.json",  "model.safetensors",     "tokenizer.json",
                                        "modules.json", "1_Pooling/config.json", "model.gguf"};
    char path[256];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/1_Pooling", dir);
    rmdir(path);
    assert_int_equal(rmdir(dir), 0);
}

/* The folder as a GGUF file of a type, with some tokeniser: neither asks the other. */
static void check_converted(const char *model, const char *tokenizer, const char *reference,
                            const char *type, double tolerance) {
    char dir[32], path[256], from[512];
    weft_engine *engine;
    make_folder(dir, model);
    snprintf(from, sizeof from, WEFT_TEST_DATA "/tokenizers/%s", tokenizer);
    link_into(dir, "tokenizer.json", from);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    weft_convert_options options = {.type = type};
    assert_weft_ok(weft_engine_create(NULL, &engine));
    assert_weft_ok(weft_convert_folder(engine, dir, path, &options));
    weft_engine_release(&engine);
    check_model(path, reference, WEFT_NUMBERS_REPRODUCIBLE, tolerance);
    remove_folder(dir);
}

static void test_own_models(void **state) {
    (void)state;
    check_numbers(OWN "roberta", OWN "roberta/reference.json");
    check_numbers(OWN "nomic-bert", OWN "nomic-bert/reference.json");
    check_numbers(OWN "modernbert", OWN "modernbert/reference.json");
    check_converted("roberta", "wordpiece-cased.json", OWN "roberta/reference.json", NULL, 1e-5);
    check_converted("roberta", "wordpiece-cased.json", OWN "roberta/reference.json", "Q8_0", 1e-1);
    check_converted("nomic-bert", "wordpiece-uncased.json", OWN "nomic-bert/reference.json", NULL,
                    1e-5);
    check_converted("modernbert", "wordpiece-cased.json", OWN "modernbert/reference.json", NULL,
                    1e-5);
}

/* ---- Bits ---- */

/* Texts of 1, 3, 40, 64, 12 and 33 tokens. */
static size_t make_texts(int32_t *ids, weft_embed_text *texts) {
    static const size_t lengths[] = {1, 3, 40, 64, 12, 33};
    size_t n = sizeof lengths / sizeof *lengths, at = 0;
    for (size_t t = 0; t < n; at += lengths[t++]) {
        texts[t] = (weft_embed_text){ids + at, lengths[t]};
        for (size_t i = 0; i < lengths[t]; i++)
            ids[at + i] = (int32_t)((31 * (at + i) + 7 * i * i + t) % 59 + 5);
    }
    return n;
}

static void same_vectors(const opened *o, const char *path, const weft_embed_text *texts, size_t n,
                         weft_embed_options how, const float *want) {
    static float out[MOST_ROWS * MOST_EMBD];
    static const int32_t batches[] = {1, 20, 41, 64, 100};
    size_t row = o->n_embd * sizeof *out;
    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
        how.n_batch = batches[b];
        assert_weft_ok(weft_embed(o->model, texts, n, &how, out));
        if (memcmp(out, want, weft_embed_rows(texts, n, how.pooling) * row) != 0)
            fail_msg("%s: other bits in steps of %d", path, batches[b]);
    }
    how.n_batch = 0;
    for (size_t t = 0; t < n; t++) {
        size_t before = weft_embed_rows(texts, t, how.pooling);
        size_t rows = weft_embed_rows(texts + t, 1, how.pooling);
        assert_weft_ok(weft_embed(o->model, texts + t, 1, &how, out));
        if (memcmp(out, want + before * o->n_embd, rows * row) != 0)
            fail_msg("%s: other bits of text %zu alone", path, t);
    }
}

/* Encoders and a decoder: in any company, in pieces where a model may see them, by any threads. */
static void test_company_changes_no_bit(void **state) {
    (void)state;
    static const char *const models[] = {"roberta", "nomic-bert", "modernbert", "llama-linear",
                                         "mamba"};
    static float want[MOST_ROWS * MOST_EMBD];
    int32_t ids[MOST_ROWS];
    weft_embed_text texts[8];
    size_t n = make_texts(ids, texts);
    for (size_t m = 0; m < 5; m++) {
        char path[512];
        snprintf(path, sizeof path, OWN "%s", models[m]);
        opened o = open_model(path, WEFT_NUMBERS_REPRODUCIBLE, 1);
        opened other = open_model(path, WEFT_NUMBERS_REPRODUCIBLE, 3);
        for (weft_pooling p = WEFT_POOLING_NONE; p <= WEFT_POOLING_LAST; p++) {
            weft_embed_options how = weft_embed_options_default();
            how.pooling = p;
            assert_weft_ok(weft_embed(o.model, texts, n, &how, want));
            same_vectors(&o, path, texts, n, how, want);
            same_vectors(&other, path, texts, n, how, want);
        }
        close_model(&other);
        close_model(&o);
    }
}

/* ---- Decoders ---- */

/* The last hidden state times the output matrix is the logits. */
static void test_decoder_gives_its_last_hidden_state(void **state) {
    (void)state;
    static const int32_t ids[] = {5, 17, 23, 44, 9};
    float hidden[MOST_EMBD];
    weft_source source;
    weft_session *session;
    const void *data;
    opened o = open_model(OWN "llama-linear", WEFT_NUMBERS_REPRODUCIBLE, 2);
    assert_int_equal(weft_embed_pooling(o.model), WEFT_POOLING_LAST);
    weft_embed_options how = weft_embed_options_default();
    how.normalize = false;
    assert_weft_ok(weft_embed(o.model, &(weft_embed_text){ids, 5}, 1, &how, hidden));
    assert_weft_ok(weft_session_create(o.model, NULL, &session));
    assert_weft_ok(weft_session_eval(session, ids, 5));
    assert_weft_ok(weft_source_open(o.engine, OWN "llama-linear", false, NULL, NULL, &source));
    weft_tensor *head = weft_weights_find(source.weights, "lm_head.weight");
    assert_int_equal(weft_tensor_dtype(head), WEFT_F16);
    assert_weft_ok(weft_tensor_map_read(head, &data));
    for (int64_t token = 0; token < weft_tensor_dim(head, 0); token++) {
        double sum = 0;
        for (size_t i = 0; i < o.n_embd; i++)
            sum += (double)weft_f16_to_f32(((const uint16_t *)data)[(size_t)token * o.n_embd + i]) *
                   (double)hidden[i];
        assert_true(fabs(sum - (double)weft_session_logits(session)[token]) < 1e-4);
    }
    weft_tensor_unmap(head);
    weft_source_close(&source);
    weft_session_release(&session);
    close_model(&o);
}

static char *read_text(const char *path, size_t *n) {
    weft_mapping map;
    assert_weft_ok(weft_file_map(path, &map));
    char *text = malloc(map.size_bytes + 1);
    assert_non_null(text);
    memcpy(text, map.data, map.size_bytes);
    text[ *n = map.size_bytes] = 0;
    weft_file_unmap(&map);
    return text;
}

/* Writes the model's weights with other names in the header, which must not be longer. */
static void rename_tensors(const char *dir, const char *model, const char *const (*pairs)[2],
                           size_t n_pairs) {
    char from[512];
    size_t n;
    uint64_t n_head;
    snprintf(from, sizeof from, OWN "%s/model.safetensors", model);
    char *file = read_text(from, &n), *at = file + 8, *to = at;
    memcpy(&n_head, file, 8);
    for (char *end = at + n_head; at < end;) {
        size_t i = 0;
        while (i < n_pairs && strncmp(at, pairs[i][0], strlen(pairs[i][0])) != 0)
            i++;
        if (i == n_pairs) {
            *to++ = *at++;
            continue;
        }
        memcpy(to, pairs[i][1], strlen(pairs[i][1]));
        to += strlen(pairs[i][1]);
        at += strlen(pairs[i][0]);
    }
    memset(to, ' ', (size_t)(at - to));
    write_bytes(dir, "model.safetensors", file, n);
    free(file);
}

/* llama-linear as its class without a head saves it: names without "model.", no output matrix. */
static void make_headless(char dir[32]) {
    static const char *const names[][2] = {{"\"model.", "\""}, {"\"lm_head", "\"another"}};
    size_t n;
    make_folder(dir, "llama-linear");
    char *config = read_text(OWN "llama-linear/config.json", &n);
    char *class = strstr(config, "LlamaForCausalLM");
    assert_non_null(class);
    memmove(class + 10, class + 16, strlen(class + 16) + 1);
    memcpy(class, "LlamaModel", 10);
    write_bytes(dir, "config.json", config, strlen(config));
    free(config);
    rename_tensors(dir, "llama-linear", names, 2);
}

/* The vector of one text, compared with that of the model of tests/data. */
static void same_as(const char *dir, const char *model) {
    static const int32_t ids[] = {5, 17, 23, 44, 9};
    float want[MOST_EMBD], out[MOST_EMBD];
    char path[512];
    weft_embed_text text = {ids, 5};
    snprintf(path, sizeof path, OWN "%s", model);
    opened o = open_model(path, WEFT_NUMBERS_REPRODUCIBLE, 1);
    assert_weft_ok(weft_embed(o.model, &text, 1, NULL, want));
    close_model(&o);
    o = open_model(dir, WEFT_NUMBERS_REPRODUCIBLE, 1);
    assert_weft_ok(weft_embed(o.model, &text, 1, NULL, out));
    assert_memory_equal(out, want, o.n_embd * sizeof *out);
    close_model(&o);
}

static void test_models_without_a_head(void **state) {
    (void)state;
    char dir[32], path[256];
    weft_session *session;
    make_headless(dir);
    same_as(dir, "llama-linear");
    opened o = open_model(dir, WEFT_NUMBERS_REPRODUCIBLE, 1);
    assert_true(weft_model_get_info(o.model).embeds_only);
    assert_weft_fails(weft_session_create(o.model, NULL, &session), WEFT_E_UNSUPPORTED);
    link_into(dir, "tokenizer.json", WEFT_TEST_DATA "/tokenizers/bpe-words.json");
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    assert_weft_fails(weft_convert_folder(o.engine, dir, path, NULL), WEFT_E_UNSUPPORTED);
    assert_detail_has("lm_head.weight");
    close_model(&o);
    remove_folder(dir);
}

/* ---- Other spellings ---- */

/* The first BERTs have norms of gamma and beta; Nomic's configuration is spelled as GPT-2's. */
static void test_spellings_of_published_folders(void **state) {
    (void)state;
    static const char *const names[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                           {"LayerNorm.bias", "LayerNorm.beta"}};
    static const char config[] =
        "{\"architectures\": [\"NomicBertModel\"], \"model_type\": \"nomic_bert\", "
        "\"activation_function\": \"swiglu\", \"causal\": false, \"layer_norm_epsilon\": 1e-12, "
        "\"max_trained_positions\": 64, \"mlp_fc1_bias\": false, \"mlp_fc2_bias\": false, "
        "\"n_embd\": 32, \"n_head\": 4, \"n_inner\": 48, \"n_layer\": 2, \"n_positions\": 256, "
        "\"parallel_block\": false, \"prenorm\": false, \"qkv_proj_bias\": false, "
        "\"rotary_emb_base\": 1000, \"rotary_emb_fraction\": 1.0, \"rotary_emb_interleaved\": "
        "false, \"rotary_emb_scale_base\": null, \"rotary_scaling_factor\": null, "
        "\"type_vocab_size\": 2, \"use_rms_norm\": false, \"vocab_size\": 320}";
    char dir[32];
    make_folder(dir, "roberta");
    rename_tensors(dir, "roberta", names, 2);
    same_as(dir, "roberta");
    remove_folder(dir);
    make_folder(dir, "nomic-bert");
    write_bytes(dir, "config.json", config, sizeof config - 1);
    same_as(dir, "nomic-bert");
    remove_folder(dir);
}

/* ---- What files say of pooling ---- */

static weft_pooling pooling_of(const char *modules, const char *pooling, weft_status *status) {
    char dir[32], path[256];
    weft_engine *engine;
    weft_model *model = NULL;
    make_folder(dir, "roberta");
    snprintf(path, sizeof path, "%s/1_Pooling", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    if (modules)
        write_bytes(dir, "modules.json", modules, strlen(modules));
    if (pooling)
        write_bytes(dir, "1_Pooling/config.json", pooling, strlen(pooling));
    assert_weft_ok(weft_engine_create(NULL, &engine));
    weft_model_options options = weft_model_options_default();
    options.without_tokenizer = true;
    *status = weft_model_open(engine, dir, &options, &model);
    weft_pooling found = weft_embed_pooling(model);
    weft_model_release(&model);
    weft_engine_release(&engine);
    remove_folder(dir);
    return found;
}

static void test_pooling_of_folders(void **state) {
    (void)state;
    static const char modules[] =
        "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": "
        "\"sentence_transformers.models.Transformer\"}, {\"idx\": 1, \"name\": \"1\", \"path\": "
        "\"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}, {\"idx\": 2, "
        "\"name\": \"2\", \"path\": \"2_Normalize\", \"type\": "
        "\"sentence_transformers.models.Normalize\"}]";
    static const char dense[] = "[{\"path\": \"2_Dense\", \"type\": \"a.b.Dense\"}]";
    static const struct {
        const char *modules, *pooling;
        weft_status status;
        weft_pooling found;
    } table[] = {
        {NULL, NULL, WEFT_OK, WEFT_POOLING_MEAN},
        {modules, NULL, WEFT_OK, WEFT_POOLING_MEAN},
        {modules, "{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": false}",
         WEFT_OK, WEFT_POOLING_CLS},
        {NULL, "{\"pooling_mode_lasttoken\": true}", WEFT_OK, WEFT_POOLING_LAST},
        {modules, "{\"pooling_mode\": \"cls\"}", WEFT_OK, WEFT_POOLING_CLS},
        {modules, "{\"pooling_mode_max_tokens\": true}", WEFT_E_UNSUPPORTED, 0},
        {modules, "{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": true}",
         WEFT_E_UNSUPPORTED, 0},
        {modules, "{\"pooling_mode\": \"other\"}", WEFT_E_UNSUPPORTED, 0},
        {dense, NULL, WEFT_E_UNSUPPORTED, 0},
        {"{}", NULL, WEFT_E_FORMAT, 0},
        {"[1]", NULL, WEFT_E_FORMAT, 0},
        {"[{\"path\": \"../x\", \"type\": \"Pooling\"}]", NULL, WEFT_E_FORMAT, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        weft_status status;
        weft_pooling found = pooling_of(table[i].modules, table[i].pooling, &status);
        if (status != table[i].status || found != table[i].found)
            fail_msg("case %zu: %s, pooling %d: %s", i, weft_status_name(status), (int)found,
                     weft_detail());
    }
}

/* ---- Refusals ---- */

static void test_wrong_arguments(void **state) {
    (void)state;
    static const int32_t ids[65] = {1, 2, 3}, beyond[] = {3, 320}, below[] = {-1};
    float out[MOST_EMBD];
    weft_session *session;
    opened o = open_model(OWN "roberta", WEFT_NUMBERS_DEFAULT, 1);
    weft_embed_text text = {ids, 3};
    weft_embed_options how = weft_embed_options_default();
    assert_true(how.normalize);
    assert_true(weft_model_get_info(o.model).embeds_only);
    assert_weft_ok(weft_embed(o.model, NULL, 0, NULL, NULL));
    assert_weft_fails(weft_embed(NULL, &text, 1, NULL, out), WEFT_E_NULL);
    assert_weft_fails(weft_embed(o.model, NULL, 1, NULL, out), WEFT_E_NULL);
    assert_weft_fails(weft_embed(o.model, &text, 1, NULL, NULL), WEFT_E_NULL);
    assert_weft_fails(weft_embed(o.model, &(weft_embed_text){NULL, 1}, 1, NULL, out), WEFT_E_NULL);
    assert_weft_fails(weft_embed(o.model, &(weft_embed_text){ids, 0}, 1, NULL, out),
                      WEFT_E_ARGUMENT);
    assert_weft_fails(weft_embed(o.model, &(weft_embed_text){ids, 65}, 1, NULL, out), WEFT_E_RANGE);
    assert_detail_has("65 tokens are more than the model's 64");
    assert_weft_fails(weft_embed(o.model, &(weft_embed_text){beyond, 2}, 1, NULL, out),
                      WEFT_E_RANGE);
    assert_weft_fails(weft_embed(o.model, &(weft_embed_text){below, 1}, 1, NULL, out),
                      WEFT_E_RANGE);
    how.pooling = (weft_pooling)5;
    assert_weft_fails(weft_embed(o.model, &text, 1, &how, out), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_session_create(o.model, NULL, &session), WEFT_E_UNSUPPORTED);
    assert_detail_has("generates none");
    close_model(&o);
}

static bool stop_after_two(void *ctx, size_t n_done, size_t n_texts) {
    size_t *last = ctx;
    assert_int_equal(n_texts, 3);
    *last = n_done;
    return n_done < 2;
}

static void test_progress_and_length(void **state) {
    (void)state;
    static const int32_t ids[3] = {7, 8, 9};
    float out[3 * MOST_EMBD];
    size_t last = 0;
    opened o = open_model(OWN "roberta", WEFT_NUMBERS_DEFAULT, 1);
    weft_embed_text texts[3] = {{ids, 3}, {ids, 2}, {ids, 1}};
    weft_embed_options how = weft_embed_options_default();
    assert_weft_ok(weft_embed(o.model, texts, 3, &how, out));
    for (size_t t = 0; t < 3; t++) {
        double square = 0;
        for (size_t i = 0; i < o.n_embd; i++)
            square += (double)out[t * o.n_embd + i] * (double)out[t * o.n_embd + i];
        assert_true(fabs(square - 1) < 1e-6);
    }
    how.n_batch = 2;
    how.progress = stop_after_two;
    how.progress_ctx = &last;
    assert_weft_fails(weft_embed(o.model, texts, 3, &how, out), WEFT_E_CANCELLED);
    assert_int_equal(last, 2);
    close_model(&o);
}

/* ---- Memory ---- */

typedef struct budget {
    atomic_long left, live_bytes;
} budget;

static void *limited_alloc(void *ctx, size_t size_bytes, size_t align) {
    budget *b = ctx;
    void *memory;
    if (atomic_fetch_sub(&b->left, 1) <= 0 ||
        posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size_bytes))
        return NULL;
    atomic_fetch_add(&b->live_bytes, (long)size_bytes);
    return memory;
}

static void limited_release(void *ctx, void *memory, size_t size_bytes) {
    budget *b = ctx;
    atomic_fetch_sub(&b->live_bytes, (long)size_bytes);
    free(memory);
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    static const int32_t ids[3] = {7, 8, 9};
    float out[2 * MOST_EMBD];
    weft_embed_text texts[2] = {{ids, 3}, {ids, 2}};
    budget b;
    atomic_init(&b.left, 1000000);
    atomic_init(&b.live_bytes, 0);
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 1;
    options.allocator = (weft_allocator){limited_alloc, limited_release, &b};
    weft_engine *engine;
    weft_model *model;
    assert_weft_ok(weft_engine_create(&options, &engine));
    weft_model_options how = weft_model_options_default();
    how.without_tokenizer = true;
    assert_weft_ok(weft_model_open(engine, OWN "nomic-bert", &how, &model));
    long live = atomic_load(&b.live_bytes);
    weft_status status = WEFT_E_MEMORY;
    for (long n = 0; status; n++) {
        assert_true(n < 10000);
        atomic_store(&b.left, n);
        status = weft_embed(model, texts, 2, NULL, out);
        if (status)
            assert_int_equal(status, WEFT_E_MEMORY);
        assert_int_equal(atomic_load(&b.live_bytes), live);
    }
    atomic_store(&b.left, 1000000);
    weft_model_release(&model);
    weft_engine_release(&engine);
    assert_int_equal(atomic_load(&b.live_bytes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_bert),
        cmocka_unit_test(test_own_models),
        cmocka_unit_test(test_company_changes_no_bit),
        cmocka_unit_test(test_decoder_gives_its_last_hidden_state),
        cmocka_unit_test(test_models_without_a_head),
        cmocka_unit_test(test_spellings_of_published_folders),
        cmocka_unit_test(test_pooling_of_folders),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_progress_and_length),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
