/* The families, recognised by what stands in their templates. The formats are those that the
 * templates themselves write for calls of earlier turns. */
#include <string.h>
#include "text/tool_calls.h"

/* The first whose signs are there counts. */
static const weft_chat_syntax families[] = {
    {.name = "harmony", .signs = {"<|channel|>", "<|message|>"}},
    {.name = "kimi-k2",
     .signs = {"<|tool_call_begin|>"},
     .open = "<|tool_call_begin|>",
     .close = "<|tool_call_end|>",
     .read = weft_calls_read_kimi,
     .dropped = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}},
    {.name = "kimi-k3",
     .signs = {"<|open|>", "<|close|>"},
     .think = {"<|open|>think<|sep|>", "<|close|>think<|sep|>"},
     .open = "<|open|>tools<|sep|>",
     .close = "<|close|>tools<|sep|>",
     .read = weft_calls_read_kimi_tags,
     .dropped = {"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>",
                 "<|end_of_msg|>"}},
    {.name = "hunyuan",
     .signs = {"':opensource'", "<tool_sep{}>"},
     .think = {"<think:opensource>", "</think:opensource>"},
     .open = "<tool_calls:opensource>",
     .close = "</tool_calls:opensource>",
     .read = weft_calls_read_hunyuan},
    {.name = "lfm2",
     .signs = {"List of tools: ", "<|im_start|>"},
     .open = "<|tool_call_start|>",
     .close = "<|tool_call_end|>",
     .read = weft_calls_read_python},
    {.name = "deepseek",
     .signs = {"<｜tool▁calls▁begin｜>"},
     .open = "<｜tool▁call▁begin｜>",
     .close = "<｜tool▁call▁end｜>",
     .read = weft_calls_read_deepseek,
     .dropped = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"}},
    {.name = "deepseek-dsml",
     .signs = {"｜DSML｜", "tool_calls"},
     .open = "<｜DSML｜tool_calls>",
     .close = "</｜DSML｜tool_calls>",
     .read = weft_calls_read_dsml},
    {.name = "minimax",
     .signs = {"<minimax:tool_call>"},
     .open = "<minimax:tool_call>",
     .close = "</minimax:tool_call>",
     .read = weft_calls_read_invokes},
    {.name = "seed",
     .signs = {"<seed:tool_call>"},
     .think = {"<seed:think>", "</seed:think>"},
     .open = "<seed:tool_call>",
     .close = "</seed:tool_call>",
     .read = weft_calls_read_tags},
    {.name = "gemma4",
     .signs = {"<|tool_call>", "<tool_call|>"},
     .think = {"<|channel>thought", "<channel|>"},
     .open = "<|tool_call>",
     .close = "<tool_call|>",
     .read = weft_calls_read_gemma},
    {.name = "mistral",
     .signs = {"[TOOL_CALLS]"},
     .think = {"[THINK]", "[/THINK]"},
     .open = "[TOOL_CALLS]",
     .json = true,
     .named = true},
    {.name = "command",
     .signs = {"<|START_ACTION|>"},
     .think = {"<|START_THINKING|>", "<|END_THINKING|>"},
     .open = "<|START_ACTION|>",
     .close = "<|END_ACTION|>",
     .json = true,
     .dropped = {"<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"}},
    {.name = "command-r",
     .signs = {"Action:", "tool_name"},
     .open = "Action:",
     .json = true,
     .fence = "```json"},
    {.name = "granite",
     .signs = {"<|start_of_role|>", "<|tool_call|>"},
     .open = "<|tool_call|>",
     .json = true,
     .dropped = {"<response>", "</response>"}},
    {.name = "hermes",
     .signs = {"<tool_call>"},
     .open = "<tool_call>",
     .close = "</tool_call>",
     .read = weft_calls_read_tags,
     .json = true},
    {.name = "functionary",
     .signs = {"<function="},
     .open = "<function=",
     .close = "</function>",
     .read = weft_calls_read_function},
    {.name = "llama3",
     .signs = {"<|start_header_id|>", "ipython"},
     .open = "<|python_tag|>",
     .json = true,
     .bare = true},
    {.name = "granite",
     .signs = {"<|start_of_role|>"},
     .open = "<|tool_call|>",
     .json = true,
     .dropped = {"<response>", "</response>"}},
    {.name = "plain"},
};

const weft_chat_syntax *weft_chat_syntax_of(const char *source, size_t n_bytes) {
    const weft_slice all = {source, n_bytes};
    const weft_chat_syntax *f = families;
    for (; f->signs[0]; f++) {
        bool fits = true;
        for (size_t i = 0; i < 2 && f->signs[i]; i++)
            fits = fits && weft_slice_find(all, f->signs[i], 0) != SIZE_MAX;
        if (fits)
            break;
    }
    return f;
}

bool weft_chat_syntax_is_harmony(const weft_chat_syntax *syntax) {
    return syntax == &families[0];
}
