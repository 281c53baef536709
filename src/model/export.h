/* What a GGUF file of a network holds: its tensors in the layout that GGUF files have them in, and
 * the keys of its hyper-parameters. For networks that were read from Hugging Face folders. */
#ifndef WEFT_MODEL_EXPORT_H
#define WEFT_MODEL_EXPORT_H

#include "model/network.h"

#define WEFT_EXPORT_PARTS 4

/* Heads of a delta net that come group by group, to be put into the order of those that are tiled:
 * rows (or columns) of `size` elements a head, behind `first` others that stay. */
typedef struct weft_head_order {
    int64_t first, size;
    int32_t n_head, n_group; /* n_group 0: nothing changes places */
    bool columns;
} weft_head_order;

typedef struct weft_exported {
    const char *name;                      /* of the file's tensor; valid during the call */
    weft_tensor *parts[WEFT_EXPORT_PARTS]; /* their rows one after the other; borrowed */
    size_t n_parts;
    int rank; /* of the file's tensor */
    int64_t dims[4];
    int32_t rope_heads; /* rows of each head's halves must be interleaved; 0: they stay */
    float plus;         /* to be added to every element */
    weft_head_order heads;
} weft_exported;

typedef weft_status (*weft_export_fn)(void *ctx, const weft_exported *tensor);

/* Calls fn for each tensor of the file. `weights` is the map that the network borrows from; factors
 * that GGUF files keep as tensors are made there. WEFT_E_UNSUPPORTED names what has no place in a
 * GGUF file. */
weft_status weft_network_export(weft_network *network, weft_weights *weights, weft_export_fn fn,
                                void *ctx);

/* For networks created with `defer`: whether a part has no data yet, and a tensor with its data;
 * one reference. `dropped` as `packed` of the options: a source that was read. */
bool weft_network_is_deferred(const weft_network *network, const weft_tensor *part);
weft_status weft_network_make(weft_network *network, weft_weights *weights, const weft_tensor *part,
                              void (*dropped)(void *ctx, const weft_tensor *source), void *ctx,
                              weft_tensor **out);

/* Adds general.architecture and the keys of the hyper-parameters to an empty map. They are read
 * back: what would give another network is WEFT_E_UNSUPPORTED. */
weft_status weft_network_export_keys(const weft_network *network, weft_metadata *out);

/* The description of the file. */
const struct weft_arch *weft_network_exported_arch(const weft_network *network);

#endif
