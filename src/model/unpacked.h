/* Weights that lie as in their file when a network is created, and become panels later: so that the
 * first token need not wait for the packing. Internal to src/model; under the engine's pass. */
#ifndef WEFT_MODEL_UNPACKED_H
#define WEFT_MODEL_UNPACKED_H

#include "model/network_impl.h"

/* Whether `t` can wait: rows of a mapped file, one after the other or at even steps. */
bool weft_can_wait(const weft_binding *b, const weft_tensor *t);
/* Notes that it does; borrowed from the network's map. Twice is once. */
weft_status weft_unpacked_add(weft_binding *b, weft_tensor *t);

/* Before a step: that the file has not changed, and a part of the packing, unless the first token
 * is still to come. Fails without harm: WEFT_E_IO, _MEMORY. */
weft_status weft_unpacked_step(const weft_network *n);
/* After a step some row of which was wanted. */
void weft_unpacked_answered(const weft_network *n);

#endif
