/* Mixes: which type a tensor gets in a file that is "Q4_K_M", by its role and layer. The mixes are
 * those that users know from llama.cpp: the same names mean the same types. */
#ifndef WEFT_ENGINE_MIX_H
#define WEFT_ENGINE_MIX_H

#include <weft/extra/quantize.h>

typedef enum weft_role {
    WEFT_ROLE_OTHER,
    WEFT_ROLE_EXACT, /* not to be quantised: norms, routers, convolutions, positions */
    WEFT_ROLE_EMBEDDING,
    WEFT_ROLE_OUTPUT, /* also the embedding where it serves as the output */
    WEFT_ROLE_V,      /* values, alone or fused with q and k */
    WEFT_ROLE_K,
    WEFT_ROLE_Q,
    WEFT_ROLE_ATTN_OUT,
    WEFT_ROLE_DOWN,
    WEFT_ROLE_GATE_UP
} weft_role;

/* By a GGUF name; rank and name decide about EXACT. */
weft_role weft_role_of(const char *name, int rank);

typedef struct weft_mix weft_mix;

/* NULL: no such mix. */
const weft_mix *weft_mix_find(const char *name);
weft_dtype weft_mix_base(const weft_mix *mix);
int weft_mix_file_type(const weft_mix *mix); /* general.file_type */

/* What a mix looks at. */
typedef struct weft_place_in_model {
    weft_role role;
    int index, count;  /* among the tensors of its role, in the order of layers */
    int n_gqa;         /* heads of q for one of k; 1 where not said */
    int n_expert;      /* 0: dense */
    bool many_experts; /* the tensor is one of a stack of experts */
    bool has_imatrix;
    int64_t n_cols;
} weft_place_in_model;

weft_dtype weft_mix_type(const weft_mix *mix, const weft_place_in_model *place);

/* `dtype`, or one of smaller blocks where rows of n_cols are no whole blocks of it. */
weft_dtype weft_fitting_type(weft_dtype dtype, int64_t n_cols);

#endif
