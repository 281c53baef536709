/* The frequencies of a network's ropes, with the divisors that its file gives them: one set as
 * llama3's models have it in GGUF files, two with LongRoPE. */
#include "base/alloc.h"
#include "base/detail.h"
#include "base/engine_impl.h"
#include "model/config.h"
#include "model/network_impl.h"

/* Pairs of the wider rope. */
static size_t most_pairs(const weft_network *n) {
    int32_t a = n->h.rope.n_rot, b = n->h.rope_local.n_rot;
    return (size_t)(a > b ? a : b) / 2;
}

const double *weft_network_frequencies(const weft_network *n, int rope, bool longer) {
    size_t half = most_pairs(n);
    return n->frequencies + ((size_t)rope * 2 + longer) * half;
}

bool weft_network_turns_longer(const weft_network *n, int32_t length) {
    return n->h.rope.scaling == WEFT_ROPE_LONG && length > n->h.rope.n_original;
}

/* Divisors out of a tensor; `out` [half] stays as it is where there is none. */
static weft_status from_tensor(weft_tensor *t, size_t half, float *out) {
    if (!t)
        return WEFT_OK;
    return weft_tensor_read(t, out, half * sizeof *out);
}

/* Divisors [half] of one rope, ones where the file has none. */
static weft_status divisors_of(const weft_network *n, const weft_metadata *metadata, bool longer,
                               size_t half, float *out) {
    const weft_globals *g = &n->globals;
    for (size_t i = 0; i < half; i++)
        out[i] = 1;
    if (n->h.rope.scaling != WEFT_ROPE_LONG)
        return from_tensor(g->rope_factors, half, out);
    if (n->spelling == WEFT_SPELL_HF) {
        weft_config c = {metadata, n->arch, n->spelling};
        return weft_hparams_rope_divisors(&c, longer, half, out);
    }
    weft_tensor *t = longer ? g->rope_factors_long : g->rope_factors_short;
    if (!t)
        return weft_fail(WEFT_E_FORMAT, "rope_factors_%s.weight: the tensor is missing",
                         longer ? "long" : "short");
    return from_tensor(t, half, out);
}

static weft_status fill(weft_network *n, const weft_metadata *metadata, float *divisors,
                        size_t half) {
    static const char *const what[WEFT_ROPES] = {"the rope's base, scaling and divisors",
                                                 "the local rope's base and scaling"};
    const weft_rope_rule *rules[WEFT_ROPES] = {&n->h.rope, &n->h.rope_local};
    bool own_local = n->arch->rope_base_local > 0 || n->arch->rope_local_plain;
    double *to = n->frequencies;
    for (int rope = 0; rope < WEFT_ROPES; rope++)
        for (int longer = 0; longer < 2; longer++, to += most_pairs(n)) {
            bool divided = rope == 0 || !own_local;
            weft_status st = divided ? divisors_of(n, metadata, longer, half, divisors) : WEFT_OK;
            if (st)
                return st;
            if (!weft_rope_frequencies(rules[rope], divided ? divisors : NULL, to))
                return weft_fail(WEFT_E_FORMAT, "%s: give a frequency that is not usable",
                                 n->globals.rope_factors && rope == 0 ? "rope_freqs.weight"
                                                                      : what[rope]);
        }
    return WEFT_OK;
}

weft_status weft_network_create_frequencies(weft_network *n, const weft_metadata *metadata) {
    const weft_allocator *a = &n->engine->allocator;
    size_t half = (size_t)n->h.rope.n_rot / 2;
    if (half == 0)
        return WEFT_OK;
    n->n_frequency_bytes = weft_size_of(most_pairs(n), WEFT_ROPES * 2 * sizeof(double));
    n->frequencies = weft_alloc(a, n->n_frequency_bytes);
    float *divisors = weft_alloc(a, half * sizeof *divisors);
    weft_status st = n->frequencies && divisors
                         ? fill(n, metadata, divisors, half)
                         : weft_fail(WEFT_E_MEMORY, "no memory for rope frequencies");
    weft_dealloc(a, divisors, half * sizeof *divisors);
    return st;
}
