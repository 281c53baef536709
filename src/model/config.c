/* Reading hyper-parameters by key in either spelling, with every type and range checked. */
#include "model/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/detail.h"

static const weft_key_name *entry_of(const weft_config *c, weft_key key) {
    for (const weft_key_name *n = c->arch->keys; n && n->key != WEFT_KEY_COUNT; n++)
        if (n->key == key)
            return n;
    for (const weft_key_name *n = weft_keys_usual; n->key != WEFT_KEY_COUNT; n++)
        if (n->key == key)
            return n;
    return NULL;
}

bool weft_config_name(const weft_config *c, weft_key key, char name[WEFT_CONFIG_NAME]) {
    const weft_key_name *n = entry_of(c, key);
    weft_value v;
    name[0] = 0;
    if (!n)
        return false;
    if (c->spelling == WEFT_SPELL_GGUF) {
        if (!n->gguf)
            return false;
        snprintf(name, WEFT_CONFIG_NAME, "%s.%s", c->arch->name, n->gguf);
        return weft_metadata_find(c->metadata, name, &v);
    }
    for (size_t i = 0; i < WEFT_KEY_SPELLINGS && n->hf[i]; i++)
        if (weft_metadata_find(c->metadata, n->hf[i], &v)) {
            snprintf(name, WEFT_CONFIG_NAME, "%s", n->hf[i]);
            return true;
        }
    if (n->hf[0])
        snprintf(name, WEFT_CONFIG_NAME, "%s", n->hf[0]);
    return false;
}

weft_status weft_config_fail(const weft_config *c, weft_status status, const char *name,
                             const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *file = c->spelling == WEFT_SPELL_HF ? "config.json: " : "";
    return weft_fail(status, "%s%s: %s", file, name, text);
}

/* An object where a plain value belongs leaves only its members, "NAME.…", in flattened metadata.
 */
static bool is_object(const weft_config *c, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; n > 0 && i < weft_metadata_count(c->metadata); i++) {
        const char *key = weft_metadata_at(c->metadata, i, NULL);
        if (!strncmp(key, name, n) && key[n] == '.')
            return true;
    }
    return false;
}

static weft_status missing(const weft_config *c, const char *name, bool required) {
    if (c->spelling == WEFT_SPELL_HF && is_object(c, name))
        return weft_config_fail(c, WEFT_E_FORMAT, name, "a plain value is expected, not an object");
    return required ? weft_config_fail(c, WEFT_E_FORMAT, name, "is missing") : WEFT_OK;
}

/* Errors of the typed readers name the key already. */
static weft_status typed(const weft_config *c, weft_status st) {
    return st && c->spelling == WEFT_SPELL_HF ? weft_fail_in(st, "config.json") : st;
}

weft_status weft_config_i32(const weft_config *c, weft_key key, bool required, int64_t low,
                            int64_t high, int32_t *out) {
    char name[WEFT_CONFIG_NAME];
    uint32_t value;
    if (!weft_config_name(c, key, name))
        return missing(c, name, required);
    weft_status st = weft_metadata_u32(c->metadata, name, &value);
    if (st)
        return typed(c, st);
    if (value < low || value > high)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%lu is outside of [%ld, %ld]",
                                (unsigned long)value, (long)low, (long)high);
    *out = (int32_t)value;
    return WEFT_OK;
}

bool weft_config_item(const weft_metadata *m, size_t index, size_t j, int64_t *out) {
    weft_value v;
    if (!weft_metadata_item(m, index, j, &v))
        return false;
    switch (v.type) {
    case WEFT_VALUE_I8:
    case WEFT_VALUE_I16:
    case WEFT_VALUE_I32:
    case WEFT_VALUE_I64:
        *out = v.as.i;
        return true;
    case WEFT_VALUE_U8:
    case WEFT_VALUE_U16:
    case WEFT_VALUE_U32:
    case WEFT_VALUE_U64:
    case WEFT_VALUE_BOOL:
        *out = v.as.u > INT64_MAX ? INT64_MAX : (int64_t)v.as.u;
        return true;
    default:
        return false;
    }
}

/* The one value of all elements of an array [n]; false where they are no integers of one value.
 * `zeros`: those do not count, of layers that have no such thing. */
