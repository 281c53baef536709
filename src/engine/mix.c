/* The mixes as one table: a line is a mix, a role, a type, and the layers where it holds. */
#include "engine/mix.h"

#include <string.h>
#include <strings.h>
#include "tensor/quantize/quantize.h"

struct weft_mix {
    const char *name, *description;
    weft_dtype base;
    int file_type; /* of general.file_type */
};

static const weft_mix mixes[] = {
    {"Q2_K", "2.6 bits: Q2_K with Q3_K for values and outputs", WEFT_Q2_K, 10},
    {"Q2_K_S", "2.6 bits: Q2_K, the first layers' down projections Q4_K", WEFT_Q2_K, 21},
    {"Q3_K_S", "3.4 bits: Q3_K", WEFT_Q3_K, 11},
    {"Q3_K_M", "3.9 bits: Q3_K with Q4_K and Q5_K", WEFT_Q3_K, 12},
    {"Q3_K_L", "4.3 bits: Q3_K with Q5_K", WEFT_Q3_K, 13},
    {"Q4_0", "4.5 bits, one scale for 32", WEFT_Q4_0, 2},
    {"Q4_1", "5 bits, a scale and a minimum for 32", WEFT_Q4_1, 3},
    {"Q4_K_S", "4.6 bits: Q4_K, the first layers Q5_K", WEFT_Q4_K, 14},
    {"Q4_K_M", "4.8 bits: Q4_K with Q6_K; a good choice", WEFT_Q4_K, 15},
    {"Q5_0", "5.5 bits, one scale for 32", WEFT_Q5_0, 8},
    {"Q5_1", "6 bits, a scale and a minimum for 32", WEFT_Q5_1, 9},
    {"Q5_K_S", "5.5 bits: Q5_K", WEFT_Q5_K, 16},
    {"Q5_K_M", "5.7 bits: Q5_K with Q6_K", WEFT_Q5_K, 17},
    {"Q6_K", "6.6 bits", WEFT_Q6_K, 18},
    {"Q8_0", "8.5 bits", WEFT_Q8_0, 7},
    {"IQ1_S", "1.6 bits: IQ1_S with Q2_K, IQ2_XXS", WEFT_IQ1_S, 24},
    {"IQ1_M", "1.8 bits: IQ1_M with Q2_K, IQ2_XXS", WEFT_IQ1_M, 31},
    {"IQ2_XXS", "2.1 bits: IQ2_XXS with Q2_K", WEFT_IQ2_XXS, 19},
    {"IQ2_XS", "2.3 bits: IQ2_XS with Q2_K", WEFT_IQ2_XS, 20},
    {"IQ2_S", "2.5 bits: IQ2_XS with IQ3_S", WEFT_IQ2_XS, 28},
    {"IQ2_M", "2.7 bits: IQ2_S with IQ3_S", WEFT_IQ2_S, 29},
    {"IQ3_XXS", "3.1 bits: IQ3_XXS with IQ2_S, IQ3_S", WEFT_IQ3_XXS, 23},
    {"IQ3_XS", "3.3 bits: IQ3_S with IQ3_XXS", WEFT_IQ3_S, 22},
    {"IQ3_S", "3.4 bits: IQ3_S", WEFT_IQ3_S, 26},
    {"IQ3_M", "3.7 bits: IQ3_S with Q4_K", WEFT_IQ3_S, 27},
    {"IQ4_NL", "4.5 bits, uneven levels", WEFT_IQ4_NL, 25},
    {"IQ4_XS", "4.3 bits, uneven levels", WEFT_IQ4_XS, 30},
    {"TQ1_0", "1.7 bits, for ternary models", WEFT_TQ1_0, 36},
    {"TQ2_0", "2.1 bits, for ternary models", WEFT_TQ2_0, 37},
    {"MXFP4", "4.3 bits: MXFP4, outputs Q8_0", WEFT_MXFP4, 38},
    {"MXFP4_MOE", "experts MXFP4, the rest Q8_0", WEFT_MXFP4, 38},
    {"NVFP4", "4.5 bits: NVFP4, outputs Q8_0", WEFT_NVFP4, 39},
    {"BF16", "16 bits, for the range of float32", WEFT_BF16, 32},
    {"F16", "16 bits", WEFT_F16, 1},
    {"F32", "32 bits", WEFT_F32, 0},
    {"Q3_K", "as Q3_K_M", WEFT_Q3_K, 12},
    {"Q4_K", "as Q4_K_M", WEFT_Q4_K, 15},
    {"Q5_K", "as Q5_K_M", WEFT_Q5_K, 17},
};
enum { N_MIXES = sizeof mixes / sizeof mixes[0] };

