/* weft run: generates text from a prompt and streams it to stdout. */
#include "prompt.h"
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "Usage: weft run [-m MODEL] [-p TEXT | -f FILE | < FILE] [options]\n"
    "Generates text. stdout carries the text alone, as it comes.\n"
    "  -m MODEL            GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  -p TEXT  -f FILE    the prompt; else all of stdin\n"
    "  -n N                at most N tokens (default 512; -1: until the model ends)\n"
    "  -c N                context, in tokens (default: the model's, at most 4096)\n"
    "  -t N                threads (default: physical cores)\n"
    "  -s SEED             of the sampling; the same seed gives the same text\n"
    "  --temp T  --top-k K  --top-p P  --min-p P   sampling (0.8, 40, 0.95, 0.05); --temp 0: "
    "greedy\n"
    "  --repeat-penalty R  over the last 64 tokens (default 1: off)\n"
    "  --stop TEXT         ends before TEXT; may be given many times\n"
    "  --system TEXT       system message of the chat template\n"
    "  --no-template       the prompt as it is, also for chat models\n"
    "  --context-shift     when the context is full, drop its oldest part and go on\n"
    "  --ignore-eos        go on after the model has ended its text\n"
    "  --cache-type TYPE   f16 (default), f32, bf16 or q8_0\n"
    "  --reproducible      the same bits on every machine; --float: a checking path\n"
    "  --cpu NAME          highest variant of the kernels: scalar, avx2, avx512, vnni …\n"
    "  --pre NAME          pre-tokeniser, for a file that names an unknown one\n"
    "  --stats             timings on stderr\n"
    "Ctrl-C ends the text (exit status 130).\n"
    "Example: weft run -p \"Why is the sky blue?\" -n 100 -s 1\n";

typedef struct run_options {
    tool_engine engine;
    const char *model, *prompt, *file, *system, *cache_type, *pre;
    int32_t n, context;
    bool no_template, context_shift, ignore_eos, stats;
    const char *seed;
    weft_sampler_options sampler;
    tool_list stops;
} run_options;

static int parse(int argc, char **argv, run_options *o) {
    weft_sampler_options *s = &o->sampler;
    const tool_option table[] = {
        TOOL_ENGINE_OPTIONS(&o->engine),
        {'m', "model", TOOL_STRING, &o->model, 0, 0},
        {'p', "prompt", TOOL_STRING, &o->prompt, 0, 0},
        {'f', "file", TOOL_STRING, &o->file, 0, 0},
        {'n', "tokens", TOOL_I32, &o->n, -1, INT32_MAX},
        {'c', "context", TOOL_I32, &o->context, 1, INT32_MAX},
        {'s', "seed", TOOL_STRING, &o->seed, 0, 0},
        {0, "temp", TOOL_F32, &s->temperature, 0, 1000},
        {0, "top-k", TOOL_I32, &s->top_k, 0, INT32_MAX},
        {0, "top-p", TOOL_F32, &s->top_p, 0, 1},
        {0, "min-p", TOOL_F32, &s->min_p, 0, 1},
        {0, "repeat-penalty", TOOL_F32, &s->repeat_penalty, 0.01, 100},
        {0, "stop", TOOL_LIST, &o->stops, 0, 0},
        {0, "system", TOOL_STRING, &o->system, 0, 0},
        {0, "no-template", TOOL_FLAG, &o->no_template, 0, 0},
        {0, "context-shift", TOOL_FLAG, &o->context_shift, 0, 0},
        {0, "ignore-eos", TOOL_FLAG, &o->ignore_eos, 0, 0},
        {0, "cache-type", TOOL_STRING, &o->cache_type, 0, 0},
        {0, "pre", TOOL_STRING, &o->pre, 0, 0},
        {0, "stats", TOOL_FLAG, &o->stats, 0, 0},
    };
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], NULL);
    if (code >= 0)
        return code;
    if (o->seed) {
        int64_t seed;
        if (!tool_parse_integer(o->seed, 0, INT64_MAX, &seed))
            return tool_usage("run", "-s wants a whole number from 0, not '%s'", o->seed);
        s->seed = (uint64_t)seed;
    } else if (getrandom(&s->seed, sizeof s->seed, GRND_NONBLOCK) != (ssize_t)sizeof s->seed) {
        s->seed = (uint64_t)time(NULL);
    }
    s->seed &= INT64_MAX;
    weft_dtype type;
    if (o->cache_type && !tool_cache_type(o->cache_type, &type))
        return tool_usage("run", "--cache-type wants f16, f32, bf16 or q8_0, not '%s'",
                          o->cache_type);
    if (o->system && o->no_template)
        return tool_usage("run", "--system needs the chat template that --no-template leaves out");
    for (size_t i = 0; i < o->stops.n; i++)
        if (!*o->stops.items[i])
            return tool_usage("run", "--stop wants a text that is not empty");
    return -1;
}

