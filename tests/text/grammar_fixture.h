/* The engine and the vocabulary that all tests of a program share. */
#ifndef WEFT_TESTS_TEXT_GRAMMAR_FIXTURE_H
#define WEFT_TESTS_TEXT_GRAMMAR_FIXTURE_H

#include "grammar_test.h"

static weft_engine *engine;
static weft_tokenizer *tokenizer;

static int setup(void **state) {
    (void)state;
    engine = make_engine(NULL);
    tokenizer = grammar_tokenizer(engine);
    return !tokenizer;
}

static int teardown(void **state) {
    (void)state;
    weft_tokenizer_release(&tokenizer);
    weft_engine_release(&engine);
    return 0;
}

#endif
