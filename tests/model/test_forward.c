/* The forward pass: against a plain double implementation of Llama, and equal to itself however the
 * tokens are fed; failures leave the cache as it was; a steady step uses no heap. */
#include <math.h>
#include <unistd.h>
#include "base/detail.h"
#include "tensor/impl.h"
#include "tiny.h"

#define N 150 /* tokens: more than two blocks, and past gemma's window */

static const char *const archs[] = {"llama", "qwen2", "qwen3", "gemma3"};

static int32_t tokens[N];
static float whole[N * TINY_VOCAB], other[N * TINY_VOCAB];

static weft_cache *new_cache(const tiny *t, int32_t n_positions, weft_dtype type, int32_t n_seq) {
    weft_cache *cache = NULL;
    weft_cache_options o = {n_positions, type, n_seq};
    assert_weft_ok(weft_cache_create(t->engine, t->network, &o, &cache));
    return cache;
}

static weft_scope *new_scope(const tiny *t) {
    weft_scope *scope = NULL;
    assert_weft_ok(weft_scope_create(t->engine, WEFT_SCOPE_ARENA, &scope));
    return scope;
}

static int32_t new_sequence(weft_cache *cache) {
    int32_t sequence = -1;
    assert_weft_ok(weft_cache_sequence_create(cache, &sequence));
    return sequence;
}

