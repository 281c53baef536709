/* The table of sampling steps, chains as data, and the checks of options. A new step is its file in
 * samplers/ and its line here. */
#include <math.h>
#include <string.h>
#include "base/detail.h"
#include "model/sampler_impl.h"

static bool cuts_by_sigma(const weft_sampler_options *o) {
    return o->top_n_sigma > 0;
}

static bool cuts_by_rank(const weft_sampler_options *o) {
    return o->top_k > 0;
}

const weft_sample_step weft_sample_steps[] = {
    {"penalties", weft_sample_penalties, true, weft_sampler_penalises},
    {"dry", weft_sample_dry, true, weft_sampler_dries},
    {"top_n_sigma", weft_sample_top_n_sigma, false, cuts_by_sigma},
    {"top_k", weft_sample_top_k, false, cuts_by_rank},
    {"typical_p", weft_sample_typical_p, false, NULL},
    {"top_p", weft_sample_top_p, false, NULL},
    {"min_p", weft_sample_min_p, false, NULL},
    {"xtc", weft_sample_xtc, false, NULL},
    {"temperature", weft_sample_temperature, false, NULL},
    {"mirostat", weft_sample_mirostat, false, NULL},
};
#define N_STEPS (sizeof weft_sample_steps / sizeof weft_sample_steps[0])

weft_sampler_options weft_sampler_options_default(void) {
    return (weft_sampler_options){.temperature = 0.8f,
                                  .top_k = 40,
                                  .top_p = 0.95f,
                                  .min_p = 0.05f,
                                  .repeat_penalty = 1.0f,
                                  .penalty_last_n = 64,
                                  .seed = 0,
                                  .dry_base = 1.75f,
                                  .dry_allowed_length = 2,
                                  .dry_last_n = -1,
                                  .xtc_threshold = 0.1f,
                                  .dynatemp_exponent = 1,
                                  .mirostat_tau = 5,
                                  .mirostat_eta = 0.1f,
                                  .mirostat_m = 100};
}

weft_status weft_sampler_check_options(const weft_sampler_options *o) {
    const struct {
        const char *name;
        float value;
    } numbers[] = {
        {"temperature", o->temperature},
        {"top_p", o->top_p},
        {"min_p", o->min_p},
        {"presence_penalty", o->presence_penalty},
        {"frequency_penalty", o->frequency_penalty},
        {"dry_multiplier", o->dry_multiplier},
        {"dry_base", o->dry_base},
        {"top_n_sigma", o->top_n_sigma},
        {"typical_p", o->typical_p},
        {"xtc_probability", o->xtc_probability},
        {"xtc_threshold", o->xtc_threshold},
        {"dynatemp_range", o->dynatemp_range},
        {"dynatemp_exponent", o->dynatemp_exponent},
        {"mirostat_tau", o->mirostat_tau},
        {"mirostat_eta", o->mirostat_eta},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (isnan(numbers[i].value))
            return weft_fail(WEFT_E_ARGUMENT, "%s is not a number", numbers[i].name);
    if (!(o->repeat_penalty > 0) || isinf(o->repeat_penalty))
        return weft_fail(WEFT_E_ARGUMENT, "repeat_penalty: %g is not a positive number",
                         (double)o->repeat_penalty);
    if (o->mirostat < 0 || o->mirostat > 2)
        return weft_fail(WEFT_E_ARGUMENT, "mirostat: %d is none of 0, 1 and 2", o->mirostat);
    if ((o->n_logit_bias > 0 && !o->logit_bias) || (o->n_dry_breakers > 0 && !o->dry_breakers))
        return weft_fail(WEFT_E_NULL, "%s is NULL, but has a count",
                         o->n_logit_bias > 0 && !o->logit_bias ? "logit_bias" : "dry_breakers");
    for (size_t i = 0; i < o->n_logit_bias; i++)
        if (isnan(o->logit_bias[i].bias) || o->logit_bias[i].token < 0)
            return weft_fail(WEFT_E_ARGUMENT, "logit_bias: %g for token %d",
                             (double)o->logit_bias[i].bias, o->logit_bias[i].token);
    return WEFT_OK;
}

bool weft_sampler_penalises(const weft_sampler_options *o) {
    return o->penalty_last_n != 0 &&
           (o->repeat_penalty != 1 || o->presence_penalty != 0 || o->frequency_penalty != 0);
}

bool weft_sampler_dries(const weft_sampler_options *o) {
    return o->dry_multiplier != 0 && o->dry_base >= 1 && o->dry_last_n != 0;
}

/* ---- Chains ---- */

static bool same_name(const char *name, const char *text, size_t n) {
    if (strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (name[i] != (text[i] == '-' ? '_' : text[i]))
            return false;
    return true;
}

static weft_status add_step(weft_sampler *s, const char *text, size_t n) {
    for (size_t i = 0; i < N_STEPS; i++) {
        if (!same_name(weft_sample_steps[i].name, text, n))
            continue;
        if (s->n_steps == WEFT_SAMPLER_MAX_STEPS)
            return weft_fail(WEFT_E_ARGUMENT, "chain: more than %d steps", WEFT_SAMPLER_MAX_STEPS);
        s->steps[s->n_steps++] = (unsigned char)i;
        return WEFT_OK;
    }
    return weft_fail(WEFT_E_ARGUMENT,
                     "chain: no step '%.*s' (there are " WEFT_SAMPLER_CHAIN ";mirostat)",
                     n > 40 ? 40 : (int)n, text);
}

static bool has_step(const weft_sampler *s, const char *name) {
    for (size_t i = 0; i < s->n_steps; i++)
        if (strcmp(weft_sample_steps[s->steps[i]].name, name) == 0)
            return true;
    return false;
}

weft_status weft_sampler_read_chain(weft_sampler *s) {
    const char *text = s->options.chain;
    if (!text)
        text = s->options.mirostat ? WEFT_SAMPLER_CHAIN_MIROSTAT : WEFT_SAMPLER_CHAIN;
    s->options.chain = NULL; /* the caller's */
    while (*text) {
        text += strspn(text, " ;,");
        size_t n = strcspn(text, " ;,");
        weft_status status = n ? add_step(s, text, n) : WEFT_OK;
        if (status)
            return status;
        text += n;
    }
    if (s->options.mirostat && !has_step(s, "mirostat"))
        return weft_fail(WEFT_E_ARGUMENT, "chain: mirostat is asked for, but no step of the chain");
    return WEFT_OK;
}

bool weft_sampler_is_greedy(const weft_sampler *s) {
    const weft_sampler_options *o = &s->options;
    return o->temperature <= 0 && o->dynatemp_range <= 0 && has_step(s, "temperature") &&
           o->n_logit_bias == 0 && !weft_sampler_penalises(o) && !weft_sampler_dries(o) &&
           (o->typical_p <= 0 || o->typical_p >= 1) && o->xtc_probability <= 0 && !o->mirostat;
}
