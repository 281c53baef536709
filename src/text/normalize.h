/* Unicode normalisation forms (UAX #15) in linear time. */
#ifndef WEFT_TEXT_NORMALIZE_H
#define WEFT_TEXT_NORMALIZE_H

#include "text/tokenizer_impl.h"

typedef enum weft_unicode_form {
    WEFT_NFC,
    WEFT_NFD,
    WEFT_NFKC,
    WEFT_NFKD,
} weft_unicode_form;

/* Appends the form of `text` to `out`; bytes that are not UTF-8 stay as they are. False: no memory.
 */
bool weft_normalize_unicode(weft_unicode_form form, const unsigned char *text, size_t n_bytes,
                            weft_bytes *out);
#endif
