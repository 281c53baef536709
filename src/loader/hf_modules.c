/* What sentence-transformers writes beside the config.json of an encoder: modules.json, a list of
 * what the hidden states go through, and the settings of their pooling. They become the metadata
 * "modules.TYPE" = the module's folder, and "pooling.…". */
#include "loader/read.h"

#include <stdio.h>
#include <string.h>
#include "base/detail.h"
#include "base/json.h"

/* The settings of pooling in `folder`/`sub`/config.json; absent ones are none. */
static weft_status read_pooling(const char *folder, const char *sub, weft_source *source) {
    char name[300], path[WEFT_PATH_ROOM];
    snprintf(name, sizeof name, "%s/config.json", sub);
    weft_status status = weft_path_join(folder, name, path);
    if (!status)
        status = weft_hf_config_read(path, "pooling.", source);
    return status == WEFT_E_NOT_FOUND ? WEFT_OK : status;
}

static weft_status put_module(weft_source *source, const char *path, const char *type,
                              const char *sub) {
    char key[128];
    weft_value v = {.type = WEFT_VALUE_STRING, .as.s = {sub, strlen(sub)}};
    int n = snprintf(key, sizeof key, "modules.%s", type);
    if (n < 0 || (size_t)n >= sizeof key)
        return weft_fail(WEFT_E_FORMAT, "%s: the type \"%.80s\" is too long", path, type);
    return weft_metadata_find(source->metadata, key, NULL)
               ? WEFT_OK
               : weft_metadata_put(source->metadata, key, (size_t)n, &v);
}

/* {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}; the transformer itself is
 * what the folder holds. */
static weft_status read_module(const char *folder, const char *path, const weft_json *module,
                               weft_source *source) {
    size_t n_type = 0, n_sub = 0;
    bool object = weft_json_type_of(module) == WEFT_JSON_OBJECT;
    const weft_json *member = object ? weft_json_get(module, "type") : NULL;
    const char *type = member ? weft_json_string(member, &n_type) : NULL;
    member = object ? weft_json_get(module, "path") : NULL;
    const char *sub = member ? weft_json_string(member, &n_sub) : NULL;
    if (!type || !sub || strlen(type) != n_type || strlen(sub) != n_sub)
        return weft_fail(WEFT_E_FORMAT, "%s: a module without type or path", path);
    const char *dot = strrchr(type, '.');
    type = dot ? dot + 1 : type;
    if (strcmp(type, "Transformer") == 0)
        return WEFT_OK;
    if (strcmp(type, "Pooling") != 0)
        return put_module(source, path, type, sub);
    if (strchr(sub, '/') || strchr(sub, '\\') || !strcmp(sub, "..") || n_sub > 255)
        return weft_fail(WEFT_E_FORMAT, "%s: '%.80s' is no folder in this one", path, sub);
    return read_pooling(folder, sub, source);
}

weft_status weft_hf_modules_read(const char *folder, weft_source *source) {
    char path[WEFT_PATH_ROOM];
    weft_mapping map;
    weft_json *root = NULL;
    weft_status status = weft_path_join(folder, "modules.json", path);
    if (!status)
        status = weft_file_map(path, &map);
    if (status == WEFT_E_NOT_FOUND)
        return read_pooling(folder, "1_Pooling", source);
    if (status)
        return status;
    status = weft_json_parse((const char *)map.data, map.size_bytes, path, &root);
    weft_file_unmap(&map);
    if (status)
        return status;
    if (weft_json_type_of(root) != WEFT_JSON_ARRAY)
        status = weft_fail(WEFT_E_FORMAT, "%s: no list of modules", path);
    for (size_t i = 0; !status && i < weft_json_length(root); i++)
        status = read_module(folder, path, weft_json_item(root, i), source);
    weft_json_free(&root);
    return status;
}
