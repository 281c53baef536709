/* A small JSON reader for lines that tools take in: members of one object, strings decoded. */
#ifndef WEFT_TOOLS_JSON_H
#define WEFT_TOOLS_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* The value of member `name` of the object that is all of `text`, as it stands there ([*n] bytes at
 * *value; NULL where there is no such member). False if the text is no JSON object. Names are
 * compared as they are spelled. */
bool tool_json_member(const char *text, size_t n_bytes, const char *name, const char **value,
                      size_t *n);

/* Decodes the string `value` (quotes included) into `out`, which has room for n_bytes; gives its
 * length in *n. Half a surrogate pair becomes U+FFFD. False if it is no string. */
bool tool_json_string(const char *value, size_t n_bytes, char *out, size_t *n);
#endif
