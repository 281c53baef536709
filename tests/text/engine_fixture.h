/* The engine that all tests of a program share. */
#ifndef WEFT_TESTS_TEXT_ENGINE_FIXTURE_H
#define WEFT_TESTS_TEXT_ENGINE_FIXTURE_H

#include "text/fixture.h"

static weft_engine *engine;

static int set_up(void **state) {
    (void)state;
    engine = make_engine(NULL);
    return engine ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    weft_engine_release(&engine);
    return 0;
}

#endif
