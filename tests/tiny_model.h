/* A small valid model for tests: llama, 2 layers, byte-level BPE of 300 tokens, weights by a fixed
 * generator. Written as a GGUF v3 file, the same bytes on every machine. */
#ifndef WEFT_TESTS_TINY_MODEL_H
#define WEFT_TESTS_TINY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TINY_N_VOCAB = 300,
    TINY_BOS = 296,       /* <|bos|> */
    TINY_EOS = 297,       /* <|eos|> */
    TINY_IM_START = 298,  /* <|im_start|> */
    TINY_IM_END = 299,    /* <|im_end|> */
    TINY_N_CONTEXT = 512, /* that it claims */
    TINY_MERGED = 256     /* tokens from here on to TINY_BOS are merges of two others */
};

typedef struct tiny_options {
    bool q8_0;          /* matrices as Q8_0 instead of F32 */
    bool spm;           /* SentencePiece: the ids of printable ASCII are that character after a
                           space, all others spell what they are */
    bool chat;          /* has a ChatML template */
    bool adds_bos;      /* asks for BOS before a text */
    bool no_bos;        /* names no BOS token */
    int32_t eos;        /* the id that ends a text; 0: TINY_EOS */
    uint64_t seed;      /* of the weights */
    int32_t extra_rows; /* embedding rows beyond the tokeniser's ids, a multiple of 4 */
} tiny_options;

/* False when the file cannot be written. `options` may be NULL. */
bool tiny_model_write(const char *path, const tiny_options *options);

/* The same in a temporary file, whose path is written to `path` [64]; remove it with unlink. */
bool tiny_model_temporary(char path[64], const tiny_options *options);

#endif
