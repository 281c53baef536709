/* Chat prompts are what the model's own template renders, or an error. */
#include "text/engine_fixture.h"

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

/* A template that does not parse never keeps a model from loading: only its use fails. */
static void a_bad_template_fails_when_used(void **state) {
    (void)state;
    static const char *const sources[] = {"{{", "{% for", "{#", "{% break %}", "{% include 'x' %}"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        weft_tokenizer *t = with_template(sources[i]);
        char *out;
        size_t n = 0;
        assert_weft_fails(weft_chat_prompt(t, hello, 1, true, &out, &n), WEFT_E_FORMAT);
        assert_detail_has("line 1, column");
        assert_null(out);
        weft_tokenizer_release(&t);
    }
}

static void messages_come_through_unchanged(void **state) {
    (void)state;
    static const weft_chat_message odd[] = {
        {"user", "\"q\" \\ \n\t\x01 {{ x }} \xe6\x9d\xb1 \xf0\x9f\x98\x80 </s>"}, {"\"", ""}};
    expect_prompt("{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}", odd, 2,
                  "user:\"q\" \\ \n\t\x01 {{ x }} \xe6\x9d\xb1 \xf0\x9f\x98\x80 </s>;\":;");
    static const weft_chat_message bad[] = {{"user", "a\xff\xe6\x9d"}};
    expect_prompt("{{ messages[0].content }}", bad, 1, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void without_a_template(void **state) {
    (void)state;
    char *out;
    size_t n = 0;
    /* The vocabulary has ChatML's marker. */
    static words w;
    memset(&w, 0, sizeof w);
    word(&w, "a", NORMAL, 0);
    word(&w, "<|im_start|>", CONTROL, 0);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    weft_tokenizer *t = open_gguf(engine, m, NULL);
    assert_null(weft_tokenizer_chat_template(t));
    assert_weft_ok(weft_chat_prompt(t, talk, 2, true, &out, &n));
    assert_string_equal(out, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\na"
                             "<|im_end|>\n<|im_start|>assistant\n");
    weft_text_free(t, out, n);
    weft_tokenizer_release(&t);
    t = open_gguf(engine, piece_metadata(), NULL);
    assert_weft_fails(weft_chat_prompt(t, hello, 1, true, &out, &n), WEFT_E_NOT_FOUND);
    weft_tokenizer_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chatml),
        cmocka_unit_test(default_system_text),
        cmocka_unit_test(gemma3_folds_the_system_text),
        cmocka_unit_test(a_bad_template_fails_when_used),
        cmocka_unit_test(messages_come_through_unchanged),
        cmocka_unit_test(without_a_template),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
