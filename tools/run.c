/* weft run: generates text from a prompt and streams it to stdout. */
#include "generating.h"
#include "prompt.h"
#include "run_output.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: weft run [-m MODEL] [-p TEXT | -f FILE | < FILE] [options]\n"
    "Generates text. stdout carries the text alone, as it comes.\n"
    "  -m MODEL             GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  -p TEXT  -f FILE     the prompt; else all of stdin\n"
    "  -n N  -c N  -t N     at most N tokens (512; -1: no limit); context; threads\n"
    "  -s SEED  --temp T    the same seed gives the same text; T 0 is greedy (default 0.8)\n"
    "  --stop TEXT          ends before TEXT; may be given many times\n"
    "  --help-sampling      all options of sampling: top-k, penalties, biases, ends, chains\n"
    "  --json-schema S  --grammar G  --regex R   what the text has to be: a JSON value, GBNF, a\n"
    "                       match; each is given as it is or as @FILE, S and G also as a file\n"
    "  --lookup  --draft MODEL         guess: repetitions, with a small model; the same text "
    "sooner\n"
    "  --system TEXT  --no-template    system message; the prompt as it is, also for chat models\n"
    "  --prompt-cache FILE  keeps the text: only what is new is evaluated the next time\n"
    "  --context-shift      when the context is full, drop its oldest part and go on\n"
    "  --json  --stream     a JSON object instead of the text; and one for each token\n"
    "  --logprobs N         with --json: log-probabilities, also of the N most probable tokens\n"
    "  --cache-type TYPE    f16 (default), f32, bf16, q8_0; --lora FILE[:SCALE]  adapters\n"
    "  --reproducible       the same bits on every machine; --float: a checking path\n"
    "  -tb N  --pin         threads of prompts; each thread stays on a CPU of its own\n"
    "  --cpu NAME           highest variant of the kernels: scalar, avx2, avx512, vnni …\n"
    "  --pre NAME           pre-tokeniser, for a file that names an unknown one\n"
    "  --stats              timings on stderr; --quiet: no word about a text that was cut off\n"
    "Ctrl-C ends the text (exit status 130).\n"
    "Example: weft run -p \"Why is the sky blue?\" -n 100 -s 1\n";

typedef struct run_options {
    tool_generating g;
    const char *prompt, *file, *prompt_cache, *draft;
    int32_t logprobs, n_draft;
    bool no_template, context_shift, json, stream, quiet;
    tool_list adapters;
} run_options;

static int parse(int argc, char **argv, run_options *o) {
    const tool_option table[] = {
        TOOL_GENERATING_OPTIONS(&o->g),
        {0, "lora", TOOL_LIST, &o->adapters, 1, 0},
        {'p', "prompt", TOOL_STRING, &o->prompt, 0, 0},
        {'f', "file", TOOL_STRING, &o->file, 1, 0},
        {0, "no-template", TOOL_FLAG, &o->no_template, 0, 0},
        {0, "context-shift", TOOL_FLAG, &o->context_shift, 0, 0},
        {0, "prompt-cache", TOOL_STRING, &o->prompt_cache, 1, 0},
        {0, "json", TOOL_FLAG, &o->json, 0, 0},
        {0, "stream", TOOL_FLAG, &o->stream, 0, 0},
        {0, "quiet", TOOL_FLAG, &o->quiet, 0, 0},
        {0, "logprobs", TOOL_I32, &o->logprobs, 0, 1000},
        {0, "draft", TOOL_STRING, &o->draft, 1, 0},
        {0, "draft-tokens", TOOL_I32, &o->n_draft, 1, 15},
    };
    int code =
        tool_generating_parse(argc, argv, help, table, sizeof table / sizeof table[0], &o->g);
    if (code >= 0)
        return code;
    if (o->g.system && o->no_template)
        return tool_usage("run", "--system needs the chat template that --no-template leaves out");
    if (!o->json && (o->logprobs >= 0 || o->stream))
        return tool_usage("run", "%s needs --json", o->stream ? "--stream" : "--logprobs");
    return -1;
}

/* ---- Generating ---- */

