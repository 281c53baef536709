/* ZIP archives of stored members: PKWARE's APPNOTE 6.3, with ZIP64. */
#ifndef WEFT_LOADER_ZIP_H
#define WEFT_LOADER_ZIP_H

#include "base/file.h"
#include <weft/status.h>

/* ---- Reading: over the bytes of a whole archive, which it borrows ---- */

typedef struct weft_zip {
    const unsigned char *data;
    size_t n_bytes;
    size_t at, end;    /* what is left of the central directory */
    uint64_t n_left;   /* members */
    size_t bytes_left; /* of the archive that no member has taken yet */
} weft_zip;

typedef struct weft_zip_member {
    const char *name; /* not terminated */
    size_t name_bytes;
    const unsigned char *data;
    size_t size_bytes;
} weft_zip_member;

weft_status weft_zip_open(const unsigned char *data, size_t n, weft_zip *out);
/* The next member; at the end *member is zeroed (name NULL). Its checksum is right. Errors:
 * WEFT_E_FORMAT; _UNSUPPORTED: compressed or encrypted. */
weft_status weft_zip_next(weft_zip *zip, weft_zip_member *member);

/* ---- Writing ---- */

typedef struct weft_zip_out weft_zip_out;

/* For `n_members` whose names have `names_bytes` together. Errors: WEFT_E_IO, _MEMORY. */
weft_status weft_zip_create(const weft_allocator *a, const char *path, size_t n_members,
                            size_t names_bytes, weft_zip_out **out);
/* One member of two parts, one behind the other. */
weft_status weft_zip_put(weft_zip_out *o, const char *name, const void *head, size_t head_bytes,
                         const void *body, size_t body_bytes);
/* Both null *out; abort (NULL allowed), or a failed commit, leaves no file. */
weft_status weft_zip_commit(weft_zip_out **out);
void weft_zip_abort(weft_zip_out **out);

#endif
