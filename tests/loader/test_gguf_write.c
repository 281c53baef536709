/* Writing GGUF files: what was put in comes back through the reader, padding and order are the
 * format's, and a file that is not whole never appears. */
#include "folder.h"
#include "base/alloc.h"
#include "loader/gguf_write.h"
#include "loader/loader.h"
#include "tensor/impl.h"

#define LENGTH_OF(a) (sizeof(a) / sizeof(a)[0])

typedef struct fixture {
    folder *f;
    weft_allocator a;
    weft_metadata *m;
    char path[512];
} fixture;

static void put_key(weft_metadata *m, const char *key, weft_value v) {
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}

static void setup_maps(fixture *x, folder *f) {
    x->f = f;
    x->a = weft_allocator_system();
    x->m = weft_metadata_create(&x->a);
    snprintf(x->path, sizeof x->path, "%s/out.gguf", x->f->path);
}

static void tear_down(fixture *x) {
    weft_metadata_destroy(x->m);
}

static void values_of_every_type_come_back(void **state) {
    static const weft_value values[] = {
        {.type = WEFT_VALUE_U8, .as.u = 200},
        {.type = WEFT_VALUE_I8, .as.i = -3},
        {.type = WEFT_VALUE_U16, .as.u = 60000},
        {.type = WEFT_VALUE_I16, .as.i = -30000},
        {.type = WEFT_VALUE_U32, .as.u = 4000000000u},
        {.type = WEFT_VALUE_I32, .as.i = -2000000000},
        {.type = WEFT_VALUE_U64, .as.u = UINT64_MAX},
        {.type = WEFT_VALUE_I64, .as.i = INT64_MIN},
        {.type = WEFT_VALUE_F32, .as.f = 0.25},
        {.type = WEFT_VALUE_F64, .as.f = 0.1},
        {.type = WEFT_VALUE_BOOL, .as.u = 1},
        {.type = WEFT_VALUE_STRING, .as.s = {"a\0b", 3}},
    };
    fixture x;
    setup_maps(&x, *state);
    for (size_t i = 0; i < LENGTH_OF(values); i++) {
        char key[16];
        snprintf(key, sizeof key, "key.%zu", i);
        put_key(x.m, key, values[i]);
    }
    size_t lengths[] = {1, 0, 2};
    int16_t numbers[] = {-1, 2, 300};
    assert_weft_ok(weft_metadata_put_strings(x.m, "words", 5, "xyz", lengths, 3));
    assert_weft_ok(weft_metadata_put_array(x.m, "numbers", 7, WEFT_VALUE_I16, numbers, 3));
    weft_gguf_out *out;
    assert_weft_ok(weft_gguf_create(&x.a, x.path, x.m, NULL, 0, &out));
    assert_weft_ok(weft_gguf_commit(&out));

    weft_source source;
    weft_value v;
    assert_weft_ok(weft_source_open(x.f->engine, x.path, false, NULL, NULL, &source));
    assert_int_equal(weft_metadata_count(source.metadata), LENGTH_OF(values) + 2);
    for (size_t i = 0; i < LENGTH_OF(values) - 1; i++) {
        weft_metadata_at(source.metadata, i, &v);
        assert_int_equal(v.type, values[i].type);
        assert_true(v.as.u == values[i].as.u);
    }
    weft_metadata_at(source.metadata, LENGTH_OF(values) - 1, &v);
    assert_int_equal(v.as.s.n_bytes, 3);
    assert_memory_equal(v.as.s.text, "a\0b", 3);
    size_t at;
    assert_true(weft_metadata_index(source.metadata, "words", &at));
    assert_true(weft_metadata_item(source.metadata, at, 2, &v));
    assert_memory_equal(v.as.s.text, "yz", 2);
    assert_true(weft_metadata_index(source.metadata, "numbers", &at));
    assert_true(weft_metadata_item(source.metadata, at, 2, &v) && v.as.i == 300);
    weft_source_close(&source);
    tear_down(&x);
}