static double farthest(const float *a, const float *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

/* ---- A plain implementation of Llama, row by row in double ---- */

static const float *data_of(const tiny *t, const char *format, int layer) {
    char name[96];
    snprintf(name, sizeof name, format, layer);
    weft_tensor *w = weft_weights_find(t->weights, name);
    assert_non_null(w);
    return weft_tensor_data(w);
}

static void multiply(const float *w, const double *x, int rows, int cols, double *y) {
    for (int r = 0; r < rows; r++) {
        y[r] = 0;
        for (int c = 0; c < cols; c++)
            y[r] += (double)w[r * cols + c] * x[c];
    }
}

static void norm(const float *w, const double *x, double *y) {
    double sum = 0;
    for (int i = 0; i < TINY_EMBD; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < TINY_EMBD; i++)
        y[i] = x[i] / sqrt(sum / TINY_EMBD + 1e-5) * (double)w[i];
}

enum { HEAD = TINY_EMBD / TINY_HEADS, KV = TINY_KV * HEAD };

static void turn(double *x, int n_head, int position) {
    for (int h = 0; h < n_head; h++)
        for (int i = 0; i < HEAD / 2; i++) {
            double angle = position * pow(10000, -2.0 * i / HEAD);
            double *p = x + h * HEAD + 2 * i, a = p[0], b = p[1];
            p[0] = a * cos(angle) - b * sin(angle);
            p[1] = a * sin(angle) + b * cos(angle);
        }
}

static double keys[3][N][KV], values[3][N][KV];

static void attend(int layer, const double *q, int position, double *out) {
    for (int h = 0; h < TINY_HEADS; h++) {
        double p[N], sum = 0, most = -1e300;
        int g = h / (TINY_HEADS / TINY_KV);
        for (int j = 0; j <= position; j++) {
            p[j] = 0;
            for (int i = 0; i < HEAD; i++)
                p[j] += q[h * HEAD + i] * keys[layer][j][g * HEAD + i];
            p[j] /= sqrt(HEAD);
            most = fmax(most, p[j]);
        }
        for (int j = 0; j <= position; j++)
            sum += p[j] = exp(p[j] - most);
        for (int i = 0; i < HEAD; i++) {
            out[h * HEAD + i] = 0;
            for (int j = 0; j <= position; j++)
                out[h * HEAD + i] += p[j] / sum * values[layer][j][g * HEAD + i];
        }
    }
}

static void plain_llama(const tiny *t, int position, int32_t token, double *logits) {
    double x[TINY_EMBD], in[TINY_EMBD], q[TINY_EMBD], o[TINY_EMBD], gate[TINY_FF], up[TINY_FF];
    for (int i = 0; i < TINY_EMBD; i++)
        x[i] = (double)data_of(t, "token_embd.weight", 0)[token * TINY_EMBD + i];
    for (int l = 0; l < 3; l++) {
        norm(data_of(t, "blk.%d.attn_norm.weight", l), x, in);
        multiply(data_of(t, "blk.%d.attn_q.weight", l), in, TINY_EMBD, TINY_EMBD, q);
        multiply(data_of(t, "blk.%d.attn_k.weight", l), in, KV, TINY_EMBD, keys[l][position]);
        multiply(data_of(t, "blk.%d.attn_v.weight", l), in, KV, TINY_EMBD, values[l][position]);
        turn(q, TINY_HEADS, position);
        turn(keys[l][position], TINY_KV, position);
        attend(l, q, position, in);
        multiply(data_of(t, "blk.%d.attn_output.weight", l), in, TINY_EMBD, TINY_EMBD, o);
        for (int i = 0; i < TINY_EMBD; i++)
            x[i] += o[i];
        norm(data_of(t, "blk.%d.ffn_norm.weight", l), x, in);
        multiply(data_of(t, "blk.%d.ffn_gate.weight", l), in, TINY_FF, TINY_EMBD, gate);
        multiply(data_of(t, "blk.%d.ffn_up.weight", l), in, TINY_FF, TINY_EMBD, up);
        for (int i = 0; i < TINY_FF; i++)
            up[i] *= gate[i] / (1 + exp(-gate[i]));
        multiply(data_of(t, "blk.%d.ffn_down.weight", l), up, TINY_EMBD, TINY_FF, o);
        for (int i = 0; i < TINY_EMBD; i++)
            x[i] += o[i];
    }
    norm(data_of(t, "output_norm.weight", 0), x, in);
    const char *output =
        weft_weights_find(t->weights, "output.weight") ? "output.weight" : "token_embd.weight";
    multiply(data_of(t, output, 0), in, TINY_VOCAB, TINY_EMBD, logits);
}

static void test_llama_against_double(void **state) {
    (void)state;
    for (int mode = WEFT_NUMBERS_DEFAULT; mode <= WEFT_NUMBERS_FLOAT; mode++) {
        tiny t;
        double expected[TINY_VOCAB], most = 0;
        tiny_open(&t, "llama", false, (weft_numbers)mode, false);
        weft_cache *cache = new_cache(&t, N, WEFT_F32, 1);
        weft_scope *scope = new_scope(&t);
        assert_weft_ok(tiny_step(t.network, cache, scope, new_sequence(cache), tokens, N, whole));
        for (int i = 0; i < N; i++) {
            plain_llama(&t, i, tokens[i], expected);
            for (int v = 0; v < TINY_VOCAB; v++)
                most = fmax(most, fabs(expected[v] - (double)whole[i * TINY_VOCAB + v]));
        }
        if (most > 5e-5) /* weights and a cache of f32 stay in float32 in every mode */
            fail_msg("mode %d: %g off", mode, most);
        weft_scope_release(&scope);
        weft_cache_release(&cache);
        tiny_close(&t);
    }
}

/* ---- However the tokens are fed ---- */

static void feed(const tiny *t, weft_cache *cache, weft_scope *scope, int32_t sequence, size_t from,
                 size_t to, size_t piece, float *out) {
    for (size_t i = from; i < to;) {
        size_t n = piece ? piece : 1 + (i * 7 + 3) % 41; /* 0: uneven */
        n = n < to - i ? n : to - i;
        assert_weft_ok(
            tiny_step(t->network, cache, scope, sequence, tokens + i, n, out + i * TINY_VOCAB));
        i += n;
    }
}

static void same_bits(const char *what, const char *arch, size_t from, size_t to) {
    if (memcmp(whole + from * TINY_VOCAB, other + from * TINY_VOCAB,
               (to - from) * TINY_VOCAB * sizeof *whole) != 0)
        fail_msg("%s, %s: bits differ", arch, what);
}

static void check_ways(const char *arch, bool hf, bool pack, weft_dtype type) {
    tiny t;
    tiny_open(&t, arch, hf, WEFT_NUMBERS_REPRODUCIBLE, pack);
    weft_scope *scope = new_scope(&t);
    weft_cache *cache = new_cache(&t, 3 * N, type, 3);
    int32_t a = new_sequence(cache), b, resume = -1;
    feed(&t, cache, scope, a, 0, N, N, whole);
    assert_int_equal(weft_cache_length(cache, a), N);

    assert_weft_ok(weft_cache_truncate(cache, a, 0, &resume));
    assert_int_equal(resume, 0);
    feed(&t, cache, scope, a, 0, N, 1, other);
    same_bits("one by one", arch, 0, N);

    assert_weft_ok(weft_cache_truncate(cache, a, 71, NULL));
    feed(&t, cache, scope, a, 71, N, 0, other);
    same_bits("truncated, then in uneven pieces", arch, 0, N);

    assert_weft_ok(weft_cache_truncate(cache, a, 100, NULL));
    assert_weft_ok(weft_cache_sequence_fork(cache, a, &b));
    feed(&t, cache, scope, b, 100, N, 0, other);
    same_bits("the fork", arch, 100, N);
    feed(&t, cache, scope, a, 100, N, 13, other);
    same_bits("the forked", arch, 100, N);
    weft_cache_sequence_free(cache, b);

    /* A block that another sequence used before. */
    b = new_sequence(cache);
    feed(&t, cache, scope, b, 0, N, 64, other);
    same_bits("in a used block", arch, 0, N);
    weft_cache_release(&cache);
    weft_scope_release(&scope);
    tiny_close(&t);
}

static void test_the_same_bits_however_fed(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        check_ways(archs[i], false, true, WEFT_F16);
        check_ways(archs[i], true, false, WEFT_F32);
    }
    check_ways("qwen3", false, true, WEFT_BF16);
    check_ways("llama", false, true, WEFT_Q8_0); /* heads of 16: half of each block is padding */
    check_ways("gemma3", true, false, WEFT_Q8_0);
}

