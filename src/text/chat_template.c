/* Chat templates: their life, and rendering a conversation. */
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "text/chat_impl.h"
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

/* ---- Errors ---- */

static weft_status fail(const jinja_error *error) {
    static const weft_status statuses[] = {
        [JINJA_NO_ERROR] = WEFT_E_ARGUMENT, [JINJA_SYNTAX] = WEFT_E_FORMAT,
        [JINJA_RUNTIME] = WEFT_E_ARGUMENT,  [JINJA_RAISED] = WEFT_E_ARGUMENT,
        [JINJA_LIMIT] = WEFT_E_UNSUPPORTED, [JINJA_INPUT] = WEFT_E_ARGUMENT,
        [JINJA_MEMORY] = WEFT_E_MEMORY,
    };
    weft_status status = statuses[error->kind];
    if (error->kind == JINJA_RAISED || error->line == 0)
        return weft_fail(status, "template: %s", error->message);
    return weft_fail(status, "template: line %u, column %u: %s", error->line, error->column,
                     error->message);
}

static weft_status no_memory(void) {
    return weft_fail(WEFT_E_MEMORY, "template: no memory");
}

/* ---- Life ---- */

static void destroy(weft_chat_template *t) {
    weft_allocator a = t->a;
    jinja_free(t->parsed);
    weft_dealloc(&a, t->source, t->n_source + 1);
    weft_dealloc(&a, t->bos, t->n_bos + 1);
    weft_dealloc(&a, t->eos, t->n_eos + 1);
    weft_engine_release(&t->engine);
    weft_dealloc(&a, t, sizeof *t);
}

static char *copy_text(const weft_allocator *a, const char *text, size_t n) {
    char *copy = weft_alloc(a, n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}

weft_status weft_chat_template_create(weft_engine *engine, const char *source, size_t n_bytes,
                                      weft_chat_template **out) {
    if (!engine || !out || (!source && n_bytes))
        return weft_fail(WEFT_E_NULL, "template: an argument is NULL");
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status != WEFT_OK)
        return status;
    weft_chat_template *t = weft_alloc_zeroed(&engine->allocator, sizeof *t);
    if (!t)
        return no_memory();
    atomic_init(&t->n_refs, 1);
    t->engine = weft_engine_retain(engine);
    t->a = engine->allocator;
    t->n_source = n_bytes;
    t->source = copy_text(&t->a, source ? source : "", n_bytes);
    jinja_error error = {0};
    if (t->source)
        t->parsed = jinja_parse(&t->a, t->source, n_bytes, &error);
    if (t->parsed)
        *out = t;
    else
        status = t->source ? fail(&error) : no_memory();
    if (!*out)
        destroy(t);
    return status;
}

weft_chat_template *weft_chat_template_retain(weft_chat_template *t) {
    if (t)
        atomic_fetch_add_explicit(&t->n_refs, 1, memory_order_relaxed);
    return t;
}

void weft_chat_template_release(weft_chat_template **chat_template) {
    if (!chat_template || !*chat_template)
        return;
    weft_chat_template *t = *chat_template;
    *chat_template = NULL;
    if (atomic_fetch_sub_explicit(&t->n_refs, 1, memory_order_acq_rel) == 1)
        destroy(t);
}

/* ---- A model's template ---- */

/* For models without a template: that of the family whose marker the vocabulary has. */
static const struct {
    const char *family, *marker, *source;
} defaults[] = {
    {"ChatML", "<|im_start|>",
     "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + "
     "message.content + '<|im_end|>\n' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
    {"Llama 3", "<|start_header_id|>",
     "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message.role + "
     "'<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
     "{% endif %}"},
    {"gemma", "<start_of_turn>",
     "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + ('model' if message.role "
     "== 'assistant' else 'user') + '\n' + message.content | trim + '<end_of_turn>\n' }}"
     "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"},
};

static const char *source_of(const weft_tokenizer *t, size_t *n_bytes, const char **family) {
    *n_bytes = t->template_bytes;
    *family = NULL;
    if (t->chat_template)
        return t->chat_template;
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        const char *marker = defaults[i].marker;
        if (weft_tokenizer_find(t, marker, strlen(marker)) < 0)
            continue;
        *family = defaults[i].family;
        *n_bytes = strlen(defaults[i].source);
        return defaults[i].source;
    }
    return NULL;
}

/* The spelling of a special token; one that is no text stays undefined. False: no memory. */
static bool copy_token(const weft_tokenizer *t, const weft_allocator *a, int32_t id, char **out,
                       size_t *n) {
    const char *text;
    if (id < 0)
        return true;
    weft_token_bytes(t, id, true, &text, n);
    if (weft_utf8_valid((const unsigned char *)text, *n) != *n)
        return true;
    *out = copy_text(a, text, *n);
    return *out != NULL;
}

