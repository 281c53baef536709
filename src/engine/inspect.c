/* Looking into model files without loading them: the maps of a source, a summary, digests, and the
 * check that opening the model would do. */
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "base/sha256.h"
#include "engine/file_impl.h"
#include "loader/imatrix.h"
#include "loader/loader.h"
#include "model/network.h"
#include "tensor/impl.h"
#include "tensor/kernels/panel.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_CONTEXT 4096
#define DIGEST_PIECE 4096 /* elements at once; a multiple of every block */

weft_status weft_file_open(weft_engine *engine, const char *path, weft_file **out) {
    if (!engine || !path || !out)
        return weft_fail(WEFT_E_NULL, "weft_file_open: engine, path and out are required");
    *out = NULL;
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    weft_file *file = weft_alloc_zeroed(&engine->allocator, sizeof *file);
    if (!file)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    file->engine = weft_engine_retain(engine);
    file->path_bytes = strlen(path) + 1;
    file->path = weft_alloc(&engine->allocator, file->path_bytes);
    status = file->path ? weft_source_open(engine, path, false, NULL, NULL, &file->source)
                        : weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    if (status) {
        weft_file_release(&file);
        return status;
    }
    memcpy(file->path, path, file->path_bytes);
    const char *slash = strrchr(file->path, '/');
    file->base = slash && slash[1] ? slash + 1 : file->path;
    *out = file;
    return WEFT_OK;
}

void weft_file_release(weft_file **file) {
    if (!file || !*file)
        return;
    weft_file *f = *file;
    *file = NULL;
    weft_engine *engine = f->engine;
    weft_weights_destroy(f->importance);
    if (f->source.metadata)
        weft_source_close(&f->source);
    weft_dealloc(&engine->allocator, f->path, f->path ? f->path_bytes : 0);
    weft_dealloc(&engine->allocator, f, sizeof *f);
    weft_engine_release(&engine);
}

weft_status weft_file_weigh(weft_file *file, const char *imatrix) {
    weft_weights *read;
    uint32_t n_chunks;
    if (!file || !imatrix)
        return weft_fail(WEFT_E_NULL, "weft_file_weigh: file and imatrix are required");
    weft_status status = weft_imatrix_read(file->engine, imatrix, &read, &n_chunks);
    if (status)
        return status;
    weft_weights_destroy(file->importance);
    file->importance = read;
    return WEFT_OK;
}

/* ---- Metadata and tensors ---- */

size_t weft_file_n_metadata(const weft_file *file) {
    return file ? weft_metadata_count(file->source.metadata) : 0;
}

const char *weft_file_metadata(const weft_file *file, size_t i, weft_value *value) {
    return file ? weft_metadata_at(file->source.metadata, i, value) : NULL;
}

bool weft_file_array_item(const weft_file *file, size_t i, size_t j, weft_value *value) {
    return file && value && weft_metadata_item(file->source.metadata, i, j, value);
}

size_t weft_file_n_tensors(const weft_file *file) {
    return file ? weft_weights_count(file->source.weights) : 0;
}

bool weft_file_tensor(const weft_file *file, size_t i, weft_tensor_info *info) {
    if (!info || i >= weft_file_n_tensors(file))
        return false;
    const weft_tensor *t = weft_weights_at(file->source.weights, i, &info->name);
    info->dtype = t->dtype;
    info->rank = t->rank;
    memset(info->dims, 0, sizeof info->dims);
    for (int d = 0; d < t->rank; d++)
        info->dims[d] = t->dims[d];
    info->size_bytes = t->storage->size_bytes;
    info->offset = file->source.offsets[i];
    return true;
}

static uint64_t elements_of(const weft_tensor *t) {
    uint64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= (uint64_t)t->dims[d]; /* checked when the tensor was made */
    return n;
}

/* ---- Digests ---- */

/* `n` elements as float32; false where the type has no definition. */
static bool to_floats(weft_dtype dtype, const unsigned char *from, size_t n, float *out) {
    if (dtype != WEFT_F64)
        return weft_dequantize_row(dtype, from, n, out);
    for (size_t i = 0; i < n; i++) {
        double v;
        memcpy(&v, from + 8 * i, sizeof v);
        out[i] = (float)v;
    }
    return true;
}

/* Little-endian float32 bytes are the floats' own on the machines that weft runs on. */
weft_status weft_file_digest(const weft_file *file, size_t i, uint8_t sha256[32]) {
    if (!file || !sha256)
        return weft_fail(WEFT_E_NULL, "weft_file_digest: file and sha256 are required");
    if (i >= weft_file_n_tensors(file))
        return weft_fail(WEFT_E_RANGE, "weft_file_digest: tensor %zu of %zu", i,
                         weft_file_n_tensors(file));
    const char *name;
    const weft_tensor *t = weft_weights_at(file->source.weights, i, &name);
    const unsigned char *data = weft_tensor_data(t);
    size_t block = weft_dtype_block(t->dtype), block_bytes = weft_dtype_block_bytes(t->dtype);
    uint64_t left = elements_of(t);
    float piece[DIGEST_PIECE];
    weft_sha256 hash;
    weft_sha256_start(&hash);
    while (left > 0) {
        size_t n = left < DIGEST_PIECE ? (size_t)left : DIGEST_PIECE;
        if (!to_floats(t->dtype, data, n, piece))
            return weft_fail(WEFT_E_UNSUPPORTED, "%s: tensor '%s': type %s cannot be dequantised",
                             file->path, name, weft_dtype_name(t->dtype));
        weft_sha256_add(&hash, piece, n * sizeof piece[0]);
        data += n / block * block_bytes;
        left -= n;
    }
    weft_sha256_finish(&hash, sha256);
    return WEFT_OK;
}

