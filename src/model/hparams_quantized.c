/* quantization_config of config.json: MXFP4 where an architecture's rules read it, and 8-bit floats
 * with scales as the methods "fp8" (DeepSeek V3, Qwen 3) and "compressed-tensors" (llm-compressor)
 * write them. Quantised activations are part of how such a model is served, not of its weights:
 * what is said of them is left aside. Every other key and value is refused by name. */
#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "model/config.h"

#define MOST_BLOCK 65536 /* rows or columns */

/* What may be said of a method: a key, where its last parts stand for "config_groups.NAME." too. */
typedef struct known_key {
    const char *key;
    const char *const *values; /* of a string, NULL ends; NULL: any */
} known_key;

static const char *const fp8_formats[] = {"e4m3", "e5m2", "float8_e4m3fn", "float8_e5m2", NULL};
static const char *const tensors_formats[] = {"float-quantized", "naive-quantized", NULL};
static const char *const float_type[] = {"float", NULL};
static const char *const strategies[] = {"tensor", "channel", "block", NULL};
static const char *const dense[] = {"dense", NULL};

static const known_key fp8_keys[] = {
    {"quant_method", NULL},           {"fmt", fp8_formats},     {"activation_scheme", NULL},
    {"weight_block_size", NULL},      {"scale_fmt", NULL},      {"dequantize", NULL},
    {"modules_to_not_convert", NULL}, {"ignored_layers", NULL},
};
static const known_key tensors_keys[] = {
    {"quant_method", NULL},
    {"format", tensors_formats},
    {"quantization_status", NULL},
    {"global_compression_ratio", NULL},
    {"ignore", NULL},
    {"version", NULL},
    {"sparsity_config.format", dense},
    {"sparsity_config.ignore", NULL},
    {"sparsity_config.targets", NULL},
    {"*.targets", NULL},
    {"*.format", tensors_formats},
    {"*.weights.num_bits", NULL},
    {"*.weights.type", float_type},
    {"*.weights.strategy", strategies},
    {"*.weights.block_structure", NULL},
    {"*.weights.symmetric", NULL},
    {"*.weights.dynamic", NULL},
    {"*.weights.observer", NULL},
};

static const char *after(const char *text, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

/* The key without the name of its group: "config_groups.group_0.weights.type" is "*.weights.type"
 * in the lists; `rest` is what follows "*". */
static bool is_key(const char *key, const char *listed) {
    const char *group = after(key, "config_groups.");
    if (*listed != '*')
        return strcmp(key, listed) == 0;
    const char *dot = group ? strchr(group, '.') : NULL;
    return dot && strcmp(dot, listed + 1) == 0;
}

/* Of activations, whatever it is. */
static bool is_of_activations(const char *key) {
    const char *group = after(key, "config_groups.");
    const char *dot = group ? strchr(group, '.') : NULL;
    return dot && after(dot, ".input_activations.");
}

static weft_status refuse(const weft_config *c, const char *key) {
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, key, "this quantisation is not supported");
}

static weft_status check_value(const weft_config *c, const char *key, const known_key *known,
                               const weft_value *v) {
    if (!known->values)
        return WEFT_OK;
    for (size_t i = 0; v->type == WEFT_VALUE_STRING && known->values[i]; i++)
        if (v->as.s.n_bytes == strlen(known->values[i]) &&
            memcmp(v->as.s.text, known->values[i], v->as.s.n_bytes) == 0)
            return WEFT_OK;
    return refuse(c, key);
}

