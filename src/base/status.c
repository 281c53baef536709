/* Names and sentences of the status codes. */
#include <weft/status.h>

const char *weft_status_name(weft_status status) {
    switch (status) {
#define WEFT_STATUS_NAME(code, sentence)                                                           \
    case WEFT_##code:                                                                              \
        return "WEFT_" #code;
        WEFT_STATUSES(WEFT_STATUS_NAME)
#undef WEFT_STATUS_NAME
    case WEFT_STATUS_COUNT:
        break;
    }
    return "WEFT_E_UNKNOWN";
}

const char *weft_status_text(weft_status status) {
    switch (status) {
#define WEFT_STATUS_TEXT(code, sentence)                                                           \
    case WEFT_##code:                                                                              \
        return sentence;
        WEFT_STATUSES(WEFT_STATUS_TEXT)
#undef WEFT_STATUS_TEXT
    case WEFT_STATUS_COUNT:
        break;
    }
    return "unknown status";
}
