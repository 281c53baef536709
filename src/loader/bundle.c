/* Bundles: tensors by name, between the files that hold them and the caller. */
#include "loader/bundle.h"

#include <string.h>

weft_status weft_bundle_create(weft_engine *engine, weft_bundle **out) {
    if (!out)
        return weft_fail(WEFT_E_NULL, "bundle_create: out is NULL");
    *out = NULL;
    if (!engine)
        return weft_fail(WEFT_E_NULL, "bundle_create: engine is NULL");
    weft_bundle *b = weft_alloc_zeroed(&engine->allocator, sizeof *b);
    if (b) {
        b->allocator = engine->allocator;
        b->weights = weft_weights_create(&b->allocator);
        b->texts = weft_metadata_create(&b->allocator);
    }
    if (!b || !b->weights || !b->texts) {
        weft_bundle_release(&b);
        return weft_fail(WEFT_E_MEMORY, "bundle_create: out of memory");
    }
    *out = b;
    return WEFT_OK;
}

void weft_bundle_release(weft_bundle **bundle) {
    if (!bundle || !*bundle)
        return;
    weft_allocator a = (*bundle)->allocator;
    weft_weights_destroy((*bundle)->weights);
    weft_metadata_destroy((*bundle)->texts);
    weft_dealloc(&a, *bundle, sizeof **bundle);
    *bundle = NULL;
}

/* RFC 3629: no surrogates, no spellings longer than needed. */
static bool is_utf8(const unsigned char *s) {
    while (*s) {
        unsigned low = 0x80, high = 0xbf;
        int n = *s < 0x80                  ? 0
                : *s >= 0xc2 && *s <= 0xdf ? 1
                : (*s & 0xf0) == 0xe0      ? 2
                : *s >= 0xf0 && *s <= 0xf4 ? 3
                                           : -1;
        if (n < 0)
            return false;
        low = *s == 0xe0 ? 0xa0 : *s == 0xf0 ? 0x90 : low;
        high = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : high;
        s++;
        for (; n > 0; n--, s++, low = 0x80, high = 0xbf)
            if (*s < low || *s > high)
                return false;
    }
    return true;
}

weft_status weft_bundle_put(weft_bundle *bundle, const char *name, weft_tensor *t) {
    if (!bundle || !name || !t)
        return weft_fail(WEFT_E_NULL, "bundle_put: %s is NULL",
                         !bundle ? "bundle"
                         : !name ? "name"
                                 : "t");
    if (!*name || !is_utf8((const unsigned char *)name))
        return weft_fail(WEFT_E_ARGUMENT, "bundle_put: the name '%.80s' is %s", name,
                         *name ? "no UTF-8" : "empty");
    if (weft_weights_find(bundle->weights, name))
        return weft_fail(WEFT_E_ARGUMENT, "bundle_put: '%.80s' is there already", name);
    return weft_weights_take(bundle->weights, name, weft_tensor_retain(t));
}

size_t weft_bundle_count(const weft_bundle *bundle) {
    return bundle ? weft_weights_count(bundle->weights) : 0;
}

weft_tensor *weft_bundle_find(const weft_bundle *bundle, const char *name) {
    return bundle && name ? weft_weights_find(bundle->weights, name) : NULL;
}

weft_tensor *weft_bundle_at(const weft_bundle *bundle, size_t i, const char **name) {
    if (name)
        *name = NULL;
    if (i >= weft_bundle_count(bundle))
        return NULL;
    const char *unused;
    return weft_weights_at(bundle->weights, i, name ? name : &unused);
}

/* ---- Texts ---- */

weft_status weft_bundle_take_text(weft_bundle *bundle, const char *key, const char *text,
                                  size_t n_bytes) {
    weft_value value = {.type = WEFT_VALUE_STRING, .as.s = {text, n_bytes}};
    if (weft_metadata_index(bundle->texts, key, &(size_t){0}))
        return weft_fail(WEFT_E_ARGUMENT, "the text '%.80s' is there already", key);
    return weft_metadata_put(bundle->texts, key, strlen(key), &value);
}

weft_status weft_bundle_put_text(weft_bundle *bundle, const char *key, const char *text) {
    if (!bundle || !key || !text)
        return weft_fail(WEFT_E_NULL, "bundle_put_text: %s is NULL",
                         !bundle ? "bundle"
                         : !key  ? "key"
                                 : "text");
    if (!is_utf8((const unsigned char *)key) || !is_utf8((const unsigned char *)text))
        return weft_fail(WEFT_E_ARGUMENT, "bundle_put_text: '%.80s' or its key is no UTF-8", text);
    return weft_bundle_take_text(bundle, key, text, strlen(text));
}

size_t weft_bundle_n_texts(const weft_bundle *bundle) {
    return bundle ? weft_metadata_count(bundle->texts) : 0;
}

const char *weft_bundle_text_at(const weft_bundle *bundle, size_t i, const char **key,
                                size_t *n_bytes) {
    weft_value value = {0};
    const char *name = bundle ? weft_metadata_at(bundle->texts, i, &value) : NULL;
    if (key)
        *key = name;
    if (n_bytes)
        *n_bytes = name ? value.as.s.n_bytes : 0;
    return name ? value.as.s.text : NULL;
}

const char *weft_bundle_find_text(const weft_bundle *bundle, const char *key, size_t *n_bytes) {
    size_t i = SIZE_MAX;
    if (bundle && key && !weft_metadata_index(bundle->texts, key, &i))
        i = SIZE_MAX;
    return weft_bundle_text_at(bundle, i, NULL, n_bytes);
}

/* ---- Elements ---- */

weft_status weft_elements_open(const weft_allocator *a, weft_tensor *t, weft_elements *out) {
    *out = (weft_elements){.allocator = a};
    if (t->layout != WEFT_LAYOUT_STRIDED)
        return weft_fail(WEFT_E_LAYOUT, "packed panels have no rows to read");
    /* The product was checked when the tensor was made, but of a view by stride 0. */
    if (!weft_mul_size((size_t)weft_tensor_numel(t), weft_dtype_block_bytes(t->dtype),
                       &out->size_bytes))
        return weft_fail(WEFT_E_OVERFLOW, "the elements take more bytes than fit");
    if (out->size_bytes > 0 && !weft_tensor_is_contiguous(t)) {
        out->copy = weft_alloc(a, out->size_bytes);
        if (!out->copy)
            return weft_fail(WEFT_E_MEMORY, "out of memory for %zu bytes", out->size_bytes);
        out->data = out->copy;
        weft_status status = weft_tensor_read(t, out->copy, out->size_bytes);
        if (status)
            weft_elements_close(out);
        return status;
    }
    weft_status status = weft_guard_lock(&out->guard, &t, 1, 0);
    if (!status)
        out->data = weft_tensor_data(t);
    return status;
}

void weft_elements_close(weft_elements *e) {
    if (e->copy)
        weft_dealloc(e->allocator, e->copy, e->size_bytes);
    else if (e->data)
        weft_guard_unlock(&e->guard);
    *e = (weft_elements){0};
}

weft_status weft_bools_check(const unsigned char *data, size_t n) {
    unsigned char all = 0;
    for (size_t i = 0; i < n; i++)
        all |= data[i];
    return all > 1 ? weft_fail(WEFT_E_FORMAT, "a bool is neither 0 nor 1") : WEFT_OK;
}
