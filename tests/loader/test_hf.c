/* Hugging Face folders: config.json flattened, its relatives, one safetensors file or shards. */
#include <math.h>
#include "folder.h"
#include "loader/loader.h"

#define TENSOR(name) "{\"" name "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"

static void write_weights(folder *f, const char *name, const char *header) {
    bytes b = {0};
    float data[2] = {1, 2};
    put_uint(&b, strlen(header), 8);
    put(&b, header, strlen(header));
    put(&b, data, sizeof data);
    write_bytes(f, name, b.data, b.n);
    clear(&b);
}

static void open_ok(folder *f, weft_source *s) {
    assert_weft_ok(weft_source_open(f->engine, f->path, false, NULL, NULL, s));
}

static void refuse(folder *f, weft_status status, const char *part) {
    weft_source s;
    assert_weft_fails(weft_source_open(f->engine, f->path, false, NULL, NULL, &s), status);
    assert_detail_has(part);
    assert_int_equal(strncmp(weft_detail(), f->path, strlen(f->path)), 0);
}

/* [0.5, infinity], however that is written. */
static void check_limits(const weft_metadata *m, const char *key) {
    size_t index;
    weft_value low, high;
    assert_true(weft_metadata_index(m, key, &index));
    assert_true(weft_metadata_item(m, index, 0, &low) && weft_metadata_item(m, index, 1, &high));
    assert_true(low.type == WEFT_VALUE_F64 && low.as.f == 0.5);
    assert_true(high.type == WEFT_VALUE_F64 && isinf(high.as.f));
}

/* A model that also sees: its text's part stands as if alone; who is tied is said of the whole. */
static void text_of_a_larger_model(void **state) {
    folder *f = *state;
    weft_source s;
    uint32_t hidden;
    const char *type;
    bool tied = true;
    write_text(f, "config.json",
               "{\"model_type\": \"whole\", \"hidden_size\": 7, \"architectures\": [\"A\"],"
               " \"tie_word_embeddings\": false, \"text_config\": {\"model_type\": \"text\","
               " \"hidden_size\": 64, \"tie_word_embeddings\": true, \"rope\": {\"x\": 1}},"
               " \"vision_config\": {\"hidden_size\": 8}}");
    write_weights(f, "model.safetensors", TENSOR("t"));
    open_ok(f, &s);
    assert_weft_ok(weft_metadata_u32(s.metadata, "hidden_size", &hidden));
    assert_int_equal(hidden, 64);
    assert_weft_ok(weft_metadata_string(s.metadata, "model_type", &type));
    assert_string_equal(type, "text");
    assert_weft_ok(weft_metadata_bool(s.metadata, "tie_word_embeddings", &tied));
    assert_false(tied);
    assert_weft_ok(weft_metadata_u32(s.metadata, "rope.x", &hidden));
    assert_weft_ok(weft_metadata_u32(s.metadata, "vision_config.hidden_size", &hidden));
    assert_int_equal(hidden, 8);
    assert_true(weft_metadata_find(s.metadata, "architectures", &(weft_value){0}));
    weft_source_close(&s);
}

static void flattens_config(void **state) {
    folder *f = *state;
    weft_source s;
    weft_value v;
    double theta;
    uint32_t hidden;
    write_text(
        f, "config.json",
        "{\"hidden_size\": 64, \"rope\": {\"theta\": 1e4, \"deep\": {\"x\": \"y\"}},"
        " \"none\": null, \"factors\": [1, 2.5], \"ids\": [1, 2], \"names\": [\"a\", \"bc\"],"
        " \"mixed\": [1, \"a\"], \"empty\": [], \"flags\": [true, false],"
        " \"objects\": [{}], \"tie\": true, \"max\": 1000000000000000019884624838656,"
        " \"limits\": [0.5, Infinity], \"newer\": [0.5, {\"__float__\": \"Infinity\"}], \"nan\": "
        "NaN, \"text\": \"NaN 1000000000000000000000\"}");
    write_weights(f, "model.safetensors", TENSOR("t"));
    open_ok(f, &s);
    const weft_metadata *m = s.metadata;
    assert_weft_ok(weft_metadata_u32(m, "hidden_size", &hidden));
    assert_int_equal(hidden, 64);
    assert_weft_ok(weft_metadata_f64(m, "rope.theta", &theta));
    assert_true(theta == 1e4);
    assert_true(weft_metadata_find(m, "rope.deep.x", &v) && v.type == WEFT_VALUE_STRING);
    assert_false(weft_metadata_find(m, "none", &v));
    assert_true(weft_metadata_find(m, "factors", &v) && v.as.array.type == WEFT_VALUE_F64);
    assert_true(weft_metadata_find(m, "ids", &v) && v.as.array.type == WEFT_VALUE_I64);
    assert_true(weft_metadata_find(m, "names", &v) && v.as.array.type == WEFT_VALUE_STRING);
    assert_true(weft_metadata_find(m, "flags", &v) && v.as.array.type == WEFT_VALUE_BOOL);
    assert_true(weft_metadata_find(m, "mixed", &v) && v.as.array.type == WEFT_VALUE_ARRAY);
    assert_true(weft_metadata_find(m, "objects", &v) && v.as.array.n == 1);
    assert_true(weft_metadata_find(m, "empty", &v) && v.as.array.n == 0);
    assert_true(weft_metadata_find(m, "tie", &v) && v.type == WEFT_VALUE_BOOL && v.as.u == 1);
    /* Python's habits: integers of any size, infinities */
    assert_true(weft_metadata_find(m, "max", &v) && v.type == WEFT_VALUE_F64 && v.as.f == 1e30);
    assert_true(weft_metadata_find(m, "limits", &v) && v.as.array.n == 2);
    check_limits(m, "limits");
    check_limits(m, "newer");
    /* … which no reader takes for a number, nor for something that is not there. */
    assert_true(weft_metadata_find(m, "nan", &v) && v.type == WEFT_VALUE_STRING);
    assert_weft_fails(weft_metadata_f64(m, "nan", &theta), WEFT_E_FORMAT);
    assert_true(weft_metadata_find(m, "text", &v) && v.as.s.n_bytes == 26);
    weft_source_close(&s);
}

