/* libFuzzer target: the three languages of grammars. The first byte says which; the rest is the
 * source up to a byte 0xff, and after it a text to run through what compiled, with masks. */
#include <stdlib.h>
#include <string.h>
#include "../text/grammar_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static weft_engine *engine;
    static weft_tokenizer *tokenizer;
    if (!engine) {
        engine = make_engine(NULL);
        tokenizer = grammar_tokenizer(engine);
    }
    if (size < 1)
        return 0;
    const uint8_t *source = data + 1, *end = memchr(source, 0xff, size - 1);
    size_t n = end ? (size_t)(end - source) : size - 1;
    weft_grammar *g;
    if (weft_grammar_create(tokenizer, (weft_grammar_kind)(data[0] % 3), (const char *)source, n,
                            &g)) {
        if (g || !*weft_detail())
            abort();
        return 0;
    }
    size_t n_tokens = (size_t)weft_tokenizer_n_tokens(tokenizer), n_steps = 0;
    for (const uint8_t *at = end ? end + 1 : data + size; at < data + size && n_steps < 64; at++) {
        const uint64_t *bits;
        if (weft_grammar_mask(g, n_tokens, &bits))
            break;
        bool allowed = bits[*at / 64] >> (*at % 64) & 1;
        weft_status status = weft_grammar_accept(g, *at);
        if (allowed != (status == WEFT_OK) && status != WEFT_E_OVERFLOW)
            abort();
        n_steps++;
    }
    weft_grammar_release(&g);
    return 0;
}
