/* Parsing and rendering as a whole: the bounds, the error and the memory of one run. */
#include "text/jinja/jinja.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "text/jinja/impl.h"
#include "text/jinja/parse.h"

/* A source larger than this is no chat template. */
#define SOURCE_MAX ((size_t)4 << 20)
#define TREE_BYTES_MAX ((size_t)512 << 20)

struct jinja_template {
    weft_allocator a;
    jinja_arena arena;
    const jinja_node *root;
};

/* ---- Errors ---- */

/* Cuts a message that filled the room at the last whole character. */
static void cut_message(jinja_error *error) {
    size_t n = strlen(error->message);
    error->message[weft_utf8_valid((const unsigned char *)error->message, n)] = 0;
}

bool jinja_set_error(jinja_error *error, jinja_error_kind kind, uint32_t line, uint32_t column,
                     const char *format, ...) {
    if (error->kind)
        return false;
    error->kind = kind;
    error->line = line;
    error->column = column;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    cut_message(error);
    return false;
}

void jinja_fail(jinja *j, jinja_error_kind kind, const char *format, ...) {
    j->failed = true;
    if (j->error->kind)
        return;
    j->error->kind = kind;
    j->error->line = j->at ? j->at->line : 0;
    j->error->column = j->at ? j->at->column : 0;
    va_list args;
    va_start(args, format);
    vsnprintf(j->error->message, sizeof j->error->message, format, args);
    va_end(args);
    cut_message(j->error);
}

/* ---- Bounds ---- */

bool jinja_spend(jinja *j, size_t steps) {
    if (j->failed)
        return false;
    j->steps += steps;
    if (j->steps > j->limits.steps)
        jinja_fail(j, JINJA_LIMIT, "the template takes too many steps");
    return !j->failed;
}

bool jinja_deeper(jinja *j) {
    if (j->depth >= j->limits.depth) {
        jinja_fail(j, JINJA_LIMIT, "nested too deeply");
        return false;
    }
    j->depth++;
    return true;
}

static void fail_memory(jinja *j) {
    if (j->arena.over_limit)
        jinja_fail(j, JINJA_LIMIT, "the template takes too much memory");
    else
        jinja_fail(j, JINJA_MEMORY, "no memory");
}

void *jinja_alloc(jinja *j, size_t size_bytes) {
    void *memory = j->failed ? NULL : jinja_arena_alloc(&j->arena, size_bytes);
    if (!memory)
        fail_memory(j);
    return memory;
}

void *jinja_grow(jinja *j, void *memory, size_t old_bytes, size_t new_bytes) {
    void *grown = j->failed ? NULL : jinja_arena_grow(&j->arena, memory, old_bytes, new_bytes);
    if (!grown)
        fail_memory(j);
    return grown;
}

bool jinja_put(jinja *j, jinja_buffer *b, const char *text, size_t n) {
    if (!jinja_spend(j, n / 32))
        return false;
    if (n > j->limits.output_bytes - b->n) {
        jinja_fail(j, JINJA_LIMIT, "the template makes too long a text");
        return false;
    }
    if (n > b->room - b->n) {
        size_t room = b->room ? b->room * 2 : 64;
        while (room - b->n < n)
            room *= 2;
        char *more = jinja_grow(j, b->text, b->room, room);
        if (!more)
            return false;
        b->text = more;
        b->room = room;
    }
    if (n)
        memcpy(b->text + b->n, text, n);
    b->n += n;
    return true;
}

jinja_limits jinja_limits_default(size_t input_bytes) {
    uint64_t input = input_bytes < ((uint64_t)1 << 40) ? input_bytes : (uint64_t)1 << 40;
    return (jinja_limits){.steps = 5000000 + 100 * input,
                          .output_bytes = (size_t)(((uint64_t)64 << 20) + 4 * input),
                          .memory_bytes = (size_t)(((uint64_t)256 << 20) + 64 * input),
                          .depth = 800};
}

/* ---- Parsing ---- */

