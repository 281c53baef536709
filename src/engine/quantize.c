/* weft_quantize: a recipe of the source's tensors, each with the type that options and mix give it.
 */
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/floats.h"
#include "engine/merge_lora.h"
#include "engine/mix.h"
#include "engine/recipe.h"
#include "loader/imatrix.h"
#include "tensor/impl.h"

#define MOST_PATTERNS 64

typedef struct job {
    weft_engine *engine;
    const weft_quantize_options *options;
    const weft_mix *mix;
    regex_t patterns[MOST_PATTERNS];
    size_t n_patterns;
    weft_source source;
    weft_recipe recipe;
    weft_weights *imatrix; /* NULL: none */
    weft_deltas *deltas;   /* of adapters; NULL: none */
    weft_quantize_result result;
} job;

/* ---- Choosing types ---- */

static weft_status compile_patterns(job *j) {
    const weft_quantize_options *o = j->options;
    if (o->n_tensors > MOST_PATTERNS)
        return weft_fail(WEFT_E_ARGUMENT, "%zu patterns for tensors, at most %d", o->n_tensors,
                         MOST_PATTERNS);
    for (size_t i = 0; i < o->n_tensors; i++) {
        char why[128];
        int code = regcomp(&j->patterns[i], o->tensors[i].pattern, REG_EXTENDED | REG_NOSUB);
        if (code) {
            regerror(code, &j->patterns[i], why, sizeof why);
            return weft_fail(WEFT_E_ARGUMENT, "pattern '%s': %s", o->tensors[i].pattern, why);
        }
        j->n_patterns++;
    }
    return WEFT_OK;
}

static int layer_of(const char *name) {
    int layer;
    return sscanf(name, "blk.%d.", &layer) == 1 ? layer : -1;
}

/* An integer of the architecture; an array's greatest element. */
static int said(const weft_metadata *m, const char *member) {
    const char *architecture;
    char key[256];
    size_t at;
    weft_value v, item;
    int64_t most = 0;
    if (weft_metadata_string(m, "general.architecture", &architecture))
        return 0;
    snprintf(key, sizeof key, "%.100s.%s", architecture, member);
    if (!weft_metadata_index(m, key, &at))
        return 0;
    weft_metadata_at(m, at, &v);
    if (v.type != WEFT_VALUE_ARRAY)
        most = v.as.i;
    for (size_t i = 0; weft_metadata_item(m, at, i, &item); i++)
        most = item.as.i > most ? item.as.i : most;
    return most > 0 && most <= INT32_MAX ? (int)most : 0;
}

static weft_place_in_model place_of(const job *j, const weft_made *made) {
    const weft_metadata *m = j->recipe.metadata;
    const char *name = made->item.name;
    weft_place_in_model p = {.role = weft_role_of(name, made->item.rank)};
    int head = said(m, "attention.head_count"), head_kv = said(m, "attention.head_count_kv");
    int layer = layer_of(name);
    bool has_output = false;
    for (size_t i = 0; i < j->recipe.n; i++) {
        const weft_made *other = &j->recipe.list[i];
        has_output = has_output || strcmp(other->item.name, "output.weight") == 0;
        if (weft_role_of(other->item.name, other->item.rank) != p.role)
            continue;
        /* Gate and up are counted apart. */
        if (p.role == WEFT_ROLE_GATE_UP &&
            !strstr(other->item.name, "ffn_up") != !strstr(name, "ffn_up"))
            continue;
        p.count++;
        p.index += layer_of(other->item.name) < layer;
    }
    if (p.role == WEFT_ROLE_EMBEDDING && !has_output)
        p.role = WEFT_ROLE_OUTPUT;
    p.n_gqa = head_kv > 0 ? head / head_kv : 1;
    p.n_expert = said(m, "expert_count");
    p.many_experts = made->item.rank > 2 && made->item.dims[0] > 1;
    p.has_imatrix = j->imatrix != NULL;
    p.n_cols = made->item.dims[made->item.rank - 1];
    return p;
}

static weft_dtype type_of(job *j, const weft_made *made) {
    weft_place_in_model place = place_of(j, made);
    weft_dtype source = made->from[0]->dtype;
    if (place.role == WEFT_ROLE_EXACT || weft_dtype_is_integer(source) || j->options->keep_types)
        return made->item.dtype;
    weft_dtype wanted = weft_mix_base(j->mix);
    size_t i = 0;
    while (i < j->n_patterns && regexec(&j->patterns[i], made->item.name, 0, NULL, 0) != 0)
        i++;
    if (i < j->n_patterns)
        wanted = j->options->tensors[i].dtype;
    else if (!j->options->pure)
        wanted = weft_mix_type(j->mix, &place);
    weft_dtype fitting = weft_fitting_type(wanted, place.n_cols);
    j->result.n_chosen++;
    j->result.n_fallback += fitting != wanted;
    return fitting;
}

/* ---- Importance ---- */

static weft_status take_importance(job *j, weft_made *made) {
    const weft_tensor *t = j->imatrix ? weft_weights_find(j->imatrix, made->item.name) : NULL;
    if (!t || !weft_dtype_is_quantized(made->item.dtype))
        return WEFT_OK;
    int64_t n_cols = made->item.dims[made->item.rank - 1], n = t->dims[0] * t->dims[1];
    int64_t n_matrices = 1;
    for (int d = 0; d < made->item.rank - 2; d++)
        n_matrices *= made->item.dims[d];
    if (n != n_cols && n != n_cols * n_matrices)
        return weft_fail(WEFT_E_FORMAT,
                         "%s: '%s' has %lld values for %lld matrices of %lld columns: it is of "
                         "another model",
                         j->options->imatrix, made->item.name, (long long)n, (long long)n_matrices,
                         (long long)n_cols);
    made->importance = weft_tensor_data(t);
    made->n_matrices = (size_t)(n / n_cols);
    j->result.n_important++;
    return WEFT_OK;
}

