/* What encoders alone have: types of tokens, and how hidden states become one vector a text: GGUF's
 * "pooling_type", or what sentence-transformers writes beside a folder's config.json
 * (src/loader/hf_modules.c). */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"

/* 0 says nothing; 1 mean, 2 first token, 3 last token; 4 a ranking head. */
static weft_status read_gguf(const weft_config *c, weft_hparams *h) {
    static const weft_pooling types[] = {WEFT_POOLING_DEFAULT, WEFT_POOLING_MEAN, WEFT_POOLING_CLS,
                                         WEFT_POOLING_LAST};
    char name[WEFT_CONFIG_NAME];
    uint32_t type = 0;
    snprintf(name, sizeof name, "%s.pooling_type", c->arch->name);
    weft_status st = weft_metadata_u32(c->metadata, name, &type);
    if (st)
        return st == WEFT_E_NOT_FOUND ? WEFT_OK : st;
    if (type >= sizeof types / sizeof *types)
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                                "%lu (a ranking head) is not supported", (unsigned long)type);
    h->pooling = types[type];
    return WEFT_OK;
}

/* Modules after pooling would change the vectors; Normalize is the caller's choice. */
static weft_status refuse_modules(const weft_config *c) {
    static const char prefix[] = "modules.";
    for (size_t i = 0; i < weft_metadata_count(c->metadata); i++) {
        const char *key = weft_metadata_at(c->metadata, i, NULL);
        if (!strncmp(key, prefix, sizeof prefix - 1) && strcmp(key + 8, "Normalize") != 0)
            return weft_fail(WEFT_E_UNSUPPORTED, "modules.json: the module %.64s is not supported",
                             key + 8);
    }
    return WEFT_OK;
}

/* "pooling_mode" names it, or one of several bools does. */
static weft_status read_folder(const weft_config *c, weft_hparams *h) {
    static const struct {
        const char *key, *word;
        weft_pooling pooling; /* DEFAULT: not supported */
    } modes[] = {
        {"pooling_mode_mean_tokens", "mean", WEFT_POOLING_MEAN},
        {"pooling_mode_cls_token", "cls", WEFT_POOLING_CLS},
        {"pooling_mode_lasttoken", "lasttoken", WEFT_POOLING_LAST},
        {"pooling_mode_max_tokens", "max", WEFT_POOLING_DEFAULT},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", WEFT_POOLING_DEFAULT},
        {"pooling_mode_weightedmean_tokens", "weightedmean", WEFT_POOLING_DEFAULT},
    };
    const char *word = NULL, *found = NULL;
    weft_status st = weft_metadata_string(c->metadata, "pooling.pooling_mode", &word);
    if (st && st != WEFT_E_NOT_FOUND)
        return weft_fail_in(st, "1_Pooling/config.json");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char name[80];
        bool on = word && !strcmp(word, modes[i].word);
        snprintf(name, sizeof name, "pooling.%s", modes[i].key);
        if (!word && (st = weft_metadata_bool(c->metadata, name, &on)) && st != WEFT_E_NOT_FOUND)
            return weft_fail_in(st, "1_Pooling/config.json");
        if (!on)
            continue;
        if (modes[i].pooling == WEFT_POOLING_DEFAULT || found)
            return weft_fail(WEFT_E_UNSUPPORTED, "1_Pooling/config.json: %s%s%s is not supported",
                             modes[i].key, found ? " beside " : "", found ? found : "");
        found = modes[i].key;
        h->pooling = modes[i].pooling;
    }
    if (word && !found)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "1_Pooling/config.json: pooling_mode: \"%.64s\" is not known", word);
    return refuse_modules(c);
}

weft_status weft_hparams_read_pooling(const weft_config *c, weft_hparams *h) {
    return c->spelling == WEFT_SPELL_HF ? read_folder(c, h) : read_gguf(c, h);
}

weft_status weft_read_token_types(const weft_config *c, weft_hparams *h) {
    bool hf = c->spelling == WEFT_SPELL_HF;
    const char *name = hf ? "type_vocab_size" : "tokenizer.ggml.token_type_count";
    uint32_t n = 0;
    weft_status st = weft_metadata_u32(c->metadata, name, &n);
    if (st == WEFT_E_NOT_FOUND)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "is missing");
    if (st)
        return hf ? weft_fail_in(st, "config.json") : st;
    if (n < 1 || n > 65536)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%lu is outside of [1, 65536]",
                                (unsigned long)n);
    h->n_types = (int32_t)n;
    return WEFT_OK;
}
