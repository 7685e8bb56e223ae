/* SPDX-License-Identifier: BSD-3-Clause */
/* Preparing a call: communicator, buffers, counts, and what is done between two calls. */
#ifndef ICTUS_BENCH_CALL_H
#define ICTUS_BENCH_CALL_H

#include "bench/datatype.h"
#include "bench/operation.h"

/*
 * Prepare a call on comm as the plan asks, while other groups of the processes of `all` prepare the
 * same call on their own communicators. Collective over `all`; every process returns the same error
 * and reason: ICTUS_ERR_UNSUPPORTED (too large for the MPI call), ICTUS_ERR_ARG (not a multiple of
 * the datatype, no such root, contradictory options), ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN,
 * ICTUS_ERR_NOMEM, ICTUS_ERR_MPI.
 */
int ictusi_call_init_beside(struct call *call, const struct operation *operation, MPI_Comm comm,
                            MPI_Comm all, const struct ictus_bench_plan *plan,
                            struct ictus_why *why);

/* The same for one group that has all processes. */
static inline int ictusi_call_init(struct call *call, const struct operation *operation,
                                   MPI_Comm comm, const struct ictus_bench_plan *plan,
                                   struct ictus_why *why)
{
    return ictusi_call_init_beside(call, operation, comm, comm, plan, why);
}

/* Collective if the call made a communicator of its own. */
void ictusi_call_fini(struct call *call);

/*
 * Switch to the next buffers and the next root, and flush the caches, outside of any timing. Local.
 */
void ictusi_call_next(struct call *call);

/*
 * Run the operation once, untimed. Collective. On ICTUS_ERR_MPI the code of MPI is in
 * call->mpi_error.
 */
int ictusi_call_run(struct call *call);

/*
 * Return ICTUS_ERR_MPI, with the operation's name and MPI's text for the error as the reason.
 * Local.
 */
int ictusi_call_failed(const struct call *call, struct ictus_why *why);

/*
 * Run the operation once on known data and verify its result. Collective. All processes return the
 * same: ICTUS_OK, or ICTUS_ERR_CORRUPT with the first wrong element as the reason.
 */
int ictusi_verify_call(struct call *call, const struct ictus_bench_plan *plan,
                       struct ictus_why *why);

/*
 * The same, but only for the first and the last elements of each block. This shows whether the
 * operation does anything.
 */
int ictusi_verify_glance(struct call *call, const struct ictus_bench_plan *plan,
                         struct ictus_why *why);

/*
 * Verification of each repetition, used if call->every is set. The buffers are filled by
 * ictusi_call_next() before the repetition and checked after it. Local, except for operations on
 * windows.
 */
int ictusi_verify_is_ready(struct call *call);
void ictusi_verify_repetition(struct call *call);

#endif
