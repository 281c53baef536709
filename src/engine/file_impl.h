/* Inside of weft_file: a source that is looked at. */
#ifndef WEFT_ENGINE_FILE_IMPL_H
#define WEFT_ENGINE_FILE_IMPL_H

#include "loader/loader.h"
#include <weft/extra/inspect.h>

struct weft_file {
    weft_engine *engine;
    weft_source source;
    char *path;
    size_t path_bytes;        /* with its NUL */
    const char *base;         /* last part of `path` */
    weft_weights *importance; /* of tensors by their names; NULL: none */
};

#endif