bool weft_mix_at(size_t i, weft_mix_info *out) {
    for (size_t k = 0; k < N_MIXES; k++)
        if (weft_quantize_supported(mixes[k].base) && i-- == 0) {
            *out = (weft_mix_info){mixes[k].name, mixes[k].description};
            return true;
        }
    return false;
}

const weft_mix *weft_mix_find(const char *name) {
    for (size_t k = 0; k < N_MIXES; k++)
        if (strcasecmp(mixes[k].name, name) == 0 && weft_quantize_supported(mixes[k].base))
            return &mixes[k];
    return NULL;
}

bool weft_quantize_type(const char *name, weft_dtype *out) {
    for (int t = 0; name && t < WEFT_DTYPE_COUNT; t++)
        if (strcasecmp(weft_dtype_name((weft_dtype)t), name) == 0 &&
            weft_quantize_supported((weft_dtype)t)) {
            *out = (weft_dtype)t;
            return true;
        }
    return false;
}

weft_dtype weft_mix_base(const weft_mix *mix) {
    return mix->base;
}

int weft_mix_file_type(const weft_mix *mix) {
    return mix->file_type;
}

/* ---- Roles ---- */

weft_role weft_role_of(const char *name, int rank) {
    static const char *const exact[] = {
        "_norm.weight",
        "ffn_gate_inp",
        "altup",
        "laurel",
        "per_layer_model_proj",
        "ssm_conv1d",
        "shortconv.conv.weight",
        "position_embd",
        "token_types",
        "attn_rel_b",
        "time_mix_",
    };
    static const struct {
        const char *part;
        weft_role role;
    } roles[] = {
        {"attn_qkv.weight", WEFT_ROLE_V}, {"attn_kv_b.weight", WEFT_ROLE_V},
        {"attn_v.weight", WEFT_ROLE_V},   {"attn_k.weight", WEFT_ROLE_K},
        {"attn_q.weight", WEFT_ROLE_Q},   {"attn_output.weight", WEFT_ROLE_ATTN_OUT},
        {"ffn_up", WEFT_ROLE_GATE_UP},    {"ffn_gate", WEFT_ROLE_GATE_UP},
        {"ffn_down", WEFT_ROLE_DOWN},
    };
    size_t n = strlen(name);
    if (rank < 2 || n < 7 || strcmp(name + n - 7, ".weight") != 0)
        return WEFT_ROLE_EXACT;
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        if (strstr(name, exact[i]))
            return WEFT_ROLE_EXACT;
    if (strcmp(name, "output.weight") == 0)
        return WEFT_ROLE_OUTPUT;
    if (strcmp(name, "token_embd.weight") == 0)
        return WEFT_ROLE_EMBEDDING;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strstr(name, roles[i].part))
            return roles[i].role;
    return WEFT_ROLE_OTHER;
}

/* ---- Rules ---- */

typedef enum where {
    EVERYWHERE,
    FIRST_TWO,    /* tensors of the role */
    FIRST_FOUR,   /* likewise */
    FIRST_EIGHTH, /* of them */
    FIRST_16TH,   /* likewise */
    MIDDLE,       /* without the first and last eighth */
    MORE_BITS,    /* the first and last eighth, and every third between */
    GQA_4,        /* four heads of q and more for one of k */
    GQA_4_OR_MOE, /* or four experts and more */
    EARLY_BLIND,  /* the first eighth, without an importance matrix */
    EARLY_GUIDED, /* the first eighth, with one */
    BLIND         /* without an importance matrix */
} where;

typedef struct rule {
    const char *mix;
    weft_role role;
    weft_dtype dtype;
    where where;
} rule;