weft_status weft_chat_template_open(const weft_tokenizer *tokenizer, weft_chat_template **out) {
    if (!tokenizer || !out)
        return weft_fail(WEFT_E_NULL, "template: an argument is NULL");
    *out = NULL;
    size_t n_bytes;
    const char *family, *source = source_of(tokenizer, &n_bytes, &family);
    if (!source)
        return weft_fail(WEFT_E_NOT_FOUND, "template: the model has no chat template");
    weft_status status = weft_chat_template_create(tokenizer->engine, source, n_bytes, out);
    if (status != WEFT_OK)
        return status;
    weft_chat_template *t = *out;
    t->family = family;
    if (copy_token(tokenizer, &t->a, tokenizer->bos, &t->bos, &t->n_bos) &&
        copy_token(tokenizer, &t->a, tokenizer->eos, &t->eos, &t->n_eos))
        return WEFT_OK;
    weft_chat_template_release(out);
    return no_memory();
}

const char *weft_chat_template_family(const weft_chat_template *chat_template) {
    return chat_template ? chat_template->family : NULL;
}

/* ---- Rendering ---- */

/* Two or four digits of "2026-01-15T12:00:00"; -1: something else. */
static int digits(const char *text, int n) {
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

static weft_status read_time(const char *text, struct tm *out) {
    time_t seconds;
    if (!text) {
        seconds = time(NULL);
        if (!localtime_r(&seconds, out))
            *out = (struct tm){.tm_mday = 1, .tm_year = 70};
        return WEFT_OK;
    }
    bool shape = strlen(text) == 19 && text[4] == '-' && text[7] == '-' &&
                 (text[10] == 'T' || text[10] == ' ') && text[13] == ':' && text[16] == ':';
    if (shape) {
        struct tm given = {.tm_year = digits(text, 4) - 1900,
                           .tm_mon = digits(text + 5, 2) - 1,
                           .tm_mday = digits(text + 8, 2),
                           .tm_hour = digits(text + 11, 2),
                           .tm_min = digits(text + 14, 2),
                           .tm_sec = digits(text + 17, 2)};
        *out = given;
        seconds = timegm(out); /* also the days of week and year */
        bool same = out->tm_mon == given.tm_mon && out->tm_mday == given.tm_mday &&
                    out->tm_hour == given.tm_hour && out->tm_min == given.tm_min &&
                    out->tm_sec == given.tm_sec && out->tm_year == given.tm_year;
        if (seconds != (time_t)-1 && same && given.tm_year > -1900)
            return WEFT_OK;
    }
    return weft_fail(WEFT_E_ARGUMENT, "template: the time is not of the form 2026-01-15T12:00:00");
}

weft_status weft_chat_render(const weft_chat_template *t, const weft_chat_input *input, char **out,
                             size_t *n_bytes) {
    if (!t || !input || !out || !n_bytes)
        return weft_fail(WEFT_E_NULL, "template: an argument is NULL");
    *out = NULL;
    *n_bytes = 0;
    weft_status status = weft_engine_alive(t->engine);
    if (status != WEFT_OK)
        return status;
    jinja_variable variables[] = {
        {"messages", input->messages, 0},
        {"tools", input->tools, 0},
        {"documents", input->documents, 0},
        {"add_generation_prompt", input->add_generation_prompt ? "true" : "false", 0}};
    size_t total = input->variables ? strlen(input->variables) : 0;
    for (size_t i = 0; i < 4; i++) {
        if (!variables[i].json)
            variables[i].json = "null";
        variables[i].json_bytes = strlen(variables[i].json);
        total += variables[i].json_bytes;
    }
    jinja_input all = {.variables = variables,
                       .n_variables = 4,
                       .object = input->variables,
                       .object_bytes = input->variables ? strlen(input->variables) : 0,
                       .bos_token = t->bos,
                       .bos_bytes = t->n_bos,
                       .eos_token = t->eos,
                       .eos_bytes = t->n_eos};
    status = read_time(input->now, &all.now);
    if (status != WEFT_OK)
        return status;
    jinja_limits limits = jinja_limits_default(total);
    jinja_error error;
    return jinja_render(t->parsed, &all, &limits, out, n_bytes, &error) ? WEFT_OK : fail(&error);
}

void weft_chat_text_free(const weft_chat_template *t, char *text, size_t n_bytes) {
    if (t && text)
        weft_dealloc(&t->a, text, n_bytes + 1);
}
