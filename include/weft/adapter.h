/* Adapters: low-rank additions to a model's matrices (LoRA, Hu et al. 2021), applied beside the
 * weights as they are: y = W x + scale * B (A x). Immutable after loading; shared by any sessions
 * of their model. */
#ifndef WEFT_ADAPTER_H
#define WEFT_ADAPTER_H

#include <stddef.h>
#include <weft/model.h>
#include <weft/session.h>
#include <weft/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_adapter weft_adapter;

/* `path`: a GGUF adapter, or a folder with adapter_config.json and adapter_model.safetensors
 * (PEFT); of either kind for a model from either kind of file. Whatever of it cannot be applied is
 * refused by name: another shape, a tensor that the model does not have, an adapter that is no
 * plain LoRA. Errors: WEFT_E_NOT_FOUND, _IO, _FORMAT, _SHAPE, _UNSUPPORTED, _MEMORY. */
WEFT_API weft_status weft_adapter_open(weft_model *model, const char *path, weft_adapter **out);
WEFT_API weft_adapter *weft_adapter_retain(weft_adapter *adapter);
WEFT_API void weft_adapter_release(weft_adapter **adapter);
WEFT_API size_t weft_adapter_n_matrices(const weft_adapter *adapter);

/* An adapter in use; its own scale (alpha / rank) is multiplied by this one. */
typedef struct weft_adapter_use {
    weft_adapter *adapter;
    float scale;
} weft_adapter_use;

#define WEFT_ADAPTERS 16

/* The session's text goes through these adapters from now on, and through no others; references are
 * taken. Forks have the same. Only a session without text may change (truncate it to 0). Errors:
 * WEFT_E_ARGUMENT (text, another model, more than WEFT_ADAPTERS), WEFT_E_MEMORY. */
WEFT_API weft_status weft_session_set_adapters(weft_session *session, const weft_adapter_use *uses,
                                               size_t n);

#ifdef __cplusplus
}
#endif
#endif
