/* Chat prompts. No template is run: those of the ChatML and gemma families are recognised by their
 * whole shape and rendered by the code here, exactly as the template would; any other is refused.
 */
#include <string.h>
#include "text/template_shape.h"
#include "text/utf8.h"

/* Templates beyond this size belong to no family that is known here. */
#define TEMPLATE_MAX ((size_t)1 << 20)

typedef enum family {
    CHATML,       /* every message alike; a default system text may come first */
    CHATML_ROLES, /* Qwen 2.5: the system text once, in front; roles it does not know are left out
                   */
    GEMMA,        /* no system role */
    GEMMA_SYSTEM  /* the system text goes into the first user turn */
} family;

#define CHATML_MESSAGE                                                                             \
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n'}}{% endfor "  \
    "%}"
#define CHATML_PROMPT "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
#define PROMPT_DEFAULT                                                                             \
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% "      \
    "endif %}"
#define EACH "{% for message in messages %}"
#define DEFAULT_SYSTEM "{% if loop.first and messages[0]['role'] != 'system' %}{{ '@' }}{% endif %}"
#define ALTERNATE                                                                                  \
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"                               \
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}" \
    "{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"       \
    "{% set role = message['role'] %}{% endif %}"
#define GEMMA_PROMPT "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"

static const struct {
    family family;
    const char *shape;
} shapes[] = {
    {CHATML, EACH CHATML_MESSAGE CHATML_PROMPT},
    {CHATML, EACH DEFAULT_SYSTEM CHATML_MESSAGE CHATML_PROMPT},
    {CHATML, PROMPT_DEFAULT EACH CHATML_MESSAGE CHATML_PROMPT},
    {CHATML, PROMPT_DEFAULT EACH DEFAULT_SYSTEM CHATML_MESSAGE CHATML_PROMPT},
    {CHATML_ROLES,
     "{% if tools %}{% skip %}{% else %}{% if messages[0]['role'] == 'system' %}"
     "{{ '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}{% else %}{{ '@' }}"
     "{% endif %}{% endif %}{% for message in messages %}"
     "{% if (message.role == 'user') or (message.role == 'system' and not loop.first) or "
     "(message.role == 'assistant' and not message.tool_calls) %}"
     "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
     "{% elif message.role == 'assistant' %}{% skip %}{% elif message.role == 'tool' %}{% skip %}"
     "{% endif %}{% endfor %}" CHATML_PROMPT},
    {GEMMA, "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
            "{{ raise_exception('System role not supported') }}{% endif %}" EACH ALTERNATE
            "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}"
            "{% endfor %}" GEMMA_PROMPT},
    {GEMMA_SYSTEM,
     "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
     "{% if messages[0]['content'] is string %}"
     "{% set first_user_prefix = messages[0]['content'] + '\n\n' %}{% else %}"
     "{% set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' %}{% endif %}"
     "{% set loop_messages = messages[1:] %}{% else %}{% set first_user_prefix = '' %}"
     "{% set loop_messages = messages %}{% endif %}{% for message in loop_messages %}" ALTERNATE
     "{{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else '') }}"
     "{% if message['content'] is string %}{{ message['content'] | trim }}"
     "{% elif message['content'] is iterable %}{% skip %}{% else %}{% skip %}{% endif %}"
     "{{ '<end_of_turn>\n' }}{% endfor %}" GEMMA_PROMPT},
};

typedef struct rendering {
    const weft_tokenizer *t;
    const weft_chat_message *messages;
    size_t n;
    const char *captured; /* the default system text, or "" */
    size_t n_captured;
    weft_bytes out;
    bool fits;
} rendering;

static void put(rendering *r, const char *text, size_t n) {
    r->fits = r->fits && weft_bytes_add(&r->out, text, n);
}
static void put_text(rendering *r, const char *text) {
    put(r, text, strlen(text));
}

static bool is_role(const weft_chat_message *m, const char *role) {
    return strcmp(m->role, role) == 0;
}

static weft_status refused(const char *why) {
    return weft_fail(WEFT_E_ARGUMENT, "chat template: %s", why);
}

/* What Python's str.strip takes off: white space and the four separators. */
static bool is_stripped(uint32_t c) {
    return weft_is_space(c) || (c >= 0x1c && c <= 0x1f);
}

static void put_trimmed(rendering *r, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    size_t begin = 0, end = strlen(text), length;
    while ((length = weft_utf8_length(s + begin, end - begin)) != 0 &&
           is_stripped(weft_utf8_decode(s + begin, length)))
        begin += length;
    while (end > begin) {
        size_t at = end - 1;
        while (at > begin && (s[at] & 0xc0) == 0x80)
            at--;
        length = weft_utf8_length(s + at, end - at);
        if (length != end - at || !is_stripped(weft_utf8_decode(s + at, length)))
            break;
        end = at;
    }
    put(r, text + begin, end - begin);
}

static void put_chatml(rendering *r, const weft_chat_message *m) {
    put_text(r, "<|im_start|>");
    put_text(r, m->role);
    put_text(r, "\n");
    put_text(r, m->content);
    put_text(r, "<|im_end|>\n");
}

static weft_status render_chatml(rendering *r) {
    if (r->n && !is_role(&r->messages[0], "system"))
        put(r, r->captured, r->n_captured);
    for (size_t i = 0; i < r->n; i++)
        put_chatml(r, &r->messages[i]);
    return WEFT_OK;
}

