/* Sessions: one running text with its KV cache. A session is used by one thread at a time, except
 * weft_session_cancel; sessions of one model run concurrently and take turns on the engine's team.
 */
#ifndef WEFT_SESSION_H
#define WEFT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/grammar.h>
#include <weft/model.h>
#include <weft/sampler.h>
#include <weft/status.h>
#include <weft/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_session weft_session;

typedef struct weft_session_options {
    int32_t n_context; /* positions; 0: min(the model's, 4096). More than memory holds is refused */
    int32_t n_batch;   /* longest step of prefill; 0: 256. Longer prompts are cut into steps */
    weft_dtype cache_type; /* WEFT_F16; WEFT_F32, WEFT_BF16, or WEFT_Q8_0: about half of f16 */
    int32_t n_sequences;   /* forks that may live at once, sharing n_context positions; 0: 1 */
} weft_session_options;

WEFT_API weft_session_options weft_session_options_default(void);

/* `options` may be NULL. *out is owned by the caller and holds a reference to `model`. Errors:
 * WEFT_E_ARGUMENT, WEFT_E_UNSUPPORTED (it embeds only), WEFT_E_MEMORY (with the size needed). */
WEFT_API weft_status weft_session_create(weft_model *model, const weft_session_options *options,
                                         weft_session **out);
WEFT_API void weft_session_release(weft_session **session);

WEFT_API int32_t weft_session_n_context(const weft_session *session);
WEFT_API int32_t weft_session_n_past(const weft_session *session); /* positions in the cache */
/* The tokens in the cache [n_past], borrowed until the next call that changes the session. */
WEFT_API const int32_t *weft_session_tokens(const weft_session *session);
/* Bytes of the cache as allocated (touched only as it fills). */
WEFT_API size_t weft_session_cache_bytes(const weft_session *session);

/* Evaluates `n` tokens after those already there, in steps of at most n_batch. On success the
 * logits of the last are available. On any error the session is as it was before the call. Errors:
 * WEFT_E_ARGUMENT (n == 0), WEFT_E_RANGE (an id outside the vocabulary), WEFT_E_CACHE_FULL,
 * WEFT_E_CANCELLED, WEFT_E_MEMORY, WEFT_E_FORKED. */
WEFT_API weft_status weft_session_eval(weft_session *session, const int32_t *tokens, size_t n);

/* The same; also writes the logits of all `n` positions to out [n, n_vocab]. */
WEFT_API weft_status weft_session_eval_all(weft_session *session, const int32_t *tokens, size_t n,
                                           float *out);

/* Logits [n_vocab] after the last evaluated token; borrowed until the next call on the session.
 * NULL when nothing was evaluated since creation, truncate or load. */
WEFT_API const float *weft_session_logits(const weft_session *session);

/* Keeps the first `n` positions. *resume is the position from which evaluation must go on, and then
 * n_past: n, but in models with recurrent states it may be less, the nearest position whose state
 * is still there (docs/embedding.md). With `resume` NULL the session evaluates the tokens between
 * itself, so that n_past is n. Errors: WEFT_E_RANGE when n > n_past; those of an evaluation. */
WEFT_API weft_status weft_session_truncate(weft_session *session, int32_t n, int32_t *resume);

/* A second session over the same cache that goes on from the same text; full blocks are shared, the
 * last is copied on its first write. Both are used by one thread at a time *together*. Errors:
 * WEFT_E_CACHE_FULL (no sequence left), WEFT_E_MEMORY. */
WEFT_API weft_status weft_session_fork(weft_session *session, weft_session **out);

/* Writes tokens and cache to `path` (by rename), or reads them back into a session of the same
 * model and cache type, replacing its text. Errors: WEFT_E_IO, WEFT_E_FORMAT (another model,
 * damaged: nothing is changed), WEFT_E_CACHE_FULL. */
WEFT_API weft_status weft_session_save(weft_session *session, const char *path);
WEFT_API weft_status weft_session_load(weft_session *session, const char *path);

/* From any thread, also from a signal handler: the running or next evaluation or generation ends
 * between two layers with WEFT_E_CANCELLED. */
WEFT_API void weft_session_cancel(weft_session *session);

/* ---- Generating text ---- */

