/* SentencePiece's precompiled character map: a double-array trie (Yata's darts-clone) from
 * spellings to replacements. Comes from files: every step through it is checked. Owns its memory.
 */
#ifndef WEFT_TEXT_CHARSMAP_H
#define WEFT_TEXT_CHARSMAP_H

#include "text/tokenizer_impl.h"

/* From the map's bytes: the trie's size (u32, little endian), the trie, the replacements, each with
 * a NUL. WEFT_E_FORMAT, _MEMORY. */
weft_status weft_charsmap_open(const weft_allocator *a, const void *data, size_t n_bytes,
                               weft_charsmap *out);
void weft_charsmap_close(const weft_allocator *a, weft_charsmap *map);

/* The replacement of the longest spelling at the front of `text`, or of the shortest one if not
 * `longest`; NULL where there is none. *taken: bytes of the spelling. */
const char *weft_charsmap_find(const weft_charsmap *map, const unsigned char *text, size_t n_bytes,
                               bool longest, size_t *taken);
#endif
