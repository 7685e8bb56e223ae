/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of messages. */
#ifndef ICTUS_TRACER_P2P_H
#define ICTUS_TRACER_P2P_H

#include "tracer/comms.h"
#include "tracer/real.h"

/* Communicator and tag in one word. */
static inline uint64_t comm_and_tag(const struct trace_comm *comm, uint32_t tag)
{
    return (uint64_t)comm->id << 32 | tag;
}

static inline int64_t status_bytes(const MPI_Status *status)
{
    MPI_Count bytes = 0;
    return REAL(Get_elements_x)(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

static inline void ictusi_tracer_note_send(struct recorder *r, int64_t count, MPI_Datatype type,
                                           int dest, int tag, MPI_Comm comm)
{
    const struct trace_comm *info = trace_comm(r, comm);
    if (dest >= 0 && info && !info->foreign) {
        recorder_put2(r, RECORD_SEND, 0, (uint32_t)dest, comm_and_tag(info, (uint32_t)tag),
                      (uint64_t)(count * trace_type_bytes(r, type)));
    }
}

/* @return the number of the request; 0: it is not recorded */
static inline uint64_t ictusi_tracer_note_isend(struct recorder *r, int64_t count,
                                                MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    const struct trace_comm *info = trace_comm(r, comm);
    if (dest < 0 || !info || info->foreign) {
        return 0;
    }
    const uint64_t id = recorder_request(r);
    recorder_put3(r, RECORD_ISEND, 0, (uint32_t)dest, comm_and_tag(info, (uint32_t)tag),
                  (uint64_t)(count * trace_type_bytes(r, type)), id);
    return id;
}

static inline void ictusi_tracer_note_recv(struct recorder *r, MPI_Comm comm,
                                           const MPI_Status *status)
{
    const struct trace_comm *info = trace_comm(r, comm);
    if (status->MPI_SOURCE >= 0 && info && !info->foreign) {
        recorder_put2(r, RECORD_RECV, 0, (uint32_t)status->MPI_SOURCE,
                      comm_and_tag(info, (uint32_t)status->MPI_TAG),
                      (uint64_t)status_bytes(status));
    }
}

#endif
