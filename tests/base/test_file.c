/* Mappings refuse what is no regular file; a written file appears whole or not at all. */
#include <dirent.h>
#include <sys/stat.h>
#include "test.h"
#include "base/alloc.h"
#include "base/file.h"

static char directory[64];

static int setup(void **state) {
    (void)state;
    strcpy(directory, "/tmp/weft_test_file_XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int n_files(void) {
    int n = 0;
    DIR *d = opendir(directory);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int teardown(void **state) {
    (void)state;
    static const char *const names[] = {"a", "fifo", "empty"};
    for (size_t i = 0; i < 3; i++)
        unlink(path_of(names[i]));
    return rmdir(directory);
}

static void a_committed_file_is_there_and_an_aborted_one_is_not(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_writer *w;
    assert_weft_ok(weft_writer_open(&a, path_of("a"), &w));
    assert_weft_ok(weft_writer_put(w, "half", 4));
    weft_writer_abort(&w);
    assert_null(w);
    assert_int_equal(n_files(), 0);

    assert_weft_ok(weft_writer_open(&a, path_of("a"), &w));
    assert_weft_ok(weft_writer_put(w, "whole", 5));
    assert_int_equal(access(path_of("a"), F_OK), -1);
    assert_weft_ok(weft_writer_commit(&w));
    assert_int_equal(n_files(), 1);
    weft_mapping m;
    assert_weft_ok(weft_file_map(path_of("a"), &m));
    assert_int_equal(m.size_bytes, 5);
    assert_memory_equal(m.data, "whole", 5);
    weft_mapping_drop(&m, 0, 5);
    assert_memory_equal(m.data, "whole", 5);
    weft_file_unmap(&m);
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    weft_mapping m;
    assert_weft_fails(weft_file_map(path_of("absent"), &m), WEFT_E_NOT_FOUND);
    assert_detail_has("No such file");
    assert_weft_fails(weft_file_map(directory, &m), WEFT_E_IO);
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_weft_fails(weft_file_map(path_of("fifo"), &m), WEFT_E_IO);
    assert_detail_has("not a regular file");
    assert_weft_fails(weft_file_map("/dev/zero", &m), WEFT_E_IO);
    FILE *f = fopen(path_of("empty"), "w");
    fclose(f);
    assert_weft_ok(weft_file_map(path_of("empty"), &m));
    assert_int_equal(m.size_bytes, 0);
    weft_file_unmap(&m);
}

/* The rename at the end would replace a device, a pipe or a folder by a file. */
static void a_writer_replaces_files_alone(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_writer *w = (void *)1;
    struct stat there;
    const char *pipe = path_of("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_weft_fails(weft_writer_open(&a, pipe, &w), WEFT_E_IO);
    assert_null(w);
    assert_detail_has("not a regular file");
    assert_true(stat(pipe, &there) == 0 && S_ISFIFO(there.st_mode));
    unlink(pipe);
    assert_weft_fails(weft_writer_open(&a, "/dev/null", &w), WEFT_E_IO);
    assert_weft_fails(weft_writer_open(&a, "/", &w), WEFT_E_IO);
}

static void a_writer_in_a_missing_folder_fails(void **state) {
    (void)state;
    weft_allocator a = weft_allocator_system();
    weft_writer *w = (void *)1;
    assert_weft_fails(weft_writer_open(&a, path_of("no/such"), &w), WEFT_E_IO);
    assert_null(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_committed_file_is_there_and_an_aborted_one_is_not),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_writer_replaces_files_alone),
        cmocka_unit_test(a_writer_in_a_missing_folder_fails),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