static bool common_value(const weft_metadata *m, size_t index, size_t n, bool zeros, int64_t *out) {
    bool found = false;
    for (size_t j = 0; j < n; j++) {
        int64_t value;
        if (!weft_config_item(m, index, j, &value) || (found && value != *out && (value || !zeros)))
            return false;
        if (value == 0 && zeros)
            continue;
        *out = value;
        found = true;
    }
    return found;
}

/* The largest of an array's integers. */
static void most_value(const weft_metadata *m, size_t index, size_t n, int64_t *out) {
    int64_t value;
    for (size_t j = 0; j < n; j++)
        if (weft_config_item(m, index, j, &value) && value > *out)
            *out = value;
}

weft_status weft_config_layers_i32(const weft_config *c, weft_key key, bool required, int32_t high,
                                   int32_t n_layer, int32_t *out) {
    char name[WEFT_CONFIG_NAME];
    size_t index;
    weft_value v;
    int64_t value = 0;
    if (!weft_config_name(c, key, name) || !weft_metadata_find(c->metadata, name, &v) ||
        v.type != WEFT_VALUE_ARRAY || !weft_metadata_index(c->metadata, name, &index))
        return weft_config_i32(c, key, required, 1, high, out);
    if (v.as.array.n != (size_t)n_layer)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "an array of %zu values for %d layers",
                                v.as.array.n, n_layer);
    if (c->arch->layers_differ)
        most_value(c->metadata, index, v.as.array.n, &value);
    else if (!common_value(c->metadata, index, v.as.array.n, c->arch->recurrent != NULL, &value))
        return weft_config_fail(c, WEFT_E_UNSUPPORTED, name,
                                "layers that differ, or elements that are no integers, are not "
                                "supported");
    if (value < 1 || value > high)
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%lld is outside of [1, %d]",
                                (long long)value, high);
    *out = (int32_t)value;
    return WEFT_OK;
}

weft_status weft_config_length(const weft_config *c, weft_key key, bool required, int32_t *out) {
    char name[WEFT_CONFIG_NAME];
    weft_value v;
    bool large = false;
    if (!weft_config_name(c, key, name) || !weft_metadata_find(c->metadata, name, &v))
        return missing(c, name, required);
    if (v.type == WEFT_VALUE_U64)
        large = v.as.u > INT32_MAX;
    else if (v.type == WEFT_VALUE_I64)
        large = v.as.i > INT32_MAX;
    else if (v.type == WEFT_VALUE_U32)
        large = v.as.u > INT32_MAX;
    else if (v.type == WEFT_VALUE_F64 && c->spelling == WEFT_SPELL_HF)
        large = v.as.f >= 1e17; /* config.json's integers of more digits come as reals */
    if (!large)
        return weft_config_i32(c, key, true, 1, INT32_MAX, out);
    *out = INT32_MAX;
    return WEFT_OK;
}

weft_status weft_config_number(const weft_config *c, const char *name, double low, double high,
                               bool *present, double *out) {
    double value;
    weft_status st = weft_metadata_f64(c->metadata, name, &value);
    *present = st != WEFT_E_NOT_FOUND;
    if (!*present)
        return WEFT_OK;
    if (st)
        return typed(c, st);
    if (!(value >= low && value <= high))
        return weft_config_fail(c, WEFT_E_FORMAT, name, "%g is outside of [%g, %g]", value, low,
                                high);
    *out = value;
    return WEFT_OK;
}

weft_status weft_config_f64(const weft_config *c, weft_key key, bool required, double low,
                            double high, double *out) {
    char name[WEFT_CONFIG_NAME];
    bool present;
    if (!weft_config_name(c, key, name))
        return missing(c, name, required);
    return weft_config_number(c, name, low, high, &present, out);
}

weft_status weft_config_bool(const weft_config *c, weft_key key, bool *out) {
    char name[WEFT_CONFIG_NAME];
    if (!weft_config_name(c, key, name))
        return missing(c, name, false);
    return typed(c, weft_metadata_bool(c->metadata, name, out));
}

weft_status weft_config_string(const weft_config *c, weft_key key, const char **out) {
    char name[WEFT_CONFIG_NAME];
    *out = NULL;
    if (!weft_config_name(c, key, name))
        return missing(c, name, false);
    return typed(c, weft_metadata_string(c->metadata, name, out));
}