#define V WEFT_ROLE_V
#define DOWN WEFT_ROLE_DOWN
#define OUT WEFT_ROLE_ATTN_OUT
#define EMBD WEFT_ROLE_EMBEDDING
#define GATE_UP WEFT_ROLE_GATE_UP

/* The first that fits counts; without one the mix's own type. */
static const rule rules[] = {
    {"Q2_K", V, WEFT_Q4_K, GQA_4},
    {"Q2_K", V, WEFT_Q3_K, EVERYWHERE},
    {"Q2_K", DOWN, WEFT_Q3_K, EVERYWHERE},
    {"Q2_K", OUT, WEFT_Q3_K, EVERYWHERE},
    {"Q2_K_S", V, WEFT_Q4_K, GQA_4},
    {"Q2_K_S", DOWN, WEFT_Q4_K, FIRST_EIGHTH},
    {"Q3_K_M", V, WEFT_Q5_K, FIRST_TWO},
    {"Q3_K_M", V, WEFT_Q4_K, EVERYWHERE},
    {"Q3_K_M", DOWN, WEFT_Q5_K, FIRST_16TH},
    {"Q3_K_M", DOWN, WEFT_Q4_K, EVERYWHERE},
    {"Q3_K_M", OUT, WEFT_Q4_K, EVERYWHERE},
    {"Q3_K_L", V, WEFT_Q5_K, EVERYWHERE},
    {"Q3_K_L", DOWN, WEFT_Q5_K, EVERYWHERE},
    {"Q3_K_L", OUT, WEFT_Q5_K, EVERYWHERE},
    {"Q4_0", DOWN, WEFT_Q4_1, EARLY_GUIDED},
    {"Q5_0", DOWN, WEFT_Q5_1, EARLY_GUIDED},
    {"Q4_K_S", V, WEFT_Q5_K, FIRST_FOUR},
    {"Q4_K_S", DOWN, WEFT_Q5_K, FIRST_EIGHTH},
    {"Q4_K_M", V, WEFT_Q6_K, MORE_BITS},
    {"Q4_K_M", DOWN, WEFT_Q6_K, MORE_BITS},
    {"Q5_K_M", V, WEFT_Q6_K, MORE_BITS},
    {"Q5_K_M", DOWN, WEFT_Q6_K, MORE_BITS},
    {"IQ1_S", V, WEFT_Q4_K, GQA_4_OR_MOE},
    {"IQ1_S", V, WEFT_Q2_K, EVERYWHERE},
    {"IQ1_S", DOWN, WEFT_Q2_K, FIRST_EIGHTH},
    {"IQ1_S", OUT, WEFT_IQ2_XXS, EVERYWHERE},
    {"IQ1_S", EMBD, WEFT_Q2_K, EVERYWHERE},
    {"IQ1_M", V, WEFT_Q4_K, GQA_4_OR_MOE},
    {"IQ1_M", V, WEFT_Q2_K, EVERYWHERE},
    {"IQ1_M", DOWN, WEFT_Q2_K, FIRST_EIGHTH},
    {"IQ1_M", OUT, WEFT_IQ2_XXS, EVERYWHERE},
    {"IQ1_M", EMBD, WEFT_Q2_K, EVERYWHERE},
    {"IQ2_XXS", V, WEFT_Q4_K, GQA_4_OR_MOE},
    {"IQ2_XXS", V, WEFT_Q2_K, EVERYWHERE},
    {"IQ2_XXS", DOWN, WEFT_Q2_K, FIRST_EIGHTH},
    {"IQ2_XXS", EMBD, WEFT_Q2_K, EVERYWHERE},
    {"IQ2_XS", V, WEFT_Q4_K, GQA_4_OR_MOE},
    {"IQ2_XS", V, WEFT_Q2_K, EVERYWHERE},
    {"IQ2_XS", DOWN, WEFT_Q2_K, FIRST_EIGHTH},
    {"IQ2_XS", EMBD, WEFT_Q2_K, EVERYWHERE},
    {"IQ2_S", V, WEFT_Q4_K, GQA_4_OR_MOE},
    {"IQ2_S", V, WEFT_IQ3_S, EVERYWHERE},
    {"IQ2_S", DOWN, WEFT_IQ3_S, FIRST_EIGHTH},
    {"IQ2_S", OUT, WEFT_IQ3_S, EVERYWHERE},
    {"IQ2_S", EMBD, WEFT_IQ3_S, EVERYWHERE},
    {"IQ2_M", V, WEFT_Q4_K, GQA_4_OR_MOE},
    {"IQ2_M", V, WEFT_IQ3_S, EVERYWHERE},
    {"IQ2_M", DOWN, WEFT_IQ3_S, FIRST_EIGHTH},
    {"IQ2_M", OUT, WEFT_IQ3_S, EVERYWHERE},
    {"IQ2_M", EMBD, WEFT_IQ3_S, EVERYWHERE},
    {"IQ3_XXS", V, WEFT_Q4_K, GQA_4},
    {"IQ3_XXS", V, WEFT_IQ3_S, BLIND},
    {"IQ3_XXS", WEFT_ROLE_K, WEFT_IQ2_S, EVERYWHERE},
    {"IQ3_XXS", WEFT_ROLE_Q, WEFT_IQ2_S, EVERYWHERE},
    {"IQ3_XXS", DOWN, WEFT_Q4_K, EARLY_BLIND},
    {"IQ3_XXS", DOWN, WEFT_Q3_K, BLIND},
    {"IQ3_XXS", OUT, WEFT_IQ3_S, EVERYWHERE},
    {"IQ3_XXS", EMBD, WEFT_IQ3_S, EVERYWHERE},
    {"IQ3_XS", V, WEFT_Q4_K, GQA_4},
    {"IQ3_XS", WEFT_ROLE_K, WEFT_IQ3_XXS, EVERYWHERE},
    {"IQ3_XS", WEFT_ROLE_Q, WEFT_IQ3_XXS, EVERYWHERE},
    {"IQ3_XS", GATE_UP, WEFT_IQ3_XXS, MIDDLE},
    {"IQ3_S", V, WEFT_Q4_K, GQA_4},
    {"IQ3_M", V, WEFT_Q4_K, EVERYWHERE},
    {"IQ3_M", DOWN, WEFT_Q4_K, FIRST_EIGHTH},
    {"IQ3_M", OUT, WEFT_Q4_K, EVERYWHERE},
    {"IQ4_NL", V, WEFT_Q5_K, GQA_4},
    {"IQ4_NL", DOWN, WEFT_Q5_K, EARLY_BLIND},
    {"IQ4_XS", V, WEFT_Q5_K, GQA_4},
    {"IQ4_XS", DOWN, WEFT_Q5_K, EARLY_BLIND},
    {"TQ1_0", EMBD, WEFT_Q4_K, EVERYWHERE},
    {"TQ2_0", EMBD, WEFT_Q4_K, EVERYWHERE},
    {"MXFP4", EMBD, WEFT_Q8_0, EVERYWHERE},
    {"NVFP4", EMBD, WEFT_Q8_0, EVERYWHERE},
};

