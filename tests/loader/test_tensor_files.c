/* Tensors to and from .npy, .npz and safetensors: fixed bytes, whatever is damaged is refused by
 * name, nothing half-written appears, and every allocation may fail. numpy's view of the same
 * files is in test_numpy.py. */
#include "folder.h"
#include "../tensor/tensor_test.h"
#include <weft/files.h>

#define LENGTH_OF(a) (sizeof(a) / sizeof(a)[0])

typedef struct fixture {
    folder *f;
    counter count;
    weft_engine *engine;
    weft_scope *s;
} fixture;

static int open_fixture(void **state) {
    fixture *x = calloc(1, sizeof *x);
    void *f;
    if (!x || folder_open(&f) || counter_engine(&x->count, 1, &x->engine) ||
        weft_scope_create(x->engine, WEFT_SCOPE_HEAP, &x->s))
        return -1;
    x->f = f;
    *state = x;
    return 0;
}

static int close_fixture(void **state) {
    fixture *x = *state;
    void *f = x->f;
    weft_scope_release(&x->s);
    weft_engine_release(&x->engine);
    size_t left = x->count.live_bytes + x->count.live_blocks;
    free(x);
    folder_close(&f);
    return left ? -1 : 0; /* nothing may leak */
}

static size_t n_files(const folder *f) {
    size_t n = 0;
    DIR *dir = opendir(f->path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static unsigned char *read_bytes(const char *path, size_t *n) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    unsigned char *data = malloc(1 << 16);
    *n = fread(data, 1, 1 << 16, in);
    fclose(in);
    return data;
}

/* ---- .npy ---- */

/* A whole file: version, header text (padded with nothing), elements. */
static size_t make_npy(unsigned char *to, int version, const char *header, const void *data,
                       size_t n) {
    size_t length = strlen(header), begin = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    memset(to + 6, 0, 6);
    to[6] = (unsigned char)version;
    to[8] = (unsigned char)(length & 255);
    to[9] = (unsigned char)(length >> 8);
    memcpy(to + begin, header, length);
    if (n > 0)
        memcpy(to + begin + length, data, n);
    return begin + length + n;
}

static weft_tensor *load_npy(fixture *x, int version, const char *header, const void *data,
                             size_t n) {
    unsigned char file[1024];
    write_bytes(x->f, "in.npy", file, make_npy(file, version, header, data, n));
    return weft_npy_load(x->s, x->f->file);
}

static void npy_is_written_as_numpy_writes_it(void **state) {
    fixture *x = *state;
    static const char header[] =
        "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    weft_tensor *t = weft_tensor_transpose(x->s, iota(x->s, 3, 2), 0, 1);
    assert_weft_ok(weft_npy_save(x->s, in_folder(x->f, "t.npy"), t));
    size_t n;
    unsigned char *file = read_bytes(x->f->file, &n);
    assert_int_equal(n, 128 + 24);
    assert_memory_equal(file, header, sizeof header - 1);
    for (size_t i = sizeof header - 1; i < 127; i++)
        assert_int_equal(file[i], ' ');
    assert_int_equal(file[127], '\n');
    assert_memory_equal(file + 128, ((float[]){0, 2, 4, 1, 3, 5}), 24);
    free(file);
    weft_tensor *back = weft_npy_load(x->s, x->f->file);
    assert_dims(back, 2, 3);
    assert_floats(back, 0, 2, 4, 1, 3, 5);
    assert_false(weft_tensor_is_immutable(back));
}

static void npy_orders_versions_and_spellings_are_read(void **state) {
    fixture *x = *state;
    static const float six[] = {0, 1, 2, 3, 4, 5};
    static const unsigned char big[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    weft_tensor *t =
        load_npy(x, 1, "{'shape':(2,3),'fortran_order':True,'descr':'<f4'}", six, sizeof six);
    assert_dims(t, 2, 3);
    assert_true(weft_tensor_is_contiguous(t));
    assert_floats(t, 0, 2, 4, 1, 3, 5);
    t = load_npy(x, 2, "{\"descr\": \"<f4\", 'fortran_order': False, 'shape': (3L, 2L), }  \n", six,
                 sizeof six);
    assert_dims(t, 3, 2);
    assert_floats(t, 0, 1, 2, 3, 4, 5);
    t = load_npy(x, 3, "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", big, 8);
    assert_floats(t, 1, -2);
    t = load_npy(x, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", six, 4);
    assert_int_equal(weft_tensor_rank(t), 0);
    t = load_npy(x, 1, "{'descr': '|b1', 'fortran_order': True, 'shape': (0, 7), }", NULL, 0);
    assert_dims(t, 0, 7);
    assert_int_equal(weft_tensor_dtype(t), WEFT_BOOL);
}

#define F4 "{'descr': '<f4', 'fortran_order': False, 'shape': "

static void damaged_npy_files_are_refused(void **state) {
    fixture *x = *state;
    static const struct {
        const char *header;
        size_t n_data;
        weft_status status;
        const char *part;
    } cases[] = {
        {F4 "(2,), }", 7, WEFT_E_FORMAT, "takes 8 bytes, and 7 follow"},
        {F4 "(2,), }", 9, WEFT_E_FORMAT, "takes 8 bytes, and 9 follow"},
        {F4 "(4294967296, 4294967296, 4294967296), }", 0, WEFT_E_FORMAT, "npy header"},
        {F4 "(9223372036854775808,), }", 0, WEFT_E_FORMAT, "too large"},
        {F4 "(4611686018427387904,), }", 0, WEFT_E_FORMAT, "npy header"},
        {F4 "(-1,), }", 0, WEFT_E_FORMAT, "an extent"},
        {F4 "(1,1,1,1,1,1,1,1,1), }", 4, WEFT_E_UNSUPPORTED, "more than 8 dims"},
        {F4 "(2), }", 8, WEFT_E_FORMAT, "comma"},
        {F4 "(2,,), }", 8, WEFT_E_FORMAT, "an extent"},
        {F4 "(2,", 8, WEFT_E_FORMAT, "ends where"},
        {F4 "(2,), } x", 8, WEFT_E_FORMAT, "nothing more"},
        {F4 "(2,), 'shape': (2,)}", 8, WEFT_E_FORMAT, "'shape' twice"},
        {F4 "(2,), 'x': 1}", 8, WEFT_E_FORMAT, "the key 'x'"},
        {"{'descr': '<f4', 'shape': (2,)}", 8, WEFT_E_FORMAT, "lacks"},
        {"{'descr': '<f4', 'fortran_order': 1, 'shape': (2,)}", 8, WEFT_E_FORMAT, "True or False"},
        {"{'descr': '<f4, 'fortran_order': False}", 8, WEFT_E_UNSUPPORTED, "'<f4, '"},
        {"{'descr': '\\x3cf4'", 8, WEFT_E_FORMAT, "broken string"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 8, WEFT_E_UNSUPPORTED, "Python"},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}", 4, WEFT_E_UNSUPPORTED, "bf16"},
        {"{'descr': '<u4', 'fortran_order': False, 'shape': (2,)}", 8, WEFT_E_UNSUPPORTED, "'<u4'"},
        {"{'descr': [('a', '<f4')]", 8, WEFT_E_UNSUPPORTED, "structured"},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (8,)}", 8, WEFT_E_FORMAT, "0 nor 1"},
        {"", 0, WEFT_E_FORMAT, "a dict"},
    };
    static const unsigned char data[16] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        assert_null(load_npy(x, 1, cases[i].header, data, cases[i].n_data));
        assert_weft_fails(weft_scope_status(x->s), cases[i].status);
        assert_detail_has(cases[i].part);
        assert_detail_has("in.npy");
        assert_weft_ok(weft_scope_reset(x->s));
    }
    unsigned char file[256];
    size_t n = make_npy(file, 2, F4 "(2,), }", data, 8);
    for (size_t cut = 0; cut < n; cut++) { /* cut anywhere */
        write_bytes(x->f, "cut.npy", file, cut);
        assert_refused(x->s, weft_npy_load(x->s, x->f->file), WEFT_E_FORMAT);
    }
    file[6] = 4;
    write_bytes(x->f, "v4.npy", file, n);
    assert_refused(x->s, weft_npy_load(x->s, x->f->file), WEFT_E_UNSUPPORTED);
    assert_refused(x->s, weft_npy_load(x->s, "/nowhere/x.npy"), WEFT_E_NOT_FOUND);
    assert_refused(x->s, weft_npy_load(x->s, NULL), WEFT_E_NULL);
}

