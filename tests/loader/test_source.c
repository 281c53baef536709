/* Sources: GGUF files into the two maps, mapped and copied, their lifetimes, and what is no model.
 */
#include "folder.h"
#include "loader/loader.h"
#include "tensor/impl.h"

/* "t" [3, 2] and "u" [4], counting up; one array of strings, one string, one array of arrays. */
static void small_gguf(bytes *b) {
    clear(b);
    put(b, "GGUF", 4);
    put_uint(b, 3, 4), put_uint(b, 2, 8), put_uint(b, 4, 8);
    gguf_key(b, "general.alignment", 4, 32, 4);
    put_string(b, "name"), put_uint(b, 8, 4), put_string(b, "tiny");
    put_string(b, "tokens"), put_uint(b, 9, 4), put_uint(b, 8, 4), put_uint(b, 2, 8);
    put_string(b, "ab"), put_string(b, "\xff");
    put_string(b, "nested"), put_uint(b, 9, 4), put_uint(b, 9, 4), put_uint(b, 1, 8);
    put_uint(b, 0, 4), put_uint(b, 1, 8), put_uint(b, 7, 1);
    gguf_info(b, "t", 2, 3, 0);
    gguf_info(b, "u", 4, 0, 32);
    pad(b, 32);
    for (int i = 0; i < 12; i++) {
        float v = (float)i;
        put(b, &v, 4);
    }
}

static void open_small(folder *f, bool copy, weft_source *source) {
    bytes b = {0};
    small_gguf(&b);
    write_bytes(f, "m.gguf", b.data, b.n);
    clear(&b);
    assert_weft_ok(weft_source_open(f->engine, f->file, copy, NULL, NULL, source));
}

static void fills_both_maps(void **state) {
    folder *f = *state;
    weft_source s;
    weft_value v;
    size_t i;
    const char *name;
    open_small(f, false, &s);
    assert_string_equal(s.format_name, "GGUF v3");
    assert_weft_ok(weft_metadata_string(s.metadata, "name", &name));
    assert_string_equal(name, "tiny");
    assert_true(weft_metadata_index(s.metadata, "tokens", &i));
    assert_true(weft_metadata_item(s.metadata, i, 1, &v));
    assert_int_equal(v.as.s.n_bytes, 1);
    assert_true(weft_metadata_find(s.metadata, "nested", &v));
    assert_int_equal(v.as.array.type, WEFT_VALUE_ARRAY);
    assert_int_equal(v.as.array.n, 1);
    assert_int_equal(weft_weights_count(s.weights), 2);
    assert_int_equal(s.weight_bytes, 40);
    weft_source_close(&s);
}

/* GGUF writes the row length first; weft's shapes are row-major. */
static void reverses_shapes_and_reads_elements(void **state) {
    folder *f = *state;
    for (int copy = 0; copy < 2; copy++) {
        weft_source s;
        float row[6];
        open_small(f, copy, &s);
        weft_tensor *t = weft_weights_find(s.weights, "t");
        assert_int_equal(weft_tensor_dim(t, 0), 3);
        assert_int_equal(weft_tensor_dim(t, 1), 2);
        assert_weft_ok(weft_tensor_read(t, row, sizeof row));
        assert_true(row[0] == 0 && row[5] == 5);
        weft_source_close(&s);
    }
}

static void weights_are_immutable(void **state) {
    folder *f = *state;
    for (int copy = 0; copy < 2; copy++) {
        weft_source s;
        void *p;
        open_small(f, copy, &s);
        assert_weft_fails(weft_tensor_map_write(weft_weights_find(s.weights, "t"), &p),
                          WEFT_E_IMMUTABLE);
        weft_source_close(&s);
    }
}

static void mapped_tensors_outlive_their_source(void **state) {
    folder *f = *state;
    weft_source s;
    float row[4];
    open_small(f, false, &s);
    weft_tensor *u = weft_tensor_retain(weft_weights_find(s.weights, "u"));
    weft_source_close(&s);
    unlink(f->file);
    assert_weft_ok(weft_tensor_read(u, row, sizeof row));
    assert_true(row[3] == 11);
    weft_tensor_release(&u);
}

static void a_copy_does_not_need_its_file(void **state) {
    folder *f = *state;
    weft_source s;
    float row[4];
    open_small(f, true, &s);
    assert_int_equal(truncate(f->file, 0), 0);
    assert_weft_ok(weft_tensor_read(weft_weights_find(s.weights, "u"), row, sizeof row));
    assert_true(row[0] == 8);
    weft_source_close(&s);
}

static void knows_where_tensors_lie(void **state) {
    folder *f = *state;
    bytes b = {0};
    weft_source s;
    small_gguf(&b);
    for (int copy = 0; copy < 2; copy++) {
        open_small(f, copy, &s);
        assert_int_equal(weft_source_offset(&s, weft_weights_find(s.weights, "t")), b.n - 48);
        assert_int_equal(weft_source_offset(&s, weft_weights_find(s.weights, "u")), b.n - 16);
        weft_source_drop(&s, weft_weights_find(s.weights, "u"));
        weft_source_close(&s);
    }
    clear(&b);
}

static bool count_reports(void *ctx, uint64_t done, uint64_t total) {
    int *left = ctx;
    assert_true(done <= total);
    assert_int_equal(total, 40);
    return (*left)-- > 0;
}

static void copying_reports_progress_and_can_be_stopped(void **state) {
    folder *f = *state;
    weft_source s;
    open_small(f, false, &s);
    weft_source_close(&s);
    for (int allowed = 0; allowed < 3; allowed++) {
        int left = allowed;
        assert_weft_fails(weft_source_open(f->engine, f->file, true, count_reports, &left, &s),
                          WEFT_E_CANCELLED);
        assert_null(s.metadata);
    }
    int left = 3;
    assert_weft_ok(weft_source_open(f->engine, f->file, true, count_reports, &left, &s));
    assert_int_equal(left, 0);
    weft_source_close(&s);
}

