/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the archive, either by all processes together at MPI_Finalize, or by the last one to end.
 */
#ifndef ICTUS_TRACE_WRITE_MPI_H
#define ICTUS_TRACE_WRITE_MPI_H

struct tracer;

/* Collective over the tracer's communicator. Reports success or failure. */
void ictusi_write_parallel(struct tracer *tracer);

/*
 * Called when MPI can no longer be used and this process has ended. If it is the last one, it makes
 * the archive from all processes' raw files. Reports success or failure.
 */
void ictusi_write_last(struct tracer *tracer);

/* Nothing is to be written: print where the raw files are. */
void ictusi_write_deferred(const struct tracer *tracer);

#endif
