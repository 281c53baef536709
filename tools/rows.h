/* Rows of logits: evaluating a text and looking at the logits of each position. */
#ifndef WEFT_TOOLS_ROWS_H
#define WEFT_TOOLS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/session.h>

/* Logits [n_vocab] after token `position` of what is evaluated. False ends the evaluation. */
typedef bool (*tool_row_fn)(void *ctx, size_t position, const float *logits, size_t n_vocab);

/* Evaluates `n` ids after what the session holds; memory is bounded whatever n. -1 or the exit
 * code. */
int tool_eval_rows(weft_session *session, const int32_t *ids, size_t n, size_t n_vocab,
                   tool_row_fn fn, void *ctx);

/* The highest, ties to the lowest id; NaN is never chosen; 0 where there is nothing to choose. */
int32_t tool_argmax(const float *logits, size_t n);
double tool_logsumexp(const float *logits, size_t n);

#endif
