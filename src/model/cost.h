/* What evaluating a token reads and computes, by the shape of a network. */
#ifndef WEFT_MODEL_COST_H
#define WEFT_MODEL_COST_H

#include "model/network.h"
#include <weft/extra/bench.h>

/* As weft_model_get_cost. */
weft_model_cost weft_network_cost(const weft_network *network, int32_t depth,
                                  weft_dtype cache_type);

#endif
