/* See line.h. */
#include "line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef WEFT_HAVE_LIBEDIT
#include <dirent.h>
#include <histedit.h>
#include <wchar.h>
#endif

struct tool_line {
    bool terminal;
    char *plain; /* of getline */
    size_t room;
#ifdef WEFT_HAVE_LIBEDIT
    EditLine *el; /* NULL: lines are read plainly */
    History *past;
    const char *prompt, *file;
    const char *const *words;
    bool aborted;
#endif
};

#ifdef WEFT_HAVE_LIBEDIT

#define REMEMBERED 1000 /* lines */

static tool_line *line_of(EditLine *el) {
    void *line = NULL;
    el_get(el, EL_CLIENTDATA, &line);
    return line;
}

static char *prompt_of(EditLine *el) {
    return (char *)(size_t)line_of(el)->prompt;
}

/* Ctrl-C is a key here: it gives the line up. */
static unsigned char abort_line(EditLine *el, int c) {
    (void)c;
    line_of(el)->aborted = true;
    return CC_NEWLINE;
}

/* ---- Pasted text ---- */

/* A terminal puts these around what is pasted, while it is asked to. */
#define PASTE_ON "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l"
#define PASTE_BEGINS "\x1b[200~"
#define PASTE_ENDS L"\x1b[201~"
#define MAX_PASTE ((size_t)1 << 20)

static void ask_for_marks(bool on) {
    fputs(on ? PASTE_ON : PASTE_OFF, stdout);
    fflush(stdout);
}

/* Adds one character of a pasted text [*n]: ends of lines as newlines, no other controls than those
 * of the mark at its end. False: the mark is complete, and gone. */
static bool take_pasted(wchar_t *text, size_t *n, wchar_t c) {
    const size_t n_end = sizeof PASTE_ENDS / sizeof(wchar_t) - 1;
    if (c == L'\r')
        c = L'\n';
    if ((c >= 0x20 && c != 0x7f) || c == L'\t' || c == L'\n' || c == PASTE_ENDS[0])
        text[(*n)++] = c;
    if (*n < n_end || wmemcmp(text + *n - n_end, PASTE_ENDS, n_end) != 0)
        return true;
    *n -= n_end;
    return false;
}

/* A pasted text becomes part of the line as it is, ends of lines included: nothing is sent before
 * Enter is pressed. */
static unsigned char paste(EditLine *el, int key) {
    (void)key;
    size_t n = 0, room = 0, kept = 0;
    wchar_t *text = NULL, c;
    bool more = true;
    while (more && n < MAX_PASTE && el_wgetc(el, &c) == 1) {
        if (n + 2 > room) {
            wchar_t *grown = realloc(text, (room = room * 2 + 1024) * sizeof *text);
            if (!grown)
                break;
            text = grown;
        }
        more = take_pasted(text, &n, c);
    }
    while (n > 0 && text[n - 1] == L'\n')
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] != PASTE_ENDS[0])
            text[kept++] = text[i];
    if (text)
        text[kept] = 0;
    bool inserted = kept == 0 || el_winsertstr(el, text) == 0;
    free(text);
    return inserted ? CC_REFRESH : CC_ERROR;
}

/* ---- Completion ---- */

/* What several candidates have in common. */
typedef struct completion {
    const char *stem;
    size_t n_stem, n_candidates;
    char common[256];
} completion;

static void offer(completion *c, const char *candidate, const char *end) {
    size_t n = strlen(candidate), same = 0;
    if (n < c->n_stem || memcmp(candidate, c->stem, c->n_stem) != 0 ||
        n + strlen(end) >= sizeof c->common)
        return;
    if (c->n_candidates++ == 0) {
        snprintf(c->common, sizeof c->common, "%s%s", candidate, end);
        return;
    }
    while (c->common[same] && c->common[same] == candidate[same])
        same++;
    c->common[same] = 0;
}

static void offer_files(completion *c) {
    const char *slash = memrchr(c->stem, '/', c->n_stem);
    char folder[256] = ".";
    size_t n = slash ? (size_t)(slash + 1 - c->stem) : 0;
    if (n >= sizeof folder)
        return;
    if (n) {
        memcpy(folder, c->stem, n);
        folder[n] = 0;
    }
    c->stem += n;
    c->n_stem -= n;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' || (c->n_stem && c->stem[0] == '.'))
            offer(c, e->d_name, e->d_type == DT_DIR ? "/" : "");
    if (dir)
        closedir(dir);
}

/* Nothing is left to add, but several candidates: shows those that are commands. */
static unsigned char show_words(const tool_line *line, const completion *c) {
    if (c->n_candidates < 2 || c->stem[0] != '/')
        return CC_ERROR;
    fputc('\n', stdout);
    for (const char *const *word = line->words; *word; word++)
        if (strncmp(*word, c->stem, c->n_stem) == 0)
            fprintf(stdout, "%s  ", *word);
    fputc('\n', stdout);
    return CC_REDISPLAY;
}

