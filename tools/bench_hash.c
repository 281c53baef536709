/* weft bench --hash: that the speed is of the right numbers. The bits of logits beside the scalar
 * path's, and how far a prompt in default mode, which may add in another order, is from
 * reproducible mode: both speeds, the mean divergence and the largest difference. */
#include "bench.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREFILL_ROWS 32 /* hashed: one step, long enough that default mode may differ */
#define DECODE_STEPS 4  /* hashed, from an empty cache: no step depends on a prompt's order */
#define COMPARED_ROWS 128

/* What one engine gives. */
typedef struct side {
    uint64_t prefill, decode;
    double tps;  /* of the first prompt; 0: not asked for */
    float *rows; /* logits [COMPARED_ROWS, n_vocab]; NULL: not asked for */
    size_t n_vocab;
} side;

/* FNV-1a, 64 bits. */
static uint64_t hash_floats(uint64_t hash, const float *x, size_t n) {
    const unsigned char *bytes = (const unsigned char *)x;
    for (size_t i = 0; i < n * sizeof *x; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static weft_status hash_logits(weft_session *session, const int32_t *ids, float *rows, side *out) {
    const uint64_t start = UINT64_C(0xcbf29ce484222325);
    weft_status status = weft_session_eval_all(session, ids, PREFILL_ROWS, rows);
    if (!status)
        out->prefill = hash_floats(start, rows, PREFILL_ROWS * out->n_vocab);
    if (!status)
        status = weft_session_truncate(session, 0, NULL);
    out->decode = start;
    for (int i = 0; i < DECODE_STEPS && !status; i++) {
        status = weft_session_eval(session, ids + i, 1);
        if (!status)
            out->decode = hash_floats(out->decode, weft_session_logits(session), out->n_vocab);
    }
    return status;
}

/* `compared`: also the rows and the speed. -1 or the exit code. */
static int run_session(const bench *b, weft_session *session, bool compared, side *out) {
    size_t n_rows = compared ? COMPARED_ROWS : PREFILL_ROWS;
    size_t n_prompt = (size_t)b->prompts.values[0], n_ids = n_prompt + COMPARED_ROWS;
    int32_t *ids = malloc(n_ids * sizeof *ids);
    float *rows = malloc(n_rows * out->n_vocab * sizeof *rows);
    int code = ids && rows ? -1 : tool_fail("bench", "out of memory");
    if (code < 0) {
        bench_ids(ids, n_ids, out->n_vocab);
        weft_status status = hash_logits(session, ids, rows, out);
        if (!status && compared)
            status = weft_session_truncate(session, 0, NULL);
        if (!status && compared)
            status = weft_session_eval_all(session, ids, COMPARED_ROWS, rows);
        if (!status && compared)
            status = bench_prompt_speed(b, session, ids, &out->tps);
        code = status ? tool_fail_status("--hash", status) : -1;
    }
    free(ids);
    if (code < 0 && compared)
        out->rows = rows;
    else
        free(rows);
    return code;
}

static int run_side(const bench *b, const tool_engine *options, bool compared, side *out) {
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    weft_session *session = NULL;
    weft_session_options how = weft_session_options_default();
    how.n_batch = b->n_step > COMPARED_ROWS ? b->n_step : COMPARED_ROWS;
    how.n_context = b->prompts.values[0] > COMPARED_ROWS ? b->prompts.values[0] : COMPARED_ROWS;
    int code = tool_open_engine(options, &engine);
    if (code < 0)
        code = bench_open_model(b, engine, &model);
    if (code < 0) {
        weft_status status = weft_session_create(model, &how, &session);
        code = status ? tool_fail_status("session", status) : -1;
    }
    if (code < 0) {
        out->n_vocab = (size_t)weft_model_get_info(model).n_vocab;
        code = run_session(b, session, compared, out);
    }
    weft_session_release(&session);
    weft_model_release(&model);
    weft_engine_release(&engine);
    return code;
}

/* KL(reproducible || default) of each row, and the largest difference of a logit. */
static void compare(const side *ours, const side *exact, bench_hash *out) {
    double kl = 0, most = 0;
    size_t n = exact->n_vocab;
    for (size_t r = 0; r < COMPARED_ROWS; r++) {
        const float *p = exact->rows + r * n, *q = ours->rows + r * n;
        double lp = tool_logsumexp(p, n), lq = tool_logsumexp(q, n), sum = 0;
        for (size_t i = 0; i < n; i++) {
            double a = (double)p[i] - lp, c = (double)q[i] - lq;
            sum += a > -700 ? exp(a) * (a - c) : 0;
            most = fmax(most, fabs((double)p[i] - (double)q[i]));
        }
        kl += sum;
    }
    out->mean_kl = kl / COMPARED_ROWS;
    out->largest_difference = most;
}

int bench_run_hash(bench *b) {
    side ours = {0}, exact = {0}, scalar = {0};
    tool_engine options = b->engine;
    int code = run_side(b, &options, true, &ours);
    options.reproducible = true;
    if (code < 0)
        code = run_side(b, &options, true, &exact);
    options.cpu = "scalar";
    if (code < 0)
        code = run_side(b, &options, false, &scalar);
    if (code < 0) {
        b->hashes =
            (bench_hash){.decode = ours.decode,
                         .decode_scalar = scalar.decode,
                         .prefill = exact.prefill,
                         .prefill_scalar = scalar.prefill,
                         .tps_default = ours.tps,
                         .tps_reproducible = exact.tps,
                         .equal = ours.decode == scalar.decode && exact.decode == scalar.decode &&
                                  exact.prefill == scalar.prefill};
        compare(&ours, &exact, &b->hashes);
    }
    free(ours.rows);
    free(exact.rows);
    return code;
}
