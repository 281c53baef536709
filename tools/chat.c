/* weft chat: a conversation with a model, on a terminal or line by line from a script. */
#include "chat.h"
#include "prompt.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "Usage: weft chat [-m MODEL] [options]\n"
    "Talks with a model. On a terminal: arrows edit and recall lines, Tab completes, Ctrl-C stops\n"
    "the answer, Ctrl-D ends. From a pipe or file: a line is a message, answers go to stdout.\n"
    "  -m MODEL            GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  --system TEXT       system message\n"
    "  --resume FILE       goes on with a conversation that /save wrote\n"
    "  -n N                at most N tokens an answer (default: the context's length)\n"
    "  -c N                context, in tokens (default: the model's, at most 4096)\n"
    "  -t N                threads (default: physical cores); -tb N  of prompts; --pin  to CPUs\n"
    "  -s SEED  --temp T   the same seed gives the same text; T 0 is greedy (default 0.8)\n"
    "  --help-sampling     all options of sampling: top-k, penalties, biases, ends, chains\n"
    "  --json-schema S  --grammar G  --regex R   what every answer has to be, as weft run has it\n"
    "  --cache-type TYPE   f16 (default), f32, bf16 or q8_0; --lora FILE[:SCALE]  adapters\n"
    "  --reproducible      the same bits on every machine; --float: a checking path\n"
    "  --cpu NAME          highest variant of the kernels\n"
    "  --pre NAME          pre-tokeniser, for a file that names an unknown one\n"
    "  --no-history        remembers no lines between runs\n"
    "  --stats             after each answer: tokens, how many came from the cache, speed\n"
    "A line that ends in \\ goes on in the next one; \"\"\" begins and ends a text of many lines.\n"
    "Commands: /system /reset /save /load /undo /regen /params /help /quit\n"
    "Example: weft chat --system \"You answer in one sentence.\"\n";

static int parse(int argc, char **argv, chat_options *o) {
    const tool_option table[] = {
        TOOL_GENERATING_OPTIONS(&o->g),
        {0, "resume", TOOL_STRING, &o->resume, 1, 0},
        {0, "lora", TOOL_LIST, &o->adapters, 1, 0},
        {0, "no-history", TOOL_FLAG, &o->no_history, 0, 0},
    };
    return tool_generating_parse(argc, argv, help, table, sizeof table / sizeof table[0], &o->g);
}

void chat_say(const chat *c, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    FILE *to = tool_line_is_terminal(c->line) ? stdout : stderr;
    vfprintf(to, format, arguments);
    fputc('\n', to);
    fflush(to);
    va_end(arguments);
}

/* ---- One answer ---- */

/* What the model has said so far. */
typedef struct answer {
    chat *c;
    char *raw;
    size_t n_raw, raw_room;
    int32_t *ids;
    size_t n_ids, ids_room;
    weft_chat_parser *parser;
    bool no_memory, nobody_reads;
} answer;

static bool keep(answer *a, int32_t token, const char *text, size_t n_bytes) {
    if (a->n_ids == a->ids_room) {
        size_t room = a->ids_room * 2 + 256;
        int32_t *grown = realloc(a->ids, room * sizeof *grown);
        if (!grown)
            return false;
        a->ids = grown;
        a->ids_room = room;
    }
    if (a->n_raw + n_bytes + 1 > a->raw_room) {
        size_t room = a->raw_room * 2 + n_bytes + 1024;
        char *grown = realloc(a->raw, room);
        if (!grown)
            return false;
        a->raw = grown;
        a->raw_room = room;
    }
    if (token >= 0)
        a->ids[a->n_ids++] = token;
    memcpy(a->raw + a->n_raw, text, n_bytes);
    a->n_raw += n_bytes;
    a->raw[a->n_raw] = 0;
    return true;
}

/* Reasoning is dim on a terminal; a script gets the answer alone. */
static void on_delta(void *ctx, const weft_chat_delta *delta) {
    answer *a = ctx;
    bool dim = delta->part != WEFT_CHAT_CONTENT;
    if (a->nobody_reads || (dim && !a->c->view.terminal))
        return;
    a->nobody_reads = !chat_view_write(&a->c->view, delta->text, delta->n_bytes, dim);
}

static bool on_text(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    answer *a = ctx;
    a->no_memory = !keep(a, token, text, n_bytes);
    if (!a->no_memory)
        a->no_memory = weft_chat_parser_feed(a->parser, text, n_bytes) != WEFT_OK;
    return !a->no_memory && !a->nobody_reads;
}

static void show_stats(const chat *c, const weft_generate_result *r) {
    fprintf(stderr, "[prompt %d tokens, %d of them from the cache; answer %d tokens", r->n_prompt,
            r->n_cached, r->n_generated);
    if (r->generate_seconds > 0)
        fprintf(stderr, ", %.1f tokens/s", r->n_generated / r->generate_seconds);
    fprintf(stderr, "; %d of %d positions used]\n", weft_session_n_past(c->session),
            weft_session_n_context(c->session));
}

