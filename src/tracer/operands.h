/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's handles of datatypes and operators as the numbers of core/operands.h. */
#ifndef ICTUS_TRACER_OPERANDS_H
#define ICTUS_TRACER_OPERANDS_H

#include "core/operands.h"
#include "tracer/comms.h"

/* The number of an operator; a program's own has none. */
enum operands_reduction ictusi_tracer_reduction(MPI_Op op);

/* The slow path of trace_type_number(). */
enum operands_type ictusi_tracer_type_number(struct recorder *r, MPI_Datatype type);

/*
 * The number of a datatype; a derived one has none. A handle means the same until a type is made or
 * freed.
 */
static inline enum operands_type trace_type_number(struct recorder *r, MPI_Datatype type)
{
    const uint64_t epoch = atomic_load_explicit(&ictusi_tracer.type_epoch, memory_order_relaxed);
    if (__builtin_expect(r->numbered == type && r->numbered_epoch == epoch, 1)) {
        return (enum operands_type)r->number;
    }
    return ictusi_tracer_type_number(r, type);
}

/* The first word of a collective's record. */
static inline uint64_t coll_word(const struct trace_comm *comm, uint32_t operands)
{
    return (uint64_t)operands << 32 | comm->id;
}

#endif
