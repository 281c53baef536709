/* weft inspect: what a model file or folder holds, as tables or JSON, and whether it would run.
 * Text from files is escaped: nothing of it reaches a terminal raw. */
#include "tool.h"
#include "values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/extra/inspect.h>

#define SHOWN_BYTES 72 /* of a string in the table */

static const char help[] =
    "Usage: weft inspect PATH [options]\n"
    "Shows or checks a model file.\n"
    "  PATH            a GGUF file (any shard of a split one), a Hugging Face folder,\n"
    "                  or the name of a fetched model\n"
    "  --check         validate everything that weft run would; exit status 1 and the\n"
    "                  reason on stderr when the model would be refused\n"
    "  --digest        SHA-256 of every tensor as little-endian float32\n"
    "  -c, --context N the context length that the memory is stated for\n"
    "                  (default: the model's, at most 4096)\n"
    "  --json          everything as one JSON object: summary, metadata, tensors\n"
    "Example: weft inspect --check smollm2-135m\n";

typedef struct inspect_options {
    bool json, check, digest;
    int32_t n_context;
} inspect_options;

/* ---- Tables ---- */

static void print_bytes(uint64_t n) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double v = (double)n;
    size_t unit = 0;
    while (v >= 1000 && unit < 6) {
        v /= 1000;
        unit++;
    }
    printf(unit == 0 ? "%.0f %s" : "%.2f %s", v, units[unit]);
}

static void print_summary(const weft_file *file, const char *path, const inspect_options *o) {
    weft_file_summary s = weft_file_summarize(file, o->n_context);
    tool_print_text(path, strlen(path), 4096);
    fputs("\n  format        ", stdout);
    tool_print_text(s.format, strlen(s.format), SHOWN_BYTES);
    fputs("\n  architecture  ", stdout);
    tool_print_text(*s.architecture ? s.architecture : "not named",
                    *s.architecture ? strlen(s.architecture) : 9, SHOWN_BYTES);
    fputs("\n  name          ", stdout);
    tool_print_text(s.name, strlen(s.name), SHOWN_BYTES);
    printf("\n  parameters    %" PRIu64 "\n  weights       ", s.n_parameters);
    print_bytes(s.weight_bytes);
    printf(" (%.2f bits a weight)\n", s.bits_per_weight);
    if (s.n_context > 0)
        printf("  context       %" PRId32 "\n", s.n_context);
    if (s.memory_bytes > 0) {
        fputs("  memory        ", stdout);
        print_bytes(s.memory_bytes);
        printf(" with a context of %" PRId32 "\n", s.n_context_asked);
    }
    if (o->check)
        puts("  check         passed");
}

/* Spaces that bring a name up to a column. */
static int missing_columns(const char *name, size_t column) {
    size_t n = strlen(name);
    return n < column ? (int)(column - n) : 0;
}

static void print_metadata(const weft_file *file) {
    size_t n = weft_file_n_metadata(file);
    printf("\nmetadata: %zu keys\n", n);
    for (size_t i = 0; i < n; i++) {
        weft_value v;
        const char *key = weft_file_metadata(file, i, &v);
        char type[16];
        if (v.type == WEFT_VALUE_ARRAY)
            snprintf(type, sizeof type, "%s[]", tool_value_type(v.as.array.type));
        else
            snprintf(type, sizeof type, "%s", tool_value_type(v.type));
        fputs("  ", stdout);
        tool_print_text(key, strlen(key), SHOWN_BYTES);
        printf("%*s  %-8s  ", missing_columns(key, 42), "", type);
        tool_print_value(file, i, &v);
        putchar('\n');
    }
}

/* The digest as hexadecimal digits; "" where the type has none. False on another error. */
static bool digest_text(const weft_file *file, size_t i, char out[65], weft_status *status) {
    uint8_t bytes[32];
    out[0] = 0;
    *status = weft_file_digest(file, i, bytes);
    if (*status)
        return *status == WEFT_E_UNSUPPORTED;
    for (size_t k = 0; k < 32; k++)
        snprintf(out + 2 * k, 3, "%02x", bytes[k]);
    return true;
}

