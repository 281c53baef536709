/* The adapters of a session, for its other files. */
#ifndef WEFT_ENGINE_ADAPTER_H
#define WEFT_ENGINE_ADAPTER_H

#include "tensor/tap.h"
#include <weft/adapter.h>

typedef struct weft_adapters weft_adapters;

/* The set of `uses` [n], which must be of `model`; `what` begins the error's text. NULL where n is
 * 0. The tap that applies it is weft_adapters_tap's. */
weft_status weft_adapters_create(weft_model *model, const char *what, const weft_adapter_use *uses,
                                 size_t n, weft_adapters **out);
const weft_tap *weft_adapters_tap(const weft_adapters *set); /* NULL of NULL */

/* The session gets a set like `from` (NULL: none) in place of its own. */
weft_status weft_adapters_give(const weft_adapters *from, weft_session *session);
void weft_adapters_free(weft_adapters **set); /* NULL inside is allowed */
/* Goes on from `hash`; the same without adapters. */
uint64_t weft_adapters_hash(const weft_adapters *set, uint64_t hash);

#endif
