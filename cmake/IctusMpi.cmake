# SPDX-License-Identifier: BSD-3-Clause
# MPI, its launcher and its flavour. Debian installs several MPIs side by side, as mpicc.NAME and
# mpiexec.NAME; FindMPI alone would pair mpicc.mpich with Open MPI's mpiexec.
get_filename_component(compiler_name "${MPI_C_COMPILER}" NAME)
if(compiler_name MATCHES "^mpicc(\\..+)$" AND NOT MPIEXEC_EXECUTABLE)
  find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${CMAKE_MATCH_1} mpirun${CMAKE_MATCH_1})
endif()
find_package(MPI REQUIRED COMPONENTS C)
# Its full path, for those who build on an installed copy.
find_program(ICTUS_MPICC NAMES ${MPI_C_COMPILER})

include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h ICTUS_HAVE_OPEN_MPI)
check_symbol_exists(MPICH_VERSION mpi.h ICTUS_HAVE_MPICH)
unset(CMAKE_REQUIRED_LIBRARIES)
if(ICTUS_HAVE_OPEN_MPI)
  set(ICTUS_MPI_FLAVOUR openmpi)
  set(ICTUS_MPI_MARK OPEN_MPI)
elseif(ICTUS_HAVE_MPICH)
  set(ICTUS_MPI_FLAVOUR mpich)
  set(ICTUS_MPI_MARK MPICH_VERSION)
else()
  set(ICTUS_MPI_FLAVOUR other)
endif()

# build/launch starts MPI programs anywhere: as root, in a container, with fewer cores than ranks.
set(ICTUS_LAUNCH ${PROJECT_BINARY_DIR}/launch)
configure_file(${PROJECT_SOURCE_DIR}/cmake/launch.in ${ICTUS_LAUNCH} @ONLY
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
