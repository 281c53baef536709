/* weft perplexity: how well a model predicts a text, or how close its logits are to reference ones.
 */
#include "tool.h"
#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: weft perplexity [-m MODEL] (-f TEXT | --reference FILE.logits.bin) [options]\n"
    "Cuts the text into chunks, evaluates each from an empty cache and gives the perplexity over\n"
    "the second half of each. With reference logits (their file holds the tokens) also the mean\n"
    "and 99th percentile of the KL divergence and the share of positions with the same first id.\n"
    "  -m MODEL          GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  -f FILE           a text (-: stdin)\n"
    "  -c N              tokens a chunk of the text (default 256)\n"
    "  --reference FILE  logits of another engine (magic WKL1)\n"
    "  --json            perplexity, mean_kl, p99_kl, top1 (a share), positions\n"
    "  --cache-type TYPE f16 (default), f32, bf16 or q8_0\n"
    "  --lora FILE[:SCALE]  an adapter; may be given many times\n"
    "  --float           float activations and dequantised weights\n"
    "  --reproducible    the same bits on every machine\n"
    "  -t N              threads (default: physical cores)\n"
    "  --cpu NAME        highest variant of the kernels: scalar, avx2, avx512, vnni …\n"
    "Example: weft perplexity -m gemma-3-270m -f chapter.txt\n";

/* Chunks of ids, and for each position (chunk * length + i) the reference's logits, if any. */
typedef struct chunks {
    int32_t *ids; /* [n * length] */
    size_t n, length;
    const unsigned char
        *rows;          /* NULL, or at row_bytes a position: f32 lse, k * (u32 id, f32 logit) */
    size_t chunk_bytes; /* from one chunk's rows to the next one's */
    size_t k;
} chunks;

typedef struct totals {
    const chunks *text;
    size_t chunk; /* in work */
    double nll;
    size_t n_nll;
    double *kl; /* [n * length] */
    size_t n_kl, n_same;
} totals;