static bool holds(where w, const weft_place_in_model *p) {
    int i = p->index, n = p->count;
    switch (w) {
    case EVERYWHERE:
        return true;
    case FIRST_TWO:
        return i < 2;
    case FIRST_FOUR:
        return i < 4;
    case FIRST_EIGHTH:
        return i < n / 8;
    case FIRST_16TH:
        return i < n / 16;
    case MIDDLE:
        return i >= n / 8 && i < 7 * n / 8;
    case MORE_BITS:
        return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case GQA_4:
        return p->n_gqa >= 4;
    case GQA_4_OR_MOE:
        return p->n_gqa >= 4 || p->n_expert >= 4;
    case EARLY_BLIND:
        return i < n / 8 && !p->has_imatrix;
    case EARLY_GUIDED:
        return i < n / 8 && p->has_imatrix;
    case BLIND:
        return !p->has_imatrix;
    }
    return false;
}

/* The output matrix: what every logit depends on. */
static weft_dtype output_type(const weft_mix *mix, int64_t n_cols) {
    bool float_scales = mix->base == WEFT_MXFP4 || mix->base == WEFT_NVFP4;
    bool tiny = mix->file_type == 19 || mix->file_type == 20 || mix->file_type == 23 ||
                mix->file_type == 24 || mix->file_type == 28 || mix->file_type == 29 ||
                mix->file_type == 31;
    if (float_scales || n_cols % (int64_t)weft_dtype_block(mix->base) != 0)
        return WEFT_Q8_0;
    if (tiny)
        return WEFT_Q5_K;
    return mix->base == WEFT_Q8_0 ? WEFT_Q8_0 : WEFT_Q6_K;
}

