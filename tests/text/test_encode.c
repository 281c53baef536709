/* Text to ids: byte-level and SentencePiece merging, added tokens, bytes that are no UTF-8, time.
 */
#include "text/engine_fixture.h"

#include <sys/wait.h>
#include "base/clock.h"

static void merges_by_rank(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    expect_ids(t, "the the", 7, false, false, IDS(B_THE, B_SPACE_THE));
    expect_ids(t, "thx", 3, false, false, IDS(B_TH, 'x'));
    expect_ids(t, "aaaaa", 5, false, false, IDS(B_AAAA, 'a'));
    expect_ids(t, "aaa", 3, false, false, IDS(B_AA, 'a'));
    weft_tokenizer_release(&t);
}

static void bos_is_added_once(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    expect_ids(t, "the", 3, true, true, IDS(B_BOS, B_THE));
    expect_ids(t, "<s>the", 6, true, true, IDS(B_BOS, B_THE));
    expect_ids(t, "<s>the", 6, true, false, IDS(B_BOS, B_THE));
    expect_ids(t, "", 0, true, true, IDS(B_BOS));
    int32_t *ids;
    size_t n = 9;
    assert_weft_ok(weft_tokenize(t, NULL, 0, (weft_tokenize_options){false, false}, &ids, &n));
    assert_int_equal(n, 0);
    assert_null(ids);
    weft_tokenizer_release(&t);
}

static void special_tokens_by_choice(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    expect_ids(t, "a<|im_end|>b", 12, true, false, IDS('a', B_IM_END, 'b'));
    expect_ids(t, "<|im_end|>>", 11, true, false, IDS(B_IM_END2)); /* the longest */
    expect_ids(t, "<|im_end|", 9, true, false, IDS('<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|'));
    expect_ids(t, "</s>", 4, false, false, IDS('<', '/', 's', '>'));
    expect_ids(t, "a<user>b", 8, false, false, IDS('a', B_USER, 'b')); /* not special: always */
    weft_tokenizer_release(&t);
}

static void any_bytes_come_back(void **state) {
    (void)state;
    weft_tokenizer *byte_level = open_gguf(engine, byte_metadata(), NULL);
    weft_tokenizer *pieces = open_gguf(engine, piece_metadata(), NULL);
    expect_ids(byte_level, "\xe6\xad", 2, false, false, IDS(0xe6, 0xad));
    expect_ids(pieces, "\xe6\xad", 2, false, false, IDS(S_MARK, 3 + 0xe6, 3 + 0xad));
    char all[512];
    for (int i = 0; i < 256; i++) {
        all[2 * i] = (char)i;
        all[2 * i + 1] = (char)(255 - i);
    }
    unsigned random = 12345;
    for (int round = 0; round < 200; round++) {
        expect_round_trip(byte_level, all, sizeof all);
        expect_round_trip(pieces, all, sizeof all);
        for (size_t i = 0; i < sizeof all; i++)
            all[i] = (char)((random = random * 1103515245u + 12345u) >> 16);
    }
    weft_tokenizer_release(&byte_level);
    weft_tokenizer_release(&pieces);
}

static void pieces_merge_by_score(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, piece_metadata(), NULL);
    expect_ids(t, "a", 1, false, false, IDS(S_MARK_A));
    expect_ids(t, "aab", 3, false, false, IDS(S_MARK_A, S_AB)); /* ab before ▁a before aa */
    expect_ids(t, "baa", 3, false, false, IDS(S_MARK, S_B, S_AA));
    expect_ids(t, "\xc3\xa9\xc3\xa8", 4, false, false, IDS(S_MARK, S_E, 3 + 0xc3, 3 + 0xa8));
    expect_ids(t, "\n", 1, false, false, IDS(S_MARK, 3 + '\n'));
    expect_ids(t, "", 0, false, false, NULL, 0);
    weft_tokenizer_release(&t);
}

static void no_space_after_special_tokens(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, piece_metadata(), NULL);
    expect_ids(t, "<pad>ab</s>", 11, true, false, IDS(S_PAD, S_AB, 2));
    expect_ids(t, "ab<pad>ab", 9, true, true, IDS(1, S_MARK, S_AB, S_PAD, S_AB));
    /* Typed out, neither control nor byte tokens are meant. */
    int32_t *ids;
    size_t n = 0;
    const char *typed = "<s><0x0A>";
    assert_weft_ok(
        weft_tokenize(t, typed, strlen(typed), (weft_tokenize_options){false, false}, &ids, &n));
    for (size_t i = 0; i < n; i++)
        assert_true(ids[i] != 1 && ids[i] != 3 + 10);
    weft_tokens_free(t, ids, n);
    weft_tokenizer_release(&t);
}

static void unknown_without_byte_tokens(void **state) {
    (void)state;
    static words w;
    memset(&w, 0, sizeof w);
    word(&w, "<unk>", UNKNOWN, 0);
    word(&w, MARK, NORMAL, -1);
    word(&w, "a", NORMAL, -2);
    weft_metadata *m = new_metadata();
    put_string(m, "tokenizer.ggml.model", "llama");
    put_words(m, "tokenizer.ggml.tokens", &w);
    put_array(m, "tokenizer.ggml.token_type", WEFT_VALUE_I32, w.types, w.n);
    put_array(m, "tokenizer.ggml.scores", WEFT_VALUE_F32, w.scores, w.n);
    weft_tokenizer *t = open_gguf(engine, m, NULL);
    expect_ids(t, "axya", 4, false, false, IDS(1, 2, 0, 2)); /* neighbours become one */
    weft_tokenizer_release(&t);
}

