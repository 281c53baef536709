/* A tokeniser as GGUF metadata: spellings, types, merges or scores, the pre-tokeniser's name and
 * the special tokens. Byte-level BPE is "gpt2"; BPE over characters is "llama", with ranks as
 * scores; WordPiece is "bert", whose pieces begin with ▁ where a word does here as well; Unigram is
 * "t5". */
#include "text/to_gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#define KEY(name) "tokenizer.ggml." name
#define MAX_SPELLING 16384

/* Contractions, runs of digits, cases, marks, symbols, lines, spaces, other scripts: no two known
 * pre-tokenisers that differ on ordinary text cut this alike. */
static const char probe[] =
    "Hello, World! It's we'LL they'RE don't I'D 'Tis 1 12 123 1234 1234567 3.14159 2^10 a1b22c\n"
    "\n\n   three  spaces\tand\ttabs \r\n  \n end. HTTPServer camelCase snake_case __init__ "
    "(x+y)/z "
    "== != <=> -- ... ?!?! $5.99 #tag @user a@b.org http://x.y/z?q=1&r=2 // comment\n/* x */ "
    "\xc3\x89t\xc3\xa9 na\xc3\xafve e\xcc\x81t\xcc\x81 \xce\x95\xce\xbb\xce\xbb "
    "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d "
    "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85 \xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4 "
    "\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c\xef\xbc\x8c\xe4\xbb\x8a\xe5\xa4\xa9 "
    "\xe3\x81\x93\xe3\x82\x93\xe3\x81\xab\xe3\x81\xa1\xe3\x81\xaf\xe3\x80\x82 "
    "\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4 \xe0\xb9\x84\xe0\xb8\x97\xe0\xb8\xa2 "
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x83 \xe2\x82\xac \xe2\x80\x9cq\xe2\x80\x9d \xc2\xbd \xd9\xa3\xd9"
    "\xa4 (a)b'c's\xe2\x80\x99s  x   ";

typedef struct writing {
    const weft_tokenizer *t;
    weft_metadata *m;
    weft_allocator a;
    weft_status status; /* first error */
} writing;

/* ---- Scalars ---- */

static void put(writing *w, const char *key, const weft_value *v) {
    if (!w->status)
        w->status = weft_metadata_put(w->m, key, strlen(key), v);
}

static void put_text(writing *w, const char *key, const char *text, size_t n) {
    weft_value v = {.type = WEFT_VALUE_STRING, .as.s = {text, n}};
    put(w, key, &v);
}

static void put_flag(writing *w, const char *key, bool on) {
    weft_value v = {.type = WEFT_VALUE_BOOL, .as.u = on};
    put(w, key, &v);
}

static void put_id(writing *w, const char *key, int32_t id) {
    weft_value v = {.type = WEFT_VALUE_U32, .as.u = (uint64_t)(id > 0 ? id : 0)};
    if (id >= 0)
        put(w, key, &v);
}

/* ---- Spellings ---- */

/* The character of the byte-level alphabet that stands for each byte. */
static void make_alphabet(uint32_t alphabet[256]) {
    for (uint32_t c = 0; c < 512; c++) {
        int byte = weft_byte_of_char(c);
        if (byte >= 0)
            alphabet[byte] = c;
    }
}

/* A token as files spell it. False: no memory. */
static bool add_spelling(const weft_tokenizer *t, const uint32_t *alphabet, int32_t id,
                         weft_bytes *out) {
    size_t n;
    const char *key = weft_strings_get(&t->keys, id, &n);
    bool plain = t->scheme != WEFT_SCHEME_BYTES || t->types[id] == WEFT_TOKEN_CONTROL ||
                 t->types[id] == WEFT_TOKEN_USER;
    if (plain)
        return weft_bytes_add(out, key, n);
    for (size_t i = 0; i < n; i++) {
        unsigned char c[4];
        if (!weft_bytes_add(out, c, weft_utf8_encode(alphabet[(unsigned char)key[i]], c)))
            return false;
    }
    return true;
}

static void no_memory(writing *w) {
    if (!w->status)
        w->status = weft_fail(WEFT_E_MEMORY, "tokenizer: out of memory");
}

