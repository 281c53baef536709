/* Rows of logits, a piece of the text at a time. */
#include "rows.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#define PIECE_BYTES ((size_t)64 << 20)
#define PIECE_ROWS 32 /* at least: a step of fewer rows is not what prefill does */
#define MOST_ROWS 512

int tool_eval_rows(weft_session *session, const int32_t *ids, size_t n, size_t n_vocab,
                   tool_row_fn fn, void *ctx) {
    size_t rows = PIECE_BYTES / (n_vocab * sizeof(float));
    rows = rows < PIECE_ROWS ? PIECE_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
    rows = rows < n ? rows : n;
    float *logits = malloc(rows * n_vocab * sizeof *logits);
    if (!logits)
        return tool_fail("logits", "out of memory");
    int code = -1;
    bool go_on = true;
    for (size_t done = 0; done < n && code < 0 && go_on;) {
        size_t now = n - done < rows ? n - done : rows;
        weft_status status = weft_session_eval_all(session, ids + done, now, logits);
        if (status)
            code = tool_fail_status("logits", status);
        for (size_t i = 0; i < now && !status && go_on; i++)
            go_on = fn(ctx, done + i, logits + i * n_vocab, n_vocab);
        done += now;
    }
    free(logits);
    return code;
}

/* The greatest first, in lanes that the compiler makes registers of; then where it stands. */
int32_t tool_argmax(const float *logits, size_t n) {
    enum { LANES = 16 };
    float lanes[LANES], best = -INFINITY;
    size_t i = 0;
    for (size_t l = 0; l < LANES; l++)
        lanes[l] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lanes[l] = logits[i + l] > lanes[l] ? logits[i + l] : lanes[l];
    for (size_t l = 0; l < LANES; l++)
        best = lanes[l] > best ? lanes[l] : best;
    for (; i < n; i++)
        best = logits[i] > best ? logits[i] : best;
    for (i = 0; i < n; i++)
        if (logits[i] == best)
            return (int32_t)i;
    return 0; /* NaN throughout */
}

double tool_logsumexp(const float *logits, size_t n) {
    float best = logits[tool_argmax(logits, n)];
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)expf(logits[i] - best);
    return (double)best + log(sum);
}