typedef enum weft_stop_reason {
    WEFT_STOP_LENGTH,    /* max_tokens */
    WEFT_STOP_END,       /* EOS or end of turn */
    WEFT_STOP_STRING,    /* a stop string */
    WEFT_STOP_CONTEXT,   /* the context is full */
    WEFT_STOP_CALLBACK,  /* the callback returned false */
    WEFT_STOP_CANCELLED, /* weft_session_cancel */
    WEFT_STOP_TOKEN      /* one of stop_tokens */
} weft_stop_reason;

/* A piece of text, whole UTF-8 sequences, not NUL-terminated, valid during the call; n_bytes may be
 * 0 (text held back). `token` is the token just chosen, -1 for what is released at the end. False
 * stops the generation. */
typedef bool (*weft_text_fn)(void *ctx, int32_t token, const char *text, size_t n_bytes);

/* A token that was chosen: its own bytes (which may be a part of a character), its log-probability,
 * and the most probable tokens at its place, by the logits as the model gave them. Valid during the
 * call. */
typedef struct weft_token_info {
    int32_t token;
    const char *text; /* [n_bytes], not NUL-terminated */
    size_t n_bytes;
    float logprob;
    const weft_logprob *top; /* [n_top], best first */
    size_t n_top;
} weft_token_info;

/* Called before weft_text_fn for the same token, also for one that ends the text. */
typedef void (*weft_token_fn)(void *ctx, const weft_token_info *info);

typedef struct weft_generate_options {
    int32_t max_tokens;       /* < 0: until something else ends it */
    const char *const *stops; /* stop strings, not part of the text; may be NULL. An empty one is
                                 WEFT_E_ARGUMENT */
    size_t n_stops;
    bool ignore_eos;
    bool context_shift; /* a full context drops its oldest part after `n_keep` and re-evaluates */
    int32_t n_keep;     /* positions that a shift keeps at the front */
    bool show_special;

    int32_t min_tokens;         /* before so many, neither EOS nor a stop token is chosen */
    bool ban_eos;               /* EOS and end of turn are never chosen */
    const int32_t *stop_tokens; /* [n_stop_tokens] end the text, not part of it; may be NULL */
    size_t n_stop_tokens;
    weft_grammar *grammar;  /* of the same vocabulary; set back at the beginning. NULL: any text */
    weft_token_fn on_token; /* called with the `ctx` of the call; NULL: none */
    int32_t n_top;          /* alternatives for on_token, 0 … 1000 */
    /* Guessed tokens are evaluated along with the one that is certain, and count where they are
     * what is chosen then: the text is the same, bit for bit, sampled ones included. How many are
     * guessed follows what it gains. */
    int32_t lookup; /* at most so many, from where the text repeats itself; 0: none, at most 15 */
    weft_session
        *draft;      /* of a smaller model with the same vocabulary, which guesses; NULL: none */
    int32_t n_draft; /* at most so many; 0: 8 */
} weft_generate_options;

WEFT_API weft_generate_options weft_generate_options_default(void);

typedef struct weft_generate_result {
    weft_stop_reason reason;
    int32_t n_prompt; /* tokens of the prompt */
    int32_t n_cached; /* of these, found in the cache and not evaluated again */
    int32_t n_generated;
    double prompt_seconds, generate_seconds;
    int32_t n_guessed, n_right; /* tokens of lookup and draft that were evaluated; right ones */
    double grammar_seconds;     /* spent on masks, within generate_seconds */
} weft_generate_result;

/* Makes the session's text equal to prompt [n_prompt] (keeping what the cache shares with it), then
 * generates. `sampler` may be NULL: greedy; it is told the prompt and every token. `result` may be
 * NULL. A prompt that does not fit is WEFT_E_CACHE_FULL unless context_shift; an empty one is
 * WEFT_E_ARGUMENT. With a grammar the text also ends (WEFT_STOP_END) where nothing can follow. */
WEFT_API weft_status weft_generate(weft_session *session, const int32_t *prompt, size_t n_prompt,
                                   weft_sampler *sampler, const weft_generate_options *options,
                                   weft_text_fn on_text, void *ctx, weft_generate_result *result);

#ifdef __cplusplus
}
#endif
#endif