static void put_tokens(writing *w, size_t n_tokens) {
    const weft_tokenizer *t = w->t;
    weft_bytes blob = {.a = &w->a};
    uint32_t alphabet[256] = {0};
    size_t bytes = weft_size_of(n_tokens, sizeof(size_t));
    size_t *lengths = weft_alloc(&w->a, bytes);
    bool fine = lengths != NULL;
    make_alphabet(alphabet);
    for (size_t i = 0; fine && i < n_tokens; i++) {
        size_t before = blob.n;
        char made[32];
        if (i < (size_t)t->n && weft_strings_get(&t->keys, (int32_t)i, &lengths[i]))
            fine = add_spelling(t, alphabet, (int32_t)i, &blob);
        else
            fine = weft_bytes_add(&blob, made, (size_t)snprintf(made, sizeof made, "[PAD%zu]", i));
        lengths[i] = blob.n - before;
    }
    if (!fine)
        no_memory(w);
    if (!w->status)
        w->status = weft_metadata_put_strings(w->m, KEY("tokens"), strlen(KEY("tokens")),
                                              (const char *)blob.data, lengths, n_tokens);
    weft_dealloc(&w->a, lengths, lengths ? bytes : 0);
    weft_bytes_free(&blob);
}

static void put_types(writing *w, size_t n_tokens) {
    size_t bytes = weft_size_of(n_tokens, sizeof(int32_t));
    int32_t *types = weft_alloc(&w->a, bytes);
    if (!types) {
        no_memory(w);
        return;
    }
    for (size_t i = 0; i < n_tokens; i++)
        types[i] = i < (size_t)w->t->n ? w->t->types[i] : WEFT_TOKEN_UNUSED;
    if (!w->status)
        w->status = weft_metadata_put_array(w->m, KEY("token_type"), strlen(KEY("token_type")),
                                            WEFT_VALUE_I32, types, n_tokens);
    weft_dealloc(&w->a, types, bytes);
}

/* ---- Merges ---- */

static int by_rank(const void *a, const void *b) {
    uint32_t x = ((const weft_merge *)a)->rank, y = ((const weft_merge *)b)->rank;
    return (x > y) - (x < y);
}

/* All merges in order; NULL sets the status. */
static weft_merge *sorted_merges(writing *w, size_t *n) {
    const weft_merge_map *map = &w->t->merges;
    weft_merge *list = weft_alloc(&w->a, weft_size_of(map->n_slots + 1, sizeof *list));
    *n = 0;
    if (!list) {
        no_memory(w);
        return NULL;
    }
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].left >= 0)
            list[(*n)++] = map->slots[i];
    qsort(list, *n, sizeof *list, by_rank);
    return list;
}

static void put_merges(writing *w, const weft_merge *list, size_t n) {
    weft_bytes blob = {.a = &w->a};
    uint32_t alphabet[256] = {0};
    size_t bytes = weft_size_of(n + 1, sizeof(size_t));
    size_t *lengths = weft_alloc(&w->a, bytes);
    bool fine = lengths != NULL;
    make_alphabet(alphabet);
    for (size_t i = 0; fine && i < n; i++) {
        size_t before = blob.n;
        fine = add_spelling(w->t, alphabet, list[i].left, &blob) && weft_bytes_add(&blob, " ", 1) &&
               add_spelling(w->t, alphabet, list[i].right, &blob);
        lengths[i] = blob.n - before;
    }
    if (!fine)
        no_memory(w);
    if (!w->status)
        w->status = weft_metadata_put_strings(w->m, KEY("merges"), strlen(KEY("merges")),
                                              (const char *)blob.data, lengths, n);
    weft_dealloc(&w->a, lengths, lengths ? bytes : 0);
    weft_bytes_free(&blob);
}

/* A token that merging makes has minus the rank of its first merge; the others never come up. */
static void put_scores(writing *w, const weft_merge *list, size_t n, size_t n_tokens) {
    size_t bytes = weft_size_of(n_tokens, sizeof(float));
    float *scores = weft_alloc(&w->a, bytes);
    if (!scores) {
        no_memory(w);
        return;
    }
    for (size_t i = 0; i < n_tokens; i++)
        scores[i] = -1e6f;
    for (size_t i = n; i-- > 0;)
        if (list[i].id >= 0 && (size_t)list[i].id < n_tokens)
            scores[list[i].id] = -(float)list[i].rank;
    if (!w->status)
        w->status = weft_metadata_put_array(w->m, KEY("scores"), strlen(KEY("scores")),
                                            WEFT_VALUE_F32, scores, n_tokens);
    weft_dealloc(&w->a, scores, bytes);
}

