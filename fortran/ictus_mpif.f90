! SPDX-License-Identifier: BSD-3-Clause
! External procedures for callers of mpif.h and `use mpi`, whose handles are integers. A clock is an
! INTEGER*8 (kind c_intptr_t).
subroutine MPIX_Harmonize(comm, flag, ierror)
    use ictus_f08, only: start => MPIX_Harmonize
    use mpi_f08, only: MPI_Comm
    implicit none
    integer, intent(in) :: comm
    logical, intent(out) :: flag
    integer, intent(out) :: ierror
    type(MPI_Comm) :: handle
    handle%MPI_VAL = comm
    call start(handle, flag, ierror)
end subroutine

subroutine ictus_clock_create(comm, spec, clock, ierror)
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_intptr_t, c_null_char, c_ptr
    implicit none
    integer, intent(in) :: comm
    character(*), intent(in) :: spec
    integer(c_intptr_t), intent(out) :: clock
    integer, intent(out) :: ierror
    type(c_ptr) :: handle
    interface
        function c_create(comm, spec, clock) bind(C, name='ictusf_clock_create') result(err)
            import :: c_char, c_int, c_ptr
            integer, value :: comm
            character(kind=c_char) :: spec(*)
            type(c_ptr) :: clock
            integer(c_int) :: err
        end function
    end interface
    ierror = c_create(comm, trim(spec)//c_null_char, handle)
    clock = transfer(handle, clock)
end subroutine

function ictus_clock_now(clock) result(ns)
    use, intrinsic :: iso_c_binding, only: c_int64_t, c_intptr_t, c_ptr, c_null_ptr
    implicit none
    integer(c_intptr_t), intent(in) :: clock
    integer(c_int64_t) :: ns
    interface
        function c_now(clock) bind(C, name='ictusf_clock_now') result(ns)
            import :: c_int64_t, c_ptr
            type(c_ptr), value :: clock
            integer(c_int64_t) :: ns
        end function
    end interface
    ns = c_now(transfer(clock, c_null_ptr))
end function

subroutine ictus_clock_free(clock)
    use, intrinsic :: iso_c_binding, only: c_intptr_t, c_ptr, c_null_ptr
    implicit none
    integer(c_intptr_t), intent(inout) :: clock
    interface
        subroutine c_free(clock) bind(C, name='ictusf_clock_free')
            import :: c_ptr
            type(c_ptr), value :: clock
        end subroutine
    end interface
    call c_free(transfer(clock, c_null_ptr))
    clock = 0
end subroutine
