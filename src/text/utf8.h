/* UTF-8: lengths of well-formed sequences (Unicode 15, table 3-7), and the byte-level alphabet of
 * GPT-2, in which each byte is written as a printable character. */
#ifndef WEFT_TEXT_UTF8_H
#define WEFT_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at `s`, 0 if there is none within `n`. */
size_t weft_utf8_length(const unsigned char *s, size_t n);
/* True when `s` of n < 4 bytes is the beginning of a well-formed character, but not all of it. */
bool weft_utf8_is_prefix(const unsigned char *s, size_t n);
/* The character at `s`, which is well-formed and `length` bytes long. */
uint32_t weft_utf8_decode(const unsigned char *s, size_t length);
/* Writes up to 4 bytes; gives the length. */
size_t weft_utf8_encode(uint32_t c, unsigned char *out);
/* Bytes of the well-formed beginning of `s`. */
size_t weft_utf8_valid(const unsigned char *s, size_t n);
/* Unicode's White_Space property. */
bool weft_is_space(uint32_t c);
/* Letters, marks, numbers and connectors: what \w matches. */
bool weft_is_word(uint32_t c);

/* The byte that character `c` stands for in byte-level vocabularies, -1 for any other character. */
int weft_byte_of_char(uint32_t c);
/* Decodes a byte-level spelling into `out` (room n_bytes); false if it has any other character. */
bool weft_bytelevel_decode(const unsigned char *s, size_t n_bytes, unsigned char *out, size_t *n);
#endif
