/* A temporary folder that tests write small model files into. */
#ifndef WEFT_TESTS_LOADER_FOLDER_H
#define WEFT_TESTS_LOADER_FOLDER_H

#include "test.h"
#include "loader/bytes.h"
#include <dirent.h>
#include <sys/stat.h>
#include <weft/engine.h>

typedef struct folder {
    char path[256];
    char file[512]; /* what in_folder made last */
    weft_engine *engine;
} folder;

static inline int folder_open(void **state) {
    folder *f = calloc(1, sizeof *f);
    const char *tmp = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/weft-loader-XXXXXX", tmp ? tmp : "/tmp");
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 1;
    if (!mkdtemp(f->path) || weft_engine_create(&options, &f->engine))
        return -1;
    *state = f;
    return 0;
}

static inline const char *in_folder(folder *f, const char *name) {
    snprintf(f->file, sizeof f->file, "%s/%s", f->path, name);
    return f->file;
}

static inline int folder_close(void **state) {
    folder *f = *state;
    DIR *dir = opendir(f->path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            unlink(in_folder(f, e->d_name));
    if (dir)
        closedir(dir);
    rmdir(f->path);
    weft_engine_release(&f->engine);
    free(f);
    return 0;
}

static inline void write_bytes(folder *f, const char *name, const void *data, size_t n) {
    FILE *out = fopen(in_folder(f, name), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static inline void write_text(folder *f, const char *name, const char *text) {
    write_bytes(f, name, text, strlen(text));
}

/* A GGUF value of an integer type (number in the specification) and width. */
static inline void gguf_key(bytes *b, const char *key, uint32_t type, uint64_t v, size_t width) {
    put_string(b, key);
    put_uint(b, type, 4);
    put_uint(b, v, width);
}

/* A GGUF tensor description of type F32 with rows of d0 and, if d1 is not 0, d1 rows. */
static inline void gguf_info(bytes *b, const char *name, uint64_t d0, uint64_t d1,
                             uint64_t offset) {
    put_string(b, name);
    put_uint(b, d1 ? 2 : 1, 4);
    put_uint(b, d0, 8);
    if (d1)
        put_uint(b, d1, 8);
    put_uint(b, 0, 4);
    put_uint(b, offset, 8);
}

#endif
