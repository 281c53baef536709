/* Metadata as text and as JSON. */
#include "values.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN_BYTES 72 /* of a string */
#define SHOWN_ITEMS 6  /* of an array */

const char *tool_value_type(weft_value_type type) {
    static const char *const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "?";
}

void tool_print_scalar(const weft_value *v, size_t room) {
    switch (v->type) {
    case WEFT_VALUE_STRING:
        tool_print_text(v->as.s.text, v->as.s.n_bytes, room);
        break;
    case WEFT_VALUE_BOOL:
        fputs(v->as.u ? "true" : "false", stdout);
        break;
    case WEFT_VALUE_F32:
        printf("%.7g", v->as.f);
        break;
    case WEFT_VALUE_F64:
        printf("%.15g", v->as.f);
        break;
    case WEFT_VALUE_I8:
    case WEFT_VALUE_I16:
    case WEFT_VALUE_I32:
    case WEFT_VALUE_I64:
        printf("%" PRId64, v->as.i);
        break;
    case WEFT_VALUE_ARRAY:
        break;
    default:
        printf("%" PRIu64, v->as.u);
        break;
    }
}

void tool_print_value(const weft_file *file, size_t i, const weft_value *v) {
    if (v->type != WEFT_VALUE_ARRAY) {
        tool_print_scalar(v, SHOWN_BYTES);
        return;
    }
    weft_value item;
    size_t n = v->as.array.n;
    putchar('[');
    for (size_t j = 0; j < SHOWN_ITEMS && weft_file_array_item(file, i, j, &item); j++) {
        if (j > 0)
            fputs(", ", stdout);
        tool_print_scalar(&item, 16);
    }
    printf(n > SHOWN_ITEMS ? ", …] %zu items" : "] %zu items", n);
}

void tool_write_json_scalar(const weft_value *v) {
    if (v->type == WEFT_VALUE_STRING)
        tool_write_json_string(v->as.s.text, v->as.s.n_bytes);
    else if (v->type == WEFT_VALUE_F32)
        tool_write_json_float(v->as.f);
    else if (v->type == WEFT_VALUE_F64 && v->as.f - v->as.f == 0)
        printf("%.17g", v->as.f);
    else if (v->type == WEFT_VALUE_F64) /* infinite, or no number */
        fputs("null", stdout);
    else
        tool_print_scalar(v, 0);
}

void tool_write_json_value(const weft_file *file, size_t i, const weft_value *v) {
    if (v->type != WEFT_VALUE_ARRAY) {
        tool_write_json_scalar(v);
        return;
    }
    if (v->as.array.type == WEFT_VALUE_ARRAY) {
        printf("{\"array_of\": \"array\", \"length\": %zu}", v->as.array.n);
        return;
    }
    weft_value item;
    putchar('[');
    for (size_t j = 0; weft_file_array_item(file, i, j, &item); j++) {
        if (j > 0)
            fputs(", ", stdout);
        tool_write_json_scalar(&item);
    }
    putchar(']');
}
