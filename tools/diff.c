/* weft diff: what differs between two model files, key by key and tensor by tensor. */
#include "tool.h"
#include "values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/extra/inspect.h>

static const char help[] =
    "Usage: weft diff A B [options]\n"
    "Shows what differs between two model files.\n"
    "  A, B            GGUF files (any shard of a split one), Hugging Face folders, or names\n"
    "                  of fetched models\n"
    "  --tensors       tensors alone, not the metadata\n"
    "  --imatrix FILE  squares are weighed by the columns' importance as well (weighed_mse)\n"
    "  --json          one JSON object: metadata, tensors (with the mean square of A and of\n"
    "                  the difference), equal\n"
    "  -t N            threads (default: physical cores)\n"
    "Tensors are compared as float32, whatever their types. Exit status: 0 equal, 1 different\n"
    "or failed.\n"
    "Example: weft diff model-f16.gguf model-q4_k_m.gguf --tensors\n";

typedef struct options {
    tool_engine engine;
    const char *imatrix;
    bool json, tensors;
} options;

typedef struct comparison {
    const weft_file *a, *b;
    const options *o;
    size_t n_different; /* keys and tensors */
    bool first;         /* of a JSON array */
} comparison;

/* ---- Metadata ---- */

static bool same_scalar(const weft_value *a, const weft_value *b) {
    if (a->type != b->type)
        return false;
    if (a->type == WEFT_VALUE_STRING)
        return a->as.s.n_bytes == b->as.s.n_bytes &&
               memcmp(a->as.s.text, b->as.s.text, a->as.s.n_bytes) == 0;
    if (a->type == WEFT_VALUE_F32 || a->type == WEFT_VALUE_F64)
        return a->as.f == b->as.f || (isnan(a->as.f) && isnan(b->as.f));
    return a->as.u == b->as.u;
}

/* Value i of A beside value j of B: the items of arrays that differ, and the first of them; a value
 * that is no array is one item. */
typedef struct value_pair {
    size_t i, j;
    weft_value a, b;
    bool arrays; /* of one type and length */
    size_t n_different, first;
} value_pair;

static void compare_values(const comparison *c, value_pair *p) {
    weft_file_metadata(c->a, p->i, &p->a);
    weft_file_metadata(c->b, p->j, &p->b);
    p->n_different = p->first = 0;
    p->arrays = p->a.type == WEFT_VALUE_ARRAY && p->b.type == WEFT_VALUE_ARRAY &&
                p->a.as.array.type == p->b.as.array.type && p->a.as.array.n == p->b.as.array.n;
    if (!p->arrays) {
        bool array = p->a.type == WEFT_VALUE_ARRAY || p->b.type == WEFT_VALUE_ARRAY;
        p->n_different = array || !same_scalar(&p->a, &p->b);
        return;
    }
    weft_value x, y;
    for (size_t k = 0; k < p->a.as.array.n; k++)
        if (weft_file_array_item(c->a, p->i, k, &x) && weft_file_array_item(c->b, p->j, k, &y) &&
            !same_scalar(&x, &y) && p->n_different++ == 0)
            p->first = k;
}

static bool find_key(const weft_file *file, const char *key, size_t *at) {
    for (size_t i = 0; i < weft_file_n_metadata(file); i++)
        if (strcmp(weft_file_metadata(file, i, NULL), key) == 0) {
            *at = i;
            return true;
        }
    return false;
}

static bool find_tensor(const weft_file *file, const char *name, size_t *at) {
    weft_tensor_info info;
    for (size_t i = 0; weft_file_tensor(file, i, &info); i++)
        if (strcmp(info.name, name) == 0) {
            *at = i;
            return true;
        }
    return false;
}

/* One JSON member after a comma where one is due. */
static void begin(comparison *c, const char *name) {
    fputs(c->first ? "\n  {\"name\":" : ",\n  {\"name\":", stdout);
    tool_write_json_string(name, strlen(name));
    c->first = false;
}

