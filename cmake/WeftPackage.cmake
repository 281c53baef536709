# libweft.so and libweft.a out of the layers, and what `cmake --install` puts in place.
set(objects)
foreach(layer IN LISTS WEFT_LAYERS)
  list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()
set(libraries PkgConfig::JANSSON PkgConfig::PCRE2 PkgConfig::UTF8PROC Threads::Threads m)
if(OPENBLAS_FOUND)
  list(APPEND libraries PkgConfig::OPENBLAS)
endif()

add_library(weft SHARED ${objects})
set_target_properties(weft PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINKER_LANGUAGE C)
add_library(weft_static STATIC ${objects})
set_target_properties(weft_static PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE C)
foreach(target weft weft_static)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE weft_flags ${libraries})
endforeach()