static void what_npy_cannot_hold_leaves_no_file(void **state) {
    fixture *x = *state;
    const char *path = in_folder(x->f, "t.npy");
    weft_tensor *half = weft_zeros(x->s, WEFT_BF16, 1, DIMS(2));
    weft_tensor *blocks = weft_zeros(x->s, WEFT_Q8_0, 1, DIMS(32));
    weft_tensor *keep_half = weft_tensor_retain(half), *keep_blocks = weft_tensor_retain(blocks);
    assert_weft_fails(weft_npy_save(x->s, path, keep_half), WEFT_E_DTYPE);
    assert_detail_has("bf16: cast to f32, or write safetensors");
    assert_weft_fails(weft_npy_save(x->s, path, keep_half), WEFT_E_DTYPE); /* sticky */
    weft_scope_reset(x->s);
    assert_weft_fails(weft_npy_save(x->s, path, keep_blocks), WEFT_E_DTYPE);
    weft_scope_reset(x->s);
    assert_weft_fails(weft_npy_save(x->s, "/nowhere/t.npy", zeros(x->s, 1)), WEFT_E_IO);
    weft_scope_reset(x->s);
    assert_weft_fails(weft_npy_save(x->s, NULL, zeros(x->s, 1)), WEFT_E_NULL);
    weft_scope_reset(x->s);
    assert_weft_fails(weft_npy_save(x->s, path, NULL), WEFT_E_NULL);
    assert_weft_fails(weft_npy_save(NULL, path, keep_half), WEFT_E_NULL);
    assert_int_equal(n_files(x->f), 0);
    weft_tensor_release(&keep_half);
    weft_tensor_release(&keep_blocks);
}