/* ---- The pre-tokeniser's name ---- */

static bool has_nfc(const weft_tokenizer *t) {
    for (size_t i = 0; i < t->normalizer.n; i++)
        if (t->normalizer.steps[i].kind == WEFT_NORM_NFC)
            return true;
    return false;
}

static bool cuts_alike(const weft_allocator *a, const weft_pretok *p, const weft_cuts *want,
                       weft_status *status) {
    weft_cuts cuts = {.a = a};
    const unsigned char *text = (const unsigned char *)probe;
    *status = weft_pretok_cut(p, text, sizeof probe - 1, &cuts);
    bool same = !*status && cuts.n == want->n;
    for (size_t i = 0; same && i < cuts.n; i++)
        same = cuts.cuts[i].begin == want->cuts[i].begin && cuts.cuts[i].end == want->cuts[i].end;
    weft_cuts_free(&cuts);
    return same;
}

/* The first known name whose patterns cut the probe as `t` does, with the same flags. */
static weft_status find_pre(const weft_tokenizer *t, char *name, size_t room) {
    weft_cuts want = {.a = &t->a};
    weft_status status =
        weft_pretok_cut(&t->pre, (const unsigned char *)probe, sizeof probe - 1, &want);
    bool found = false;
    for (size_t i = 0; !status && !found && weft_pretok_name_at(i, name, room); i++) {
        weft_pretok pre = {0};
        weft_pretok_kind kind;
        status = weft_pretok_by_name(&t->a, name, &pre, &kind);
        found = !status && kind.nfc == has_nfc(t) && kind.ignore_merges == t->ignore_merges &&
                cuts_alike(&t->a, &pre, &want, &status);
        weft_pretok_free(&pre);
    }
    weft_cuts_free(&want);
    if (!status && !found)
        status = weft_fail(WEFT_E_UNSUPPORTED, "tokenizer.json: no known pre-tokeniser cuts text "
                                               "as this one does (name one with --pre)");
    return status;
}

/* ---- All of it ---- */

static void put_specials(writing *w) {
    const weft_tokenizer *t = w->t;
    bool words = t->scheme == WEFT_SCHEME_WORDPIECE;
    put_id(w, words ? KEY("cls_token_id") : KEY("bos_token_id"), t->bos);
    put_id(w, words ? KEY("seperator_token_id") : KEY("eos_token_id"), t->eos); /* spelled so */
    put_id(w, KEY("unknown_token_id"), t->scheme == WEFT_SCHEME_BYTES ? -1 : t->unk);
    put_flag(w, KEY("add_bos_token"), t->adds_bos);
    put_flag(w, KEY("add_eos_token"), t->adds_eos);
    for (int32_t id = 0; id < t->n; id++)
        if (t->eog[id] && id != t->eos) {
            put_id(w, KEY("eot_token_id"), id);
            break;
        }
    if (t->chat_template)
        put_text(w, "tokenizer.chat_template", t->chat_template, t->template_bytes);
}

static void put_unigram(writing *w, size_t n_tokens, bool squeezes) {
    const weft_tokenizer *t = w->t;
    size_t bytes = weft_size_of(n_tokens, sizeof(float));
    float *scores = weft_alloc_zeroed(&w->a, bytes);
    if (!scores) {
        no_memory(w);
        return;
    }
    memcpy(scores, t->scores, ((size_t)t->n < n_tokens ? (size_t)t->n : n_tokens) * sizeof *scores);
    if (!w->status)
        w->status = weft_metadata_put_array(w->m, KEY("scores"), strlen(KEY("scores")),
                                            WEFT_VALUE_F32, scores, n_tokens);
    weft_dealloc(&w->a, scores, bytes);
    put_flag(w, KEY("remove_extra_whitespaces"), squeezes);
    for (size_t i = 0; i < t->normalizer.n && !w->status; i++) {
        const weft_charsmap *map = &t->normalizer.steps[i].map;
        if (t->normalizer.steps[i].kind == WEFT_NORM_CHARSMAP)
            w->status = weft_metadata_put_array(w->m, KEY("precompiled_charsmap"),
                                                strlen(KEY("precompiled_charsmap")), WEFT_VALUE_U8,
                                                map->data, map->bytes);
    }
}

