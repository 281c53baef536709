/* Which tokens the generator may choose: what the grammar allows, without the tokens that would end
 * the text too early. */
#ifndef WEFT_ENGINE_CONSTRAIN_H
#define WEFT_ENGINE_CONSTRAIN_H

#include <weft/session.h>

typedef struct weft_constraint {
    weft_allocator a;
    const weft_tokenizer *tokenizer; /* NULL: ids only */
    const weft_generate_options *options;
    weft_mask_fn outer; /* of the caller's sampler; NULL: none */
    void *outer_ctx;
    int32_t n_generated;
    uint64_t *bits; /* [n_words] */
    size_t n_words;
    int32_t *ends; /* [n_ends] EOS and the like, where they may have to be left out */
    size_t n_ends;
    double seconds; /* spent on masks */
} weft_constraint;

/* `options` is borrowed; `n_vocab` as in the choices to come. WEFT_E_MEMORY. */
weft_status weft_constraint_init(weft_constraint *c, const weft_allocator *a,
                                 const weft_tokenizer *tokenizer,
                                 const weft_generate_options *options, size_t n_vocab);
void weft_constraint_free(weft_constraint *c);
/* A weft_mask_fn; ctx: the constraint. */
weft_status weft_constraint_mask(void *ctx, size_t n_vocab, const uint64_t **bits);
/* After a token was chosen. */
weft_status weft_constraint_accept(weft_constraint *c, int32_t token);
/* Nothing can follow. */
bool weft_constraint_is_over(const weft_constraint *c);
bool weft_constraint_stops(const weft_constraint *c, int32_t token);

#endif
