/* Chat prompts are what the model's own template renders, or an error. */
#include "text/fixture.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

static weft_engine *engine;

static weft_tokenizer *with_template(const char *source) {
    weft_metadata *m = byte_metadata();
    put_string(m, "tokenizer.chat_template", source);
    return open_gguf(engine, m, NULL);
}

static void expect_prompt(const char *source, const weft_chat_message *messages, size_t n,
                          const char *want) {
    weft_tokenizer *t = with_template(source);
    char *out = NULL;
    size_t n_bytes = 0;
    assert_weft_ok(weft_chat_prompt(t, messages, n, true, &out, &n_bytes));
    assert_string_equal(out, want);
    assert_int_equal(n_bytes, strlen(want));
    weft_text_free(t, out, n_bytes);
    weft_tokenizer_release(&t);
}

static const weft_chat_message hello[] = {{"user", " Hello "}};
static const weft_chat_message talk[] = {
    {"system", "Be brief."}, {"user", "a"}, {"assistant", "b"}, {"user", "c"}};

#define BODY                                                                                       \
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"       \
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

static void chatml(void **state) {
    (void)state;
    expect_prompt("{% for message in messages %}" BODY, hello, 1,
                  "<|im_start|>user\n Hello <|im_end|>\n<|im_start|>assistant\n");
    /* The spelling does not matter. */
    expect_prompt("{%- for message in messages -%}\n  {{ \"<|im_start|>\" + message.role + "
                  "\"\\n\" + message.content + \"<|im_end|>\\n\" }}\n{%- endfor -%}\n"
                  "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}\n",
                  hello, 1, "<|im_start|>user\n Hello <|im_end|>\n<|im_start|>assistant\n");
}

static void default_system_text(void **state) {
    (void)state;
    const char *source = "{% for message in messages %}{% if loop.first and messages[0]['role'] != "
                         "'system' %}{{ '<|im_start|>system\nHi.<|im_end|>\n' }}{% endif %}" BODY;
    expect_prompt(source, hello, 1,
                  "<|im_start|>system\nHi.<|im_end|>\n<|im_start|>user\n Hello <|im_end|>\n"
                  "<|im_start|>assistant\n");
    expect_prompt(source, talk, 2,
                  "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
                  "<|im_start|>assistant\n");
}

#define GEMMA3                                                                                     \
    "{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n    {%- if "                     \
    "messages[0]['content'] is string -%}\n        {%- set first_user_prefix = "                   \
    "messages[0]['content'] + '\n\n' -%}\n    {%- else -%}\n        {%- set first_user_prefix = "  \
    "messages[0]['content'][0]['text'] + '\n\n' -%}\n    {%- endif -%}\n    {%- set "              \
    "loop_messages = messages[1:] -%}\n{%- else -%}\n    {%- set first_user_prefix = \"\" -%}\n "  \
    "   {%- set loop_messages = messages -%}\n{%- endif -%}\n{%- for message in loop_messages "    \
    "-%}\n    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}\n        {{ "       \
    "raise_exception(\"Conversation roles must alternate user/assistant/user/assistant/...\") "    \
    "}}\n    {%- endif -%}\n    {%- if (message['role'] == 'assistant') -%}\n        {%- set "     \
    "role = \"model\" -%}\n    {%- else -%}\n        {%- set role = message['role'] -%}\n    "     \
    "{%- endif -%}\n    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first "    \
    "else \"\") }}\n    {%- if message['content'] is string -%}\n        {{ message['content'] | " \
    "trim }}\n    {%- elif message['content'] is iterable -%}\n        {%- for item in "           \
    "message['content'] -%}\n            {%- if item['type'] == 'image' -%}\n                {{ "  \
    "'<start_of_image>' }}\n            {%- elif item['type'] == 'text' -%}\n                {{ "  \
    "item['text'] | trim }}\n            {%- endif -%}\n        {%- endfor -%}\n    {%- else "     \
    "-%}\n        {{ raise_exception(\"Invalid content type\") }}\n    {%- endif -%}\n    {{ "     \
    "'<end_of_turn>\n' }}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n    "                 \
    "{{'<start_of_turn>model\n'}}\n{%- endif -%}\n"

static void gemma3_folds_the_system_text(void **state) {
    (void)state;
    expect_prompt(GEMMA3, talk, 4,
                  "<s><start_of_turn>user\nBe brief.\n\na<end_of_turn>\n<start_of_turn>model\n"
                  "b<end_of_turn>\n<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n");
    weft_tokenizer *t = with_template(GEMMA3);
    char *out;
    size_t n = 0;
    assert_weft_fails(weft_chat_prompt(t, talk + 2, 2, true, &out, &n), WEFT_E_ARGUMENT);
    assert_detail_has("alternate");
    weft_tokenizer_release(&t);
}

/* What cannot be rendered faithfully is refused with the way out; time is bounded. */
static void other_templates(void **state) {
    (void)state;
    static char brackets[60001];
    memset(brackets, '{', 60000);
    const char *const sources[] = {
        "",
        "{{",
        "{% for",
        "{#",
        "{% break %}",
        "{% for message in messages %}{{ message.content }}{% endfor %}",
        "{% for message in messages %}x" BODY,
        "{% for message in messages %}" BODY "{{ 1 }}",
        "{% generation %}<|im_start|>{% endgeneration %}",
        "{{ '<|im_start|>\\x41' }}",
        "'",
        brackets,
    };
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        double begin = weft_clock_seconds();
        weft_tokenizer *t = with_template(sources[i]);
        char *out;
        size_t n = 0;
        assert_weft_fails(weft_chat_prompt(t, hello, 1, true, &out, &n), WEFT_E_UNSUPPORTED);
        assert_detail_has("--no-template");
        weft_tokenizer_release(&t);
        assert_true(weft_clock_seconds() - begin < 5);
    }
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    char *out;
    size_t n = 0;
    assert_weft_fails(weft_chat_prompt(t, hello, 1, true, &out, &n), WEFT_E_NOT_FOUND);
    weft_tokenizer_release(&t);
}

