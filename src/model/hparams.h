/* Hyper-parameters of one model, read from metadata in either spelling and checked: whoever holds a
 * weft_hparams may divide by its counts and multiply them without looking again. */
#ifndef WEFT_MODEL_HPARAMS_H
#define WEFT_MODEL_HPARAMS_H

#include "base/metadata.h"
#include "model/rope.h"
#include "tensor/nn.h"

struct weft_arch;

typedef struct weft_hparams {
    int32_t n_layer, n_embd, n_ff, n_head, n_head_kv, head_dim;
    int32_t n_vocab;   /* 0: not stated */
    int32_t n_context; /* the longest the model was trained for */
    float norm_eps;
    weft_activation activation;
    float embd_scale;                  /* 1: none */
    float attn_scale;                  /* of q·k */
    float attn_softcap, final_softcap; /* 0: none */
    int32_t window;                    /* of local layers; 0: there are none */
    int32_t window_pattern;            /* every n-th layer is global; 0: see first_window_layer */
    int32_t first_window_layer;        /* layers from here on are local; n_layer: none */
    bool tied;                         /* HF only: the output is the embedding */
    bool attn_bias, mlp_bias;          /* HF only: the config promises them */
    weft_rope_rule rope;               /* of global layers */
    weft_rope_rule rope_local;         /* of window layers */
} weft_hparams;

/* Reads and checks everything. `spelling`: weft_spelling. Errors name the key as the file spells
 * it: WEFT_E_FORMAT (missing, type, range), WEFT_E_UNSUPPORTED (an option that is not implemented).
 */
weft_status weft_hparams_read(const weft_metadata *metadata, const struct weft_arch *arch,
                              int spelling, weft_hparams *out);

/* Whether layer `i` is local (sees a window), by the file's layer list, its pattern or the default.
 */
weft_status weft_hparams_layer_is_local(const weft_metadata *metadata, const struct weft_arch *arch,
                                        int spelling, const weft_hparams *hparams, int32_t i,
                                        bool *is_local);

#endif
