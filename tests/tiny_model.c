/* Writes the tiny model. Its output matrix gives tokens that are not printable ASCII a logit of
 * zero, so that what it generates is text. */
#include "tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_EMBD = 64, N_FF = 96, N_HEAD = 4, N_HEAD_KV = 2, HEAD_DIM = 16, N_LAYER = 2, ALIGN = 32 };
enum { T_U32 = 4, T_F32 = 6, T_BOOL = 7, T_STRING = 8, T_ARRAY = 9 }; /* GGUF value types */
enum { TENSOR_F32 = 0, TENSOR_Q8_0 = 8 };
enum { MAX_TENSORS = 32 };

typedef struct tensor {
    char name[48];
    int n_rows, n_cols; /* n_rows 0: a vector */
    bool quantized;
} tensor;

typedef struct writer {
    FILE *file;
    tiny_options o;
    tensor tensors[MAX_TENSORS];
    int n_tensors, n_vocab;
    uint64_t random;
} writer;

/* ---- Values ---- */

static void put(writer *w, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        fputc((int)(value >> (8 * i) & 0xff), w->file);
}

static void put_float(writer *w, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(w, bits, 4);
}

static void put_text(writer *w, const char *text) {
    put(w, strlen(text), 8);
    fputs(text, w->file);
}

static void key(writer *w, const char *name, int type) {
    put_text(w, name);
    put(w, (uint64_t)type, 4);
}

static void key_u32(writer *w, const char *name, uint32_t value) {
    key(w, name, T_U32);
    put(w, value, 4);
}

static void key_f32(writer *w, const char *name, float value) {
    key(w, name, T_F32);
    put_float(w, value);
}

static void key_text(writer *w, const char *name, const char *value) {
    key(w, name, T_STRING);
    put_text(w, value);
}

static void key_array(writer *w, const char *name, int type, uint64_t n) {
    key(w, name, T_ARRAY);
    put(w, (uint64_t)type, 4);
    put(w, n, 8);
}

/* ---- The vocabulary ---- */

/* The character that stands for a byte in byte-level BPE (Radford et al. 2019): itself where
 * printable in Latin-1, else the next free one from 256 on; as UTF-8. */
static void spell_byte(int byte, char out[4]) {
    int c = 256;
    for (int b = 0; b <= byte; b++) {
        bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (b == byte && plain)
            c = b;
        else if (b < byte && !plain)
            c++;
    }
    if (c < 128)
        snprintf(out, 4, "%c", c);
    else
        snprintf(out, 4, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 63));
}

/* Pairs of bytes; each becomes a token, in this order. */
static const char *const merges[] = {"th", "he", "in", "er", "an", "re", "on", "at", "en", "nd",
                                     "ti", "es", "or", "te", "of", "ed", "is", "it", "al", "ar",
                                     "st", "to", "nt", "ng", "se", "ha", "as", "ou", "io", "le",
                                     "ve", "co", "me", "de", "hi", "ri", "ro", "ic", "ne", "ea"};

/* Every word of its text begins with the mark of a space. */
static void put_spm_vocabulary(writer *w) {
    char spelling[16];
    key_text(w, "tokenizer.ggml.model", "llama");
    key_array(w, "tokenizer.ggml.tokens", T_STRING, TINY_N_VOCAB);
    for (int i = 0; i < TINY_N_VOCAB; i++) {
        if (i > 32 && i < 127)
            snprintf(spelling, sizeof spelling, "\xe2\x96\x81%c", i);
        else
            snprintf(spelling, sizeof spelling, "<%d>", i);
        put_text(w, spelling);
    }
    key_array(w, "tokenizer.ggml.scores", T_F32, TINY_N_VOCAB);
    for (int i = 0; i < TINY_N_VOCAB; i++)
        put_float(w, 0);
    key_array(w, "tokenizer.ggml.token_type", T_U32 + 1, TINY_N_VOCAB);
    for (int i = 0; i < TINY_N_VOCAB; i++)
        put(w, i == 0 ? 2 : i < TINY_BOS ? 1 : 3, 4); /* unknown, normal, control */
    key_u32(w, "tokenizer.ggml.bos_token_id", TINY_BOS);
    key_u32(w, "tokenizer.ggml.eos_token_id", TINY_EOS);
}

