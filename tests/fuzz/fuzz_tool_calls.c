/* libFuzzer target: the parser of generated text. The first byte chooses the family, the second the
 * size of the pieces; however a text is cut, the same must come out. */
#include <weft/chat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const signs[] = {"<tool_call>",
                                    "<|start_header_id|> ipython",
                                    "[TOOL_CALLS]",
                                    "<｜tool▁calls▁begin｜>",
                                    "｜DSML｜ tool_calls",
                                    "<|channel|> <|message|>",
                                    "<|tool_call_begin|>",
                                    "<|tool_call> <tool_call|>",
                                    "<|START_ACTION|>",
                                    "Action: tool_name",
                                    "<|start_of_role|>",
                                    "<minimax:tool_call>",
                                    "<seed:tool_call>",
                                    "<function=",
                                    "x"};

typedef struct record {
    char *text;
    size_t n, room;
    weft_chat_part last;
} record;

static void add(record *r, const char *text, size_t n) {
    if (r->n + n > r->room) {
        r->room = (r->n + n) * 2;
        r->text = realloc(r->text, r->room);
    }
    if (n)
        memcpy(r->text + r->n, text, n);
    r->n += n;
}

static void on_delta(void *ctx, const weft_chat_delta *d) {
    record *r = ctx;
    if (d->part != r->last || d->part == WEFT_CHAT_TOOL_CALL)
        add(r, (const char[]){'\0', (char)('0' + d->part)}, 2);
    r->last = d->part;
    if (d->part == WEFT_CHAT_TOOL_CALL) {
        add(r, d->name, d->name_bytes);
        add(r, "\0#", 2);
        add(r, d->id, d->id_bytes);
        add(r, "\0=", 2);
    }
    add(r, d->text, d->n_bytes);
}

static void parse(const weft_chat_template *t, const char *text, size_t n, size_t step,
                  record *out) {
    weft_chat_parser_options options = {.tool_calls = true};
    weft_chat_parser *p;
    if (weft_chat_parser_create(t, &options, on_delta, out, &p))
        abort();
    for (size_t at = 0; at < n; at += step)
        if (weft_chat_parser_feed(p, text + at, n - at < step ? n - at : step))
            abort();
    if (weft_chat_parser_finish(p))
        abort();
    weft_chat_parser_destroy(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static weft_engine *engine;
    if (size < 2)
        return 0;
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 1;
    if (!engine && weft_engine_create(&options, &engine))
        abort();
    const char *sign = signs[data[0] % (sizeof signs / sizeof signs[0])];
    weft_chat_template *t;
    if (weft_chat_template_create(engine, sign, strlen(sign), &t))
        abort();
    record whole = {0}, cut = {0};
    parse(t, (const char *)data + 2, size - 2, size, &whole);
    parse(t, (const char *)data + 2, size - 2, 1 + data[1] % 16, &cut);
    if (whole.n != cut.n || (whole.n && memcmp(whole.text, cut.text, whole.n) != 0)) {
        fprintf(stderr, "whole:\n%.*s\ncut:\n%.*s\n", (int)whole.n, whole.text, (int)cut.n,
                cut.text);
        abort();
    }
    free(whole.text);
    free(cut.text);
    weft_chat_template_release(&t);
    return 0;
}
