/* The libraries compiled in, by the versions that the build found. */
#include <weft/engine.h>

#ifdef WEFT_OPENBLAS_VERSION
#define BLAS "OpenBLAS " WEFT_OPENBLAS_VERSION ", "
#else
#define BLAS ""
#endif

const char *weft_libraries(void) {
    return BLAS "PCRE2 " WEFT_PCRE2_VERSION ", Jansson " WEFT_JANSSON_VERSION
                ", utf8proc " WEFT_UTF8PROC_VERSION;
}
