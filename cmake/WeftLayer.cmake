# weft_layer(NAME [USES layer…] [LIBRARIES target…] SOURCES file…)
#
# One static target weft_NAME per folder of src/. A layer sees its own headers and those of the
# layers it USES, spelled "layer/file.h", and no others: each layer has an include root of its own
# that holds one link, so that including a layer that was not named does not compile.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

add_library(weft_flags INTERFACE)
target_compile_definitions(weft_flags INTERFACE _GNU_SOURCE)
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(WEFT_WERROR)
  target_compile_options(weft_flags INTERFACE -Werror)
endif()
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()

set(WEFT_LAYERS "" CACHE INTERNAL "targets of the layers in dependency order")

function(weft_layer NAME)
  cmake_parse_arguments(L "" "" "USES;LIBRARIES;SOURCES" ${ARGN})
  set(target weft_${NAME})
  set(root ${PROJECT_BINARY_DIR}/include_roots/${NAME})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${NAME} SYMBOLIC)
  add_library(${target} STATIC ${L_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${root})
  list(TRANSFORM L_USES PREPEND weft_)
  # The headers of a library are for the layer that names it alone; linking follows by itself.
  target_link_libraries(${target} PRIVATE weft_flags ${L_LIBRARIES} PUBLIC ${L_USES})
  set(WEFT_LAYERS ${WEFT_LAYERS} ${target} CACHE INTERNAL "")
endfunction()