/* ---- Bundles, .npz, safetensors ---- */

static weft_bundle *make_bundle(fixture *x) {
    weft_bundle *b;
    assert_weft_ok(weft_bundle_create(x->engine, &b));
    assert_weft_ok(weft_bundle_put(b, "bytes", weft_full(x->s, WEFT_U8, 1, DIMS(3), 9)));
    assert_weft_ok(weft_bundle_put(b, "x.weight", iota(x->s, 2, 3)));
    weft_tensor *t = weft_tensor_transpose(x->s, iota(x->s, 2, 2), 0, 1);
    assert_weft_ok(weft_bundle_put(b, "turned", t));
    assert_weft_ok(weft_bundle_put(b, "none", zeros(x->s, 2, 0)));
    assert_weft_ok(weft_bundle_put(b, "one", weft_full(x->s, WEFT_I64, 0, NULL, -5)));
    return b;
}

static void assert_bundle(weft_bundle *b) {
    int64_t five;
    uint8_t nines[3];
    assert_int_equal(weft_bundle_count(b), 5);
    assert_floats(weft_bundle_find(b, "x.weight"), 0, 1, 2, 3, 4, 5);
    assert_floats(weft_bundle_find(b, "turned"), 0, 2, 1, 3);
    assert_dims(weft_bundle_find(b, "none"), 2, 0);
    assert_weft_ok(weft_tensor_read(weft_bundle_find(b, "one"), &five, 8));
    assert_int_equal(five, -5);
    assert_weft_ok(weft_tensor_read(weft_bundle_find(b, "bytes"), nines, 3));
    assert_int_equal(nines[2], 9);
}