/* Models of eight experts (Mixtral) have small attention: more bits cost little there. */
static bool eight_experts(const weft_mix *mix, const weft_place_in_model *p, weft_dtype *out) {
    bool low = mix->file_type >= 19 && mix->file_type != 25 && mix->file_type != 30;
    if (p->n_expert != 8 || !weft_dtype_is_quantized(mix->base))
        return false;
    if (p->role == V || p->role == WEFT_ROLE_K)
        *out = low && (mix->base == WEFT_IQ1_S || mix->base == WEFT_IQ1_M ||
                       mix->base == WEFT_IQ2_XXS || mix->base == WEFT_IQ2_XS ||
                       mix->base == WEFT_IQ2_S)
                   ? WEFT_Q4_K
                   : WEFT_Q8_0;
    else if (p->role == OUT && weft_dtype_block(mix->base) == 256 && mix->base != WEFT_Q5_K &&
             mix->base != WEFT_Q6_K && mix->base != WEFT_TQ1_0 && mix->base != WEFT_TQ2_0)
        *out = WEFT_Q5_K;
    else
        return false;
    return true;
}

weft_dtype weft_mix_type(const weft_mix *mix, const weft_place_in_model *place) {
    weft_dtype special;
    if (!weft_dtype_is_quantized(mix->base))
        return mix->base;
    if (place->role == WEFT_ROLE_OUTPUT)
        return output_type(mix, place->n_cols);
    if (strcmp(mix->name, "MXFP4_MOE") == 0)
        return place->many_experts ? WEFT_MXFP4 : WEFT_Q8_0;
    if (eight_experts(mix, place, &special))
        return special;
    const char *name = mix->name;
    for (size_t k = 0; k < N_MIXES; k++) /* "Q4_K" is another name of "Q4_K_M" */
        if (mixes[k].file_type == mix->file_type && mixes[k].base == mix->base) {
            name = mixes[k].name;
            break;
        }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].role == place->role && strcmp(rules[i].mix, name) == 0 &&
            holds(rules[i].where, place))
            return rules[i].dtype;
    return mix->base;
}

weft_dtype weft_fitting_type(weft_dtype dtype, int64_t n_cols) {
    static const weft_dtype instead[WEFT_DTYPE_COUNT] = {
        [WEFT_IQ1_S] = WEFT_IQ4_NL,  [WEFT_IQ1_M] = WEFT_IQ4_NL,  [WEFT_IQ2_XXS] = WEFT_IQ4_NL,
        [WEFT_IQ2_XS] = WEFT_IQ4_NL, [WEFT_IQ2_S] = WEFT_IQ4_NL,  [WEFT_IQ3_XXS] = WEFT_IQ4_NL,
        [WEFT_IQ3_S] = WEFT_IQ4_NL,  [WEFT_IQ4_XS] = WEFT_IQ4_NL, [WEFT_Q2_K] = WEFT_Q4_0,
        [WEFT_Q3_K] = WEFT_Q4_0,     [WEFT_TQ1_0] = WEFT_Q4_0,    [WEFT_TQ2_0] = WEFT_Q4_0,
        [WEFT_Q4_K] = WEFT_Q5_0,     [WEFT_Q5_K] = WEFT_Q5_1,     [WEFT_Q6_K] = WEFT_Q8_0,
        [WEFT_NVFP4] = WEFT_MXFP4,
    };
    if (n_cols % (int64_t)weft_dtype_block(dtype) == 0)
        return dtype;
    weft_dtype smaller = instead[dtype]; /* F64, the enum's 0: none */
    bool fits = smaller != WEFT_F64 && n_cols % (int64_t)weft_dtype_block(smaller) == 0;
    return fits ? smaller : WEFT_F16;
}
