/* weft embed: a vector for each text, or how alike the texts are. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: weft embed -m MODEL [-p TEXT … | -f FILE] [options]\n"
    "Prints a vector for each text: each -p TEXT, or each line of FILE or standard input.\n"
    "  -m MODEL         GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  --pooling HOW    mean, cls (first token) or last (default: what the model's file says)\n"
    "  --no-normalize   vectors as they are, not of length 1\n"
    "  --similarity     cosines of all texts with each other, a line a text, in place of vectors\n"
    "  --json           one object with all; --jsonl: an object a text; --raw: float32 bytes\n"
    "  --truncate       cuts texts that are longer than the model's context\n"
    "  --batch N        tokens evaluated in one step (default 512)\n"
    "  --lora FILE[:SCALE]  an adapter; may be given many times\n"
    "  --float          float activations and dequantised weights\n"
    "  --reproducible   the same bits on every machine\n"
    "  -t N             threads (default: physical cores)\n"
    "Example: printf 'a cat\\na dog\\n' | weft embed -m bge-small.gguf --similarity\n";

#define CHUNK 256 /* texts that are embedded before their vectors are printed */

typedef struct job {
    const char *model_name, *file, *pooling;
    tool_list prompts, adapters;
    bool normalize, similarity, json, jsonl, raw, truncate;
    int32_t batch;
    weft_model *model;
    weft_embed_options options;
    size_t n_embd;
    char *input;             /* what was read, where texts are lines */
    const char **texts;      /* [n] */
    size_t *n_bytes;         /* [n] */
    weft_embed_text *tokens; /* [n] */
    size_t *n_tokens;        /* [n]: as they were tokenised */
    size_t n;
    float *vectors; /* [n, n_embd] with similarity, else of one chunk */
} job;

/* ---- Texts ---- */

static bool room_for(job *j, size_t n) {
    j->texts = calloc(n + 1, sizeof *j->texts);
    j->n_bytes = calloc(n + 1, sizeof *j->n_bytes);
    j->tokens = calloc(n + 1, sizeof *j->tokens);
    j->n_tokens = calloc(n + 1, sizeof *j->n_tokens);
    return j->texts && j->n_bytes && j->tokens && j->n_tokens;
}

/* Lines end by LF or CR LF; the last one need not. */
static void cut_lines(job *j, size_t n_input) {
    for (size_t at = 0; at < n_input; j->n++) {
        const char *end = memchr(j->input + at, '\n', n_input - at);
        size_t n = end ? (size_t)(end - j->input) - at : n_input - at;
        j->texts[j->n] = j->input + at;
        j->n_bytes[j->n] = n > 0 && j->input[at + n - 1] == '\r' ? n - 1 : n;
        at += n + 1;
    }
}

static int take_texts(job *j) {
    size_t n_input = 0, n_lines = 1;
    if (j->prompts.n > 0 && j->file)
        return tool_usage("embed", "-p and -f exclude each other");
    if (j->prompts.n == 0) {
        int code = tool_read_text("embed", NULL, j->file, &j->input, &n_input);
        if (code >= 0)
            return code;
    }
    for (size_t i = 0; i < n_input; i++)
        n_lines += j->input[i] == '\n';
    if (!room_for(j, j->prompts.n > 0 ? j->prompts.n : n_lines))
        return tool_fail("embed", "out of memory");
    cut_lines(j, n_input);
    for (size_t i = 0; i < j->prompts.n; i++, j->n++) {
        j->texts[i] = j->prompts.items[i];
        j->n_bytes[i] = strlen(j->texts[i]);
    }
    return j->n > 0 ? -1 : tool_fail("embed", "there is no text");
}

/* Keeps a control token at the end of a text that is cut. */
static void cut_tokens(const job *j, int32_t *ids, size_t *n, size_t most) {
    size_t n_shown;
    weft_token_bytes(weft_model_tokenizer(j->model), ids[*n - 1], false, NULL, &n_shown);
    if (n_shown == 0)
        ids[most - 1] = ids[*n - 1];
    *n = most;
}

