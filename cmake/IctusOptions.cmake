# SPDX-License-Identifier: BSD-3-Clause
# Language, warnings and sanitizers: the same for every target.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wundef)

option(ICTUS_WERROR "Treat warnings as errors" OFF)
if(ICTUS_WERROR)
  add_compile_options(-Werror)
endif()

set(ICTUS_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")
if(ICTUS_SANITIZE)
  add_compile_options(-fsanitize=${ICTUS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${ICTUS_SANITIZE})
endif()

if(PROJECT_SOURCE_DIR STREQUAL PROJECT_BINARY_DIR)
  message(FATAL_ERROR "Build outside the source: cmake -S . -B build")
endif()
