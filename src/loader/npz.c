/* .npz files to and from bundles. */
#include "loader/npz.h"

#include <string.h>
#include "base/file.h"
#include "loader/bundle.h"
#include "loader/npy.h"
#include "loader/zip.h"

static const char suffix[] = ".npy";
#define SUFFIX_BYTES (sizeof suffix - 1)

/* ---- Reading ---- */

static weft_status make_tensor(const weft_allocator *a, const weft_zip_member *m,
                               weft_tensor **out) {
    weft_npy npy;
    weft_status status = weft_npy_parse(m->data, m->size_bytes, &npy);
    if (!status)
        status = weft_tensor_create_heap(a, npy.dtype, WEFT_LAYOUT_STRIDED, npy.rank, npy.dims,
                                         false, out);
    if (status)
        return status;
    status = weft_npy_read(&npy, weft_tensor_data(*out));
    if (status)
        weft_tensor_release(out);
    return status;
}

static weft_status add_member(const weft_allocator *a, const weft_zip_member *m,
                              weft_weights *out) {
    int shown = m->name_bytes < 80 ? (int)m->name_bytes : 80;
    if (m->name_bytes <= SUFFIX_BYTES ||
        memcmp(m->name + m->name_bytes - SUFFIX_BYTES, suffix, SUFFIX_BYTES) != 0)
        return weft_fail(WEFT_E_UNSUPPORTED, "member '%.*s' is no .npy file", shown, m->name);
    if (memchr(m->name, 0, m->name_bytes))
        return weft_fail(WEFT_E_FORMAT, "member '%.*s' has a NUL in its name", shown, m->name);
    weft_tensor *t;
    weft_status status = make_tensor(a, m, &t);
    if (status)
        return weft_fail_in(status, "member '%.*s'", shown, m->name);
    size_t n = m->name_bytes - SUFFIX_BYTES;
    char *name = weft_alloc(a, n + 1);
    if (!name) {
        weft_tensor_release(&t);
        return weft_fail(WEFT_E_MEMORY, "member '%.*s': out of memory", shown, m->name);
    }
    memcpy(name, m->name, n);
    name[n] = 0;
    status = weft_weights_take(out, name, t);
    weft_dealloc(a, name, n + 1);
    return status;
}

weft_status weft_npz_parse(const weft_allocator *a, const unsigned char *data, size_t n,
                           weft_weights *out) {
    weft_zip zip;
    weft_zip_member member;
    weft_status status = weft_zip_open(data, n, &zip);
    while (!status) {
        status = weft_zip_next(&zip, &member);
        if (!status && !member.name)
            return WEFT_OK;
        if (!status)
            status = add_member(a, &member, out);
    }
    return status;
}

weft_status weft_npz_load(weft_engine *engine, const char *path, weft_bundle **out) {
    weft_mapping map;
    weft_status status = weft_bundle_create(engine, out);
    if (status)
        return weft_fail_in(status, "npz_load");
    status = path ? weft_file_map(path, &map) : weft_fail(WEFT_E_NULL, "npz_load: path is NULL");
    if (!status) {
        status = weft_npz_parse(&(*out)->allocator, map.data, map.size_bytes, (*out)->weights);
        weft_file_unmap(&map);
        if (status)
            weft_fail_in(status, "%s", path);
    }
    if (status)
        weft_bundle_release(out);
    return status;
}

/* ---- Writing ---- */

static weft_status put_member(const weft_allocator *a, weft_zip_out *zip, const char *name,
                              weft_tensor *t) {
    char header[WEFT_NPY_HEADER_ROOM];
    size_t n, name_bytes = strlen(name), room = name_bytes + sizeof suffix;
    weft_elements elements;
    weft_status status = weft_npy_header(t->dtype, t->rank, t->dims, header, &n);
    if (status)
        return status;
    char *member = weft_alloc(a, room);
    if (!member)
        return weft_fail(WEFT_E_MEMORY, "out of memory");
    memcpy(member, name, name_bytes);
    memcpy(member + name_bytes, suffix, sizeof suffix);
    status = weft_elements_open(a, t, &elements);
    if (!status) {
        status = weft_zip_put(zip, member, header, n, elements.data, elements.size_bytes);
        weft_elements_close(&elements);
    }
    weft_dealloc(a, member, room);
    return status;
}

weft_status weft_npz_save(const weft_bundle *bundle, const char *path) {
    if (!bundle || !path)
        return weft_fail(WEFT_E_NULL, "npz_save: %s is NULL", bundle ? "path" : "bundle");
    size_t n = weft_bundle_count(bundle), names_bytes = 0;
    const char *name;
    for (size_t i = 0; i < n && weft_bundle_at(bundle, i, &name); i++)
        names_bytes += strlen(name) + SUFFIX_BYTES;
    weft_zip_out *zip;
    weft_status status = weft_zip_create(&bundle->allocator, path, n, names_bytes, &zip);
    if (status)
        return status;
    for (size_t i = 0; i < n && !status; i++) {
        weft_tensor *t = weft_bundle_at(bundle, i, &name);
        status = put_member(&bundle->allocator, zip, name, t);
        if (status)
            weft_fail_in(status, "%s: '%.80s'", path, name);
    }
    if (!status)
        return weft_zip_commit(&zip);
    weft_zip_abort(&zip);
    return status;
}
