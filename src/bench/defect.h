/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that hang, or worse, in known releases of an MPI library. */
#ifndef ICTUS_BENCH_DEFECT_H
#define ICTUS_BENCH_DEFECT_H

/*
 * What is wrong with the operation on so many processes in the library of that version text (as
 * MPI_Get_library_version() gives it), or NULL where nothing is known.
 */
const char *ictusi_defect(const char *library, const char *operation, int processes);

#endif
