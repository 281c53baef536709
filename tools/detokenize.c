/* weft detokenize: token ids to text. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: weft detokenize [-m MODEL] [--ids \"1 2 3\"] [options]\n"
    "Prints the text of token ids (--ids or standard input), byte for byte.\n"
    "  -m MODEL      GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  --ids LIST    ids, separated by spaces, commas or lines\n"
    "  --no-special  leaves special tokens out\n"
    "  --pre NAME    pre-tokeniser for a file whose own is unknown\n"
    "Example: weft detokenize --ids \"$(weft tokenize -p 'Hello world')\"\n";

static bool put_id(const weft_tokenizer *t, weft_detok *state, int32_t id, bool special) {
    const char *text;
    size_t n;
    weft_token_bytes(t, id, special, &text, &n);
    char small[256], *out = n + 8 <= sizeof small ? small : malloc(n + 8);
    if (!out)
        return false;
    size_t written = weft_detok_next(t, state, id, special, false, out, n + 8);
    tool_write(out, written);
    if (out != small)
        free(out);
    return true;
}

static const char separators[] = " ,\t\r\n[]";

/* --ids hold numbers only; seen before any text comes out. -1 or the exit code. */
static int check_ids(const char *ids) {
    for (const char *at = ids + strspn(ids, separators); *at; at += strspn(at, separators)) {
        int n = (int)strcspn(at, separators);
        if ((int)strspn(at, "0123456789") != n)
            return tool_bad_value("--ids", "wants whole numbers, not '%.*s'", n, at);
        at += n;
    }
    return -1;
}

static int put_all(const weft_tokenizer *t, char *list, bool special) {
    weft_detok state = {0};
    char *next = NULL, rest[24];
    for (char *word = strtok_r(list, separators, &next); word;
         word = strtok_r(NULL, separators, &next)) {
        int64_t id;
        if (!tool_parse_integer(word, 0, INT32_MAX, &id))
            return tool_fail("detokenize", "'%s' is no token id", word);
        if (id >= weft_tokenizer_n_tokens(t))
            return tool_fail("detokenize", "id %s: the vocabulary has %d tokens", word,
                             weft_tokenizer_n_tokens(t));
        if (!put_id(t, &state, (int32_t)id, special))
            return tool_fail("detokenize", "out of memory");
    }
    tool_write(rest, weft_detok_finish(&state, false, rest, sizeof rest));
    return TOOL_DONE;
}

int tool_detokenize(int argc, char **argv) {
    const char *model = NULL, *ids = NULL, *pre = NULL;
    bool special = true;
    const tool_option options[] = {
        {'m', "model", TOOL_STRING, &model, 1, 0},
        {0, "ids", TOOL_STRING, &ids, 0, 0},
        {0, "pre", TOOL_STRING, &pre, 1, 0},
        {0, "no-special", TOOL_UNFLAG, &special, 0, 0},
    };
    int code = tool_parse(argc, argv, help, options, sizeof options / sizeof options[0], NULL);
    if (code >= 0)
        return code;
    char *list = NULL;
    size_t n_bytes = 0;
    code = ids ? check_ids(ids) : -1;
    if (code >= 0)
        return code;
    code = tool_read_text("detokenize", ids, NULL, &list, &n_bytes);
    if (code >= 0)
        return code;
    weft_engine *engine = NULL;
    weft_tokenizer *t = NULL;
    code = tool_open_engine(NULL, &engine);
    if (code < 0)
        code = tool_open_tokenizer(engine, model, pre, &t);
    if (code < 0)
        code = put_all(t, list, special);
    weft_tokenizer_release(&t);
    weft_engine_release(&engine);
    free(list);
    return tool_finish(code);
}