static int tokenize(job *j) {
    const weft_tokenizer *tokenizer = weft_model_tokenizer(j->model);
    size_t most = (size_t)weft_model_get_info(j->model).n_context;
    for (size_t i = 0; i < j->n; i++) {
        int32_t *ids;
        size_t n;
        weft_tokenize_options how = {.parse_special = false, .add_special = true};
        weft_status status = weft_tokenize(tokenizer, j->texts[i], j->n_bytes[i], how, &ids, &n);
        if (status)
            return tool_fail_status("embed", status);
        j->tokens[i] = (weft_embed_text){ids, n};
        j->n_tokens[i] = n;
        if (n == 0)
            return tool_fail("embed", "text %zu is empty", i + 1);
        if (n > most && !j->truncate)
            return tool_fail("embed",
                             "text %zu: %zu tokens are more than the model's %zu (--truncate cuts "
                             "it)",
                             i + 1, n, most);
        if (n > most)
            cut_tokens(j, ids, &j->tokens[i].n, most);
    }
    return -1;
}

/* ---- Output ---- */

static void print_numbers(const float *x, size_t n, const char *between) {
    for (size_t i = 0; i < n; i++) {
        if (i)
            tool_write(between, strlen(between));
        tool_write_json_float((double)x[i]);
    }
}

/* Row i of what is printed. */
static void print_row(const job *j, size_t i, const float *row, size_t n) {
    if (j->raw) {
        tool_write(row, n * sizeof *row);
        return;
    }
    if (j->jsonl) {
        printf("{\"index\":%zu,\"text\":", i);
        tool_write_json_string(j->texts[i], j->n_bytes[i]);
        printf(",\"%s\":", j->similarity ? "similarity" : "embedding");
    }
    if (j->json && i > 0)
        printf(",\n");
    printf("%s", j->json || j->jsonl ? "[" : "");
    print_numbers(row, n, j->json || j->jsonl ? "," : " ");
    printf("%s", j->jsonl ? "]}\n" : j->json ? "]" : "\n");
}

static void print_head(const job *j) {
    static const char *const names[] = {"default", "none", "mean", "cls", "last"};
    if (!j->json)
        return;
    printf("{\"model\":");
    tool_write_json_string(j->model_name, strlen(j->model_name));
    printf(",\"pooling\":\"%s\",\"normalized\":%s,\"dimensions\":%zu,\"%s\":[\n",
           names[j->options.pooling], j->normalize ? "true" : "false", j->n_embd,
           j->similarity ? "similarity" : "embeddings");
}

static double dot(const float *a, const float *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* A vector of zeros is like nothing. */
static int print_similarities(const job *j) {
    float *row = malloc(j->n * sizeof *row);
    double *length = malloc(j->n * sizeof *length);
    if (row && length) {
        for (size_t i = 0; i < j->n; i++) {
            const float *x = j->vectors + i * j->n_embd;
            length[i] = sqrt(dot(x, x, j->n_embd));
        }
        for (size_t i = 0; i < j->n; i++) {
            for (size_t k = 0; k < j->n; k++) {
                double both = length[i] * length[k];
                double product =
                    dot(j->vectors + i * j->n_embd, j->vectors + k * j->n_embd, j->n_embd);
                row[k] = both > 0 ? (float)(product / both) : 0;
            }
            print_row(j, i, row, j->n);
        }
    }
    int code = row && length ? -1 : tool_fail("embed", "out of memory");
    free(row);
    free(length);
    return code;
}

static int embed_all(job *j) {
    size_t kept = j->similarity || j->n < CHUNK ? j->n : CHUNK;
    if (j->n_embd == 0 || kept > SIZE_MAX / sizeof(float) / j->n_embd ||
        !(j->vectors = malloc(kept * j->n_embd * sizeof(float))))
        return tool_fail("embed", "out of memory");
    print_head(j);
    for (size_t first = 0; first < j->n; first += CHUNK) {
        size_t n = j->n - first < CHUNK ? j->n - first : CHUNK;
        float *out = j->vectors + (j->similarity ? first * j->n_embd : 0);
        weft_status status = weft_embed(j->model, j->tokens + first, n, &j->options, out);
        if (status)
            return tool_fail_status("embed", status);
        for (size_t i = 0; !j->similarity && i < n; i++)
            print_row(j, first + i, out + i * j->n_embd, j->n_embd);
    }
    int code = j->similarity ? print_similarities(j) : -1;
    if (code < 0 && j->json)
        printf("\n]}\n");
    return code < 0 ? TOOL_DONE : code;
}

static int check_options(job *j) {
    static const struct {
        const char *name;
        weft_pooling pooling;
    } table[] = {
        {"mean", WEFT_POOLING_MEAN}, {"cls", WEFT_POOLING_CLS}, {"last", WEFT_POOLING_LAST}};
    if (j->json + j->jsonl + j->raw > 1)
        return tool_usage("embed", "--json, --jsonl and --raw exclude each other");
    for (size_t i = 0; j->pooling && i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, j->pooling) == 0)
            j->options.pooling = table[i].pooling;
    if (j->pooling && j->options.pooling == WEFT_POOLING_DEFAULT)
        return tool_usage("embed", "--pooling wants mean, cls or last, not '%s'", j->pooling);
    return -1;
}

