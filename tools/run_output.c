/* See run_output.h. */
#include "run_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool run_output_open(run_output *out) {
    out->at_line_start = true;
    if (!out->json)
        return true;
    out->text_file = open_memstream(&out->text, &out->text_bytes);
    out->tokens_file = open_memstream(&out->tokens, &out->tokens_bytes);
    out->pending = open_memstream(&out->pending_text, &out->pending_bytes);
    return out->text_file && out->tokens_file && out->pending;
}

void run_output_close(run_output *out) {
    FILE *files[] = {out->text_file, out->tokens_file, out->pending};
    for (size_t i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    free(out->text);
    free(out->tokens);
    free(out->pending_text);
}

/* ---- JSON ---- */

static void put_logprob(FILE *to, float x) {
    if (isfinite(x))
        fprintf(to, "%.6g", (double)x);
    else
        fputs("null", to);
}

/* Members without braces. */
static void put_token(const run_output *out, FILE *to, int32_t token) {
    const char *text;
    size_t n_bytes;
    weft_token_bytes(out->tokenizer, token, true, &text, &n_bytes);
    fprintf(to, "\"token\": %d, \"bytes\": ", token);
    tool_put_json_string(to, text, n_bytes);
}

void run_output_token(void *ctx, const weft_token_info *info) {
    run_output *out = ctx;
    FILE *to = out->pending;
    rewind(to);
    put_token(out, to, info->token);
    fputs(", \"logprob\": ", to);
    put_logprob(to, info->logprob);
    fputs(", \"top\": [", to);
    for (size_t i = 0; i < info->n_top; i++) {
        fputs(i ? ", {" : "{", to);
        put_token(out, to, info->top[i].token);
        fputs(", \"logprob\": ", to);
        put_logprob(to, info->top[i].logprob);
        fputc('}', to);
    }
    fputc(']', to);
    fflush(to);
}

/* The members of a token that stands in the text. */
static void pend(run_output *out, int32_t token) {
    if (out->logprobs) /* run_output_token had them before */
        return;
    rewind(out->pending);
    put_token(out, out->pending, token);
    fflush(out->pending);
}

static bool stream_token(run_output *out, int32_t token, const char *text, size_t n_bytes) {
    tool_write("{", 1);
    if (token >= 0)
        tool_write(out->pending_text, out->pending_bytes);
    tool_write(token >= 0 ? ", \"text\": " : "\"text\": ", token >= 0 ? 10 : 8);
    tool_write_json_string(text, n_bytes);
    return tool_write("}\n", 2) && tool_flush();
}

bool run_output_text(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    run_output *out = ctx;
    if (out->json && token >= 0)
        pend(out, token);
    if (out->json && out->stream)
        return stream_token(out, token, text, n_bytes);
    if (out->json) {
        fwrite(text, 1, n_bytes, out->text_file);
        if (token >= 0) {
            fputs(out->n_tokens++ ? ", {" : "{", out->tokens_file);
            fwrite(out->pending_text, 1, out->pending_bytes, out->tokens_file);
            fputc('}', out->tokens_file);
        }
        return true;
    }
    if (n_bytes == 0)
        return true;
    out->at_line_start = text[n_bytes - 1] == '\n';
    return tool_write(text, n_bytes) && tool_flush();
}

static const char *reason_name(weft_stop_reason reason) {
    static const char *const names[] = {"length",   "end",       "stop string", "context",
                                        "callback", "cancelled", "stop token"};
    return (size_t)reason < sizeof names / sizeof names[0] ? names[reason] : "other";
}

static void write_result(run_output *out, const weft_generate_result *r, uint64_t seed) {
    char line[640];
    tool_write("{", 1);
    if (!out->stream) {
        fflush(out->text_file);
        fflush(out->tokens_file);
        tool_write("\"text\": ", 8);
        tool_write_json_string(out->text, out->text_bytes);
        tool_write(", \"tokens\": [", 13);
        tool_write(out->tokens, out->tokens_bytes);
        tool_write("], ", 3);
    }
    int n = snprintf(line, sizeof line,
                     "\"stop\": \"%s\", \"prompt_tokens\": %d, \"cached_tokens\": %d, "
                     "\"generated_tokens\": %d, \"guessed_tokens\": %d, \"right_guesses\": %d, "
                     "\"prompt_seconds\": %.4f, \"generate_seconds\": %.4f, "
                     "\"grammar_seconds\": %.6f, \"seed\": %llu}\n",
                     reason_name(r->reason), r->n_prompt, r->n_cached, r->n_generated, r->n_guessed,
                     r->n_right, r->prompt_seconds, r->generate_seconds, r->grammar_seconds,
                     (unsigned long long)seed);
    if (n > 0 && (size_t)n < sizeof line)
        tool_write(line, (size_t)n);
}

void run_output_finish(run_output *out, const weft_generate_result *result, uint64_t seed) {
    if (out->json)
        write_result(out, result, seed);
    else if (!out->at_line_start &&
             (isatty(STDOUT_FILENO) || result->reason == WEFT_STOP_CANCELLED))
        tool_write("\n", 1);
}
