/* weft imatrix: what matters of each matrix, by what a text makes of it. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/extra/quantize.h>

static const char help[] =
    "Usage: weft imatrix -f TEXT -o FILE.gguf [options]\n"
    "Gathers the importance of a model's columns over a text.\n"
    "  -m MODEL   GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  -f TEXT    a text like what the model is for; some 100,000 words are plenty (-: stdin)\n"
    "  -o FILE    for weft quantize --imatrix\n"
    "  -c N       tokens a chunk, each from an empty cache (default 512)\n"
    "  --chunks N at most N chunks\n"
    "  -t N       threads (default: physical cores)\n"
    "  --cpu NAME use at most scalar, avx2, avx512 or neon kernels\n"
    "Example: weft imatrix -m model-f16.gguf -f text.txt -o imatrix.gguf\n";

typedef struct options {
    tool_engine engine;
    const char *model, *text, *out;
    int32_t length, n_chunks;
} options;

/* Chunks of `each` tokens behind BOS where the model wants one; the rest of the text is left. */
static int gather(const options *o, weft_model *model, const int32_t *ids, size_t n) {
    const weft_tokenizer *t = weft_model_tokenizer(model);
    size_t bos = weft_tokenizer_adds_bos(t) ? 1 : 0, each = (size_t)o->length - bos;
    each = n < each ? n : each;
    size_t n_chunks = each > 0 ? n / each : 0;
    if (o->n_chunks > 0 && n_chunks > (size_t)o->n_chunks)
        n_chunks = (size_t)o->n_chunks;
    if (n_chunks == 0)
        return tool_fail(o->text, "holds no text");
    weft_imatrix *m;
    weft_status status = weft_imatrix_create(model, o->length, &m);
    int32_t *chunk = malloc((each + 1) * sizeof *chunk);
    if (!status && !chunk) {
        weft_imatrix_release(&m);
        return tool_fail("imatrix", "out of memory");
    }
    for (size_t c = 0; !status && c < n_chunks; c++) {
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\rchunk %zu of %zu", c + 1, n_chunks);
        chunk[0] = bos ? weft_tokenizer_bos(t) : 0;
        memcpy(chunk + bos, ids + c * each, each * sizeof *chunk);
        status = weft_imatrix_add(m, chunk, each + bos);
    }
    if (isatty(STDERR_FILENO))
        fputs("\r                              \r", stderr);
    if (!status)
        status = weft_imatrix_write(m, o->out, o->text);
    if (m)
        weft_imatrix_release(&m);
    free(chunk);
    if (status)
        return tool_fail_status(o->out, status);
    printf("%zu chunks of %zu tokens: %s\n", n_chunks, each + bos, o->out);
    return TOOL_DONE;
}

static int with_model(const options *o, weft_model *model) {
    char *text;
    size_t n_bytes, n;
    int32_t *ids;
    weft_tokenize_options how = {0};
    int code = tool_read_file(o->text, &text, &n_bytes);
    if (code >= 0)
        return code;
    const weft_tokenizer *t = weft_model_tokenizer(model);
    weft_status status = weft_tokenize(t, text, n_bytes, how, &ids, &n);
    free(text);
    if (status)
        return tool_fail_status(o->text, status);
    code = gather(o, model, ids, n);
    weft_tokens_free(t, ids, n);
    return code;
}

int tool_imatrix(int argc, char **argv) {
    options o = {.length = 512};
    const tool_option table[] = {
        {'t', "threads", TOOL_I32, &o.engine.n_threads, 1, 1024},
        {0, "cpu", TOOL_STRING, &o.engine.cpu, 1, 0},
        {'m', "model", TOOL_STRING, &o.model, 1, 0},
        {'f', "file", TOOL_STRING, &o.text, 1, 0},
        {'o', "output", TOOL_STRING, &o.out, 1, 0},
        {'c', "context", TOOL_I32, &o.length, 8, 1 << 20},
        {0, "chunks", TOOL_I32, &o.n_chunks, 1, INT32_MAX},
    };
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], NULL);
    if (code >= 0)
        return code;
    if (!o.text || !o.out)
        return tool_usage("imatrix", "give -f TEXT and -o FILE");
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    code = tool_open_engine(&o.engine, &engine);
    if (code < 0)
        code = tool_open_model(engine, o.model, TOOL_WITH_TEXT, NULL, &model);
    if (code < 0)
        code = with_model(&o, model);
    weft_model_release(&model);
    weft_engine_release(&engine);
    return tool_finish(code);
}