static uint32_t u32_at(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float f32_at(const unsigned char *p) {
    uint32_t bits = u32_at(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- What is measured ---- */

/* KL of one position: the K ids of the reference, and all others as one bucket. */
static double divergence(const unsigned char *row, size_t k, const float *logits, double lse) {
    double p_lse = (double)f32_at(row), kl = 0, p_sum = 0, q_sum = 0;
    for (size_t i = 0; i < k; i++) {
        const unsigned char *item = row + 4 + 8 * i;
        double log_p = (double)f32_at(item + 4) - p_lse;
        double log_q = (double)logits[u32_at(item)] - lse;
        kl += exp(log_p) * (log_p - log_q);
        p_sum += exp(log_p);
        q_sum += exp(log_q);
    }
    double p_rest = 1 - p_sum, q_rest = fmax(1 - q_sum, 1e-12);
    return p_rest > 0 ? kl + p_rest * log(p_rest / q_rest) : kl;
}

static bool take_row(void *ctx, size_t position, const float *logits, size_t n_vocab) {
    totals *t = ctx;
    const chunks *text = t->text;
    const int32_t *ids = text->ids + t->chunk * text->length;
    double lse = tool_logsumexp(logits, n_vocab);
    if (position >= text->length / 2 && position + 1 < text->length) {
        t->nll += lse - (double)logits[ids[position + 1]];
        t->n_nll++;
    }
    if (text->rows) {
        const unsigned char *row =
            text->rows + t->chunk * text->chunk_bytes + position * (4 + 8 * text->k);
        t->kl[t->n_kl++] = divergence(row, text->k, logits, lse);
        t->n_same += (uint32_t)tool_argmax(logits, n_vocab) == u32_at(row + 4);
    }
    return true;
}

static int evaluate(weft_session *session, size_t n_vocab, totals *t) {
    const chunks *text = t->text;
    for (size_t i = 0; i < text->n * text->length; i++)
        if ((size_t)text->ids[i] >= n_vocab)
            return tool_fail("perplexity", "token %d is outside of the vocabulary of %zu",
                             text->ids[i], n_vocab);
    for (t->chunk = 0; t->chunk < text->n; t->chunk++) {
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\rchunk %zu of %zu", t->chunk + 1, text->n);
        weft_status status = weft_session_truncate(session, 0, NULL);
        if (status)
            return tool_fail_status("perplexity", status);
        int code = tool_eval_rows(session, text->ids + t->chunk * text->length, text->length,
                                  n_vocab, take_row, t);
        if (code >= 0)
            return code;
    }
    if (isatty(STDERR_FILENO))
        fputs("\r                              \r", stderr);
    return -1;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(totals *t, bool json) {
    double perplexity = exp(t->nll / (double)t->n_nll), mean = 0, p99 = 0, top1 = 0;
    size_t positions = t->n_kl ? t->n_kl : t->n_nll;
    if (t->n_kl) {
        for (size_t i = 0; i < t->n_kl; i++)
            mean += t->kl[i] / (double)t->n_kl;
        qsort(t->kl, t->n_kl, sizeof *t->kl, ascending);
        p99 = t->kl[(size_t)(0.99 * (double)(t->n_kl - 1))];
        top1 = (double)t->n_same / (double)t->n_kl;
    }
    printf(json ? "{\"perplexity\":" : "perplexity  ");
    json ? (void)tool_write_json_float(perplexity) : (void)printf("%.4f", perplexity);
    if (t->n_kl && json)
        printf(",\"mean_kl\":%.9g,\"p99_kl\":%.9g,\"top1\":%.9g", mean, p99, top1);
    else if (t->n_kl)
        printf("\nmean KL     %.6f\np99 KL      %.6f\ntop-1       %.2f%%", mean, p99, 100 * top1);
    printf(json ? ",\"positions\":%zu}\n" : "\npositions   %zu\n", positions);
}

/* ---- Where the tokens come from ---- */

#define MAX_LENGTH (1u << 20)

/* Magic, u32 chunks, u32 length, u32 K; a chunk: its ids, then a row a position. */
static int read_reference(const char *path, const unsigned char *data, size_t size, chunks *out) {
    if (size < 16 || memcmp(data, "WKL1", 4) != 0)
        return tool_fail(path, "not a file of reference logits");
    size_t n = u32_at(data + 4), length = u32_at(data + 8), k = u32_at(data + 12);
    if (n == 0 || length < 4 || length > MAX_LENGTH || k == 0 || k > MAX_LENGTH)
        return tool_fail(path, "%zu chunks of %zu tokens with %zu logits: not possible", n, length,
                         k);
    size_t chunk_bytes = length * 4 + length * (4 + 8 * k);
    if ((size - 16) / chunk_bytes != n || (size - 16) % chunk_bytes != 0)
        return tool_fail(path, "has %zu bytes, its header wants %zu chunks of %zu", size, n,
                         chunk_bytes);
    *out = (chunks){.n = n, .length = length, .k = k, .chunk_bytes = chunk_bytes};
    out->rows = data + 16 + length * 4;
    out->ids = malloc(n * length * sizeof *out->ids);
    if (!out->ids)
        return tool_fail(path, "out of memory");
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < length; i++) {
            uint32_t id = u32_at(data + 16 + c * chunk_bytes + 4 * i);
            if (id > INT32_MAX)
                return tool_fail(path, "token %zu of chunk %zu is %u", i, c, id);
            out->ids[c * length + i] = (int32_t)id;
        }
    return -1;
}

/* The reference's ids must be rows of the model's output. */
static int check_rows(const char *path, const chunks *text, size_t n_vocab) {
    for (size_t c = 0; text->rows && c < text->n; c++)
        for (size_t i = 0; i < text->length * text->k; i++) {
            const unsigned char *row = text->rows + c * text->chunk_bytes +
                                       i / text->k * (4 + 8 * text->k) + 4 + 8 * (i % text->k);
            if (u32_at(row) >= n_vocab)
                return tool_fail(path, "id %u is outside of the model's vocabulary of %zu",
                                 u32_at(row), n_vocab);
        }
    return -1;
}

/* Chunks of a text, each beginning with BOS where the model wants it. */
static int read_text(const weft_tokenizer *tokenizer, const char *path, const char *text,
                     size_t n_bytes, size_t length, chunks *out) {
    int32_t *ids;
    size_t n;
    weft_tokenize_options how = {0};
    weft_status status = weft_tokenize(tokenizer, text, n_bytes, how, &ids, &n);
    if (status)
        return tool_fail_status(path, status);
    size_t bos = weft_tokenizer_adds_bos(tokenizer) ? 1 : 0, each = length - bos;
    if (n < each)
        each = n;
    *out = (chunks){.n = each ? n / each : 0, .length = each + bos};
    int code = -1;
    if (each < 4)
        code = tool_fail(path, "has only %zu tokens", n);
    if (code < 0 && !(out->ids = malloc(out->n * out->length * sizeof *ids)))
        code = tool_fail(path, "out of memory");
    for (size_t c = 0; code < 0 && c < out->n; c++) {
        int32_t *to = out->ids + c * out->length;
        if (bos)
            to[0] = weft_tokenizer_bos(tokenizer);
        memcpy(to + bos, ids + c * each, each * sizeof *ids);
    }
    weft_tokens_free(tokenizer, ids, n);
    return code;
}

typedef struct options {
    tool_engine engine;
    const char *model, *file, *reference, *cache_type;
    int32_t length;
    bool json;
    tool_list adapters;
} options;

static int with_chunks(options *o, weft_model *model, const chunks *text) {
    size_t n_vocab = (size_t)weft_model_get_info(model).n_vocab;
    int code = check_rows(o->reference, text, n_vocab);
    if (code >= 0)
        return code;
    totals t = {.text = text, .kl = malloc(text->n * text->length * sizeof *t.kl)};
    if (!t.kl)
        return tool_fail("perplexity", "out of memory");
    weft_session_options how = weft_session_options_default();
    how.n_context = (int32_t)text->length;
    if (o->cache_type)
        (void)tool_cache_type(o->cache_type, &how.cache_type);
    weft_session *session = NULL;
    weft_status status = weft_session_create(model, &how, &session);
    code = status ? tool_fail_status("session", status)
                  : tool_use_adapters(model, session, &o->adapters);
    if (code < 0)
        code = evaluate(session, n_vocab, &t);
    if (code < 0) {
        report(&t, o->json);
        code = TOOL_DONE;
    }
    weft_session_release(&session);
    free(t.kl);
    return code;
}

static int parse(int argc, char **argv, options *o) {
    const tool_option table[] = {
        TOOL_ENGINE_OPTIONS(&o->engine),
        {'m', "model", TOOL_STRING, &o->model, 1, 0},
        {'f', "file", TOOL_STRING, &o->file, 1, 0},
        {'c', "context", TOOL_I32, &o->length, 8, MAX_LENGTH},
        {0, "reference", TOOL_STRING, &o->reference, 1, 0},
        {0, "cache-type", TOOL_STRING, &o->cache_type, 1, 0},
        {0, "lora", TOOL_LIST, &o->adapters, 1, 0},
        {0, "json", TOOL_FLAG, &o->json, 0, 0},
    };
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], NULL);
    if (code >= 0)
        return code;
    if (!o->file == !o->reference)
        return tool_usage("perplexity", "give one of -f FILE and --reference FILE");
    weft_dtype type;
    if (o->cache_type && !tool_cache_type(o->cache_type, &type))
        return tool_usage("perplexity", "--cache-type wants f16, f32, bf16 or q8_0, not '%s'",
                          o->cache_type);
    return -1;
}

int tool_perplexity(int argc, char **argv) {
    options o = {.length = 256};
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    char *data;
    size_t size;
    const char *path = o.reference ? o.reference : o.file;
    code = tool_read_file(path, &data, &size);
    if (code >= 0)
        return code;
    chunks text = {0};
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    if (o.reference)
        code = read_reference(path, (const unsigned char *)data, size, &text);
    if (code < 0)
        code = tool_open_engine(&o.engine, &engine);
    if (code < 0)
        code = tool_open_model(engine, o.model, o.reference ? TOOL_IDS_ONLY : TOOL_WITH_TEXT, NULL,
                               &model);
    if (code < 0 && !o.reference)
        code = read_text(weft_model_tokenizer(model), path, data, size, (size_t)o.length, &text);
    if (code < 0)
        code = with_chunks(&o, model, &text);
    weft_model_release(&model);
    weft_engine_release(&engine);
    free(text.ids);
    free(data);
    return tool_finish(code);
}
