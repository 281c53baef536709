/* Inside of weft_tokenizer, for the files of src/text: the vocabulary, the merges, the added tokens
 * and the pre-tokeniser. All of it is built once and then only read. */
#ifndef WEFT_TEXT_TOKENIZER_IMPL_H
#define WEFT_TEXT_TOKENIZER_IMPL_H

#include <stdatomic.h>
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "text/pretok.h"
#include "text/text.h"

/* The longest text one call takes: positions are 32 bits wide and a space may become three bytes.
 */
#define WEFT_TEXT_MAX ((size_t)1 << 29)

typedef enum weft_scheme {
    WEFT_SCHEME_BYTES,    /* byte-level BPE: symbols start as bytes, merges by rank (gpt2) */
    WEFT_SCHEME_CHARS,    /* BPE over characters with byte fallback, merges by rank (gemma4) */
    WEFT_SCHEME_SCORES,   /* SentencePiece BPE: the best-scored neighbouring pair first (llama) */
    WEFT_SCHEME_UNIGRAM,  /* the most probable pieces (Kudo 2018; t5) */
    WEFT_SCHEME_WORDPIECE /* the longest piece first, words begin with ▁ (bert) */
} weft_scheme;

/* As in the GGUF key tokenizer.ggml.token_type. */
typedef enum weft_token_type {
    WEFT_TOKEN_NORMAL = 1,
    WEFT_TOKEN_UNKNOWN = 2,
    WEFT_TOKEN_CONTROL = 3,
    WEFT_TOKEN_USER = 4, /* added, but plain text: always matched */
    WEFT_TOKEN_UNUSED = 5,
    WEFT_TOKEN_BYTE = 6
} weft_token_type;

/* Flags of added tokens (tokenizer.json only). */
enum { WEFT_ADDED_LSTRIP = 1, WEFT_ADDED_RSTRIP = 2, WEFT_ADDED_SINGLE_WORD = 4 };

/* Growing bytes, used while building and while encoding. */
typedef struct weft_bytes {
    const weft_allocator *a;
    unsigned char *data;
    size_t n, room;
} weft_bytes;
bool weft_bytes_add(weft_bytes *b, const void *data, size_t n); /* false: no memory */
bool weft_bytes_reserve(weft_bytes *b, size_t more);
void weft_bytes_free(weft_bytes *b);

/* Strings of the tokens, one after the other. */
typedef struct weft_strings {
    weft_bytes blob;
    size_t *ends; /* [n] end offset of string i */
} weft_strings;

/* ---- Normalising ---- */

typedef struct weft_charsmap {
    unsigned char *data; /* as in the file: the trie's size, the trie, the replacements */
    size_t bytes, n_units, n_strings;
} weft_charsmap;

typedef enum weft_normalizer_kind {
    WEFT_NORM_NFC,
    WEFT_NORM_NFD,
    WEFT_NORM_NFKC,
    WEFT_NORM_NFKD,
    WEFT_NORM_LOWERCASE,
    WEFT_NORM_STRIP_ACCENTS, /* non-spacing marks go */
    WEFT_NORM_STRIP,         /* spaces at both ends, as `left` and `right` say */
    WEFT_NORM_SQUEEZE,       /* runs of U+0020 become one */
    WEFT_NORM_REPLACE,       /* `from` by `to`; a pattern if `pattern` has one */
    WEFT_NORM_PREPEND,       /* `to`, unless the text is empty */
    WEFT_NORM_NMT,           /* SentencePiece's rules for control characters and odd spaces */
    WEFT_NORM_CHARSMAP,
    WEFT_NORM_BERT_CLEAN, /* control characters go, spaces become U+0020 */
    WEFT_NORM_BERT_HAN,   /* spaces around Han characters */
} weft_normalizer_kind;

