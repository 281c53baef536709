/* Files: a read-only mapping, and writing that appears by rename. */
#ifndef WEFT_BASE_FILE_H
#define WEFT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/engine.h>
#include <weft/status.h>

typedef struct weft_mapping {
    const unsigned char *data; /* NULL for an empty file */
    size_t size_bytes;
} weft_mapping;

/* A mapped file that is kept open, to see whether it has changed since. */
typedef struct weft_watched_file {
    int fd;                                   /* -1: none */
    int64_t size_bytes, seconds, nanoseconds; /* of its last change */
} weft_watched_file;

/* Maps a regular file (never opens a FIFO or device for reading: WEFT_E_IO). The detail names path
 * and reason. Errors: WEFT_E_NOT_FOUND, WEFT_E_IO. */
weft_status weft_file_map(const char *path, weft_mapping *out);
/* The same; `watched` is closed by weft_file_unwatch. */
weft_status weft_file_map_watched(const char *path, weft_mapping *out, weft_watched_file *watched);
/* Whether size and time of its last change are still what they were. */
bool weft_file_unchanged(const weft_watched_file *watched);
void weft_file_unwatch(weft_watched_file *watched);
void weft_file_unmap(weft_mapping *map);
/* Tells the system that pages wholly inside [begin, begin + n) are not needed soon. */
void weft_mapping_drop(const weft_mapping *map, size_t begin, size_t n);

bool weft_path_is_directory(const char *path);

/* Writes next to `path` and renames on commit; abort (or a failed commit) leaves nothing. */
typedef struct weft_writer weft_writer;
weft_status weft_writer_open(const weft_allocator *a, const char *path, weft_writer **out);
weft_status weft_writer_put(weft_writer *w, const void *data, size_t size_bytes);
weft_status weft_writer_commit(weft_writer **w);
void weft_writer_abort(weft_writer **w);

#endif
