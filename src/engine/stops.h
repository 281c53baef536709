/* Finding stop strings in text that arrives in pieces: byte by byte, so that the result does not
 * depend on where the pieces end. Each string has a Knuth-Morris-Pratt automaton; time is linear.
 */
#ifndef WEFT_ENGINE_STOPS_H
#define WEFT_ENGINE_STOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <weft/engine.h>
#include <weft/status.h>

typedef struct weft_stop {
    const char *text; /* borrowed */
    size_t length;
    size_t *fail;   /* [length]: longest proper prefix of text[0 … i] that is its suffix */
    size_t matched; /* bytes of text that the stream ends with */
} weft_stop;

typedef struct weft_stops {
    weft_allocator allocator;
    weft_stop *list; /* [n] */
    size_t n;
    char *held;   /* [room]: the text handed out last, then what may become part of a stop string */
    size_t begin; /* of the latter, n_held bytes */
    size_t n_held, room;
} weft_stops;

/* `piece_bytes`: the longest piece that will be pushed. The strings are borrowed. Errors:
 * WEFT_E_ARGUMENT (an empty string, or one that begins within a UTF-8 sequence), WEFT_E_MEMORY. */
weft_status weft_stops_init(weft_stops *s, const weft_allocator *a, const char *const *strings,
                            size_t n, size_t piece_bytes);
void weft_stops_free(weft_stops *s);

/* Takes a piece of text. *out [*n_out] is what is decided not to be part of a stop string, valid
 * until the next call. True when a stop string was completed: *out ends before it, and all is over.
 */
bool weft_stops_push(weft_stops *s, const char *piece, size_t n_bytes, const char **out,
                     size_t *n_out);
/* What is still held back when no more text comes. */
void weft_stops_finish(weft_stops *s, const char **out, size_t *n_out);

#endif
