# SPDX-License-Identifier: BSD-3-Clause
# A room of the house: one directory under src/, one object library. Rooms make up the libraries.
#   ictus_room(core SOURCES a.c b.c LINK PkgConfig::X)
function(ictus_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  add_library(ictus_${name} OBJECT ${ROOM_SOURCES})
  target_include_directories(ictus_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(ictus_${name} PUBLIC ${ROOM_LINK})
endfunction()
