/* Tokenisers from tokenizer.json: the forms in use, and whatever is not known refused by name. */
#include "text/engine_fixture.h"

#include "base/file.h"
#include "base/json.h"

#define BYTE_LEVEL                                                                                 \
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true},"    \
    "\"decoder\":{\"type\":\"ByteLevel\"},"
#define VOCAB "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\xc4\xa0\":3,\"c\":4,\"abc\":5}"
#define MERGES "\"merges\":[\"a b\",[\"ab\",\"c\"]]"
#define MODEL "\"model\":{\"type\":\"BPE\"," VOCAB "," MERGES "}"
#define ADDED                                                                                      \
    "\"added_tokens\":[{\"id\":6,\"content\":\"<x>\",\"special\":true},"                           \
    "{\"id\":9,\"content\":\"<far>\",\"special\":true},"                                           \
    "{\"id\":7,\"content\":\"<r>\",\"special\":false,\"rstrip\":true,\"lstrip\":true},"            \
    "{\"id\":8,\"content\":\"ba\",\"special\":false,\"single_word\":true}],"

static weft_tokenizer *open_json(const char *json, const weft_metadata *m, int64_t rows) {
    weft_tokenizer *t = NULL;
    assert_weft_ok(weft_tokenizer_from_json(engine, json, strlen(json), m, NULL, rows, &t));
    return t;
}

static void expect_refused(const char *json, weft_status status, const char *names) {
    weft_tokenizer *t = NULL;
    assert_weft_fails(weft_tokenizer_from_json(engine, json, strlen(json), NULL, NULL, 8, &t),
                      status);
    assert_detail_has(names);
    assert_null(t);
}

static void byte_level(void **state) {
    (void)state;
    weft_tokenizer *t = open_json("{" ADDED BYTE_LEVEL MODEL "}", NULL, 9);
    expect_ids(t, "abc ab", 6, false, false, IDS(5, 3, 2));
    expect_ids(t, "a<x>b", 5, true, false, IDS(0, 6, 1));
    expect_ids(t, "a  <r>  b", 9, false, false, IDS(0, 7, 1)); /* takes the spaces with it */
    expect_ids(t, "a ba b", 6, false, false, IDS(0, 3, 8, 3, 1));
    expect_ids(t, "aba", 3, false, false, IDS(2, 0)); /* only as a word of its own */
    /* Beyond the rows: decoded, but never made. */
    const char *text = "";
    size_t n = 0;
    weft_token_bytes(t, 9, true, &text, &n);
    assert_int_equal(n, 5);
    int32_t *ids;
    assert_weft_ok(weft_tokenize(t, "<far>", 5, (weft_tokenize_options){true, false}, &ids, &n));
    for (size_t i = 0; i < n; i++)
        assert_true(ids[i] < 9);
    weft_tokens_free(t, ids, n);
    weft_tokenizer_release(&t);
}

static void whole_pieces_before_merges(void **state) {
    (void)state;
    weft_tokenizer *t = open_json(
        "{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{\"a\":0,"
        "\"b\":1,\"ab\":2,\"aba\":3},\"merges\":[\"a b\"]}}",
        NULL, -1);
    expect_ids(t, "aba", 3, false, false, IDS(3));
    weft_tokenizer_release(&t);
}

#define LLAMA_STYLE(rest)                                                                          \
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"   \
    "\"" MARK "\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" MARK       \
    "\"}]},\"pre_tokenizer\":null,\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":"     \
    "\"Replace\",\"pattern\":{\"String\":\"" MARK "\"},\"content\":\" \"},{\"type\":"              \
    "\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,"     \
    "\"stop\":0}]}," rest                                                                          \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_fallback\":"     \
    "true,\"vocab\":{\"<unk>\":0,\"<s>\":1,\"<0x0A>\":2,\"" MARK "\":3,\"a\":4,\"" MARK            \
    "a\":5,\"<0xC3>\":6,\"<0xA9>\":7},\"merges\":[\"" MARK " a\"]}}"

