/* Prompts: a user's words to tokens, as they are or inside the model's chat template. */
#include "prompt.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Appends the tokens of a text. */
static weft_status append(tool_prompt *to, const char *text, size_t n_bytes, bool special,
                          bool add) {
    int32_t *more;
    size_t n;
    weft_tokenize_options how = {.parse_special = special, .add_special = add};
    weft_status status = weft_tokenize(to->tokenizer, text, n_bytes, how, &more, &n);
    if (status)
        return status;
    int32_t *ids = realloc(to->ids, (to->n + n + 1) * sizeof *ids);
    if (ids) {
        to->ids = ids;
        if (n > 0)
            memcpy(ids + to->n, more, n * sizeof *ids);
        to->n += n;
    }
    weft_tokens_free(to->tokenizer, more, n);
    return ids ? WEFT_OK : WEFT_E_MEMORY;
}

/* `append` has left room for one more. */
static void prepend(tool_prompt *to, int32_t id) {
    memmove(to->ids + 1, to->ids, to->n * sizeof *to->ids);
    to->ids[0] = id;
    to->n++;
}

/* To a rendering that does not begin with BOS itself. */
static void add_bos(tool_prompt *to) {
    int32_t bos = weft_tokenizer_bos(to->tokenizer);
    if (weft_tokenizer_adds_bos(to->tokenizer) && (to->n == 0 || to->ids[0] != bos))
        prepend(to, bos);
}

/* Whether a text spells special tokens. */
static weft_status spells_special(const weft_tokenizer *tokenizer, const char *text, size_t n_bytes,
                                  bool *out) {
    tool_prompt plain = {.tokenizer = tokenizer}, special = plain;
    weft_status status = append(&plain, text, n_bytes, false, false);
    if (!status)
        status = append(&special, text, n_bytes, true, false);
    if (!status)
        *out = plain.n != special.n ||
               memcmp(plain.ids, special.ids, plain.n * sizeof *plain.ids) != 0;
    free(plain.ids);
    free(special.ids);
    return status;
}

static weft_status render(const tool_prompt *p, const char *content, char **out, size_t *n_bytes) {
    weft_chat_message messages[2];
    size_t n = 0;
    if (p->system)
        messages[n++] = (weft_chat_message){"system", p->system};
    messages[n++] = (weft_chat_message){"user", content};
    return weft_chat_prompt(p->tokenizer, messages, n, true, out, n_bytes);
}

/* Stands for the user's words while a template is rendered; no template or vocabulary has it, and
 * none changes it: characters of private use (U+E0F0, U+E0F1). */
#define PLACE "\xee\x83\xb0weft\xee\x83\xb1"

/* The rendering `whole`, in which the user's words go wherever their place is, as plain text. False
 * in *placed: it has none. */
static weft_status append_around(tool_prompt *to, const char *whole, size_t n, const char *text,
                                 size_t n_bytes, bool *placed) {
    weft_status status = WEFT_OK;
    *placed = false;
    for (const char *place; !status && (place = memmem(whole, n, PLACE, strlen(PLACE)));) {
        size_t before = (size_t)(place - whole), skip = before + strlen(PLACE);
        *placed = true;
        status = append(to, whole, before, true, false);
        if (!status)
            status = append(to, text, n_bytes, false, false);
        whole += skip;
        n -= skip;
    }
    return status || !*placed ? status : append(to, whole, n, true, false);
}

/* The conversation is one text for the tokeniser, unless the user's words spell special tokens:
 * then they are put between what stands before and after them, as plain text. -1 or the exit code.
 */
static int append_chat(tool_prompt *to, const char *text, size_t n_bytes) {
    bool apart, placed = true;
    char *whole;
    size_t n;
    weft_status status = spells_special(to->tokenizer, text, n_bytes, &apart);
    if (!status)
        status = render(to, apart ? PLACE : text, &whole, &n);
    if (status == WEFT_E_FORMAT || status == WEFT_E_UNSUPPORTED || status == WEFT_E_ARGUMENT)
        return tool_fail("chat template", "%s (--no-template gives the prompt as it is)",
                         strncmp(weft_detail(), "template: ", 10) == 0 ? weft_detail() + 10
                                                                       : weft_detail());
    if (status)
        return tool_fail_status("prompt", status);
    if (apart)
        status = append_around(to, whole, n, text, n_bytes, &placed);
    else
        status = append(to, whole, n, true, false);
    weft_text_free(to->tokenizer, whole, n);
    if (!placed)
        return tool_fail("chat template", "it changes the prompt, which spells special tokens "
                                          "(--no-template gives the prompt as it is)");
    if (status)
        return tool_fail_status("prompt", status);
    add_bos(to);
    return -1;
}

int32_t tool_count_system(const weft_tokenizer *tokenizer, const char *system, const int32_t *ids,
                          size_t n_ids) {
    weft_chat_message message = {"system", system};
    tool_prompt alone = {.tokenizer = tokenizer};
    char *text;
    size_t n_bytes, n = 0;
    if (weft_chat_prompt(tokenizer, &message, 1, false, &text, &n_bytes))
        return 0;
    if (append(&alone, text, n_bytes, true, false) == WEFT_OK) {
        add_bos(&alone);
        while (n < alone.n && n < n_ids && alone.ids[n] == ids[n])
            n++;
    }
    weft_text_free(tokenizer, text, n_bytes);
    free(alone.ids);
    return (int32_t)n;
}

int tool_make_prompt(tool_prompt *to, const char *text, size_t n_bytes) {
    bool chat = !to->no_template && weft_tokenizer_chat_template(to->tokenizer);
    if (to->system && !chat)
        return tool_fail("--system", "the model has no chat template");
    if (chat && strlen(text) != n_bytes)
        return tool_fail("prompt", "holds a NUL byte; a chat template takes text only");
    if (chat) {
        int code = append_chat(to, text, n_bytes);
        if (code >= 0)
            return code;
    } else {
        weft_status status = append(to, text, n_bytes, false, true);
        if (status)
            return tool_fail_status("prompt", status);
    }
    if (to->n == 0 && weft_tokenizer_bos(to->tokenizer) >= 0)
        prepend(to, weft_tokenizer_bos(to->tokenizer));
    to->n_system = to->system ? tool_count_system(to->tokenizer, to->system, to->ids, to->n) : 0;
    if (to->n == 0)
        return tool_fail("prompt", "is empty, and the model has no token that begins a text");
    return -1;
}
