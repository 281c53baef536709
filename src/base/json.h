/* JSON, read through Jansson behind this header: strict UTF-8, duplicate names refused, depth
 * bounded, any input size. Values are borrowed from their document. */
#ifndef WEFT_BASE_JSON_H
#define WEFT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/status.h>

typedef struct weft_json weft_json; /* one value */

typedef enum weft_json_type {
    WEFT_JSON_NULL,
    WEFT_JSON_BOOL,
    WEFT_JSON_INTEGER,
    WEFT_JSON_REAL,
    WEFT_JSON_STRING,
    WEFT_JSON_ARRAY,
    WEFT_JSON_OBJECT
} weft_json_type;

/* Parses `size_bytes` of text into a document; `what` names it in the detail (line and column too).
 * Errors: WEFT_E_FORMAT, WEFT_E_MEMORY. Freed with weft_json_free on the root. */
weft_status weft_json_parse(const char *text, size_t size_bytes, const char *what,
                            weft_json **root);
void weft_json_free(weft_json **root);

weft_json_type weft_json_type_of(const weft_json *v);
bool weft_json_bool(const weft_json *v);       /* false for other types */
int64_t weft_json_integer(const weft_json *v); /* 0 for other types */
double weft_json_number(const weft_json *v);   /* integer or real */
/* Bytes and length; NULL for other types. May hold NUL characters. */
const char *weft_json_string(const weft_json *v, size_t *n_bytes);
size_t weft_json_length(const weft_json *v); /* of arrays and objects */
const weft_json *weft_json_item(const weft_json *array, size_t i);
/* NULL if absent, or `object` is NULL or no object. */
const weft_json *weft_json_get(const weft_json *object, const char *name);
/* Members in order: start with *cursor = NULL; false at the end. */
bool weft_json_next(const weft_json *object, void **cursor, const char **name,
                    const weft_json **value);

/* Values made out of others. What is put into a value belongs to it afterwards, also when this
 * fails; NULL (out of memory) is passed on, so that one look at the end is enough. */
weft_json *weft_json_new_object(void);
weft_json *weft_json_new_array(void);
weft_json *weft_json_new_string(const char *text);
weft_json *weft_json_new_real(double x);
weft_json *weft_json_new_bool(bool b);
/* Another reference to a value; it must not be changed. */
weft_json *weft_json_share(const weft_json *v);
/* `object` or `array`; NULL (and what was given is freed) out of memory. */
weft_json *weft_json_with(weft_json *object, const char *name, weft_json *value);
weft_json *weft_json_append(weft_json *array, weft_json *value);

#endif
