! SPDX-License-Identifier: BSD-3-Clause
! Harmonised starts and the global clock for mpi_f08 callers; the C headers say what each does.
module ictus_f08
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_null_char, c_null_ptr, c_ptr
    use mpi_f08, only: MPI_Comm
    implicit none
    private
    public :: MPIX_Harmonize, ictus_harmonize_configure
    public :: ictus_clock_create, ictus_clock_now, ictus_clock_sigma, ictus_clock_resync, ictus_clock_free

    type, public :: ictus_clock
        private
        type(c_ptr) :: handle = c_null_ptr
    end type

    interface
        function c_harmonize(comm, flag) bind(C, name='ictusf_harmonize') result(err)
            import :: c_int
            integer, value :: comm
            integer(c_int) :: flag, err
        end function
        function c_configure(comm, spec, clock) bind(C, name='ictusf_configure') result(err)
            import :: c_char, c_int
            integer, value :: comm
            character(kind=c_char) :: spec(*), clock(*)
            integer(c_int) :: err
        end function
        function c_create(comm, spec, clock) bind(C, name='ictusf_clock_create') result(err)
            import :: c_char, c_int, c_ptr
            integer, value :: comm
            character(kind=c_char) :: spec(*)
            type(c_ptr) :: clock
            integer(c_int) :: err
        end function
        function c_resync(clock) bind(C, name='ictusf_clock_resync') result(err)
            import :: c_int, c_ptr
            type(c_ptr), value :: clock
            integer(c_int) :: err
        end function
        function c_now(clock) bind(C, name='ictusf_clock_now') result(ns)
            import :: c_int64_t, c_ptr
            type(c_ptr), value :: clock
            integer(c_int64_t) :: ns
        end function
        function c_sigma(clock) bind(C, name='ictusf_clock_sigma') result(ns)
            import :: c_double, c_ptr
            type(c_ptr), value :: clock
            real(c_double) :: ns
        end function
        subroutine c_free(clock) bind(C, name='ictusf_clock_free')
            import :: c_ptr
            type(c_ptr), value :: clock
        end subroutine
    end interface

contains

    ! Start together; flag: whether this process left within the tolerance of the common instant.
    subroutine MPIX_Harmonize(comm, flag, ierror)
        type(MPI_Comm), intent(in) :: comm
        logical, intent(out) :: flag
        integer, optional, intent(out) :: ierror
        integer(c_int) :: started, err
        started = 0
        err = c_harmonize(comm%MPI_VAL, started)
        flag = started /= 0
        if (present(ierror)) ierror = err
    end subroutine

    ! spec and clock as in ictus/harmonize.h; blank texts take the defaults. ierror: ictus/error.h.
    subroutine ictus_harmonize_configure(comm, spec, clock, ierror)
        type(MPI_Comm), intent(in) :: comm
        character(*), intent(in) :: spec, clock
        integer, optional, intent(out) :: ierror
        integer(c_int) :: err
        err = c_configure(comm%MPI_VAL, trim(spec)//c_null_char, trim(clock)//c_null_char)
        if (present(ierror)) ierror = err
    end subroutine

    subroutine ictus_clock_create(comm, spec, clock, ierror)
        type(MPI_Comm), intent(in) :: comm
        character(*), intent(in) :: spec
        type(ictus_clock), intent(out) :: clock
        integer, optional, intent(out) :: ierror
        integer(c_int) :: err
        err = c_create(comm%MPI_VAL, trim(spec)//c_null_char, clock%handle)
        if (present(ierror)) ierror = err
    end subroutine

    ! The instant on the global clock, in nanoseconds.
    function ictus_clock_now(clock) result(ns)
        type(ictus_clock), intent(in) :: clock
        integer(c_int64_t) :: ns
        ns = c_now(clock%handle)
    end function

    ! The standard deviation of its error now, in nanoseconds.
    function ictus_clock_sigma(clock) result(ns)
        type(ictus_clock), intent(in) :: clock
        real(c_double) :: ns
        ns = c_sigma(clock%handle)
    end function

    subroutine ictus_clock_resync(clock, ierror)
        type(ictus_clock), intent(in) :: clock
        integer, optional, intent(out) :: ierror
        integer(c_int) :: err
        err = c_resync(clock%handle)
        if (present(ierror)) ierror = err
    end subroutine

    subroutine ictus_clock_free(clock)
        type(ictus_clock), intent(inout) :: clock
        call c_free(clock%handle)
        clock%handle = c_null_ptr
    end subroutine
end module
