/* Opening models: what is refused and how, the load modes, progress, information, sharing. */
#include "fixture.h"

static char path[64], path_q8[64];
static weft_engine *engine;

static int make_files(void **state) {
    (void)state;
    assert_true(tiny_model_temporary(path, &(tiny_options){.chat = true}));
    assert_true(tiny_model_temporary(path_q8, &(tiny_options){.q8_0 = true}));
    assert_weft_ok(weft_engine_create(NULL, &engine));
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    unlink(path);
    unlink(path_q8);
    weft_engine_release(&engine);
    return 0;
}

static void test_information(void **state) {
    (void)state;
    weft_model *m;
    assert_weft_ok(weft_model_open(engine, path, NULL, &m));
    weft_model_info i = weft_model_get_info(m);
    assert_string_equal(i.architecture, "llama");
    assert_string_equal(i.name, "tiny");
    assert_int_equal(i.n_layer, 2);
    assert_int_equal(i.n_embd, 64);
    assert_int_equal(i.n_head, 4);
    assert_int_equal(i.n_head_kv, 2);
    assert_int_equal(i.n_vocab, TINY_N_VOCAB);
    assert_int_equal(i.n_context, TINY_N_CONTEXT);
    /* embedding and output; a layer's two norms, q, k, v, o and three of the MLP; the last norm */
    uint64_t n = 2 * 300 * 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64) + 64;
    assert_int_equal(i.n_parameters, n);
    assert_int_equal(i.weight_bytes, 4 * n);
    const weft_tokenizer *t = weft_model_tokenizer(m);
    assert_int_equal(weft_tokenizer_n_tokens(t), TINY_N_VOCAB);
    assert_non_null(weft_tokenizer_chat_template(t));
    weft_model *again = weft_model_retain(m);
    weft_model_release(&m);
    assert_null(m);
    assert_string_equal(weft_model_get_info(again).architecture, "llama");
    weft_model_release(&again);
    weft_model_release(NULL);
}

/* Logits after a short text. */
static void logits_of(const char *file, weft_load_mode mode, float *out) {
    weft_model_options o = weft_model_options_default();
    o.mode = mode;
    weft_model *m;
    weft_session *s;
    int32_t ids[8];
    bytes_to_ids("a text.", ids);
    assert_weft_ok(weft_model_open(engine, file, &o, &m));
    assert_weft_ok(weft_session_create(m, NULL, &s));
    weft_model_release(&m); /* the session holds it */
    assert_weft_ok(weft_session_eval(s, ids, 7));
    memcpy(out, weft_session_logits(s), TINY_N_VOCAB * sizeof *out);
    weft_session_release(&s);
}

static void test_load_modes_change_no_bit(void **state) {
    (void)state;
    const char *files[] = {path, path_q8};
    float packed[TINY_N_VOCAB], other[TINY_N_VOCAB];
    for (int i = 0; i < 2; i++) {
        logits_of(files[i], WEFT_LOAD_REPACK, packed);
        logits_of(files[i], WEFT_LOAD_MAP, other);
        same_bits(packed, other, TINY_N_VOCAB);
        logits_of(files[i], WEFT_LOAD_COPY, other);
        same_bits(packed, other, TINY_N_VOCAB);
        logits_of(files[i], WEFT_LOAD_LAZY, other);
        same_bits(packed, other, TINY_N_VOCAB);
    }
}

static void test_loaded_models_do_not_need_their_file(void **state) {
    (void)state;
    char copy[64];
    float want[TINY_N_VOCAB], got[TINY_N_VOCAB];
    logits_of(path, WEFT_LOAD_REPACK, want);
    for (int mode = 0; mode < 2; mode++) {
        assert_true(tiny_model_temporary(copy, NULL));
        weft_model_options o = weft_model_options_default();
        o.mode = mode ? WEFT_LOAD_COPY : WEFT_LOAD_REPACK;
        weft_model *m;
        weft_session *s;
        int32_t ids[8];
        bytes_to_ids("a text.", ids);
        assert_weft_ok(weft_model_open(engine, copy, &o, &m));
        assert_int_equal(truncate(copy, 0), 0);
        unlink(copy);
        assert_weft_ok(weft_session_create(m, NULL, &s));
        assert_weft_ok(weft_session_eval(s, ids, 7));
        memcpy(got, weft_session_logits(s), sizeof got);
        same_bits(want, got, TINY_N_VOCAB);
        weft_session_release(&s);
        weft_model_release(&m);
    }
}

