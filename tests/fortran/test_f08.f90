! SPDX-License-Identifier: BSD-3-Clause
! mpi_f08 callers: harmonised starts, the clock, and what the preloaded libraries make of MPI's own.
program test_f08
    use, intrinsic :: iso_c_binding, only: c_int64_t
    use mpi_f08
    use ictus_f08
    implicit none
    type(ictus_clock) :: clock
    type(MPI_Comm) :: half
    logical :: flag, found
    integer :: rank, err, i
    integer(c_int64_t) :: before, now
    integer(MPI_ADDRESS_KIND) :: is_global
    double precision :: t0, t1
    character(8) :: wanted
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
    do i = 1, 20
        call MPIX_Harmonize(MPI_COMM_WORLD, flag, err)
        if (err /= MPI_SUCCESS) error stop 2
        call MPIX_Harmonize(half, flag)
    end do
    call MPIX_Harmonize(MPI_COMM_NULL, flag, err)
    if (err /= MPI_ERR_COMM) error stop 3
    call ictus_harmonize_configure(half, 'harmonize:late=7', '', err)
    if (err == 0) error stop 4
    call ictus_clock_create(MPI_COMM_WORLD, ' ', clock, err)
    if (err /= 0) error stop 5
    before = ictus_clock_now(clock)
    call ictus_clock_resync(clock, err)
    now = ictus_clock_now(clock)
    if (err /= 0 .or. now - before > 60000000000_c_int64_t .or. ictus_clock_sigma(clock) < 0) error stop 6
    call ictus_clock_free(clock)
    t0 = MPI_Wtime()
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Barrier(half)
    t1 = MPI_Wtime()
    if (t1 < t0) error stop 7
    call get_environment_variable('WANT_GLOBAL', wanted)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, is_global, found)
    if (wanted == 'yes' .and. (.not. found .or. is_global /= 1)) error stop 8
    call MPI_Comm_free(half)
    call MPI_Finalize()
end program
