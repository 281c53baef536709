/* Options, error lines, and text in and out of the subcommands. */
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Errors ---- */

/* `weft: what: why` with everything that could end or colour the line made harmless. */
static void error_line(const char *what, const char *why) {
    char line[2048];
    int n = snprintf(line, sizeof line, "weft: %s: %s", what, why);
    if (n < 0)
        return;
    if ((size_t)n >= sizeof line)
        n = (int)sizeof line - 1;
    for (int i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    fprintf(stderr, "%s\n", line);
}

int tool_fail(const char *what, const char *format, ...) {
    char why[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    error_line(what, why);
    return TOOL_FAILED;
}

int tool_fail_status(const char *what, weft_status status) {
    const char *detail = weft_detail();
    if (!*detail)
        detail = weft_status_text(status);
    /* Details often begin with the file that `what` names, or with the library's function. */
    size_t n = strlen(what), name = strspn(detail, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (strncmp(detail, what, n) == 0 && strncmp(detail + n, ": ", 2) == 0)
        detail += n + 2;
    else if (strncmp(detail, "weft_", 5) == 0 && strncmp(detail + name, ": ", 2) == 0)
        detail += name + 2;
    error_line(what, detail);
    return TOOL_FAILED;
}

int tool_usage(const char *command, const char *format, ...) {
    char why[1024], whole[1152];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(whole, sizeof whole, "%s (see weft %s --help)", why, command);
    error_line(command, whole);
    return TOOL_USAGE;
}

static const char *current = "run"; /* the command that was parsed */

int tool_bad_value(const char *option, const char *format, ...) {
    char why[1024], whole[1152];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(whole, sizeof whole, "%s (see weft %s --help)", why, current);
    error_line(option, whole);
    return TOOL_USAGE;
}

/* ---- Options ---- */

bool tool_parse_integer(const char *text, int64_t low, int64_t high, int64_t *out) {
    char *end;
    errno = 0;
    if (!*text || strspn(text, "+-0123456789") != strlen(text))
        return false;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || value < low || value > high)
        return false;
    *out = value;
    return true;
}

bool tool_parse_real(const char *text, double low, double high, double *out) {
    char *end;
    if (!*text || strspn(text, "+-.eE0123456789") != strlen(text))
        return false;
    double value = strtod(text, &end);
    if (*end || !isfinite(value) || value < low || value > high)
        return false;
    *out = value;
    return true;
}

static bool parse_u64(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    if (!*text || strspn(text, "0123456789") != strlen(text))
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *out = value;
    return true;
}

/* False when `text` is not what the option wants. */
static bool set_option(const tool_option *o, const char *text) {
    int64_t integer;
    double real;
    switch (o->type) {
    case TOOL_FLAG:
    case TOOL_UNFLAG:
        *(bool *)o->value = o->type == TOOL_FLAG;
        return true;
    case TOOL_STRING:
        *(const char **)o->value = text;
        return *text || o->low < 1;
    case TOOL_I32:
        if (!tool_parse_integer(text, (int64_t)o->low, (int64_t)o->high, &integer))
            return false;
        *(int32_t *)o->value = (int32_t)integer;
        return true;
    case TOOL_U64:
        return parse_u64(text, o->value);
    case TOOL_F32:
        if (!tool_parse_real(text, o->low, o->high, &real))
            return false;
        *(float *)o->value = (float)real;
        return true;
    case TOOL_LIST: {
        tool_list *list = o->value;
        if (list->n == sizeof list->items / sizeof list->items[0] || (!*text && o->low >= 1))
            return false;
        list->items[list->n++] = text;
        return true;
    }
    }
    return false;
}

/* `is_long`: the option was given by its long name. */
static int bad_value(const tool_option *o, bool is_long, const char *text) {
    char name[64];
    if (is_long)
        snprintf(name, sizeof name, "--%s", o->name);
    else if (o->letter)
        snprintf(name, sizeof name, "-%c", o->letter);
    else
        snprintf(name, sizeof name, "-tb"); /* the one name of two letters */
    if (!*text && (o->type == TOOL_STRING || o->type == TOOL_LIST))
        return tool_usage(current, "%s wants a value that is not empty", name);
    if (o->type == TOOL_LIST)
        return tool_usage(current, "%s given too often", name);
    if (o->type == TOOL_U64)
        return tool_usage(current, "%s wants a whole number, not '%s'", name, text);
    if (o->type == TOOL_I32)
        return tool_usage(current, "%s wants a whole number from %.0f to %.0f, not '%s'", name,
                          o->low, o->high, text);
    return tool_usage(current, "%s wants a number from %g to %g, not '%s'", name, o->low, o->high,
                      text);
}

static size_t option_named(const char *name, const tool_option *options, size_t n) {
    size_t i = 0;
    while (i < n && (!options[i].name || strcmp(options[i].name, name) != 0))
        i++;
    return i;
}

#define MAX_OPTIONS 64
#define LONG_BASE 256 /* getopt_long's value of option i is LONG_BASE + i */

int tool_parse(int argc, char **argv, const char *help, const tool_option *options, size_t n,
               int *first) {
    struct option longs[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    char shorts[2 * MAX_OPTIONS + 4] = ":h";
    size_t n_longs = 1, n_shorts = 2;
    for (size_t i = 0; i < n && i < MAX_OPTIONS; i++) {
        bool bare = options[i].type == TOOL_FLAG || options[i].type == TOOL_UNFLAG;
        if (options[i].name)
            longs[n_longs++] = (struct option){
                options[i].name, bare ? no_argument : required_argument, NULL, LONG_BASE + (int)i};
        if (options[i].letter) {
            shorts[n_shorts++] = options[i].letter;
            if (!bare)
                shorts[n_shorts++] = ':';
        }
    }
    current = argv[0];
    opterr = 0;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        if (c == 'h') {
            tool_write(help, strlen(help));
            return tool_finish(TOOL_DONE);
        }
        const char *given = optind > 0 ? argv[optind - 1] : "";
        if (c == ':')
            return tool_usage(argv[0], "%s wants a value", given);
        size_t i = 0;
        if (c >= LONG_BASE)
            i = (size_t)(c - LONG_BASE);
        else
            while (i < n && options[i].letter != c)
                i++;
        if (c == '?' || i >= n) {
            char letter[3] = {'-', (char)optopt, 0};
            bool is_letter = optopt > 0 && optopt < LONG_BASE;
            return tool_usage(argv[0], "unknown option %s", is_letter ? letter : given);
        }
        if (c == 't' && strcmp(optarg, "b") == 0) { /* -tb N, as other engines spell it */
            i = option_named("threads-batch", options, n);
            if (i == n || optind >= argc)
                return tool_usage(argv[0], "-tb wants a value");
            optarg = argv[optind++];
        }
        if (!set_option(&options[i], optarg))
            return bad_value(&options[i], c >= LONG_BASE, optarg);
    }
    if (first)
        *first = optind;
    else if (optind < argc)
        return tool_usage(argv[0], "unexpected argument '%s'", argv[optind]);
    return -1;
}

/* ---- Text in ---- */

#define MAX_TEXT ((size_t)1 << 29)

static int read_stream(FILE *stream, const char *what, char **out, size_t *n_bytes) {
    size_t room = 4096, n = 0;
    char *text = malloc(room);
    while (text) {
        n += fread(text + n, 1, room - n - 1, stream);
        if (n < room - 1)
            break;
        if (n >= MAX_TEXT) { /* an endless device, or more than a tokeniser takes */
            free(text);
            return tool_fail(what, "holds more than %zu bytes", MAX_TEXT);
        }
        room *= 2;
        char *bigger = realloc(text, room);
        if (!bigger)
            free(text);
        text = bigger;
    }
    if (!text)
        return tool_fail(what, "out of memory");
    if (ferror(stream)) {
        free(text);
        return tool_fail(what, "%s", strerror(errno));
    }
    text[n] = 0;
    *out = text;
    *n_bytes = n;
    return -1;
}

int tool_read_file(const char *path, char **out, size_t *n_bytes) {
    if (strcmp(path, "-") == 0)
        return read_stream(stdin, "stdin", out, n_bytes);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return tool_fail(path, "%s", strerror(errno));
    struct stat info;
    if (fstat(fileno(stream), &info) == 0 && S_ISDIR(info.st_mode)) {
        fclose(stream);
        return tool_fail(path, "is a directory");
    }
    int code = read_stream(stream, path, out, n_bytes);
    fclose(stream);
    return code;
}

int tool_read_value(const char *option, const char *value, bool inside, char **out,
                    size_t *n_bytes) {
    const char *path = value[0] == '@' ? value + 1 : value;
    if (inside && path == value) {
        *out = strdup(value);
        *n_bytes = strlen(value);
        return *out ? -1 : tool_fail(option, "out of memory");
    }
    if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
        return tool_fail(option, "%s: %s", path, strerror(errno));
    return tool_read_file(path, out, n_bytes);
}

bool tool_may_write(const char *option, const char *path) {
    struct stat info;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
    int why = !folder                                              ? ENOMEM
              : !*path                                             ? ENOENT
              : stat(path, &info) == 0 && S_ISDIR(info.st_mode)    ? EISDIR
              : access(folder, W_OK | X_OK) != 0                   ? errno
              : access(path, F_OK) == 0 && access(path, W_OK) != 0 ? errno
                                                                   : 0;
    free(folder);
    if (why)
        tool_fail(option, "%s: %s", path, strerror(why));
    return why == 0;
}

int tool_read_text(const char *command, const char *text, const char *file, char **out,
                   size_t *n_bytes) {
    if (text && file)
        return tool_usage(command, "-p and -f exclude each other");
    if (text) {
        *out = strdup(text);
        *n_bytes = strlen(text);
        return *out ? -1 : tool_fail(command, "out of memory");
    }
    if (!file && isatty(STDIN_FILENO))
        return tool_usage(command, "no text: give -p TEXT, -f FILE, or pipe it in");
    return tool_read_file(file ? file : "-", out, n_bytes);
}

/* ---- Text out ---- */

static int write_errno; /* of the first write to stdout that failed */

static bool written(bool fine) {
    if (!fine && !write_errno)
        write_errno = errno;
    return fine;
}

bool tool_write(const void *bytes, size_t n_bytes) {
    return written(fwrite(bytes, 1, n_bytes, stdout) == n_bytes);
}

bool tool_write_integer(int32_t value) {
    char digits[12];
    size_t at = sizeof digits;
    uint32_t rest = value < 0 ? 0 - (uint32_t)value : (uint32_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--at] = '-';
    return tool_write(digits + at, sizeof digits - at);
}

bool tool_flush(void) {
    return written(fflush(stdout) == 0);
}

/* Whether nobody can read what is written to stdout any more. */
static bool reader_is_gone(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return write_errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)));
}