typedef struct seen {
    uint64_t last, total;
    int calls, stop_at;
} seen;

static bool on_progress(void *ctx, uint64_t done, uint64_t total) {
    seen *p = ctx;
    assert_true(done >= p->last && done <= total);
    p->last = done;
    p->total = total;
    return ++p->calls != p->stop_at;
}

static void test_progress(void **state) {
    (void)state;
    for (weft_load_mode mode = WEFT_LOAD_REPACK; mode <= WEFT_LOAD_LAZY; mode++) {
        if (mode == WEFT_LOAD_MAP)
            continue; /* nothing to wait for */
        seen p = {0};
        weft_model_options o = weft_model_options_default();
        o.mode = mode;
        o.progress = on_progress;
        o.progress_ctx = &p;
        weft_model *m;
        assert_weft_ok(weft_model_open(engine, path, &o, &m));
        assert_true(p.calls > 0);
        assert_int_equal(p.last, p.total);
        weft_model_release(&m);
        p = (seen){.stop_at = 1};
        assert_weft_fails(weft_model_open(engine, path, &o, &m), WEFT_E_CANCELLED);
        assert_null(m);
    }
}

static void test_refusals_name_the_file(void **state) {
    (void)state;
    weft_model *m;
    weft_tokenizer *t;
    assert_weft_fails(weft_model_open(engine, "/no/such.gguf", NULL, &m), WEFT_E_NOT_FOUND);
    assert_detail_has("/no/such.gguf");
    assert_weft_fails(weft_tokenizer_open(engine, "/no/such.gguf", NULL, &t), WEFT_E_NOT_FOUND);
    assert_weft_fails(weft_model_open(engine, path, &(weft_model_options){.mode = 9}, &m),
                      WEFT_E_ARGUMENT);
    assert_weft_fails(weft_model_open(NULL, path, NULL, &m), WEFT_E_NULL);
    char cut[64];
    assert_true(tiny_model_temporary(cut, NULL));
    assert_int_equal(truncate(cut, 100000), 0);
    assert_weft_fails(weft_model_open(engine, cut, NULL, &m), WEFT_E_FORMAT);
    assert_detail_has(cut);
    unlink(cut);
    assert_null(m);
}

static void test_without_tokenizer(void **state) {
    (void)state;
    weft_model_options o = weft_model_options_default();
    o.without_tokenizer = true;
    weft_model *m;
    weft_session *s;
    assert_weft_ok(weft_model_open(engine, path, &o, &m));
    assert_null(weft_model_tokenizer(m));
    assert_weft_ok(weft_session_create(m, NULL, &s));
    weft_generate_options g = weft_generate_options_default();
    g.max_tokens = 5;
    captured out = {0};
    int32_t token = 65;
    assert_weft_ok(weft_generate(s, &token, 1, NULL, &g, capture, &out, NULL));
    assert_int_equal(out.n_tokens, 5);
    assert_int_equal(out.n_bytes, 0);
    g.stops = (const char *[]){"x"};
    g.n_stops = 1;
    assert_weft_fails(weft_generate(s, &token, 1, NULL, &g, capture, &out, NULL), WEFT_E_ARGUMENT);
    weft_session_release(&s);
    weft_model_release(&m);
}

static void test_tokenizer_alone(void **state) {
    (void)state;
    weft_tokenizer *t;
    int32_t *ids;
    size_t n;
    assert_weft_ok(weft_tokenizer_open(engine, path, NULL, &t));
    assert_weft_ok(weft_tokenize(t, "then", 4, (weft_tokenize_options){0}, &ids, &n));
    assert_int_equal(n, 2);
    assert_int_equal(ids[0], TINY_MERGED);     /* th */
    assert_int_equal(ids[1], TINY_MERGED + 8); /* en */
    weft_tokens_free(t, ids, n);
    weft_tokenizer_release(&t);
}

static void test_versions(void **state) {
    (void)state;
    assert_non_null(strstr(weft_libraries(), "PCRE2 10."));
    assert_non_null(strstr(weft_libraries(), "Jansson 2."));
    assert_non_null(strstr(weft_libraries(), "utf8proc 2."));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_information),
        cmocka_unit_test(test_load_modes_change_no_bit),
        cmocka_unit_test(test_loaded_models_do_not_need_their_file),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_refusals_name_the_file),
        cmocka_unit_test(test_without_tokenizer),
        cmocka_unit_test(test_tokenizer_alone),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
