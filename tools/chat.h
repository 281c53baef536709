/* What the files of `weft chat` share: chat.c (the loop), chat_command.c (lines that begin with a
 * slash), chat_file.c (conversations on disk). */
#ifndef WEFT_TOOLS_CHAT_H
#define WEFT_TOOLS_CHAT_H

#include "chat_text.h"
#include "chat_view.h"
#include "generating.h"
#include "line.h"
#include "tool.h"

typedef struct chat_options {
    tool_generating g;
    const char *resume;
    bool no_history;
    tool_list adapters;
} chat_options;

typedef struct chat {
    chat_options *options;
    weft_engine *engine;
    weft_model *model;
    weft_session *session;
    weft_chat_template *template;
    weft_generate_options generate;
    tool_line *line;
    chat_text text;
    chat_view view;
    bool quits;
} chat;

/* Answers the conversation, whose last message is the user's. A failure is shown, and leaves the
 * conversation as it was. False: nobody reads any more. */
bool chat_answer(chat *c);
/* A notice for a person, or a failure: to stderr unless there is a terminal. */
__attribute__((format(printf, 2, 3))) void chat_say(const chat *c, const char *format, ...);

/* chat_command.c: the words that Tab completes, NULL ends; and one such line. False as above. */
extern const char *const chat_words[];
bool chat_command(chat *c, char *line);

/* chat_file.c: the conversation as JSON lines in `path`, its cache beside it in `path`.cache; both
 * appear by rename. A failure is shown and changes nothing. */
bool chat_save(chat *c, const char *path);
bool chat_load(chat *c, const char *path);
#endif
