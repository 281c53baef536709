/* What `weft run` writes: the text as it comes, or JSON. */
#ifndef WEFT_TOOLS_RUN_OUTPUT_H
#define WEFT_TOOLS_RUN_OUTPUT_H

#include "tool.h"

typedef struct run_output {
    bool json, stream; /* one object at the end, or with `stream` one for each token as well */
    bool logprobs;     /* JSON has log-probabilities */
    const weft_tokenizer *tokenizer;
    bool at_line_start;
    char *text, *tokens; /* JSON without `stream`: the text, and the tokens as JSON */
    size_t text_bytes, tokens_bytes;
    FILE *text_file, *tokens_file;
    FILE *pending; /* the object of a token, until its text is there */
    char *pending_text;
    size_t pending_bytes;
    int32_t n_tokens;
} run_output;

/* False without memory. */
bool run_output_open(run_output *out);
/* weft_text_fn and, with `logprobs` alone (they take time), weft_token_fn; ctx: the run_output. */
bool run_output_text(void *ctx, int32_t token, const char *text, size_t n_bytes);
void run_output_token(void *ctx, const weft_token_info *info);
/* The last object, or a newline where the text needs one. */
void run_output_finish(run_output *out, const weft_generate_result *result, uint64_t seed);
void run_output_close(run_output *out);

#endif
