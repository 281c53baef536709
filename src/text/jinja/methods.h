/* Tables of methods, by type; ended by a NULL name. */
#ifndef WEFT_TEXT_JINJA_METHODS_H
#define WEFT_TEXT_JINJA_METHODS_H

#include "text/jinja/impl.h"

typedef struct jinja_method_entry {
    const char *name;
    jinja_method_fn call;
} jinja_method_entry;

extern const jinja_method_entry jinja_text_methods[];

#endif
