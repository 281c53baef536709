/* placeholder */
#include "text/grammar/languages.h"
uint32_t weft_schema_parse(weft_nfa *n, const char *text, size_t n_bytes) {
    (void)text;
    (void)n_bytes;
    n->status = WEFT_E_UNSUPPORTED;
    return 0;
}
