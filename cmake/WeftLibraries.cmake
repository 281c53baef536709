# The libraries that weft stands on; a missing one is one clear line.
find_package(PkgConfig REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(weft_library NAME PC PACKAGE)
  pkg_check_modules(${NAME} IMPORTED_TARGET ${PC})
  if(NOT ${NAME}_FOUND)
    message(FATAL_ERROR "weft needs ${PC}: install the Debian package ${PACKAGE}")
  endif()
endfunction()

weft_library(JANSSON jansson libjansson-dev)
weft_library(PCRE2 libpcre2-8 libpcre2-dev)
weft_library(UTF8PROC libutf8proc libutf8proc-dev)

if(WEFT_OPENBLAS)
  pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
  if(NOT OPENBLAS_FOUND)
    message(STATUS "OpenBLAS not found (libopenblas-dev): weft's own float kernels serve")
  endif()
endif()
