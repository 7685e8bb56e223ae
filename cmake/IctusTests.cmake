# SPDX-License-Identifier: BSD-3-Clause
# How tests are declared. Unit and MPI tests link the static library, which also holds what the
# shared one hides.
set(ICTUS_TEST_SKIPPED 77)
# Where several builds are tested at once, what no MPI library changes is tested in one of them.
option(ICTUS_TEST_ONCE "Also the tests that no MPI library changes: units, lints, simulations, the report, the network clock" ON)
option(ICTUS_TEST_LONG "Also the tests that take minutes: scripts/check-long" OFF)
set(ICTUS_TEST_PREFIX "" CACHE STRING "Put before the name of each test, where several builds are tested at once")
set(ICTUS_TEST_RANKS "" CACHE STRING "Only these numbers of ranks in MPI tests; empty: as declared")
# Open MPI 4 looks 0.2 s for InfiniPath networks in each MPI_Init, and a program without a launcher starts a daemon of its own
# (0.3 s). Tests start some thousand programs on one machine, which needs neither.
set(environment "")
if(ICTUS_MPI_FLAVOUR STREQUAL openmpi)
  set(environment OMPI_MCA_pml=ob1 OMPI_MCA_ess_singleton_isolated=1)
endif()
set(ICTUS_TEST_ENVIRONMENT "${environment}" CACHE STRING "Environment of each test, as NAME=VALUE;...")

# What the tests of C programs run, and nothing else: where no command is tested, none need be built.
if(NOT TARGET test_programs)
  add_custom_target(test_programs)
endif()

# ictus_unit_test(NAME [LIBRARY...]): tests/unit/test_NAME.c, run without MPI's launcher: once, and once more
# with each sanitizer.
function(ictus_unit_test name)
  set(wanted TRUE)
  if(NOT ICTUS_TEST_ONCE AND NOT ICTUS_SANITIZE)
    set(wanted FALSE)
  endif()
  add_executable(test_${name} unit/test_${name}.c)
  if(NOT wanted)
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(test_${name} PRIVATE CHECK_CLOSED_INPUT)
  target_link_libraries(test_${name} PRIVATE ictus_static ${ARGN} m)
  if(NOT wanted)
    return()
  endif()
  add_dependencies(test_programs test_${name})
  set(label ${ICTUS_TEST_PREFIX}unit.${name})
  add_test(NAME ${label} COMMAND test_${name})
  set(leaks "")
  if(ICTUS_SANITIZE)
    set(leaks ";LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/sanitizers/lsan.supp:print_suppressions=0")
  endif()
  set_tests_properties(${label} PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT "${ICTUS_TEST_ENVIRONMENT}${leaks}")
endfunction()

# The linker says nothing of --wrap for a name that nobody has, such as that of a function that was renamed; GNU ld can be told to.
include(CheckLinkerFlag)
check_linker_flag(C LINKER:--require-defined=main ICTUS_LINKER_REQUIRES)

# ictus_wrap_flags(RESULT NAME...): what makes calls of these functions calls of the test's own __wrap_NAME.
function(ictus_wrap_flags result)
  set(flags "")
  if(ICTUS_LINKER_REQUIRES) # a library of which all functions are replaced would be left out, and their names with it
    set(flags -Wl,--no-as-needed)
  endif()
  foreach(name IN LISTS ARGN)
    list(APPEND flags -Wl,--wrap=${name})
    if(ICTUS_LINKER_REQUIRES)
      list(APPEND flags -Wl,--require-defined=${name})
    endif()
  endforeach()
  set(${result} ${flags} PARENT_SCOPE)
endfunction()

# ictus_wrap(TARGET NAME...)
function(ictus_wrap target)
  ictus_wrap_flags(flags ${ARGN})
  target_link_options(${target} PRIVATE ${flags})
endfunction()

# How much of what runs at a time a test of n processes counts as: most processes of a large job wait for each other.
function(ictus_count_slots result n)
  if(n GREATER 4)
    set(n 4)
  endif()
  set(${result} ${n} PARENT_SCOPE)
endfunction()

