! SPDX-License-Identifier: BSD-3-Clause
! mpif.h callers: the same through external procedures.
program test_mpif
    implicit none
    include 'mpif.h'
    integer(8) :: clock, before, ictus_clock_now
    external :: MPIX_Harmonize, ictus_clock_create, ictus_clock_now, ictus_clock_free
    logical :: flag, found
    integer :: err, i
    integer(MPI_ADDRESS_KIND) :: is_global
    double precision :: t0
    character(8) :: wanted
    call MPI_INIT(err)
    do i = 1, 20
        call MPIX_Harmonize(MPI_COMM_WORLD, flag, err)
        if (err /= MPI_SUCCESS) error stop 2
    end do
    call ictus_clock_create(MPI_COMM_WORLD, ' ', clock, err)
    if (err /= 0) error stop 5
    before = ictus_clock_now(clock)
    if (ictus_clock_now(clock) < before) error stop 6
    call ictus_clock_free(clock)
    t0 = MPI_WTIME()
    call MPI_BARRIER(MPI_COMM_WORLD, err)
    if (MPI_WTIME() < t0) error stop 7
    call get_environment_variable('WANT_GLOBAL', wanted)
    call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, is_global, found, err)
    if (wanted == 'yes' .and. (.not. found .or. is_global /= 1)) error stop 8
    call MPI_FINALIZE(err)
end program