static void shape_text(const weft_tensor_info *t, char *out, size_t room) {
    size_t used = 0;
    out[0] = 0;
    for (int d = 0; d < t->rank && used < room; d++) {
        int n = snprintf(out + used, room - used, "%s%" PRId64, d ? ", " : "", t->dims[d]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static weft_status print_tensors(const weft_file *file, bool digest) {
    size_t n = weft_file_n_tensors(file);
    weft_tensor_info t;
    printf("\ntensors: %zu\n", n);
    for (size_t i = 0; i < n && weft_file_tensor(file, i, &t); i++) {
        char shape[192], hex[65];
        weft_status status;
        shape_text(&t, shape, sizeof shape);
        fputs("  ", stdout);
        tool_print_text(t.name, strlen(t.name), 128);
        printf("%*s  %-8s [%s]  %" PRIu64 " bytes at %" PRIu64, missing_columns(t.name, 42), "",
               weft_dtype_name(t.dtype), shape, t.size_bytes, t.offset);
        if (digest) {
            if (!digest_text(file, i, hex, &status))
                return status;
            printf("  %s", hex[0] ? hex : "no digest");
        }
        putchar('\n');
    }
    return WEFT_OK;
}

/* ---- JSON ---- */

static void json_text(const char *text) {
    tool_write_json_string(text, strlen(text));
}

static void json_summary(const weft_file *file, const char *path, const inspect_options *o) {
    weft_file_summary s = weft_file_summarize(file, o->n_context);
    fputs("\"summary\": {\"path\": ", stdout);
    json_text(path);
    fputs(", \"format\": ", stdout);
    json_text(s.format);
    fputs(", \"architecture\": ", stdout);
    json_text(s.architecture);
    fputs(", \"name\": ", stdout);
    json_text(s.name);
    printf(", \"parameters\": %" PRIu64 ", \"weight_bytes\": %" PRIu64 ", \"bits_per_weight\": ",
           s.n_parameters, s.weight_bytes);
    tool_write_json_float(s.bits_per_weight);
    printf(", \"context\": %" PRId32 ", \"context_asked\": %" PRId32 ", \"memory_bytes\": %" PRIu64
           ", \"checked\": %s}",
           s.n_context, s.n_context_asked, s.memory_bytes, o->check ? "true" : "false");
}

static weft_status json_tensors(const weft_file *file, bool digest) {
    size_t n = weft_file_n_tensors(file);
    weft_tensor_info t;
    fputs("\"tensors\": [", stdout);
    for (size_t i = 0; i < n && weft_file_tensor(file, i, &t); i++) {
        char shape[192], hex[65];
        weft_status status;
        shape_text(&t, shape, sizeof shape);
        fputs(i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ", stdout);
        json_text(t.name);
        printf(", \"type\": \"%s\", \"shape\": [%s], \"bytes\": %" PRIu64 ", \"offset\": %" PRIu64,
               weft_dtype_name(t.dtype), shape, t.size_bytes, t.offset);
        if (digest) {
            if (!digest_text(file, i, hex, &status))
                return status;
            printf(hex[0] ? ", \"sha256\": \"%s\"" : ", \"sha256\": null%s", hex);
        }
        putchar('}');
    }
    putchar(']');
    return WEFT_OK;
}

static weft_status print_json(const weft_file *file, const char *path, const inspect_options *o) {
    putchar('{');
    json_summary(file, path, o);
    fputs(",\n\"metadata\": {", stdout);
    for (size_t i = 0; i < weft_file_n_metadata(file); i++) {
        weft_value v;
        const char *key = weft_file_metadata(file, i, &v);
        fputs(i > 0 ? ",\n  " : "\n  ", stdout);
        json_text(key);
        fputs(": ", stdout);
        tool_write_json_value(file, i, &v);
    }
    fputs("},\n", stdout);
    weft_status status = json_tensors(file, o->digest);
    puts("}");
    return status;
}

/* ---- The command ---- */

static weft_status show(const weft_file *file, const char *path, const inspect_options *o) {
    weft_status status = o->check ? weft_file_check(file) : WEFT_OK;
    if (status)
        return status;
    if (o->json)
        return print_json(file, path, o);
    print_summary(file, path, o);
    print_metadata(file);
    return print_tensors(file, o->digest);
}

int tool_inspect(int argc, char **argv) {
    inspect_options o = {0};
    const tool_option options[] = {
        {0, "json", TOOL_FLAG, &o.json, 0, 0},
        {0, "check", TOOL_FLAG, &o.check, 0, 0},
        {0, "digest", TOOL_FLAG, &o.digest, 0, 0},
        {'c', "context", TOOL_I32, &o.n_context, 1, INT32_MAX},
    };
    int first;
    int code = tool_parse(argc, argv, help, options, sizeof options / sizeof options[0], &first);
    if (code >= 0)
        return code;
    if (first + 1 != argc)
        return tool_usage("inspect", first == argc ? "no file given" : "more than one file given");
    char *path;
    code = tool_model_path(argv[first], &path);
    if (code >= 0)
        return code;
    weft_engine *engine = NULL;
    tool_engine engine_options = {.n_threads = 1};
    code = tool_open_engine(&engine_options, &engine);
    if (code >= 0) {
        free(path);
        return code;
    }
    weft_file *file = NULL;
    weft_status status = weft_file_open(engine, path, &file);
    if (!status)
        status = show(file, path, &o);
    code = status ? tool_fail_status("inspect", status) : TOOL_DONE;
    weft_file_release(&file);
    weft_engine_release(&engine);
    free(path);
    return tool_finish(code);
}
