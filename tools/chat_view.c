/* See chat_view.h. */
#include "chat_view.h"
#include "tool.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NARROWEST 20 /* cells: below that, wrapping helps nobody */

/* Asked each time: windows change. */
static int window_width(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= NARROWEST)
        return size.ws_col;
    return 0;
}

/* Cells of well-formed UTF-8: as the C library counts them, one for what it does not know. */
static int cells(const char *text, size_t n) {
    int width = 0;
    for (size_t i = 0; i < n;) {
        unsigned char lead = (unsigned char)text[i];
        size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        wchar_t c = (wchar_t)(length == 1 ? lead : lead & (0x7f >> length));
        for (size_t k = 1; k < length && i + k < n; k++)
            c = (wchar_t)((unsigned)c << 6 | ((unsigned char)text[i + k] & 0x3f));
        int w = wcwidth(c);
        width += w < 0 ? 1 : w;
        i += length;
    }
    return width;
}

void chat_view_begin(chat_view *view, bool terminal) {
    *view = (chat_view){.terminal = terminal};
}

static bool set_dim(chat_view *view, bool dim) {
    if (view->dim == dim || !view->terminal)
        return true;
    view->dim = dim;
    return tool_write(dim ? "\x1b[2m" : "\x1b[0m", 4);
}

/* The word that was held back, on a new line if it does not fit on this one. */
static bool flush_word(chat_view *view) {
    int width = view->code ? 0 : window_width(), n = cells(view->word, view->n_word);
    bool written = true;
    if (width && view->column > 0 && view->column + n > width && n <= width) {
        written = tool_write("\n", 1);
        view->column = 0;
    }
    written = written && tool_write(view->word, view->n_word);
    view->column += n;
    if (width && view->column > width)
        view->column = (view->column - 1) % width + 1; /* a full line goes on when more comes */
    view->n_word = 0;
    return written;
}

/* A line that begins with three backquotes opens or closes code. */
static void note_start(chat_view *view, char c) {
    if (view->n_start < sizeof view->start)
        view->start[view->n_start++] = c;
    if (view->n_start == 3 && memcmp(view->start, "```", 3) == 0)
        view->code = !view->code;
}

static bool put(chat_view *view, char c) {
    bool written = true;
    if (c == '\n') {
        written = flush_word(view) && tool_write("\n", 1);
        view->column = 0;
        view->n_start = 0;
        return written;
    }
    /* What a model says is text: it moves no cursor and paints no window. */
    unsigned char byte = (unsigned char)c;
    if ((byte < 0x20 && c != '\t') || byte == 0x7f)
        c = '?';
    if (byte >= 0x80 && byte < 0xa0 && view->n_word > 0 &&
        (unsigned char)view->word[view->n_word - 1] == 0xc2) {
        view->word[view->n_word - 1] = '?';
        return true;
    }
    note_start(view, c);
    if (c == ' ' || c == '\t') {
        int width = view->code ? 0 : window_width();
        written = flush_word(view);
        if (width && view->column + 1 >= width) {
            view->column = 0;
            return written && tool_write("\n", 1);
        }
        view->column++;
        return written && tool_write(&c, 1);
    }
    bool begins = ((unsigned char)c & 0xc0) != 0x80; /* never cut inside of a character */
    if (begins && view->n_word + 8 > sizeof view->word)
        written = flush_word(view);
    view->word[view->n_word++] = c;
    return written;
}

bool chat_view_write(chat_view *view, const char *text, size_t n_bytes, bool dim) {
    if (n_bytes == 0)
        return true;
    view->started = true;
    if (!view->terminal) {
        view->column = text[n_bytes - 1] != '\n';
        return tool_write(text, n_bytes) && tool_flush();
    }
    bool written = view->dim == dim || (flush_word(view) && set_dim(view, dim));
    for (size_t i = 0; written && i < n_bytes; i++)
        written = put(view, text[i]);
    return written && tool_flush();
}

bool chat_view_end(chat_view *view) {
    bool written = true;
    if (view->terminal)
        written = flush_word(view) && set_dim(view, false);
    if (written && (view->column > 0 || !view->started))
        written = tool_write("\n", 1);
    return written && tool_flush();
}
