/* Small models with logits of transformers (float32): opening them, feeding them in any way, and
 * comparing. What reference.json holds: tests/data/make_reference.py. */
#ifndef WEFT_TESTS_MODEL_REFERENCE_H
#define WEFT_TESTS_MODEL_REFERENCE_H

#include "base/json.h"
#include "loader/loader.h"
#include "tiny.h"

#define SHARED_MODELS WEFT_SHARED_DIR "/reference/models/"
#define OWN_MODELS WEFT_TEST_DATA "/reference/"

enum { MAX_TOKENS = 64, MAX_VOCAB = 320 };

/* An open model with a cache of two sequences, and the logits of the rows fed last. */
typedef struct reference {
    weft_engine *engine;
    weft_source source;
    weft_network *network;
    weft_cache *cache;
    weft_scope *scope;
    int32_t sequence;
    size_t n_vocab;
    float rows[MAX_TOKENS * MAX_VOCAB]; /* [position, n_vocab] */
} reference;

reference *open_reference(const char *path, weft_numbers numbers, bool pack);
void close_reference(reference **r);

weft_json *read_json(const char *path);
/* The token ids of a list, at most MAX_TOKENS. */
size_t ids_of(const weft_json *list, int32_t *out);
double difference(const reference *r, const float *logits, const weft_json *list);

/* Feeds tokens [from, to) of a text of `total` in pieces of `piece` (0: uneven) to r->sequence,
 * which holds those before; what a longer text's rope makes stale is fed again. */
void feed(reference *r, const int32_t *tokens, size_t from, size_t to, size_t total, size_t piece);

/* Feeds a prompt of reference.json in pieces, then its greedy continuation one by one, which must
 * be equal; the largest error of last_logits, logsumexp and final_logits. */
double check_prompt(reference *r, const char *name, const weft_json *prompt, size_t piece,
                    double tolerance);

/* check_prompt of all prompts of the file `json` whole, one by one and in uneven pieces. */
double check_model(const char *path, const char *json, bool pack, weft_numbers numbers,
                   double tolerance);

#endif
