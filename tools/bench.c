/* weft bench: how fast a model runs on this machine, and how far that is from the machine's limits.
 * Here are the options and the model; the other files of this name measure and print. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char help[] =
    "Usage: weft bench [-m MODEL | --shape SHAPE --type TYPE] [options]\n"
    "       weft bench --profile [--trace FILE] | --kernels [FILTER] |\n"
    "                  --tensor [FILTER]\n"
    "Measures tokens a second of prompts (prefill), of decoding, and of small batches, after a "
    "run\n"
    "to warm up; load time, time to the first token, memory; and the machine's own limits.\n"
    "  -m MODEL         GGUF file, folder or known name (default: " TOOL_DEFAULT_MODEL ")\n"
    "  --shape SHAPE    random weights: llama-135m, llama-1b, llama-3b, llama-8b\n"
    "  --type TYPE      their type, as Q4_0 (default), Q4_K_M, Q8_0, F16\n"
    "  -p N,…           tokens of the prompts (default 512)\n"
    "  -n N             tokens to decode (default 64); --depth N,…  after so many (default 0)\n"
    "  --batch N,…      rows of one step with all their logits (default: none)\n"
    "  -r N             runs (default 5)\n"
    "  --step N         longest step of a prompt (default 256)\n"
    "  --profile        time, calls and bytes by op; --trace FILE: each of them, for Perfetto\n"
    "  --hash           logits' bits beside the scalar path's; default beside reproducible mode\n"
    "  --kernels        each kernel in every variant; FILTER: part of its name or type\n"
    "  --tensor         ops of the tensor core, on one thread and on all; FILTER: part of a name\n"
    "  --format FORMAT  table (default), markdown, csv, json, svg (a roofline)\n"
    "  --limits         the machine's limits in every variant, alone; --start  loading and the\n"
    "                   first token, alone; --no-limits  does not measure the limits (256 MB)\n"
    "  -t N             threads (default: physical cores); -tb N  of prompts; --pin  to CPUs\n"
    "  --cpu NAME       highest variant allowed\n"
    "  --reproducible   the same bits on every machine; --float: a checking path\n"
    "Example: weft bench --shape llama-1b --type Q4_K_M --depth 0,2048 --format markdown\n";

static const char *const formats[] = {"table", "markdown", "csv", "json", "svg"};

/* ---- Options ---- */

/* "512,2048" within [low, high]. */
static bool parse_list(const char *text, int64_t low, int64_t high, bench_list *out) {
    out->n = 0;
    for (const char *p = text;;) {
        size_t n = strcspn(p, ",");
        char number[32];
        int64_t value;
        if (n >= sizeof number || out->n == BENCH_LIST)
            return false;
        memcpy(number, p, n);
        number[n] = 0;
        if (!tool_parse_integer(number, low, high, &value))
            return false;
        out->values[out->n++] = (int32_t)value;
        if (!p[n])
            return true;
        p += n + 1;
    }
}

/* "Q4_K", or a mixture's name "Q4_K_M". */
static bool known_type(const char *name, weft_dtype *out, bool *mixed) {
    *mixed = strcasecmp(name, "q4_k_m") == 0 || strcasecmp(name, "q5_k_m") == 0;
    if (*mixed) {
        *out = name[1] == '4' ? WEFT_Q4_K : WEFT_Q5_K;
        return true;
    }
    for (int i = 0; i < WEFT_DTYPE_COUNT; i++)
        if (strcasecmp(name, weft_dtype_name((weft_dtype)i)) == 0) {
            *out = (weft_dtype)i;
            return true;
        }
    return false;
}

static bool known_shape(const char *name) {
    for (size_t i = 0; weft_synthetic_shape(i); i++)
        if (strcmp(name, weft_synthetic_shape(i)) == 0)
            return true;
    return false;
}

static int check_options(bench *b) {
    size_t n_formats = sizeof formats / sizeof formats[0], i = 0;
    while (b->format_name && i < n_formats && strcmp(b->format_name, formats[i]) != 0)
        i++;
    if (i == n_formats)
        return tool_usage("bench", "--format wants table, markdown, csv, json or svg, not '%s'",
                          b->format_name);
    b->format = (bench_format)i;
    if (b->tensor && (b->profile || b->kernels || b->only_limits || b->hash))
        return tool_usage("bench", "--tensor goes with no other measurement");
    if (b->format == BENCH_SVG && (b->profile || b->kernels || b->only_limits || b->tensor))
        return tool_usage("bench", "--format svg draws runs of a model only");
    if (b->profile && b->argument && !b->trace)
        b->trace = b->argument; /* --profile TRACE.json */
    b->profile |= b->trace != NULL;
    if (b->only_limits && (b->no_limits || b->profile || b->kernels || b->hash))
        return tool_usage("bench", "--limits stands alone");
    if (b->only_start && (b->only_limits || b->profile || b->kernels || b->hash || b->tensor))
        return tool_usage("bench", "--start stands alone");
    if (b->only_start && b->format != BENCH_TABLE && b->format != BENCH_JSON)
        return tool_usage("bench", "--start is printed as a table or JSON");
    if (b->hash && (b->profile || b->kernels))
        return tool_usage("bench", "--hash goes with neither --profile nor --kernels");
    if (b->profile && b->kernels)
        return tool_usage("bench", "--profile and --kernels exclude each other");
    if (b->argument && !b->profile && !b->kernels && !b->tensor)
        return tool_usage("bench", "unexpected argument '%s'", b->argument);
    if (b->model && b->shape)
        return tool_usage("bench", "-m and --shape exclude each other");
    if (b->type_name && !b->shape)
        return tool_usage("bench", "--type is for --shape; a file has its own");
    if (b->shape && !known_shape(b->shape))
        return tool_usage("bench", "unknown --shape '%s'", b->shape);
    b->type = WEFT_Q4_0;
    if (b->type_name && !known_type(b->type_name, &b->type, &b->mixed))
        return tool_usage("bench", "unknown --type '%s'", b->type_name);
    return -1;
}

