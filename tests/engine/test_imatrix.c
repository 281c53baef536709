/* Importance matrices: what is added up, what is written, and both forms that are read. */
#include "fixture.h"
#include <math.h>
#include "loader/imatrix.h"
#include "tensor/impl.h"
#include <weft/extra/quantize.h>

static const int32_t text_a[] = {65, 66, 67, 256, 257, 32, 90, 91};
static const int32_t text_b[] = {270, 10, 11, 12};

static int open_fixture(void **state) {
    fixture *f = calloc(1, sizeof *f);
    *f = fixture_open(NULL, WEFT_NUMBERS_REPRODUCIBLE);
    *state = f;
    return 0;
}

static int close_fixture(void **state) {
    fixture_close(*state);
    free(*state);
    return 0;
}

/* The mean squares over `texts` of the tiny model; the caller destroys the map. */
static weft_weights *gather(fixture *f, const int32_t *const *texts, const size_t *lengths,
                            size_t n) {
    char path[] = "/tmp/weft-imatrix-XXXXXX";
    close(mkstemp(path));
    weft_imatrix *m;
    weft_weights *map;
    uint32_t n_chunks;
    assert_weft_ok(weft_imatrix_create(f->model, 16, &m));
    for (size_t i = 0; i < n; i++)
        assert_weft_ok(weft_imatrix_add(m, texts[i], lengths[i]));
    assert_weft_ok(weft_imatrix_write(m, path, "a text"));
    weft_imatrix_release(&m);
    assert_null(m);
    assert_weft_ok(weft_imatrix_read(f->engine, path, &map, &n_chunks));
    assert_int_equal(n_chunks, n);
    unlink(path);
    return map;
}

static const float *values(const weft_weights *map, const char *name, size_t *n) {
    weft_tensor *t = weft_weights_find(map, name);
    assert_non_null(t);
    *n = (size_t)weft_tensor_numel(t);
    return weft_tensor_data(t);
}

/* q, k and v see the same rows; means of two texts are their means weighed by length. */
static void texts_add_up(void **state) {
    fixture *f = *state;
    const int32_t *texts[] = {text_a, text_b};
    const size_t lengths[] = {8, 4};
    weft_weights *both = gather(f, texts, lengths, 2);
    weft_weights *first = gather(f, texts, lengths, 1);
    weft_weights *second = gather(f, texts + 1, lengths + 1, 1);
    static const char *const names[] = {"blk.0.attn_q.weight", "blk.1.ffn_down.weight",
                                        "blk.1.attn_output.weight"};
    size_t n, m;
    for (size_t k = 0; k < 3; k++) {
        const float *x = values(both, names[k], &n);
        const float *a = values(first, names[k], &m), *b = values(second, names[k], &m);
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            double want = ((double)a[i] * 8 + (double)b[i] * 4) / 12;
            assert_true(fabs((double)x[i] - want) <= 1e-5 * want + 1e-12);
            sum += (double)x[i];
        }
        assert_true(sum > 0 && isfinite(sum));
    }
    const float *q = values(both, "blk.1.attn_q.weight", &n);
    const float *v = values(both, "blk.1.attn_v.weight", &m);
    assert_int_equal(n, m);
    assert_memory_equal(q, v, n * sizeof *q);
    assert_null(weft_weights_find(both, "output.weight"));
    weft_weights_destroy(both);
    weft_weights_destroy(first);
    weft_weights_destroy(second);
}

/* The older format: names, calls and sums, then where they come from. */
static void the_older_format_is_read(void **state) {
    fixture *f = *state;
    char path[] = "/tmp/weft-imatrix-XXXXXX";
    int32_t head[] = {1, 3}, counts[] = {4, 2}, tail[] = {4, 1};
    float sums[] = {8, 2};
    FILE *out = fdopen(mkstemp(path), "wb");
    fwrite(head, 4, 2, out);
    fwrite("abc", 1, 3, out);
    fwrite(counts, 4, 2, out);
    fwrite(sums, 4, 2, out);
    fwrite(tail, 4, 2, out);
    fwrite("t", 1, 1, out);
    fclose(out);
    weft_weights *map;
    uint32_t n_chunks;
    size_t n;
    assert_weft_ok(weft_imatrix_read(f->engine, path, &map, &n_chunks));
    const float *x = values(map, "abc", &n);
    assert_true(n == 2 && x[0] == 2 && x[1] == 0.5f && n_chunks == 4);
    weft_weights_destroy(map);
    assert_int_equal(truncate(path, 20), 0); /* within the sums */
    assert_weft_fails(weft_imatrix_read(f->engine, path, &map, &n_chunks), WEFT_E_FORMAT);
    unlink(path);
}

static void wrong_calls_are_refused(void **state) {
    fixture *f = *state;
    weft_imatrix *m;
    int32_t outside = 100000;
    assert_weft_fails(weft_imatrix_create(NULL, 16, &m), WEFT_E_NULL);
    assert_weft_ok(weft_imatrix_create(f->model, 16, &m));
    assert_weft_fails(weft_imatrix_write(m, "/tmp/none", "t"), WEFT_E_ARGUMENT);
    assert_weft_fails(weft_imatrix_add(m, &outside, 1), WEFT_E_RANGE);
    weft_imatrix_release(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_add_up, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_older_format_is_read, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(wrong_calls_are_refused, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