static void bundles_keep_names_and_tensors(void **state) {
    fixture *x = *state;
    weft_bundle *b = make_bundle(x), *none = NULL;
    const char *name;
    weft_tensor *t = zeros(x->s, 1);
    assert_weft_fails(weft_bundle_put(b, "one", t), WEFT_E_ARGUMENT);
    assert_detail_has("'one' is there already");
    static const char *const wrong[] = {"", "\xff", "\xc0\x80", "\xed\xa0\x80", "a\xe2\x82"};
    for (size_t i = 0; i < LENGTH_OF(wrong); i++)
        assert_weft_fails(weft_bundle_put(b, wrong[i], t), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_bundle_put(b, NULL, t), WEFT_E_NULL);
    assert_weft_fails(weft_bundle_put(b, "x", NULL), WEFT_E_NULL);
    assert_weft_fails(weft_bundle_put(NULL, "x", t), WEFT_E_NULL);
    assert_weft_fails(weft_bundle_create(NULL, &none), WEFT_E_NULL);
    assert_weft_fails(weft_bundle_create(x->engine, NULL), WEFT_E_NULL);
    assert_weft_ok(weft_scope_reset(x->s));
    assert_bundle(b); /* outlives the scope */
    assert_ptr_equal(weft_bundle_at(b, 1, &name), weft_bundle_find(b, "x.weight"));
    assert_string_equal(name, "x.weight");
    assert_null(weft_bundle_at(b, 5, &name));
    assert_null(name);
    assert_null(weft_bundle_find(b, "y"));
    assert_int_equal(weft_bundle_count(NULL), 0);
    weft_bundle_release(&b);
    assert_null(b);
    weft_bundle_release(&b);
    weft_bundle_release(NULL);
}

static void archives_come_back(void **state) {
    fixture *x = *state;
    weft_bundle *b = make_bundle(x), *back;
    assert_weft_ok(weft_npz_save(b, in_folder(x->f, "b.npz")));
    assert_weft_ok(weft_npz_load(x->engine, x->f->file, &back));
    assert_bundle(back);
    weft_bundle_release(&back);
    assert_weft_ok(weft_safetensors_save(b, in_folder(x->f, "b.safetensors")));
    assert_weft_ok(weft_safetensors_load(x->engine, x->f->file, &back));
    assert_bundle(back);
    weft_bundle_release(&back);
    weft_bundle_release(&b);
}

static void safetensors_are_these_bytes(void **state) {
    fixture *x = *state;
    static const char header[] =
        "{\"t\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"a\\\"\\u0001\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[4,5]}}";
    weft_bundle *b, *back;
    assert_weft_ok(weft_bundle_create(x->engine, &b));
    assert_weft_ok(weft_bundle_put(b, "a\"\x01", weft_full(x->s, WEFT_U8, 0, NULL, 7)));
    assert_weft_ok(weft_bundle_put(b, "t", weft_full(x->s, WEFT_BF16, 1, DIMS(2), 1)));
    assert_weft_ok(weft_safetensors_save(b, in_folder(x->f, "b.safetensors")));
    size_t n, length = (sizeof header - 1 + 7) / 8 * 8;
    unsigned char *file = read_bytes(x->f->file, &n);
    assert_int_equal(n, 8 + length + 5);
    assert_int_equal(file[0], length);
    assert_memory_equal(file + 8, header, sizeof header - 1);
    assert_memory_equal(file + 8 + length, "\x80\x3f\x80\x3f\x07", 5);
    free(file);
    assert_weft_ok(weft_safetensors_load(x->engine, x->f->file, &back));
    assert_int_equal(weft_tensor_dtype(weft_bundle_find(back, "t")), WEFT_BF16);
    weft_bundle_release(&back);
    assert_weft_fails(weft_npz_save(b, in_folder(x->f, "b.npz")), WEFT_E_DTYPE);
    assert_detail_has("'t'");
    assert_weft_ok(weft_bundle_put(b, "__metadata__", zeros(x->s, 1)));
    assert_weft_fails(weft_safetensors_save(b, in_folder(x->f, "c.safetensors")), WEFT_E_ARGUMENT);
    assert_int_equal(n_files(x->f), 1);
    weft_bundle_release(&b);
}

