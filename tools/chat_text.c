/* See chat_text.h. */
#include "chat_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool resize(void **block, size_t n, size_t size) {
    void *grown = n <= SIZE_MAX / 2 / size ? realloc(*block, n * size + 1) : NULL;
    if (grown)
        *block = grown;
    return grown != NULL;
}

/* ---- Messages ---- */

weft_status chat_text_add(chat_text *chat, const char *role, const char *content) {
    char *copy = strdup(content);
    if (!copy || !resize((void **)&chat->messages, chat->n + 1, sizeof *chat->messages)) {
        free(copy);
        return WEFT_E_MEMORY;
    }
    chat->messages[chat->n++] = (chat_message){role, copy};
    return WEFT_OK;
}

static bool has_system(const chat_text *chat) {
    return chat->n > 0 && strcmp(chat->messages[0].role, "system") == 0;
}

const char *chat_text_system(const chat_text *chat) {
    return has_system(chat) ? chat->messages[0].content : NULL;
}

weft_status chat_text_set_system(chat_text *chat, const char *content) {
    if (has_system(chat)) {
        free(chat->messages[0].content);
        memmove(chat->messages, chat->messages + 1, --chat->n * sizeof *chat->messages);
    }
    if (!content)
        return WEFT_OK;
    weft_status status = chat_text_add(chat, "system", content);
    if (status)
        return status;
    chat_message last = chat->messages[chat->n - 1];
    memmove(chat->messages + 1, chat->messages, (chat->n - 1) * sizeof *chat->messages);
    chat->messages[0] = last;
    return WEFT_OK;
}

void chat_text_cut(chat_text *chat, size_t n) {
    while (chat->n > n)
        free(chat->messages[--chat->n].content);
}

void chat_text_free(chat_text *chat) {
    chat_text_cut(chat, 0);
    free(chat->messages);
    free(chat->text);
    free(chat->ids);
    free(chat->marks);
    *chat = (chat_text){0};
}

/* ---- Tokens ---- */

/* A message that spells special tokens is rendered as this, with its number between the ends, and
 * tokenised apart, as plain text. Private-use characters: no template or vocabulary has such a
 * text, and JSON leaves it alone. */
#define PLACE "\xee\x83\xb0weft"
#define PLACE_END "\xee\x83\xb1"

/* Ids that are appended at once, or not at all. */
typedef struct id_list {
    int32_t *ids;
    size_t n;
} id_list;

static weft_status append(const chat_text *chat, id_list *to, const char *text, size_t n_bytes,
                          bool special) {
    int32_t *more;
    size_t n;
    weft_tokenize_options how = {.parse_special = special, .add_special = false};
    weft_status status = weft_tokenize(chat->tokenizer, text, n_bytes, how, &more, &n);
    if (status)
        return status;
    bool fits = resize((void **)&to->ids, to->n + n, sizeof *to->ids);
    if (fits && n) {
        memcpy(to->ids + to->n, more, n * sizeof *more);
        to->n += n;
    }
    weft_tokens_free(chat->tokenizer, more, n);
    return fits ? WEFT_OK : WEFT_E_MEMORY;
}

static weft_status spells_special(const chat_text *chat, const char *text, bool *out) {
    id_list plain = {0}, special = {0};
    weft_status status = append(chat, &plain, text, strlen(text), false);
    if (!status)
        status = append(chat, &special, text, strlen(text), true);
    if (!status)
        *out = plain.n != special.n || memcmp(plain.ids, special.ids, plain.n * sizeof(int32_t));
    free(plain.ids);
    free(special.ids);
    return status;
}

/* A piece of a rendering; messages take the places that stand for them. */
static weft_status append_rendered(const chat_text *chat, id_list *to, const char *text,
                                   size_t n_bytes) {
    weft_status status = WEFT_OK;
    while (status == WEFT_OK && n_bytes > 0) {
        const char *place = memmem(text, n_bytes, PLACE, strlen(PLACE));
        size_t before = place ? (size_t)(place - text) : n_bytes;
        if (before)
            status = append(chat, to, text, before, true);
        text += before;
        n_bytes -= before;
        if (status || n_bytes == 0)
            break;
        char *end;
        unsigned long i = strtoul(text + strlen(PLACE), &end, 10);
        size_t length = (size_t)(end - text) + strlen(PLACE_END);
        if (i >= chat->n || length > n_bytes || memcmp(end, PLACE_END, strlen(PLACE_END)) != 0)
            return WEFT_E_FORMAT; /* the template has cut it */
        const char *content = chat->messages[i].content;
        status = append(chat, to, content, strlen(content), false);
        text += length;
        n_bytes -= length;
    }
    return status;
}