/* ---- Types of the cache ---- */

static void softmax_of(const float *logits, double *p) {
    double most = -INFINITY, sum = 0;
    for (int v = 0; v < TINY_VOCAB; v++)
        most = fmax(most, (double)logits[v]);
    for (int v = 0; v < TINY_VOCAB; v++)
        sum += p[v] = exp((double)logits[v] - most);
    for (int v = 0; v < TINY_VOCAB; v++)
        p[v] /= sum;
}

static double mean_divergence(const float *from, const float *to) {
    double p[TINY_VOCAB], q[TINY_VOCAB], sum = 0;
    for (int i = 0; i < N; i++) {
        softmax_of(from + i * TINY_VOCAB, p);
        softmax_of(to + i * TINY_VOCAB, q);
        for (int v = 0; v < TINY_VOCAB; v++)
            sum += p[v] * log(p[v] / q[v]);
    }
    return sum / N;
}

/* All logits with a cache of `type`, on one thread with the kernels that WEFT_CPU allows. */
static void run_type(const char *arch, weft_dtype type, float *out) {
    tiny t;
    tiny_open(&t, arch, false, WEFT_NUMBERS_REPRODUCIBLE, true);
    weft_scope *scope = new_scope(&t);
    weft_cache *cache = new_cache(&t, N, type, 1);
    feed(&t, cache, scope, new_sequence(cache), 0, N, 50, out);
    weft_cache_release(&cache);
    weft_scope_release(&scope);
    tiny_close(&t);
}

/* The bounds are four times the most that these random networks show. f16 keeps 11 bits of an
 * element, bf16 8, and q8_0 8 of the largest in a block, sign included. */
static void test_types_of_the_cache_are_near_f32(void **state) {
    (void)state;
    static const struct {
        weft_dtype type;
        double most;
    } types[] = {{WEFT_F16, 4e-7}, {WEFT_BF16, 2e-5}, {WEFT_Q8_0, 2e-4}};
    for (size_t a = 0; a < 4; a++) {
        run_type(archs[a], WEFT_F32, whole);
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            run_type(archs[a], types[i].type, other);
            double kl = mean_divergence(whole, other);
            if (!(kl < types[i].most) || kl < -1e-12)
                fail_msg("%s, %s: the mean KL divergence is %g", archs[a],
                         weft_dtype_name(types[i].type), kl);
            assert_true(memcmp(whole, other, sizeof whole) != 0);
        }
    }
}

