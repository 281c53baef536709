/* Tiny vocabularies for tests of the text layer: metadata as a GGUF file would have it. */
#ifndef WEFT_TESTS_TEXT_FIXTURE_H
#define WEFT_TESTS_TEXT_FIXTURE_H

#include "test.h"

#include "base/alloc.h"
#include "base/metadata.h"
#include "text/text.h"
#include <weft/chat.h>

#define MARK "\xe2\x96\x81"
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };

typedef struct words {
    char blob[65536];
    size_t lengths[1024], at, n;
    int32_t types[1024];
    float scores[1024];
} words;

static inline void word_bytes(words *w, const char *text, size_t n, int32_t type, float score) {
    memcpy(w->blob + w->at, text, n);
    w->at += n;
    w->lengths[w->n] = n;
    w->types[w->n] = type;
    w->scores[w->n++] = score;
}
static inline void word(words *w, const char *text, int32_t type, float score) {
    word_bytes(w, text, strlen(text), type, score);
}

static inline weft_engine *make_engine(const weft_allocator *a) {
    weft_engine_options options = weft_engine_options_default();
    options.n_threads = 1;
    if (a)
        options.allocator = *a;
    weft_engine *engine = NULL;
    return weft_engine_create(&options, &engine) == WEFT_OK ? engine : NULL;
}

static inline weft_metadata *new_metadata(void) {
    static weft_allocator a;
    a = weft_allocator_system();
    return weft_metadata_create(&a);
}

static inline void put_string(weft_metadata *m, const char *key, const char *text) {
    weft_value v = {.type = WEFT_VALUE_STRING};
    v.as.s.text = text;
    v.as.s.n_bytes = strlen(text);
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}
static inline void put_u32(weft_metadata *m, const char *key, uint32_t u) {
    weft_value v = {.type = WEFT_VALUE_U32};
    v.as.u = u;
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}
static inline void put_bool(weft_metadata *m, const char *key, bool b) {
    weft_value v = {.type = WEFT_VALUE_BOOL};
    v.as.u = b;
    assert_weft_ok(weft_metadata_put(m, key, strlen(key), &v));
}
static inline void put_words(weft_metadata *m, const char *key, const words *w) {
    assert_weft_ok(weft_metadata_put_strings(m, key, strlen(key), w->blob, w->lengths, w->n));
}
static inline void put_array(weft_metadata *m, const char *key, weft_value_type type,
                             const void *data, size_t n) {
    assert_weft_ok(weft_metadata_put_array(m, key, strlen(key), type, data, n));
}

/* The character that stands for a byte in byte-level vocabularies. */
static inline void byte_char(int b, char out[8]) {
    bool printable =
        (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
    int c = b;
    if (!printable) {
        c = 0x100;
        for (int i = 0; i < b; i++)
            c += !((i >= 0x21 && i <= 0x7e) || (i >= 0xa1 && i <= 0xac) || (i >= 0xae));
    }
    int n = 0;
    if (c < 0x80) {
        out[n++] = (char)c;
    } else {
        out[n++] = (char)(0xc0 | c >> 6);
        out[n++] = (char)(0x80 | (c & 0x3f));
    }
    out[n] = 0;
}

/* Byte-level: ids 0 … 255 are the bytes, then the ones below. */
enum {
    B_TH = 256,
    B_THE,
    B_SPACE_THE,
    B_AA,
    B_AAAA,
    B_BOS,
    B_EOS,
    B_IM_END,
    B_IM_END2,
    B_USER,
    B_N
};
static inline void byte_words(words *w, words *merges) {
    memset(w, 0, sizeof *w);
    memset(merges, 0, sizeof *merges);
    for (int b = 0; b < 256; b++) {
        char text[8];
        byte_char(b, text);
        word(w, text, NORMAL, 0);
    }
    word(w, "th", NORMAL, 0);
    word(w, "the", NORMAL, 0);
    word(w, "\xc4\xa0the", NORMAL, 0);
    word(w, "aa", NORMAL, 0);
    word(w, "aaaa", NORMAL, 0);
    word(w, "<s>", CONTROL, 0);
    word(w, "</s>", CONTROL, 0);
    word(w, "<|im_end|>", CONTROL, 0);
    word(w, "<|im_end|>>", CONTROL, 0);
    word(w, "<user>", USER, 0);
    word(merges, "t h", 0, 0);
    word(merges, "th e", 0, 0);
    word(merges, "\xc4\xa0 the", 0, 0);
    word(merges, "a a", 0, 0);
    word(merges, "aa aa", 0, 0);
}
static inline weft_metadata *byte_metadata(void) {
    static words w, merges;
    byte_words(&w, &merges);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "gpt2");
    put_string(m, "tokenizer.ggml.pre", "gpt-2");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    put_words(m, "tokenizer.ggml.merges", &merges);
    put_u32(m, "tokenizer.ggml.bos_token_id", B_BOS);
    put_u32(m, "tokenizer.ggml.eos_token_id", B_EOS);
    put_bool(m, "tokenizer.ggml.add_bos_token", true);
    return m;
}