static void show_stats(const run_options *o, const weft_session *session,
                       const weft_generate_result *r) {
    /* Of a prompt that did not fit, only a part was evaluated. */
    bool fits = r->n_prompt <= weft_session_n_context(session);
    double rest = r->generate_seconds;
    fprintf(stderr, "prompt: %d tokens%s in %.2f s", r->n_prompt, fits ? "" : " (shortened)",
            r->prompt_seconds);
    if (r->n_cached > 0)
        fprintf(stderr, ", %d of them from the cache", r->n_cached);
    else if (fits && r->prompt_seconds > 0)
        fprintf(stderr, ", %.1f tokens/s", r->n_prompt / r->prompt_seconds);
    fprintf(stderr, "\ntext: %d tokens in %.2f s, %.1f tokens/s\n", r->n_generated, rest,
            rest > 0 ? r->n_generated / rest : 0);
    if (r->n_guessed > 0)
        fprintf(stderr, "guessed: %d tokens, %d of them right\n", r->n_guessed, r->n_right);
    if (o->g.choosing.compiled && r->n_generated > 0)
        fprintf(stderr, "grammar: %.1f us a token\n", r->grammar_seconds * 1e6 / r->n_generated);
    fprintf(stderr, "seed %llu, cache %.1f MB for %d positions\n",
            (unsigned long long)o->g.choosing.sampler.seed,
            (double)weft_session_cache_bytes(session) / 1e6, weft_session_n_context(session));
}

static int report(const run_options *o, weft_status status, const weft_generate_result *result) {
    if (status == WEFT_E_CACHE_FULL && !o->context_shift)
        return tool_fail("prompt",
                         "%s; -c N makes it longer, --context-shift drops the oldest part",
                         weft_detail());
    if (status)
        return tool_fail_status("run", status);
    if (result->reason == WEFT_STOP_CANCELLED)
        return TOOL_INTERRUPTED;
    bool cut = result->reason == WEFT_STOP_LENGTH || result->reason == WEFT_STOP_CONTEXT;
    if (o->g.choosing.compiled && cut)
        return tool_fail("run",
                         "the text was cut off after %d tokens, before what was asked for "
                         "was complete (-n N, -c N)",
                         result->n_generated);
    return TOOL_DONE;
}

/* A text that ends for want of room looks like any other: a word about it. */
static void tell_if_cut(const run_options *o, const weft_generate_result *result) {
    if (o->quiet || o->json || o->g.n == 0)
        return;
    if (result->reason == WEFT_STOP_LENGTH)
        fprintf(stderr, "weft: run: cut off after %d tokens (-n N: more; -n -1: no limit)\n",
                result->n_generated);
    else if (result->reason == WEFT_STOP_CONTEXT)
        fprintf(stderr,
                "weft: run: cut off after %d tokens, the context is full (-c N: a longer one; "
                "--context-shift: goes on)\n",
                result->n_generated);
}

/* The text, with a sampler and options that are ready. */
static int generate(const run_options *o, weft_sampler *sampler, weft_generate_options *options,
                    weft_session *session, const tool_prompt *prompt) {
    run_output out = {.json = o->json,
                      .stream = o->stream,
                      .logprobs = o->logprobs >= 0,
                      .tokenizer = prompt->tokenizer};
    weft_generate_result result = {0};
    if (!run_output_open(&out)) {
        run_output_close(&out);
        return tool_fail("run", "out of memory");
    }
    options->on_token = out.logprobs ? run_output_token : NULL;
    options->n_top = o->logprobs > 0 ? o->logprobs : 0;
    tool_catch_interrupt(true);
    tool_running(session);
    weft_status status = weft_generate(session, prompt->ids, prompt->n, sampler, options,
                                       run_output_text, &out, &result);
    tool_running(NULL);
    int code = report(o, status, &result); /* before anything else fails on this thread */
    if (!status || !o->json)
        run_output_finish(&out, &result, o->g.choosing.sampler.seed);
    run_output_close(&out);
    if (code == TOOL_DONE)
        tell_if_cut(o, &result);
    if (o->g.stats && !status)
        show_stats(o, session, &result);
    return code;
}

