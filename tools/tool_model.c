/* Engines and models for the subcommands: names of known models, the cache folder, progress. */
#include "tool.h"
#include "sources.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int tool_open_engine(const tool_engine *options, weft_engine **out) {
    weft_engine_options engine = weft_engine_options_default();
    if (options) {
        if (options->reproducible && options->floats)
            return tool_bad_value("--float", "excludes --reproducible");
        engine.n_threads = options->n_threads;
        engine.n_threads_batch = options->n_threads_batch;
        engine.pin = options->pin;
        engine.cpu = options->cpu;
        if (options->reproducible)
            engine.numbers = WEFT_NUMBERS_REPRODUCIBLE;
        if (options->floats)
            engine.numbers = WEFT_NUMBERS_FLOAT;
    }
    weft_status status = weft_engine_create(&engine, out);
    if (status == WEFT_E_ARGUMENT && engine.cpu)
        return tool_bad_value("--cpu", "%s", weft_detail());
    return status ? tool_fail_status("engine", status) : -1;
}

/* ---- Names ---- */

/* Where models/fetch puts files; NULL without a home. Freed with free(). */
static char *cached_path(const char *file) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (cache && *cache)
        n = asprintf(&path, "%s/weft/%s", cache, file);
    else if (home && *home)
        n = asprintf(&path, "%s/.cache/weft/%s", home, file);
    return n < 0 ? NULL : path;
}

static const tool_source *known_model(const char *name) {
    for (size_t i = 0; tool_sources[i].name; i++)
        if (strcmp(tool_sources[i].name, name) == 0)
            return &tool_sources[i];
    return NULL;
}

/* The names of all known models, for the message about an unknown one. */
static void list_names(char *out, size_t room) {
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; tool_sources[i].name && n < room; i++) {
        if (i > 0 && strcmp(tool_sources[i].name, tool_sources[i - 1].name) == 0)
            continue;
        int k = snprintf(out + n, room - n, "%s%s", n ? ", " : "", tool_sources[i].name);
        n += k > 0 ? (size_t)k : 0;
    }
}

int tool_model_path(const char *path_or_name, char **out) {
    if (!*path_or_name)
        return tool_bad_value("-m", "the path is empty");
    const tool_source *known = known_model(path_or_name);
    if (access(path_or_name, F_OK) == 0 || errno != ENOENT || strchr(path_or_name, '/') ||
        (!known && strstr(path_or_name, ".gguf"))) {
        *out = strdup(path_or_name);
        return *out ? -1 : tool_fail(path_or_name, "out of memory");
    }
    if (!known) {
        char names[512];
        list_names(names, sizeof names);
        return tool_fail(path_or_name, "no such file, and no known model (known: %s)", names);
    }
    char *path = cached_path(known->file);
    if (path && access(path, R_OK) == 0) {
        *out = path;
        return -1;
    }
    free(path);
    return tool_fail(path_or_name, "not fetched yet; get it (%.0f MB, %s) with: models/fetch %s",
                     known->megabytes, known->licence, known->name);
}

/* ---- Opening ---- */

typedef struct progress {
    int shown; /* per cent, -1: nothing yet */
} progress;

static bool show_progress(void *ctx, uint64_t done, uint64_t total) {
    progress *p = ctx;
    int percent = total ? (int)((double)done / (double)total * 100.0) : 100;
    if (percent != p->shown) {
        fprintf(stderr, "\rloading %3d%%", percent);
        fflush(stderr);
        p->shown = percent;
    }
    return true;
}

int tool_check_pre(const char *pre) {
    if (!pre || weft_tokenizer_knows_pre(pre))
        return -1;
    return tool_bad_value("--pre", "unknown pre-tokeniser '%s'", pre);
}

int tool_open_model(weft_engine *engine, const char *path_or_name, tool_text text, const char *pre,
                    weft_model **out) {
    char *path;
    int code = tool_check_pre(pre);
    if (code < 0)
        code = tool_model_path(path_or_name ? path_or_name : TOOL_DEFAULT_MODEL, &path);
    if (code >= 0)
        return code;
    progress p = {.shown = -1};
    weft_model_options options = weft_model_options_default();
    options.without_tokenizer = text == TOOL_IDS_ONLY;
    options.pre = pre;
    options.mode = WEFT_LOAD_LAZY; /* somebody waits for the first token */
    if (isatty(STDERR_FILENO)) {
        options.progress = show_progress;
        options.progress_ctx = &p;
    }
    weft_status status = weft_model_open(engine, path, &options, out);
    if (status && text == TOOL_TEXT_IF_ANY) {
        options.without_tokenizer = true;
        status = weft_model_open(engine, path, &options, out);
    }
    if (p.shown >= 0)
        fputs("\r             \r", stderr);
    if (status)
        code = tool_fail_status(path, status);
    free(path);
    return code;
}

int tool_open_tokenizer(weft_engine *engine, const char *path_or_name, const char *pre,
                        weft_tokenizer **out) {
    char *path;
    int code = tool_check_pre(pre);
    if (code < 0)
        code = tool_model_path(path_or_name ? path_or_name : TOOL_DEFAULT_MODEL, &path);
    if (code >= 0)
        return code;
    weft_status status = weft_tokenizer_open(engine, path, pre, out);
    if (status)
        code = tool_fail_status(path, status);
    free(path);
    return code;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

void tool_begin_progress(int *shown) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    *shown = -1;
}

bool tool_show_progress(void *ctx, uint64_t done, uint64_t total) {
    int *shown = ctx, percent = total ? (int)((double)done / (double)total * 100.0) : 100;
    if (percent != *shown && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%3d%%", percent);
        fflush(stderr);
        *shown = percent;
    }
    return !interrupted;
}

void tool_clear_progress(const int *shown) {
    if (*shown >= 0)
        fputs("\r    \r", stderr);
}

int tool_end_progress(const int *shown, const char *what, weft_status status) {
    tool_clear_progress(shown);
    if (status == WEFT_E_CANCELLED && interrupted)
        return TOOL_INTERRUPTED;
    return status ? tool_fail_status(what, status) : TOOL_DONE;
}

bool tool_same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

bool tool_cache_type(const char *name, weft_dtype *type) {
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_Q8_0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(name, weft_dtype_name(types[i])) == 0) {
            *type = types[i];
            return true;
        }
    return false;
}
