/* The streaming parser: finds marks of reasoning and of calls in text that comes in pieces, and
 * hands out the parts. Text is kept in `held` until it is decided; each step decides some of it. */
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "text/tool_parser.h"

static const char *mark_of(const weft_chat_parser *p, int i) {
    static const char *const usual[] = {"<think>", "</think>"};
    return p->syntax->think[i] ? p->syntax->think[i] : usual[i];
}

static weft_slice rest_of(const weft_chat_parser *p, size_t from) {
    return (weft_slice){(const char *)p->held.data + from, p->held.n - from};
}

/* ---- Handing out ---- */

void weft_parser_emit(weft_chat_parser *p, weft_chat_part part, const char *text, size_t n) {
    weft_chat_delta delta = {.part = part, .text = text, .n_bytes = n};
    while (p->skip_blanks && delta.n_bytes && weft_is_blank(*delta.text)) {
        delta.text++;
        delta.n_bytes--;
    }
    if (delta.n_bytes == 0)
        return;
    p->skip_blanks = false;
    if (part == WEFT_CHAT_CONTENT && weft_slice_trim((weft_slice){text, n}).n > 0)
        p->started = p->spoke = true;
    p->on_delta(p->ctx, &delta);
}

void weft_parser_emit_calls(weft_chat_parser *p) {
    const char *text = (const char *)p->calls.text.data;
    for (size_t i = 0; i < weft_calls_count(&p->calls); i++) {
        weft_call call;
        memcpy(&call, p->calls.list.data + i * sizeof call, sizeof call);
        weft_chat_delta delta = {.part = WEFT_CHAT_TOOL_CALL,
                                 .text = text + call.args,
                                 .n_bytes = call.n_args,
                                 .call_index = p->n_calls++,
                                 .name = text + call.name,
                                 .name_bytes = call.n_name,
                                 .id = call.n_id ? text + call.id : NULL,
                                 .id_bytes = call.n_id};
        p->on_delta(p->ctx, &delta);
    }
    weft_calls_clear(&p->calls);
}

void weft_parser_release(weft_chat_parser *p, weft_chat_part part, size_t end, bool all) {
    size_t keep = end;
    while (!all && keep > p->at && weft_is_blank((char)p->held.data[keep - 1]))
        keep--;
    weft_parser_emit(p, part, (const char *)p->held.data + p->at, keep - p->at);
    p->at = keep;
}

size_t weft_parser_find(const weft_chat_parser *p, const char *const *marks, size_t n_marks,
                        size_t *which, size_t *n) {
    *n = 0;
    for (size_t at = p->at; at < p->held.n; at++) {
        weft_slice rest = rest_of(p, at);
        for (size_t i = 0; i < n_marks; i++) {
            size_t length = marks[i] ? strlen(marks[i]) : 0;
            size_t part = length < rest.n ? length : rest.n;
            if (part == 0 || memcmp(rest.text, marks[i], part) != 0)
                continue;
            *which = i;
            *n = part == length ? length : 0;
            return at;
        }
    }
    return p->held.n;
}

/* ---- Text and reasoning ---- */

typedef enum verdict { UNDECIDED, NO_CALL, CALL } verdict;

/* Whether `text` begins with `mark`; UNDECIDED when it is the beginning of it. */
static verdict begins(weft_slice text, const char *mark) {
    size_t n = strlen(mark), part = text.n < n ? text.n : n;
    if (memcmp(text.text, mark, part) != 0)
        return NO_CALL;
    return part == n ? CALL : UNDECIDED;
}

static void enter_call(weft_chat_parser *p, size_t body) {
    p->state = WEFT_IN_CALL;
    p->body = p->seen = p->value = body;
    p->read = p->bare = false;
    p->scan = (weft_json_scan){0};
}

