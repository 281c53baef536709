/* See choosing.h. */
#include "choosing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define LOOKUP 15 /* the library finds out how many of these pay */

const char tool_choosing_help[] =
    "What is chosen (docs/sampling.md has definitions)\n"
    "  -s SEED               the same seed gives the same text\n"
    "  --temp T  --top-k K  --top-p P  --min-p P   (0.8, 40, 0.95, 0.05); --temp 0: greedy\n"
    "  --typical-p P  --top-n-sigma N  --xtc-probability P  --xtc-threshold T\n"
    "  --repeat-penalty R  --presence-penalty P  --frequency-penalty P   over the last\n"
    "  --repeat-last-n N     tokens (64; -1: all)\n"
    "  --dynatemp-range R  --dynatemp-exponent E   a temperature that follows the entropy\n"
    "  --dry-multiplier M  --dry-base B  --dry-allowed-length N  --dry-last-n N\n"
    "  --dry-breaker TEXT    ends a repetition; may be given many times\n"
    "  --mirostat 1|2  --mirostat-tau T  --mirostat-eta E\n"
    "  --samplers CHAIN      steps in their order; default\n"
    "      \"" WEFT_SAMPLER_CHAIN "\"\n"
    "  --logit-bias ID=B     adds B to a token's logit; B may be -inf; the token by its number or\n"
    "                        spelling; may be given many times\n"
    "Where the text ends\n"
    "  --stop TEXT  --stop-token ID   before TEXT; at a token; both may be given many times\n"
    "  --min-tokens N        not before N tokens\n"
    "  --ban-eos             the model never ends it; --ignore-eos: it does, and goes on\n";

tool_choosing tool_choosing_default(void) {
    return (tool_choosing){.sampler = weft_sampler_options_default()};
}

int tool_choosing_check(tool_choosing *c, const char *command) {
    if (c->seed) {
        int64_t seed;
        if (!tool_parse_integer(c->seed, 0, INT64_MAX, &seed))
            return tool_usage(command, "-s wants a whole number from 0, not '%s'", c->seed);
        c->sampler.seed = (uint64_t)seed;
    } else if (getrandom(&c->sampler.seed, sizeof c->sampler.seed, GRND_NONBLOCK) !=
               (ssize_t)sizeof c->sampler.seed) {
        c->sampler.seed = (uint64_t)time(NULL);
    }
    if (!c->seed)
        c->sampler.seed &= UINT32_MAX; /* easy to note, and exact in every reader of JSON */
    for (size_t i = 0; i < c->stops.n; i++)
        if (!*c->stops.items[i])
            return tool_usage(command, "--stop wants a text that is not empty");
    if (!!c->json_schema + !!c->grammar + !!c->regex > 1)
        return tool_usage(command, "--json-schema, --grammar and --regex exclude each other");
    return -1;
}

/* ---- Tokens ---- */

/* An id, or the spelling of a token. */
static bool find_token(const weft_tokenizer *t, const char *text, size_t n, int32_t *id) {
    char digits[24];
    int64_t number;
    if (n > 0 && n < sizeof digits && strspn(text, "0123456789") >= n) {
        memcpy(digits, text, n);
        digits[n] = 0;
        if (!tool_parse_integer(digits, 0, weft_tokenizer_n_tokens(t) - 1, &number))
            return false;
        *id = (int32_t)number;
        return true;
    }
    *id = weft_tokenizer_find(t, text, n);
    return *id >= 0;
}

static int read_bias(tool_choosing *c, const weft_tokenizer *t) {
    for (size_t i = 0; i < c->logit_bias.n; i++) {
        const char *text = c->logit_bias.items[i], *equals = strrchr(text, '=');
        double bias = 0;
        if (!equals || !find_token(t, text, (size_t)(equals - text), &c->biases[i].token))
            return tool_bad_value("--logit-bias",
                                  "'%s' is not TOKEN=BIAS with a token of the model", text);
        if (strcmp(equals + 1, "-inf") == 0)
            bias = -INFINITY;
        else if (!tool_parse_real(equals + 1, -1e6, 1e6, &bias))
            return tool_bad_value("--logit-bias", "'%s' has no number behind '='", text);
        c->biases[i].bias = (float)bias;
    }
    c->sampler.logit_bias = c->biases;
    c->sampler.n_logit_bias = c->logit_bias.n;
    return -1;
}