typedef struct weft_normalizer_step {
    weft_normalizer_kind kind;
    bool left, right;
    bool graphemes;      /* CHARSMAP: as Hugging Face reads it, cluster by cluster */
    weft_bytes from, to; /* REPLACE, PREPEND */
    weft_pretok pattern;
    weft_charsmap map;
} weft_normalizer_step;

#define WEFT_NORMALIZER_STEPS 16
typedef struct weft_normalizer {
    weft_normalizer_step *steps; /* [n] of room WEFT_NORMALIZER_STEPS; NULL: none */
    size_t n;
} weft_normalizer;

/* ---- The vocabulary ---- */

/* String → lowest id, open addressing. The tag is part of the hash: strings are compared only where
 * it fits. */
typedef struct weft_id_slot {
    uint32_t next_id; /* id + 1, 0: free */
    uint32_t tag;
} weft_id_slot;
typedef struct weft_id_map {
    weft_id_slot *slots;
    size_t n_slots; /* a power of two */
} weft_id_map;

/* (left id, right id) → rank and the merged id. */
typedef struct weft_merge {
    int32_t left, right; /* left -1: a free slot */
    uint32_t rank;
    int32_t id;
} weft_merge;
typedef struct weft_merge_map {
    weft_merge *slots;
    size_t n_slots; /* a power of two, 0: none */
} weft_merge_map;

/* A trie: first child and next sibling, the root's children in a table. */
typedef struct weft_trie_node {
    uint32_t child, next; /* 0: none */
    int32_t id;           /* -1: no token ends here */
    unsigned char byte;
} weft_trie_node;
typedef struct weft_trie {
    weft_trie_node *nodes; /* node 0 is unused */
    size_t n, room;
    uint32_t first[256]; /* node of each first byte */
} weft_trie;

struct weft_tokenizer {
    atomic_size_t n_refs;
    weft_engine *engine;
    weft_allocator a;
    weft_scheme scheme;
    int32_t n;            /* ids in the tables below */
    int64_t n_rows;       /* rows of the embedding: ids from here on are never made; -1: unknown */
    weft_strings keys;    /* what encoding looks up: bytes, or characters with ▁ for a space */
    weft_strings plain;   /* the bytes a token stands for; unused for WEFT_SCHEME_BYTES */
    unsigned char *types; /* [n] weft_token_type */
    unsigned char *flags; /* [n] WEFT_ADDED_… */
    bool *eog;            /* [n] */
    uint32_t *ranks;      /* [n] SCORES: smaller merges first */
    size_t longest;       /* bytes of the longest key */
    uint64_t seed;        /* of the hashes */
    weft_id_map ids;
    weft_merge_map merges;
    weft_bytes merge_key;  /* of the merge that is added */
    weft_trie trie;        /* of added tokens */
    int32_t byte_ids[256]; /* the token of one byte, -1: none */
    int32_t bos, eos, unk; /* -1: none */
    bool adds_bos, adds_eos;
    bool fuse_unk;           /* neighbouring unknowns become one */
    bool ignore_merges;      /* a piece that is a token is not merged up */
    bool space_at_start;     /* a space is put in front of the text … */
    bool space_at_fragments; /* … and after each added token */
    bool space_once;         /* … unless the text begins with one */
    bool drops_space;        /* decoding drops the first space */
    bool newlines_alone;     /* no token holds a newline beside another character */
    bool joins_mark[256];    /* some token holds this byte in front of a ▁ */
    bool marks_spaces;       /* a space is written as ▁ */
    weft_normalizer normalizer;
    weft_pretok pre;
    float *scores;    /* [n] UNIGRAM: log-probabilities */
    float lowest;     /* of the scores */
    weft_trie pieces; /* UNIGRAM: what text is cut into */
    /* The tokens' bytes as a trie, for grammars: made by the first that needs it. */
    _Atomic(struct weft_token_trie *) token_trie;
    char *chat_template; /* or NULL */
    size_t template_bytes;
};

