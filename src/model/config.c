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

static weft_status missing(const weft_config *c, const char *name, bool required) {
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
        return WEFT_OK;
    return typed(c, weft_metadata_bool(c->metadata, name, out));
}

weft_status weft_config_string(const weft_config *c, weft_key key, const char **out) {
    char name[WEFT_CONFIG_NAME];
    *out = NULL;
    if (!weft_config_name(c, key, name))
        return WEFT_OK;
    return typed(c, weft_metadata_string(c->metadata, name, out));
}