/* A shift of the context keeps the system message. */
static int32_t n_keep(const chat *c) {
    const char *system = chat_text_system(&c->text);
    int32_t usual = weft_generate_options_default().n_keep, n = 0;
    if (system)
        n = tool_count_system(c->text.tokenizer, system, c->text.ids, c->text.n_ids);
    return n > usual ? n : usual;
}

static weft_status generate(chat *c, answer *a, weft_generate_result *result) {
    weft_sampler *sampler;
    const weft_chat_parser_options parser = {.prompt = c->text.text,
                                             .prompt_bytes = c->text.n_text};
    weft_status status = weft_sampler_create(c->engine, &c->options->g.choosing.sampler, &sampler);
    if (status)
        return status;
    status = weft_chat_parser_create(c->template, &parser, on_delta, a, &a->parser);
    /* The oldest part of a long conversation goes, but no answer is endless. */
    c->generate.max_tokens =
        c->options->g.n >= 0 ? c->options->g.n : weft_session_n_context(c->session);
    c->generate.n_keep = n_keep(c);
    tool_running(c->session);
    if (!status)
        status = weft_generate(c->session, c->text.ids, c->text.n_ids, sampler, &c->generate,
                               on_text, a, result);
    tool_running(NULL);
    if (a->parser && !status && weft_chat_parser_finish(a->parser))
        status = WEFT_E_MEMORY;
    weft_chat_parser_destroy(&a->parser);
    weft_sampler_release(&sampler);
    return status;
}

bool chat_answer(chat *c) {
    answer a = {.c = c};
    weft_generate_result result = {0};
    chat_view_begin(&c->view, tool_line_is_terminal(c->line));
    weft_status status = chat_text_prompt(&c->text);
    if (!status)
        status = generate(c, &a, &result);
    bool read = chat_view_end(&c->view) && !a.nobody_reads;
    if (!status && a.no_memory)
        status = WEFT_E_MEMORY;
    if (status)
        tool_fail_status("chat", status);
    else if (result.reason == WEFT_STOP_LENGTH && c->options->g.n < 0)
        fprintf(stderr, "[cut off after %d tokens]\n", result.n_generated);
    if (!status && c->options->g.stats)
        show_stats(c, &result);
    /* What was said before a failure or Ctrl-C is part of the conversation too. */
    const char *said = a.raw ? a.raw : "";
    if (chat_text_answer(&c->text, said, said, a.n_raw, a.ids, a.n_ids))
        tool_fail("chat", "no memory: the answer is forgotten");
    free(a.raw);
    free(a.ids);
    return read;
}

/* ---- Lines ---- */

/* Appends a line to a text of several. */
static bool join(char **whole, size_t *n_whole, const char *line, size_t n_bytes, bool first) {
    char *grown = realloc(*whole, *n_whole + n_bytes + 2);
    if (!grown)
        return false;
    *whole = grown;
    if (!first)
        grown[(*n_whole)++] = '\n';
    memcpy(grown + *n_whole, line, n_bytes);
    *n_whole += n_bytes;
    grown[*n_whole] = 0;
    return true;
}

/* A message: a line, lines that end in a backslash and one more, or what stands between """ and
 * """. *text [*n_bytes] is freed with free(); NULL: no memory. */
static tool_line_end read_message(chat *c, char **text, size_t *n_bytes) {
    const char *prompt = "> ";
    bool quoted = false, first = true;
    *text = NULL;
    *n_bytes = 0;
    for (;;) {
        char *line;
        size_t n;
        tool_line_end end = tool_line_read(c->line, prompt, &line, &n);
        if (end == TOOL_LINE_CLOSED && !first && *text)
            return TOOL_LINE_READ; /* the input ends inside of a text */
        if (end != TOOL_LINE_READ) {
            free(*text);
            *text = NULL;
            return end;
        }
        if (first && n >= 3 && memcmp(line, "\"\"\"", 3) == 0) {
            quoted = true;
            line += 3;
            n -= 3;
        }
        bool more = quoted || (n > 0 && line[n - 1] == '\\');
        if (quoted && n >= 3 && memcmp(line + n - 3, "\"\"\"", 3) == 0) {
            more = false;
            n -= 3;
        } else if (!quoted && more) {
            n--;
        }
        bool skips =
            quoted && n == 0 && (first || !more); /* the marks stand on lines of their own */
        if (!skips && !join(text, n_bytes, line, n, !*text))
            return TOOL_LINE_READ;
        first = false;
        if (!more)
            break;
        prompt = ". ";
    }
    if (!*text)
        *text = strdup("");
    return TOOL_LINE_READ;
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\n")] == 0;
}