static void test_types_of_the_cache_have_the_scalar_bits(void **state) {
    (void)state;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_Q8_0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        run_type("llama", types[i], whole);
        setenv("WEFT_CPU", "scalar", 1);
        run_type("llama", types[i], other);
        unsetenv("WEFT_CPU");
        same_bits(weft_dtype_name(types[i]), "llama", 0, N);
    }
}

static double root_mean_square(const float *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / (double)n);
}

/* Default mode may use other sums in long steps, but stays near, in parts of the logits' own size
 * (Gemma's are nine times the others'); nearer with a cache of f32, whose attention is not in
 * bfloat16. */
static void test_default_mode_is_near(void **state) {
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        bool wide = i < 4;
        tiny t;
        tiny_open(&t, archs[i % 4], true, WEFT_NUMBERS_DEFAULT, true);
        weft_scope *scope = new_scope(&t);
        weft_cache *cache = new_cache(&t, 2 * N, wide ? WEFT_F32 : WEFT_F16, 2);
        feed(&t, cache, scope, new_sequence(cache), 0, N, N, whole);
        feed(&t, cache, scope, new_sequence(cache), 0, N, 1, other);
        double off = farthest(whole, other, N * TINY_VOCAB) /
                     root_mean_square(other, N * TINY_VOCAB);
        if (!(off < (wide ? 0.02 : 0.05)))
            fail_msg("%s, %s cache: %g off", archs[i % 4], wide ? "f32" : "f16", off);
        weft_cache_release(&cache);
        weft_scope_release(&scope);
        tiny_close(&t);
    }
}

static void test_several_sequences_in_one_step(void **state) {
    (void)state;
    tiny t;
    tiny_open(&t, "gemma3", false, WEFT_NUMBERS_REPRODUCIBLE, true);
    weft_scope *scope = new_scope(&t);
    weft_cache *cache = new_cache(&t, 4 * N, WEFT_F16, 3);
    int32_t a = new_sequence(cache), b = new_sequence(cache), c = new_sequence(cache);
    feed(&t, cache, scope, a, 0, 90, 90, whole);
    /* b has 80 tokens, c has none; then 7 rows of c, 10 of b in one step. */
    feed(&t, cache, scope, b, 0, 80, 80, other);
    int32_t ids[17], sequences[17];
    bool wants[17];
    for (int i = 0; i < 17; i++) {
        ids[i] = tokens[i < 7 ? i : 80 + i - 7];
        sequences[i] = i < 7 ? c : b;
        wants[i] = i % 2 == 0;
    }
    weft_step step = {ids, sequences, wants, 17, false};
    weft_tensor *logits;
    assert_weft_ok(weft_scope_reset(scope));
    assert_weft_ok(weft_forward(t.network, cache, scope, &step, NULL, &logits));
    assert_int_equal(weft_tensor_dim(logits, 0), 9);
    assert_weft_ok(weft_tensor_read(logits, other, 9 * TINY_VOCAB * sizeof(float)));
    for (int i = 0, row = 0; i < 17; i++) {
        int at = i < 7 ? i : 80 + i - 7;
        if (wants[i])
            assert_memory_equal(other + row++ * TINY_VOCAB, whole + at * TINY_VOCAB,
                                TINY_VOCAB * sizeof(float));
    }
    assert_int_equal(weft_cache_length(cache, c), 7);
    assert_int_equal(weft_cache_length(cache, b), 90);
    weft_cache_release(&cache);
    weft_scope_release(&scope);
    tiny_close(&t);
}

