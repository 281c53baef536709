/* What the subcommands of `weft` share: options, numbers, error lines, text in and out, models by
 * path or name. A subcommand is one file with one function `int tool_NAME(int argc, char **argv)`
 * (argv[0] is its name) that gives the exit code. Tools use the public headers only. */
#ifndef WEFT_TOOLS_TOOL_H
#define WEFT_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <weft/weft.h>

/* Exit codes. */
enum { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_INTERRUPTED = 130 };

/* ---- Errors: one line `weft: what: why` on stderr, free of control characters ---- */

/* Gives TOOL_FAILED. */
__attribute__((format(printf, 2, 3))) int tool_fail(const char *what, const char *format, ...);
/* The library's last failure on this thread: its detail, or the status' sentence. */
int tool_fail_status(const char *what, weft_status status);
/* A wrong command line: the line ends with a hint at `weft COMMAND --help`. Gives TOOL_USAGE. */
__attribute__((format(printf, 2, 3))) int tool_usage(const char *command, const char *format, ...);

/* The same for a value that is found to be wrong after parsing; `option` as --NAME. */
__attribute__((format(printf, 2, 3))) int tool_bad_value(const char *option, const char *format,
                                                         ...);

/* ---- Options ---- */

typedef enum tool_type {
    TOOL_FLAG,   /* bool: set to true */
    TOOL_UNFLAG, /* bool: set to false */
    TOOL_STRING, /* const char *: borrowed from argv; low 1: not empty */
    TOOL_I32,    /* int32_t within [low, high] */
    TOOL_U64,    /* uint64_t */
    TOOL_F32,    /* float within [low, high], finite */
    TOOL_LIST    /* tool_list: may be given many times; low as with TOOL_STRING */
} tool_type;

typedef struct tool_list {
    const char *items[64];
    size_t n;
} tool_list;

typedef struct tool_option {
    char letter;      /* 0: none */
    const char *name; /* long name without dashes; NULL: none */
    tool_type type;
    void *value;
    double low, high; /* of numbers; of texts, low: the least length */
} tool_option;

/* Parses argv by a table of `n` options; -h and --help print `help` on stdout. Gives -1 to go on,
 * else the exit code. Positional arguments end up in argv[*first … argc - 1]; with first == NULL
 * there must be none. */
int tool_parse(int argc, char **argv, const char *help, const tool_option *options, size_t n,
               int *first);

/* Strict numbers: the whole text, within the range. */
bool tool_parse_integer(const char *text, int64_t low, int64_t high, int64_t *out);
bool tool_parse_real(const char *text, double low, double high, double *out);

/* ---- Text in and out ---- */

/* The text of -p TEXT or -f FILE ("-": stdin), else all of stdin; NUL-terminated (any bytes may
 * come before), freed with free(). A terminal on stdin is a usage error that says what to give.
 * Gives -1 to go on, else the exit code. */
int tool_read_text(const char *command, const char *text, const char *file, char **out,
                   size_t *n_bytes);
/* All of a file ("-": stdin), NUL-terminated as well. -1 or the exit code. */
int tool_read_file(const char *path, char **out, size_t *n_bytes);

/* The text of an option's value: that of the file FILE for "@FILE", the value itself where
 * `inside`, else that of the file it names. Freed with free(). -1 or the exit code. */
int tool_read_value(const char *option, const char *value, bool inside, char **out,
                    size_t *n_bytes);
/* Whether a file can be put there: seen before the work that fills it. A failure is shown. */
bool tool_may_write(const char *option, const char *path);

/* Bytes to stdout, buffered; false when nobody reads any more (closed pipe) or on an error. */
bool tool_write(const void *bytes, size_t n_bytes);
/* In decimal; much faster than printf, which counts where ids come by the million. */
bool tool_write_integer(int32_t value);
bool tool_flush(void);
/* `bytes` as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
bool tool_write_json_string(const char *bytes, size_t n_bytes);
bool tool_put_json_string(FILE *to, const char *bytes, size_t n_bytes);
/* The number as JSON ("%.9g"); infinities and NaN become null. */
bool tool_write_json_float(double value);
/* Text of a file to stdout, what is not printable as escapes, cut after `room` bytes. */
void tool_print_text(const char *text, size_t n, size_t room);
/* At the end: flushes. `code`, or TOOL_FAILED with a line on a write error; a closed pipe is none.
 */
