/* Random texts of schemas, for tests/text/test_schemas.py to validate.
 * Usage: sample_schemas SCHEMAS.json N SEED [GGUF]: each line of SCHEMAS.json but the first and
 * last holds one entry with a "schema"; for each, N lines of JSON: [number of the entry, text], or
 * [number, null, detail] where it is refused. Tokens are drawn evenly from what the mask allows,
 * with a liking for what closes something. */
#include "base/json.h"
#include "grammar_test.h"

#define MAX_TOKENS 3000

/* Frees nothing: the program ends. */
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
        assert_weft_ok(weft_grammar_mask(g, (size_t)weft_tokenizer_n_tokens(t), &bits));
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

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    FILE *file = fopen(argv[1], "r");
    weft_engine *engine = make_engine(NULL);
    weft_tokenizer *t = grammar_tokenizer(engine);
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
        if (weft_grammar_create(t, WEFT_GRAMMAR_JSON_SCHEMA, begin, n, &g)) {
            printf("[%zu, null, ", number);
            print_json(weft_detail(), strlen(weft_detail()));
            printf("]\n");
        } else {
            for (int i = 0; i < atoi(argv[2]); i++)
                sample(t, g, number, &seed);
        }
        weft_grammar_release(&g);
        number++;
    }
    free(line);
    fclose(file);
    weft_tokenizer_release(&t);
    weft_engine_release(&engine);
    return 0;
}