static bool one_line(chat *c, char *text, size_t n_bytes) {
    if (strlen(text) != n_bytes) {
        tool_fail("chat", "the line holds a NUL byte; messages are text");
        return true;
    }
    if (text[0] == '/' && !strchr(text, '\n'))
        return chat_command(c, text);
    if (is_blank(text))
        return true;
    if (chat_text_add(&c->text, "user", text)) {
        tool_fail("chat", "no memory for the message");
        return true;
    }
    return chat_answer(c);
}

static int loop(chat *c) {
    while (!c->quits) {
        char *text;
        size_t n_bytes;
        tool_line_end end = read_message(c, &text, &n_bytes);
        if (end == TOOL_LINE_CLOSED)
            break;
        if (end == TOOL_LINE_FAILED)
            return tool_fail("stdin", "%s", strerror(errno));
        if (end == TOOL_LINE_ABORTED) {
            if (tool_line_is_terminal(c->line))
                tool_write("\n", 1);
            continue;
        }
        if (!text)
            return tool_fail("chat", "no memory for the message");
        bool read = one_line(c, text, n_bytes);
        free(text);
        if (!read)
            break;
    }
    if (tool_line_is_terminal(c->line) && !c->quits)
        tool_write("\n", 1);
    return TOOL_DONE;
}

/* ---- Around them ---- */

/* A file for the lines of earlier runs, in the user's state folder; NULL: none. */
static char *history_path(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (state && state[0] == '/')
        n = asprintf(&path, "%s/weft", state);
    else if (home && home[0] == '/')
        n = asprintf(&path, "%s/.local/state/weft", home);
    if (n < 0)
        return NULL;
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (slash)
            *slash = '/';
        if (!there || !slash)
            break;
    }
    char *file = NULL;
    n = asprintf(&file, "%s/chat_history", path);
    free(path);
    return n < 0 ? NULL : file;
}

static int with_session(chat *c) {
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    char *history = terminal && !c->options->no_history ? history_path() : NULL;
    int code = TOOL_DONE;
    c->line = tool_line_open(chat_words, history);
    /* A script is stopped as any other; a person stops the answer. */
    if (terminal)
        tool_catch_interrupt(false);
    if (!c->line)
        code = tool_fail("chat", "no memory");
    else if (c->options->g.system && chat_text_set_system(&c->text, c->options->g.system))
        code = tool_fail("chat", "no memory for the system message");
    else if (c->options->resume && !chat_load(c, c->options->resume))
        code = TOOL_FAILED;
    if (code == TOOL_DONE) {
        const char *family = weft_chat_template_family(c->template);
        if (family)
            chat_say(c, "The model has no chat template: that of %s stands in.", family);
        if (terminal)
            chat_say(c, "/help lists the commands, Ctrl-D ends.");
        code = loop(c);
    }
    chat_text_free(&c->text);
    tool_line_close(c->line);
    free(history);
    return code;
}

static int with_model(chat *c) {
    const weft_tokenizer *tokenizer = weft_model_tokenizer(c->model);
    c->text.tokenizer = tokenizer;
    c->generate = weft_generate_options_default();
    c->generate.context_shift = true;
    c->generate.show_special = true;
    int code = tool_choosing_open(&c->options->g.choosing, tokenizer, &c->generate);
    weft_sampler *sampler = NULL; /* each answer has its own; this one shows that they can be had */
    if (code < 0)
        code = tool_choosing_sampler(&c->options->g.choosing, c->engine, &sampler);
    weft_sampler_release(&sampler);
    if (code >= 0) {
        tool_choosing_close(&c->options->g.choosing);
        return code;
    }
    weft_status status = weft_chat_template_open(tokenizer, &c->template);
    if (status)
        code = tool_fail_status("chat template", status);
    if (code < 0)
        code = tool_generating_session(&c->options->g, c->model, &c->session);
    if (code < 0)
        code = tool_use_adapters(c->model, c->session, &c->options->adapters);
    if (code < 0)
        code = with_session(c);
    weft_session_release(&c->session);
    weft_chat_template_release(&c->template);
    tool_choosing_close(&c->options->g.choosing);
    return code;
}

int tool_chat(int argc, char **argv) {
    chat_options o = {.g = {.n = -1, .choosing = tool_choosing_default()}};
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) /* no locale was chosen */
        setlocale(LC_CTYPE, "C.UTF-8");
    chat c = {.options = &o};
    code = tool_open_engine(&o.g.engine, &c.engine);
    if (code < 0)
        code = tool_open_model(c.engine, o.g.model, TOOL_WITH_TEXT, o.g.pre, &c.model);
    if (code < 0)
        code = with_model(&c);
    weft_model_release(&c.model);
    weft_engine_release(&c.engine);
    return tool_finish(code);
}
