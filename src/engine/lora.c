/* LoRA adapters in two kinds of files: GGUF ("NAME.lora_a", "NAME.lora_b", key adapter.lora.alpha)
 * and PEFT folders ("base_model.model.NAME.lora_A.weight", adapter_config.json). */
#include "engine/lora.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "engine/recipe.h"
#include "loader/read.h"
#include "tensor/impl.h"

#define MAX_NAME 400

typedef struct reading {
    weft_engine *engine;
    const char *path;
    weft_source source;
    int kind;  /* of the adapter */
    int order; /* that b shall have */
    double alpha;
    bool by_root;        /* alpha is divided by the rank's root */
    weft_metadata *used; /* names of the tensors that weights have taken */
    weft_lora_fn fn;
    void *ctx;
} reading;

/* ---- What the adapter says of itself ---- */

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static weft_status read_gguf(reading *r) {
    const weft_metadata *m = r->source.metadata;
    const char *type = "", *kind = "";
    weft_metadata_string(m, "general.type", &type);
    weft_metadata_string(m, "adapter.type", &kind);
    if (strcmp(type, "adapter") != 0 || strcmp(kind, "lora") != 0)
        return weft_fail(WEFT_E_FORMAT, "%s: not an adapter of type lora", r->path);
    weft_status status = weft_metadata_f64(m, "adapter.lora.alpha", &r->alpha);
    return status == WEFT_E_NOT_FOUND
               ? weft_fail(WEFT_E_FORMAT, "%s: adapter.lora.alpha is missing", r->path)
               : status;
}

/* Options that change what is calculated. */
static weft_status refuse(const reading *r) {
    static const char *const flags[] = {"adapter.use_dora", "adapter.fan_in_fan_out",
                                        "adapter.lora_bias"};
    const weft_metadata *m = r->source.metadata;
    const char *text;
    bool on = false;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (!weft_metadata_bool(m, flags[i], &on) && on)
            return weft_fail(WEFT_E_UNSUPPORTED, "%s: adapter_config.json: %s is not supported",
                             r->path, flags[i] + 8);
    if (!weft_metadata_string(m, "adapter.bias", &text) && strcmp(text, "none") != 0)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "%s: adapter_config.json: bias \"%.40s\" is not "
                         "supported",
                         r->path, text);
    for (size_t i = 0; i < weft_metadata_count(m); i++) {
        const char *key = weft_metadata_at(m, i, NULL);
        if (strncmp(key, "adapter.rank_pattern.", 21) == 0 ||
            strncmp(key, "adapter.alpha_pattern.", 22) == 0)
            return weft_fail(WEFT_E_UNSUPPORTED, "%s: adapter_config.json: %s is not supported",
                             r->path, key + 8);
    }
    return WEFT_OK;
}

static weft_status read_peft(reading *r) {
    char path[WEFT_PATH_ROOM];
    const char *type = "";
    weft_status status = weft_path_join(r->path, "adapter_config.json", path);
    if (!status)
        status = weft_hf_config_read(path, "adapter.", &r->source);
    if (status)
        return status;
    const weft_metadata *m = r->source.metadata;
    weft_metadata_string(m, "adapter.peft_type", &type);
    if (strcmp(type, "LORA") != 0)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "%s: adapter_config.json: peft_type \"%.40s\" is not "
                         "supported",
                         r->path, type);
    weft_metadata_bool(m, "adapter.use_rslora", &r->by_root);
    status = weft_metadata_f64(m, "adapter.lora_alpha", &r->alpha);
    if (status == WEFT_E_NOT_FOUND)
        status = weft_fail(WEFT_E_FORMAT, "lora_alpha is missing");
    return status ? weft_fail_in(status, "%s: adapter_config.json", r->path) : refuse(r);
}

static weft_status open_adapter(reading *r) {
    char path[WEFT_PATH_ROOM];
    bool folder = weft_path_is_directory(r->path);
    weft_status status = WEFT_OK;
    r->kind = folder ? WEFT_NAMED_HF : WEFT_NAMED_GGUF;
    if (folder)
        status = weft_path_join(r->path, "adapter_model.safetensors", path);
    if (!status)
        status =
            weft_source_open(r->engine, folder ? path : r->path, false, NULL, NULL, &r->source);
    if (status)
        return status;
    return folder ? read_peft(r) : read_gguf(r);
}

/* ---- Pairs ---- */

/* One of a weight's two tensors; NULL: the adapter has none for it. Its name goes to `full`. */
static weft_tensor *find(const reading *r, const char *name, bool b, char full[MAX_NAME]) {
    static const char *const before[] = {"base_model.model.", "base_model.model.", ""};
    static const char *const behind[] = {".weight", ".default.weight", ".weight"};
    weft_tensor *t = NULL;
    if (r->kind == WEFT_NAMED_GGUF) {
        snprintf(full, MAX_NAME, "%s.lora_%c", name, b ? 'b' : 'a');
        return weft_weights_find(r->source.weights, full);
    }
    int n = (int)strlen(name) - (ends_with(name, ".weight") ? 7 : 0);
    for (size_t i = 0; i < sizeof before / sizeof before[0] && !t; i++) {
        snprintf(full, MAX_NAME, "%s%.*s.lora_%c%s", before[i], n, name, b ? 'B' : 'A', behind[i]);
        t = weft_weights_find(r->source.weights, full);
    }
    return t;
}