static void errors_name_file_key_and_offset(void **state) {
    folder *f = *state;
    bytes b = {0};
    weft_source s;
    small_gguf(&b);
    assert_int_equal(b.data[49], 4); /* the type of general.alignment, behind its name */
    b.data[49] = 13;
    write_bytes(f, "bad.gguf", b.data, b.n);
    assert_weft_fails(weft_source_open(f->engine, f->file, false, NULL, NULL, &s), WEFT_E_FORMAT);
    assert_int_equal(strncmp(weft_detail(), f->file, strlen(f->file)), 0);
    assert_detail_has("key 'general.alignment' at offset 49");
    clear(&b);
}

static void refuses_what_is_no_file(void **state) {
    folder *f = *state;
    weft_source s;
    assert_weft_fails(weft_source_open(f->engine, in_folder(f, "none.gguf"), false, NULL, NULL, &s),
                      WEFT_E_NOT_FOUND);
    assert_detail_has("none.gguf");
    assert_weft_fails(weft_source_open(f->engine, "/dev/zero", false, NULL, NULL, &s), WEFT_E_IO);
    assert_int_equal(mkfifo(in_folder(f, "fifo"), 0600), 0);
    assert_weft_fails(weft_source_open(f->engine, f->file, false, NULL, NULL, &s), WEFT_E_IO);
    unlink(f->file);
    assert_weft_fails(weft_source_open(f->engine, f->path, false, NULL, NULL, &s),
                      WEFT_E_NOT_FOUND);
    assert_detail_has("config.json");
    assert_weft_fails(weft_source_open(f->engine, NULL, false, NULL, NULL, &s), WEFT_E_NULL);
}

/* ---- Running out of memory ---- */

typedef struct failing {
    size_t calls, fail_at, live_bytes;
} failing;

static void *failing_alloc(void *ctx, size_t n, size_t align) {
    failing *c = ctx;
    if (c->calls++ >= c->fail_at)
        return NULL;
    c->live_bytes += n;
    return aligned_alloc(align, (n + align - 1) / align * align);
}
static void failing_release(void *ctx, void *p, size_t n) {
    ((failing *)ctx)->live_bytes -= n;
    free(p);
}

static void survives_running_out_of_memory(void **state) {
    folder *f = *state;
    weft_source s;
    open_small(f, false, &s);
    weft_source_close(&s);
    for (int copy = 0; copy < 2; copy++) {
        failing c = {.fail_at = SIZE_MAX};
        weft_engine_options options = weft_engine_options_default();
        options.n_threads = 1;
        options.allocator = (weft_allocator){failing_alloc, failing_release, &c};
        weft_engine *engine;
        assert_weft_ok(weft_engine_create(&options, &engine));
        size_t before = c.live_bytes;
        weft_status status = WEFT_E_MEMORY;
        size_t n = 0;
        for (; status == WEFT_E_MEMORY; n++) {
            c.calls = 0;
            c.fail_at = n;
            status = weft_source_open(engine, f->file, copy, NULL, NULL, &s);
            assert_true(status == WEFT_OK || c.live_bytes == before);
        }
        c.fail_at = SIZE_MAX;
        assert_int_equal(status, WEFT_OK);
        assert_true(n > 15);
        weft_source_close(&s);
        assert_int_equal(c.live_bytes, before);
        weft_engine_release(&engine);
    }
}

/* ---- The reference models ---- */

#define MODELS WEFT_SHARED_DIR "/reference/models"

static void opens_every_type_of_the_reference_models(void **state) {
    folder *f = *state;
    static const char *const types[] = {"BF16",   "F16",     "IQ1_M", "IQ1_S", "IQ2_M",  "IQ2_S",
                                        "IQ2_XS", "IQ2_XXS", "IQ3_M", "IQ3_S", "IQ3_XS", "IQ3_XXS",
                                        "IQ4_NL", "IQ4_XS",  "MXFP4", "NVFP4", "Q1_0",   "Q2_0",
                                        "Q2_K",   "Q3_K_M",  "Q4_0",  "Q4_1",  "Q4_K_M", "Q5_0",
                                        "Q5_1",   "Q5_K_M",  "Q6_K",  "Q8_0",  "TQ1_0",  "TQ2_0"};
    skip_without(MODELS "/llama-k256/quant");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char path[1024];
        weft_source s;
        snprintf(path, sizeof path, MODELS "/llama-k256/quant/llama-k256-%s.gguf", types[i]);
        assert_weft_ok(weft_source_open(f->engine, path, false, NULL, NULL, &s));
        weft_tensor *t = weft_weights_find(s.weights, "blk.0.ffn_down.weight");
        assert_non_null(t);
        assert_int_equal(weft_tensor_dim(t, 0), 256);
        assert_int_equal(weft_tensor_dim(t, 1), 512);
        weft_source_close(&s);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_open, folder_close)
    const struct CMUnitTest tests[] = {
        TEST(fills_both_maps),
        TEST(reverses_shapes_and_reads_elements),
        TEST(weights_are_immutable),
        TEST(mapped_tensors_outlive_their_source),
        TEST(a_copy_does_not_need_its_file),
        TEST(knows_where_tensors_lie),
        TEST(copying_reports_progress_and_can_be_stopped),
        TEST(errors_name_file_key_and_offset),
        TEST(refuses_what_is_no_file),
        TEST(survives_running_out_of_memory),
        TEST(opens_every_type_of_the_reference_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
