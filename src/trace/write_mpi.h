/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the archive by all processes together, at MPI_Finalize. */
#ifndef ICTUS_TRACE_WRITE_MPI_H
#define ICTUS_TRACE_WRITE_MPI_H

struct tracer;

/* Collective over the tracer's communicator; says how it went. */
void ictusi_write_parallel(struct tracer *tracer);

#endif