/* A bare call begins with {; what else comes first can't. False: undecided. */
static bool bare_call(weft_chat_parser *p, bool at_end) {
    size_t at = p->at;
    while (at < p->held.n &&
           (weft_is_blank((char)p->held.data[at]) || (p->n_calls && p->held.data[at] == ';')))
        at++;
    if (at == p->held.n)
        return at_end;
    p->started = true;
    if (p->held.data[at] == '{') {
        enter_call(p, at);
        p->bare = true;
    }
    return true;
}

/* Reasoning comes before anything else: later, its mark is content. */
static bool may_reason(const weft_chat_parser *p) {
    weft_slice rest = weft_slice_trim(rest_of(p, p->at));
    return !p->spoke && (rest.n == 0 || begins(rest, mark_of(p, 0)) != NO_CALL);
}

static bool text_step(weft_chat_parser *p, bool at_end) {
    const weft_chat_syntax *s = p->syntax;
    if (p->tool_calls && s->bare && !p->started) {
        if (!bare_call(p, at_end))
            return false;
        if (p->state == WEFT_IN_CALL)
            return true;
    }
    const char *marks[6] = {p->tool_calls ? s->open : NULL, may_reason(p) ? mark_of(p, 0) : NULL};
    for (size_t i = 0; i < 4; i++)
        marks[2 + i] = s->dropped[i];
    size_t which = 0, n, found = weft_parser_find(p, marks, 6, &which, &n);
    bool last = at_end && n == 0;
    weft_parser_release(p, WEFT_CHAT_CONTENT, last ? p->held.n : found, last);
    if (n == 0)
        return false;
    if (which == 0) {
        enter_call(p, found + n);
    } else {
        if (which == 1)
            p->state = WEFT_IN_REASONING;
        p->at = found + n;
        p->skip_blanks = true;
    }
    return true;
}

/* Models that skip the end of their reasoning go on to a call: where its mark is a special token,
 * which reasoning does not spell. */
static const char *mark_of_call(const weft_chat_parser *p) {
    const char *open = p->tool_calls ? p->syntax->open : NULL;
    bool special = open && (strncmp(open, "<|", 2) == 0 || *open == '[' ||
                            strncmp(open, "<｜", strlen("<｜")) == 0);
    return special ? open : NULL;
}

static bool reasoning_step(weft_chat_parser *p, bool at_end) {
    const char *marks[] = {mark_of(p, 1), mark_of_call(p)};
    size_t which = 0, n, found = weft_parser_find(p, marks, 2, &which, &n);
    bool last = at_end && n == 0;
    weft_parser_release(p, WEFT_CHAT_REASONING, last ? p->held.n : found, false);
    if (n == 0) {
        if (last)
            p->at = p->held.n; /* blanks at the end */
        return false;
    }
    p->at = which == 0 ? found + n : found;
    p->state = WEFT_IN_TEXT;
    p->skip_blanks = true;
    return true;
}

/* ---- Calls ---- */

/* Blanks, then the mark that closes a call, where one is due. *end is moved behind it. */
static verdict close_call(const weft_chat_parser *p, size_t *end, bool at_end) {
    const char *close = p->syntax->fence ? "```" : p->syntax->close;
    if (!close)
        return CALL;
    size_t at = *end;
    while (at < p->held.n && weft_is_blank((char)p->held.data[at]))
        at++;
    verdict closed = at == p->held.n ? UNDECIDED : begins(rest_of(p, at), close);
    if (closed == UNDECIDED && !at_end)
        return UNDECIDED;
    if (closed == CALL)
        *end = at + strlen(close);
    else if (closed == UNDECIDED)
        *end = p->held.n; /* the answer ended inside of the mark */
    return CALL;
}

/* The first member's name tells a bare call from other JSON. */
static bool is_bare_call_so_far(weft_slice text) {
    static const char *const names[] = {"name", "type", "function", "parameters", "arguments"};
    size_t at = 1;
    weft_slice name;
    if (!weft_json_take(text.text, text.n, &at, &name))
        return true;
    for (size_t i = 0; i < 5; i++)
        if (name.n == strlen(names[i]) + 2 && memcmp(name.text + 1, names[i], name.n - 2) == 0)
            return true;
    return false;
}

