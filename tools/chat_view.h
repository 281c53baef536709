/* How an answer looks on a terminal: words wrap at the window's width, lines of code do not,
 * reasoning is dim. Elsewhere the text comes as it is. */
#ifndef WEFT_TOOLS_CHAT_VIEW_H
#define WEFT_TOOLS_CHAT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct chat_view {
    bool terminal;  /* wraps, and dims what is dim */
    bool dim, code; /* now */
    int column;     /* cells written of the line */
    char word[512]; /* held back until it is known whether it fits */
    size_t n_word;
    char start[4]; /* the line's first bytes, as far as they may open or close code */
    size_t n_start;
    bool started; /* something was written since chat_view_begin */
} chat_view;

void chat_view_begin(chat_view *view, bool terminal);
/* Whole UTF-8 sequences. False: nobody reads any more. */
bool chat_view_write(chat_view *view, const char *text, size_t n_bytes, bool dim);
/* What is held back, and the end of the line. */
bool chat_view_end(chat_view *view);
#endif