static int parse(int argc, char **argv, bench *b) {
    const char *prompts = "512", *depths = "0", *batches = NULL;
    const tool_option table[] = {
        TOOL_ENGINE_OPTIONS(&b->engine),
        {'m', "model", TOOL_STRING, &b->model, 1, 0},
        {0, "lora", TOOL_LIST, &b->adapters, 1, 0},
        {0, "shape", TOOL_STRING, &b->shape, 1, 0},
        {0, "type", TOOL_STRING, &b->type_name, 1, 0},
        {'p', "prompt", TOOL_STRING, &prompts, 1, 0},
        {'n', "tokens", TOOL_I32, &b->n_decode, 0, 1 << 24},
        {0, "depth", TOOL_STRING, &depths, 1, 0},
        {0, "batch", TOOL_STRING, &batches, 1, 0},
        {'r', "runs", TOOL_I32, &b->n_runs, 1, 10000},
        {0, "step", TOOL_I32, &b->n_step, 1, 1 << 20},
        {0, "profile", TOOL_FLAG, &b->profile, 0, 0},
        {0, "trace", TOOL_STRING, &b->trace, 1, 0},
        {0, "kernels", TOOL_FLAG, &b->kernels, 0, 0},
        {0, "tensor", TOOL_FLAG, &b->tensor, 0, 0},
        {0, "hash", TOOL_FLAG, &b->hash, 0, 0},
        {0, "format", TOOL_STRING, &b->format_name, 1, 0},
        {0, "start", TOOL_FLAG, &b->only_start, 0, 0},
        {0, "limits", TOOL_FLAG, &b->only_limits, 0, 0},
        {0, "no-limits", TOOL_FLAG, &b->no_limits, 0, 0},
    };
    int first;
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], &first);
    if (code >= 0)
        return code;
    if (first < argc)
        b->argument = argv[first];
    if (first + 1 < argc)
        return tool_usage("bench", "unexpected argument '%s'", argv[first + 1]);
    if (!parse_list(prompts, 1, 1 << 24, &b->prompts))
        return tool_usage("bench", "-p wants whole numbers from 1 on, not '%s'", prompts);
    if (!parse_list(depths, 0, 1 << 24, &b->depths))
        return tool_usage("bench", "--depth wants whole numbers from 0 on, not '%s'", depths);
    if (batches && !parse_list(batches, 1, 512, &b->batches))
        return tool_usage("bench", "--batch wants whole numbers from 1 to 512, not '%s'", batches);
    return check_options(b);
}

/* ---- Running ---- */

static int with_model(bench *b, weft_engine *engine, weft_model *model) {
    b->info = weft_model_get_info(model);
    if (b->only_start)
        return -1;
    if (b->profile)
        return bench_run_profile(b, model, engine);
    if (!b->no_limits) {
        weft_status status = weft_measure_limits(engine, NULL, &b->limits);
        if (status)
            return tool_fail_status("limits", status);
    }
    return bench_run(b, model);
}

int tool_bench(int argc, char **argv) {
    bench b = {.n_decode = 64, .n_runs = 5, .n_step = 256};
    char title[64];
    int code = parse(argc, argv, &b);
    if (code >= 0)
        return code;
    snprintf(title, sizeof title, "%s %s%s", b.shape ? b.shape : "", weft_dtype_name(b.type),
             b.mixed ? "_M" : "");
    b.title = b.shape ? title : b.model ? b.model : TOOL_DEFAULT_MODEL;
    weft_engine *engine = NULL;
    weft_model *model = NULL;
    double start = bench_now();
    code = tool_open_engine(&b.engine, &engine);
    if (code < 0) {
        b.cpu = weft_engine_cpu(engine);
        b.threads = weft_engine_n_threads(engine);
        if (b.only_limits)
            code = bench_run_limits(&b, engine);
        else if (b.tensor)
            code = bench_run_tensor(&b, b.threads);
        else if (b.kernels)
            code = bench_run_kernels(&b, engine);
        else
            code = bench_start(&b, engine, start, &model);
    }
    if (code < 0)
        code = with_model(&b, engine, model);
    weft_model_release(&model);
    weft_engine_release(&engine);
    if (code < 0 && b.hash)
        code = bench_run_hash(&b);
    if (code < 0) {
        bench_print(&b);
        code = TOOL_DONE;
        if (b.hash && !b.hashes.equal)
            code = tool_fail("--hash", "the logits' bits are not those of the scalar path");
    }
    return tool_finish(code);
}
