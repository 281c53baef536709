/* Adapters merged into the tensors of a recipe. */
#ifndef WEFT_ENGINE_MERGE_LORA_H
#define WEFT_ENGINE_MERGE_LORA_H

#include "engine/recipe.h"
#include <weft/extra/quantize.h>

typedef struct weft_deltas weft_deltas;

/* The recipe's tensors become W + scale B A of each adapter. `source` is the recipe's. *out is kept
 * until the recipe was written. */
weft_status weft_deltas_add(weft_engine *engine, const weft_source *source, weft_recipe *recipe,
                            const weft_lora_file *files, size_t n, weft_deltas **out);
void weft_deltas_free(weft_deltas **deltas);

#endif
