/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the statistics of all processes to one result file at MPI_Finalize. */
#ifndef ICTUS_TRACE_TALLIES_MPI_H
#define ICTUS_TRACE_TALLIES_MPI_H

struct tracer;

/* Collective over the tracer's communicator. Reports success or failure. */
void ictusi_tallies_write(struct tracer *tracer);

#endif
