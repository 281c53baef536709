/* strftime in English, whatever the process' locale. */
#include <stdio.h>
#include <string.h>
#include "text/jinja/impl.h"

static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

static const char *name_of(const char *const *names, int i, int n) {
    return i >= 0 && i < n ? names[i] : "?";
}

/* One directive; false: an unknown one. */
static bool directive(const struct tm *t, char letter, bool bare, char *out, size_t room) {
    int value = -1, hour = t->tm_hour % 12 == 0 ? 12 : t->tm_hour % 12;
    switch (letter) {
    case 'Y':
        snprintf(out, room, "%d", t->tm_year + 1900);
        return true;
    case 'B':
        snprintf(out, room, "%s", name_of(months, t->tm_mon, 12));
        return true;
    case 'b':
    case 'h':
        snprintf(out, room, "%.3s", name_of(months, t->tm_mon, 12));
        return true;
    case 'A':
        snprintf(out, room, "%s", name_of(days, t->tm_wday, 7));
        return true;
    case 'a':
        snprintf(out, room, "%.3s", name_of(days, t->tm_wday, 7));
        return true;
    case 'p':
        snprintf(out, room, "%s", t->tm_hour < 12 ? "AM" : "PM");
        return true;
    case 'j':
        snprintf(out, room, bare ? "%d" : "%03d", t->tm_yday + 1);
        return true;
    case 'F':
        snprintf(out, room, "%d-%02d-%02d", t->tm_year + 1900, t->tm_mon + 1, t->tm_mday);
        return true;
    case 'T':
        snprintf(out, room, "%02d:%02d:%02d", t->tm_hour, t->tm_min, t->tm_sec);
        return true;
    case 'e':
        snprintf(out, room, "%2d", t->tm_mday);
        return true;
    case 'w':
        snprintf(out, room, "%d", t->tm_wday);
        return true;
    case 'Z':
    case 'z':
        out[0] = 0; /* a time without a zone, as datetime.now() gives it */
        return true;
    case 'd':
        value = t->tm_mday;
        break;
    case 'm':
        value = t->tm_mon + 1;
        break;
    case 'y':
        value = (t->tm_year + 1900) % 100;
        break;
    case 'H':
        value = t->tm_hour;
        break;
    case 'I':
        value = hour;
        break;
    case 'M':
        value = t->tm_min;
        break;
    case 'S':
        value = t->tm_sec;
        break;
    default:
        return false;
    }
    snprintf(out, room, bare ? "%d" : "%02d", value);
    return true;
}

jinja_value jinja_strftime(jinja *j, jinja_string f) {
    jinja_buffer b = {0};
    for (size_t i = 0; i < f.n && jinja_spend(j, 1); i++) {
        char text[64];
        bool bare = i + 2 < f.n && f.text[i + 1] == '-'; /* %-d: without padding */
        if (f.text[i] != '%' || i + 1 == f.n) {
            jinja_put(j, &b, f.text + i, 1);
        } else if (f.text[i + 1] == '%') {
            jinja_put(j, &b, "%", 1);
            i++;
        } else if (directive(&j->now, f.text[i + 1 + bare], bare, text, sizeof text)) {
            jinja_put(j, &b, text, strlen(text));
            i += 1 + (size_t)bare;
        } else {
            jinja_put(j, &b, "%", 1); /* stays as it is */
        }
    }
    return jinja_buffer_value(&b);
}