static void free_texts(job *j) {
    for (size_t i = 0; j->tokens && i < j->n; i++)
        if (j->tokens[i].tokens)
            weft_tokens_free(weft_model_tokenizer(j->model), (int32_t *)j->tokens[i].tokens,
                             j->n_tokens[i]);
    free(j->tokens);
    free(j->n_tokens);
    free(j->texts);
    free(j->n_bytes);
    free(j->input);
    free(j->vectors);
}

int tool_embed(int argc, char **argv) {
    tool_engine e = {0};
    job j = {.normalize = true, .model_name = TOOL_DEFAULT_MODEL, .batch = 512};
    const tool_option table[] = {
        TOOL_ENGINE_OPTIONS(&e),
        {'m', "model", TOOL_STRING, &j.model_name, 1, 0},
        {'p', "prompt", TOOL_LIST, &j.prompts, 0, 0},
        {'f', "file", TOOL_STRING, &j.file, 1, 0},
        {0, "lora", TOOL_LIST, &j.adapters, 1, 0},
        {0, "pooling", TOOL_STRING, &j.pooling, 1, 0},
        {0, "no-normalize", TOOL_UNFLAG, &j.normalize, 0, 0},
        {0, "similarity", TOOL_FLAG, &j.similarity, 0, 0},
        {0, "json", TOOL_FLAG, &j.json, 0, 0},
        {0, "jsonl", TOOL_FLAG, &j.jsonl, 0, 0},
        {0, "raw", TOOL_FLAG, &j.raw, 0, 0},
        {0, "truncate", TOOL_FLAG, &j.truncate, 0, 0},
        {0, "batch", TOOL_I32, &j.batch, 1, 1 << 20},
    };
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], NULL);
    if (code >= 0)
        return code;
    weft_adapter_use uses[WEFT_ADAPTERS] = {{NULL, 0}};
    j.options = weft_embed_options_default();
    if ((code = check_options(&j)) >= 0)
        return code;
    weft_engine *engine = NULL;
    if ((code = take_texts(&j)) < 0)
        code = tool_open_engine(&e, &engine);
    if (code < 0)
        code = tool_open_model(engine, j.model_name, TOOL_WITH_TEXT, NULL, &j.model);
    if (code < 0) {
        j.n_embd = (size_t)weft_model_get_info(j.model).n_embd;
        j.options.normalize = j.normalize;
        j.options.n_batch = j.batch;
        if (j.options.pooling == WEFT_POOLING_DEFAULT)
            j.options.pooling = weft_embed_pooling(j.model);
        code = tool_open_adapters(j.model, &j.adapters, uses);
        j.options.adapters = uses;
        j.options.n_adapters = j.adapters.n;
    }
    if (code < 0)
        code = tokenize(&j);
    if (code < 0)
        code = embed_all(&j);
    free_texts(&j);
    weft_model_release(&j.model);
    weft_engine_release(&engine);
    return tool_finish(code);
}
