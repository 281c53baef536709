/* Recording the first error of a run. */
#ifndef WEFT_TEXT_JINJA_ERROR_H
#define WEFT_TEXT_JINJA_ERROR_H

#include "text/jinja/jinja.h"

/* Sets *error unless it is set; gives false. */
__attribute__((format(printf, 5, 6))) bool jinja_set_error(jinja_error *error,
                                                           jinja_error_kind kind, uint32_t line,
                                                           uint32_t column, const char *format,
                                                           ...);
#endif
