/* With the k-th allocation failing, for every k: an error or success, nothing lost, nothing leaked.
 */
#include "text/fixture.h"

typedef struct ramp {
    size_t left;  /* allocations that still succeed */
    size_t alive; /* bytes */
} ramp;

static void *ramp_alloc(void *ctx, size_t n, size_t align) {
    ramp *r = ctx;
    if (r->left == 0)
        return NULL;
    r->left--;
    void *p = NULL;
    if (posix_memalign(&p, align, n))
        return NULL;
    r->alive += n;
    return p;
}
static void ramp_release(void *ctx, void *p, size_t n) {
    ((ramp *)ctx)->alive -= n;
    free(p);
}

static weft_status use(weft_tokenizer *t) {
    static const char text[] = "a the e\xcc\x81 <|im_end|> \xff\n\n";
    int32_t *ids = NULL;
    size_t n = 0;
    weft_status status =
        weft_tokenize(t, text, sizeof text - 1, (weft_tokenize_options){true, true}, &ids, &n);
    if (status)
        return status;
    weft_tokens_free(t, ids, n);
    char *prompt;
    const weft_chat_message hello = {"user", "hi"};
    status = weft_chat_prompt(t, &hello, 1, true, &prompt, &n);
    if (status == WEFT_OK)
        weft_text_free(t, prompt, n);
    return status;
}

static const char chatml[] =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}";
static const char json[] =
    "{\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"ByteLevel\","
    "\"add_prefix_space\":false},\"added_tokens\":[{\"id\":3,\"content\":\"<x>\",\"special\":"
    "true}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a "
    "b\"]}}";

static const char wordpiece[] =
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
    "\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"vocab\":{\"?\":"
    "0,"
    "\"a\":1,\"##b\":2}}}";
/* The map (a trie that maps nothing) and all kinds of steps. */
static const char unigram[] =
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Precompiled\","
    "\"precompiled_charsmap\":\"BAAAAAAAAAAA\"},{\"type\":\"NFKD\"},{\"type\":\"Replace\","
    "\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"x\"},{\"type\":\"Replace\",\"pattern\":"
    "{\"String\":\"e\"},\"content\":\"ee\"},{\"type\":\"Strip\"},{\"type\":\"Prepend\",\"prepend\":"
    "\"y\"}]},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",-1],[\"the\",-2]]}}";

static const char *json_of(int kind) {
    return kind == 3 ? json : kind == 4 ? wordpiece : kind == 5 ? unigram : NULL;
}

static weft_metadata *metadata_of(int kind) {
    if (json_of(kind)) {
        weft_metadata *m = new_metadata();
        put_string(m, "tokenizer_config.chat_template", chatml);
        return m;
    }
    weft_metadata *m = kind == 2 ? piece_metadata() : byte_metadata();
    put_string(m, "tokenizer.chat_template", chatml);
    return m;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        bool done = false;
        const char *text = json_of(kind);
        weft_metadata *m = metadata_of(kind);
        for (size_t k = 0; !done; k++) {
            assert_true(k < 3000);
            ramp r = {.left = SIZE_MAX};
            weft_allocator a = {ramp_alloc, ramp_release, &r};
            weft_engine *engine = make_engine(&a);
            assert_non_null(engine);
            weft_tokenizer *t = NULL;
            r.left = k;
            weft_status status =
                text ? weft_tokenizer_from_json(engine, text, strlen(text), m, NULL, -1, &t)
                     : weft_tokenizer_from_gguf(engine, m, kind == 1 ? "qwen2" : NULL, -1, &t);
            if (status == WEFT_OK)
                status = use(t);
            if (status != WEFT_OK && status != WEFT_E_MEMORY)
                fail_msg("kind %d, allocation %zu: %s: %s", kind, k, weft_status_name(status),
                         weft_detail());
            done = status == WEFT_OK;
            weft_tokenizer_release(&t);
            r.left = SIZE_MAX;
            weft_engine_release(&engine);
            assert_int_equal(r.alive, 0);
        }
        weft_metadata_destroy(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