static void test_only_wanted_rows_give_logits(void **state) {
    (void)state;
    tiny t;
    tiny_open(&t, "llama", true, WEFT_NUMBERS_REPRODUCIBLE, false);
    weft_scope *scope = new_scope(&t);
    weft_cache *cache = new_cache(&t, N, WEFT_F32, 1);
    int32_t sequences[N] = {0};
    bool none[N] = {false};
    weft_tensor *logits;
    int32_t s = new_sequence(cache);
    feed(&t, cache, scope, s, 0, 20, 20, whole);
    assert_weft_ok(weft_cache_truncate(cache, s, 0, NULL));
    weft_step step = {tokens, sequences, none, 19, false};
    assert_weft_ok(weft_forward(t.network, cache, scope, &step, NULL, &logits));
    assert_null(logits);
    assert_weft_ok(weft_scope_reset(scope));
    step = (weft_step){tokens + 19, sequences, NULL, 1, false};
    assert_weft_ok(weft_forward(t.network, cache, scope, &step, NULL, &logits));
    assert_weft_ok(weft_tensor_read(logits, other + 19 * TINY_VOCAB, TINY_VOCAB * sizeof(float)));
    same_bits("after rows without logits", "llama", 19, 20);
    weft_cache_release(&cache);
    weft_scope_release(&scope);
    tiny_close(&t);
}

/* ---- Failures ---- */

static void test_wrong_steps_change_nothing(void **state) {
    (void)state;
    tiny t;
    tiny_open(&t, "qwen3", false, WEFT_NUMBERS_REPRODUCIBLE, false);
    weft_scope *scope = new_scope(&t);
    weft_cache *cache = new_cache(&t, 128, WEFT_F32, 1);
    int32_t s = new_sequence(cache), bad[] = {1, 2, TINY_VOCAB}, sequences[] = {s, s, s};
    feed(&t, cache, scope, s, 0, 100, 100, whole);
    assert_weft_fails(tiny_step(t.network, cache, scope, s, bad, 3, other), WEFT_E_RANGE);
    assert_detail_has("96");
    bad[2] = -1;
    assert_weft_fails(tiny_step(t.network, cache, scope, s, bad, 3, other), WEFT_E_RANGE);
    assert_weft_fails(tiny_step(t.network, cache, scope, 7, tokens, 1, other), WEFT_E_ARGUMENT);
    assert_int_equal(weft_cache_room(cache, s), 28);
    assert_weft_fails(tiny_step(t.network, cache, scope, s, tokens, 29, other), WEFT_E_CACHE_FULL);
    assert_weft_fails(tiny_step(t.network, cache, scope, s, tokens, 200, other), WEFT_E_CACHE_FULL);
    weft_step step = {tokens, sequences, NULL, 3, false};
    weft_tensor *logits;
    atomic_bool cancel = true;
    assert_weft_ok(weft_scope_reset(scope));
    assert_weft_fails(weft_forward(t.network, cache, scope, &step, &cancel, &logits),
                      WEFT_E_CANCELLED);
    assert_int_equal(weft_cache_length(cache, s), 100);
    feed(&t, cache, scope, s, 100, 128, 9, other);
    weft_cache *fresh = new_cache(&t, 128, WEFT_F32, 1);
    feed(&t, fresh, scope, new_sequence(fresh), 0, 128, 128, whole);
    same_bits("after failed steps", "qwen3", 100, 128);
    assert_int_equal(weft_cache_room(cache, s), 0);
    assert_weft_fails(tiny_step(t.network, cache, scope, s, tokens, 1, other), WEFT_E_CACHE_FULL);
    weft_cache_release(&fresh);
    weft_cache_release(&cache);
    weft_scope_release(&scope);
    tiny_close(&t);
}

/* Every allocation of a step fails once, with a fork's shared block in play: the cache stays. */
static void test_no_memory_at_any_place(void **state) {
    (void)state;
    tiny t;
    tiny_open(&t, "llama", false, WEFT_NUMBERS_REPRODUCIBLE, true);
    weft_scope *scope = new_scope(&t);
    weft_cache *reference = new_cache(&t, N, WEFT_F16, 1);
    feed(&t, reference, scope, new_sequence(reference), 0, 90, 90, whole);
    weft_cache_release(&reference);
    weft_scope_release(&scope);
    int failures = 0;
    for (long k = 0; k < 400; k++) {
        weft_cache *cache = new_cache(&t, 3 * 64, WEFT_F16, 2);
        int32_t a = new_sequence(cache), b;
        weft_scope *warm = new_scope(&t), *cold = new_scope(&t);
        feed(&t, cache, warm, a, 0, 70, 3, other);
        assert_weft_ok(weft_cache_sequence_fork(cache, a, &b));
        int32_t room = weft_cache_room(cache, b);
        t.count.fail_in = k;
        weft_status st =
            tiny_step(t.network, cache, cold, b, tokens + 70, 20, other + 70 * TINY_VOCAB);
        t.count.fail_in = -1;
        if (st) {
            failures++;
            assert_int_equal(st, WEFT_E_MEMORY);
            assert_int_equal(weft_cache_length(cache, b), 70);
            assert_int_equal(weft_cache_room(cache, b), room);
            feed(&t, cache, cold, b, 70, 90, 20, other);
        }
        same_bits("after running out of memory", "llama", 70, 90);
        feed(&t, cache, cold, a, 70, 90, 11, other);
        same_bits("its sibling", "llama", 70, 90);
        weft_scope_release(&warm);
        weft_scope_release(&cold);
        weft_cache_release(&cache);
        if (!st)
            break;
    }
    assert_true(failures > 0);
    tiny_close(&t);
}