/* The value at p->value; what it calls is kept until the whole call is decided. */
static verdict json_value(weft_chat_parser *p, bool at_end) {
    weft_slice all = rest_of(p, 0);
    weft_json_progress progress = weft_json_scan_on(&p->scan, all.text, all.n, &p->seen);
    if (progress == WEFT_JSON_BAD || (progress == WEFT_JSON_MORE && at_end))
        return NO_CALL;
    if (p->bare && !is_bare_call_so_far(rest_of(p, p->value)))
        return NO_CALL;
    if (progress == WEFT_JSON_MORE)
        return UNDECIDED;
    weft_slice value = {all.text + p->value, p->seen - p->value};
    p->read = weft_calls_read_json(&p->calls, value, p->bare);
    return p->read ? CALL : NO_CALL;
}

/* Several values may follow each other before the mark that ends the call. */
static verdict json_call(weft_chat_parser *p, bool at_end, size_t *end) {
    for (;;) {
        verdict v = p->read ? CALL : json_value(p, at_end);
        if (v != CALL)
            return v;
        *end = p->seen;
        v = close_call(p, end, at_end);
        size_t next = p->seen;
        while (next < p->held.n && weft_is_blank((char)p->held.data[next]))
            next++;
        bool another = v == CALL && *end == p->seen && p->syntax->close && next < p->held.n &&
                       (p->held.data[next] == '{' || p->held.data[next] == '[');
        if (!another)
            return v;
        p->value = p->seen = next;
        p->read = false;
        p->scan = (weft_json_scan){0};
    }
}

/* Of a name and an id before their arguments. */
#define NAME_MAX_BYTES 512

/* name[CALL_ID]id[ARGS]{…} */
static verdict named_call(weft_chat_parser *p, size_t begin, bool at_end, size_t *end) {
    weft_slice rest = rest_of(p, begin);
    size_t mark = weft_slice_find(rest, "[ARGS]", 0);
    weft_slice name = {rest.text, mark == SIZE_MAX ? rest.n : mark}, id = {"", 0};
    if (weft_slice_find(name, "\n", 0) != SIZE_MAX ||
        name.n > (mark == SIZE_MAX ? NAME_MAX_BYTES + strlen("[ARGS]") : NAME_MAX_BYTES))
        return NO_CALL;
    if (mark == SIZE_MAX)
        return at_end ? NO_CALL : UNDECIDED;
    size_t args = begin + mark + strlen("[ARGS]");
    if (p->seen < args)
        p->seen = args;
    weft_slice all = rest_of(p, 0);
    weft_json_progress progress = weft_json_scan_on(&p->scan, all.text, all.n, &p->seen);
    if (progress != WEFT_JSON_DONE)
        return progress == WEFT_JSON_BAD || at_end ? NO_CALL : UNDECIDED;
    size_t id_mark = weft_slice_find(name, "[CALL_ID]", 0);
    if (id_mark != SIZE_MAX) {
        size_t skip = id_mark + strlen("[CALL_ID]");
        id = (weft_slice){name.text + skip, name.n - skip};
        name.n = id_mark;
    }
    weft_slice value = weft_slice_trim((weft_slice){all.text + args, p->seen - args});
    *end = p->seen;
    return weft_calls_add(&p->calls, weft_slice_trim(name), value, weft_slice_trim(id)) ? CALL
                                                                                        : NO_CALL;
}

/* Whether what follows <tool_call> can still be a call: <function=, or a name and a newline or a
 * tag.
 */
static bool may_be_tags(weft_slice body) {
    while (body.n && weft_is_blank(body.text[0]))
        body = (weft_slice){body.text + 1, body.n - 1};
    if (body.n && body.text[0] == '<')
        return begins(body, "<function=") != NO_CALL;
    for (size_t i = 0; i < body.n; i++) {
        if (body.text[i] == '\n' || body.text[i] == '<')
            return true;
        if (i >= 256 || body.text[i] == ' ')
            return false;
    }
    return true;
}