/* ---- Against renderings of the real templates ---- */

static weft_json *read_json(const char *path) {
    weft_mapping file;
    weft_json *root = NULL;
    assert_weft_ok(weft_file_map(path, &file));
    assert_weft_ok(weft_json_parse((const char *)file.data, file.size_bytes, path, &root));
    weft_file_unmap(&file);
    return root;
}

static const char *text_of(const weft_json *v) {
    size_t n = 0;
    return v && weft_json_type_of(v) == WEFT_JSON_STRING ? weft_json_string(v, &n) : NULL;
}

/* Messages of role and content alone; false for others, and for conversations with tools. */
static bool plain_messages(const weft_json *conversation, weft_chat_message *out, size_t *n) {
    const weft_json *messages = weft_json_get(conversation, "messages");
    const weft_json *tools = weft_json_get(conversation, "tools");
    *n = weft_json_length(messages);
    if (tools && weft_json_type_of(tools) != WEFT_JSON_NULL)
        return false;
    for (size_t i = 0; i < *n; i++) {
        const weft_json *m = weft_json_item(messages, i);
        out[i].role = text_of(weft_json_get(m, "role"));
        out[i].content = text_of(weft_json_get(m, "content"));
        if (!out[i].content || weft_json_length(m) != 2 || strcmp(out[i].role, "tool") == 0)
            return false;
    }
    return true;
}

static const weft_json *by_id(const weft_json *list, const char *id) {
    for (size_t i = 0; i < weft_json_length(list); i++)
        if (strcmp(text_of(weft_json_get(weft_json_item(list, i), "id")), id) == 0)
            return weft_json_item(list, i);
    fail_msg("no conversation %s", id);
    return NULL;
}

static size_t compare(weft_tokenizer *t, const weft_json *conversations, const weft_json *record) {
    weft_chat_message messages[64];
    size_t n, n_bytes;
    const char *id = text_of(weft_json_get(record, "conversation"));
    const char *want = text_of(weft_json_get(record, "output"));
    bool prompt =
        weft_json_bool(weft_json_get(weft_json_get(record, "options"), "add_generation_prompt"));
    if (!plain_messages(by_id(conversations, id), messages, &n))
        return 0;
    char *out = NULL;
    weft_status status = weft_chat_prompt(t, messages, n, prompt, &out, &n_bytes);
    if (!want) {
        assert_int_equal(status, WEFT_E_ARGUMENT);
        return 1;
    }
    if (status != WEFT_OK)
        fail_msg("%s: %s", id, weft_detail());
    assert_string_equal(out, want);
    weft_text_free(t, out, n_bytes);
    return 1;
}

static void real_templates(void **state) {
    (void)state;
    static const struct {
        const char *name, *bos;
    } models[] = {{"gguf-smollm2", "<|im_start|>"},
                  {"OpenHermes-2.5-Mistral-7B", "<s>"},
                  {"google-gemma-2-2b-it", "<bos>"},
                  {"Qwen-Qwen2.5-7B-Instruct", "<|endoftext|>"}};
    skip_without(WEFT_SHARED_DIR "/chat/conversations.json");
    weft_json *conversations = read_json(WEFT_SHARED_DIR "/chat/conversations.json");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, WEFT_SHARED_DIR "/chat/templates/%s.jinja", models[i].name);
        weft_mapping file;
        assert_weft_ok(weft_file_map(path, &file));
        char *source = strndup((const char *)file.data, file.size_bytes);
        weft_file_unmap(&file);
        static words w;
        memset(&w, 0, sizeof w);
        word(&w, models[i].bos, CONTROL, 0);
        weft_metadata *m = new_metadata();
        put_string(m, "tokenizer.ggml.model", "llama");
        put_words(m, "tokenizer.ggml.tokens", &w);
        put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
        put_u32(m, "tokenizer.ggml.bos_token_id", 0);
        put_string(m, "tokenizer.chat_template", source);
        free(source);
        weft_tokenizer *t = open_gguf(engine, m, NULL);
        snprintf(path, sizeof path, WEFT_SHARED_DIR "/chat/expected/%s.json", models[i].name);
        weft_json *expected = read_json(path);
        size_t compared = 0;
        for (size_t k = 0; k < weft_json_length(expected); k++)
            compared += compare(t, conversations, weft_json_item(expected, k));
        assert_true(compared >= 20);
        print_message("%s: %zu renderings\n", models[i].name, compared);
        weft_json_free(&expected);
        weft_tokenizer_release(&t);
    }
    weft_json_free(&conversations);
}

static int set_up(void **state) {
    (void)state;
    engine = make_engine(NULL);
    return engine ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    weft_engine_release(&engine);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chatml),
        cmocka_unit_test(default_system_text),
        cmocka_unit_test(gemma3_folds_the_system_text),
        cmocka_unit_test(other_templates),
        cmocka_unit_test(real_templates),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