static void marks_and_byte_fallback(void **state) {
    (void)state;
    weft_tokenizer *t = open_json(
        LLAMA_STYLE("\"added_tokens\":[{\"id\":1,\"content\":\"<s>\",\"special\":true}],"
                    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{"
                    "\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\","
                    "\"type_id\":0}}]},"),
        NULL, 8);
    assert_true(weft_tokenizer_adds_bos(t));
    expect_ids(t, "a a", 3, false, true, IDS(1, 5, 5));
    expect_ids(t, "\xc3\xa9\n", 3, false, false, IDS(3, 6, 7, 2));
    expect_ids(t, "zz", 2, false, false, IDS(3, 0));
    expect_round_trip(t, "a  a\n", 5);
    weft_tokenizer_release(&t);
}

static void configuration_names_the_ends(void **state) {
    (void)state;
    weft_metadata *m = new_metadata();
    const int64_t ends[] = {1, 6, 4000};
    put_string(m, "tokenizer_config.eos_token.content", "<x>");
    put_string(m, "tokenizer_config.bos_token", "c");
    put_bool(m, "tokenizer_config.add_bos_token", true);
    put_string(m, "tokenizer_config.chat_template", "{{ x }}");
    put_array(m, "generation_config.eos_token_id", WEFT_VALUE_I64, ends, 3);
    weft_tokenizer *t = open_json("{" ADDED BYTE_LEVEL MODEL "}", m, -1);
    weft_metadata_destroy(m);
    assert_int_equal(weft_tokenizer_eos(t), 6);
    assert_int_equal(weft_tokenizer_bos(t), 4);
    assert_true(weft_tokenizer_is_eog(t, 6) && weft_tokenizer_is_eog(t, 1));
    assert_false(weft_tokenizer_is_eog(t, 2));
    assert_string_equal(weft_tokenizer_chat_template(t), "{{ x }}");
    expect_ids(t, "a", 1, false, true, IDS(4, 0));
    weft_tokenizer_release(&t);
}

/* Ends that config.json names wrongly are refused by their key: passed over, texts would run on. */
static void configured_ends_are_checked(void **state) {
    (void)state;
    static const int64_t beyond[] = {1, 10}, negative[] = {-1};
    static const struct {
        const char *key;
        weft_value_type type; /* of an array; WEFT_VALUE_ARRAY: a string */
        const int64_t *ids;
        size_t n;
    } cases[] = {
        {"eos_token_id", WEFT_VALUE_I64, beyond, 2},
        {"eos_token_id", WEFT_VALUE_I64, negative, 1},
        {"eos_token_id", WEFT_VALUE_BOOL, beyond, 1},
        {"eos_token_id", WEFT_VALUE_ARRAY, NULL, 0},
        {"bos_token_id", WEFT_VALUE_I64, beyond + 1, 1},
        {"bos_token_id", WEFT_VALUE_ARRAY, NULL, 0},
        {"generation_config.eos_token_id", WEFT_VALUE_I64, negative, 1},
        {"tokenizer_config.bos_token", WEFT_VALUE_I64, beyond, 1},
        {"tokenizer_config.add_bos_token", WEFT_VALUE_ARRAY, NULL, 0},
    };
    const char *json = "{" ADDED BYTE_LEVEL MODEL "}";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        weft_metadata *m = new_metadata();
        weft_tokenizer *t = NULL;
        if (cases[i].type == WEFT_VALUE_ARRAY)
            put_string(m, cases[i].key, "<x>");
        else
            put_array(m, cases[i].key, cases[i].type, cases[i].ids, cases[i].n);
        assert_weft_fails(weft_tokenizer_from_json(engine, json, strlen(json), m, NULL, 9, &t),
                          WEFT_E_FORMAT);
        assert_detail_has(cases[i].key);
        assert_null(t);
        weft_metadata_destroy(m);
    }
}

/* Templates by name, as an object: the default one. */
static void a_template_among_several(void **state) {
    (void)state;
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer_config.chat_template.tool_use", "t");
    put_string(m, "tokenizer_config.chat_template.default", "d");
    weft_tokenizer *t = open_json("{" ADDED BYTE_LEVEL MODEL "}", m, 9);
    weft_metadata_destroy(m);
    assert_string_equal(weft_tokenizer_chat_template(t), "d");
    weft_tokenizer_release(&t);
}

