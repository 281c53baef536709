/* Unicode normalisation to NFC (UAX #15) in linear time. */
#ifndef WEFT_TEXT_NORMALIZE_H
#define WEFT_TEXT_NORMALIZE_H

#include "text/tokenizer_impl.h"

/* Appends the NFC form of `text` to `out`; bytes that are not UTF-8 stay as they are. */
bool weft_normalize_nfc(const unsigned char *text, size_t n_bytes, weft_bytes *out);
#endif
