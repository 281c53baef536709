# What times kernels and measures the machine's limits; one file a variant, as for the kernels.
list(APPEND WEFT_KERNEL_SOURCES
  kernels/limits.c
  kernels/time_attention.c
  kernels/time_elements.c
  kernels/time_kernels.c
  kernels/time_products.c
  kernels/ref/limits_scalar.c)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  weft_kernel_files(avx2 kernels/x86/limits_avx2.c)
  weft_kernel_files(avxvnni kernels/x86/limits_avxvnni.c)
  weft_kernel_files(avx512 kernels/x86/limits_avx512.c)
  weft_kernel_files(vnni kernels/x86/limits_vnni.c)
  weft_kernel_files(bf16 kernels/x86/limits_bf16.c)
  weft_kernel_files(amx kernels/x86/limits_amx.c)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  weft_kernel_files(neon kernels/arm/limits_neon.c)
  weft_kernel_files(dotprod kernels/arm/limits_dotprod.c)
  weft_kernel_files(i8mm kernels/arm/limits_i8mm.c)
endif()