static void refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *json, *names;
        weft_status status;
    } cases[] = {
        {"", "tokenizer.json", WEFT_E_FORMAT},
        {"[]", "tokenizer.json", WEFT_E_FORMAT},
        {"{}", "model", WEFT_E_FORMAT},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}}}", "WordLevel", WEFT_E_UNSUPPORTED},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}", "vocab", WEFT_E_FORMAT},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "tokens", WEFT_E_FORMAT},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "score", WEFT_E_FORMAT},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]}}", "unk_id",
         WEFT_E_FORMAT},
        {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", "BertPreTokenizer",
         WEFT_E_UNSUPPORTED},
        {"{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\","
         "\"max_input_chars_per_word\":9,\"vocab\":{\"a\":0}}}",
         "max_input_chars_per_word", WEFT_E_UNSUPPORTED},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}}", "vocab", WEFT_E_FORMAT},
        {"{\"normalizer\":{\"type\":\"Uppercase\"}," BYTE_LEVEL MODEL "}", "Uppercase",
         WEFT_E_UNSUPPORTED},
        {"{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\","
         "\"pattern\":"
         "{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},{\"type\":\"NFC\"}]}," MODEL "}",
         "NFC", WEFT_E_UNSUPPORTED},
        {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAAAA\"}," MODEL
         "}",
         "character map", WEFT_E_FORMAT},
        {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"*\"}," MODEL "}",
         "base64", WEFT_E_FORMAT},
        {"{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}," MODEL "}", "BertPreTokenizer",
         WEFT_E_UNSUPPORTED},
        {"{" BYTE_LEVEL "\"post_processor\":{\"type\":\"RobertaProcessing\"}," MODEL "}",
         "RobertaProcessing", WEFT_E_FORMAT},
        {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
         "\"decoder\":{\"type\":\"CTC\"}," MODEL "}",
         "CTC", WEFT_E_UNSUPPORTED},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "id",
         WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":2147483647},\"merges\":[]}}",
         "id", WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":8},\"merges\":[]}}", "rows",
         WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]}}",
         "id", WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}}", "tokens",
         WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"ab\"]}}", "merge",
         WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[[\"a\"]]}}", "merge",
         WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\"," VOCAB ",\"merges\":[\"b a\"]}}", "merge",
         WEFT_E_FORMAT},
        {"{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
         "\"pattern\":{\"Regex\":\"(a\"},\"behavior\":\"Isolated\",\"invert\":false}]}," MODEL "}",
         "(a", WEFT_E_FORMAT},
        /* A member of another type than it should have is never taken for its default. */
        {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":\"no\"}," MODEL "}",
         "add_prefix_space", WEFT_E_FORMAT},
        {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":"
         "0}," MODEL "}",
         "use_regex", WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"byte_fallback\":\"x\"," VOCAB "," MERGES
         "}}",
         "byte_fallback", WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"unk_token\":3," VOCAB "," MERGES "}}",
         "unk_token", WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"model\":{\"type\":\"BPE\",\"dropout\":true," VOCAB "," MERGES "}}",
         "dropout", WEFT_E_FORMAT},
        {"{\"added_tokens\":[{\"id\":6,\"content\":\"<x>\",\"lstrip\":1}]," BYTE_LEVEL MODEL "}",
         "lstrip", WEFT_E_FORMAT},
        {"{\"added_tokens\":[{\"id\":2,\"content\":\"<x>\"}]," BYTE_LEVEL MODEL "}",
         "entry 0 \"<x>\"", WEFT_E_FORMAT},
        {"{" BYTE_LEVEL "\"post_processor\":{\"type\":\"Sequence\"}," MODEL "}", "processors",
         WEFT_E_FORMAT},
        {"{" BYTE_LEVEL
         "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":null}," MODEL "}",
         "single", WEFT_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_refused(cases[i].json, cases[i].status, cases[i].names);
}

/* A pattern that backtracks for ever ends with an error, not with a hang. */
static void pattern_bomb(void **state) {
    (void)state;
    weft_tokenizer *t = open_json(
        "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
        "\"pattern\":{\"Regex\":\"(a+)+$|(h|hh)+!\"},\"behavior\":\"Isolated\",\"invert\":false},"
        "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}," MODEL "}",
        NULL, -1);
    char text[101];
    memset(text, 'a', 100);
    text[100] = 'b';
    int32_t *ids;
    size_t n = 0;
    assert_weft_fails(
        weft_tokenize(t, text, sizeof text, (weft_tokenize_options){false, false}, &ids, &n),
        WEFT_E_UNSUPPORTED);
    assert_detail_has("pattern");
    assert_null(ids);
    weft_tokenizer_release(&t);
}

/* Cut and changed files load or are refused; nothing else happens. */
static void mutations(void **state) {
    (void)state;
    char json[4096];
    const char *whole = LLAMA_STYLE("\"added_tokens\":[{\"id\":1,\"content\":\"<s>\"}],");
    size_t n = strlen(whole);
    unsigned random = 99;
    assert_true(n < sizeof json);
    for (size_t i = 0; i < 4 * n; i++) {
        memcpy(json, whole, n);
        size_t length = i < n ? i : n;
        for (int k = 0; i >= n && k < 3; k++) {
            random = random * 1103515245u + 12345u;
            json[(random >> 8) % n] = "{}[]\",:0-9a\\"[(random >> 24) % 12];
        }
        weft_tokenizer *t = NULL;
        weft_status status =
            weft_tokenizer_from_json(engine, json, length, NULL, NULL, i & 1 ? 8 : -1, &t);
        assert_true((status == WEFT_OK) == (t != NULL));
        if (t) {
            int32_t *ids;
            size_t n_ids;
            if (!weft_tokenize(t, "a <s>\xff\n", 8, (weft_tokenize_options){true, true}, &ids,
                               &n_ids))
                weft_tokens_free(t, ids, n_ids);
        }
        weft_tokenizer_release(&t);
    }
}