/* `squeezes`: Unigram drops spaces that are not between words. */
static void put_all(writing *w, const char *pre, size_t n_tokens, bool squeezes) {
    const weft_tokenizer *t = w->t;
    bool bytes = t->scheme == WEFT_SCHEME_BYTES, words = t->scheme == WEFT_SCHEME_WORDPIECE;
    bool unigram = t->scheme == WEFT_SCHEME_UNIGRAM;
    const char *model = bytes ? "gpt2" : words ? "bert" : unigram ? "t5" : "llama";
    char found[64];
    if (bytes && !pre) {
        w->status = find_pre(t, found, sizeof found);
        pre = found;
    }
    put_text(w, KEY("model"), model, strlen(model));
    if (!bytes)
        pre = "default";
    if (!w->status)
        put_text(w, KEY("pre"), pre, strlen(pre));
    put_tokens(w, n_tokens);
    put_types(w, n_tokens);
    size_t n;
    weft_merge *list = w->status || words || unigram ? NULL : sorted_merges(w, &n);
    if (list && bytes)
        put_merges(w, list, n);
    if (list && !bytes)
        put_scores(w, list, n, n_tokens);
    weft_dealloc(&w->a, list, list ? (t->merges.n_slots + 1) * sizeof *list : 0);
    if (unigram)
        put_unigram(w, n_tokens, squeezes);
    if (!bytes && !words)
        put_flag(w, KEY("add_space_prefix"), t->space_at_start);
    put_specials(w);
}

/* The probe's ids as both see it. */
static weft_status read_back(const weft_tokenizer *t, int64_t n_rows, const weft_metadata *m) {
    weft_tokenizer *copy = NULL;
    int32_t *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    weft_tokenize_options how = {0};
    weft_status status = weft_tokenizer_from_gguf(t->engine, m, NULL, n_rows, &copy);
    if (!status)
        status = weft_tokenize(t, probe, sizeof probe - 1, how, &a, &n_a);
    if (!status)
        status = weft_tokenize(copy, probe, sizeof probe - 1, how, &b, &n_b);
    if (!status && (n_a != n_b || memcmp(a, b, n_a * sizeof *a) != 0))
        status = weft_fail(WEFT_E_UNSUPPORTED,
                           "tokenizer.json: a GGUF file cannot say how this one cuts text");
    weft_tokens_free(t, a, n_a);
    weft_tokens_free(copy, b, n_b);
    weft_tokenizer_release(&copy);
    return status;
}

/* All keys in a map of their own, read back. */
static weft_status write_checked(const weft_tokenizer *t, const char *pre, int64_t n_rows,
                                 bool squeezes, weft_metadata *out) {
    writing w = {.t = t, .m = weft_metadata_create(&t->a), .a = t->a};
    if (!w.m)
        return weft_fail(WEFT_E_MEMORY, "tokenizer: out of memory");
    put_all(&w, pre, n_rows >= 0 ? (size_t)n_rows : (size_t)t->n, squeezes);
    if (!w.status)
        w.status = read_back(t, n_rows, w.m);
    for (size_t i = 0; !w.status && i < weft_metadata_count(w.m); i++)
        w.status = weft_metadata_put_from(out, w.m, i);
    weft_metadata_destroy(w.m);
    return w.status;
}

weft_status weft_tokenizer_to_gguf(const weft_tokenizer *t, const char *pre, int64_t n_rows,
                                   weft_metadata *out) {
    bool unigram = t->scheme == WEFT_SCHEME_UNIGRAM;
    if (t->scheme != WEFT_SCHEME_BYTES && t->scheme != WEFT_SCHEME_CHARS &&
        t->scheme != WEFT_SCHEME_WORDPIECE && !unigram)
        return weft_fail(WEFT_E_UNSUPPORTED,
                         "tokenizer.json: a kind of tokenizer that GGUF files have no words for");
    /* How spaces are treated is said in many ways: what gives the same ids is taken. */
    weft_status status = write_checked(t, pre, n_rows, unigram, out);
    return unigram && status == WEFT_E_UNSUPPORTED ? write_checked(t, pre, n_rows, false, out)
                                                   : status;
}
