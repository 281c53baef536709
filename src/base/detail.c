/* The thread's detail: one clean line about the last failure. */
#include "base/detail.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DETAIL_ROOM 1001

static _Thread_local char detail[DETAIL_ROOM];

/* Length of the valid UTF-8 sequence at s, 0 if there is none (RFC 3629). */
static size_t utf8_length(const unsigned char *s) {
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 && s[0] < 0xf5   ? 4
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
        return 0;
    return n;
}

/* Bytes from files end up in details: nothing in them may reach a terminal as a command. */
static void clean(char *text) {
    unsigned char *s = (unsigned char *)text;
    while (*s) {
        size_t n = utf8_length(s);
        bool control = *s < 0x20 || *s == 0x7f || (n == 2 && s[0] == 0xc2 && s[1] < 0xa0);
        if (n == 0 || control) {
            *s = '?';
            n = 1;
        }
        s += n;
    }
}

weft_status weft_fail(weft_status status, const char *format, ...) {
    /* Formatted aside, because the arguments may point into the detail itself. */
    char text[DETAIL_ROOM];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clean(text);
    memcpy(detail, text, sizeof detail);
    return status;
}

weft_status weft_fail_in(weft_status status, const char *format, ...) {
    char text[2 * DETAIL_ROOM];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, DETAIL_ROOM, format, args);
    va_end(args);
    if (n < 0 || n >= DETAIL_ROOM)
        n = n < 0 ? 0 : DETAIL_ROOM - 1;
    snprintf(text + n, sizeof text - (size_t)n, ": %s", detail);
    text[DETAIL_ROOM - 1] = 0;
    clean(text);
    memcpy(detail, text, sizeof detail);
    return status;
}

const char *weft_detail(void) {
    return detail;
}
