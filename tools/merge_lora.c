/* Adapters on the command line, and weft merge-lora: a model with adapters merged into it. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <strings.h>
#include <weft/extra/quantize.h>

static const char help[] =
    "Usage: weft merge-lora MODEL ADAPTER[:SCALE] ... OUT.gguf [options]\n"
    "Writes a model with adapters merged into its weights.\n"
    "  MODEL        GGUF file, folder or known name\n"
    "  ADAPTER      a GGUF adapter or a PEFT folder; several add up\n"
    "  --type TYPE  of the result, as in weft quantize (default: each tensor keeps its type)\n"
    "  -t N         threads (default: physical cores)\n"
    "Example: weft merge-lora model-f16.gguf adapter.gguf:0.5 merged.gguf\n";

bool tool_parse_scale(char *text, float *scale) {
    double value;
    char *colon = strrchr(text, ':');
    *scale = 1;
    if (!colon || access(text, F_OK) == 0) /* a name may have a colon */
        return true;
    if (!tool_parse_real(colon + 1, -1000, 1000, &value))
        return false;
    *colon = 0;
    *scale = (float)value;
    return true;
}

int tool_open_adapters(weft_model *model, tool_list *adapters,
                       weft_adapter_use uses[WEFT_ADAPTERS]) {
    if (adapters->n > WEFT_ADAPTERS)
        return tool_bad_value("--lora", "%zu adapters, at most %d", adapters->n, WEFT_ADAPTERS);
    memset(uses, 0, WEFT_ADAPTERS * sizeof *uses);
    for (size_t i = 0; i < adapters->n; i++) {
        char *text = (char *)adapters->items[i]; /* argv is ours to change */
        if (!tool_parse_scale(text, &uses[i].scale))
            return tool_bad_value("--lora", "'%s': the scale is no number", text);
        weft_status status = weft_adapter_open(model, text, &uses[i].adapter);
        if (status)
            return tool_fail_status(text, status);
    }
    return -1;
}

void tool_close_adapters(weft_adapter_use uses[WEFT_ADAPTERS]) {
    for (size_t i = 0; i < WEFT_ADAPTERS; i++)
        weft_adapter_release(&uses[i].adapter);
}

int tool_use_adapters(weft_model *model, weft_session *session, tool_list *adapters) {
    weft_adapter_use uses[WEFT_ADAPTERS] = {{NULL, 0}};
    int code = tool_open_adapters(model, adapters, uses);
    if (code < 0 && adapters->n > 0) {
        weft_status status = weft_session_set_adapters(session, uses, adapters->n);
        if (status)
            code = tool_fail_status("--lora", status);
    }
    tool_close_adapters(uses);
    return code;
}

static int merge(const tool_engine *how, const char *model, const char *to,
                 weft_quantize_options *o) {
    weft_engine *engine;
    char *path;
    int shown = -1, code = tool_model_path(model, &path);
    if (code >= 0)
        return code;
    code = tool_open_engine(how, &engine);
    if (code < 0) {
        tool_begin_progress(&shown);
        o->progress = tool_show_progress;
        o->progress_ctx = &shown;
        code = tool_same_file(path, to)
                   ? tool_fail(to, "is the file that is read")
                   : tool_end_progress(&shown, to, weft_quantize(engine, path, to, o, NULL));
        weft_engine_release(&engine);
    }
    free(path);
    return code;
}

int tool_merge_lora(int argc, char **argv) {
    tool_engine how = {0};
    const char *type = NULL;
    weft_lora_file files[WEFT_ADAPTERS];
    const tool_option table[] = {
        {'t', "threads", TOOL_I32, &how.n_threads, 1, 1024},
        {0, "type", TOOL_STRING, &type, 1, 0},
    };
    int first;
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], &first);
    if (code >= 0)
        return code;
    int n = argc - first - 2;
    if (n < 1 || n > WEFT_ADAPTERS)
        return tool_usage("merge-lora", "give MODEL, one to %d adapters, and OUT.gguf",
                          WEFT_ADAPTERS);
    for (int i = 0; i < n; i++) {
        files[i].path = argv[first + 1 + i];
        if (!tool_parse_scale(argv[first + 1 + i], &files[i].scale))
            return tool_usage("merge-lora", "'%s': the scale is no number", files[i].path);
    }
    weft_mix_info mix;
    bool known = !type;
    for (size_t i = 0; !known && weft_mix_at(i, &mix); i++)
        known = strcasecmp(mix.name, type) == 0;
    if (!known)
        return tool_bad_value("--type", "unknown type '%s'", type);
    weft_quantize_options o = {
        .mix = type ? type : "", .keep_types = !type, .loras = files, .n_loras = (size_t)n};
    return tool_finish(merge(&how, argv[first], argv[argc - 1], &o));
}