/* Length of the UTF-8 sequence at the front of text [n], 0 where there is none (Unicode, table
 * 3-7). */
static size_t utf8_length(const unsigned char *s, size_t n) {
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < length)
        return 0;
    unsigned char low = 0x80, high = 0xbf;
    if (s[0] == 0xe0)
        low = 0xa0;
    else if (s[0] == 0xed)
        high = 0x9f;
    else if (s[0] == 0xf0)
        low = 0x90;
    else if (s[0] == 0xf4)
        high = 0x8f;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool tool_write_json_string(const char *bytes, size_t n_bytes) {
    return tool_put_json_string(stdout, bytes, n_bytes);
}

bool tool_put_json_string(FILE *to, const char *bytes, size_t n_bytes) {
    fputc('"', to);
    for (size_t i = 0; i < n_bytes;) {
        const unsigned char *s = (const unsigned char *)bytes + i;
        size_t length = utf8_length(s, n_bytes - i);
        if (length == 0)
            fputs("\\ufffd", to);
        else if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(to, "\\u%04x", *s);
        else
            fwrite(s, 1, length, to);
        i += length ? length : 1;
    }
    return fputc('"', to) != EOF;
}

bool tool_write_json_float(double value) {
    return (isfinite(value) ? printf("%.9g", value) : printf("null")) >= 0;
}

int tool_finish(int code) {
    if ((tool_flush() && !ferror(stdout)) || reader_is_gone())
        return code;
    return tool_fail("stdout", "%s", write_errno ? strerror(write_errno) : "writing failed");
}
