/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of all processes into one result file, at MPI_Finalize. */
#ifndef ICTUS_TRACE_TALLIES_MPI_H
#define ICTUS_TRACE_TALLIES_MPI_H

struct tracer;

/* Collective over the tracer's communicator; says how it went. */
void ictusi_tallies_write(struct tracer *tracer);

#endif