static void reads_the_relatives_of_config(void **state) {
    folder *f = *state;
    weft_source s;
    weft_value v;
    const char *text;
    write_text(f, "config.json", "{}");
    write_text(f, "generation_config.json", "{\"eos_token_id\": [1, 2]}");
    write_text(f, "tokenizer_config.json",
               "{\"bos_token\": {\"content\": \"<s>\"}, \"chat_template\":"
               "[{\"name\": \"tool_use\", \"template\": \"T\"},"
               " {\"name\": \"default\", \"template\": \"D\"}]}");
    write_text(f, "chat_template.jinja", "{{ x }}");
    write_text(f, "tokenizer.json", "bytes as they are");
    write_weights(f, "model.safetensors",
                  "{\"__metadata__\":{\"format\":\"pt\"},\"t\":{\"dtype\":\"F32\",\"shape\":[2],"
                  "\"data_offsets\":[0,8]}}");
    open_ok(f, &s);
    assert_true(weft_metadata_find(s.metadata, "generation_config.eos_token_id", &v));
    assert_int_equal(v.as.array.n, 2);
    assert_weft_ok(weft_metadata_string(s.metadata, "tokenizer_config.bos_token.content", &text));
    assert_string_equal(text, "<s>");
    assert_weft_ok(weft_metadata_string(s.metadata, "tokenizer_config.chat_template", &text));
    assert_string_equal(text, "D");
    assert_weft_ok(weft_metadata_string(s.metadata, "chat_template", &text));
    assert_string_equal(text, "{{ x }}");
    assert_weft_ok(weft_metadata_string(s.metadata, "safetensors.format", &text));
    assert_string_equal(text, "pt");
    assert_int_equal(s.tokenizer_json_bytes, 17);
    assert_memory_equal(s.tokenizer_json, "bytes as they are", 18);
    assert_string_equal(s.format_name, "safetensors");
    weft_source_close(&s);
}

/* Headers of old writers are not padded, so data may start at any address. */
static void reads_tensors_at_odd_addresses(void **state) {
    folder *f = *state;
    char header[200] = TENSOR("t");
    write_text(f, "config.json", "{}");
    for (int i = 0; i < 4; i++) {
        weft_source s;
        float row[2];
        write_weights(f, "model.safetensors", header);
        open_ok(f, &s);
        weft_tensor *t = weft_weights_find(s.weights, "t");
        assert_weft_ok(weft_tensor_read(t, row, sizeof row));
        assert_true(row[0] == 1 && row[1] == 2);
        assert_int_equal(weft_source_offset(&s, t), 8 + strlen(header));
        weft_source_close(&s);
        strcat(header, " ");
    }
}

#define INDEX "model.safetensors.index.json"

static void reads_shards(void **state) {
    folder *f = *state;
    weft_source s;
    write_text(f, "config.json", "{}");
    write_weights(f, "x1", TENSOR("a"));
    write_weights(f, "x2", TENSOR("b"));
    write_text(f, INDEX, "{\"metadata\": {}, \"weight_map\": {\"a\": \"x1\", \"b\": \"x2\"}}");
    open_ok(f, &s);
    assert_int_equal(weft_weights_count(s.weights), 2);
    assert_int_equal(s.weight_bytes, 16);
    weft_source_close(&s);
    assert_weft_ok(weft_source_open(f->engine, in_folder(f, INDEX), false, NULL, NULL, &s));
    assert_int_equal(weft_weights_count(s.weights), 2);
    weft_source_close(&s);
}

