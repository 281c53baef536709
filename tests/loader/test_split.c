/* Split GGUF files: any shard opens the whole, and shards that disagree are refused. */
#include "folder.h"
#include "loader/loader.h"

typedef struct shard {
    uint64_t no, count, total; /* split.* keys; no or total UINT64_MAX: absent */
    const char *tensor;
    uint64_t layers; /* "layers", which shards must agree on; 0: absent */
} shard;

static void write_shard(folder *f, const char *name, shard s) {
    bytes b = {0};
    uint64_t n_keys = 1u + (s.no != UINT64_MAX) + (s.total != UINT64_MAX) + (s.layers != 0);
    put(&b, "GGUF", 4);
    put_uint(&b, 3, 4), put_uint(&b, 1, 8), put_uint(&b, n_keys, 8);
    gguf_key(&b, "split.count", 2, s.count, 2);
    if (s.no != UINT64_MAX)
        gguf_key(&b, "split.no", 2, s.no, 2);
    if (s.total != UINT64_MAX)
        gguf_key(&b, "split.tensors.count", 5, s.total, 4);
    if (s.layers != 0)
        gguf_key(&b, "layers", 4, s.layers, 4);
    gguf_info(&b, s.tensor, 2, 0, 0);
    pad(&b, 32);
    float data[2] = {(float)s.no, 1};
    put(&b, data, sizeof data);
    write_bytes(f, name, b.data, b.n);
    clear(&b);
}

#define A "m-00001-of-00003.gguf"
#define B "m-00002-of-00003.gguf"
#define C "m-00003-of-00003.gguf"

static void write_three(folder *f) {
    write_shard(f, A, (shard){0, 3, 3, "a", 7});
    write_shard(f, B, (shard){1, 3, 3, "b", 0});
    write_shard(f, C, (shard){2, 3, 3, "c", 7});
}

static void any_shard_opens_the_whole(void **state) {
    folder *f = *state;
    static const char *const names[] = {A, B, C};
    write_three(f);
    for (size_t i = 0; i < 3; i++) {
        weft_source s;
        uint32_t layers;
        float row[2];
        assert_weft_ok(weft_source_open(f->engine, in_folder(f, names[i]), i == 1, NULL, NULL, &s));
        assert_int_equal(weft_weights_count(s.weights), 3);
        assert_weft_ok(weft_metadata_u32(s.metadata, "layers", &layers));
        assert_int_equal(layers, 7);
        assert_weft_ok(weft_tensor_read(weft_weights_find(s.weights, "c"), row, sizeof row));
        assert_true(row[0] == 2);
        weft_source_close(&s);
    }
}

static void refuse(folder *f, const char *name, weft_status status, const char *part) {
    weft_source s;
    assert_weft_fails(weft_source_open(f->engine, in_folder(f, name), false, NULL, NULL, &s),
                      status);
    assert_detail_has(part);
}

static void refuses_missing_shards(void **state) {
    folder *f = *state;
    write_three(f);
    unlink(in_folder(f, B));
    refuse(f, A, WEFT_E_NOT_FOUND, B);
}

static void refuses_names_that_do_not_say_which(void **state) {
    folder *f = *state;
    write_shard(f, "model.gguf", (shard){0, 3, 3, "a", 7});
    refuse(f, "model.gguf", WEFT_E_FORMAT, "-00001-of-00003.gguf");
    write_shard(f, "m-00002-of-00004.gguf", (shard){1, 3, 3, "a", 7});
    refuse(f, "m-00002-of-00004.gguf", WEFT_E_FORMAT, "shard 2 of 4");
    write_shard(f, A, (shard){UINT64_MAX, 3, 3, "a", 7});
    refuse(f, A, WEFT_E_FORMAT, "split.no");
    write_shard(f, A, (shard){3, 3, 3, "a", 7});
    refuse(f, A, WEFT_E_FORMAT, "split.no");
}

static void refuses_shards_that_disagree(void **state) {
    folder *f = *state;
    write_three(f);
    write_shard(f, B, (shard){2, 3, 3, "b", 0}); /* another shard under this name */
    refuse(f, A, WEFT_E_FORMAT, B);
    write_three(f);
    write_shard(f, C, (shard){2, 2, 3, "c", 7});
    refuse(f, A, WEFT_E_FORMAT, "split.count");
    write_three(f);
    write_shard(f, C, (shard){2, 3, 3, "c", 8});
    refuse(f, B, WEFT_E_FORMAT, "'layers'");
    write_three(f);
    write_shard(f, C, (shard){2, 3, 3, "a", 7});
    refuse(f, B, WEFT_E_FORMAT, "'a'"); /* a tensor twice */
    write_shard(f, A, (shard){0, 3, 4, "a", 7});
    write_shard(f, B, (shard){1, 3, UINT64_MAX, "b", 0});
    write_shard(f, C, (shard){2, 3, UINT64_MAX, "c", 7});
    refuse(f, B, WEFT_E_FORMAT, "split.tensors.count is 4");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_open, folder_close)
    const struct CMUnitTest tests[] = {
        TEST(any_shard_opens_the_whole),
        TEST(refuses_missing_shards),
        TEST(refuses_names_that_do_not_say_which),
        TEST(refuses_shards_that_disagree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