/* Maps of random bytes: refused, or walked without leaving them. */
static void damaged_character_maps(void **state) {
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char text[] = "abc \xc3\xa9\xe2\x96\x81 \xf0\x9f\x99\x82 zz\xff";
    unsigned random = 5, opened = 0;
    for (int round = 0; round < 3000; round++) {
        char map[512], whole[1024];
        size_t n = 8 + (size_t)(round % 32) * 3 * 4; /* a multiple of three bytes: no padding */
        n = n / 12 * 16;
        n = n ? n : 16;
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            map[i] = digits[random >> 26];
        }
        memcpy(map, "EAAA", 4); /* a trie of 16 bytes */
        memcpy(map + 4, round % 2 ? "AA" : "A", round % 2 ? 2 : 1);
        map[n - 1] = map[n - 2] = 'A'; /* ends in a NUL */
        map[n] = 0;
        snprintf(whole, sizeof whole,
                 "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"%s\"}," MODEL
                 "}",
                 map);
        weft_tokenizer *t = NULL;
        weft_status status =
            weft_tokenizer_from_json(engine, whole, strlen(whole), NULL, NULL, -1, &t);
        assert_true(status == WEFT_OK || status == WEFT_E_FORMAT);
        if (t) {
            int32_t *ids;
            size_t n_ids;
            opened++;
            if (!weft_tokenize(t, text, sizeof text - 1, (weft_tokenize_options){true, true}, &ids,
                               &n_ids))
                weft_tokens_free(t, ids, n_ids);
        }
        weft_tokenizer_release(&t);
    }
    assert_true(opened > 100);
}

/* Texts and ids of the reference models. */
static void reference_folders(void **state) {
    (void)state;
    static const char *const names[] = {"llama", "qwen2", "gemma3", "gpt2"};
    skip_without(WEFT_SHARED_DIR "/reference/models/llama/hf/tokenizer.json");
    for (size_t k = 0; k < 4; k++) {
        char path[512];
        weft_mapping file;
        weft_json *root = NULL;
        weft_tokenizer *t = NULL;
        snprintf(path, sizeof path, WEFT_SHARED_DIR "/reference/models/%s/hf/tokenizer.json",
                 names[k]);
        assert_weft_ok(weft_file_map(path, &file));
        assert_weft_ok(weft_tokenizer_from_json(engine, (const char *)file.data, file.size_bytes,
                                                NULL, NULL, 320, &t));
        weft_file_unmap(&file);
        snprintf(path, sizeof path, WEFT_SHARED_DIR "/reference/models/%s/reference.json",
                 names[k]);
        assert_weft_ok(weft_file_map(path, &file));
        assert_weft_ok(
            weft_json_parse((const char *)file.data, file.size_bytes, "reference.json", &root));
        const weft_json *prompts = weft_json_get(root, "prompts");
        assert_true(weft_json_length(prompts) > 0);
        for (size_t i = 0; i < weft_json_length(prompts); i++) {
            const weft_json *prompt = weft_json_item(prompts, i);
            const weft_json *tokens = weft_json_get(prompt, "tokens");
            int32_t want[256];
            size_t n = weft_json_length(tokens), n_text;
            const char *text = weft_json_string(weft_json_get(prompt, "text"), &n_text);
            for (size_t j = 0; j < n; j++)
                want[j] = (int32_t)weft_json_integer(weft_json_item(tokens, j));
            expect_ids(t, text, n_text, true, true, want, n);
        }
        weft_json_free(&root);
        weft_file_unmap(&file);
        weft_tokenizer_release(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_level),
        cmocka_unit_test(whole_pieces_before_merges),
        cmocka_unit_test(marks_and_byte_fallback),
        cmocka_unit_test(configuration_names_the_ends),
        cmocka_unit_test(configured_ends_are_checked),
        cmocka_unit_test(a_template_among_several),
        cmocka_unit_test(refused_by_name),
        cmocka_unit_test(pattern_bomb),
        cmocka_unit_test(mutations),
        cmocka_unit_test(damaged_character_maps),
        cmocka_unit_test(reference_folders),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
