# libweft.so and libweft.a out of the layers, and what `cmake --install` puts in place: libraries,
# headers, a pkg-config file and a CMake package, all found relative to where they lie.
include(CMakePackageConfigHelpers)

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
if(NOT WEFT_SANITIZE)
  target_link_options(weft PRIVATE -Wl,-z,defs -Wl,--exclude-libs,ALL)
endif()
add_library(weft_static STATIC ${objects})
set_target_properties(weft_static PROPERTIES OUTPUT_NAME weft LINKER_LANGUAGE C)
foreach(target weft weft_static)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weft_flags> ${libraries})
endforeach()
add_library(weft::weft ALIAS weft)
add_library(weft::weft_static ALIAS weft_static)

install(TARGETS weft weft_static EXPORT weftTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- pkg-config ----
# OpenBLAS stands in Libs.private, without what its own file asks of static programs: it is linked
# as a shared library, whose own needs are its own.
set(WEFT_PC_REQUIRES "jansson, libpcre2-8, libutf8proc")
set(WEFT_PC_LIBS "-pthread -lm")
if(OPENBLAS_FOUND)
  list(JOIN OPENBLAS_LDFLAGS " " openblas_flags)
  set(WEFT_PC_LIBS "${openblas_flags} ${WEFT_PC_LIBS}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(WEFT_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(WEFT_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(WEFT_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(WEFT_PC_PREFIX "\${pcfiledir}/${up}")
  set(WEFT_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(WEFT_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- CMake package ----
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
set(WEFT_CONFIG_OPENBLAS "")
if(OPENBLAS_FOUND)
  set(WEFT_CONFIG_OPENBLAS OPENBLAS:openblas)
endif()
configure_package_config_file(cmake/weftConfig.cmake.in weftConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(weftConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  DESTINATION ${package})
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${package})
