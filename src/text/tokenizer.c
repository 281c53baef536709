/* The life of a tokeniser and what it says about itself. */
#include <string.h>
#include "text/pretok.h"
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

weft_tokenizer *weft_tokenizer_retain(weft_tokenizer *t) {
    if (t)
        atomic_fetch_add_explicit(&t->n_refs, 1, memory_order_relaxed);
    return t;
}

void weft_tokenizer_release(weft_tokenizer **tokenizer) {
    if (!tokenizer || !*tokenizer)
        return;
    weft_tokenizer *t = *tokenizer;
    *tokenizer = NULL;
    if (atomic_fetch_sub_explicit(&t->n_refs, 1, memory_order_acq_rel) == 1)
        weft_tokenizer_destroy(t);
}

bool weft_tokenizer_knows_pre(const char *name) {
    return name && weft_pretok_is_known(name);
}

int32_t weft_tokenizer_n_tokens(const weft_tokenizer *t) {
    return t ? t->n : 0;
}
int32_t weft_tokenizer_bos(const weft_tokenizer *t) {
    return t ? t->bos : -1;
}
int32_t weft_tokenizer_eos(const weft_tokenizer *t) {
    return t ? t->eos : -1;
}
bool weft_tokenizer_adds_bos(const weft_tokenizer *t) {
    return t && t->adds_bos && t->bos >= 0;
}
bool weft_tokenizer_is_eog(const weft_tokenizer *t, int32_t id) {
    return t && id >= 0 && id < t->n && t->eog[id];
}
const char *weft_tokenizer_chat_template(const weft_tokenizer *t) {
    return t ? t->chat_template : NULL;
}

/* The spelling as the file has it, where that differs from the key: "Ġthe", " the". */
static int32_t find_respelled(const weft_tokenizer *t, const char *text, size_t n_bytes) {
    weft_bytes key = {.a = &t->a};
    size_t n = 0;
    int32_t id = -1;
    if (!weft_bytes_reserve(&key, n_bytes * 3))
        return -1;
    if (t->scheme == WEFT_SCHEME_BYTES) {
        if (weft_bytelevel_decode((const unsigned char *)text, n_bytes, key.data, &n))
            id = weft_vocab_find(t, key.data, n);
    } else {
        for (size_t i = 0; i < n_bytes; i++) {
            const char *c = text[i] == ' ' ? "\xe2\x96\x81" : &text[i];
            (void)weft_bytes_add(&key, c, text[i] == ' ' ? 3 : 1); /* there is room */
        }
        id = weft_vocab_find(t, key.data, key.n);
    }
    weft_bytes_free(&key);
    return id;
}

int32_t weft_tokenizer_find(const weft_tokenizer *t, const char *text, size_t n_bytes) {
    if (!t || !text || n_bytes == 0 || n_bytes > WEFT_TEXT_MAX)
        return -1;
    int32_t id = weft_vocab_find(t, text, n_bytes);
    return id >= 0 ? id : find_respelled(t, text, n_bytes);
}

/* Spellings at which the usual families end a turn or a text. Only added tokens count: "</s>" typed
 * out of plain tokens does not end anything. */
static const char *const eog_spellings[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|END_OF_TURN_TOKEN|>",
    "<EOT>",
    "<|eot|>",
    "<eos>",
    "<|end_of_turn|>",
    "<｜end▁of▁sentence｜>",
};

void weft_vocab_mark_eog(weft_tokenizer *t) {
    for (size_t i = 0; i < sizeof eog_spellings / sizeof eog_spellings[0]; i++) {
        const char *s = eog_spellings[i];
        int32_t id = weft_vocab_find(t, s, strlen(s));
        if (id >= 0 && (weft_token_is_special(t, id) || t->types[id] == WEFT_TOKEN_USER))
            t->eog[id] = true;
    }
    if (t->eos >= 0)
        t->eog[t->eos] = true;
}
