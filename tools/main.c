/* The weft command: picks the subcommand. A closed pipe on stdout is no error; OpenBLAS is kept to
 * one thread, since weft has a thread team of its own. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <weft/extra/blas.h>

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} command;

static const command commands[] = {
    {"run", tool_run},
    {"chat", tool_chat},
    {"bench", tool_bench},
    {"perplexity", tool_perplexity},
    {"logits", tool_logits},
    {"inspect", tool_inspect},
    {"quantize", tool_quantize},
    {"diff", tool_diff},
    {"imatrix", tool_imatrix},
    {"convert", tool_convert},
    {"split", tool_split},
    {"merge", tool_merge},
    {"merge-lora", tool_merge_lora},
    {"embed", tool_embed},
    {"tokenize", tool_tokenize},
    {"detokenize", tool_detokenize},
    {"template", tool_template},
};

static const char help[] =
    "weft: an inference engine for transformer language models\n"
    "\n"
    "Usage: weft COMMAND [options]\n"
    "  run         generate text from a prompt\n"
    "  chat        talk with a model\n"
    "  embed       a vector for each text, or how alike texts are\n"
    "  bench       measure how fast a model runs here\n"
    "  inspect     show or check a model file\n"
    "  quantize    write a model in fewer bits (also: imatrix)\n"
    "  convert     folder to GGUF file (also: split, merge, merge-lora, diff)\n"
    "  tokenize    text to token ids\n"
    "  detokenize  token ids to text\n"
    "  template    render a chat template\n"
    "  perplexity  measure a model on a text or against reference logits\n"
    "  logits      print logits as JSON (a checking tool)\n"
    "\n"
    "  weft COMMAND --help   options and an example\n"
    "  weft --version        version, CPU features chosen, libraries\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n"
    "\n"
    "Example:\n"
    "  weft run -p \"Why is the sky blue?\"\n";

static int show_version(void) {
    weft_engine *engine;
    tool_engine options = {.n_threads = 1};
    int code = tool_open_engine(&options, &engine);
    if (code >= 0)
        return code;
    printf("weft %s\ncpu: %s\nlibraries: %s\n", weft_version(), weft_engine_cpu(engine),
           weft_libraries());
    weft_engine_release(&engine);
    return tool_finish(TOOL_DONE);
}

/* A standard stream that is closed would be the next file that is opened: a model would be read as
 * what a person types, and messages written into it. In its place stands what can be neither. */
static void fill_closed_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* the lowest number: fd */
}

int main(int argc, char **argv) {
    fill_closed_streams();
    signal(SIGPIPE, SIG_IGN);
    weft_blas_set_threads(1);
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        fputs("weft: usage: weft COMMAND [options] (see weft --help)\n", stderr);
        return TOOL_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        tool_write(help, strlen(help));
        return tool_finish(TOOL_DONE);
    }
    if (strcmp(name, "--version") == 0)
        return show_version();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    tool_fail(name, "no such command (see weft --help)");
    return TOOL_USAGE;
}