/* All tokens that hold one of the texts; by default those after which a text starts anew. */
static int find_breakers(tool_choosing *c, const weft_tokenizer *t) {
    static const tool_list usual = {{"\n", ":", "\"", "*"}, 4};
    const tool_list *list = c->dry_breakers.n ? &c->dry_breakers : &usual;
    int32_t n_tokens = weft_tokenizer_n_tokens(t);
    if (c->sampler.dry_multiplier == 0)
        return -1;
    c->breakers = malloc(((size_t)n_tokens + 1) * sizeof *c->breakers);
    if (!c->breakers)
        return tool_fail("--dry-breaker", "out of memory");
    size_t n = 0;
    for (int32_t id = 0; id < n_tokens; id++) {
        const char *text;
        size_t n_bytes;
        bool holds = false;
        weft_token_bytes(t, id, false, &text, &n_bytes);
        for (size_t i = 0; i < list->n; i++)
            holds |= memmem(text, n_bytes, list->items[i], strlen(list->items[i])) != NULL;
        if (holds && n_bytes > 0)
            c->breakers[n++] = id;
    }
    c->sampler.dry_breakers = c->breakers;
    c->sampler.n_dry_breakers = n;
    return -1;
}

/* ---- Grammars ---- */

/* Whether the value of the option is the grammar itself. */
static bool is_inside(weft_grammar_kind kind, const char *text) {
    if (kind == WEFT_GRAMMAR_GBNF)
        return strstr(text, "::=") != NULL;
    return kind == WEFT_GRAMMAR_REGEX || text[strspn(text, " \t\r\n")] == '{' ||
           strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static int compile(tool_choosing *c, const weft_tokenizer *t) {
    weft_grammar_kind kind = c->regex     ? WEFT_GRAMMAR_REGEX
                             : c->grammar ? WEFT_GRAMMAR_GBNF
                                          : WEFT_GRAMMAR_JSON_SCHEMA;
    const char *what = c->regex ? "--regex" : c->grammar ? "--grammar" : "--json-schema";
    const char *value = c->regex ? c->regex : c->grammar ? c->grammar : c->json_schema;
    char *text;
    size_t n_bytes;
    bool inside = is_inside(kind, value);
    int code = tool_read_value(what, value, inside, &text, &n_bytes);
    if (code >= 0)
        return code;
    /* The newline that ends a file is no part of an expression. */
    if (kind == WEFT_GRAMMAR_REGEX && value[0] == '@' && n_bytes > 0 && text[n_bytes - 1] == '\n')
        n_bytes--;
    weft_status status = weft_grammar_create(t, kind, text, n_bytes, &c->compiled);
    free(text);
    return status ? tool_fail_status(what, status) : -1;
}

int tool_choosing_open(tool_choosing *c, const weft_tokenizer *t, weft_generate_options *o) {
    int code = read_bias(c, t);
    for (size_t i = 0; i < c->stop_tokens.n && code < 0; i++)
        if (!find_token(t, c->stop_tokens.items[i], strlen(c->stop_tokens.items[i]),
                        &c->stop_ids[i]))
            code = tool_bad_value("--stop-token", "the model has no token '%s'",
                                  c->stop_tokens.items[i]);
    if (code < 0)
        code = find_breakers(c, t);
    if (code < 0 && (c->json_schema || c->grammar || c->regex))
        code = compile(c, t);
    o->stops = c->stops.items;
    o->n_stops = c->stops.n;
    o->stop_tokens = c->stop_ids;
    o->n_stop_tokens = c->stop_tokens.n;
    o->min_tokens = c->min_tokens;
    o->ban_eos = c->ban_eos;
    o->ignore_eos = c->ignore_eos;
    o->grammar = c->compiled;
    o->lookup = c->lookup ? LOOKUP : 0;
    return code;
}

int tool_choosing_sampler(const tool_choosing *c, weft_engine *engine, weft_sampler **out) {
    weft_status status = weft_sampler_create(engine, &c->sampler, out);
    if (status == WEFT_E_ARGUMENT)
        return tool_bad_value("--samplers", "%s", weft_detail());
    return status ? tool_fail_status("sampler", status) : -1;
}

void tool_choosing_close(tool_choosing *c) {
    weft_grammar_release(&c->compiled);
    free(c->breakers);
    c->breakers = NULL;
}