/* Seconds for one text; asserts that it comes back. */
static double time_of(const weft_tokenizer *t, const char *text, size_t n) {
    double begin = weft_clock_seconds();
    int32_t *ids = NULL;
    size_t n_ids = 0;
    assert_weft_ok(weft_tokenize(t, text, n, (weft_tokenize_options){true, true}, &ids, &n_ids));
    double seconds = weft_clock_seconds() - begin;
    weft_tokens_free(t, ids, n_ids);
    return seconds;
}

/* A quadratic or recursive way through would take minutes or overflow the stack. */
static void long_words_are_fast(void **state) {
    (void)state;
    const size_t n = 200000;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, 'a', n);
    weft_tokenizer *byte_level = open_gguf(engine, byte_metadata(), NULL);
    weft_tokenizer *qwen = open_gguf(engine, byte_metadata(), "qwen2");
    weft_tokenizer *pieces = open_gguf(engine, piece_metadata(), NULL);
    assert_true(time_of(byte_level, text, n) < 5);
    assert_true(time_of(qwen, text, n) < 5);
    assert_true(time_of(pieces, text, n) < 5);
    memset(text, 'A', n);
    assert_true(time_of(qwen, text, 43000) < 5);
    memset(text, ' ', n);
    assert_true(time_of(byte_level, text, n) < 5);
    assert_true(time_of(pieces, text, n) < 5);
    memset(text, '<', n);
    assert_true(time_of(qwen, text, n) < 5);
    memset(text, '\xe6', n);
    assert_true(time_of(qwen, text, n) < 5);
    /* Combining marks in the wrong order: normalising sorts them. */
    for (size_t i = 0; i + 3 < n; i += 4)
        memcpy(text + i, "\xcc\x81\xcc\xa3", 4);
    assert_true(time_of(qwen, text, n) < 5);
    weft_tokenizer_release(&byte_level);
    weft_tokenizer_release(&qwen);
    weft_tokenizer_release(&pieces);
    free(text);
}

/* Words of a long text come out of a cache; a short text, word by word, does without. */
static void long_texts_equal_their_words(void **state) {
    (void)state;
    weft_tokenizer *each[] = {open_gguf(engine, byte_metadata(), NULL),
                              open_gguf(engine, piece_metadata(), NULL)};
    weft_tokenize_options plain = {false, false};
    unsigned random = 7;
    for (int k = 0; k < 2; k++) {
        char text[4096];
        int32_t want[sizeof text * 3], *ids;
        size_t n_text = 0, n_want = 0, n;
        while (n_text + 16 < sizeof text) {
            size_t word = n_text;
            if (n_text)
                text[n_text++] = ' ';
            for (size_t i = 0, length = 1 + (random >> 20) % 9; i < length; i++) {
                random = random * 1664525 + 1013904223;
                text[n_text++] = "theaaxy"[(random >> 16) % 7];
            }
            if (k == 1 && word) /* the mark of a word stands for its space */
                word++;
            assert_weft_ok(weft_tokenize(each[k], text + word, n_text - word, plain, &ids, &n));
            memcpy(want + n_want, ids, n * sizeof *ids);
            n_want += n;
            weft_tokens_free(each[k], ids, n);
        }
        assert_weft_ok(weft_tokenize(each[k], text, n_text, plain, &ids, &n));
        assert_int_equal(n, n_want);
        assert_memory_equal(ids, want, n * sizeof *ids);
        weft_tokens_free(each[k], ids, n);
        weft_tokenizer_release(&each[k]);
    }
}

static void qwen2_normalises_to_nfc(void **state) {
    (void)state;
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), "qwen2");
    expect_ids(t, "e\xcc\x81", 3, false, false, IDS(0xc3, 0xa9));
    expect_ids(t, "e\xcc\x81\xff", 4, false, false, IDS(0xc3, 0xa9, 0xff));
    weft_tokenizer_release(&t);
}

static void null_arguments(void **state) {
    (void)state;
    int32_t *ids;
    size_t n = 0;
    weft_tokenize_options o = {false, false};
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    assert_weft_fails(weft_tokenize(NULL, "a", 1, o, &ids, &n), WEFT_E_NULL);
    assert_weft_fails(weft_tokenize(t, NULL, 1, o, &ids, &n), WEFT_E_NULL);
    assert_weft_fails(weft_tokenize(t, "a", 1, o, NULL, &n), WEFT_E_NULL);
    weft_tokens_free(t, NULL, 0);
    weft_tokenizer *again = weft_tokenizer_retain(t);
    assert_ptr_equal(again, t);
    weft_tokenizer_release(&again);
    assert_null(again);
    weft_tokenizer_release(&t);
    weft_tokenizer_release(&t);
    weft_tokenizer_release(NULL);
}

static void forked_child_is_refused(void **state) {
    (void)state;
    skip_without_fork_notice();
    weft_tokenizer *t = open_gguf(engine, byte_metadata(), NULL);
    pid_t child = fork();
    if (child == 0) {
        int32_t *ids;
        size_t n;
        weft_tokenize_options o = {false, false};
        _exit(weft_tokenize(t, "a", 1, o, &ids, &n) == WEFT_E_FORKED ? 7 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    weft_tokenizer_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_by_rank),
        cmocka_unit_test(bos_is_added_once),
        cmocka_unit_test(special_tokens_by_choice),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(pieces_merge_by_score),
        cmocka_unit_test(no_space_after_special_tokens),
        cmocka_unit_test(unknown_without_byte_tokens),
        cmocka_unit_test(long_words_are_fast),
        cmocka_unit_test(long_texts_equal_their_words),
        cmocka_unit_test(qwen2_normalises_to_nfc),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(forked_child_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
