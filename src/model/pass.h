/* One step's way through the layers: what its parts share. Internal to src/model.
 *
 * Adding another kind of mixer: write a file with its `run`, declare the weft_mixer here, name it
 * in a description (arch.h: `mixer` for attention layers, `recurrent` for those whose type says
 * so); its weights are fields of weft_layer with rules that hold in layers of its kind. forward.c
 * needs no change. */
#ifndef WEFT_MODEL_PASS_H
#define WEFT_MODEL_PASS_H

#include "model/cache_impl.h"
#include "model/forward.h"

typedef struct weft_pass {
    const weft_network *n;
    weft_cache *cache;
    const weft_step *step;
    weft_attn_row *rows;      /* [T]: each row's sequence and the last position it sees */
    weft_attn_row *near_rows; /* [T]: the same of an encoder's window layers, and the first ones; */
    int32_t *near_firsts;     /* [T]: NULL where there are none */
    weft_tensor *positions;   /* [T] i32 */
    weft_tensor *row_ids;     /* [T] i32: 0, 1, … into the rope rows */
    weft_tensor *cosines[WEFT_ROPES]; /* [T, n_rot / 2] f32 */
    weft_tensor *sines[WEFT_ROPES];
    weft_tensor *q_weights;    /* [T, 1, 1] f32: of each row's queries; NULL: 1 */
    weft_tensor *layer_inputs; /* [T, n_layer, n_embd_layer] f32, or NULL */
    weft_tensor *wanted;       /* [n_wanted] i32; NULL: no row's output is wanted */
    int32_t *wanted_ids;       /* the same */
    size_t n_wanted;
    weft_state_run *runs; /* [n_runs]: each sequence's rows and the state before them */
    size_t n_runs;
} weft_pass;

/* How the rows of a layer see earlier ones. Stateless; what it keeps of the past lies in the cache.
 */
typedef struct weft_mixer {
    const char *name; /* of its phase in a profile */
    /* in [T, n_embd], normed. Writes the layer's part of the cache for all rows, gives the layer's
     * contribution [T, n_embd] — where weft_pass_wanted says so of the rows wanted only, and
     * NULL where none are. */
    weft_tensor *(*run)(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *in);
    /* What such a layer keeps in the cache, into *out (zeros). */
    void (*keeps)(const weft_hparams *h, const weft_layer *layer, weft_cache_layer *out);
} weft_mixer;

extern const weft_mixer weft_mixer_attention;  /* attention.c */
extern const weft_mixer weft_mixer_latent;     /* mixers/latent.c */
extern const weft_mixer weft_mixer_short_conv; /* mixers/short_conv.c */
extern const weft_mixer weft_mixer_delta_net;  /* mixers/delta_net.c */
extern const weft_mixer weft_mixer_mamba;      /* mixers/mamba.c */
extern const weft_mixer weft_mixer_mamba2;

/* Whether the layer is the last one that adds to the cache and no rows are wanted: its part of the
 * cache is what the step was for. */
bool weft_pass_ends(const weft_pass *p, int32_t layer);
/* Rows that go on after this layer: all of x [T, …], or of the last one that adds to the cache
 * those wanted. */
weft_tensor *weft_pass_wanted(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *x);
/* After that layer: layers that follow it see the wanted rows as if there were no others. */
void weft_pass_narrow(weft_pass *p, weft_scope *s, int32_t layer);

/* The architecture's norm; `weight` NULL gives x itself. bias may be NULL. */
weft_tensor *weft_pass_norm(const weft_pass *p, weft_scope *s, weft_tensor *x, weft_tensor *weight,
                            weft_tensor *bias);

/* Hands each sequence's rows of keys and values to the cache; v as in weft_cache_append. */
void weft_pass_append(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *k,
                      weft_tensor *v);

/* in [T, n_embd], the norm of x: the layer's dense network or mixture of experts or both, [T,
 * n_embd]. */
weft_tensor *weft_feed_forward(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *x,
                               weft_tensor *in);

/* x [T, n_embd], the embedding: what each layer reads beside the residual stream (layer_inputs of
 * the pass); NULL where layers have no such inputs. */
weft_tensor *weft_layer_inputs(const weft_pass *p, weft_scope *s, weft_tensor *x);
/* x [T, n_embd] with the layer's own input added, and scaled, where the layer has these. */
weft_tensor *weft_layer_end(const weft_pass *p, weft_scope *s, int32_t layer, weft_tensor *x);

/* Embedding, layers, output: what weft_forward gives, in `scope`; NULL where no rows are wanted. */
weft_status weft_pass_run(weft_pass *p, weft_scope *scope, const atomic_bool *cancel,
                          weft_tensor **out);

#endif
