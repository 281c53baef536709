/* Metadata of model files on stdout, as text and as JSON. */
#ifndef WEFT_TOOLS_VALUES_H
#define WEFT_TOOLS_VALUES_H

#include <stddef.h>
#include <weft/extra/inspect.h>

/* "u32" … "array". */
const char *tool_value_type(weft_value_type type);
/* A value that is no array; of a string at most `room` bytes, escaped. */
void tool_print_scalar(const weft_value *v, size_t room);
/* Value i of the file, shortened; of an array the first items and their number. */
void tool_print_value(const weft_file *file, size_t i, const weft_value *v);
/* The same whole, as JSON. Arrays of arrays are kept by their length alone. */
void tool_write_json_scalar(const weft_value *v);
void tool_write_json_value(const weft_file *file, size_t i, const weft_value *v);

#endif