static weft_status check(const reading *r, const weft_named *w, const weft_tensor *a,
                         const weft_tensor *b) {
    const char *name = w->name[r->kind];
    if (!a || !b)
        return weft_fail(WEFT_E_FORMAT, "%s: '%s' has one of lora_a and lora_b alone", r->path,
                         name);
    if (w->n_stacked > 1 || w->first[r->kind] < 0)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "%s: '%s': adapters of such a tensor are not supported", r->path, name);
    if (a->rank != 2 || b->rank != 2 || a->dims[1] != w->cols ||
        b->dims[0] != w->file_rows[r->kind] || a->dims[0] != b->dims[1]) {
        char sa[96], sb[96];
        return weft_fail(WEFT_E_SHAPE,
                         "%s: '%s': A %s and B %s do not fit a weight of [%lld, %lld]", r->path,
                         name, weft_shape_text(a, sa, sizeof sa), weft_shape_text(b, sb, sizeof sb),
                         (long long)w->file_rows[r->kind], (long long)w->cols);
    }
    return WEFT_OK;
}

/* Where row `row` of the wanted order lies in the adapter's. */
static int64_t row_of(const reading *r, const weft_named *w, int64_t row) {
    if (w->rope_heads == 0 || r->kind == r->order)
        return row;
    int64_t head = w->rows / w->rope_heads, at = row % head, first = row - at;
    return r->order == WEFT_NAMED_GGUF ? first + at % 2 * (head / 2) + at / 2
                                       : first + at % (head / 2) * 2 + at / (head / 2);
}

static weft_status give(reading *r, const weft_named *w, const weft_tensor *a,
                        const weft_tensor *b) {
    int64_t rank = a->dims[0];
    size_t a_bytes = weft_size_of((size_t)(rank * w->cols), sizeof(float));
    size_t b_bytes = weft_size_of((size_t)(w->rows * rank), sizeof(float));
    float *fa = weft_alloc(&r->engine->allocator, a_bytes);
    float *fb = weft_alloc(&r->engine->allocator, b_bytes);
    bool defined = true;
    float scale = (float)(r->alpha / (r->by_root ? sqrt((double)rank) : (double)rank));
    weft_status status =
        fa && fb ? WEFT_OK : weft_fail(WEFT_E_MEMORY, "%s: out of memory", r->path);
    for (int64_t i = 0; !status && defined && i < rank; i++)
        defined = weft_tensor_row_floats(a, (uint64_t)i, fa + i * w->cols);
    for (int64_t i = 0; !status && defined && i < w->rows; i++) {
        int64_t from = w->first[r->kind] + row_of(r, w, i);
        defined = weft_tensor_row_floats(b, (uint64_t)from, fb + i * rank);
        for (int64_t k = 0; k < rank; k++)
            fb[i * rank + k] *= scale;
    }
    if (!status && !defined)
        status = weft_fail(WEFT_E_UNSUPPORTED, "%s: '%s': types %s and %s cannot be read", r->path,
                           w->name[r->kind], weft_dtype_name(a->dtype), weft_dtype_name(b->dtype));
    weft_lora_pair pair = {w, rank, fa, fb};
    if (!status)
        status = r->fn(r->ctx, &pair);
    weft_dealloc(&r->engine->allocator, fa, fa ? a_bytes : 0);
    weft_dealloc(&r->engine->allocator, fb, fb ? b_bytes : 0);
    return status;
}

/* Parts of a fused tensor use it more than once. */
static weft_status use(reading *r, const char *name) {
    weft_value yes = {.type = WEFT_VALUE_BOOL, .as.u = 1};
    return weft_metadata_find(r->used, name, NULL)
               ? WEFT_OK
               : weft_metadata_put(r->used, name, strlen(name), &yes);
}

static weft_status see_weight(void *ctx, const weft_named *w) {
    reading *r = ctx;
    const char *name = w->name[r->kind];
    char name_a[MAX_NAME], name_b[MAX_NAME];
    weft_tensor *a = name[0] ? find(r, name, false, name_a) : NULL;
    weft_tensor *b = name[0] ? find(r, name, true, name_b) : NULL;
    if (!a && !b)
        return WEFT_OK;
    weft_status status = check(r, w, a, b);
    if (status)
        return status;
    status = use(r, name_a);
    if (!status)
        status = use(r, name_b);
    return status ? status : give(r, w, a, b);
}

/* ---- All of it ---- */

/* A tensor that no weight has taken would be missed. */
static weft_status refuse_strangers(const reading *r) {
    size_t n = weft_weights_count(r->source.weights);
    const char *name;
    for (size_t i = 0; i < n; i++) {
        weft_weights_at(r->source.weights, i, &name);
        if (!weft_metadata_find(r->used, name, NULL))
            return weft_fail(WEFT_E_UNSUPPORTED,
                             "%s: '%.200s' belongs to no matrix of this model's layers", r->path,
                             name);
    }
    return n > 0 ? WEFT_OK : weft_fail(WEFT_E_FORMAT, "%s: holds no tensors", r->path);
}

weft_status weft_lora_read(weft_engine *engine, weft_network *network, const weft_weights *weights,
                           const char *path, int order, weft_lora_fn fn, void *ctx) {
    reading r = {.engine = engine, .path = path, .order = order, .fn = fn, .ctx = ctx};
    weft_status status = open_adapter(&r);
    r.used = weft_metadata_create(&engine->allocator);
    if (!status && !r.used)
        status = weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    if (!status)
        status = weft_network_visit(network, weights, see_weight, &r);
    if (!status)
        status = refuse_strangers(&r);
    weft_metadata_destroy(r.used);
    weft_source_close(&r.source);
    return status;
}