/* Three tensors whose sizes need padding, in odd pieces; alignment 64. */
static void tensors_come_back(void **state) {
    fixture x;
    setup_maps(&x, *state);
    put_key(x.m, "general.alignment", (weft_value){.type = WEFT_VALUE_U32, .as.u = 64});
    weft_gguf_item items[] = {
        {"a", WEFT_F32, 2, {3, 5}, 0},
        {"b", WEFT_Q4_0, 3, {2, 1, 32}, 0},
        {"c", WEFT_F16, 1, {7}, 0},
    };
    unsigned char data[60 + 36 + 14];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    weft_gguf_out *out;
    assert_weft_ok(weft_gguf_create(&x.a, x.path, x.m, items, 3, &out));
    assert_int_equal(access(x.path, F_OK), -1); /* not before it is whole */
    for (size_t at = 0, n; at < sizeof data; at += n) {
        n = sizeof data - at < 13 ? sizeof data - at : 13;
        assert_weft_ok(weft_gguf_put(out, data + at, n));
    }
    assert_weft_ok(weft_gguf_commit(&out));
    assert_null(out);

    weft_source source;
    assert_weft_ok(weft_source_open(x.f->engine, x.path, false, NULL, NULL, &source));
    assert_int_equal(weft_weights_count(source.weights), 3);
    static const size_t begins[] = {0, 60, 96}, sizes[] = {60, 36, 14};
    for (size_t i = 0; i < 3; i++) {
        const char *name;
        const weft_tensor *t = weft_weights_at(source.weights, i, &name);
        assert_string_equal(name, items[i].name);
        assert_int_equal(t->dtype, items[i].dtype);
        assert_int_equal(t->rank, items[i].rank);
        for (int d = 0; d < t->rank; d++)
            assert_int_equal(t->dims[d], items[i].dims[d]);
        assert_int_equal(source.offsets[i] % 64, 0);
        assert_memory_equal(weft_tensor_data(t), data + begins[i], sizes[i]);
    }
    weft_source_close(&source);
    tear_down(&x);
}

static size_t files_in(const char *folder_path) {
    char command[600], count[32] = "";
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder_path);
    FILE *p = popen(command, "r");
    assert_non_null(fgets(count, sizeof count, p));
    pclose(p);
    return (size_t)atoi(count);
}

static void half_files_do_not_appear(void **state) {
    fixture x;
    setup_maps(&x, *state);
    weft_gguf_item item = {"a", WEFT_F32, 1, {4}, 0};
    unsigned char data[20] = {0};
    weft_gguf_out *out;
    assert_weft_ok(weft_gguf_create(&x.a, x.path, x.m, &item, 1, &out));
    assert_weft_ok(weft_gguf_put(out, data, 12));
    assert_weft_fails(weft_gguf_commit(&out), WEFT_E_FORMAT);
    assert_int_equal(files_in(x.f->path), 0);
    assert_weft_ok(weft_gguf_create(&x.a, x.path, x.m, &item, 1, &out));
    assert_weft_fails(weft_gguf_put(out, data, 20), WEFT_E_FORMAT);
    weft_gguf_abort(&out);
    assert_int_equal(files_in(x.f->path), 0);
    tear_down(&x);
}

static void what_gguf_cannot_say_is_refused(void **state) {
    fixture x;
    setup_maps(&x, *state);
    weft_gguf_out *out;
    weft_gguf_item rows = {"rows", WEFT_Q4_K, 2, {2, 128}, 0};
    assert_weft_fails(weft_gguf_create(&x.a, x.path, x.m, &rows, 1, &out), WEFT_E_SHAPE);
    assert_detail_has("rows");
    weft_gguf_item rank = {"rank", WEFT_F32, 5, {1, 1, 1, 1, 1}, 0};
    assert_weft_fails(weft_gguf_create(&x.a, x.path, x.m, &rank, 1, &out), WEFT_E_SHAPE);
    weft_gguf_item type = {"type", WEFT_U8, 1, {4}, 0};
    assert_weft_fails(weft_gguf_create(&x.a, x.path, x.m, &type, 1, &out), WEFT_E_UNSUPPORTED);
    weft_gguf_item empty = {"empty", WEFT_F32, 2, {0, 4}, 0};
    assert_weft_fails(weft_gguf_create(&x.a, x.path, x.m, &empty, 1, &out), WEFT_E_SHAPE);
    weft_gguf_item large = {"large", WEFT_F32, 2, {INT64_MAX, INT64_MAX}, 0};
    assert_weft_fails(weft_gguf_create(&x.a, x.path, x.m, &large, 1, &out), WEFT_E_OVERFLOW);
    assert_weft_ok(weft_metadata_put_array(x.m, "nested", 6, WEFT_VALUE_ARRAY, NULL, 2));
    assert_weft_fails(weft_gguf_create(&x.a, x.path, x.m, NULL, 0, &out), WEFT_E_FORMAT);
    assert_detail_has("nested");
    assert_null(out);
    assert_int_equal(files_in(x.f->path), 0);
    tear_down(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_of_every_type_come_back, folder_open, folder_close),
        cmocka_unit_test_setup_teardown(tensors_come_back, folder_open, folder_close),
        cmocka_unit_test_setup_teardown(half_files_do_not_appear, folder_open, folder_close),
        cmocka_unit_test_setup_teardown(what_gguf_cannot_say_is_refused, folder_open, folder_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
