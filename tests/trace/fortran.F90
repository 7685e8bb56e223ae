! SPDX-License-Identifier: BSD-3-Clause
! A ring from Fortran, with each of MPI's three interfaces (BINDING: 0 mpif.h, 90 mpi, 2008 mpi_f08): what a trace must
! hold is printed like basic.c does.
program ring
#if BINDING == 2008
  use mpi_f08
#elif BINDING == 90
  use mpi
#endif
  implicit none
#if BINDING == 0
  include 'mpif.h'
#endif
  integer :: rank, ranks, err, i, value, other
#if BINDING == 2008
  type(MPI_Request) :: request(2)
  type(MPI_Status) :: statuses(2)
#else
  integer :: request(2), statuses(MPI_STATUS_SIZE, 2)
#endif
  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, err)
  do i = 1, 20
    value = i
    call MPI_Irecv(other, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), i, MPI_COMM_WORLD, request(1), err)
    call MPI_Isend(value, 1, MPI_INTEGER, mod(rank + 1, ranks), i, MPI_COMM_WORLD, request(2), err)
    if (mod(i, 2) == 0) then
      call MPI_Waitall(2, request, statuses, err)
    else
      call MPI_Wait(request(1), MPI_STATUS_IGNORE, err)
      call MPI_Wait(request(2), MPI_STATUS_IGNORE, err)
    end if
    call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
  end do
  if (rank == 0) then
    print '(a, i0)', 'MPI_ISEND ', 20 * ranks, 'MPI_ISEND_COMPLETE ', 20 * ranks
    print '(a, i0)', 'MPI_IRECV_REQUEST ', 20 * ranks, 'MPI_IRECV ', 20 * ranks
    print '(a, i0)', 'MPI_COLLECTIVE_BEGIN ', 20 * ranks, 'MPI_COLLECTIVE_END ', 20 * ranks
  end if
  call MPI_Finalize(err)
end program ring
