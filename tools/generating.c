/* See generating.h. */
#include "generating.h"

#include <signal.h>
#include <string.h>

int tool_generating_parse(int argc, char **argv, const char *help, const tool_option *options,
                          size_t n, tool_generating *g) {
    int code = tool_parse(argc, argv, help, options, n, NULL);
    if (code >= 0)
        return code;
    if (g->help_sampling) {
        tool_write(tool_choosing_help, strlen(tool_choosing_help));
        return tool_finish(TOOL_DONE);
    }
    weft_dtype type;
    code = tool_choosing_check(&g->choosing, argv[0]);
    if (code < 0 && g->cache_type && !tool_cache_type(g->cache_type, &type))
        code = tool_usage(argv[0], "--cache-type wants f16, f32, bf16 or q8_0, not '%s'",
                          g->cache_type);
    return code;
}

int tool_generating_session(const tool_generating *g, weft_model *model, weft_session **out) {
    weft_session_options options = weft_session_options_default();
    options.n_context = g->context;
    if (g->cache_type)
        (void)tool_cache_type(g->cache_type, &options.cache_type);
    weft_status status = weft_session_create(model, &options, out);
    return status ? tool_fail_status("session", status) : -1;
}

/* ---- Ctrl-C ---- */

/* For the signal handler; NULL outside of a generation. */
static weft_session *volatile running;

static void on_interrupt(int number) {
    (void)number;
    weft_session *session = running;
    if (session)
        weft_session_cancel(session);
}

void tool_catch_interrupt(bool once) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    if (once)
        action.sa_flags |= (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void tool_running(weft_session *session) {
    running = session;
}
