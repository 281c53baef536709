/* Options about what is chosen: samplers, biases, ends of the text, grammars. For the commands that
 * generate. */
#ifndef WEFT_TOOLS_CHOOSING_H
#define WEFT_TOOLS_CHOOSING_H

#include "tool.h"

typedef struct tool_choosing {
    weft_sampler_options sampler;
    const char *seed;
    tool_list stops, stop_tokens, logit_bias, dry_breakers;
    const char *json_schema, *grammar, *regex;
    int32_t min_tokens;
    bool ban_eos, ignore_eos, lookup;
    /* Made by tool_choosing_open. */
    weft_logit_bias biases[64];
    int32_t stop_ids[64];
    int32_t *breakers; /* [sampler.n_dry_breakers] */
    weft_grammar *compiled;
} tool_choosing;

#define TOOL_CHOOSING_OPTIONS(c)                                                                   \
    {'s', "seed", TOOL_STRING, &(c)->seed, 0, 0},                                                  \
        {0, "samplers", TOOL_STRING, &(c)->sampler.chain, 1, 0},                                   \
        {0, "temp", TOOL_F32, &(c)->sampler.temperature, 0, 1000},                                 \
        {0, "top-k", TOOL_I32, &(c)->sampler.top_k, 0, INT32_MAX},                                 \
        {0, "top-p", TOOL_F32, &(c)->sampler.top_p, 0, 1},                                         \
        {0, "min-p", TOOL_F32, &(c)->sampler.min_p, 0, 1},                                         \
        {0, "typical-p", TOOL_F32, &(c)->sampler.typical_p, 0, 1},                                 \
        {0, "top-n-sigma", TOOL_F32, &(c)->sampler.top_n_sigma, -1, 1000},                         \
        {0, "xtc-probability", TOOL_F32, &(c)->sampler.xtc_probability, 0, 1},                     \
        {0, "xtc-threshold", TOOL_F32, &(c)->sampler.xtc_threshold, 0, 1},                         \
        {0, "dynatemp-range", TOOL_F32, &(c)->sampler.dynatemp_range, 0, 1000},                    \
        {0, "dynatemp-exponent", TOOL_F32, &(c)->sampler.dynatemp_exponent, 0, 1000},              \
        {0, "repeat-penalty", TOOL_F32, &(c)->sampler.repeat_penalty, 0.01, 100},                  \
        {0, "repeat-last-n", TOOL_I32, &(c)->sampler.penalty_last_n, -1, INT32_MAX},               \
        {0, "presence-penalty", TOOL_F32, &(c)->sampler.presence_penalty, -100, 100},              \
        {0, "frequency-penalty", TOOL_F32, &(c)->sampler.frequency_penalty, -100, 100},            \
        {0, "dry-multiplier", TOOL_F32, &(c)->sampler.dry_multiplier, 0, 100},                     \
        {0, "dry-base", TOOL_F32, &(c)->sampler.dry_base, 0, 100},                                 \
        {0, "dry-allowed-length", TOOL_I32, &(c)->sampler.dry_allowed_length, 0, INT32_MAX},       \
        {0, "dry-last-n", TOOL_I32, &(c)->sampler.dry_last_n, -1, INT32_MAX},                      \
        {0, "dry-breaker", TOOL_LIST, &(c)->dry_breakers, 1, 0},                                   \
        {0, "mirostat", TOOL_I32, &(c)->sampler.mirostat, 0, 2},                                   \
        {0, "mirostat-tau", TOOL_F32, &(c)->sampler.mirostat_tau, 0, 100},                         \
        {0, "mirostat-eta", TOOL_F32, &(c)->sampler.mirostat_eta, 0, 100},                         \
        {0, "logit-bias", TOOL_LIST, &(c)->logit_bias, 1, 0},                                      \
        {0, "stop", TOOL_LIST, &(c)->stops, 0, 0},                                                 \
        {0, "stop-token", TOOL_LIST, &(c)->stop_tokens, 1, 0},                                     \
        {0, "min-tokens", TOOL_I32, &(c)->min_tokens, 0, INT32_MAX},                               \
        {0, "ban-eos", TOOL_FLAG, &(c)->ban_eos, 0, 0},                                            \
        {0, "ignore-eos", TOOL_FLAG, &(c)->ignore_eos, 0, 0},                                      \
        {0, "json-schema", TOOL_STRING, &(c)->json_schema, 1, 0},                                  \
        {0, "grammar", TOOL_STRING, &(c)->grammar, 1, 0},                                          \
        {0, "regex", TOOL_STRING, &(c)->regex, 1, 0}, {                                            \
        0, "lookup", TOOL_FLAG, &(c)->lookup, 0, 0                                                 \
    }

/* Their lines of the help. */
extern const char tool_choosing_help[];

tool_choosing tool_choosing_default(void);
/* After parsing: the seed, and what can be seen to be wrong. -1 or the exit code. */
int tool_choosing_check(tool_choosing *c, const char *command);
/* A sampler by these options. -1 or the exit code. */
int tool_choosing_sampler(const tool_choosing *c, weft_engine *engine, weft_sampler **out);
/* Finds tokens, compiles the grammar and fills in options; all is borrowed from `c` until
 * tool_choosing_close. -1 or the exit code. */
int tool_choosing_open(tool_choosing *c, const weft_tokenizer *tokenizer,
                       weft_generate_options *options);
void tool_choosing_close(tool_choosing *c);

#endif