/* SentencePiece: <unk> <s> </s>, the bytes at 3 … 258, then the ones below. */
enum { S_MARK = 259, S_A, S_B, S_AA, S_AB, S_MARK_A, S_AAA, S_PAD, S_E, S_N };
static inline void piece_words(words *w) {
    memset(w, 0, sizeof *w);
    word(w, "<unk>", UNKNOWN, 0);
    word(w, "<s>", CONTROL, 0);
    word(w, "</s>", CONTROL, 0);
    for (int b = 0; b < 256; b++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)b);
        word(w, text, BYTE, 0);
    }
    word(w, MARK, NORMAL, -10);
    word(w, "a", NORMAL, -11);
    word(w, "b", NORMAL, -12);
    word(w, "aa", NORMAL, -2);
    word(w, "ab", NORMAL, -1);
    word(w, MARK "a", NORMAL, -3);
    word(w, "aaa", NORMAL, -4);
    word(w, "<pad>", CONTROL, 0);
    word(w, "\xc3\xa9", NORMAL, -13);
}
static inline weft_metadata *piece_metadata(void) {
    static words w;
    piece_words(&w);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    put_array(m, "tokenizer.ggml.scores", WEFT_VALUE_F32, w.scores, w.n);
    return m;
}

static inline weft_tokenizer *open_gguf(weft_engine *engine, weft_metadata *m, const char *pre) {
    weft_tokenizer *t = NULL;
    assert_weft_ok(weft_tokenizer_from_gguf(engine, m, pre, -1, &t));
    weft_metadata_destroy(m);
    return t;
}

/* The ids of a text are exactly these. */
static inline void expect_ids(const weft_tokenizer *t, const char *text, size_t n_bytes,
                              bool special, bool add, const int32_t *want, size_t n) {
    int32_t *ids = NULL;
    size_t got = 0;
    weft_tokenize_options options = {.parse_special = special, .add_special = add};
    assert_weft_ok(weft_tokenize(t, text, n_bytes, options, &ids, &got));
    assert_int_equal(got, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids[i], want[i]);
    weft_tokens_free(t, ids, got);
}
#define IDS(...)                                                                                   \
    (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)

/* Text to ids and back gives the same bytes. */
static inline void expect_round_trip(const weft_tokenizer *t, const char *text, size_t n_bytes) {
    int32_t *ids = NULL;
    size_t n = 0, written = 0, room = n_bytes * 4 + 64;
    weft_tokenize_options options = {false, true};
    assert_weft_ok(weft_tokenize(t, text, n_bytes, options, &ids, &n));
    char *out = malloc(room);
    assert_non_null(out);
    weft_detok d = {0};
    for (size_t i = 0; i < n; i++)
        written += weft_detok_next(t, &d, ids[i], false, false, out + written, room - written);
    written += weft_detok_finish(&d, false, out + written, room - written);
    assert_int_equal(written, n_bytes);
    assert_memory_equal(out, text, n_bytes);
    free(out);
    weft_tokens_free(t, ids, n);
}

#endif
