/* How a run starts: opening the model, the first token, and the rest of the loading behind it. */
#include "bench.h"
#include "rows.h"

static int open_model(const bench *b, weft_engine *engine, weft_model **out) {
    if (!b->shape)
        return tool_open_model(engine, b->model, TOOL_TEXT_IF_ANY, NULL, out);
    weft_status status = weft_model_synthetic(engine, b->shape, b->type, b->mixed, NULL, NULL, out);
    return status ? tool_fail_status(b->shape, status) : -1;
}

static int pack(weft_model *model) {
    weft_status status = weft_model_pack(model, NULL, NULL);
    return status ? tool_fail_status("loading", status) : -1;
}

int bench_open_model(const bench *b, weft_engine *engine, weft_model **out) {
    int code = open_model(b, engine, out);
    return code < 0 ? pack(*out) : code;
}

/* A prompt of one token, as the first use of the model. */
static int first_token(const bench *b, weft_model *model) {
    weft_session *session = NULL;
    int32_t id = 0;
    size_t n_vocab = (size_t)weft_model_get_info(model).n_vocab;
    int code = bench_session(b, model, &session);
    if (code >= 0)
        return code;
    bench_ids(&id, 1, n_vocab);
    weft_status status = weft_session_eval(session, &id, 1);
    if (!status)
        (void)tool_argmax(weft_session_logits(session), n_vocab);
    weft_session_release(&session);
    return status ? tool_fail_status("bench", status) : -1;
}

int bench_start(bench *b, weft_engine *engine, double start, weft_model **out) {
    int code = open_model(b, engine, out);
    b->load_s = bench_now() - start;
    if (code < 0)
        code = first_token(b, *out);
    b->first_token_s = bench_now() - start;
    if (code >= 0 || b->only_start)
        return code;
    code = pack(*out);
    b->packed_s = bench_now() - start;
    return code;
}
