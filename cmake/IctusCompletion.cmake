# SPDX-License-Identifier: BSD-3-Clause
# The shell completion is written by the program itself, from its tables.
if(NOT CMAKE_CROSSCOMPILING)
  set(completion ${PROJECT_BINARY_DIR}/completion/ictus)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completion)
  add_custom_command(OUTPUT ${completion} COMMAND ictus --completion > ${completion} DEPENDS ictus)
  add_custom_target(completion ALL DEPENDS ${completion})
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