/* A text that ends with a mark, and is not JSON. */
static verdict marked_call(weft_chat_parser *p, bool at_end, size_t *end) {
    const char *close = p->syntax->close;
    if (p->syntax->read == weft_calls_read_tags && !may_be_tags(rest_of(p, p->body)))
        return NO_CALL;
    size_t n = strlen(close), found = weft_slice_find(rest_of(p, 0), close, p->seen);
    if (found == SIZE_MAX) {
        p->seen = p->held.n > p->body + n ? p->held.n - n : p->body;
        if (!at_end)
            return UNDECIDED;
    }
    size_t stop = found == SIZE_MAX ? p->held.n : found;
    weft_slice body = {(const char *)p->held.data + p->body, stop - p->body};
    *end = found == SIZE_MAX ? p->held.n : found + n;
    return p->syntax->read(&p->calls, body) ? CALL : NO_CALL;
}

/* Before JSON there may be blanks and the fence of a code block. */
static verdict skip_fence(const weft_chat_parser *p, bool at_end, size_t *at) {
    while (*at < p->held.n && weft_is_blank((char)p->held.data[*at]))
        ++*at;
    if (*at == p->held.n)
        return at_end ? NO_CALL : UNDECIDED;
    if (!p->syntax->fence)
        return CALL;
    verdict fence = begins(rest_of(p, *at), p->syntax->fence);
    if (fence == CALL)
        *at += strlen(p->syntax->fence);
    return fence == UNDECIDED && at_end ? NO_CALL : fence;
}

static verdict decide(weft_chat_parser *p, bool at_end, size_t *end) {
    const weft_chat_syntax *s = p->syntax;
    if (p->read)
        return json_call(p, at_end, end);
    if (s->json && p->value == p->body) {
        size_t begin = p->body;
        verdict fence = skip_fence(p, at_end, &begin);
        if (fence != CALL)
            return fence;
        while (begin < p->held.n && weft_is_blank((char)p->held.data[begin]))
            begin++;
        if (begin == p->held.n)
            return at_end ? NO_CALL : UNDECIDED;
        char first = (char)p->held.data[begin];
        if (first != '{' && first != '[')
            return s->named  ? named_call(p, begin, at_end, end)
                   : s->read ? marked_call(p, at_end, end)
                             : NO_CALL;
        p->value = begin;
        if (p->seen < begin)
            p->seen = begin;
    }
    return s->json ? json_call(p, at_end, end) : marked_call(p, at_end, end);
}

static bool call_step(weft_chat_parser *p, bool at_end) {
    size_t end = 0, mark_end = p->body;
    verdict v = decide(p, at_end, &end);
    if (v == UNDECIDED)
        return false;
    p->state = WEFT_IN_TEXT;
    if (v == CALL) {
        weft_parser_emit_calls(p);
        p->at = end;
        p->skip_blanks = true;
        p->started = false; /* another bare call may follow */
        return true;
    }
    weft_calls_clear(&p->calls);
    /* The mark was none: it is content, and what follows is looked at again. */
    p->started = true;
    weft_parser_release(p, WEFT_CHAT_CONTENT, mark_end, true);
    return true;
}

/* ---- Running ---- */

static weft_status run(weft_chat_parser *p, bool at_end) {
    bool more = true;
    while (more && !p->no_memory && !p->calls.no_memory) {
        if (weft_chat_syntax_is_harmony(p->syntax))
            more = weft_harmony_step(p, at_end);
        else if (p->state == WEFT_IN_TEXT)
            more = text_step(p, at_end);
        else if (p->state == WEFT_IN_REASONING)
            more = reasoning_step(p, at_end);
        else
            more = call_step(p, at_end);
    }
    if (p->no_memory || p->calls.no_memory) {
        p->no_memory = true;
        return weft_fail(WEFT_E_MEMORY, "chat parser: no memory");
    }
    /* What was handed out is forgotten. */
    size_t gone = p->at;
    memmove(p->held.data, p->held.data + gone, p->held.n - gone);
    p->held.n -= gone;
    p->at = 0;
    p->body -= p->body > gone ? gone : p->body;
    p->seen -= p->seen > gone ? gone : p->seen;
    p->value -= p->value > gone ? gone : p->value;
    return WEFT_OK;
}

