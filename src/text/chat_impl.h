/* Inside of weft_chat_template. */
#ifndef WEFT_TEXT_CHAT_IMPL_H
#define WEFT_TEXT_CHAT_IMPL_H

#include <stdatomic.h>
#include "base/engine_impl.h"
#include "text/jinja/jinja.h"
#include <weft/chat.h>

struct weft_chat_template {
    atomic_size_t n_refs;
    weft_engine *engine;
    weft_allocator a;
    jinja_template *parsed;
    char *source; /* [n_source + 1], NUL-terminated: families are recognised by it */
    size_t n_source;
    char *bos, *eos; /* or NULL */
    size_t n_bos, n_eos;
    const char *family; /* of a template that stands in for a missing one; else NULL */
};

#endif
