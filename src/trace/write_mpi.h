/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing the archive by all processes together at MPI_Finalize, or by the one that ends last. */
#ifndef ICTUS_TRACE_WRITE_MPI_H
#define ICTUS_TRACE_WRITE_MPI_H

struct tracer;

/* Collective over the tracer's communicator; says how it went. */
void ictusi_write_parallel(struct tracer *tracer);

/*
 * When MPI cannot be used any more: this process has ended; if it is the last one it makes the
 * archive of all processes' raw files. Says how it went.
 */
void ictusi_write_last(struct tracer *tracer);

/* Nothing is to be written: say where the raw files are. */
void ictusi_write_deferred(const struct tracer *tracer);

#endif
