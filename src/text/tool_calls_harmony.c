/* OpenAI's harmony format: an answer is a row of messages,
 *   <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{…}<|call|>
 * where the channel says what a message is (analysis: reasoning; final, commentary: content) and a
 * recipient that it is a call. */
#include <string.h>
#include "text/tool_parser.h"

#define HEADER_MAX 512

/* Marks that end a message's body; the last two begin the next one as well. */
static const char *const ends[] = {"<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"};
enum { N_ENDS = 5, FIRST_BEGIN = 3 };

static void enter_header(weft_chat_parser *p) {
    p->state = WEFT_IN_HEADER;
    p->inside = p->calling = false;
}

/* The word behind `label` in a header; empty when it is not there. */
static weft_slice word_after(weft_slice header, const char *label) {
    size_t at = weft_slice_find(header, label, 0), end;
    if (at == SIZE_MAX)
        return (weft_slice){"", 0};
    at += strlen(label);
    for (end = at; end < header.n && !weft_is_blank(header.text[end]) && header.text[end] != '<';)
        end++;
    return (weft_slice){header.text + at, end - at};
}

static void read_header(weft_chat_parser *p, weft_slice header) {
    weft_slice channel = word_after(header, "<|channel|>"), recipient = word_after(header, "to=");
    bool analysis = channel.n == 8 && memcmp(channel.text, "analysis", 8) == 0;
    if (weft_slice_begins(recipient, "functions."))
        recipient = (weft_slice){recipient.text + 10, recipient.n - 10};
    p->inside = true;
    p->calling = p->tool_calls && recipient.n > 0;
    p->state = p->calling ? WEFT_IN_CALL : analysis ? WEFT_IN_REASONING : WEFT_IN_TEXT;
    weft_calls_clear(&p->calls);
    p->n_recipient = recipient.n;
    p->no_memory |= !weft_bytes_add(&p->calls.text, recipient.text, recipient.n);
}

static bool header_step(weft_chat_parser *p, bool at_end) {
    const weft_slice rest = {(const char *)p->held.data + p->at, p->held.n - p->at};
    size_t end = weft_slice_find(rest, "<|message|>", 0);
    if (end == SIZE_MAX && rest.n < HEADER_MAX + strlen("<|message|>") && !at_end)
        return false;
    if (end > HEADER_MAX) { /* no header */
        p->state = WEFT_IN_TEXT;
        p->inside = true;
        size_t n = rest.n < HEADER_MAX ? rest.n : HEADER_MAX;
        weft_parser_release(p, WEFT_CHAT_CONTENT, p->at + n, true);
        return true;
    }
    read_header(p, (weft_slice){rest.text, end});
    p->body = p->at + end + strlen("<|message|>");
    if (!p->calling)
        p->at = p->body; /* of a call, the header is content if the call is none */
    p->seen = p->body;
    return true;
}

/* The body [p->body, end) of a call. */
static void finish_call(weft_chat_parser *p, size_t end) {
    weft_bytes name = {.a = &p->a};
    p->no_memory |= !weft_bytes_add(&name, p->calls.text.data, p->n_recipient);
    weft_calls_clear(&p->calls);
    weft_slice args =
        weft_slice_trim((weft_slice){(const char *)p->held.data + p->body, end - p->body});
    if (!p->no_memory && args.n &&
        weft_calls_add(&p->calls, (weft_slice){(const char *)name.data, name.n}, args,
                       (weft_slice){"", 0})) {
        weft_parser_emit_calls(p);
        p->at = end;
    } else {
        weft_calls_clear(&p->calls);
        weft_parser_release(p, WEFT_CHAT_CONTENT, end, true);
    }
    weft_bytes_free(&name);
}

static bool body_step(weft_chat_parser *p, bool at_end) {
    size_t which = 0, n, start = p->at;
    if (p->calling)
        p->at = p->seen; /* the header holds marks, too */
    size_t found = weft_parser_find(p, ends, N_ENDS, &which, &n);
    p->at = start;
    if (n == 0 && at_end)
        found = p->held.n;
    if (p->calling) {
        p->seen = found;
        if (n == 0 && !at_end)
            return false;
        finish_call(p, found);
    } else {
        weft_parser_release(p,
                            p->state == WEFT_IN_REASONING ? WEFT_CHAT_REASONING : WEFT_CHAT_CONTENT,
                            found, true);
    }
    if (n == 0)
        return false;
    p->state = WEFT_IN_TEXT;
    p->inside = p->calling = false;
    p->at = which >= FIRST_BEGIN ? found : found + n;
    if (which >= FIRST_BEGIN)
        enter_header(p);
    return true;
}

/* Between messages: a header, or text of a model that does not keep to the format. */
static bool between_step(weft_chat_parser *p, bool at_end) {
    size_t at = p->at;
    while (at < p->held.n && weft_is_blank((char)p->held.data[at]))
        at++;
    weft_slice rest = {(const char *)p->held.data + at, p->held.n - at};
    static const char *const begins[] = {"<|start|>", "<|channel|>", "to="};
    bool undecided = rest.n == 0;
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(begins[i]), part = rest.n < n ? rest.n : n;
        if (part == 0 || memcmp(rest.text, begins[i], part) != 0)
            continue;
        undecided |= part < n;
        if (part == n) {
            enter_header(p);
            return true;
        }
    }
    if (undecided && !at_end)
        return false;
    p->inside = true;
    return rest.n > 0;
}

bool weft_harmony_step(weft_chat_parser *p, bool at_end) {
    if (p->state == WEFT_IN_HEADER)
        return header_step(p, at_end);
    return p->inside ? body_step(p, at_end) : between_step(p, at_end);
}

/* A prompt may have begun the answer's header, or even its body. */
void weft_harmony_begin(weft_chat_parser *p, weft_slice prompt) {
    size_t start = SIZE_MAX, at = 0;
    while ((at = weft_slice_find(prompt, "<|start|>assistant", at)) != SIZE_MAX)
        start = at++;
    if (start == SIZE_MAX)
        return;
    weft_slice header = {prompt.text + start, prompt.n - start};
    size_t message = weft_slice_find(header, "<|message|>", 0);
    bool ended = weft_slice_find(header, "<|end|>", 0) != SIZE_MAX;
    if (message == SIZE_MAX || ended)
        return;
    header.n = message;
    read_header(p, header);
    if (p->calling) {
        p->calling = false;
        p->state = WEFT_IN_TEXT;
    }
}
