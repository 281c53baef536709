/* weft split and weft merge: a GGUF file in several, and back. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/extra/write.h>

static const char split_help[] =
    "Usage: weft split IN.gguf PREFIX [options]\n"
    "Writes a GGUF file as several.\n"
    "  PREFIX           the files are PREFIX-00001-of-0000N.gguf and so on\n"
    "  --size SIZE      at most so many bytes of tensors a file, as 500M or 2G (default 2G);\n"
    "                   a tensor is never divided\n"
    "  --tensors N      at most N tensors a file\n"
    "Example: weft split model.gguf model --size 1G\n";

static const char merge_help[] = "Usage: weft merge SHARD.gguf OUT.gguf\n"
                                 "Writes a split GGUF file as one.\n"
                                 "  SHARD.gguf  any of the files; the others lie beside it\n"
                                 "Example: weft merge model-00001-of-00003.gguf model.gguf\n";

/* "500M", "2G", or bytes. */
static bool parse_size(const char *text, uint64_t *bytes) {
    char digits[32];
    size_t n = strspn(text, "0123456789");
    int64_t number;
    uint64_t unit = 1;
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    if (strcmp(text + n, "M") == 0)
        unit = 1000000;
    else if (strcmp(text + n, "G") == 0)
        unit = 1000000000;
    else if (text[n])
        return false;
    if (!tool_parse_integer(digits, 1, INT64_MAX / (int64_t)unit, &number))
        return false;
    *bytes = (uint64_t)number * unit;
    return true;
}

/* An engine of one thread: nothing is calculated. */
static int open_engine(weft_engine **engine) {
    tool_engine how = {.n_threads = 1};
    return tool_open_engine(&how, engine);
}

int tool_split(int argc, char **argv) {
    const char *size = NULL;
    int32_t n_tensors = 0;
    const tool_option table[] = {
        {0, "size", TOOL_STRING, &size, 1, 0},
        {0, "tensors", TOOL_I32, &n_tensors, 1, INT32_MAX},
    };
    int first, shown = -1;
    int code = tool_parse(argc, argv, split_help, table, sizeof table / sizeof table[0], &first);
    if (code >= 0)
        return code;
    if (argc - first != 2)
        return tool_usage("split", "give IN.gguf and PREFIX");
    weft_split_options o = {.most_tensors = (size_t)n_tensors};
    if (size && !parse_size(size, &o.most_bytes))
        return tool_usage("split", "--size wants bytes, as 500M or 2G, not '%s'", size);
    if (!size && n_tensors == 0)
        o.most_bytes = 2000000000;
    tool_begin_progress(&shown);
    o.progress = tool_show_progress;
    o.progress_ctx = &shown;
    weft_engine *engine;
    char *path;
    code = tool_model_path(argv[first], &path);
    if (code >= 0)
        return code;
    code = open_engine(&engine);
    if (code < 0) {
        size_t n;
        weft_status status = weft_split(engine, path, argv[first + 1], &o, &n);
        code = tool_end_progress(&shown, path, status);
        if (!status)
            printf("%s-00001-of-%05zu.gguf: %zu files\n", argv[first + 1], n, n);
        weft_engine_release(&engine);
    }
    free(path);
    return tool_finish(code);
}

int tool_merge(int argc, char **argv) {
    int first, shown = -1;
    int code = tool_parse(argc, argv, merge_help, NULL, 0, &first);
    if (code >= 0)
        return code;
    if (argc - first != 2)
        return tool_usage("merge", "give SHARD.gguf and OUT.gguf");
    weft_engine *engine;
    code = open_engine(&engine);
    if (code >= 0)
        return code;
    tool_begin_progress(&shown);
    const char *from = argv[first], *to = argv[first + 1];
    code = tool_same_file(from, to)
               ? tool_fail(to, "is a file that is read")
               : tool_end_progress(&shown, from,
                                   weft_merge(engine, from, to, tool_show_progress, &shown));
    weft_engine_release(&engine);
    return tool_finish(code);
}