static weft_status render(const chat_text *chat, char **out, size_t *n_bytes) {
    weft_chat_message *messages = calloc(chat->n + 1, sizeof *messages);
    char(*places)[32] = calloc(chat->n + 1, sizeof *places);
    weft_status status = messages && places ? WEFT_OK : WEFT_E_MEMORY;
    for (size_t i = 0; status == WEFT_OK && i < chat->n; i++) {
        const chat_message *m = &chat->messages[i];
        bool apart = false;
        if (strcmp(m->role, "assistant") != 0)
            status = spells_special(chat, m->content, &apart);
        snprintf(places[i], sizeof places[i], PLACE "%zu" PLACE_END, i);
        messages[i] = (weft_chat_message){m->role, apart ? places[i] : m->content};
    }
    if (status == WEFT_OK)
        status = weft_chat_prompt(chat->tokenizer, messages, chat->n, true, out, n_bytes);
    free(messages);
    free(places);
    return status;
}

/* The furthest place up to which the ids stand for the beginning of `text`. */
static chat_mark shared(const chat_text *chat, const char *text, size_t n_bytes) {
    for (size_t i = chat->n_marks; i-- > 0;) {
        chat_mark mark = chat->marks[i];
        if (mark.n_text <= n_bytes && memcmp(chat->text, text, mark.n_text) == 0)
            return mark;
    }
    return (chat_mark){0, 0};
}

static bool is_special(const weft_tokenizer *tokenizer, int32_t id) {
    size_t plain, whole;
    weft_token_bytes(tokenizer, id, false, NULL, &plain);
    weft_token_bytes(tokenizer, id, true, NULL, &whole);
    return plain == 0 && whole > 0;
}

/* What comes behind `from`. Text that does not begin with a special token could have merged with
 * what is before it: then all of it is tokenised. */
static weft_status tokenize_rest(const chat_text *chat, const char *text, size_t n_bytes,
                                 chat_mark *from, id_list *rest) {
    weft_status status = append_rendered(chat, rest, text + from->n_text, n_bytes - from->n_text);
    bool clean = from->n_text == 0 || rest->n == 0 || is_special(chat->tokenizer, rest->ids[0]);
    if (status == WEFT_OK && !clean) {
        rest->n = 0;
        *from = (chat_mark){0, 0};
        status = append_rendered(chat, rest, text, n_bytes);
    }
    return status;
}

static weft_status mark_here(chat_text *chat) {
    if (!resize((void **)&chat->marks, chat->n_marks + 1, sizeof *chat->marks))
        return WEFT_E_MEMORY;
    chat->marks[chat->n_marks++] = (chat_mark){chat->n_text, chat->n_ids};
    return WEFT_OK;
}

/* Replaces what stands behind `from`. */
static weft_status replace(chat_text *chat, chat_mark from, const char *text, size_t n_bytes,
                           const int32_t *ids, size_t n) {
    if (!resize((void **)&chat->text, from.n_text + n_bytes, 1) ||
        !resize((void **)&chat->ids, from.n_ids + n, sizeof *chat->ids))
        return WEFT_E_MEMORY;
    if (n_bytes)
        memcpy(chat->text + from.n_text, text, n_bytes);
    if (n)
        memcpy(chat->ids + from.n_ids, ids, n * sizeof *ids);
    chat->n_text = from.n_text + n_bytes;
    chat->n_ids = from.n_ids + n;
    while (chat->n_marks > 0 && chat->marks[chat->n_marks - 1].n_text > from.n_text)
        chat->n_marks--;
    return mark_here(chat);
}

weft_status chat_text_prompt(chat_text *chat) {
    char *text;
    size_t n_bytes;
    weft_status status = render(chat, &text, &n_bytes);
    if (status)
        return status;
    chat_mark from = shared(chat, text, n_bytes);
    id_list rest = {0};
    int32_t bos = weft_tokenizer_bos(chat->tokenizer);
    status = tokenize_rest(chat, text, n_bytes, &from, &rest);
    bool adds = weft_tokenizer_adds_bos(chat->tokenizer) && from.n_ids == 0 &&
                (rest.n == 0 || rest.ids[0] != bos);
    if (!status && adds && !resize((void **)&rest.ids, rest.n + 1, sizeof *rest.ids))
        status = WEFT_E_MEMORY;
    if (!status && adds) {
        memmove(rest.ids + 1, rest.ids, rest.n++ * sizeof *rest.ids);
        rest.ids[0] = bos;
    }
    if (!status)
        status = replace(chat, from, text + from.n_text, n_bytes - from.n_text, rest.ids, rest.n);
    free(rest.ids);
    weft_text_free(chat->tokenizer, text, n_bytes);
    return status;
}

weft_status chat_text_answer(chat_text *chat, const char *content, const char *raw, size_t n_bytes,
                             const int32_t *ids, size_t n) {
    weft_status status = chat_text_add(chat, "assistant", content);
    chat_mark here = {chat->n_text, chat->n_ids};
    return status ? status : replace(chat, here, raw, n_bytes, ids, n);
}