int tool_finish(int code);

/* ---- Engines and models ---- */

#define TOOL_DEFAULT_MODEL "smollm2-135m"

/* Options of every command that opens an engine; TOOL_ENGINE_OPTIONS puts them in a table. */
typedef struct tool_engine {
    int32_t n_threads, n_threads_batch;
    const char *cpu;
    bool reproducible, floats, pin;
} tool_engine;
#define TOOL_ENGINE_OPTIONS(e)                                                                     \
    {'t', "threads", TOOL_I32, &(e)->n_threads, 1, 1024},                                          \
        {0, "threads-batch", TOOL_I32, &(e)->n_threads_batch, 1, 1024},                            \
        {0, "pin", TOOL_FLAG, &(e)->pin, 0, 0}, {0, "cpu", TOOL_STRING, &(e)->cpu, 1, 0},          \
        {0, "reproducible", TOOL_FLAG, &(e)->reproducible, 0, 0}, {                                \
        0, "float", TOOL_FLAG, &(e)->floats, 0, 0                                                  \
    }

/* NULL: all defaults. -1 or the exit code. */
int tool_open_engine(const tool_engine *options, weft_engine **out);

/* A path as it is; else the name of a known model in the cache folder. A name that was not fetched
 * gives a line with the command that fetches it. *out is freed with free(). -1 or the exit code. */
int tool_model_path(const char *path_or_name, char **out);

/* Whether a model is opened with its tokeniser. */
typedef enum tool_text { TOOL_WITH_TEXT, TOOL_IDS_ONLY, TOOL_TEXT_IF_ANY } tool_text;

/* Whether --pre names a pre-tokeniser (NULL: none is asked for). -1 or the exit code. */
int tool_check_pre(const char *pre);

/* Opens a model (path or name; NULL: the default one) with progress on a terminal. */
int tool_open_model(weft_engine *engine, const char *path_or_name, tool_text text, const char *pre,
                    weft_model **out);

/* Adapters given as FILE[:SCALE], opened for `model` and put into the session. The list's strings
 * are changed. -1 or the exit code. */
/* Those of --lora FILE[:SCALE], for an owner that closes them, whatever comes back. */
int tool_open_adapters(weft_model *model, tool_list *adapters,
                       weft_adapter_use uses[WEFT_ADAPTERS]);
void tool_close_adapters(weft_adapter_use uses[WEFT_ADAPTERS]);
int tool_use_adapters(weft_model *model, weft_session *session, tool_list *adapters);
/* Cuts ":SCALE" off FILE[:SCALE]; 1 without. False: no number. */
bool tool_parse_scale(char *text, float *scale);

/* Around work that writes files: shows per cent on a terminal, and ends it on Ctrl-C or SIGTERM, so
 * that no half of a file stays behind. tool_show_progress is a weft_progress_fn; ctx: the int. */
void tool_begin_progress(int *shown);
bool tool_show_progress(void *ctx, uint64_t done, uint64_t total);
/* Clears the line, and shows a failure. The exit code. */
int tool_end_progress(const int *shown, const char *what, weft_status status);
/* Whether two paths are one file that exists. */
bool tool_same_file(const char *a, const char *b);
void tool_clear_progress(const int *shown);

/* The type of a KV cache by its name; false: an unknown one. */
bool tool_cache_type(const char *name, weft_dtype *type);

/* The tokeniser alone. -1 or the exit code. */
int tool_open_tokenizer(weft_engine *engine, const char *path_or_name, const char *pre,
                        weft_tokenizer **out);

/* ---- The subcommands ---- */
int tool_run(int argc, char **argv);
int tool_chat(int argc, char **argv);
int tool_embed(int argc, char **argv);
int tool_bench(int argc, char **argv);
int tool_perplexity(int argc, char **argv);
int tool_logits(int argc, char **argv);
int tool_inspect(int argc, char **argv);
int tool_quantize(int argc, char **argv);
int tool_diff(int argc, char **argv);
int tool_imatrix(int argc, char **argv);
int tool_convert(int argc, char **argv);
int tool_split(int argc, char **argv);
int tool_merge(int argc, char **argv);
int tool_merge_lora(int argc, char **argv);
int tool_tokenize(int argc, char **argv);
int tool_detokenize(int argc, char **argv);
int tool_template(int argc, char **argv);

#endif
