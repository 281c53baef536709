/* Tokenisers from GGUF metadata: every field is checked, absent ones have defaults. */
#include "text/engine_fixture.h"

/* Creation fails so, and the detail names the field. */
static void expect_refused(weft_metadata *m, const char *pre, int64_t rows, weft_status status,
                           const char *names) {
    weft_tokenizer *t = NULL;
    assert_weft_fails(weft_tokenizer_from_gguf(engine, m, pre, rows, &t), status);
    assert_detail_has(names);
    assert_null(t);
    weft_metadata_destroy(m);
}

/* A byte-level vocabulary with one word and one merge of the caller's. */
static weft_metadata *with_merge(const char *merge) {
    static words w, merges;
    byte_words(&w, &merges);
    word(&merges, merge, 0, 0);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "gpt2");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_words(m, "tokenizer.ggml.merges", &merges);
    return m;
}

static void counts_must_agree(void **state) {
    (void)state;
    weft_tokenizer *t = NULL;
    weft_metadata *m = byte_metadata();
    assert_weft_ok(weft_tokenizer_from_gguf(engine, m, NULL, B_N, &t));
    assert_int_equal(weft_tokenizer_n_tokens(t), B_N);
    weft_tokenizer_release(&t);
    expect_refused(m, NULL, B_N + 1, WEFT_E_FORMAT, "tokens");
    expect_refused(byte_metadata(), NULL, B_N - 1, WEFT_E_FORMAT, "tokens");
    static words w;
    piece_words(&w);
    m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.scores", WEFT_VALUE_F32, w.scores, 1);
    expect_refused(m, NULL, -1, WEFT_E_FORMAT, "scores");
    m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, 3);
    expect_refused(m, NULL, -1, WEFT_E_FORMAT, "token_type");
}

static void token_types_of_any_integer(void **state) {
    (void)state;
    static words w;
    unsigned char small[1024];
    piece_words(&w);
    for (size_t i = 0; i < w.n; i++)
        small[i] = (unsigned char)w.types[i];
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_U8, small, w.n);
    weft_tokenizer *t = open_gguf(engine, m, NULL); /* scores absent: the earlier token first */
    assert_int_equal(weft_tokenizer_bos(t), 1);
    assert_int_equal(weft_tokenizer_eos(t), 2);
    assert_true(weft_tokenizer_adds_bos(t));
    expect_ids(t, "aab", 3, false, true, IDS(1, S_MARK, S_AA, S_B));
    weft_tokenizer_release(&t);
    small[5] = 99;
    m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_U8, small, w.n);
    expect_refused(m, NULL, -1, WEFT_E_FORMAT, "token_type");
}

static void ids_in_range(void **state) {
    (void)state;
    static const char *const keys[] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                       "tokenizer.ggml.eot_token_id"};
    for (int i = 0; i < 3; i++)
        for (int huge = 0; huge < 2; huge++) {
            weft_metadata *m = with_merge("a b");
            weft_metadata_destroy(m);
            static words w;
            piece_words(&w);
            m = new_metadata();
            put_string(m, "tokenizer.ggml.model", "llama");
            put_words(m, "tokenizer.ggml.tokens", &w);
            put_u32(m, keys[i], huge ? UINT32_MAX : S_N);
            expect_refused(m, NULL, -1, WEFT_E_FORMAT, keys[i]);
        }
}

static void merges_of_known_pieces(void **state) {
    (void)state;
    expect_refused(with_merge("a b"), NULL, -1, WEFT_E_FORMAT, "merge 5");
    expect_refused(with_merge("ab"), NULL, -1, WEFT_E_FORMAT, "merges");
    expect_refused(with_merge("a "), NULL, -1, WEFT_E_FORMAT, "merges");
    expect_refused(with_merge(""), NULL, -1, WEFT_E_FORMAT, "merges");
    weft_tokenizer *t = open_gguf(engine, with_merge("t h"), NULL); /* a double: the first counts */
    expect_ids(t, "the", 3, false, false, IDS(B_THE));
    weft_tokenizer_release(&t);
}

static void unknown_names(void **state) {
    (void)state;
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "rwkv");
    expect_refused(m, NULL, -1, WEFT_E_UNSUPPORTED, "rwkv");
    expect_refused(byte_metadata(), "nosuch", -1, WEFT_E_UNSUPPORTED, "nosuch");
    expect_refused(byte_metadata(), "gpt", -1, WEFT_E_UNSUPPORTED, "\"gpt\"");
    expect_refused(byte_metadata(), "", -1, WEFT_E_UNSUPPORTED, "\"\"");
    expect_refused(new_metadata(), NULL, -1, WEFT_E_FORMAT, "tokenizer.ggml.model");
    m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "gpt2");
    expect_refused(m, NULL, -1, WEFT_E_FORMAT, "tokenizer.ggml.tokens");
}

static void byte_tokens_spell_bytes(void **state) {
    (void)state;
    static words w;
    memset(&w, 0, sizeof w);
    word(&w, "<0xZZ>", BYTE, 0);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    expect_refused(m, NULL, -1, WEFT_E_FORMAT, "byte token");
}

/* Empty, doubled and ill-formed tokens are in real files: they load, and the lowest id is meant. */
static void odd_tokens_load(void **state) {
    (void)state;
    static words w, merges;
    byte_words(&w, &merges);
    word(&w, "", NORMAL, 0);
    word(&w, "", CONTROL, 0);
    word(&w, "the", NORMAL, 0);
    word(&w, "\xff\xfe", NORMAL, 0);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "gpt2");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    put_words(m, "tokenizer.ggml.merges", &merges);
    weft_tokenizer *t = open_gguf(engine, m, NULL);
    expect_ids(t, "the", 3, true, true, IDS(B_THE));
    const char *text = "";
    size_t n = 0;
    weft_token_bytes(t, B_N, true, &text, &n);
    assert_int_equal(n, 0);
    weft_token_bytes(t, B_N + 3, true, &text, &n);
    assert_int_equal(n, 2);
    weft_tokenizer_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_must_agree), cmocka_unit_test(token_types_of_any_integer),
        cmocka_unit_test(ids_in_range),      cmocka_unit_test(merges_of_known_pieces),
        cmocka_unit_test(unknown_names),     cmocka_unit_test(byte_tokens_spell_bytes),
        cmocka_unit_test(odd_tokens_load),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