# ictus_mpi_test(NAME RANKS 1 2 3 4 5 7 [ARGS ...] [SOURCES ...] [LIBRARIES ...] [TIMEOUT s]
#                [COST s] [SUFFIX text]): tests/mpi/test_NAME.c, one test mpi.NAME[.SUFFIX].npN a number of ranks.
# Use tests/mpi/check_mpi.h. A second call with another SUFFIX runs the same program again.
function(ictus_mpi_test name)
  cmake_parse_arguments(T "" "TIMEOUT;COST;SUFFIX" "RANKS;ARGS;SOURCES;LIBRARIES" ${ARGN})
  if(NOT TARGET mpi_${name})
    add_executable(mpi_${name} mpi/test_${name}.c ${T_SOURCES})
    target_include_directories(mpi_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(mpi_${name} PRIVATE ictus_static ${T_LIBRARIES} m)
    add_dependencies(test_programs mpi_${name})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 900)
  endif()
  set(label ${ICTUS_TEST_PREFIX}mpi.${name})
  if(T_SUFFIX)
    string(APPEND label .${T_SUFFIX})
  endif()
  math(EXPR inner "${T_TIMEOUT} - 5")
  foreach(n IN LISTS T_RANKS)
    if(ICTUS_TEST_RANKS AND NOT n IN_LIST ICTUS_TEST_RANKS)
      continue()
    endif()
    add_test(NAME ${label}.np${n} COMMAND ${ICTUS_LAUNCH} ${n} $<TARGET_FILE:mpi_${name}> ${T_ARGS})
    ictus_count_slots(slots ${n})
    set_tests_properties(${label}.np${n} PROPERTIES LABELS mpi PROCESSORS ${slots} TIMEOUT ${T_TIMEOUT}
      SKIP_RETURN_CODE ${ICTUS_TEST_SKIPPED} ENVIRONMENT "${ICTUS_TEST_ENVIRONMENT};ICTUS_LAUNCH_TIMEOUT=${inner}")
    if(T_COST)
      set_tests_properties(${label}.np${n} PROPERTIES COST ${T_COST})
    endif()
  endforeach()
endfunction()

# ictus_script_test(NAME LABEL label COMMAND ... [PROCESSORS n] [TIMEOUT s] [COST s]): any other program;
# exit code 77 skips. The limit (900 s) ends what hangs, however busy the machine is; it judges no speed. What has a cost starts first: long ones that leave a core to others. It finds the build in ICTUS, LAUNCH, BUILD, SOURCE and FLAVOUR.
function(ictus_script_test name)
  cmake_parse_arguments(T "" "TIMEOUT;PROCESSORS;COST" "LABEL;COMMAND" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 900)
  endif()
  if(NOT T_PROCESSORS)
    set(T_PROCESSORS 1)
  endif()
  ictus_count_slots(slots ${T_PROCESSORS})
  set(label ${ICTUS_TEST_PREFIX}${name})
  add_test(NAME ${label} COMMAND ${T_COMMAND})
  set_tests_properties(${label} PROPERTIES LABELS "${T_LABEL}" PROCESSORS ${slots}
    TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE ${ICTUS_TEST_SKIPPED}
    ENVIRONMENT "${ICTUS_TEST_ENVIRONMENT};ICTUS=$<TARGET_FILE:ictus>;LAUNCH=${ICTUS_LAUNCH};BUILD=${PROJECT_BINARY_DIR};SOURCE=${PROJECT_SOURCE_DIR};FLAVOUR=${ICTUS_MPI_FLAVOUR};ICTUS_LAUNCH_TIMEOUT=${T_TIMEOUT}")
  if(T_COST)
    set_tests_properties(${label} PROPERTIES COST ${T_COST})
  endif()
endfunction()

# Every directory tests/cli/NAME with a file cmd is a test cli.NAME; see tests/cli/run.
function(ictus_cli_tests)
  file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*/cmd)
  foreach(command IN LISTS commands)
    get_filename_component(directory ${command} DIRECTORY)
    get_filename_component(name ${directory} NAME)
    file(STRINGS ${command} once REGEX "^# once$")
    if(once AND NOT ICTUS_TEST_ONCE)
      continue()
    endif()
    file(STRINGS ${command} ranks REGEX "^# processors: [0-9]+")
    string(REGEX REPLACE "[^0-9]" "" ranks "0${ranks}")
    if(ranks EQUAL 0)
      set(ranks 1)
    endif()
    ictus_script_test(cli.${name} LABEL cli PROCESSORS ${ranks}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/run ${directory})
  endforeach()
endfunction()