static weft_status render_roles(rendering *r) {
    if (r->n == 0)
        return refused("it needs a message");
    if (!is_role(&r->messages[0], "system"))
        put(r, r->captured, r->n_captured);
    for (size_t i = 0; i < r->n; i++) {
        const weft_chat_message *m = &r->messages[i];
        if (is_role(m, "tool"))
            return weft_fail(WEFT_E_UNSUPPORTED, "chat template: messages of role \"tool\"");
        if (is_role(m, "user") || is_role(m, "assistant") || is_role(m, "system"))
            put_chatml(r, m);
    }
    return WEFT_OK;
}

static weft_status render_gemma(rendering *r, bool takes_system) {
    const char *bos, *prefix = NULL;
    size_t n_bos, first = 0;
    if (r->n == 0)
        return refused("it needs a message");
    weft_token_bytes(r->t, r->t->bos, true, &bos, &n_bos);
    put(r, bos, n_bos);
    if (is_role(&r->messages[0], "system")) {
        if (!takes_system)
            return refused("System role not supported");
        prefix = r->messages[0].content;
        first = 1;
    }
    for (size_t i = first; i < r->n; i++) {
        const weft_chat_message *m = &r->messages[i];
        if (is_role(m, "user") != ((i - first) % 2 == 0))
            return refused("Conversation roles must alternate user/assistant/user/assistant/...");
        put_text(r, "<start_of_turn>");
        put_text(r, is_role(m, "assistant") ? "model" : m->role);
        put_text(r, "\n");
        if (i == first && prefix) {
            put_text(r, prefix);
            put_text(r, "\n\n");
        }
        put_trimmed(r, m->content);
        put_text(r, "<end_of_turn>\n");
    }
    return WEFT_OK;
}

/* The family of the template; `list` holds what was captured. */
static weft_status recognise(const weft_tokenizer *t, weft_jinja *list, rendering *r,
                             family *found) {
    if (t->template_bytes > TEMPLATE_MAX)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "chat template: %zu bytes; go on without it by --no-template",
                         t->template_bytes);
    if (!weft_jinja_scan(&t->a, t->chat_template, t->template_bytes, list))
        return weft_fail(WEFT_E_MEMORY, "chat template: no memory");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        weft_jinja shape;
        bool fits = weft_jinja_scan(&t->a, shapes[i].shape, strlen(shapes[i].shape), &shape);
        bool same = fits && weft_jinja_match(&shape, list, &r->captured, &r->n_captured);
        weft_jinja_free(&shape);
        if (!fits)
            return weft_fail(WEFT_E_MEMORY, "chat template: no memory");
        if (same) {
            *found = shapes[i].family;
            return WEFT_OK;
        }
    }
    return weft_fail(WEFT_E_UNSUPPORTED,
                     "chat template: neither a known ChatML nor gemma template; "
                     "go on without it by --no-template");
}

static weft_status render(rendering *r, bool add_generation_prompt) {
    weft_jinja list = {0};
    family found = CHATML;
    weft_status status = recognise(r->t, &list, r, &found);
    bool gemma = found == GEMMA || found == GEMMA_SYSTEM;
    if (status == WEFT_OK)
        status = gemma                   ? render_gemma(r, found == GEMMA_SYSTEM)
                 : found == CHATML_ROLES ? render_roles(r)
                                         : render_chatml(r);
    if (status == WEFT_OK && add_generation_prompt)
        put_text(r, gemma ? "<start_of_turn>model\n" : "<|im_start|>assistant\n");
    weft_jinja_free(&list);
    if (status == WEFT_OK && !r->fits)
        status = weft_fail(WEFT_E_MEMORY, "chat prompt: no memory");
    return status;
}

weft_status weft_chat_prompt(const weft_tokenizer *t, const weft_chat_message *messages,
                             size_t n_messages, bool add_generation_prompt, char **out,
                             size_t *n_bytes) {
    if (!t || !out || !n_bytes || (!messages && n_messages))
        return weft_fail(WEFT_E_NULL, "chat prompt: an argument is NULL");
    *out = NULL;
    *n_bytes = 0;
    weft_status status = weft_engine_alive(t->engine);
    if (status != WEFT_OK)
        return status;
    for (size_t i = 0; i < n_messages; i++)
        if (!messages[i].role || !messages[i].content)
            return weft_fail(WEFT_E_NULL, "chat prompt: message %zu has no %s", i,
                             messages[i].role ? "content" : "role");
    if (!t->chat_template)
        return weft_fail(WEFT_E_NOT_FOUND, "chat prompt: the model has no chat template");
    rendering r = {.t = t, .messages = messages, .n = n_messages, .out.a = &t->a, .fits = true};
    status = render(&r, add_generation_prompt);
    char *text = status == WEFT_OK ? weft_alloc(&t->a, r.out.n + 1) : NULL;
    if (text) {
        if (r.out.n)
            memcpy(text, r.out.data, r.out.n);
        text[r.out.n] = 0;
        *out = text;
        *n_bytes = r.out.n;
    } else if (status == WEFT_OK) {
        status = weft_fail(WEFT_E_MEMORY, "chat prompt: no memory");
    }
    weft_bytes_free(&r.out);
    return status;
}

void weft_text_free(const weft_tokenizer *t, char *text, size_t n_bytes) {
    if (t && text)
        weft_dealloc(&t->a, text, n_bytes + 1);
}
