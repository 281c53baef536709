/* Running the reference models: see reference.h. */
#include "reference.h"

#include <math.h>
#include "base/file.h"

reference *open_reference(const char *path, weft_numbers numbers, bool pack) {
    reference *r = calloc(1, sizeof *r);
    r->engine = tiny_engine(NULL, numbers, 2);
    assert_weft_ok(weft_source_open(r->engine, path, false, NULL, NULL, &r->source));
    weft_network_options options = {.hugging_face = r->source.format == WEFT_FORMAT_HF,
                                    .pack = pack};
    weft_status st = weft_network_create(r->engine, r->source.metadata, r->source.weights, &options,
                                         &r->network);
    if (st)
        fail_msg("%s: %s", path, weft_detail());
    r->n_vocab = (size_t)weft_network_info(r->network).n_vocab;
    assert_in_range(r->n_vocab, 1, MAX_VOCAB);
    weft_cache_options c = {128, WEFT_F32, 2};
    assert_weft_ok(weft_cache_create(r->engine, r->network, &c, &r->cache));
    assert_weft_ok(weft_cache_sequence_create(r->cache, &r->sequence));
    assert_weft_ok(weft_scope_create(r->engine, WEFT_SCOPE_ARENA, &r->scope));
    return r;
}

void close_reference(reference **r) {
    weft_scope_release(&(*r)->scope);
    weft_cache_release(&(*r)->cache);
    weft_network_destroy(&(*r)->network);
    weft_source_close(&(*r)->source);
    weft_engine_release(&(*r)->engine);
    free(*r);
    *r = NULL;
}

weft_json *read_json(const char *path) {
    weft_mapping map;
    weft_json *root;
    assert_weft_ok(weft_file_map(path, &map));
    assert_weft_ok(weft_json_parse((const char *)map.data, map.size_bytes, path, &root));
    weft_file_unmap(&map);
    return root;
}

size_t ids_of(const weft_json *list, int32_t *out) {
    size_t n = weft_json_length(list);
    assert_true(n <= MAX_TOKENS);
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)weft_json_integer(weft_json_item(list, i));
    return n;
}

double difference(const reference *r, const float *logits, const weft_json *list) {
    double most = 0;
    assert_int_equal(weft_json_length(list), r->n_vocab);
    for (size_t i = 0; i < r->n_vocab; i++)
        most = fmax(most, fabs((double)logits[i] - weft_json_number(weft_json_item(list, i))));
    return most;
}

static double log_sum(const float *logits, size_t n) {
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, (double)logits[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - most);
    return most + log(sum);
}

static int32_t argmax(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

void feed(reference *r, const int32_t *tokens, size_t from, size_t to, size_t total, size_t piece) {
    int32_t kept;
    assert_weft_ok(weft_cache_expect(r->cache, r->sequence, (int32_t)total, &kept));
    from = (size_t)kept < from ? (size_t)kept : from;
    for (size_t i = from; i < to;) {
        size_t n = piece ? piece : 1 + i * 5 % 7;
        n = n < to - i ? n : to - i;
        assert_weft_ok(tiny_step(r->network, r->cache, r->scope, r->sequence, tokens + i, n,
                                 r->rows + i * r->n_vocab));
        i += n;
    }
}

/* Argmax where the reference is sure, and the log of the sum, of position i; gives its error. */
static double check_position(const reference *r, const char *name, const weft_json *prompt,
                             size_t i, double tolerance) {
    const float *row = r->rows + i * r->n_vocab;
    double margin = weft_json_number(weft_json_item(weft_json_get(prompt, "argmax_margin"), i));
    if (margin > 2 * tolerance)
        assert_int_equal(argmax(row, r->n_vocab),
                         weft_json_integer(weft_json_item(weft_json_get(prompt, "argmax"), i)));
    double off = log_sum(row, r->n_vocab) -
                 weft_json_number(weft_json_item(weft_json_get(prompt, "logsumexp"), i));
    if (fabs(off) > tolerance)
        fail_msg("%s: logsumexp of position %zu is off by %g", name, i, off);
    return fabs(off);
}

double check_prompt(reference *r, const char *name, const weft_json *prompt, size_t piece,
                    double tolerance) {
    int32_t tokens[MAX_TOKENS], greedy[MAX_TOKENS];
    const weft_json *continuation = weft_json_get(prompt, "greedy");
    size_t n = ids_of(weft_json_get(prompt, "tokens"), tokens);
    size_t n_greedy = ids_of(weft_json_get(continuation, "tokens"), greedy);
    double most = 0;
    assert_weft_ok(weft_cache_truncate(r->cache, r->sequence, 0, NULL));
    feed(r, tokens, 0, n, n, piece);
    for (size_t i = 0; i < n; i++)
        most = fmax(most, check_position(r, name, prompt, i, tolerance));
    double off =
        difference(r, r->rows + (n - 1) * r->n_vocab, weft_json_get(prompt, "last_logits"));
    most = fmax(most, off);
    for (size_t i = 0; i < n_greedy; i++, n++) {
        if (argmax(r->rows + (n - 1) * r->n_vocab, r->n_vocab) != greedy[i])
            fail_msg("%s: greedy token %zu is another", name, i);
        if (i + 1 == n_greedy)
            break;
        tokens[n] = greedy[i];
        feed(r, tokens, n, n + 1, n + 1, 1);
    }
    off =
        difference(r, r->rows + (n - 1) * r->n_vocab, weft_json_get(continuation, "final_logits"));
    most = fmax(most, off);
    if (most > tolerance)
        fail_msg("%s: logits are off by %g", name, most);
    return most;
}

double check_model(const char *path, const char *json, bool pack, weft_numbers numbers,
                   double tolerance) {
    weft_json *root = read_json(json);
    const weft_json *prompts = weft_json_get(root, "prompts");
    reference *r = open_reference(path, numbers, pack);
    static const size_t pieces[] = {MAX_TOKENS, 1, 0};
    double most = 0;
    for (size_t p = 0; p < weft_json_length(prompts); p++)
        for (size_t i = 0; i < 3; i++)
            most =
                fmax(most, check_prompt(r, path, weft_json_item(prompts, p), pieces[i], tolerance));
    close_reference(&r);
    weft_json_free(&root);
    return most;
}