/* [rows, columns] of a block. */
static weft_status read_block(const weft_config *c, const char *key, weft_f8_rule *out) {
    weft_value_type type;
    const void *data;
    size_t n;
    weft_status st = weft_metadata_array(c->metadata, key, &type, &data, &n);
    if (st)
        return weft_fail_in(st, "config.json");
    const int64_t *block = data;
    if (n != 2 || type != WEFT_VALUE_I64 || block[0] < 1 || block[0] > MOST_BLOCK || block[1] < 1 ||
        block[1] > MOST_BLOCK)
        return weft_config_fail(c, WEFT_E_FORMAT, key, "is not two sizes from 1 to %d", MOST_BLOCK);
    if (out->block_rows > 0 && (out->block_rows != block[0] || out->block_cols != block[1]))
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, key, "blocks of several sizes");
    out->block_rows = (int32_t)block[0];
    out->block_cols = (int32_t)block[1];
    return WEFT_OK;
}

/* Numbers and flags of a group's weights. */
static weft_status check_number(const weft_config *c, const char *full, const char *key) {
    uint32_t bits = 8;
    bool flag;
    weft_status st = WEFT_OK;
    if (is_key(key, "*.weights.num_bits")) {
        st = weft_metadata_u32(c->metadata, full, &bits);
        if (!st && bits != 8)
            return refuse(c, full);
    } else if (is_key(key, "*.weights.symmetric") || is_key(key, "*.weights.dynamic")) {
        st = weft_metadata_bool(c->metadata, full, &flag);
        if (!st && flag != is_key(key, "*.weights.symmetric"))
            return refuse(c, full);
    }
    return st ? weft_fail_in(st, "config.json") : WEFT_OK;
}

static weft_status read_keys(const weft_config *c, const char *prefix, const known_key *known,
                             size_t n_known, weft_f8_rule *out) {
    for (size_t i = 0; i < weft_metadata_count(c->metadata); i++) {
        weft_value v;
        const char *full = weft_metadata_at(c->metadata, i, &v);
        const char *key = after(full, prefix);
        if (!key || is_of_activations(key))
            continue;
        size_t k = 0;
        while (k < n_known && !is_key(key, known[k].key))
            k++;
        if (k == n_known)
            return refuse(c, full);
        weft_status st = check_value(c, full, &known[k], &v);
        if (!st)
            st = check_number(c, full, key);
        if (!st && (is_key(key, "weight_block_size") || is_key(key, "*.weights.block_structure")))
            st = read_block(c, full, out);
        if (st)
            return st;
    }
    out->scaled = true;
    return WEFT_OK;
}

/* The first key under one of the names, or NULL. */
static const char *find_any(const weft_config *c, const char **prefix) {
    static const char *const names[][2] = {{"quantization_config", "quantization_config."},
                                           {"compression_config", "compression_config."}};
    for (size_t i = 0; i < weft_metadata_count(c->metadata); i++) {
        const char *key = weft_metadata_at(c->metadata, i, NULL);
        for (size_t r = 0; r < 2; r++)
            if (strcmp(key, names[r][0]) == 0 || after(key, names[r][1])) {
                *prefix = names[r][1];
                return names[r][0];
            }
    }
    return NULL;
}

weft_status weft_hparams_read_quantized(const weft_config *c, weft_f8_rule *out) {
    char key[64];
    const char *prefix, *method;
    *out = (weft_f8_rule){0};
    const char *found = c->spelling == WEFT_SPELL_HF ? find_any(c, &prefix) : NULL;
    if (!found)
        return WEFT_OK;
    snprintf(key, sizeof key, "%squant_method", prefix);
    if (weft_metadata_string(c->metadata, key, &method))
        return refuse(c, found);
    if (c->arch->quantized && !strcmp(method, c->arch->quantized))
        return WEFT_OK;
    if (!strcmp(method, "fp8"))
        return read_keys(c, prefix, fp8_keys, sizeof fp8_keys / sizeof *fp8_keys, out);
    if (!strcmp(method, "compressed-tensors"))
        return read_keys(c, prefix, tensors_keys, sizeof tensors_keys / sizeof *tensors_keys, out);
    return weft_config_fail(c, WEFT_E_UNSUPPORTED, key, "the quantisation '%.40s' is not supported",
                            method);
}
