/* Chats: a conversation to a prompt by the model's own template, and generated text back into
 * content, reasoning and tool calls. docs/text.md says what templates may do. */
#ifndef WEFT_CHAT_H
#define WEFT_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/engine.h>
#include <weft/status.h>
#include <weft/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Simple use ---- */

typedef struct weft_chat_message {
    const char *role; /* "system", "user", "assistant" */
    const char *content;
} weft_chat_message;

/* The prompt of a conversation in the model's own template; *out is NUL-terminated, freed with
 * weft_text_free. Invalid UTF-8 becomes U+FFFD. Errors: those of weft_chat_template_open and
 * weft_chat_render. The text is meant for parse_special. */
WEFT_API weft_status weft_chat_prompt(const weft_tokenizer *tokenizer,
                                      const weft_chat_message *messages, size_t n_messages,
                                      bool add_generation_prompt, char **out, size_t *n_bytes);
WEFT_API void weft_text_free(const weft_tokenizer *tokenizer, char *text, size_t n_bytes);

/* ---- Templates ---- */

/* A parsed template. Immutable; shared by any threads. */
typedef struct weft_chat_template weft_chat_template;

/* Parses a template (Jinja, as chat templates use it; UTF-8). Errors: WEFT_E_NULL, WEFT_E_MEMORY,
 * WEFT_E_FORMAT (the detail has line and column). */
WEFT_API weft_status weft_chat_template_create(weft_engine *engine, const char *source,
                                               size_t n_bytes, weft_chat_template **out);
/* The model's own template, with its BOS and EOS texts as bos_token and eos_token. A model without
 * one gets that of the family whose markers its vocabulary has: ChatML, Llama 3 or gemma; where it
 * has none of them, WEFT_E_NOT_FOUND. Else as weft_chat_template_create. */
WEFT_API weft_status weft_chat_template_open(const weft_tokenizer *tokenizer,
                                             weft_chat_template **out);
/* The family whose template stands in for one that the model lacks ("ChatML", "Llama 3", "gemma",
 * static memory); NULL: it is the model's own, or was given, or `chat_template` is NULL. */
WEFT_API const char *weft_chat_template_family(const weft_chat_template *chat_template);
WEFT_API weft_chat_template *weft_chat_template_retain(weft_chat_template *chat_template);
WEFT_API void weft_chat_template_release(weft_chat_template **chat_template);

/* What a template is given. Every text is JSON, NUL-terminated; NULL: none, which a template sees
 * as null (of `variables`: nothing). */
typedef struct weft_chat_input {
    const char *messages;  /* array of {"role": …, "content": …, "tool_calls": …, …} */
    const char *tools;     /* array of {"type": "function", "function": {…}} */
    const char *documents; /* array */
    const char *variables; /* object: any others; it may also hold the above, and then counts */
    bool add_generation_prompt; /* the prompt ends where the assistant's answer begins */
    const char *now;            /* "2026-01-15T12:00:00" for strftime_now; NULL: the local time */
} weft_chat_input;

/* Renders. *out is NUL-terminated, freed with weft_chat_text_free. Steps, memory, output and
 * nesting are bounded, so that it ends whatever the template. Errors: WEFT_E_NULL, WEFT_E_MEMORY;
 * WEFT_E_ARGUMENT (the template refuses the conversation: the detail is its own message; or an
 * operation in it failed, or the input is no JSON: the detail has line and column),
 * WEFT_E_UNSUPPORTED (a bound was reached). */
WEFT_API weft_status weft_chat_render(const weft_chat_template *chat_template,
                                      const weft_chat_input *input, char **out, size_t *n_bytes);
WEFT_API void weft_chat_text_free(const weft_chat_template *chat_template, char *text,
                                  size_t n_bytes);

/* ---- Generated text back into parts ---- */

typedef enum weft_chat_part {
    WEFT_CHAT_CONTENT,   /* text for the user */
    WEFT_CHAT_REASONING, /* what the model thought before it answered */
    WEFT_CHAT_TOOL_CALL  /* a whole call */
} weft_chat_part;

/* A piece of what the model said; all texts are borrowed during the call only. */
typedef struct weft_chat_delta {
    weft_chat_part part;
    const char
        *text; /* CONTENT, REASONING: the next piece; TOOL_CALL: the arguments, a JSON object */
    size_t n_bytes;
    size_t call_index; /* TOOL_CALL: from 0 */
    const char *name,
        *id; /* TOOL_CALL: the tool's name; the call's id, where the model gives one */
    size_t name_bytes, id_bytes;
} weft_chat_delta;

typedef void (*weft_chat_delta_fn)(void *ctx, const weft_chat_delta *delta);

typedef struct weft_chat_parser weft_chat_parser;

typedef struct weft_chat_parser_options {
    const char *prompt; /* the rendering that the text goes on from; NULL: unknown. One that ends in
                           an open mark of reasoning begins with reasoning */
    size_t prompt_bytes;
    bool tool_calls;   /* look for calls; else they are content */
    const char *tools; /* JSON, as for rendering: types of parameters for formats that do not say
                          what is a string; may be NULL */
} weft_chat_parser_options;

/* The name of the format in which a template has models call tools: "hermes", "llama3",
 * "mistral", "deepseek", "harmony", …; "plain" when it has none. Static memory. */
WEFT_API const char *weft_chat_template_format(const weft_chat_template *chat_template);

/* A parser of one answer in the template's format. Used by one thread at a time. Formats mark calls
 * with special tokens, so that the text is to be generated with them shown
 * (weft_generate_options.show_special). Errors: WEFT_E_NULL, WEFT_E_MEMORY, WEFT_E_FORMAT (tools
 * are no JSON). */
WEFT_API weft_status weft_chat_parser_create(const weft_chat_template *chat_template,
                                             const weft_chat_parser_options *options,
                                             weft_chat_delta_fn on_delta, void *ctx,
                                             weft_chat_parser **out);
/* The next piece of text, cut anywhere; what results does not depend on where. Text is held back
 * only while it may be a mark or is a call; a call is handed out when it is complete. What looks
 * like a call but is none comes out as content: nothing is lost, but blanks around marks. */
WEFT_API weft_status weft_chat_parser_feed(weft_chat_parser *parser, const char *text,
                                           size_t n_bytes);
/* The answer has ended: what was held back is decided. The parser is then to be freed. */
WEFT_API weft_status weft_chat_parser_finish(weft_chat_parser *parser);
WEFT_API void weft_chat_parser_destroy(weft_chat_parser **parser);

#ifdef __cplusplus
}
#endif
#endif