/* ---- All of it ---- */

static weft_status set_number(job *j, const char *key, uint64_t number) {
    weft_value v = {.type = WEFT_VALUE_U32, .as.u = number};
    return weft_recipe_set(&j->recipe, key, &v);
}

static weft_status set_text(job *j, const char *key, const char *text) {
    weft_value v = {.type = WEFT_VALUE_STRING, .as.s = {text, strlen(text)}};
    return weft_recipe_set(&j->recipe, key, &v);
}

/* Of a folder whose types were kept, that of most of its matrices. */
static int file_type(const job *j) {
    size_t n[WEFT_DTYPE_COUNT] = {0};
    weft_dtype most = WEFT_F32;
    if (j->mix)
        return weft_mix_file_type(j->mix);
    for (size_t i = 0; i < j->recipe.n; i++)
        if (j->recipe.list[i].item.rank > 1)
            n[j->recipe.list[i].item.dtype]++;
    for (int t = 0; t < WEFT_DTYPE_COUNT; t++)
        most = n[t] > n[most] ? (weft_dtype)t : most;
    const weft_mix *mix = weft_mix_find(weft_dtype_name(most));
    return mix ? weft_mix_file_type(mix) : 0;
}

static weft_status set_keys(job *j, uint32_t n_chunks) {
    weft_status status = set_number(j, "general.quantization_version", 2);
    if (!status)
        status = set_number(j, "general.file_type", (uint64_t)file_type(j));
    if (status || !j->imatrix)
        return status;
    status = set_text(j, "quantize.imatrix.file", j->options->imatrix);
    if (!status)
        status = set_number(j, "quantize.imatrix.entries_count", j->result.n_important);
    return status ? status : set_number(j, "quantize.imatrix.chunks_count", n_chunks);
}

static weft_status choose(job *j) {
    weft_status status = WEFT_OK;
    for (size_t i = 0; !status && i < j->recipe.n; i++) {
        weft_made *made = &j->recipe.list[i];
        made->item.dtype = type_of(j, made);
        status = take_importance(j, made);
        if (!status)
            status = weft_gguf_item_bytes(&made->item, &made->item.size_bytes);
        uint64_t numel = 1;
        for (int d = 0; d < made->item.rank; d++)
            numel *= (uint64_t)made->item.dims[d]; /* checked with the size */
        j->result.n_parameters += numel;
        j->result.n_quantized += weft_dtype_is_quantized(made->item.dtype);
        j->result.bytes_after += made->item.size_bytes;
    }
    if (!status && j->imatrix && j->result.n_important == 0)
        status = weft_fail(WEFT_E_FORMAT, "%s: has no entry for a tensor of this model",
                           j->options->imatrix);
    return status;
}

static weft_status run(job *j, const char *from, const char *to) {
    const weft_quantize_options *o = j->options;
    uint32_t n_chunks = 0;
    weft_status status = compile_patterns(j);
    if (!status)
        status = weft_source_open(j->engine, from, false, NULL, NULL, &j->source);
    if (!status && o->imatrix)
        status = weft_imatrix_read(j->engine, o->imatrix, &j->imatrix, &n_chunks);
    if (!status && o->folders_only && j->source.format != WEFT_FORMAT_HF)
        status = weft_fail(WEFT_E_ARGUMENT, "%s: not a Hugging Face folder", from);
    if (!status)
        status = weft_recipe_of(j->engine, &j->source, from, o->pre, &j->recipe);
    if (!status && o->n_loras > 0)
        status =
            weft_deltas_add(j->engine, &j->source, &j->recipe, o->loras, o->n_loras, &j->deltas);
    if (!status)
        status = choose(j);
    if (!status)
        status = set_keys(j, n_chunks);
    j->result.bytes_before = j->source.weight_bytes;
    return status ? status
                  : weft_recipe_write(j->engine, &j->recipe, to, o->progress, o->progress_ctx);
}

weft_status weft_quantize(weft_engine *engine, const char *from, const char *to,
                          const weft_quantize_options *options, weft_quantize_result *result) {
    if (!engine || !from || !to || !options || !options->mix)
        return weft_fail(WEFT_E_NULL, "weft_quantize: engine, files and options are required");
    weft_status status = weft_engine_alive(engine);
    if (status)
        return status;
    const weft_mix *mix = options->keep_types ? NULL : weft_mix_find(options->mix);
    if (!mix && !options->keep_types)
        return weft_fail(WEFT_E_ARGUMENT, "'%.40s' is no type of file that can be written",
                         options->mix);
    job *j = weft_alloc_zeroed(&engine->allocator, sizeof *j);
    if (!j)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", to);
    j->engine = engine;
    j->options = options;
    j->mix = mix;
    weft_fpenv env = weft_fpenv_enter();
    status = run(j, from, to);
    weft_fpenv_restore(env);
    if (result)
        *result = j->result;
    for (size_t i = 0; i < j->n_patterns; i++)
        regfree(&j->patterns[i]);
    weft_deltas_free(&j->deltas);
    weft_recipe_free(&j->recipe);
    weft_weights_destroy(j->imatrix);
    weft_source_close(&j->source);
    weft_dealloc(&engine->allocator, j, sizeof *j);
    return status;
}