/* Creating networks and caches without memory: an error, and nothing is held. */
static void test_no_memory_at_creation(void **state) {
    (void)state;
    counter count;
    weft_engine *engine = tiny_engine(&count, WEFT_NUMBERS_DEFAULT, 1);
    long before = count.n_live;
    bool done = false;
    for (long k = 0; !done && k < 2000; k++) {
        weft_network *network = NULL;
        weft_cache *cache = NULL;
        const weft_arch *arch;
        weft_hparams h;
        weft_metadata *m = tiny_metadata(&engine->allocator, "gemma3", true);
        weft_weights *w = weft_weights_create(&engine->allocator);
        assert_weft_ok(weft_arch_find(m, WEFT_SPELL_HF, &arch));
        assert_weft_ok(weft_hparams_read(m, arch, WEFT_SPELL_HF, &h));
        tiny_fill_weights(engine, w, arch, &h, WEFT_SPELL_HF);
        weft_network_options o = {.hugging_face = true, .pack = true};
        weft_cache_options c = {100, WEFT_F16, 2};
        count.fail_in = k;
        count.n_failed = 0;
        weft_status st = weft_network_create(engine, m, w, &o, &network);
        if (!st)
            st = weft_cache_create(engine, network, &c, &cache);
        done = count.n_failed == 0;
        count.fail_in = -1;
        assert_int_equal(st, done ? WEFT_OK : WEFT_E_MEMORY);
        weft_cache_release(&cache);
        weft_network_destroy(&network);
        weft_weights_destroy(w);
        weft_metadata_destroy(m);
        assert_int_equal(count.n_live, before);
    }
    assert_true(done);
    weft_engine_release(&engine);
}

/* ---- The heap ---- */

static void test_a_steady_step_uses_no_heap(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        tiny t;
        tiny_open(&t, archs[i], false, WEFT_NUMBERS_DEFAULT, true);
        weft_scope *scope = new_scope(&t);
        weft_cache *cache = new_cache(&t, N, WEFT_F16, 2);
        int32_t s = new_sequence(cache);
        feed(&t, cache, scope, s, 0, 40, 40, other);
        feed(&t, cache, scope, s, 40, 50, 1, other);
        long before = t.count.n_calls;
        feed(&t, cache, scope, s, 50, N, 1, other); /* into new blocks too */
        assert_int_equal(t.count.n_calls, before);
        weft_cache_release(&cache);
        weft_scope_release(&scope);
        tiny_close(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llama_against_double),
        cmocka_unit_test(test_the_same_bits_however_fed),
        cmocka_unit_test(test_types_of_the_cache_are_near_f32),
        cmocka_unit_test(test_types_of_the_cache_have_the_scalar_bits),
        cmocka_unit_test(test_default_mode_is_near),
        cmocka_unit_test(test_several_sequences_in_one_step),
        cmocka_unit_test(test_only_wanted_rows_give_logits),
        cmocka_unit_test(test_wrong_steps_change_nothing),
        cmocka_unit_test(test_no_memory_at_any_place),
        cmocka_unit_test(test_no_memory_at_creation),
        cmocka_unit_test(test_a_steady_step_uses_no_heap),
    };
    for (size_t i = 0; i < N; i++)
        tokens[i] = tiny_token(i);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
