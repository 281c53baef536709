/* Lines of `weft chat` that begin with a slash. */
#include "chat.h"

#include <stdio.h>
#include <string.h>

const char *const chat_words[] = {"/system", "/reset",  "/save", "/load", "/undo",
                                  "/regen",  "/params", "/help", "/quit", NULL};

static const char commands[] =
    "/system [TEXT]       show or set the system message (/system - removes it)\n"
    "/reset               forget the conversation, not the system message\n"
    "/undo                take the last message and its answer back\n"
    "/regen               another answer to the last message\n"
    "/save FILE           write conversation and cache\n"
    "/load FILE           go on with a conversation that was saved\n"
    "/params [NAME VALUE] show or set: temp, top-k, top-p, min-p, repeat-penalty, seed, tokens,\n"
    "                     stats\n"
    "/help                this text\n"
    "/quit                end";

static bool has_system(const chat *c) {
    return c->text.n > 0 && strcmp(c->text.messages[0].role, "system") == 0;
}

static bool last_is(const chat *c, size_t back, const char *role) {
    return c->text.n >= back && strcmp(c->text.messages[c->text.n - back].role, role) == 0;
}

static bool run_system(chat *c, const char *text) {
    if (!*text)
        chat_say(c, "%s", has_system(c) ? c->text.messages[0].content : "no system message");
    else if (chat_text_set_system(&c->text, strcmp(text, "-") == 0 ? NULL : text))
        tool_fail("/system", "no memory");
    else
        chat_say(c, has_system(c) ? "system message set" : "system message removed");
    return true;
}

static bool run_reset(chat *c, const char *text) {
    (void)text;
    size_t kept = has_system(c);
    chat_say(c, "forgotten: %zu messages%s", c->text.n - kept,
             kept ? "; the system message stays" : "");
    chat_text_cut(&c->text, kept);
    return true;
}

/* The beginning of a text, for one line: at most 40 bytes of whole characters, of the first line.
 */
static int preview(const char *text) {
    size_t n = strcspn(text, "\r\n\t\x1b");
    if (n > 40)
        for (n = 40; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    return (int)n;
}

static bool run_undo(chat *c, const char *text) {
    (void)text;
    size_t taken = last_is(c, 1, "assistant") && last_is(c, 2, "user") ? 2 : last_is(c, 1, "user");
    if (taken) {
        const char *last = c->text.messages[c->text.n - taken].content;
        chat_say(c, "taken back: \"%.*s%s\"%s", preview(last), last, last[preview(last)] ? "…" : "",
                 taken == 2 ? " and its answer" : "");
    } else {
        chat_say(c, "nothing to take back");
    }
    chat_text_cut(&c->text, c->text.n - taken);
    return true;
}

static bool run_regen(chat *c, const char *text) {
    (void)text;
    if (last_is(c, 1, "assistant"))
        chat_text_cut(&c->text, c->text.n - 1);
    if (!last_is(c, 1, "user")) {
        chat_say(c, "nothing to answer");
        return true;
    }
    c->options->g.choosing.sampler.seed++; /* the same seed would give the same answer */
    return chat_answer(c);
}

static bool run_save(chat *c, const char *path) {
    if (!*path)
        tool_fail("/save", "wants a file");
    else if (chat_save(c, path))
        chat_say(c, "saved %s", path);
    return true;
}

static bool run_load(chat *c, const char *path) {
    if (!*path)
        tool_fail("/load", "wants a file");
    else if (chat_load(c, path))
        chat_say(c, "%zu messages, %d positions from the cache", c->text.n,
                 weft_session_n_past(c->session));
    return true;
}

typedef struct param {
    const char *name;
    tool_type type;
    void *value;
    double low, high;
} param;

static void show(const chat *c, const param *p) {
    switch (p->type) {
    case TOOL_F32:
        chat_say(c, "%s %g", p->name, (double)*(float *)p->value);
        break;
    case TOOL_I32:
        chat_say(c, "%s %d", p->name, *(int32_t *)p->value);
        break;
    case TOOL_U64:
        chat_say(c, "%s %llu", p->name, (unsigned long long)*(uint64_t *)p->value);
        break;
    default:
        chat_say(c, "%s %d", p->name, *(bool *)p->value);
        break;
    }
}

static bool set(const param *p, const char *text) {
    double real;
    int64_t whole;
    if (p->type == TOOL_F32) {
        if (!tool_parse_real(text, p->low, p->high, &real))
            return false;
        *(float *)p->value = (float)real;
        return true;
    }
    if (!tool_parse_integer(text, (int64_t)p->low, (int64_t)p->high, &whole))
        return false;
    if (p->type == TOOL_I32)
        *(int32_t *)p->value = (int32_t)whole;
    else if (p->type == TOOL_U64)
        *(uint64_t *)p->value = (uint64_t)whole;
    else
        *(bool *)p->value = whole != 0;
    return true;
}

static bool run_params(chat *c, const char *text) {
    weft_sampler_options *s = &c->options->g.choosing.sampler;
    const param table[] = {
        {"temp", TOOL_F32, &s->temperature, 0, 1000},
        {"top-k", TOOL_I32, &s->top_k, 0, INT32_MAX},
        {"top-p", TOOL_F32, &s->top_p, 0, 1},
        {"min-p", TOOL_F32, &s->min_p, 0, 1},
        {"repeat-penalty", TOOL_F32, &s->repeat_penalty, 0.01, 100},
        {"seed", TOOL_U64, &s->seed, 0, 9e15},
        {"tokens", TOOL_I32, &c->options->g.n, -1, INT32_MAX},
        {"stats", TOOL_FLAG, &c->options->g.stats, 0, 1},
    };
    const size_t n = sizeof table / sizeof table[0];
    size_t n_name = strcspn(text, " ");
    const char *value = text + n_name + strspn(text + n_name, " ");
    for (size_t i = 0; i < n; i++) {
        const param *p = &table[i];
        if (*text && (strlen(p->name) != n_name || strncmp(p->name, text, n_name) != 0))
            continue;
        if (*value && !set(p, value))
            tool_fail("/params", "%s wants a number from %.10g to %.10g, not '%s'", p->name, p->low,
                      p->high, value);
        if (!*value || !*text)
            show(c, p);
        if (*text)
            return true;
    }
    if (*text)
        tool_fail("/params", "no parameter '%.*s'", (int)n_name, text);
    return true;
}

static bool run_help(chat *c, const char *text) {
    (void)text;
    chat_say(c, "%s", commands);
    return true;
}

static bool run_quit(chat *c, const char *text) {
    (void)text;
    c->quits = true;
    return true;
}

bool chat_command(chat *c, char *line) {
    static const struct {
        const char *name;
        bool (*run)(chat *c, const char *text);
    } table[] = {{"/system", run_system}, {"/reset", run_reset}, {"/undo", run_undo},
                 {"/regen", run_regen},   {"/save", run_save},   {"/load", run_load},
                 {"/params", run_params}, {"/help", run_help},   {"/quit", run_quit},
                 {"/exit", run_quit}};
    size_t n_name = strcspn(line, " \t"), n = strlen(line);
    while (n > n_name && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        line[--n] = 0;
    const char *text = line + n_name + strspn(line + n_name, " \t");
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strlen(table[i].name) == n_name && strncmp(table[i].name, line, n_name) == 0)
            return table[i].run(c, text);
    tool_fail("chat", "no command '%.*s' (/help lists them)", (int)n_name, line);
    return true;
}