/* ---- vocab.c: building; each of these needs the ones before ---- */

weft_status weft_tokenizer_new(weft_engine *engine, weft_scheme scheme, int32_t n, int64_t n_rows,
                               weft_tokenizer **out);
void weft_tokenizer_destroy(weft_tokenizer *t);
/* Appends a token's spelling as the file has it, in ascending order of ids; types and flags must be
 * there. */
weft_status weft_vocab_add(weft_tokenizer *t, int32_t id, const char *text, size_t n_bytes);
/* After the last token: the lookup tables, byte tokens and the trie. */
weft_status weft_vocab_finish(weft_tokenizer *t);
weft_status weft_merges_reserve(weft_tokenizer *t, size_t n);
/* Pieces as the file spells them; `what` and `i` name the entry in the detail. */
weft_status weft_merges_add(weft_tokenizer *t, uint32_t rank, const char *left, size_t left_bytes,
                            const char *right, size_t right_bytes);
/* Marks the ids at which generation ends. */
void weft_vocab_mark_eog(weft_tokenizer *t);
/* Keeps a copy of the template's source. */
weft_status weft_tokenizer_set_template(weft_tokenizer *t, const char *source, size_t n_bytes);

/* ---- vocab.c: reading ---- */

const char *weft_strings_get(const weft_strings *s, int32_t i, size_t *n_bytes);
/* -1: none */
int32_t weft_vocab_find(const weft_tokenizer *t, const void *key, size_t n_bytes);
/* Differs from run to run. */
uint64_t weft_vocab_hash(const weft_tokenizer *t, const unsigned char *s, size_t n);
const weft_merge *weft_merges_find(const weft_tokenizer *t, int32_t left, int32_t right);
uint32_t weft_trie_child(const weft_trie *trie, uint32_t node, unsigned char byte); /* 0: none */
/* Of equal strings the first counts. False: no memory. */
bool weft_trie_add(const weft_allocator *a, weft_trie *trie, const unsigned char *s, size_t n,
                   int32_t id);
void weft_trie_free(const weft_allocator *a, weft_trie *trie);
/* The longest added token at the start of `text`; -1: none. */
int32_t weft_trie_match(const weft_tokenizer *t, const unsigned char *text, size_t n, bool special,
                        size_t *n_bytes);
bool weft_token_is_special(const weft_tokenizer *t, int32_t id);

/* ---- bpe.c ---- */

typedef struct weft_ids {
    const weft_allocator *a;
    int32_t *data;
    size_t n, room;
} weft_ids;
bool weft_ids_add(weft_ids *ids, int32_t id);

typedef struct weft_symbol {
    uint32_t start, n; /* bytes of the piece; n 0: merged into the one before */
    int32_t prev, next;
    int32_t id; /* -1: not a token */
} weft_symbol;
typedef struct weft_candidate {
    uint32_t rank, at,
        n; /* n: bytes of both symbols, which tells whether they are still the same */
    int32_t id;
} weft_candidate;

/* Scratch of one call of weft_tokenize. */
typedef struct weft_merger {
    const weft_tokenizer *t;
    weft_symbol *symbols;
    size_t n_symbols, symbols_room;
    weft_candidate *heap;
    size_t n_heap, heap_room;
} weft_merger;

/* Ids of one piece (keys' spelling) appended to `out`. */
weft_status weft_merge_piece(weft_merger *m, const unsigned char *piece, size_t n_bytes,
                             weft_ids *out);
void weft_merger_free(weft_merger *m);

/* ---- unigram.c, wordpiece.c: the ids of normalised text appended to `out` ---- */

weft_status weft_unigram_encode(const weft_tokenizer *t, const unsigned char *text, size_t n_bytes,
                                weft_ids *out);
weft_status weft_wordpiece_encode(const weft_tokenizer *t, const unsigned char *text,
                                  size_t n_bytes, weft_ids *out);
#endif
