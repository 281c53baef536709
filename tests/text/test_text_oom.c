/* With the k-th allocation failing, for every k: an error or success, nothing lost, nothing leaked.
 */
#include "text/fixture.h"
#include "text/tokenizer_impl.h"

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

static void ignore(void *ctx, const weft_chat_delta *delta) {
    (void)ctx, (void)delta;
}

/* Templates that make values of every kind, and answers with calls of several formats. */
static weft_status render_and_parse(weft_tokenizer *t) {
    static const char source[] =
        "<tool_call>{% macro f(a, b=[1, {'k': 2.5}]) %}{{ a | upper }}{{ b | tojson(indent=2) }}"
        "{{ caller() }}{% endmacro %}{% set ns = namespace(x='') %}{% for m in messages %}"
        "{% set ns.x = ns.x + m.content[1:] ~ loop.index %}{% set s %}{{ m }}{% endset %}"
        "{% call f(s | replace('a', 'b')) %}{{ m.items() | list | sort | join(',') }}{% endcall %}"
        "{% endfor %}{{ ns.x.split(' ') | map('trim') | select | list }}{{ '%s' % ns }}"
        "{{ range(40) | list | unique | list }}{{ strftime_now('%Y') }}{{ '{}'.format(ns) }}"
        "{{ ('[1, \"\\\\u00e9\"]' | from_json) }}";
    static const char *const pieces[] = {
        "<think>a", "</think>text <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\\n\"}}",
        "</tool_call><tool_call>\n<function=g>\n<parameter=x>\n1\n</parameter>\n</function>",
        "</tool_call>", "rest <tool"};
    char *out;
    size_t n;
    weft_chat_template *chat;
    weft_chat_parser *p;
    weft_status status = weft_chat_template_create(t->engine, source, sizeof source - 1, &chat);
    if (status)
        return status;
    weft_chat_input input = {.messages = "[{\"role\": \"user\", \"content\": \"a b\\u00e9\"}]",
                             .variables = "{\"q\": [1, 2, 3, {}, null, 1e5]}"};
    status = weft_chat_render(chat, &input, &out, &n);
    if (status == WEFT_OK)
        weft_chat_text_free(chat, out, n);
    weft_chat_parser_options options = {.tool_calls = true};
    if (status == WEFT_OK)
        status = weft_chat_parser_create(chat, &options, ignore, NULL, &p);
    if (status == WEFT_OK) {
        for (size_t i = 0; i < 5 && status == WEFT_OK; i++)
            status = weft_chat_parser_feed(p, pieces[i], strlen(pieces[i]));
        if (status == WEFT_OK)
            status = weft_chat_parser_finish(p);
        weft_chat_parser_destroy(&p);
    }
    weft_chat_template_release(&chat);
    return status;
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
    return status == WEFT_OK ? render_and_parse(t) : status;
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