static void put_vocabulary(writer *w) {
    static const char *const specials[] = {"<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>"};
    char spelling[4];
    key_text(w, "tokenizer.ggml.model", "gpt2");
    key_text(w, "tokenizer.ggml.pre", "gpt-2");
    key_array(w, "tokenizer.ggml.tokens", T_STRING, TINY_N_VOCAB);
    for (int i = 0; i < 256; i++) {
        spell_byte(i, spelling);
        put_text(w, spelling);
    }
    for (int i = TINY_MERGED; i < TINY_BOS; i++)
        put_text(w, merges[i - TINY_MERGED]);
    for (int i = 0; i < 4; i++)
        put_text(w, specials[i]);
    key_array(w, "tokenizer.ggml.token_type", T_U32 + 1, TINY_N_VOCAB);
    for (int i = 0; i < TINY_N_VOCAB; i++)
        put(w, i < TINY_BOS ? 1 : 3, 4); /* normal, control */
    key_array(w, "tokenizer.ggml.merges", T_STRING, TINY_BOS - TINY_MERGED);
    for (int i = TINY_MERGED; i < TINY_BOS; i++) {
        const char *pair = merges[i - TINY_MERGED];
        char rule[4] = {pair[0], ' ', pair[1], 0};
        put_text(w, rule);
    }
    if (!w->o.no_bos)
        key_u32(w, "tokenizer.ggml.bos_token_id", TINY_BOS);
    key_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)(w->o.eos ? w->o.eos : TINY_EOS));
    key(w, "tokenizer.ggml.add_bos_token", T_BOOL);
    put(w, w->o.adds_bos, 1);
    if (w->o.chat)
        key_text(w, "tokenizer.chat_template",
                 "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
                 "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
                 "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}");
}

/* ---- Weights ---- */

static void add(writer *w, const char *name, int n_rows, int n_cols) {
    tensor *t = &w->tensors[w->n_tensors++];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->n_rows = n_rows;
    t->n_cols = n_cols;
    t->quantized = w->o.q8_0 && n_rows > 0;
}

static void add_layer(writer *w, int layer) {
    static const struct {
        const char *name;
        int n_rows, n_cols;
    } parts[] = {
        {"attn_norm", 0, N_EMBD},
        {"attn_q", N_HEAD * HEAD_DIM, N_EMBD},
        {"attn_k", N_HEAD_KV * HEAD_DIM, N_EMBD},
        {"attn_v", N_HEAD_KV * HEAD_DIM, N_EMBD},
        {"attn_output", N_EMBD, N_HEAD * HEAD_DIM},
        {"ffn_norm", 0, N_EMBD},
        {"ffn_gate", N_FF, N_EMBD},
        {"ffn_up", N_FF, N_EMBD},
        {"ffn_down", N_EMBD, N_FF},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, parts[i].name);
        add(w, name, parts[i].n_rows, parts[i].n_cols);
    }
}

static uint64_t tensor_bytes(const tensor *t) {
    uint64_t n = (uint64_t)(t->n_rows ? t->n_rows : 1) * (uint64_t)t->n_cols;
    return t->quantized ? n / 32 * 34 : n * 4;
}

