/* Lines from a person or a script: with editing, history and completion on a terminal (libedit), as
 * they are otherwise. */
#ifndef WEFT_TOOLS_LINE_H
#define WEFT_TOOLS_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tool_line tool_line;

/* `words`: what Tab completes at the start of a line, NULL ends; file names after "/save " and
 * "/load ". `history`: a file that lines are remembered in, or NULL. Without a terminal, or built
 * without libedit, lines are read plainly. NULL: no memory. */
tool_line *tool_line_open(const char *const *words, const char *history);
void tool_line_close(tool_line *line);
/* Whether a person types: then there is a prompt. */
bool tool_line_is_terminal(const tool_line *line);

typedef enum tool_line_end {
    TOOL_LINE_READ,
    TOOL_LINE_ABORTED,
    TOOL_LINE_CLOSED,
    TOOL_LINE_FAILED /* errno says why */
} tool_line_end;

/* The next line without its newline, NUL-terminated, valid until the next call. ABORTED: Ctrl-C;
 * CLOSED: the end of the input. On a terminal a text that is pasted comes as one line, with
 * newlines in it. */
tool_line_end tool_line_read(tool_line *line, const char *prompt, char **text, size_t *n_bytes);
#endif
