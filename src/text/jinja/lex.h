/* Cutting a template into text and the tokens of its tags. */
#ifndef WEFT_TEXT_JINJA_LEX_H
#define WEFT_TEXT_JINJA_LEX_H

#include "text/jinja/arena.h"
#include "text/jinja/error.h"
#include "text/jinja/value.h"

typedef enum jinja_token_kind {
    JINJA_T_END,   /* of the source */
    JINJA_T_DATA,  /* text outside of tags, trimmed */
    JINJA_T_OUT,   /* {{ */
    JINJA_T_BLOCK, /* {% */
    JINJA_T_CLOSE, /* }} or %} */
    JINJA_T_NAME,
    JINJA_T_STRING, /* decoded */
    JINJA_T_INT,
    JINJA_T_FLOAT,
    JINJA_T_OP
} jinja_token_kind;

typedef struct jinja_token {
    jinja_token_kind kind;
    uint32_t line, column;
    jinja_string text;
} jinja_token;

typedef struct jinja_lexer {
    jinja_arena *arena;
    jinja_error *error;
    jinja_string source; /* newlines as \n, the last one dropped */
    size_t at;
    uint32_t line;
    size_t line_begin;
    bool at_line_start; /* what the last tag took ended a line */
    char closers[256];  /* of the brackets that are open */
    size_t n_closers;
    jinja_token *tokens;
    size_t n, room;
} jinja_lexer;

/* Tokens of all of the source, JINJA_T_END at last. False: *lexer->error says why. */
bool jinja_lex(jinja_lexer *lexer, const char *source, size_t n_bytes);
/* Decodes the escapes of a string literal's inside. */
bool jinja_unescape(jinja_arena *arena, jinja_string s, jinja_string *out);

#endif