static void refuses_indexes(void **state) {
    folder *f = *state;
    static const struct {
        const char *map, *part;
    } cases[] = {
        {"{\"a\": \"x1\", \"b\": \"x3\"}", "x3"},        /* not there */
        {"{\"a\": \"x2\", \"b\": \"x1\"}", "lies here"}, /* the wrong way round */
        {"{\"a\": \"x1\", \"b\": \"x1\"}", "'b'"},       /* not in its shard */
        {"{\"a\": \"../x1\"}", "../x1"},
        {"{\"a\": \"/etc/passwd\"}", "/etc/passwd"},
        {"{\"a\": \"..\"}", "path '..'"},
        {"{\"a\": \"\"}", "path ''"},
        {"{\"a\": 7}", "'a' is no string"},
        {"[]", "weight_map"},
    };
    write_text(f, "config.json", "{}");
    write_weights(f, "x1", TENSOR("a"));
    write_weights(f, "x2", TENSOR("b"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char index[256];
        snprintf(index, sizeof index, "{\"weight_map\": %s}", cases[i].map);
        write_text(f, INDEX, index);
        refuse(f, WEFT_E_FORMAT, cases[i].part);
    }
    write_text(f, INDEX, "[");
    refuse(f, WEFT_E_FORMAT, INDEX);
}

static void refuses_configs(void **state) {
    folder *f = *state;
    write_weights(f, "model.safetensors", TENSOR("t"));
    refuse(f, WEFT_E_NOT_FOUND, "config.json");
    write_text(f, "config.json", "");
    refuse(f, WEFT_E_FORMAT, "config.json");
    write_text(f, "config.json", "[1]");
    refuse(f, WEFT_E_FORMAT, "no JSON object");
    write_text(f, "config.json", "{\"a\": 1, \"a\": 2}");
    refuse(f, WEFT_E_FORMAT, "config.json");
    write_text(f, "config.json", "{\"a.b\": 1, \"a\": {\"b\": 2}}");
    refuse(f, WEFT_E_FORMAT, "a.b");
    write_text(f, "config.json", "{\"a\": 1e400}");
    refuse(f, WEFT_E_FORMAT, "config.json");
    char deep[512] = "";
    for (int i = 0; i < 40; i++)
        strcat(deep, "{\"a\":");
    strcat(deep, "1");
    for (int i = 0; i < 40; i++)
        strcat(deep, "}");
    write_text(f, "config.json", deep);
    refuse(f, WEFT_E_FORMAT, "nested");
    char *name = calloc(1, 3000);
    memcpy(name, "{\"", 2);
    memset(name + 2, 'k', 2000);
    strcat(name, "\": 1}");
    write_text(f, "config.json", name);
    free(name);
    refuse(f, WEFT_E_FORMAT, "longer than");
    write_text(f, "config.json", "{}");
    write_text(f, "tokenizer_config.json", "{");
    refuse(f, WEFT_E_FORMAT, "tokenizer_config.json");
}

static void refuses_folders_without_weights(void **state) {
    folder *f = *state;
    weft_source s;
    write_text(f, "config.json", "{}");
    refuse(f, WEFT_E_NOT_FOUND, "model.safetensors");
    write_text(f, "tokenizer.json", ""); /* a vocabulary alone is shown */
    open_ok(f, &s);
    assert_int_equal(weft_weights_count(s.weights), 0);
    assert_non_null(s.tokenizer_json);
    weft_source_close(&s);
}

static void names_the_file_of_a_bad_tensor(void **state) {
    folder *f = *state;
    write_text(f, "config.json", "{}");
    write_weights(f, "model.safetensors",
                  "{\"t\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}");
    refuse(f, WEFT_E_UNSUPPORTED, "model.safetensors: tensor 't': dtype C64");
    write_weights(f, "model.safetensors", TENSOR("t") "x");
    refuse(f, WEFT_E_FORMAT, "model.safetensors: header offset");
}

/* An adapter's weights have no config.json beside them. */
static void opens_one_safetensors_file(void **state) {
    folder *f = *state;
    weft_source s;
    write_weights(f, "adapter_model.safetensors", TENSOR("t"));
    assert_weft_ok(weft_source_open(f->engine, f->file, false, NULL, NULL, &s));
    assert_int_equal(weft_weights_count(s.weights), 1);
    weft_source_close(&s);
}

#define MODELS WEFT_SHARED_DIR "/reference/models"

static void opens_reference_folders(void **state) {
    folder *f = *state;
    static const char *const names[] = {"llama", "qwen2", "qwen3", "gemma3", "bert", "mamba2"};
    skip_without(MODELS "/llama/hf");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[1024];
        weft_source s;
        uint32_t layers;
        snprintf(path, sizeof path, MODELS "/%s/hf", names[i]);
        assert_weft_ok(weft_source_open(f->engine, path, i % 2, NULL, NULL, &s));
        assert_weft_ok(weft_metadata_u32(s.metadata, "num_hidden_layers", &layers));
        assert_in_range(layers, 2, 6);
        assert_true(weft_weights_count(s.weights) > 5);
        assert_non_null(s.tokenizer_json);
        weft_source_close(&s);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_open, folder_close)
    const struct CMUnitTest tests[] = {
        TEST(flattens_config),
        TEST(text_of_a_larger_model),
        TEST(reads_the_relatives_of_config),
        TEST(reads_tensors_at_odd_addresses),
        TEST(reads_shards),
        TEST(refuses_indexes),
        TEST(refuses_configs),
        TEST(refuses_folders_without_weights),
        TEST(names_the_file_of_a_bad_tensor),
        TEST(opens_one_safetensors_file),
        TEST(opens_reference_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
