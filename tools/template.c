/* weft template: renders a chat template. */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: weft template [-m MODEL | --template FILE] [--input FILE] [options]\n"
    "Renders a chat template and prints exactly what comes out of it.\n"
    "  -m MODEL         GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  --template FILE  a template instead of a model's own\n"
    "  --input FILE     a JSON object: messages, tools, documents, add_generation_prompt,\n"
    "                   (default: false), bos_token, eos_token (default: the model's) and any\n"
    "                   other variables;\n"
    "                   - or nothing is standard input\n"
    "  --now TIME       for templates that ask for the date, as 2026-01-15T12:00:00\n"
    "A conversation that the template refuses: exit status 1, with the template's own message.\n"
    "Example: echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | weft template\n";

typedef struct job {
    const char *model, *file, *input, *now;
} job;

/* Of a file. */
static int read_template(const job *j, weft_engine *engine, weft_chat_template **out) {
    char *source;
    size_t n_bytes;
    int code = tool_read_file(j->file, &source, &n_bytes);
    if (code >= 0)
        return code;
    weft_status status = weft_chat_template_create(engine, source, n_bytes, out);
    free(source);
    return status ? tool_fail_status("template", status) : -1;
}

/* A model's. */
static int open_template(const job *j, weft_engine *engine, weft_chat_template **out) {
    weft_tokenizer *tokenizer;
    int code = tool_open_tokenizer(engine, j->model, NULL, &tokenizer);
    if (code >= 0)
        return code;
    weft_status status = weft_chat_template_open(tokenizer, out);
    weft_tokenizer_release(&tokenizer);
    return status ? tool_fail_status("template", status) : -1;
}

/* Whether the library takes the time: a template of nothing tells. -1 or the exit code. */
static int check_time(weft_engine *engine, const char *now) {
    weft_chat_template *nothing = NULL;
    weft_chat_input input = {.now = now};
    char *text = NULL;
    size_t n_bytes = 0;
    weft_status status = weft_chat_template_create(engine, "", 0, &nothing);
    if (!status)
        status = weft_chat_render(nothing, &input, &text, &n_bytes);
    weft_chat_text_free(nothing, text, n_bytes);
    weft_chat_template_release(&nothing);
    if (status == WEFT_E_ARGUMENT)
        return tool_bad_value("--now", "wants a time as 2026-01-15T12:00:00, not '%s'", now);
    return status ? tool_fail_status("template", status) : -1;
}

static int render(const job *j, const weft_chat_template *chat_template, const char *variables) {
    weft_chat_input input = {.variables = variables, .now = j->now};
    char *text;
    size_t n_bytes;
    weft_status status = weft_chat_render(chat_template, &input, &text, &n_bytes);
    if (status)
        return tool_fail_status("template", status);
    tool_write(text, n_bytes);
    weft_chat_text_free(chat_template, text, n_bytes);
    return TOOL_DONE;
}

int tool_template(int argc, char **argv) {
    job j = {.input = "-"};
    const tool_option options[] = {
        {'m', "model", TOOL_STRING, &j.model, 1, 0},
        {0, "template", TOOL_STRING, &j.file, 1, 0},
        {0, "input", TOOL_STRING, &j.input, 1, 0},
        {0, "now", TOOL_STRING, &j.now, 0, 0},
    };
    int code = tool_parse(argc, argv, help, options, sizeof options / sizeof options[0], NULL);
    if (code >= 0)
        return code;
    if (j.model && j.file)
        return tool_usage("template", "-m and --template exclude each other");
    char *variables = NULL;
    size_t n_bytes;
    weft_engine *engine = NULL;
    weft_chat_template *chat_template = NULL;
    code = tool_open_engine(NULL, &engine);
    if (code < 0 && j.now)
        code = check_time(engine, j.now);
    if (code < 0)
        code = tool_read_file(j.input, &variables, &n_bytes);
    if (code < 0 && strlen(variables) != n_bytes)
        code = tool_fail(j.input, "holds a NUL byte; JSON is text");
    if (code < 0)
        code = j.file ? read_template(&j, engine, &chat_template)
                      : open_template(&j, engine, &chat_template);
    if (code < 0)
        code = render(&j, chat_template, variables);
    weft_chat_template_release(&chat_template);
    weft_engine_release(&engine);
    free(variables);
    return tool_finish(code);
}
