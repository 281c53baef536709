/* Status codes of every weft call that can fail, and the sentence that explains the last failure.
 *
 * The library never aborts, exits, prints or installs a signal handler: it returns one of these.
 * Thread safety: all functions here may be called from any thread at any time. */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WEFT_API __attribute__((visibility("default")))
#else
#define WEFT_API
#endif

/* X(code, sentence). The order is part of the ABI: new codes go to the end. */
#define WEFT_STATUSES(X)                                                                           \
    X(OK, "no error")                                                                              \
    X(E_NULL, "a required argument is NULL")                                                       \
    X(E_MEMORY, "out of memory")                                                                   \
    X(E_ARGUMENT, "an argument has a value that is not allowed")                                   \
    X(E_SHAPE, "shapes do not fit")                                                                \
    X(E_DTYPE, "the data type is not allowed here")                                                \
    X(E_RANGE, "an index, axis or range is out of bounds")                                         \
    X(E_OVERFLOW, "a size does not fit into the machine's integers")                               \
    X(E_NOT_CONTIGUOUS, "the tensor is not contiguous")                                            \
    X(E_NOT_A_VIEW, "the result cannot be a view of the same storage")                             \
    X(E_SAME_STORAGE, "source and destination share their storage")                                \
    X(E_IMMUTABLE, "the storage is immutable")                                                     \
    X(E_NOT_A_LEAF, "the tensor is not a variable")                                                \
    X(E_REENTRANT, "the call would wait for a lock that its own thread holds")                     \
    X(E_RETAINED, "a tensor of the scope is still in use outside of it")                           \
    X(E_LAYOUT, "the storage's layout does not allow this view or op")                             \
    X(E_EMPTY, "the reduced extent is empty")                                                      \
    X(E_DIVISION, "integer division by zero")                                                      \
    X(E_FORKED, "the engine belongs to the parent process")                                        \
    X(E_IO, "reading or writing failed")                                                           \
    X(E_NOT_FOUND, "no such file, tensor or key")                                                  \
    X(E_FORMAT, "the file is damaged or not what it claims to be")                                 \
    X(E_UNSUPPORTED, "not supported by this version")                                              \
    X(E_CACHE_FULL, "the context is full")                                                         \
    X(E_CANCELLED, "cancelled")                                                                    \
    X(E_BUSY, "the object is in use by another thread")                                            \
    X(E_NO_CANDIDATES, "no token can be chosen")

typedef enum weft_status {
#define WEFT_STATUS_ENUM(code, sentence) WEFT_##code,
    WEFT_STATUSES(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
        WEFT_STATUS_COUNT
} weft_status;

/* "WEFT_E_SHAPE"; "WEFT_E_UNKNOWN" for a value outside the enum. Never NULL, static memory. */
WEFT_API const char *weft_status_name(weft_status status);

/* The sentence of the table above. Never NULL, static memory. */
WEFT_API const char *weft_status_text(weft_status status);

/* What exactly failed in the last failing call of this thread: argument, shapes, file, offset. One
 * line without control characters. Never NULL; "" when nothing failed yet. Valid until the next
 * failing call on this thread. */
WEFT_API const char *weft_detail(void);

#ifdef __cplusplus
}
#endif
#endif