static void safetensors_keep_texts(void **state) {
    fixture *x = *state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"a \\\"b\\\"\":\"\\u000a\xc3\xa4\\\\"
        "\"},\"t\":{\"dtype\":\"F32\"";
    weft_bundle *b, *back;
    assert_weft_ok(weft_bundle_create(x->engine, &b));
    assert_weft_ok(weft_bundle_put_text(b, "format", "pt"));
    assert_weft_ok(weft_bundle_put_text(b, "a \"b\"", "\n\xc3\xa4\\"));
    assert_weft_fails(weft_bundle_put_text(b, "format", "np"), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_bundle_put_text(b, "x", "\xff"), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_bundle_put_text(b, "x", NULL), WEFT_E_NULL);
    for (int n_tensors = 0; n_tensors < 2; n_tensors++) { /* texts alone are a file, too */
        assert_weft_ok(weft_safetensors_save(b, in_folder(x->f, "b.safetensors")));
        assert_weft_ok(weft_safetensors_load(x->engine, x->f->file, &back));
        assert_int_equal(weft_bundle_count(back), n_tensors);
        assert_int_equal(weft_bundle_n_texts(back), 2);
        size_t n;
        const char *key;
        assert_string_equal(weft_bundle_find_text(back, "format", &n), "pt");
        assert_int_equal(n, 2);
        assert_string_equal(weft_bundle_text_at(back, 1, &key, NULL), "\n\xc3\xa4\\");
        assert_string_equal(key, "a \"b\"");
        assert_null(weft_bundle_find_text(back, "x", NULL));
        assert_null(weft_bundle_text_at(back, 2, NULL, NULL));
        weft_bundle_release(&back);
        if (n_tensors == 0)
            assert_weft_ok(weft_bundle_put(b, "t", iota(x->s, 3)));
    }
    size_t n;
    unsigned char *file = read_bytes(x->f->file, &n);
    assert_memory_equal(file + 8, header, sizeof header - 1);
    free(file);
    weft_bundle_release(&b);
}

/* Texts may have NULs, which a file writes as it does other controls; keys may not. */
static void nul_in_texts_of_safetensors(void **state) {
    fixture *x = *state;
    static const char texts[] = "\x28\0\0\0\0\0\0\0{\"__metadata__\":{\"key\":\"a\\u0000b\"}}     ";
    static const char keys[] = "\x28\0\0\0\0\0\0\0{\"__metadata__\":{\"k\\u0000y\":\"text\"}}    ";
    weft_bundle *b;
    size_t n;
    write_bytes(x->f, "nul.safetensors", texts, 48);
    for (int saved = 0; saved < 2; saved++) {
        assert_weft_ok(weft_safetensors_load(x->engine, x->f->file, &b));
        assert_memory_equal(weft_bundle_find_text(b, "key", &n), "a\0b", 4);
        assert_int_equal(n, 3);
        assert_weft_ok(weft_safetensors_save(b, in_folder(x->f, "again.safetensors")));
        weft_bundle_release(&b);
    }
    write_bytes(x->f, "nul.safetensors", keys, 48);
    assert_weft_fails(weft_safetensors_load(x->engine, x->f->file, &b), WEFT_E_FORMAT);
    assert_detail_has("has a NUL");
}

/* Every byte of a small archive changed, and every cut: read as before or refused with a reason,
 * and what carries the elements never changes unseen. */
static void damaged_archives_are_refused(void **state) {
    fixture *x = *state;
    weft_bundle *b, *back;
    assert_weft_ok(weft_bundle_create(x->engine, &b));
    assert_weft_ok(weft_bundle_put(b, "x", iota(x->s, 3)));
    assert_weft_ok(weft_npz_save(b, in_folder(x->f, "b.npz")));
    weft_bundle_release(&b);
    size_t n, n_refused = 0;
    unsigned char *file = read_bytes(x->f->file, &n);
    for (size_t cut = 0; cut < n; cut++) {
        write_bytes(x->f, "cut.npz", file, cut);
        assert_weft_fails(weft_npz_load(x->engine, x->f->file, &back), WEFT_E_FORMAT);
        assert_null(back);
        assert_detail_has("cut.npz");
    }
    for (size_t i = 0; i < n; i++) {
        file[i] ^= 0x55;
        write_bytes(x->f, "bent.npz", file, n);
        weft_status status = weft_npz_load(x->engine, x->f->file, &back);
        if (status) {
            assert_true(status == WEFT_E_FORMAT || status == WEFT_E_UNSUPPORTED);
            n_refused++;
        } else if (weft_bundle_count(back) == 1) {
            assert_floats(weft_bundle_find(back, "x"), 0, 1, 2);
        }
        weft_bundle_release(&back);
        file[i] ^= 0x55;
    }
    assert_true(n_refused > 50 + 128 + 12); /* names, headers, elements, directory */
    free(file);
}