weft_status weft_chat_parser_feed(weft_chat_parser *p, const char *text, size_t n_bytes) {
    if (!p || (!text && n_bytes))
        return weft_fail(WEFT_E_NULL, "chat parser: an argument is NULL");
    if (n_bytes == 0)
        return p->no_memory ? weft_fail(WEFT_E_MEMORY, "chat parser: no memory") : WEFT_OK;
    p->no_memory |= !weft_bytes_add(&p->held, text, n_bytes);
    return run(p, false);
}

weft_status weft_chat_parser_finish(weft_chat_parser *p) {
    if (!p)
        return weft_fail(WEFT_E_NULL, "chat parser: it is NULL");
    /* So that there is a buffer. */
    p->no_memory |= !weft_bytes_reserve(&p->held, 1);
    return run(p, true);
}

/* ---- Life ---- */

static void begin_after(weft_chat_parser *p, weft_slice prompt) {
    if (weft_chat_syntax_is_harmony(p->syntax)) {
        weft_harmony_begin(p, prompt);
        return;
    }
    const char *mark = mark_of(p, 0);
    size_t n = strlen(mark);
    prompt = weft_slice_trim(prompt);
    if (prompt.n < n || memcmp(prompt.text + prompt.n - n, mark, n) != 0)
        return;
    p->state = WEFT_IN_REASONING;
    p->skip_blanks = true;
}

weft_status weft_chat_parser_create(const weft_chat_template *t,
                                    const weft_chat_parser_options *options,
                                    weft_chat_delta_fn on_delta, void *ctx,
                                    weft_chat_parser **out) {
    if (!t || !on_delta || !out)
        return weft_fail(WEFT_E_NULL, "chat parser: an argument is NULL");
    *out = NULL;
    weft_status status = weft_engine_alive(t->engine);
    if (status != WEFT_OK)
        return status;
    weft_json *tools = NULL;
    if (options && options->tools)
        status = weft_json_parse(options->tools, strlen(options->tools), "tools", &tools);
    if (status != WEFT_OK)
        return status;
    weft_chat_parser *p = weft_alloc_zeroed(&t->a, sizeof *p);
    if (!p) {
        weft_json_free(&tools);
        return weft_fail(WEFT_E_MEMORY, "chat parser: no memory");
    }
    p->engine = weft_engine_retain(t->engine);
    p->a = t->a;
    p->syntax = weft_chat_syntax_of(t->source, t->n_source);
    p->on_delta = on_delta;
    p->ctx = ctx;
    p->tools = tools;
    p->tool_calls = options && options->tool_calls;
    p->held.a = p->calls.text.a = p->calls.list.a = &p->a;
    p->calls.tools = tools;
    if (options && options->prompt)
        begin_after(p, (weft_slice){options->prompt, options->prompt_bytes});
    *out = p;
    return WEFT_OK;
}

void weft_chat_parser_destroy(weft_chat_parser **parser) {
    if (!parser || !*parser)
        return;
    weft_chat_parser *p = *parser;
    *parser = NULL;
    weft_json_free(&p->tools);
    weft_bytes_free(&p->held);
    weft_bytes_free(&p->calls.text);
    weft_bytes_free(&p->calls.list);
    weft_engine *engine = p->engine;
    weft_allocator a = p->a;
    weft_dealloc(&a, p, sizeof *p);
    weft_engine_release(&engine);
}

const char *weft_chat_template_format(const weft_chat_template *t) {
    return t ? weft_chat_syntax_of(t->source, t->n_source)->name : "plain";
}
