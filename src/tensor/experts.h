/* A mixture of experts (Shazeer et al. 2017): which experts a row goes to, their linears, and the
 * sum of what they give. Internal; same rules as ops.h.
 *
 * A row's experts are ranked by its router: rank 0 is the first choice. Results keep that order,
 * and a row's outputs are added in it, so that a row's bits do not depend on the other rows. */
#ifndef WEFT_TENSOR_EXPERTS_H
#define WEFT_TENSOR_EXPERTS_H

#include <weft/ops.h>

typedef enum weft_scores {
    WEFT_SCORES_SOFTMAX,       /* over all experts */
    WEFT_SCORES_SIGMOID,       /* of each expert alone */
    WEFT_SCORES_SOFTMAX_CHOSEN /* over those chosen, by their logits */
} weft_scores;

typedef struct weft_router {
    weft_scores scores;
    bool normalise;       /* the weights of a row's experts add up to 1 */
    float scale;          /* of the weights afterwards */
    int32_t n_group;      /* experts in equal groups, of which the best n_group_used count; */
    int32_t n_group_used; /* 0 or 1 group: all do */
    bool group_by_two;    /* a group is as good as its best two together, else as its best */
} weft_router;

/* logits [T, n_expert] f32; correction [n_expert] f32 or NULL is added to the scores for the choice
 * alone. Gives chosen [T, n_used] i32, best first (ties: the lower number), and their weights
 * [T, n_used] f32. Both are NULL on failure. */
weft_status weft_route(weft_scope *s, weft_tensor *logits, weft_tensor *correction, int32_t n_used,
                       const weft_router *router, weft_tensor **chosen, weft_tensor **weights);

/* One linear of n_expert experts: `stack` is [n_expert, n_out, n_in], or panels [n_expert * R,
 * n_in] where R is n_out rounded up to 16; any type that weft_linear takes. */
typedef struct weft_expert_stack {
    weft_tensor *stack;
    weft_tensor *bias; /* [n_expert, n_out] f32, or NULL */
    int64_t n_out;
} weft_expert_stack;

/* x [T, n_in], the same row for each of its experts, or [T, n_used, n_in]: a row each; chosen
 * [T, n_used] i32. out[i] [T, n_used, n_out] f32 by stacks[i] (n <= 2), as weft_linear would; NULL
 * on failure. Each expert's panels are read once, those of experts that no row chose not at all. */
weft_status weft_experts(weft_scope *s, weft_tensor *x, weft_tensor *chosen, int64_t n_expert,
                         const weft_expert_stack *stacks, size_t n, weft_tensor **out);

/* y [T, n_used, n] and weights [T, n_used], f32: sum over rank of weight * y, ranks ascending. */
weft_tensor *weft_experts_sum(weft_scope *s, weft_tensor *y, weft_tensor *weights);

#endif
