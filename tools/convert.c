/* weft convert: a Hugging Face folder as a GGUF file. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <weft/extra/quantize.h>
#include <weft/extra/write.h>

static const char help[] =
    "Usage: weft convert FOLDER OUT.gguf [options]\n"
    "Writes a Hugging Face folder as a GGUF file.\n"
    "  FOLDER        config.json, tokenizer.json and model.safetensors or its shards\n"
    "  --type TYPE   of the matrices: F16, BF16, F32, Q8_0, or any type of weft quantize\n"
    "                (default: as in the folder); vectors are F32\n"
    "  --pre NAME    the pre-tokeniser's name in the file (default: the known one that cuts\n"
    "                text alike)\n"
    "  -t N          threads (default: physical cores)\n"
    "Tensors, keys, tokeniser and chat template are written as other programs expect them.\n"
    "What the file could not say exactly is refused.\n"
    "Example: weft convert ./SmolLM2-135M smollm2.gguf --type F16\n";

int tool_convert(int argc, char **argv) {
    tool_engine how = {0};
    weft_convert_options o = {0};
    const tool_option table[] = {
        {'t', "threads", TOOL_I32, &how.n_threads, 1, 1024},
        {0, "type", TOOL_STRING, &o.type, 1, 0},
        {0, "pre", TOOL_STRING, &o.pre, 1, 0},
    };
    int first, shown = -1;
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], &first);
    if (code >= 0)
        return code;
    if (argc - first != 2)
        return tool_usage("convert", "give FOLDER and OUT.gguf");
    weft_mix_info mix;
    bool known = !o.type;
    for (size_t i = 0; !known && weft_mix_at(i, &mix); i++)
        known = strcasecmp(mix.name, o.type) == 0;
    if (!known)
        return tool_bad_value("--type", "unknown type '%s'", o.type);
    code = tool_check_pre(o.pre);
    if (code >= 0)
        return code;
    weft_engine *engine;
    code = tool_open_engine(&how, &engine);
    if (code >= 0)
        return code;
    tool_begin_progress(&shown);
    o.progress = tool_show_progress;
    o.progress_ctx = &shown;
    weft_status status = weft_convert_folder(engine, argv[first], argv[first + 1], &o);
    code = tool_end_progress(&shown, argv[first], status);
    weft_engine_release(&engine);
    return tool_finish(code);
}