static void one_difference(comparison *c, const char *name, const char *what) {
    c->n_different++;
    if (c->o->json) {
        begin(c, name);
        printf(",\"difference\":\"%s\"}", what);
    } else {
        tool_print_text(name, strlen(name), 200);
        printf(": %s\n", what);
    }
}

/* A's value and B's, of arrays of one length the first item that differs. */
static void show_values(comparison *c, const char *key, value_pair *p) {
    weft_value x = p->a, y = p->b;
    c->n_different++;
    if (p->arrays) {
        weft_file_array_item(c->a, p->i, p->first, &x);
        weft_file_array_item(c->b, p->j, p->first, &y);
    }
    if (c->o->json) {
        begin(c, key);
        printf(",\"difference\":\"%s\"", p->a.type != p->b.type ? "another type" : "another value");
        if (p->arrays)
            printf(",\"items\":%zu,\"item\":%zu", p->n_different, p->first);
        fputs(",\"a\":", stdout);
        tool_write_json_value(c->a, p->i, &x);
        fputs(",\"b\":", stdout);
        tool_write_json_value(c->b, p->j, &y);
        putchar('}');
        return;
    }
    tool_print_text(key, strlen(key), 200);
    if (p->arrays)
        printf(": %zu of %zu items differ, item %zu", p->n_different, p->a.as.array.n, p->first);
    fputs(": ", stdout);
    tool_print_value(c->a, p->i, &x);
    fputs(" -> ", stdout);
    tool_print_value(c->b, p->j, &y);
    if (p->a.type != p->b.type)
        printf(" (%s -> %s)", tool_value_type(p->a.type), tool_value_type(p->b.type));
    putchar('\n');
}

static void diff_metadata(comparison *c) {
    value_pair p;
    for (p.i = 0; p.i < weft_file_n_metadata(c->a); p.i++) {
        const char *key = weft_file_metadata(c->a, p.i, NULL);
        if (!find_key(c->b, key, &p.j)) {
            one_difference(c, key, "only in A");
            continue;
        }
        compare_values(c, &p);
        if (p.n_different)
            show_values(c, key, &p);
    }
    for (size_t j = 0; j < weft_file_n_metadata(c->b); j++) {
        const char *key = weft_file_metadata(c->b, j, NULL);
        if (!find_key(c->a, key, &p.i))
            one_difference(c, key, "only in B");
    }
}

/* ---- Tensors ---- */

