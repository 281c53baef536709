/* Chat prompts of plain messages: they are written as JSON for the template. */
#include <stdio.h>
#include <string.h>
#include "text/chat_impl.h"
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

/* `text` as a JSON string; invalid UTF-8 becomes U+FFFD. False: no memory. */
static bool add_json_string(weft_bytes *b, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    size_t n = strlen(text);
    bool fits = weft_bytes_add(b, "\"", 1);
    for (size_t at = 0; at < n && fits;) {
        size_t length = weft_utf8_length(s + at, n - at);
        char escape[8];
        if (length == 0) {
            fits = weft_bytes_add(b, "\xef\xbf\xbd", 3);
            length = 1;
        } else if (s[at] < 0x20 || s[at] == '"' || s[at] == '\\') {
            snprintf(escape, sizeof escape, "\\u%04x", s[at]);
            fits = weft_bytes_add(b, escape, 6);
        } else {
            fits = weft_bytes_add(b, s + at, length);
        }
        at += length;
    }
    return fits && weft_bytes_add(b, "\"", 1);
}

static bool add_literal(weft_bytes *b, const char *text) {
    return weft_bytes_add(b, text, strlen(text));
}

static bool add_messages(weft_bytes *b, const weft_chat_message *messages, size_t n) {
    bool fits = add_literal(b, "[");
    for (size_t i = 0; i < n && fits; i++)
        fits = add_literal(b, i ? ",{\"role\":" : "{\"role\":") &&
               add_json_string(b, messages[i].role) && add_literal(b, ",\"content\":") &&
               add_json_string(b, messages[i].content) && add_literal(b, "}");
    return fits && weft_bytes_add(b, "]", 2); /* with the NUL */
}

weft_status weft_chat_prompt(const weft_tokenizer *t, const weft_chat_message *messages,
                             size_t n_messages, bool add_generation_prompt, char **out,
                             size_t *n_bytes) {
    if (!t || !out || !n_bytes || (!messages && n_messages))
        return weft_fail(WEFT_E_NULL, "chat prompt: an argument is NULL");
    *out = NULL;
    *n_bytes = 0;
    weft_status status = weft_engine_alive(t->engine);
    if (status != WEFT_OK)
        return status;
    for (size_t i = 0; i < n_messages; i++)
        if (!messages[i].role || !messages[i].content)
            return weft_fail(WEFT_E_NULL, "chat prompt: message %zu has no %s", i,
                             messages[i].role ? "content" : "role");
    weft_chat_template *chat_template;
    status = weft_chat_template_open(t, &chat_template);
    if (status != WEFT_OK)
        return status;
    weft_bytes json = {.a = &t->a};
    if (add_messages(&json, messages, n_messages)) {
        weft_chat_input input = {.messages = (const char *)json.data,
                                 .add_generation_prompt = add_generation_prompt};
        /* The template's allocator is the engine's, as the tokeniser's is. */
        status = weft_chat_render(chat_template, &input, out, n_bytes);
    } else {
        status = weft_fail(WEFT_E_MEMORY, "chat prompt: no memory");
    }
    weft_bytes_free(&json);
    weft_chat_template_release(&chat_template);
    return status;
}

void weft_text_free(const weft_tokenizer *t, char *text, size_t n_bytes) {
    if (t && text)
        weft_dealloc(&t->a, text, n_bytes + 1);
}
