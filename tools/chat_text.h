/* A conversation as tokens: the model's template renders it, and of each rendering only what is new
 * is tokenised, so that what the cache holds stays as it was evaluated. */
#ifndef WEFT_TOOLS_CHAT_TEXT_H
#define WEFT_TOOLS_CHAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/weft.h>

typedef struct chat_message {
    const char *role; /* "system", "user", "assistant" */
    char *content;    /* NUL-terminated, freed with free() */
} chat_message;

/* Where a rendering stood when a prompt or an answer was complete. */
typedef struct chat_mark {
    size_t n_text, n_ids;
} chat_mark;

typedef struct chat_text {
    const weft_tokenizer *tokenizer;
    chat_message *messages; /* [n]; a system message comes first */
    size_t n, room;
    char *text; /* what the ids stand for; a message that spells special tokens has a placeholder */
    size_t n_text;
    int32_t *ids;
    size_t n_ids;
    chat_mark *marks; /* [n_marks], ascending */
    size_t n_marks;
} chat_text;

/* Errors are those of the library, WEFT_E_MEMORY among them. */

/* Appends a message; `content` is copied. */
weft_status chat_text_add(chat_text *chat, const char *role, const char *content);
/* Sets, changes or (NULL) removes the system message. */
weft_status chat_text_set_system(chat_text *chat, const char *content);
/* The system message, borrowed; NULL: none. */
const char *chat_text_system(const chat_text *chat);
/* Drops the messages from `n` on. */
void chat_text_cut(chat_text *chat, size_t n);
/* Brings ids up to the prompt for the next answer. On an error nothing has changed. */
weft_status chat_text_prompt(chat_text *chat);
/* Appends what the model said: the message, and behind the prompt its text as generated [n_bytes]
 * and its ids. */
weft_status chat_text_answer(chat_text *chat, const char *content, const char *raw, size_t n_bytes,
                             const int32_t *ids, size_t n);
void chat_text_free(chat_text *chat);
#endif
