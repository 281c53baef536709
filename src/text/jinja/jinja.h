/* The template engine: the part of Jinja 3.1 that chat templates of published models use, with
 * trim_blocks and lstrip_blocks on and loop controls, as their authors run it. A template and its
 * input are untrusted: steps, output, nesting and memory are bounded, nothing but the input is
 * reachable, all memory comes from one arena of the given allocator. */
#ifndef WEFT_TEXT_JINJA_JINJA_H
#define WEFT_TEXT_JINJA_JINJA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <weft/engine.h>

typedef enum jinja_error_kind {
    JINJA_NO_ERROR,
    JINJA_SYNTAX,  /* the source is no template of this language */
    JINJA_RUNTIME, /* an operation that the values do not have */
    JINJA_RAISED,  /* raise_exception(message) of the template itself */
    JINJA_LIMIT,   /* one of the bounds below */
    JINJA_INPUT,   /* a variable is no JSON; line and column are those of its text */
    JINJA_MEMORY   /* the allocator gave none */
} jinja_error_kind;

typedef struct jinja_error {
    jinja_error_kind kind;
    uint32_t line, column; /* from 1; 0: unknown */
    char message[512];     /* UTF-8, cut at a character */
} jinja_error;

typedef struct jinja_limits {
    uint64_t steps; /* about 50 ns each */
    size_t output_bytes;
    size_t memory_bytes;
    uint32_t depth; /* of expressions and statements inside each other, calls included */
} jinja_limits;

/* 5 million steps and 100 for each byte of the input, 64 MiB of output and 4 times the input, 256
 * MiB of memory and 64 times the input, depth 800. */
jinja_limits jinja_limits_default(size_t input_bytes);

typedef struct jinja_template jinja_template;

/* Parses UTF-8 source; a copy is kept. NULL on an error, which *error then holds. */
jinja_template *jinja_parse(const weft_allocator *a, const char *source, size_t n_bytes,
                            jinja_error *error);
void jinja_free(jinja_template *t); /* NULL is allowed */

/* A variable: its name, NUL-terminated, and its value as JSON text. */
typedef struct jinja_variable {
    const char *name;
    const char *json;
    size_t json_bytes;
} jinja_variable;

typedef struct jinja_input {
    const jinja_variable *variables;
    size_t n_variables;
    const char *object; /* more of them, as one JSON object; these count before the others. NULL:
                           none */
    size_t object_bytes;
    const char *bos_token, *eos_token; /* where no variable says it; NULL: undefined */
    size_t bos_bytes, eos_bytes;
    struct tm now; /* for strftime_now */
} jinja_input;

/* Renders. *out is NUL-terminated, of *n_bytes + 1 allocated bytes, the caller's. False on an
 * error. A template may be rendered by many threads at once. */
bool jinja_render(const jinja_template *t, const jinja_input *input, const jinja_limits *limits,
                  char **out, size_t *n_bytes, jinja_error *error);

#endif
