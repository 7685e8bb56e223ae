# SPDX-License-Identifier: BSD-3-Clause
# libictus-otf2: the rooms that need OTF2, one a line. Optional: ICTUS_WITH_OTF2.
set(ICTUS_OTF2_ROOMS
  causality
  archive
  tracer
  trace
  correct
  view
  waits
)
find_program(OTF2_CONFIG otf2-config)
find_package(Python3 COMPONENTS Interpreter)
if(OTF2_CONFIG AND Python3_FOUND)
  set(otf2_found ON)
else()
  set(otf2_found OFF)
endif()
option(ICTUS_WITH_OTF2 "Traces: libictus-otf2 and the commands that use it" ${otf2_found})
if(NOT ICTUS_WITH_OTF2)
  return()
endif()
if(NOT otf2_found)
  message(FATAL_ERROR "ICTUS_WITH_OTF2 needs otf2-config (libotf2-trace-dev) and python3")
endif()
execute_process(COMMAND ${OTF2_CONFIG} --cppflags OUTPUT_VARIABLE otf2_cppflags OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${OTF2_CONFIG} --ldflags OUTPUT_VARIABLE otf2_ldflags OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX MATCHALL "-I[^ ]+" otf2_includes "${otf2_cppflags}")
string(REGEX MATCHALL "-L[^ ]+" otf2_paths "${otf2_ldflags}")
string(REPLACE "-I" "" otf2_includes "${otf2_includes}")
string(REPLACE "-L" "" otf2_paths "${otf2_paths}")
find_path(OTF2_INCLUDE_DIR otf2/otf2.h HINTS ${otf2_includes} REQUIRED)
find_library(OTF2_LIBRARY NAMES otf2 HINTS ${otf2_paths} REQUIRED)
add_library(ictus_otf2 INTERFACE)
target_include_directories(ictus_otf2 SYSTEM INTERFACE ${OTF2_INCLUDE_DIR})
target_link_libraries(ictus_otf2 INTERFACE ${OTF2_LIBRARY})

set(otf2_objects "")
foreach(room IN LISTS ICTUS_OTF2_ROOMS)
  add_subdirectory(${room})
  list(APPEND otf2_objects $<TARGET_OBJECTS:ictus_${room}>)
endforeach()
set(map ${CMAKE_CURRENT_SOURCE_DIR}/libictus-otf2.map)
# What libictus hides and these rooms use is compiled in; the static library takes it from libictus.a.
add_library(ictus_otf2_shared SHARED ${otf2_objects} arrival/pattern.c core/bounds.c core/collective_op.c core/envelope.c core/idmap.c core/laplacian.c core/operands.c core/random.c core/smoother.c core/spec.c core/stats.c core/utf8.c)
target_include_directories(ictus_otf2_shared PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(ictus_otf2_shared PUBLIC ictus_shared)
add_library(ictus_otf2_static STATIC ${otf2_objects})
target_link_libraries(ictus_otf2_static PUBLIC ictus_static)
foreach(kind shared static)
  set_target_properties(ictus_otf2_${kind} PROPERTIES OUTPUT_NAME ictus-otf2 EXPORT_NAME otf2
    VERSION ${ICTUS_ABI_VERSION} SOVERSION ${ICTUS_ABI_MAJOR})
  target_link_libraries(ictus_otf2_${kind} PUBLIC MPI::MPI_C PRIVATE ictus_otf2 PkgConfig::JANSSON m)
endforeach()
set_target_properties(ictus_otf2_shared PROPERTIES LINK_DEPENDS ${map})
target_link_options(ictus_otf2_shared PRIVATE -Wl,--version-script=${map} -Wl,--no-undefined-version)
install(TARGETS ictus_otf2_shared EXPORT ictus-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ictus_otf2_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
