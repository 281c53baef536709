/* Inside of weft_chat_parser: what its two halves share, texts with marks in them (tool_calls.c)
 * and harmony's messages (tool_calls_harmony.c). */
#ifndef WEFT_TEXT_TOOL_PARSER_H
#define WEFT_TEXT_TOOL_PARSER_H

#include "text/chat_impl.h"
#include "text/tool_calls.h"

typedef enum weft_parser_state {
    WEFT_IN_TEXT,
    WEFT_IN_REASONING,
    WEFT_IN_CALL,
    WEFT_IN_HEADER /* harmony: between <|start|> or <|channel|> and <|message|> */
} weft_parser_state;

struct weft_chat_parser {
    weft_engine *engine;
    weft_allocator a;
    const weft_chat_syntax *syntax;
    weft_chat_delta_fn on_delta;
    void *ctx;
    weft_json *tools;
    bool tool_calls;
    weft_parser_state state;
    weft_bytes held; /* text that is not decided */
    size_t at;       /* what comes before was handed out */
    size_t body;     /* of a call: where its text begins, behind the mark */
    size_t seen;     /* of a call: up to here there is no end */
    size_t value;    /* of a call in JSON: where the value begins */
    bool read;       /* … and that it was read: the mark that ends the call is missing */
    bool bare;       /* it began without a mark */
    weft_json_scan scan;
    bool skip_blanks; /* those that come next are layout */
    bool started;     /* no bare call may begin here */
    bool spoke;       /* content was handed out: no reasoning comes any more */
    weft_calls calls;
    size_t n_calls; /* handed out */
    bool no_memory;
    /* harmony */
    bool inside;  /* a message's body, not the text between messages */
    bool calling; /* … is a call of calls.text[0 … n_recipient - 1] */
    size_t n_recipient;
};

void weft_parser_emit(weft_chat_parser *p, weft_chat_part part, const char *text, size_t n);
/* Hands out what p->calls holds, and forgets it. */
void weft_parser_emit_calls(weft_chat_parser *p);
/* Text of [p->at, end): blanks at its end are kept back unless `all`, so that they can be left out
 * before a mark. */
void weft_parser_release(weft_chat_parser *p, weft_chat_part part, size_t end, bool all);
/* The first of the marks at or after p->at, else the beginning of what may become one (*n 0), else
 * the end of the text. NULL entries are passed over. */
size_t weft_parser_find(const weft_chat_parser *p, const char *const *marks, size_t n_marks,
                        size_t *which, size_t *n);

/* One step of harmony; false: more text is needed. */
bool weft_harmony_step(weft_chat_parser *p, bool at_end);
/* The state in which a prompt leaves an answer. */
void weft_harmony_begin(weft_chat_parser *p, weft_slice prompt);

#endif
