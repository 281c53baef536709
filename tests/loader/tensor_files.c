/* Reads a file of tensors and writes them as another, through the public headers: what
 * test_numpy.py holds against numpy. Usage: tensor_files FROM TO; formats go by the endings. One
 * tensor out of (or into) an .npy file is called "t". */
#include <stdio.h>
#include <string.h>
#include <weft/files.h>

static int ends_with(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static weft_status load(weft_engine *engine, weft_scope *s, const char *path, weft_bundle **b) {
    if (ends_with(path, ".npz"))
        return weft_npz_load(engine, path, b);
    if (ends_with(path, ".safetensors"))
        return weft_safetensors_load(engine, path, b);
    weft_tensor *t = weft_npy_load(s, path);
    weft_status status = t ? weft_bundle_create(engine, b) : weft_scope_status(s);
    return status ? status : weft_bundle_put(*b, "t", t);
}

static weft_status save(weft_scope *s, const weft_bundle *b, const char *path) {
    if (ends_with(path, ".npz"))
        return weft_npz_save(b, path);
    if (ends_with(path, ".safetensors"))
        return weft_safetensors_save(b, path);
    return weft_npy_save(s, path, weft_bundle_find(b, "t"));
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 1;
    weft_engine *engine = NULL;
    weft_scope *s = NULL;
    weft_bundle *b = NULL;
    weft_status status = weft_engine_create(&options, &engine);
    if (!status)
        status = weft_scope_create(engine, WEFT_SCOPE_HEAP, &s);
    if (!status)
        status = load(engine, s, argv[1], &b);
    if (!status)
        status = save(s, b, argv[2]);
    if (status)
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_detail());
    weft_bundle_release(&b);
    weft_scope_release(&s);
    weft_engine_release(&engine);
    return status ? 1 : 0;
}
