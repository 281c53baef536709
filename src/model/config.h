/* Reading hyper-parameters by key, whatever the spelling: finds the name that the file uses, checks
 * type and range, and says in errors how the file spells it. Internal to src/model. */
#ifndef WEFT_MODEL_CONFIG_H
#define WEFT_MODEL_CONFIG_H

#include "model/arch.h"

#define WEFT_CONFIG_NAME 192

typedef struct weft_config {
    const weft_metadata *metadata;
    const weft_arch *arch;
    weft_spelling spelling;
} weft_config;

/* The name of `key` in this file: of its spellings the one that is there, else the first. True when
 * it is there; `name` is "" when this kind of file does not have the key at all. */
bool weft_config_name(const weft_config *c, weft_key key, char name[WEFT_CONFIG_NAME]);

/* Each leaves *out alone and gives WEFT_OK when an optional key is absent. A missing required key,
 * a wrong type or a value outside of [low, high] is WEFT_E_FORMAT. */
weft_status weft_config_i32(const weft_config *c, weft_key key, bool required, int64_t low,
                            int64_t high, int32_t *out);
/* The same, at least 1, for what some files spell as an array of one value a layer. Layers that
 * differ are WEFT_E_UNSUPPORTED, or give the largest where the description says that they may. */
weft_status weft_config_layers_i32(const weft_config *c, weft_key key, bool required, int32_t high,
                                   int32_t n_layer, int32_t *out);
/* A length in positions, at least 1; more than INT32_MAX counts as that. */
weft_status weft_config_length(const weft_config *c, weft_key key, bool required, int32_t *out);
weft_status weft_config_f64(const weft_config *c, weft_key key, bool required, double low,
                            double high, double *out);
weft_status weft_config_bool(const weft_config *c, weft_key key, bool *out);
/* Element j of the array in entry `index`: an integer of any type, or a bool. */
bool weft_config_item(const weft_metadata *m, size_t index, size_t j, int64_t *out);
/* NULL when absent. */
weft_status weft_config_string(const weft_config *c, weft_key key, const char **out);

/* A failure about `name` of this file: "llama.block_count: …" or "config.json: hidden_size: …". */
__attribute__((format(printf, 4, 5))) weft_status weft_config_fail(const weft_config *c,
                                                                   weft_status status,
                                                                   const char *name,
                                                                   const char *format, ...);

/* The same for a number of any name (rope scaling has its own prefixes). */
weft_status weft_config_number(const weft_config *c, const char *name, double low, double high,
                               bool *present, double *out);

/* An encoder's count of token types, for descriptions that have them, as their `read`. */
weft_status weft_read_token_types(const weft_config *c, weft_hparams *h);
/* How a model's hidden states become embeddings, if its file says so. */
weft_status weft_hparams_read_pooling(const weft_config *c, weft_hparams *h);
/* Fills what h says of a mixture of experts; the counts are read already. */
weft_status weft_hparams_read_mixture(const weft_config *c, weft_hparams *h);
/* How a folder's weights are quantised (hparams_quantized.c); what is not read is refused by name.
 */
weft_status weft_hparams_read_quantized(const weft_config *c, weft_f8_rule *out);
/* Layers behind the last that predict further tokens, for descriptions that have such: they are
 * left aside. GGUF files count them among all. */
weft_status weft_read_extra_layers(const weft_config *c, weft_hparams *h);

/* What descriptions of recurrent layers and latent attention read, as their `read` and `kind_of`
 * (hparams_recurrent.c). */
weft_status weft_read_delta_net(const weft_config *c, weft_hparams *h);
weft_status weft_read_mamba(const weft_config *c, weft_hparams *h);
weft_status weft_read_mamba2(const weft_config *c, weft_hparams *h);
weft_status weft_read_short_conv(const weft_config *c, weft_hparams *h);
weft_status weft_read_short_conv_adjusted(const weft_config *c, weft_hparams *h); /* n_ff as well */
weft_status weft_read_latent(const weft_config *c, weft_hparams *h);
weft_status weft_kind_recurrent(const weft_config *c, const weft_hparams *h, int32_t i,
                                weft_layer_kind *kind);
weft_status weft_kind_by_interval(const weft_config *c, const weft_hparams *h, int32_t i,
                                  weft_layer_kind *kind);
weft_status weft_kind_by_heads(const weft_config *c, const weft_hparams *h, int32_t i,
                               weft_layer_kind *kind);

/* Window layers that have other sizes than the others, and layers that see the keys and values of
 * earlier ones (hparams_kinds.c): their sizes, and inputs of each layer's own. */
weft_status weft_read_kinds(const weft_config *c, weft_hparams *h);
/* What layer i sees, by the file's lists, its pattern or the description. */
weft_status weft_kind_of(const weft_config *c, const weft_hparams *h, int32_t i,
                         weft_layer_kind *kind);
/* Element i of a list with one number a layer; `value` as it was where there is no list. */
weft_status weft_number_of_layer(const weft_config *c, weft_key key, int32_t i, int64_t *value);

/* LongRoPE's divisors [half] of config.json, of sequences within n_original or of longer ones. */
weft_status weft_hparams_rope_divisors(const weft_config *c, bool longer, size_t half, float *out);
/* Fills h->rope and h->rope_local; the counts and head_dim are read already. */
weft_status weft_hparams_read_rope(const weft_config *c, weft_hparams *h);

#endif
