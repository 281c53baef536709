/* Text from files as a terminal may see it: nothing of it arrives raw. */
#include "tool.h"

#include <stdio.h>

/* Bytes of the printable UTF-8 character at the front, 0 where there is none. */
static size_t printable(const unsigned char *s, size_t n) {
    if (s[0] >= 0x20 && s[0] < 0x7f)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if (s[0] == 0xc2 && s[1] < 0xa0) /* C1 controls */
        return 0;
    if (s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0x8b) || (s[1] == 0x81 && s[2] >= 0xa0)))
        return 0; /* separators, and marks that turn the direction of writing */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

void tool_print_text(const char *text, size_t n, size_t room) {
    size_t i = 0;
    while (i < n && i < room) {
        const unsigned char *s = (const unsigned char *)text + i;
        size_t length = printable(s, n - i);
        if (*s == '\n' || *s == '\t' || *s == '\r')
            printf("\\%c", *s == '\n' ? 'n' : *s == '\t' ? 't' : 'r');
        else if (length == 0)
            printf("\\x%02x", *s);
        else
            fwrite(s, 1, length, stdout);
        i += length ? length : 1;
    }
    if (i < n)
        printf("… (%zu bytes)", n);
}
