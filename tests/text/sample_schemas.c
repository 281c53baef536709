/* Random texts of schemas, for tests/text/test_schemas.py to validate.
 * Usage: sample_schemas SCHEMAS.json N SEED [GGUF]: each line of SCHEMAS.json but the first and
 * last holds one entry with a "schema"; for each, N lines of JSON: [number of the entry, text], or
 * [number, null, detail] where it is refused. Tokens are drawn evenly from what the mask allows,
 * with a liking for what closes something. With GGUF its vocabulary is used, and what compiling and
 * masks took (CPU time) is written to stderr. */
#include "grammar_test.h"
#include <time.h>
#include <weft/weft.h>

#define MAX_TOKENS 3000

typedef struct times {
    double compiling, slowest_compiling, masks, slowest_mask;
    size_t n_compiled, n_masks;
    double means[1024]; /* of the schemas, in microseconds a token */
    size_t n_means;
} times;

static times spent;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_json(const char *text, size_t n) {
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static bool allowed(const uint64_t *bits, int32_t i) {
    return bits[i / 64] >> (i % 64) & 1;
}

/* A random one of the allowed tokens; -1: none. */
static int32_t draw(const weft_tokenizer *t, const uint64_t *bits, uint32_t closing,
                    uint64_t *seed) {
    static const char closers[] = "\"}],";
    int32_t n = weft_tokenizer_n_tokens(t), from = (int32_t)(test_random(seed) % (uint32_t)n);
    if (test_random(seed) % 100 < closing)
        for (const char *c = closers; *c; c++)
            if (allowed(bits, weft_tokenizer_find(t, c, 1)))
                return weft_tokenizer_find(t, c, 1);
    for (int32_t k = 0; k < n; k++) {
        int32_t i = (from + k) % n;
        if (allowed(bits, i) && !weft_tokenizer_is_eog(t, i))
            return i;
    }
    return -1;
}

static void sample(const weft_tokenizer *t, weft_grammar *g, size_t number, uint64_t *seed) {
    static char text[1 << 16];
    size_t length = 0;
    weft_grammar_reset(g);
    for (int step = 0; step < MAX_TOKENS; step++) {
        if (weft_grammar_is_over(g) || (weft_grammar_may_end(g) && test_random(seed) % 4 == 0))
            break;
        const uint64_t *bits;
        double start = now();
        assert_weft_ok(weft_grammar_mask(g, (size_t)weft_tokenizer_n_tokens(t), &bits));
        double took = now() - start;
        spent.masks += took;
        spent.n_masks++;
        spent.slowest_mask = took > spent.slowest_mask ? took : spent.slowest_mask;
        int32_t token = draw(t, bits, step < 100 ? 20 : 80, seed);
        if (token < 0)
            break;
        const char *bytes;
        size_t n;
        weft_token_bytes(t, token, false, &bytes, &n);
        assert_true(length + n < sizeof text);
        memcpy(text + length, bytes, n);
        length += n;
        assert_weft_ok(weft_grammar_accept(g, token));
    }
    if (!weft_grammar_may_end(g))
        return; /* too long */
    printf("[%zu, ", number);
    print_json(text, length);
    printf("]\n");
}

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void print_times(void) {
    qsort(spent.means, spent.n_means, sizeof spent.means[0], ascending);
    fprintf(
        stderr,
        "compiling: %.2f ms mean, %.2f ms slowest of %zu\n"
        "masks: %.1f us a token over all (%zu tokens), slowest %.0f us; mean of a schema: median "
        "%.1f us, 95 %% below %.1f us\n",
        spent.compiling * 1e3 / (double)spent.n_compiled, spent.slowest_compiling * 1e3,
        spent.n_compiled, spent.masks * 1e6 / (double)spent.n_masks, spent.n_masks,
        spent.slowest_mask * 1e6, spent.means[spent.n_means / 2],
        spent.means[spent.n_means * 95 / 100]);
}

static weft_status compile(const weft_tokenizer *t, const char *source, size_t n,
                           weft_grammar **out) {
    double start = now();
    weft_status status = weft_grammar_create(t, WEFT_GRAMMAR_JSON_SCHEMA, source, n, out);
    double took = now() - start;
    if (spent.n_compiled++ > 0) { /* the first made the vocabulary's trie */
        spent.compiling += took;
        spent.slowest_compiling = took > spent.slowest_compiling ? took : spent.slowest_compiling;
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    FILE *file = fopen(argv[1], "r");
    weft_engine *engine = make_engine(NULL);
    weft_tokenizer *t = NULL;
    if (argc > 4)
        assert_weft_ok(weft_tokenizer_open(engine, argv[4], NULL, &t));
    else
        t = grammar_tokenizer(engine);
    char *line = NULL;
    size_t room = 0, number = 0;
    uint64_t seed = strtoull(argv[3], NULL, 10);
    if (!file)
        return 2;
    while (getline(&line, &room, file) > 0) {
        char *begin = strstr(line, "\"schema\": ");
        if (!begin)
            continue;
        begin += 10;
        size_t n = (size_t)(strrchr(begin, '}') - begin);
        weft_grammar *g;
        double before = spent.masks;
        size_t masks_before = spent.n_masks;
        if (compile(t, begin, n, &g)) {
            printf("[%zu, null, ", number);
            print_json(weft_detail(), strlen(weft_detail()));
            printf("]\n");
        } else {
            for (int i = 0; i < atoi(argv[2]); i++)
                sample(t, g, number, &seed);
        }
        if (spent.n_masks > masks_before && spent.n_means < 1024)
            spent.means[spent.n_means++] =
                (spent.masks - before) * 1e6 / (double)(spent.n_masks - masks_before);
        weft_grammar_release(&g);
        number++;
    }
    if (argc > 4)
        print_times();
    free(line);
    fclose(file);
    weft_tokenizer_release(&t);
    weft_engine_release(&engine);
    return 0;
}
