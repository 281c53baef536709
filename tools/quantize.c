/* weft quantize: a model in fewer bits. */
#include "tool.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <weft/extra/quantize.h>

static const char help[] =
    "Usage: weft quantize IN OUT.gguf TYPE [options]\n"
    "Writes a model in fewer bits.\n"
    "  IN                  a GGUF file (any shard of a split one), a Hugging Face folder, or\n"
    "                      the name of a fetched model; best with 16 or 32 bits\n"
    "  --imatrix FILE      importance of the columns, from weft imatrix: a better file\n"
    "  --tensor REGEX=TYPE this type for tensors whose name matches; many times, the first\n"
    "                      match counts\n"
    "  --pure              TYPE for every matrix\n"
    "  -t N                threads (default: physical cores)\n"
    "TYPE (docs/quantize.md says what each is):";

static const char example[] = "Example: weft quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M\n";

typedef struct options {
    tool_engine engine;
    tool_list tensors;
    const char *imatrix;
    bool pure;
} options;

/* The help with the names of the types in it; freed with free(). */
static char *help_text(void) {
    char *text = NULL;
    size_t n, column = 80;
    FILE *stream = open_memstream(&text, &n);
    if (!stream)
        return NULL;
    fputs(help, stream);
    weft_mix_info mix;
    for (size_t i = 0; weft_mix_at(i, &mix); i++) {
        size_t width = strlen(mix.name) + 1;
        fprintf(stream, column + width > 78 ? "\n  %s" : " %s", mix.name);
        column = column + width > 78 ? width + 1 : column + width;
    }
    fputc('\n', stream);
    fputs(example, stream);
    fclose(stream);
    return text;
}

/* "REGEX=TYPE" at the last '='; the pattern is cut out of `text`. */
static int parse_tensor(char *text, weft_tensor_type *out) {
    char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return tool_usage("quantize", "--tensor wants REGEX=TYPE, not '%s'", text);
    if (!weft_quantize_type(equals + 1, &out->dtype))
        return tool_usage("quantize", "--tensor: '%s' is no type that can be written", equals + 1);
    *equals = 0;
    out->pattern = text;
    regex_t pattern; /* compiled here for its errors alone */
    int error = regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB);
    if (error) {
        char why[128];
        regerror(error, &pattern, why, sizeof why);
        return tool_bad_value("--tensor", "pattern '%s': %s", text, why);
    }
    regfree(&pattern);
    return -1;
}

static int run(const options *o, const char *from, const char *to, weft_quantize_options *q) {
    weft_engine *engine;
    weft_quantize_result r = {0};
    int shown, code = tool_open_engine(&o->engine, &engine);
    if (code >= 0)
        return code;
    if (tool_same_file(from, to)) {
        weft_engine_release(&engine);
        return tool_fail(to, "is the file that is read");
    }
    tool_begin_progress(&shown);
    q->progress = tool_show_progress;
    q->progress_ctx = &shown;
    weft_status status = weft_quantize(engine, from, to, q, &r);
    code = tool_end_progress(&shown, to, status);
    weft_engine_release(&engine);
    if (status)
        return code;
    double n = r.n_parameters > 0 ? (double)r.n_parameters : 1;
    printf("%.2f MB (%.2f bits a weight) to %.2f MB (%.2f bits): %s\n",
           (double)r.bytes_before / 1e6, (double)r.bytes_before * 8 / n,
           (double)r.bytes_after / 1e6, (double)r.bytes_after * 8 / n, to);
    if (r.n_fallback > 0)
        printf("%zu of %zu tensors have rows that are no whole blocks of their type and got "
               "another\n",
               r.n_fallback, r.n_chosen);
    if (q->imatrix)
        printf("importance for %zu of %zu tensors\n", r.n_important, r.n_quantized);
    return TOOL_DONE;
}

int tool_quantize(int argc, char **argv) {
    options o = {0};
    const tool_option table[] = {
        {'t', "threads", TOOL_I32, &o.engine.n_threads, 1, 1024},
        {0, "cpu", TOOL_STRING, &o.engine.cpu, 1, 0},
        {0, "imatrix", TOOL_STRING, &o.imatrix, 1, 0},
        {0, "tensor", TOOL_LIST, &o.tensors, 1, 0},
        {0, "pure", TOOL_FLAG, &o.pure, 0, 0},
    };
    int first;
    char *text = help_text(), *from = NULL;
    int code =
        tool_parse(argc, argv, text ? text : help, table, sizeof table / sizeof table[0], &first);
    free(text);
    if (code >= 0)
        return code;
    if (argc - first != 3)
        return tool_usage("quantize", "give IN, OUT and TYPE");
    weft_tensor_type tensors[sizeof o.tensors.items / sizeof o.tensors.items[0]];
    for (size_t i = 0; i < o.tensors.n; i++) {
        code = parse_tensor((char *)o.tensors.items[i], &tensors[i]); /* argv is ours to change */
        if (code >= 0)
            return code;
    }
    weft_mix_info mix;
    bool known = false;
    for (size_t i = 0; !known && weft_mix_at(i, &mix); i++)
        known = strcasecmp(mix.name, argv[first + 2]) == 0;
    if (!known)
        return tool_usage("quantize", "unknown type '%s'", argv[first + 2]);
    weft_quantize_options q = {.mix = argv[first + 2],
                               .imatrix = o.imatrix,
                               .tensors = tensors,
                               .n_tensors = o.tensors.n,
                               .pure = o.pure};
    code = tool_model_path(argv[first], &from);
    if (code < 0)
        code = run(&o, from, argv[first + 1], &q);
    free(from);
    return tool_finish(code);
}
