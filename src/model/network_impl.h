/* Inside of a network, for the files of src/model. */
#ifndef WEFT_MODEL_NETWORK_IMPL_H
#define WEFT_MODEL_NETWORK_IMPL_H

#include "model/arch.h"
#include "model/network.h"

typedef struct weft_unpacked weft_unpacked; /* unpacked.c */

/* A matrix that is made when it is asked for, and the rule that makes it. */
typedef struct weft_deferred {
    const weft_tensor *t; /* a header in the weights map, without data */
    const weft_tensor_rule *rule;
    int32_t layer;
} weft_deferred;

struct weft_network {
    weft_engine *engine; /* a reference */
    const weft_arch *arch;
    weft_spelling spelling;
    weft_hparams h;
    weft_globals globals;
    const char
        *wrap; /* before a folder's names, of the model's text within a larger one; or NULL */
    size_t base_bytes;   /* of arch->hf_base, where the folder's names leave it out; else 0 */
    bool tied_output;    /* globals.output is globals.embedding */
    weft_layer *layers;  /* [h.n_layer] */
    double *frequencies; /* [WEFT_ROPES, 2, most pairs of either]: of global and of local layers,
                            those of sequences within n_original and of longer ones */
    size_t n_frequency_bytes;
    char *name;              /* "general.name" or "_name_or_path"; "" if absent */
    size_t name_bytes;       /* its NUL included */
    weft_deferred *deferred; /* [n_deferred] of deferred_room */
    size_t n_deferred, deferred_room;
    uint64_t n_parameters, weight_bytes;
    weft_unpacked *unpacked; /* weights to be packed later; NULL: none */
    uint64_t fingerprint;    /* of hyper-parameters and some weights: which caches fit */
};

/* Fills n->frequencies; the layers' weights are bound. */
weft_status weft_network_create_frequencies(weft_network *n, const weft_metadata *metadata);

void weft_unpacked_destroy(weft_network *n);

/* What binding needs at hand. */
typedef struct weft_binding {
    weft_engine *engine;
    weft_weights *weights;
    const weft_network_options *options;
    weft_network *network;
    uint64_t done_bytes, total_bytes;
} weft_binding;

#define WEFT_ROPES 2 /* of global and of local layers */

/* Angles per position [n_rot / 2] of one of the ropes. */
const double *weft_network_frequencies(const weft_network *n, int rope, bool longer);
/* Whether a sequence of `length` positions turns by the factors of longer ones. */
bool weft_network_turns_longer(const weft_network *n, int32_t length);

#define WEFT_TENSOR_NAME 256

/* The full name of a rule's tensor; `layer` < 0 for globals, `expert` where there is one tensor for
 * each. "" when this kind of file has none. */
void weft_rule_name(const weft_network *n, const weft_tensor_rule *rule, int32_t layer,
                    int32_t expert, char name[WEFT_TENSOR_NAME]);
/* Whether this kind of file, and a layer of its kind, has the rule's tensor at all. */
bool weft_rule_holds(const weft_network *n, const weft_tensor_rule *rule, int32_t layer);
/* The field that a rule fills. */
weft_tensor **weft_rule_field(weft_network *n, const weft_tensor_rule *rule, int32_t layer);
/* `layer` < 0: of the network. */
int64_t weft_extent_of(const weft_network *n, int32_t layer, weft_extent e);

/* A rule's extents. Of a vector, `cols` are its elements, and rows are those of its matrix. */
typedef struct weft_rule_shape {
    bool matrix;
    int64_t rows, cols;
    int64_t file_rows; /* of the tensor in the file: of all parts together */
    int64_t first;     /* rows of the parts before this one */
    int64_t n_parts;   /* 0: not fused */
    int64_t n_stacked; /* experts */
} weft_rule_shape;
weft_rule_shape weft_rule_shape_of(const weft_network *n, const weft_tensor_rule *rule,
                                   int32_t layer);

/* Calls fn for each rule that holds: globals, then layers. Stops at the first error. */
typedef weft_status (*weft_rule_fn)(weft_binding *b, const weft_tensor_rule *rule, int32_t layer);
weft_status weft_rules_visit(weft_binding *b, weft_rule_fn fn);

/* Finds and checks every tensor of the rules, and refuses tensors of layers that no rule names. */
weft_status weft_network_bind(weft_binding *b);
/* Brings vectors to f32 (derived ones beside their source in the map) and packs matrices if asked.
 */
weft_status weft_network_prepare(weft_binding *b);

#endif
