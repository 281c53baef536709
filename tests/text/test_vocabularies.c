/* Published vocabularies against published ids: the texts of ../shared/tokenizer. */
#include "text/engine_fixture.h"

#include "base/file.h"
#include "base/json.h"
#include "loader/loader.h"

#define DIR WEFT_SHARED_DIR "/tokenizer/"

static char table[4096]; /* of docs/text.md, a row a vocabulary */

static weft_tokenizer *open_file(const char *path) {
    weft_source source;
    weft_tokenizer *t = NULL;
    assert_weft_ok(weft_source_open(engine, path, false, NULL, NULL, &source));
    assert_weft_ok(weft_tokenizer_from_gguf(engine, source.metadata, NULL, -1, &t));
    weft_source_close(&source);
    return t;
}

static weft_json *line_json(const char *line, size_t n) {
    weft_json *root = NULL;
    assert_weft_ok(weft_json_parse(line, n, "line", &root));
    return root;
}

/* Ids of one text; gives whether they are the expected ones. */
static bool same_ids(const weft_tokenizer *t, const char *text, size_t n_text, bool special,
                     const weft_json *want) {
    int32_t *ids = NULL;
    size_t n = 0;
    weft_tokenize_options options = {.parse_special = special, .add_special = false};
    assert_weft_ok(weft_tokenize(t, text, n_text, options, &ids, &n));
    bool same = n == weft_json_length(want);
    for (size_t i = 0; same && i < n; i++)
        same = ids[i] == weft_json_integer(weft_json_item(want, i));
    weft_tokens_free(t, ids, n);
    return same;
}

/* The text of the line with this id; the expectations follow hard.txt's order, so *cursor only goes
 * on. */
static weft_json *hard_text(const weft_mapping *hard, size_t *cursor, const char *id,
                            const char **text, size_t *n_text) {
    const char *begin = (const char *)hard->data;
    while (*cursor < hard->size_bytes) {
        const char *at = begin + *cursor, *stop = memchr(at, '\n', hard->size_bytes - *cursor);
        size_t n = stop ? (size_t)(stop - at) : hard->size_bytes - *cursor, n_id = 0;
        weft_json *line = line_json(at, n);
        *cursor += n + 1;
        if (strcmp(weft_json_string(weft_json_get(line, "id"), &n_id), id) == 0) {
            *text = weft_json_string(weft_json_get(line, "text"), n_text);
            return line;
        }
        weft_json_free(&line);
    }
    fail_msg("hard.txt has no %s", id);
    return NULL;
}

/* Texts of NAME.inp between marks, ids of NAME.out a line a text. Gives their number. */
static size_t check_pairs(const weft_tokenizer *t, const char *name) {
    static const char mark[] = "\n__ggml_vocab_test__\n";
    const size_t n_mark = sizeof mark - 1;
    char path[512];
    weft_mapping texts, ids;
    size_t n_pairs = 0;
    snprintf(path, sizeof path, DIR "ggml-vocab-%s.gguf.inp", name);
    assert_weft_ok(weft_file_map(path, &texts));
    snprintf(path, sizeof path, DIR "ggml-vocab-%s.gguf.out", name);
    assert_weft_ok(weft_file_map(path, &ids));
    const char *text = (const char *)texts.data, *texts_end = text + texts.size_bytes;
    const char *line = (const char *)ids.data, *ids_end = line + ids.size_bytes;
    while (line < ids_end) {
        const char *stop = memchr(line, '\n', (size_t)(ids_end - line));
        const char *next = memmem(text, (size_t)(texts_end - text), mark, n_mark);
        stop = stop ? stop : ids_end;
        next = next ? next : texts_end;
        char list[8192];
        size_t n = (size_t)(stop - line), at = 1;
        assert_true(n + 3 < sizeof list);
        list[0] = '[';
        for (size_t i = 0; i < n; i++) /* " 1 2" as "[1,2]" */
            if (line[i] != ' ' || (at > 1 && i + 1 < n))
                list[at++] = line[i] == ' ' ? ',' : line[i];
        list[at++] = ']';
        weft_json *want = line_json(list, at);
        if (!same_ids(t, text, (size_t)(next - text), false, want))
            fail_msg("%s: other ids for text %zu of the pairs", name, n_pairs);
        weft_json_free(&want);
        n_pairs++;
        text = next < texts_end ? next + n_mark : texts_end;
        line = stop + 1;
    }
    assert_true(n_pairs > 20);
    weft_file_unmap(&texts);
    weft_file_unmap(&ids);
    return n_pairs;
}

static size_t check_hard(const weft_tokenizer *t, const char *name) {
    char path[512];
    weft_mapping hard, want;
    snprintf(path, sizeof path, DIR "hard-expected/ggml-vocab-%s.jsonl", name);
    assert_weft_ok(weft_file_map(DIR "hard.txt", &hard));
    assert_weft_ok(weft_file_map(path, &want));
    const char *at = (const char *)want.data, *end = at + want.size_bytes;
    size_t checked = 0, cursor = 0;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *text = "";
        size_t n = (size_t)((stop ? stop : end) - at), n_text = 0, n_id;
        weft_json *line = line_json(at, n);
        const char *id = weft_json_string(weft_json_get(line, "id"), &n_id);
        weft_json *source = hard_text(&hard, &cursor, id, &text, &n_text);
        const weft_json *special = weft_json_get(line, "ids_special");
        if (!same_ids(t, text, n_text, false, weft_json_get(line, "ids")) ||
            (special && !same_ids(t, text, n_text, true, special)))
            fail_msg("%s: %s has other ids", name, id);
        weft_json_free(&source);
        weft_json_free(&line);
        at += n + 1;
        checked++;
    }
    assert_true(checked > 100);
    weft_file_unmap(&hard);
    weft_file_unmap(&want);
    return checked;
}

