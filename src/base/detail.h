/* Failing: every error path of the library ends in weft_fail, which records the thread's detail. */
#ifndef WEFT_BASE_DETAIL_H
#define WEFT_BASE_DETAIL_H

#include <weft/status.h>

/* Sets the calling thread's detail (control characters and invalid UTF-8 become '?', cut at 1,000
 * bytes) and returns `status`, so that `return weft_fail(WEFT_E_IO, "%s: …", path)` is the idiom.
 */
__attribute__((format(printf, 2, 3))) weft_status weft_fail(weft_status status, const char *format,
                                                            ...);

/* Puts "context: " in front of the current detail and returns `status`; for callers that know the
 * file or argument that the callee could not name. */
__attribute__((format(printf, 2, 3))) weft_status weft_fail_in(weft_status status,
                                                               const char *format, ...);
#endif
