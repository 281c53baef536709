/* Numbers from text and back. The C library's conversions follow the locale's decimal point, so
 * that digits are taken from them and the point is put by the code here. */
#include "text/jinja/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"

/* The longest literal that is read exactly; longer ones lose digits that no double holds. */
#define LITERAL_MAX 800

static double read_float(jinja_string text) {
    char copy[LITERAL_MAX + 16], point[16];
    /* What the locale has between the 0 and the 5. */
    int written = snprintf(point, sizeof point, "%.1f", 0.5);
    size_t n_point = written > 2 && written < (int)sizeof point ? (size_t)written - 2 : 1, n = 0;
    for (size_t i = 0; i < text.n && n < LITERAL_MAX; i++) {
        if (text.text[i] == '.') {
            memcpy(copy + n, point + 1, n_point);
            n += n_point;
        } else if (text.text[i] != '_') {
            copy[n++] = text.text[i];
        }
    }
    copy[n] = 0;
    return strtod(copy, NULL);
}

static bool read_based(jinja_string digits, int base, jinja_value *out) {
    uint64_t value = 0;
    if (digits.n == 0)
        return false;
    for (size_t i = 0; i < digits.n; i++) {
        char c = digits.text[i], low = (char)(c | 0x20);
        if (c == '_')
            continue;
        int d = c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 99;
        if (d >= base || value > (uint64_t)(INT64_MAX - d) / (uint64_t)base)
            return false;
        value = value * (uint64_t)base + (uint64_t)d;
    }
    *out = jinja_int((int64_t)value);
    return true;
}

bool jinja_parse_number(jinja_arena *arena, jinja_string text, bool is_float, jinja_value *out) {
    if (is_float) {
        if (text.n > LITERAL_MAX)
            return false;
        *out = jinja_float(read_float(text));
        return true;
    }
    bool minus = text.n && *text.text == '-';
    size_t sign = text.n && (*text.text == '-' || *text.text == '+');
    jinja_string digits = {text.text + sign, text.n - sign};
    char letter = digits.n > 1 && *digits.text == '0' ? (char)(digits.text[1] | 0x20) : 0;
    if (letter == 'x' || letter == 'o' || letter == 'b')
        return read_based((jinja_string){digits.text + 2, digits.n - 2},
                          letter == 'x'   ? 16
                          : letter == 'o' ? 8
                                          : 2,
                          out);
    if (read_based(digits, 10, out)) {
        if (minus)
            out->as.i = -out->as.i;
        return true;
    }
    char *all = jinja_arena_alloc(arena, text.n);
    size_t n = 0;
    for (size_t i = 0; all && i < text.n; i++) {
        char c = text.text[i];
        if (i >= sign && c != '_' && (c < '0' || c > '9'))
            return false;
        if (c != '_' && c != '+' && !(c == '0' && n == (size_t)minus))
            all[n++] = c;
    }
    *out = (jinja_value){.type = JINJA_BIG, .as.s = {all, n}};
    return all != NULL && n > (size_t)minus;
}

size_t jinja_print_float(double f, char out[JINJA_FLOAT_BYTES]) {
    char raw[64], digits[32];
    int n_digits = 0;
    size_t n = 0;
    if (isnan(f) || isinf(f)) {
        const char *name = isnan(f) ? "nan" : f < 0 ? "-inf" : "inf";
        memcpy(out, name, strlen(name));
        return strlen(name);
    }
    for (int precision = 0; precision < 17; precision++) {
        snprintf(raw, sizeof raw, "%.*e", precision, f);
        if (strtod(raw, NULL) == f)
            break;
    }
    const char *e = strchr(raw, 'e');
    for (const char *c = raw; c < e; c++)
        if (*c >= '0' && *c <= '9')
            digits[n_digits++] = *c;
    int exponent = atoi(e + 1);
    if (raw[0] == '-')
        out[n++] = '-';
    if (exponent < -4 || exponent >= 16) {
        out[n++] = digits[0];
        if (n_digits > 1)
            out[n++] = '.';
        for (int i = 1; i < n_digits; i++)
            out[n++] = digits[i];
        return n + (size_t)snprintf(out + n, JINJA_FLOAT_BYTES - n, "e%+03d", exponent);
    }
    if (exponent < 0) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = -1; i > exponent; i--)
            out[n++] = '0';
    }
    for (int i = 0; i < n_digits || i <= exponent; i++) {
        out[n++] = i < n_digits ? digits[i] : '0';
        if (i == exponent)
            out[n++] = '.';
    }
    if (exponent >= 0 && exponent + 1 >= n_digits)
        out[n++] = '0';
    return n;
}

size_t jinja_print_fixed(double f, int n_digits, char *out, size_t room) {
    if (isnan(f) || isinf(f)) {
        char name[JINJA_FLOAT_BYTES];
        size_t n = jinja_print_float(f, name);
        n = n < room ? n : room - 1;
        memcpy(out, name, n);
        return n;
    }
    char text[512];
    int written = snprintf(text, sizeof text, "%.*f", n_digits, f);
    size_t n = 0;
    bool pointed = false;
    for (int i = 0; i < written && i < (int)sizeof text - 1 && n + 1 < room; i++) {
        bool plain = (text[i] >= '0' && text[i] <= '9') || text[i] == '-';
        if (plain || !pointed)
            out[n++] = plain ? text[i] : '.';
        pointed |= !plain;
    }
    return n;
}