static bool same_shape(const weft_tensor_info *a, const weft_tensor_info *b) {
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

static void show_errors(comparison *c, const weft_tensor_info *a, const weft_tensor_info *b,
                        const weft_tensor_difference *d) {
    if (c->o->json) {
        begin(c, a->name);
        printf(",\"type_a\":\"%s\",\"type_b\":\"%s\",\"different\":%" PRIu64
               ",\"elements\":%" PRIu64 ",\"max\":",
               weft_dtype_name(a->dtype), weft_dtype_name(b->dtype), d->n_different, d->n_elements);
        tool_write_json_float(d->max_error);
        fputs(",\"mean\":", stdout);
        tool_write_json_float(d->mean_error);
        fputs(",\"mse\":", stdout);
        tool_write_json_float(d->mean_square);
        fputs(",\"square_a\":", stdout);
        tool_write_json_float(d->mean_square_a);
        fputs(",\"weighed_mse\":", stdout);
        tool_write_json_float(d->weighed_square);
        fputs("}", stdout);
        return;
    }
    double share = d->mean_square_a > 0 ? sqrt(d->mean_square / d->mean_square_a) : 0;
    tool_print_text(a->name, strlen(a->name), 200);
    printf(": %s and %s, %" PRIu64 " of %" PRIu64
           " elements differ, max %.3g, mean %.3g, rms %.3g%% of A's\n",
           weft_dtype_name(a->dtype), weft_dtype_name(b->dtype), d->n_different, d->n_elements,
           d->max_error, d->mean_error, 100 * share);
}

static int diff_tensor(comparison *c, size_t i, const weft_tensor_info *a) {
    size_t j;
    weft_tensor_info b;
    weft_tensor_difference d;
    if (!find_tensor(c->b, a->name, &j)) {
        one_difference(c, a->name, "only in A");
        return -1;
    }
    weft_file_tensor(c->b, j, &b);
    if (!same_shape(a, &b)) {
        one_difference(c, a->name, "another shape");
        return -1;
    }
    weft_status status = weft_file_compare(c->a, i, c->b, j, &d);
    if (status == WEFT_E_UNSUPPORTED) {
        one_difference(c, a->name, "types that cannot be compared");
        return -1;
    }
    if (status)
        return tool_fail_status("diff", status);
    if (d.n_different > 0 || a->dtype != b.dtype) {
        c->n_different++;
        show_errors(c, a, &b, &d);
    }
    return -1;
}

static int diff_tensors(comparison *c) {
    weft_tensor_info info;
    size_t other;
    for (size_t i = 0; weft_file_tensor(c->a, i, &info); i++) {
        int code = diff_tensor(c, i, &info);
        if (code >= 0)
            return code;
    }
    for (size_t j = 0; weft_file_tensor(c->b, j, &info); j++)
        if (!find_tensor(c->a, info.name, &other))
            one_difference(c, info.name, "only in B");
    return -1;
}

static int compare(comparison *c) {
    c->first = true;
    if (c->o->json)
        fputs("{\"metadata\":[", stdout);
    if (!c->o->tensors)
        diff_metadata(c);
    if (c->o->json)
        fputs("],\n\"tensors\":[", stdout);
    c->first = true;
    int code = diff_tensors(c);
    if (code >= 0)
        return code;
    if (c->o->json)
        printf("],\n\"equal\":%s}\n", c->n_different ? "false" : "true");
    else if (c->n_different == 0)
        puts("equal");
    return c->n_different ? TOOL_FAILED : TOOL_DONE;
}

static int open_both(const options *o, char **paths, weft_file **files, weft_engine **engine) {
    int code = tool_open_engine(&o->engine, engine);
    for (int k = 0; code < 0 && k < 2; k++) {
        weft_status status = weft_file_open(*engine, paths[k], &files[k]);
        if (status)
            code = tool_fail_status(paths[k], status);
    }
    if (code < 0 && o->imatrix) {
        weft_status status = weft_file_weigh(files[0], o->imatrix);
        if (status)
            code = tool_fail_status(o->imatrix, status);
    }
    return code;
}

int tool_diff(int argc, char **argv) {
    options o = {0};
    const tool_option table[] = {
        {'t', "threads", TOOL_I32, &o.engine.n_threads, 1, 1024},
        {0, "imatrix", TOOL_STRING, &o.imatrix, 1, 0},
        {0, "tensors", TOOL_FLAG, &o.tensors, 0, 0},
        {0, "json", TOOL_FLAG, &o.json, 0, 0},
    };
    int first;
    int code = tool_parse(argc, argv, help, table, sizeof table / sizeof table[0], &first);
    if (code >= 0)
        return code;
    if (argc - first != 2)
        return tool_usage("diff", "give A and B");
    weft_engine *engine = NULL;
    weft_file *files[2] = {NULL, NULL};
    char *paths[2] = {NULL, NULL};
    code = tool_model_path(argv[first], &paths[0]);
    if (code < 0)
        code = tool_model_path(argv[first + 1], &paths[1]);
    if (code < 0)
        code = open_both(&o, paths, files, &engine);
    if (code < 0) {
        comparison c = {.a = files[0], .b = files[1], .o = &o};
        code = compare(&c);
    }
    for (int k = 0; k < 2; k++) {
        weft_file_release(&files[k]);
        free(paths[k]);
    }
    weft_engine_release(&engine);
    return tool_finish(code);
}