/* ---- Summary ---- */

static const char *string_or_empty(const weft_file *file, const char *key) {
    const char *text;
    return weft_metadata_string(file->source.metadata, key, &text) ? "" : text;
}

/* What the file says of its longest context where the architecture is unknown; 0: nothing. */
static int32_t said_context(const weft_file *file, const char *architecture) {
    const weft_metadata *m = file->source.metadata;
    char key[256];
    uint32_t n = 0;
    if (file->source.format == WEFT_FORMAT_HF)
        snprintf(key, sizeof key, "max_position_embeddings");
    else
        snprintf(key, sizeof key, "%.200s.context_length", architecture);
    if (weft_metadata_u32(m, key, &n))
        return 0;
    return n <= INT32_MAX ? (int32_t)n : INT32_MAX;
}

weft_file_summary weft_file_summarize(const weft_file *file, int32_t n_context) {
    weft_file_summary s = {.format = "", .architecture = "", .name = ""};
    if (!file)
        return s;
    bool hf = file->source.format == WEFT_FORMAT_HF;
    s.format = file->source.format_name;
    s.architecture = string_or_empty(file, hf ? "model_type" : "general.architecture");
    s.name = hf ? file->base : string_or_empty(file, "general.name");
    for (size_t i = 0; i < weft_weights_count(file->source.weights); i++)
        s.n_parameters += elements_of(weft_weights_at(file->source.weights, i, NULL));
    s.weight_bytes = file->source.weight_bytes;
    if (s.n_parameters > 0)
        s.bits_per_weight = (double)s.weight_bytes * 8 / (double)s.n_parameters;
    uint64_t cache_bytes;
    const weft_metadata *m = file->source.metadata;
    int32_t trained = 0;
    if (!weft_network_estimate(m, hf, 1, WEFT_F16, &trained, &cache_bytes))
        trained = said_context(file, s.architecture);
    s.n_context = trained;
    s.n_context_asked = n_context > 0                              ? n_context
                        : trained > 0 && trained < DEFAULT_CONTEXT ? trained
                                                                   : DEFAULT_CONTEXT;
    if (weft_network_estimate(m, hf, s.n_context_asked, WEFT_F16, &trained, &cache_bytes) &&
        !weft_add_u64(s.weight_bytes, cache_bytes, &s.memory_bytes))
        s.memory_bytes = UINT64_MAX;
    return s;
}

/* ---- Check ---- */

static int64_t embedding_rows(const weft_source *source) {
    static const char *const names[] = {"token_embd.weight", "model.embed_tokens.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const weft_tensor *t = weft_weights_find(source->weights, names[i]);
        if (t && t->rank == 2)
            return t->dims[0];
    }
    return -1;
}

static weft_status check_tokenizer(const weft_file *file, int64_t n_rows) {
    const weft_source *source = &file->source;
    weft_tokenizer *tokenizer = NULL;
    weft_status status;
    if (source->format == WEFT_FORMAT_GGUF)
        status = weft_tokenizer_from_gguf(file->engine, source->metadata, NULL, n_rows, &tokenizer);
    else if (!source->tokenizer_json)
        return weft_tokenizer_open(file->engine, file->path, NULL, &tokenizer); /* says what is */
    else
        status = weft_tokenizer_from_json(file->engine, source->tokenizer_json,
                                          source->tokenizer_json_bytes, source->metadata, NULL,
                                          n_rows, &tokenizer);
    weft_tokenizer_release(&tokenizer);
    return status ? weft_fail_in(status, "%s", file->path) : WEFT_OK;
}

weft_status weft_file_check(const weft_file *file) {
    if (!file)
        return weft_fail(WEFT_E_NULL, "weft_file_check: file is required");
    const weft_source *source = &file->source;
    weft_status status = weft_engine_alive(file->engine);
    if (status)
        return status;
    weft_network_options options = {.hugging_face = source->format == WEFT_FORMAT_HF,
                                    .check_only = true};
    weft_network *network = NULL;
    status =
        weft_network_create(file->engine, source->metadata, source->weights, &options, &network);
    if (status)
        return weft_fail_in(status, "%s", file->path);
    int64_t n_rows = network ? weft_network_info(network).n_vocab : embedding_rows(source);
    weft_network_destroy(&network);
    return check_tokenizer(file, n_rows);
}
