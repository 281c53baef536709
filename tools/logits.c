/* weft logits: evaluates token ids and prints logits as JSON, for checking the engine against
 * others. */
#include "tool.h"
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: weft logits --ids \"1 2 3\" [-m MODEL] [options]\n"
    "Evaluates token ids (nothing is added to them; the cache is float32) and prints JSON:\n"
    "argmax and logsumexp of each position, last_logits of the last one.\n"
    "  -m MODEL        GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  --ids LIST      token ids, separated by spaces or commas\n"
    "  --greedy N      goes on with N greedy tokens: greedy.tokens, and greedy.final_logits,\n"
    "                  which chose the last of them\n"
    "  --batch N       longest step (default 256)\n"
    "  --lora FILE[:SCALE]  an adapter; may be given many times\n"
    "  --float         float activations and dequantised weights\n"
    "  --reproducible  the same bits on every machine\n"
    "  -t N            threads (default: physical cores)\n"
    "  --cpu NAME      highest variant of the kernels: scalar, avx2, avx512, vnni …\n"
    "Example: weft logits --ids \"504 3575 282\" --greedy 8\n";

/* "1 2,3" to ids [*n], freed with free(); -1 or the exit code. */
static int parse_ids(const char *text, int32_t **out, size_t *n) {
    char *copy = strdup(text), *next;
    int32_t *ids = malloc((strlen(text) / 2 + 1) * sizeof *ids);
    *n = 0;
    int code = copy && ids ? -1 : tool_fail("--ids", "out of memory");
    char *word = code < 0 ? strtok_r(copy, " ,\t\n", &next) : NULL;
    for (; word; word = strtok_r(NULL, " ,\t\n", &next)) {
        int64_t id;
        if (!tool_parse_integer(word, 0, INT32_MAX, &id)) {
            code = tool_usage("logits", "--ids wants whole numbers, not '%s'", word);
            break;
        }
        ids[(*n)++] = (int32_t)id;
    }
    if (code < 0 && *n == 0)
        code = tool_usage("logits", "--ids is empty");
    free(copy);
    if (code >= 0)
        free(ids);
    else
        *out = ids;
    return code;
}

typedef struct summary {
    int32_t *argmax;   /* [T] */
    double *logsumexp; /* [T] */
} summary;

static bool take_row(void *ctx, size_t position, const float *logits, size_t n_vocab) {
    summary *s = ctx;
    s->argmax[position] = tool_argmax(logits, n_vocab);
    s->logsumexp[position] = tool_logsumexp(logits, n_vocab);
    return true;
}

static void print_floats(const float *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i)
            tool_write(",", 1);
        tool_write_json_float(values[i]);
    }
}

/* `,"greedy":{…}`; -1 or the exit code. */
static int print_greedy(weft_session *session, size_t n_vocab, int32_t n) {
    printf(",\"greedy\":{\"tokens\":[");
    for (int32_t i = 0; i < n; i++) {
        int32_t token = tool_argmax(weft_session_logits(session), n_vocab);
        printf("%s%d", i ? "," : "", token);
        if (i + 1 == n)
            break;
        weft_status status = weft_session_eval(session, &token, 1);
        if (status)
            return tool_fail_status("logits", status);
    }
    printf("],\"final_logits\":[");
    print_floats(weft_session_logits(session), n_vocab);
    printf("]}");
    return -1;
}

static int print_all(weft_session *session, size_t n_vocab, const int32_t *ids, size_t n,
                     int32_t greedy) {
    summary s = {.argmax = malloc(n * sizeof *s.argmax),
                 .logsumexp = malloc(n * sizeof *s.logsumexp)};
    int code = TOOL_DONE;
    if (!s.argmax || !s.logsumexp)
        code = tool_fail("logits", "out of memory");
    else
        code = tool_eval_rows(session, ids, n, n_vocab, take_row, &s);
    if (code < 0) {
        printf("{\"argmax\":[");
        for (size_t i = 0; i < n; i++)
            printf("%s%d", i ? "," : "", s.argmax[i]);
        printf("],\"logsumexp\":[");
        for (size_t i = 0; i < n; i++) {
            if (i)
                tool_write(",", 1);
            tool_write_json_float(s.logsumexp[i]);
        }
        printf("],\"last_logits\":[");
        print_floats(weft_session_logits(session), n_vocab);
        printf("]");
        code = greedy > 0 ? print_greedy(session, n_vocab, greedy) : -1;
        if (code < 0)
            printf("}\n");
    }
    free(s.argmax);
    free(s.logsumexp);
    return code < 0 ? TOOL_DONE : code;
}

int tool_logits(int argc, char **argv) {
    tool_engine e = {0};
    const char *name = NULL, *list = NULL;
    int32_t greedy = 0, batch = 256;
    tool_list adapters = {.n = 0};
    const tool_option table[] = {
        TOOL_ENGINE_OPTIONS(&e),
        {'m', "model", TOOL_STRING, &name, 1, 0},
        {0, "lora", TOOL_LIST, &adapters, 1, 0},
        {0, "ids", TOOL_STRING, &list, 0, 0},
        {0, "greedy", TOOL_I32, &greedy, 0, 1 << 20},
        {0, "batch", TOOL_I32, &batch, 1, 1 << 20},
    };
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], NULL);
    if (code >= 0)
        return code;
    if (!list)
        return tool_usage("logits", "--ids LIST is missing");
    int32_t *ids;
    size_t n;
    code = parse_ids(list, &ids, &n);
    if (code >= 0)
        return code;
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    weft_session *session = NULL;
    code = tool_open_engine(&e, &engine);
    if (code < 0)
        code = tool_open_model(engine, name, TOOL_IDS_ONLY, NULL, &model);
    if (code < 0 && n + (size_t)greedy > INT32_MAX)
        code = tool_fail("--ids", "too many");
    for (size_t i = 0; code < 0 && i < n; i++)
        if (ids[i] >= weft_model_get_info(model).n_vocab)
            code = tool_bad_value("--ids", "token %zu is %d, outside of the vocabulary of %d", i,
                                  ids[i], (int)weft_model_get_info(model).n_vocab);
    if (code < 0) {
        weft_session_options options = {
            .n_context = (int32_t)n + greedy, .n_batch = batch, .cache_type = WEFT_F32};
        weft_status status = weft_session_create(model, &options, &session);
        code = status ? tool_fail_status("session", status) : -1;
        if (code < 0)
            code = tool_use_adapters(model, session, &adapters);
    }
    if (code < 0)
        code = print_all(session, (size_t)weft_model_get_info(model).n_vocab, ids, n, greedy);
    weft_session_release(&session);
    weft_model_release(&model);
    weft_engine_release(&engine);
    free(ids);
    return tool_finish(code);
}
