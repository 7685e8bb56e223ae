/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a call ready: communicator, buffers, counts, and what stands between two calls. */
#ifndef ICTUS_BENCH_CALL_H
#define ICTUS_BENCH_CALL_H

#include "bench/datatype.h"
#include "bench/operation.h"

/*
 * Make a call on comm as the plan asks, while other groups of the processes of all make the same on
 * communicators of theirs. Collective over all, whose processes get the same error and reason:
 * ICTUS_ERR_UNSUPPORTED (too large for the MPI call), ICTUS_ERR_ARG (not a multiple of the
 * datatype, no such root, nonsense combinations), ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN,
 * ICTUS_ERR_NOMEM, ICTUS_ERR_MPI.
 */
int ictusi_call_init_beside(struct call *call, const struct operation *operation, MPI_Comm comm,
                            MPI_Comm all, const struct ictus_bench_plan *plan,
                            struct ictus_why *why);

/* Likewise where the processes of comm are all. */
static inline int ictusi_call_init(struct call *call, const struct operation *operation,
                                   MPI_Comm comm, const struct ictus_bench_plan *plan,
                                   struct ictus_why *why)
{
    return ictusi_call_init_beside(call, operation, comm, comm, plan, why);
}

/* Collective where the call made a communicator of its own. */
void ictusi_call_fini(struct call *call);

/* Between two calls, outside of any timing: next buffers, next root, cold caches. Local. */
void ictusi_call_next(struct call *call);

/* Run the operation once, untimed. Collective. ICTUS_ERR_MPI leaves call->mpi_error. */
int ictusi_call_run(struct call *call);

/* ICTUS_ERR_MPI with the operation's name and what MPI says to its error. Local. */
int ictusi_call_failed(const struct call *call, struct ictus_why *why);

/*
 * Run the operation once on known data and verify what it left. Collective; the same on all
 * processes: ICTUS_OK, ICTUS_ERR_CORRUPT with the first wrong element.
 */
int ictusi_verify_call(struct call *call, const struct ictus_bench_plan *plan,
                       struct ictus_why *why);

/* The same of the first and the last elements of each block: whether it does anything. */
int ictusi_verify_glance(struct call *call, const struct ictus_bench_plan *plan,
                         struct ictus_why *why);

/*
 * Verifying each repetition: call->every is set. The buffers are made ready before it by
 * ictusi_call_next(), and looked at after it. Local but for windows.
 */
int ictusi_verify_is_ready(struct call *call);
void ictusi_verify_repetition(struct call *call);

#endif