static jinja_template *parse(const weft_allocator *a, const char *source, size_t n_bytes,
                             jinja_error *error) {
    jinja_template *t = weft_alloc_zeroed(a, sizeof *t);
    if (!t) {
        jinja_set_error(error, JINJA_MEMORY, 0, 0, "no memory");
        return NULL;
    }
    t->a = *a;
    t->arena = (jinja_arena){.a = &t->a, .limit_bytes = TREE_BYTES_MAX};
    jinja_arena scratch = {.a = &t->a, .limit_bytes = TREE_BYTES_MAX};
    jinja_lexer *lexer = jinja_arena_alloc(&scratch, sizeof *lexer);
    if (lexer) {
        /* Tokens point into the copy of the source, and so does the tree. */
        *lexer = (jinja_lexer){.arena = &t->arena, .error = error};
        if (jinja_lex(lexer, source, n_bytes)) {
            jinja_parser parser = {.arena = &t->arena, .error = error, .tokens = lexer->tokens};
            t->root = jinja_parse_all(&parser);
        }
    } else {
        jinja_set_error(error, JINJA_MEMORY, 0, 0, "no memory");
    }
    jinja_arena_free(&scratch);
    if (error->kind) {
        jinja_free(t);
        t = NULL;
    }
    return t;
}

jinja_template *jinja_parse(const weft_allocator *a, const char *source, size_t n_bytes,
                            jinja_error *error) {
    *error = (jinja_error){0};
    if (n_bytes > SOURCE_MAX) {
        jinja_set_error(error, JINJA_SYNTAX, 0, 0, "the template is larger than %zu MiB",
                        SOURCE_MAX >> 20);
        return NULL;
    }
    return parse(a, source, n_bytes, error);
}

void jinja_free(jinja_template *t) {
    if (!t)
        return;
    weft_allocator a = t->a;
    t->arena.a = &a;
    jinja_arena_free(&t->arena);
    weft_dealloc(&a, t, sizeof *t);
}

/* ---- Rendering ---- */

static void set_default(jinja *j, const char *name, const char *text, size_t n) {
    jinja_string key = {name, strlen(name)};
    if (text && !j->failed && !jinja_dict_find(j->globals, key))
        jinja_dict_set(j, j->globals, jinja_str(key), jinja_str((jinja_string){text, n}));
}

static void read_object(jinja *j, const char *json, size_t n) {
    jinja_value v = jinja_read_json(j, (jinja_string){json, n}, "variables");
    if (!j->failed && v.type != JINJA_DICT) {
        jinja_set_error(j->error, JINJA_INPUT, 0, 0, "the variables are no JSON object");
        j->failed = true;
    }
    for (size_t i = 0; !j->failed && i < v.as.dict->n; i++)
        jinja_dict_set(j, j->globals, v.as.dict->entries[i].key, v.as.dict->entries[i].value);
}

static void read_input(jinja *j, const jinja_input *input) {
    j->globals = jinja_new_dict(j);
    for (size_t i = 0; i < input->n_variables && !j->failed; i++) {
        const jinja_variable *from = &input->variables[i];
        jinja_string name = {from->name, strlen(from->name)};
        jinja_string text = {from->json, from->json_bytes};
        jinja_value v = jinja_read_json(j, text, from->name);
        if (!j->failed)
            jinja_dict_set(j, j->globals, jinja_str(name), v);
    }
    if (input->object && !j->failed)
        read_object(j, input->object, input->object_bytes);
    set_default(j, "bos_token", input->bos_token, input->bos_bytes);
    set_default(j, "eos_token", input->eos_token, input->eos_bytes);
}

bool jinja_render(const jinja_template *t, const jinja_input *input, const jinja_limits *limits,
                  char **out, size_t *n_bytes, jinja_error *error) {
    *error = (jinja_error){0};
    jinja_buffer buffer = {0};
    jinja_scope top = {0};
    jinja j = {.arena = {.a = &t->a, .limit_bytes = limits->memory_bytes},
               .limits = *limits,
               .error = error,
               .out = &buffer,
               .now = input->now};
    read_input(&j, input);
    if (!j.failed)
        jinja_exec(&j, &top, t->root);
    char *text = j.failed ? NULL : weft_alloc(&t->a, buffer.n + 1);
    if (text) {
        if (buffer.n)
            memcpy(text, buffer.text, buffer.n);
        text[buffer.n] = 0;
        *out = text;
        *n_bytes = buffer.n;
    } else {
        jinja_set_error(error, JINJA_MEMORY, 0, 0, "no memory");
    }
    jinja_arena_free(&j.arena);
    return text != NULL;
}
