/* Read-only mappings of regular files, and writers whose file appears by rename. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/detail.h"

static weft_status open_failed(const char *path) {
    weft_status status = errno == ENOENT || errno == ENOTDIR ? WEFT_E_NOT_FOUND : WEFT_E_IO;
    return weft_fail(status, "%s: cannot open: %s", path, strerror(errno));
}

static void note_change(const struct stat *info, weft_watched_file *watched) {
    watched->size_bytes = info->st_size;
    watched->seconds = info->st_mtim.tv_sec;
    watched->nanoseconds = info->st_mtim.tv_nsec;
}

static weft_status map_file(const char *path, int fd, size_t size_bytes, weft_mapping *out) {
    if (size_bytes == 0)
        return WEFT_OK;
    void *data = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return weft_fail(WEFT_E_IO, "%s: cannot map %zu bytes: %s", path, size_bytes,
                         strerror(errno));
    *out = (weft_mapping){.data = data, .size_bytes = size_bytes};
    return WEFT_OK;
}

weft_status weft_file_map(const char *path, weft_mapping *out) {
    weft_watched_file file;
    weft_status status = weft_file_map_watched(path, out, &file);
    weft_file_unwatch(&file);
    return status;
}

weft_status weft_file_map_watched(const char *path, weft_mapping *out, weft_watched_file *watched) {
    *out = (weft_mapping){0};
    *watched = (weft_watched_file){.fd = -1};
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return open_failed(path);
    struct stat info;
    watched->fd = fd;
    weft_status status = WEFT_OK;
    if (fstat(fd, &info) != 0)
        status = weft_fail(WEFT_E_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = weft_fail(WEFT_E_IO, "%s: not a regular file", path);
    else if ((uintmax_t)info.st_size > SIZE_MAX)
        status = weft_fail(WEFT_E_OVERFLOW, "%s: too large to map", path);
    else
        status = map_file(path, fd, (size_t)info.st_size, out);
    if (status)
        weft_file_unwatch(watched);
    else
        note_change(&info, watched);
    return status;
}

bool weft_file_unchanged(const weft_watched_file *watched) {
    struct stat info;
    weft_watched_file now = *watched;
    if (watched->fd < 0)
        return true;
    if (fstat(watched->fd, &info) != 0)
        return false;
    note_change(&info, &now);
    return now.size_bytes == watched->size_bytes && now.seconds == watched->seconds &&
           now.nanoseconds == watched->nanoseconds;
}

void weft_file_unwatch(weft_watched_file *watched) {
    if (watched->fd >= 0)
        close(watched->fd);
    watched->fd = -1;
}

void weft_file_unmap(weft_mapping *map) {
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size_bytes);
    *map = (weft_mapping){0};
}

void weft_mapping_drop(const weft_mapping *map, size_t begin, size_t n) {
    if (!map->data || begin > map->size_bytes || n > map->size_bytes - begin)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first = (begin + page - 1) / page * page, last = (begin + n) / page * page;
    if (first < last)
        (void)madvise((void *)(uintptr_t)(map->data + first), last - first, MADV_DONTNEED);
}

bool weft_path_is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

struct weft_writer {
    weft_allocator allocator;
    size_t size_bytes; /* of this object */
    int fd;
    const char *path, *temporary; /* into `names` */
    char names[];
};

static void writer_free(weft_writer **w) {
    weft_allocator a = (*w)->allocator;
    weft_dealloc(&a, *w, (*w)->size_bytes);
    *w = NULL;
}

weft_status weft_writer_open(const weft_allocator *a, const char *path, weft_writer **out) {
    *out = NULL;
    /* The rename at the end would put a file where a device, a pipe or a folder was. */
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return weft_fail(WEFT_E_IO, "%s: cannot write: not a regular file", path);
    size_t n = strlen(path), size = sizeof(weft_writer) + 2 * n + 32 + 1;
    weft_writer *w = weft_alloc_zeroed(a, size);
    if (!w)
        return weft_fail(WEFT_E_MEMORY, "%s: out of memory", path);
    w->allocator = *a;
    w->size_bytes = size;
    memcpy(w->names, path, n + 1);
    w->path = w->names;
    w->temporary = w->names + n + 1;
    w->fd = -1;
    for (int attempt = 0; attempt < 100 && w->fd < 0; attempt++) {
        snprintf(w->names + n + 1, n + 31, "%s.%ld.%d.part", path, (long)getpid(), attempt);
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd < 0 && errno != EEXIST)
            break;
    }
    if (w->fd < 0) {
        weft_status status = weft_fail(WEFT_E_IO, "%s: cannot create: %s", path, strerror(errno));
        writer_free(&w);
        return status;
    }
    *out = w;
    return WEFT_OK;
}

weft_status weft_writer_put(weft_writer *w, const void *data, size_t size_bytes) {
    const char *from = data;
    while (size_bytes > 0) {
        ssize_t n = write(w->fd, from, size_bytes < (1u << 30) ? size_bytes : (1u << 30));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return weft_fail(WEFT_E_IO, "%s: cannot write: %s", w->path, strerror(errno));
        from += n;
        size_bytes -= (size_t)n;
    }
    return WEFT_OK;
}

weft_status weft_writer_commit(weft_writer **writer) {
    weft_writer *w = *writer;
    weft_status status = WEFT_OK;
    bool written = fsync(w->fd) == 0;
    int error = errno;
    if (close(w->fd) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && rename(w->temporary, w->path) != 0) {
        written = false;
        error = errno;
    }
    if (!written) {
        unlink(w->temporary);
        status = weft_fail(WEFT_E_IO, "%s: cannot write: %s", w->path, strerror(error));
    }
    writer_free(writer);
    return status;
}

void weft_writer_abort(weft_writer **writer) {
    if (!writer || !*writer)
        return;
    close((*writer)->fd);
    unlink((*writer)->temporary);
    writer_free(writer);
}
