/* Numbers from text and back, whatever the process' locale. */
#ifndef WEFT_TEXT_JINJA_NUMBER_H
#define WEFT_TEXT_JINJA_NUMBER_H

#include "text/jinja/arena.h"
#include "text/jinja/value.h"

/* A literal: decimal with underscores, 0x, 0o, 0b, or a float; a sign may come first. False: no
 * number, or no memory for the digits of one beyond 64 bits. */
bool jinja_parse_number(jinja_arena *arena, jinja_string text, bool is_float, jinja_value *out);

/* Room for any float's repr. */
#define JINJA_FLOAT_BYTES 32
/* The shortest text that reads back as `f`, as Python's repr has it: 1.0, 1e-07, inf. */
size_t jinja_print_float(double f, char out[JINJA_FLOAT_BYTES]);
/* `f` with `n` digits after the point, 0 <= n <= 60; gives the length, at most `room` - 1. */
size_t jinja_print_fixed(double f, int n, char *out, size_t room);

#endif