/* ---- Generating ---- */

/* For the signal handler; NULL outside of the generation. */
static weft_session *volatile running;

static void on_interrupt(int number) {
    (void)number;
    weft_session *session = running;
    if (session)
        weft_session_cancel(session);
}

/* The first Ctrl-C ends the text, a second one the process. */
static void catch_interrupt(weft_session *session) {
    running = session;
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

typedef struct stream {
    bool at_line_start;
} stream;

static bool on_text(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    (void)token;
    stream *out = ctx;
    if (n_bytes == 0)
        return true;
    out->at_line_start = text[n_bytes - 1] == '\n';
    return tool_write(text, n_bytes) && tool_flush();
}

static void show_stats(const run_options *o, const weft_session *session,
                       const weft_generate_result *r) {
    /* Of a prompt that did not fit, only a part was evaluated. */
    bool fits = r->n_prompt <= weft_session_n_context(session);
    double rest = r->generate_seconds;
    fprintf(stderr, "prompt: %d tokens%s in %.2f s", r->n_prompt, fits ? "" : " (shortened)",
            r->prompt_seconds);
    if (fits && r->prompt_seconds > 0)
        fprintf(stderr, ", %.1f tokens/s", (r->n_prompt - r->n_cached) / r->prompt_seconds);
    fprintf(stderr,
            "\ntext: %d tokens in %.2f s, %.1f tokens/s\n"
            "seed %llu, cache %.1f MB for %d positions\n",
            r->n_generated, rest, rest > 0 ? r->n_generated / rest : 0,
            (unsigned long long)o->sampler.seed, (double)weft_session_cache_bytes(session) / 1e6,
            weft_session_n_context(session));
}

static int generate(const run_options *o, weft_engine *engine, weft_session *session,
                    const tool_prompt *prompt) {
    weft_sampler *sampler;
    weft_status status = weft_sampler_create(engine, &o->sampler, &sampler);
    if (status)
        return tool_fail_status("sampler", status);
    weft_generate_options options = weft_generate_options_default();
    options.max_tokens = o->n;
    options.stops = o->stops.items;
    options.n_stops = o->stops.n;
    options.ignore_eos = o->ignore_eos;
    options.context_shift = o->context_shift;
    if (prompt->n_system > options.n_keep)
        options.n_keep = prompt->n_system;
    stream out = {.at_line_start = true};
    weft_generate_result result = {0};
    catch_interrupt(session);
    status =
        weft_generate(session, prompt->ids, prompt->n, sampler, &options, on_text, &out, &result);
    running = NULL;
    int code = TOOL_DONE;
    if (!out.at_line_start && (isatty(STDOUT_FILENO) || result.reason == WEFT_STOP_CANCELLED))
        tool_write("\n", 1);
    if (status == WEFT_E_CACHE_FULL && !o->context_shift)
        code =
            tool_fail("prompt", "%s; -c N makes it longer, --context-shift drops the oldest part",
                      weft_detail());
    else if (status)
        code = tool_fail_status("run", status);
    else if (result.reason == WEFT_STOP_CANCELLED)
        code = TOOL_INTERRUPTED;
    if (o->stats && !status)
        show_stats(o, session, &result);
    weft_sampler_release(&sampler);
    return code;
}

static int with_model(const run_options *o, weft_engine *engine, weft_model *model,
                      const char *text, size_t n_bytes) {
    tool_prompt prompt = {.tokenizer = weft_model_tokenizer(model),
                          .system = o->system,
                          .no_template = o->no_template};
    int code = tool_make_prompt(&prompt, text, n_bytes);
    if (code >= 0) {
        free(prompt.ids);
        return code;
    }
    weft_session_options options = weft_session_options_default();
    options.n_context = o->context;
    if (o->cache_type)
        (void)tool_cache_type(o->cache_type, &options.cache_type);
    weft_session *session;
    weft_status status = weft_session_create(model, &options, &session);
    if (status) {
        code = tool_fail_status("session", status);
    } else {
        code = generate(o, engine, session, &prompt);
        weft_session_release(&session);
    }
    free(prompt.ids);
    return code;
}

int tool_run(int argc, char **argv) {
    run_options o = {.n = 512, .sampler = weft_sampler_options_default()};
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
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
    code = tool_open_engine(&o.engine, &engine);
    if (code < 0)
        code = tool_open_model(engine, o.model, false, o.pre, &model);
    if (code < 0)
        code = with_model(&o, engine, model, text, n_bytes);
    weft_model_release(&model);
    weft_engine_release(&engine);
    free(text);
    return tool_finish(code);
}
