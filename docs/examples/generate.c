/* What an application that embeds libweft writes: opens a model, puts a question in its chat
 * template and streams the answer. Usage: generate MODEL [QUESTION] */
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

static bool on_text(void *ctx, int32_t token, const char *text, size_t n_bytes) {
    (void)token;
    fwrite(text, 1, n_bytes, ctx);
    fflush(ctx);
    return !ferror(ctx); /* false stops the generation */
}

/* A model without a chat template gets the question as it is. */
static weft_status encode(const weft_tokenizer *tokenizer, const char *question, int32_t **ids,
                          size_t *n_ids) {
    weft_chat_message message = {"user", question};
    weft_tokenize_options plain = {.add_special = true}, marked = {.parse_special = true};
    char *prompt = NULL;
    size_t n_bytes = 0;
    weft_status status = weft_chat_prompt(tokenizer, &message, 1, true, &prompt, &n_bytes);
    if (status == WEFT_E_NOT_FOUND)
        return weft_tokenize(tokenizer, question, strlen(question), plain, ids, n_ids);
    if (status == WEFT_OK)
        status = weft_tokenize(tokenizer, prompt, n_bytes, marked, ids, n_ids);
    weft_text_free(tokenizer, prompt, n_bytes);
    return status;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "", *question = argc > 2 ? argv[2] : "What is wool?";
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    weft_session *session = NULL;
    weft_sampler *sampler = NULL;
    weft_generate_options options = weft_generate_options_default();
    int32_t *ids = NULL;
    size_t n_ids = 0;
    options.max_tokens = 100;
    weft_status status = weft_engine_create(NULL, &engine);
    if (status == WEFT_OK)
        status = weft_model_open(engine, path, NULL, &model);
    if (status == WEFT_OK)
        status = weft_session_create(model, NULL, &session);
    if (status == WEFT_OK)
        status = weft_sampler_create(engine, NULL, &sampler);
    if (status == WEFT_OK)
        status = encode(weft_model_tokenizer(model), question, &ids, &n_ids);
    if (status == WEFT_OK)
        status = weft_generate(session, ids, n_ids, sampler, &options, on_text, stdout, NULL);
    if (status != WEFT_OK)
        fprintf(stderr, "generate: %s: %s\n", weft_status_text(status), weft_detail());
    if (ids != NULL)
        weft_tokens_free(weft_model_tokenizer(model), ids, n_ids);
    weft_sampler_release(&sampler);
    weft_session_release(&session);
    weft_model_release(&model);
    weft_engine_release(&engine);
    return status != WEFT_OK;
}