static uint64_t padded(uint64_t n) {
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Uniform in [-1, 1): the upper bits of a 64-bit linear congruence (Knuth's MMIX constants). */
static float uniform(writer *w) {
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(w->random >> 40) / (float)(1 << 23) - 1;
}

/* Of a positive normal number whose half is normal too, rounded down. */
static uint16_t to_half(float value) {
    int exponent;
    float fraction = frexpf(value, &exponent); /* in [0.5, 1) */
    return (uint16_t)((exponent + 14) << 10 | (int)((fraction * 2 - 1) * 1024));
}

static float from_half(uint16_t half) {
    return ldexpf(1 + (float)(half & 1023) / 1024, (half >> 10) - 15);
}

static void put_block(writer *w, const float *x) {
    float most = 0.1f; /* so that the scale is a normal number */
    for (int i = 0; i < 32; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    uint16_t half = to_half(most / 126); /* rounded down, so 127 is never passed */
    put(w, half, 2);
    for (int i = 0; i < 32; i++)
        put(w, (uint8_t)(int8_t)lrintf(x[i] / from_half(half)), 1);
}

static bool is_text(int token) {
    return (token >= 32 && token < 127) || (token >= TINY_MERGED && token < TINY_BOS);
}

static void put_tensor(writer *w, const tensor *t) {
    bool is_output = strcmp(t->name, "output.weight") == 0;
    bool is_embedding = strcmp(t->name, "token_embd.weight") == 0;
    float scale = is_embedding ? 1.0f : 3.0f / sqrtf((float)t->n_cols);
    float row[N_FF > N_EMBD ? N_FF : N_EMBD];
    for (int r = 0; r < (t->n_rows ? t->n_rows : 1); r++) {
        for (int c = 0; c < t->n_cols; c++) {
            row[c] = uniform(w);
            row[c] = t->n_rows ? row[c] * scale : 1 + 0.1f * row[c];
            if (is_output && !is_text(r))
                row[c] = 0;
        }
        for (int c = 0; c < t->n_cols; c += 32)
            if (t->quantized)
                put_block(w, row + c);
            else
                for (int i = c; i < c + 32; i++)
                    put_float(w, row[i]);
    }
    for (uint64_t n = tensor_bytes(t); n < padded(tensor_bytes(t)); n++)
        put(w, 0, 1);
}

static void put_header(writer *w) {
    int n_keys = 12 + (w->o.spm ? 6 : 7 + !w->o.no_bos + w->o.chat);
    fputs("GGUF", w->file);
    put(w, 3, 4);
    put(w, (uint64_t)w->n_tensors, 8);
    put(w, (uint64_t)n_keys, 8);
    key_text(w, "general.architecture", "llama");
    key_text(w, "general.name", "tiny");
    key_u32(w, "general.alignment", ALIGN);
    key_u32(w, "llama.block_count", N_LAYER);
    key_u32(w, "llama.context_length", TINY_N_CONTEXT);
    key_u32(w, "llama.embedding_length", N_EMBD);
    key_u32(w, "llama.feed_forward_length", N_FF);
    key_u32(w, "llama.attention.head_count", N_HEAD);
    key_u32(w, "llama.attention.head_count_kv", N_HEAD_KV);
    key_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    key_u32(w, "llama.rope.dimension_count", HEAD_DIM);
    key_f32(w, "llama.rope.freq_base", 10000);
    if (w->o.spm)
        put_spm_vocabulary(w);
    else
        put_vocabulary(w);
    uint64_t offset = 0;
    for (int i = 0; i < w->n_tensors; i++) {
        const tensor *t = &w->tensors[i];
        put_text(w, t->name);
        put(w, t->n_rows ? 2 : 1, 4);
        put(w, (uint64_t)t->n_cols, 8); /* the row length comes first in GGUF */
        if (t->n_rows)
            put(w, (uint64_t)t->n_rows, 8);
        put(w, t->quantized ? TENSOR_Q8_0 : TENSOR_F32, 4);
        put(w, offset, 8);
        offset += padded(tensor_bytes(t));
    }
    while (ftell(w->file) % ALIGN)
        put(w, 0, 1);
}

static bool write_all(FILE *file, const tiny_options *options) {
    writer w = {.file = file};
    if (options)
        w.o = *options;
    w.random = w.o.seed + 1;
    w.n_vocab = TINY_N_VOCAB + w.o.extra_rows;
    add(&w, "token_embd.weight", w.n_vocab, N_EMBD);
    for (int layer = 0; layer < N_LAYER; layer++)
        add_layer(&w, layer);
    add(&w, "output_norm.weight", 0, N_EMBD);
    add(&w, "output.weight", w.n_vocab, N_EMBD);
    put_header(&w);
    for (int i = 0; i < w.n_tensors; i++)
        put_tensor(&w, &w.tensors[i]);
    bool fine = !ferror(file);
    return fclose(file) == 0 && fine;
}

bool tiny_model_write(const char *path, const tiny_options *options) {
    FILE *file = fopen(path, "wb");
    return file && write_all(file, options);
}

bool tiny_model_temporary(char path[64], const tiny_options *options) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, 64, "%.40s/weft-tiny-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    return file && write_all(file, options);
}