static unsigned char complete(EditLine *el, int key) {
    (void)key;
    const LineInfo *info = el_line(el);
    tool_line *line = line_of(el);
    size_t n = (size_t)(info->cursor - info->buffer);
    completion c = {.stem = info->buffer, .n_stem = n};
    if (n == 0 || info->buffer[0] != '/')
        return CC_ERROR;
    const char *space = memchr(info->buffer, ' ', n);
    if (!space) {
        for (const char *const *word = line->words; *word; word++)
            offer(&c, *word, " ");
    } else if (strncmp(info->buffer, "/save ", 6) == 0 || strncmp(info->buffer, "/load ", 6) == 0) {
        c.stem += 6;
        c.n_stem -= 6;
        offer_files(&c);
    }
    if (c.n_candidates == 0 || strlen(c.common) <= c.n_stem)
        return space ? CC_ERROR : show_words(line, &c);
    return el_insertstr(el, c.common + c.n_stem) ? CC_ERROR : CC_REFRESH;
}

static bool open_editor(tool_line *line) {
    HistEvent event;
    line->el = el_init("weft", stdin, stdout, stderr);
    line->past = history_init();
    if (!line->el || !line->past)
        return false;
    el_set(line->el, EL_CLIENTDATA, line);
    el_set(line->el, EL_PROMPT, prompt_of);
    el_set(line->el, EL_EDITOR, "emacs");
    el_set(line->el, EL_SIGNAL, 1); /* follows the window's size; leaves no raw terminal behind */
    el_set(line->el, EL_HIST, history, line->past);
    el_set(line->el, EL_ADDFN, "weft-abort", "Give the line up", abort_line);
    el_set(line->el, EL_ADDFN, "weft-complete", "Complete a command", complete);
    el_set(line->el, EL_ADDFN, "weft-paste", "Insert a pasted text", paste);
    el_set(line->el, EL_SETTY, "-d", "-isig", NULL);
    el_set(line->el, EL_SETTY, "-x", "-echoctl", NULL); /* no ^C inside of an answer */
    el_set(line->el, EL_BIND, "^C", "weft-abort", NULL);
    el_set(line->el, EL_BIND, "^I", "weft-complete", NULL);
    el_set(line->el, EL_BIND, PASTE_BEGINS, "weft-paste", NULL);
    el_set(line->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    history(line->past, &event, H_SETSIZE, REMEMBERED);
    history(line->past, &event, H_SETUNIQUE, 1);
    if (line->file)
        history(line->past, &event, H_LOAD, line->file);
    return true;
}

static void close_editor(tool_line *line) {
    HistEvent event;
    if (line->past && line->file) {
        mode_t before = umask(077);
        history(line->past, &event, H_SAVE, line->file);
        umask(before);
    }
    if (line->past)
        history_end(line->past);
    if (line->el)
        el_end(line->el);
    line->past = NULL;
    line->el = NULL;
}

static tool_line_end read_edited(tool_line *line, char **text, size_t *n_bytes) {
    HistEvent event;
    int n = 0;
    line->aborted = false;
    el_resize(line->el); /* it may have changed during the answer */
    ask_for_marks(true);
    const char *read = el_gets(line->el, &n);
    ask_for_marks(false);
    if (line->aborted) {
        el_reset(line->el);
        return TOOL_LINE_ABORTED;
    }
    if (!read || n <= 0)
        return TOOL_LINE_CLOSED;
    if (n > 1)
        history(line->past, &event, H_ENTER, read);
    if ((size_t)n + 1 > line->room) {
        char *grown = realloc(line->plain, (size_t)n + 1);
        if (!grown)
            return TOOL_LINE_CLOSED;
        line->plain = grown;
        line->room = (size_t)n + 1;
    }
    memcpy(line->plain, read, (size_t)n);
    while (n > 0 && (line->plain[n - 1] == '\n' || line->plain[n - 1] == '\r'))
        n--;
    line->plain[n] = 0;
    *text = line->plain;
    *n_bytes = (size_t)n;
    return TOOL_LINE_READ;
}

#endif

tool_line *tool_line_open(const char *const *words, const char *history) {
    tool_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    (void)words;
    (void)history;
#ifdef WEFT_HAVE_LIBEDIT
    line->words = words;
    line->file = history;
    if (line->terminal && !open_editor(line))
        close_editor(line);
#endif
    return line;
}

void tool_line_close(tool_line *line) {
    if (!line)
        return;
#ifdef WEFT_HAVE_LIBEDIT
    close_editor(line);
#endif
    free(line->plain);
    free(line);
}

bool tool_line_is_terminal(const tool_line *line) {
    return line->terminal;
}

tool_line_end tool_line_read(tool_line *line, const char *prompt, char **text, size_t *n_bytes) {
#ifdef WEFT_HAVE_LIBEDIT
    line->prompt = prompt;
    if (line->el)
        return read_edited(line, text, n_bytes);
#endif
    if (line->terminal) {
        fputs(prompt, stdout);
        fflush(stdout);
    }
    errno = 0;
    ssize_t n = getline(&line->plain, &line->room, stdin);
    if (n < 0) {
        bool failed = ferror(stdin);
        clearerr(stdin);
        return !failed ? TOOL_LINE_CLOSED : errno == EINTR ? TOOL_LINE_ABORTED : TOOL_LINE_FAILED;
    }
    while (n > 0 && (line->plain[n - 1] == '\n' || line->plain[n - 1] == '\r'))
        n--;
    line->plain[n] = 0;
    *text = line->plain;
    *n_bytes = (size_t)n;
    return TOOL_LINE_READ;
}