/* ---- Models and sessions ---- */

/* A session like that of the model, for a draft of its text. */
static int open_draft(const run_options *o, weft_engine *engine, int32_t n_context,
                      weft_model **model, weft_session **session) {
    int code = tool_open_model(engine, o->draft, TOOL_WITH_TEXT, o->g.pre, model);
    if (code >= 0)
        return code;
    weft_session_options options = weft_session_options_default();
    options.n_context = n_context;
    weft_status status = weft_session_create(*model, &options, session);
    return status ? tool_fail_status("--draft", status) : -1;
}

static int with_session(run_options *o, weft_engine *engine, weft_session *session,
                        const tool_prompt *prompt) {
    weft_generate_options options = weft_generate_options_default();
    weft_sampler *sampler = NULL;
    weft_model *draft = NULL;
    options.max_tokens = o->g.n;
    options.context_shift = o->context_shift;
    options.n_draft = o->n_draft;
    if (prompt->n_system > options.n_keep)
        options.n_keep = prompt->n_system;
    int code = tool_choosing_open(&o->g.choosing, prompt->tokenizer, &options);
    if (code < 0 && o->draft)
        code = open_draft(o, engine, weft_session_n_context(session), &draft, &options.draft);
    if (code < 0)
        code = tool_choosing_sampler(&o->g.choosing, engine, &sampler);
    if (code < 0)
        code = generate(o, sampler, &options, session, prompt);
    weft_session_release(&options.draft);
    weft_model_release(&draft);
    weft_sampler_release(&sampler);
    tool_choosing_close(&o->g.choosing);
    return code;
}

/* What is kept in a file from an earlier call; a file that is not there yet is none. */
static int load_cache(const run_options *o, weft_session *session) {
    if (!o->prompt_cache || access(o->prompt_cache, F_OK) != 0)
        return -1;
    weft_status status = weft_session_load(session, o->prompt_cache);
    return status ? tool_fail_status("--prompt-cache", status) : -1;
}

static int save_cache(const run_options *o, weft_session *session, int code) {
    if (!o->prompt_cache || (code != TOOL_DONE && code != TOOL_INTERRUPTED))
        return code;
    weft_status status = weft_session_save(session, o->prompt_cache);
    return status ? tool_fail_status("--prompt-cache", status) : code;
}

static int with_model(run_options *o, weft_engine *engine, weft_model *model, const char *text,
                      size_t n_bytes) {
    tool_prompt prompt = {.tokenizer = weft_model_tokenizer(model),
                          .system = o->g.system,
                          .no_template = o->no_template};
    int code = tool_make_prompt(&prompt, text, n_bytes);
    if (code >= 0) {
        free(prompt.ids);
        return code;
    }
    weft_session *session = NULL;
    code = tool_generating_session(&o->g, model, &session);
    if (code < 0)
        code = tool_use_adapters(model, session, &o->adapters);
    if (code < 0)
        code = load_cache(o, session);
    if (code < 0)
        code = save_cache(o, session, with_session(o, engine, session, &prompt));
    weft_session_release(&session);
    free(prompt.ids);
    return code;
}

int tool_run(int argc, char **argv) {
    run_options o = {.g = {.n = 512, .choosing = tool_choosing_default()}, .logprobs = -1};
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    if (o.prompt_cache && !tool_may_write("--prompt-cache", o.prompt_cache))
        return TOOL_FAILED;
    char *text;
    size_t n_bytes;
    code = tool_read_text("run", o.prompt, o.file, &text, &n_bytes);
    if (code >= 0)
        return code;
    /* The newline that ends a file is not part of what it says. */
    if (!o.prompt && n_bytes > 0 && text[n_bytes - 1] == '\n')
        text[--n_bytes] = 0;
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    code = tool_open_engine(&o.g.engine, &engine);
    if (code < 0)
        code = tool_open_model(engine, o.g.model, TOOL_WITH_TEXT, o.g.pre, &model);
    if (code < 0)
        code = with_model(&o, engine, model, text, n_bytes);
    weft_model_release(&model);
    weft_engine_release(&engine);
    free(text);
    return tool_finish(code);
}
