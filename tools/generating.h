/* What the commands that generate share: options of model, session and choice, and Ctrl-C. */
#ifndef WEFT_TOOLS_GENERATING_H
#define WEFT_TOOLS_GENERATING_H

#include "choosing.h"
#include "tool.h"

typedef struct tool_generating {
    tool_engine engine;
    tool_choosing choosing;
    const char *model, *system, *cache_type, *pre;
    int32_t n, context;
    bool stats, help_sampling;
} tool_generating;

#define TOOL_GENERATING_OPTIONS(g)                                                                 \
    TOOL_ENGINE_OPTIONS(&(g)->engine), TOOL_CHOOSING_OPTIONS(&(g)->choosing),                      \
        {'m', "model", TOOL_STRING, &(g)->model, 1, 0},                                            \
        {0, "system", TOOL_STRING, &(g)->system, 0, 0},                                            \
        {'n', "tokens", TOOL_I32, &(g)->n, -1, INT32_MAX},                                         \
        {'c', "context", TOOL_I32, &(g)->context, 1, INT32_MAX},                                   \
        {0, "cache-type", TOOL_STRING, &(g)->cache_type, 1, 0},                                    \
        {0, "pre", TOOL_STRING, &(g)->pre, 1, 0}, {0, "stats", TOOL_FLAG, &(g)->stats, 0, 0}, {    \
        0, "help-sampling", TOOL_FLAG, &(g)->help_sampling, 0, 0                                   \
    }

/* tool_parse, then what can be seen to be wrong in these options; --help-sampling is answered. -1
 * or the exit code. */
int tool_generating_parse(int argc, char **argv, const char *help, const tool_option *options,
                          size_t n, tool_generating *g);
/* A session as the options ask for. -1 or the exit code. */
int tool_generating_session(const tool_generating *g, weft_model *model, weft_session **out);

/* From now on Ctrl-C ends what the session evaluates between tool_running(session) and
 * tool_running(NULL). `once`: a second Ctrl-C ends the process. */
void tool_catch_interrupt(bool once);
void tool_running(weft_session *session);

#endif
