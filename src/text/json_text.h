/* JSON as text: where a value ends, though the text may still be coming; members of an object; a
 * string written. Nothing is allocated but what is written. */
#ifndef WEFT_TEXT_JSON_TEXT_H
#define WEFT_TEXT_JSON_TEXT_H

#include "text/tokenizer_impl.h"

#define WEFT_JSON_TEXT_DEPTH 128

typedef enum weft_json_progress {
    WEFT_JSON_MORE, /* the value goes on */
    WEFT_JSON_DONE,
    WEFT_JSON_BAD /* no JSON, or nested too deeply */
} weft_json_progress;

/* Reads a value byte by byte; zero-initialise it. */
typedef struct weft_json_scan {
    uint8_t expects; /* what may come next, see json_text.c */
    uint8_t in_key;  /* the string that is read is a member's name */
    uint8_t n_hex;   /* digits of \u that are missing */
    uint8_t literal; /* 1 + which of true, false, null */
    uint8_t at;      /* in the literal, or the state of a number */
    uint16_t depth;
    uint8_t object[WEFT_JSON_TEXT_DEPTH / 8]; /* bit: that level is an object */
} weft_json_scan;

/* Goes on with text[*at … n - 1]. DONE: *at is behind the value, which is an object, an array or a
 * string. (A number or literal at the top is DONE at the first byte that is not part of it.) */
weft_json_progress weft_json_scan_on(weft_json_scan *scan, const char *text, size_t n, size_t *at);

typedef struct weft_slice {
    const char *text;
    size_t n;
} weft_slice;

/* The value that begins at *at (blanks first), as it stands there; *at is then behind it. False: no
 * whole value. */
bool weft_json_take(const char *text, size_t n, size_t *at, weft_slice *value);
/* The member `name` of the object that is all of `object`. Names are compared as they are spelled.
 */
bool weft_json_member_of(weft_slice object, const char *name, weft_slice *value);
/* Decodes a string with its quotes onto the end of `out`. Half a surrogate pair becomes U+FFFD.
 * False: no string, or no memory. */
bool weft_json_decode(weft_slice string, weft_bytes *out);
/* Writes a text as a JSON string; invalid UTF-8 becomes U+FFFD. False: no memory. */
bool weft_json_encode(const char *text, size_t n, weft_bytes *out);

#endif
