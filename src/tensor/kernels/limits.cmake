# What times kernels and measures the machine's limits; one file a variant, as for the kernels.
list(APPEND WEFT_KERNEL_SOURCES
  kernels/limits.c
  kernels/time_kernels.c
  kernels/ref/limits_scalar.c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND WEFT_KERNEL_SOURCES
    kernels/x86/limits_avx2.c
    kernels/x86/limits_avx512.c
    kernels/x86/limits_bf16.c)
  set_source_files_properties(kernels/x86/limits_avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(kernels/x86/limits_avx512.c PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512vnni")
  set_source_files_properties(kernels/x86/limits_bf16.c PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512vl;-mavx512bf16")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND WEFT_KERNEL_SOURCES kernels/arm/limits_neon.c)
endif()
