/* Conversations on disk: JSON lines, the first with the tokens so far, then one a message; the
 * cache beside them. */
#include "chat.h"
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Writing ---- */

static bool write_lines(FILE *f, const chat_text *t) {
    fputs("{\"weft_chat\":1,\"text\":", f);
    tool_put_json_string(f, t->text ? t->text : "", t->n_text);
    fputs(",\"ids\":[", f);
    for (size_t i = 0; i < t->n_ids; i++)
        fprintf(f, "%s%d", i ? "," : "", t->ids[i]);
    fputs("],\"marks\":[", f);
    for (size_t i = 0; i < t->n_marks; i++)
        fprintf(f, "%s%zu,%zu", i ? "," : "", t->marks[i].n_text, t->marks[i].n_ids);
    fputs("]}\n", f);
    for (size_t i = 0; i < t->n; i++) {
        fputs("{\"role\":", f);
        tool_put_json_string(f, t->messages[i].role, strlen(t->messages[i].role));
        fputs(",\"content\":", f);
        tool_put_json_string(f, t->messages[i].content, strlen(t->messages[i].content));
        fputs("}\n", f);
    }
    return !ferror(f);
}

static bool write_file(const chat *c, const char *path, const char *part) {
    FILE *f = fopen(part, "we");
    if (!f) {
        tool_fail(part, "%s", strerror(errno));
        return false;
    }
    bool written = write_lines(f, &c->text);
    written = fclose(f) == 0 && written && rename(part, path) == 0;
    if (!written) {
        tool_fail(path, "%s", strerror(errno));
        unlink(part);
    }
    return written;
}

bool chat_save(chat *c, const char *path) {
    char *part = NULL, *cache = NULL;
    bool saved = asprintf(&part, "%s.part", path) > 0 && asprintf(&cache, "%s.cache", path) > 0;
    if (!saved)
        tool_fail("/save", "no memory");
    if (saved && weft_session_n_past(c->session) > 0) {
        weft_status status = weft_session_save(c->session, cache);
        saved = status == WEFT_OK;
        if (!saved)
            tool_fail_status("/save", status);
    }
    saved = saved && write_file(c, path, part);
    free(part);
    free(cache);
    return saved;
}

/* ---- Reading ---- */

static bool bad(const char *path, size_t line) {
    tool_fail(path, "line %zu is not one of a saved conversation", line);
    return false;
}

/* A decoded member, freed with free(); NULL where it is none. */
static char *string_member(const char *line, size_t n, const char *name, size_t *n_out) {
    const char *value;
    size_t n_value;
    if (!tool_json_member(line, n, name, &value, &n_value) || !value)
        return NULL;
    char *out = malloc(n_value + 1);
    if (out && !tool_json_string(value, n_value, out, n_out)) {
        free(out);
        return NULL;
    }
    if (out)
        out[*n_out] = 0;
    return out;
}

/* Whole numbers of an array; *out is freed with free(). */
static bool numbers(const char *line, size_t n, const char *name, long **out, size_t *n_out) {
    const char *value;
    size_t n_value, room = 2;
    *n_out = 0;
    if (!tool_json_member(line, n, name, &value, &n_value) || !value || value[0] != '[')
        return false;
    for (size_t i = 0; i < n_value; i++)
        room += value[i] == ',';
    *out = calloc(room, sizeof **out);
    const char *at = value + 1, *end = value + n_value - 1;
    while (*out && at < end) {
        char *after;
        long v = strtol(at, &after, 10);
        if (after == at || v < 0 || v > INT32_MAX || (after < end && *after != ','))
            return false;
        (*out)[(*n_out)++] = v;
        at = after + 1;
    }
    return *out != NULL;
}

static bool read_head(chat_text *to, const char *line, size_t n) {
    long *ids = NULL, *marks = NULL;
    size_t n_marks = 0;
    bool good = numbers(line, n, "ids", &ids, &to->n_ids) &&
                numbers(line, n, "marks", &marks, &n_marks) && n_marks % 2 == 0;
    to->text = good ? string_member(line, n, "text", &to->n_text) : NULL;
    to->ids = calloc(to->n_ids + 1, sizeof *to->ids);
    to->marks = calloc(n_marks + 1, sizeof *to->marks);
    good = good && to->text && to->ids && to->marks;
    for (size_t i = 0; good && i < to->n_ids; i++)
        to->ids[i] = (int32_t)ids[i];
    for (size_t i = 0; good && i < n_marks / 2; i++) {
        chat_mark m = {(size_t)marks[2 * i], (size_t)marks[2 * i + 1]};
        chat_mark last = i ? to->marks[i - 1] : (chat_mark){0, 0};
        good = m.n_text >= last.n_text && m.n_ids >= last.n_ids && m.n_text <= to->n_text &&
               m.n_ids <= to->n_ids;
        to->marks[i] = m;
        to->n_marks = i + 1;
    }
    free(ids);
    free(marks);
    return good;
}

static bool read_message(chat_text *to, const char *line, size_t n) {
    static const char *const roles[] = {"system", "user", "assistant"};
    size_t n_role = 0, n_content = 0;
    char *role = string_member(line, n, "role", &n_role);
    char *content = string_member(line, n, "content", &n_content);
    bool good = false;
    for (size_t i = 0; role && content && i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(role, roles[i]) == 0)
            good = strlen(content) == n_content && !chat_text_add(to, roles[i], content);
    free(role);
    free(content);
    return good;
}

static bool read_lines(chat_text *to, const char *path, char *text, size_t n_bytes) {
    size_t line = 1;
    for (size_t at = 0; at < n_bytes; line++) {
        char *end = memchr(text + at, '\n', n_bytes - at);
        size_t n = end ? (size_t)(end - (text + at)) : n_bytes - at;
        if (!(line == 1 ? read_head(to, text + at, n) : read_message(to, text + at, n)))
            return bad(path, line);
        at += n + 1;
    }
    return line > 1 || bad(path, 1);
}

bool chat_load(chat *c, const char *path) {
    char *text, *cache = NULL;
    size_t n_bytes;
    chat_text read = {.tokenizer = c->text.tokenizer};
    if (tool_read_file(path, &text, &n_bytes) >= 0)
        return false;
    bool good = read_lines(&read, path, text, n_bytes);
    free(text);
    if (good && asprintf(&cache, "%s.cache", path) < 0) {
        tool_fail("/load", "no memory");
        good = false;
    }
    if (!good) {
        chat_text_free(&read);
        return false;
    }
    /* Another model's tokens mean nothing here: the words alone are taken over. */
    if (read.n_ids > 0 && weft_session_load(c->session, cache)) {
        chat_say(c, "the cache is not used: %s", weft_detail());
        read.n_text = read.n_ids = read.n_marks = 0;
    }
    free(cache);
    chat_text_free(&c->text);
    c->text = read;
    return true;
}