static void one_name_twice_is_refused(void **state) {
    fixture *x = *state;
    weft_bundle *b, *back;
    assert_weft_ok(weft_bundle_create(x->engine, &b));
    assert_weft_ok(weft_bundle_put(b, "aa", iota(x->s, 3)));
    assert_weft_ok(weft_bundle_put(b, "ab", iota(x->s, 3)));
    assert_weft_ok(weft_npz_save(b, in_folder(x->f, "b.npz")));
    weft_bundle_release(&b);
    size_t n;
    unsigned char *file = read_bytes(x->f->file, &n);
    for (size_t i = 0; i + 6 <= n; i++)
        if (memcmp(file + i, "ab.npy", 6) == 0)
            file[i + 1] = 'a';
    write_bytes(x->f, "twice.npz", file, n);
    assert_weft_fails(weft_npz_load(x->engine, x->f->file, &back), WEFT_E_FORMAT);
    assert_detail_has("'aa' comes twice");
    free(file);
}

static void every_allocation_may_fail(void **state) {
    fixture *x = *state;
    static const char *const names[] = {"b.npz", "b.safetensors", "t.npy"};
    weft_bundle *b = make_bundle(x), *back = NULL;
    weft_tensor *turned = weft_tensor_retain(weft_bundle_find(b, "turned"));
    for (size_t i = 0; i < LENGTH_OF(names); i++) {
        for (int loading = 0; loading < 2; loading++) {
            weft_status status = WEFT_E_MEMORY;
            size_t tries = 0;
            for (; status && tries < 200; tries++) {
                char path[512];
                snprintf(path, sizeof path, "%s", in_folder(x->f, names[i]));
                assert_weft_ok(weft_scope_reset(x->s));
                x->count.fail_at = x->count.n_allocs + tries + 1;
                if (i == 2 && loading)
                    status = weft_npy_load(x->s, path) ? WEFT_OK : weft_scope_status(x->s);
                else if (i == 2)
                    status = weft_npy_save(x->s, path, turned);
                else if (loading)
                    status = i ? weft_safetensors_load(x->engine, path, &back)
                               : weft_npz_load(x->engine, path, &back);
                else
                    status = i ? weft_safetensors_save(b, path) : weft_npz_save(b, path);
                bool failed = x->count.n_allocs >= x->count.fail_at;
                x->count.fail_at = 0;
                assert_int_equal(status, failed ? WEFT_E_MEMORY : WEFT_OK);
                if (!loading)
                    assert_int_equal(n_files(x->f), i + (status == WEFT_OK));
                if (status)
                    assert_null(back);
            }
            assert_true(tries > 1 && tries < 200);
            weft_bundle_release(&back);
        }
    }
    weft_tensor_release(&turned);
    weft_bundle_release(&b);
}

#define file_test(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)

int main(void) {
    const struct CMUnitTest tests[] = {
        file_test(npy_is_written_as_numpy_writes_it),
        file_test(npy_orders_versions_and_spellings_are_read),
        file_test(damaged_npy_files_are_refused),
        file_test(what_npy_cannot_hold_leaves_no_file),
        file_test(bundles_keep_names_and_tensors),
        file_test(archives_come_back),
        file_test(safetensors_are_these_bytes),
        file_test(safetensors_keep_texts),
        file_test(nul_in_texts_of_safetensors),
        file_test(damaged_archives_are_refused),
        file_test(one_name_twice_is_refused),
        file_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
