# SPDX-License-Identifier: BSD-3-Clause
# The report's page, built by npm and embedded in the program; see cmake/BuildReport.cmake.
option(ICTUS_REPORT "Build the web page of ictus report, where node and npm are" ON)
set(ICTUS_NPM "")
if(ICTUS_REPORT)
  find_program(ICTUS_NODE_PROGRAM NAMES node nodejs)
  find_program(ICTUS_NPM_PROGRAM NAMES npm)
  mark_as_advanced(ICTUS_NODE_PROGRAM ICTUS_NPM_PROGRAM)
  if(ICTUS_NODE_PROGRAM AND ICTUS_NPM_PROGRAM)
    set(ICTUS_NPM ${ICTUS_NPM_PROGRAM})
  endif()
endif()

# ictus_embed_report(TARGET): adds report_template.c to it.
function(ictus_embed_report target)
  set(source ${PROJECT_SOURCE_DIR}/report)
  set(dir ${PROJECT_BINARY_DIR}/report)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${source}/src/*)
  list(APPEND sources ${source}/index.html ${source}/package.json ${source}/package-lock.json
    ${source}/vite.config.js ${PROJECT_SOURCE_DIR}/cmake/BuildReport.cmake)
  add_custom_command(OUTPUT ${dir}/template.html ${dir}/why.txt
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DOUT=${dir}/template.html -DNPM=${ICTUS_NPM}
      -P ${PROJECT_SOURCE_DIR}/cmake/BuildReport.cmake
    DEPENDS ${sources} COMMENT "Building the report's page" VERBATIM)
  add_custom_command(OUTPUT ${dir}/report_template.c
    COMMAND ${CMAKE_COMMAND} -DIN=${dir}/template.html -DWHY=${dir}/why.txt -DOUT=${dir}/report_template.c
      -DNAME=report_template -DHEADER=results/report_template.h -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake
    DEPENDS ${dir}/template.html ${dir}/why.txt ${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake VERBATIM)
  target_sources(${target} PRIVATE ${dir}/report_template.c)
endfunction()
