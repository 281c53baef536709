/* Recipes: what a GGUF file will hold, each tensor made from rows of a source's tensors, and the
 * loop that makes it, a piece of a tensor at a time on the engine's team. */
#ifndef WEFT_ENGINE_RECIPE_H
#define WEFT_ENGINE_RECIPE_H

#include "base/engine_impl.h"
#include "loader/gguf_write.h"
#include "loader/loader.h"
#include "model/export.h"
#include "model/network.h"

#define WEFT_MADE_NAME 256

struct weft_made;

/* Adds to row `row` [n_cols] of a tensor that is being made; called from any thread. */
typedef void (*weft_row_fn)(void *ctx, const struct weft_made *made, uint64_t row, float *x);

/* One tensor to make. Its rows are those of `from`, one after the other along the first axis. */
typedef struct weft_made {
    weft_gguf_item item; /* name: borrowed from the source or from the recipe */
    weft_tensor **from;  /* [n_from], borrowed from the source */
    size_t n_from;
    int32_t rope_heads; /* rows of each head's halves are interleaved; 0: they are not */
    weft_head_order heads;
    float plus;              /* added to every element */
    const float *importance; /* [n_matrices, n_cols], or NULL */
    size_t n_matrices;
} weft_made;

typedef struct weft_recipe {
    weft_allocator allocator;
    const weft_source *source;
    weft_network *network;   /* of a folder, whose tensors it prepared; else NULL */
    weft_metadata *metadata; /* of the file */
    weft_made *list;         /* [n] */
    size_t n, room;
    weft_tensor **parts; /* what list[i].from points into; room for all from the start */
    size_t n_parts, parts_room;
    char (*names)[WEFT_MADE_NAME]; /* [names_room]: names made here */
    size_t names_room;
    weft_row_fn row_fn; /* NULL: none */
    void *row_ctx;
    bool (*row_touches)(void *ctx, const weft_made *made); /* whether row_fn would change it */
} weft_recipe;

/* Metadata and tensors of a source as they are: a GGUF file's, without the keys of splitting. */
weft_status weft_recipe_copy(const weft_source *source, weft_recipe *out);
/* A Hugging Face folder as a GGUF file: tensors by their names and in the layout there, matrices in
 * the types that the folder has, vectors and what must stay exact as f32; keys of the
 * hyper-parameters and of the tokeniser. `pre`: the pre-tokeniser's name; NULL: found. The source's
 * weights map is added to. */
weft_status weft_recipe_of_folder(weft_engine *engine, weft_source *source, const char *path,
                                  const char *pre, weft_recipe *out);
/* Either of them. */
weft_status weft_recipe_of(weft_engine *engine, weft_source *source, const char *path,
                           const char *pre, weft_recipe *out);
void weft_recipe_free(weft_recipe *recipe);

/* A key that replaces one of the same name. */
weft_status weft_recipe_set(weft_recipe *recipe, const char *key, const weft_value *value);

/* Writes list[first … first + n). `isa` etc. from the engine. The rows of a tensor that keeps its
 * type and is not changed are copied. Errors name the tensor. */
weft_status weft_recipe_write(weft_engine *engine, const weft_recipe *recipe, const char *path,
                              weft_progress_fn progress, void *progress_ctx);

/* Row `row` of any file's tensor as floats; false where its type has no definition. */
bool weft_tensor_row_floats(const weft_tensor *t, uint64_t row, float *out);

#endif