static void vocabulary(void **state) {
    const char *name = *state;
    char path[512];
    snprintf(path, sizeof path, DIR "ggml-vocab-%s.gguf", name);
    skip_without(path);
    weft_tokenizer *t = open_file(path);
    size_t pairs = check_pairs(t, name), hard = check_hard(t, name), at = strlen(table);
    snprintf(table + at, sizeof table - at, "| %s | %d | %zu | %zu |\n", name,
             (int)weft_tokenizer_n_tokens(t), pairs, hard);
    weft_tokenizer_release(&t);
}

/* docs/text.md has the table; `test_vocabularies --table` prints it. */
static void page_has_the_table(void **state) {
    (void)state;
    skip_without(DIR "ggml-vocab-gpt-2.gguf");
    weft_mapping page;
    assert_weft_ok(weft_file_map(WEFT_TEST_DATA "/../../docs/text.md", &page));
    bool has = memmem(page.data, page.size_bytes, table, strlen(table)) != NULL;
    weft_file_unmap(&page);
    assert_true(has);
}

/* Failures of other engines, with the right values. */
static void known_failures(void **state) {
    (void)state;
    skip_without(DIR "ggml-vocab-llama-bpe.gguf");
    weft_tokenizer *t = open_file(DIR "ggml-vocab-llama-bpe.gguf");
    expect_ids(t, " Vi\xe1\xbb\x87t", 7, false, false, IDS(101798));
    expect_round_trip(t, "\xe6\xad", 2);
    weft_tokenizer_release(&t);
    t = open_file(DIR "ggml-vocab-gemma-4.gguf");
    /* "text", not " text": no space is added after a special token. */
    expect_ids(t, "<pad>text<eos>", 14, true, false, IDS(0, 1005, 1));
    expect_round_trip(t, "\xe6\xad\n\n a", 6);
    weft_tokenizer_release(&t);
}

static weft_tokenizer *open_json(const char *path) {
    weft_mapping file;
    weft_tokenizer *t = NULL;
    assert_weft_ok(weft_file_map(path, &file));
    assert_weft_ok(weft_tokenizer_from_json(engine, (const char *)file.data, file.size_bytes, NULL,
                                            NULL, -1, &t));
    weft_file_unmap(&file);
    return t;
}

/* Small tokenisers of tests/data, against the ids that their own libraries give. */
static void small_tokenizers(void **state) {
    (void)state;
    static const char *const names[] = {
        "wordpiece-cased.json", "wordpiece-uncased.json",   "bpe-words.json",
        "unigram-bytes.json",   "unigram-precompiled.json", "unigram-spm.gguf",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        weft_mapping cases;
        bool gguf = strstr(names[i], ".gguf");
        snprintf(path, sizeof path, WEFT_TEST_DATA "/tokenizers/%s", names[i]);
        weft_tokenizer *t = gguf ? open_file(path) : open_json(path);
        strcpy(strrchr(path, '.'), ".cases");
        assert_weft_ok(weft_file_map(path, &cases));
        const char *at = (const char *)cases.data, *end = at + cases.size_bytes;
        size_t n_cases = 0;
        for (const char *stop; at < end; at = stop + 1, n_cases++) {
            stop = memchr(at, '\n', (size_t)(end - at));
            weft_json *line = line_json(at, (size_t)(stop - at));
            size_t n_text = 0;
            const char *text = weft_json_string(weft_json_get(line, "text"), &n_text);
            if (!same_ids(t, text, n_text, !gguf, weft_json_get(line, "ids")))
                fail_msg("%s: other ids for %.*s", names[i], (int)(stop - at), at);
            weft_json_free(&line);
        }
        assert_true(n_cases > 20);
        weft_file_unmap(&cases);
        weft_tokenizer_release(&t);
    }
}

#define VOCABULARY(name)                                                                           \
    { name, vocabulary, NULL, NULL, (void *)(uintptr_t)name }

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        VOCABULARY("gpt-2"),
        VOCABULARY("llama-bpe"),
        VOCABULARY("llama-spm"),
        VOCABULARY("phi-3"),
        VOCABULARY("gemma-4"),
        VOCABULARY("falcon"),
        VOCABULARY("deepseek-llm"),
        VOCABULARY("bert-bge"),
        cmocka_unit_test(page_has_the_table),
        cmocka_unit_test(known_failures),
        cmocka_unit_test(small_tokenizers),
    };
    int failed = cmocka_run_group_tests(tests, set_up, tear_down);
    if (argc > 1 && strcmp(argv[1], "--table") == 0)
        printf("%s", table);
    return failed;
}
