/* The tokens of a prompt: plain text, or a conversation in the model's chat template. */
#ifndef WEFT_TOOLS_PROMPT_H
#define WEFT_TOOLS_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/tokenizer.h>

typedef struct tool_prompt {
    const weft_tokenizer *tokenizer;
    const char *system; /* system message, or NULL */
    bool no_template;   /* the text as it is, also for chat models */
    int32_t *ids;       /* result [n], freed with free() */
    size_t n;
    int32_t n_system; /* of these, the system message's at the front: a context shift keeps them */
} tool_prompt;

/* BOS is there where the model asks for it. What the text spells never becomes a special token. -1
 * or the exit code. */
int tool_make_prompt(tool_prompt *prompt, const char *text, size_t n_bytes);

/* How many of ids [n_ids], a conversation, a conversation of the system message alone begins with;
 * 0 for a template that does not render it. */
int32_t tool_count_system(const weft_tokenizer *tokenizer, const char *system, const int32_t *ids,
                          size_t n_ids);

#endif
