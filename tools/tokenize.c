/* weft tokenize: text to token ids. */
#include "json.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: weft tokenize [-m MODEL] [-p TEXT | -f FILE] [options]\n"
    "Prints the token ids of a text (-p, -f or standard input).\n"
    "  -m MODEL      GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  -p TEXT       the text\n"
    "  -f FILE       a file with the text; - is standard input\n"
    "  --no-special  special tokens in the text are plain text\n"
    "  --no-bos      adds neither BOS nor EOS (default: what the model asks for)\n"
    "  --bos         adds BOS even where the model does not ask for it\n"
    "  --json        an object with ids and tokens\n"
    "  --jsonl       reads lines {\"id\": …, \"text\": …}, prints lines {\"id\": …, \"ids\": […]}\n"
    "  --pre NAME    pre-tokeniser for a file whose own is unknown\n"
    "Example: weft tokenize -p 'Hello world'\n";

typedef struct job {
    const char *model, *text, *file, *pre;
    bool special, as_model, force_bos, json, jsonl;
    weft_tokenizer *tokenizer;
} job;

static void print_ids(const job *j, const int32_t *ids, size_t n, const char *between) {
    bool bos = j->force_bos && !weft_tokenizer_adds_bos(j->tokenizer) &&
               weft_tokenizer_bos(j->tokenizer) >= 0 &&
               (n == 0 || ids[0] != weft_tokenizer_bos(j->tokenizer));
    if (bos)
        printf("%d%s", weft_tokenizer_bos(j->tokenizer), n ? between : "");
    for (size_t i = 0; i < n; i++) {
        if (i)
            tool_write(between, strlen(between));
        tool_write_integer(ids[i]);
    }
}

static void print_tokens(const job *j, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *text;
        size_t n_bytes;
        weft_token_bytes(j->tokenizer, ids[i], true, &text, &n_bytes);
        if (i)
            tool_write(",", 1);
        tool_write_json_string(text, n_bytes);
    }
}

static weft_status tokenize(const job *j, const char *text, size_t n_bytes, int32_t **ids,
                            size_t *n) {
    weft_tokenize_options options = {.parse_special = j->special, .add_special = j->as_model};
    return weft_tokenize(j->tokenizer, text, n_bytes, options, ids, n);
}

static int one_text(const job *j) {
    char *text = NULL;
    size_t n_bytes = 0, n = 0;
    int32_t *ids = NULL;
    int code = tool_read_text("tokenize", j->text, j->file, &text, &n_bytes);
    if (code >= 0)
        return code;
    weft_status status = tokenize(j, text, n_bytes, &ids, &n);
    free(text);
    if (status)
        return tool_fail_status("tokenize", status);
    if (j->json) {
        printf("{\"ids\":[");
        print_ids(j, ids, n, ",");
        printf("],\"tokens\":[");
        print_tokens(j, ids, n);
        printf("]}\n");
    } else {
        print_ids(j, ids, n, " ");
        printf("\n");
    }
    weft_tokens_free(j->tokenizer, ids, n);
    return TOOL_DONE;
}

/* One line of --jsonl; `room` is scratch as long as the line. */
static int one_line(const job *j, const char *line, size_t n_line, size_t number, char *room) {
    const char *id, *value;
    size_t n_id, n_value, n_bytes, n;
    int32_t *ids;
    if (!tool_json_member(line, n_line, "id", &id, &n_id) ||
        !tool_json_member(line, n_line, "text", &value, &n_value) || !value ||
        !tool_json_string(value, n_value, room, &n_bytes))
        return tool_fail("tokenize", "line %zu: not an object with a string \"text\"", number);
    weft_status status = tokenize(j, room, n_bytes, &ids, &n);
    if (status)
        return tool_fail("tokenize", "line %zu: %s", number, weft_detail());
    printf("{\"id\":%.*s,\"ids\":[", id ? (int)n_id : 4, id ? id : "null");
    print_ids(j, ids, n, ",");
    printf("]}\n");
    weft_tokens_free(j->tokenizer, ids, n);
    return -1;
}

static int all_lines(const job *j) {
    char *text = NULL;
    size_t n_bytes = 0, number = 0;
    int code = tool_read_text("tokenize", j->text, j->file, &text, &n_bytes);
    if (code >= 0)
        return code;
    char *room = malloc(n_bytes + 1);
    if (!room)
        code = tool_fail("tokenize", "out of memory");
    for (size_t at = 0; code < 0 && at < n_bytes;) {
        const char *end = memchr(text + at, '\n', n_bytes - at);
        size_t n = end ? (size_t)(end - text) - at : n_bytes - at;
        number++;
        if (strspn(text + at, " \t\r") < n)
            code = one_line(j, text + at, n, number, room);
        at += n + 1;
    }
    free(room);
    free(text);
    return code < 0 ? TOOL_DONE : code;
}

int tool_tokenize(int argc, char **argv) {
    job j = {.special = true, .as_model = true};
    const tool_option options[] = {
        {'m', "model", TOOL_STRING, &j.model, 1, 0},
        {'p', "prompt", TOOL_STRING, &j.text, 0, 0},
        {'f', "file", TOOL_STRING, &j.file, 1, 0},
        {0, "pre", TOOL_STRING, &j.pre, 1, 0},
        {0, "no-special", TOOL_UNFLAG, &j.special, 0, 0},
        {0, "no-bos", TOOL_UNFLAG, &j.as_model, 0, 0},
        {0, "bos", TOOL_FLAG, &j.force_bos, 0, 0},
        {0, "json", TOOL_FLAG, &j.json, 0, 0},
        {0, "jsonl", TOOL_FLAG, &j.jsonl, 0, 0},
    };
    int code = tool_parse(argc, argv, help, options, sizeof options / sizeof options[0], NULL);
    if (code >= 0)
        return code;
    if (j.force_bos && !j.as_model)
        return tool_usage("tokenize", "--bos and --no-bos exclude each other");
    if (j.json && j.jsonl)
        return tool_usage("tokenize", "--json and --jsonl exclude each other");
    weft_engine *engine = NULL;
    code = tool_open_engine(NULL, &engine);
    if (code < 0)
        code = tool_open_tokenizer(engine, j.model, j.pre, &j.tokenizer);
    if (code < 0)
        code = j.jsonl ? all_lines(&j) : one_text(&j);
    weft_tokenizer_release(&j.tokenizer);
    weft_engine_release(&engine);
    return tool_finish(code);
}
