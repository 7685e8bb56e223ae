/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators and windows: what records need of them, and keys for them that all processes find
 * without a message, because a tracer must not add communication to a program.
 *
 * A communicator's key is a hash of its parent's key, of the number of communicators that were made
 * collectively from the parent before, and of the world rank of its first process, which
 * distinguishes the groups of one split. Calls that are not collective over a parent (create_group,
 * intercomm_create, accept and connect, join, and those from groups) are counted per members and
 * tag, text or port instead. Each such communicator is described as soon as it is made, because
 * processes may first use several of them in different orders. The first process of each group logs
 * the members.
 */
#ifndef ICTUS_TRACER_COMMS_H
#define ICTUS_TRACER_COMMS_H

#include "tracer/tracer.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct trace_comm {
    uint64_t key;
    uint32_t id; /* in this process's records */
    int rank, size;
    int remote;   /* size of the remote group; -1: an intra-communicator */
    bool foreign; /* has processes of another MPI_COMM_WORLD: no messages are recorded */
    bool world;
    _Atomic uint32_t children;
    uint64_t calls; /* number of collectives so far, for statistics */
    _Atomic bool logged;
    /* of its topology, once a neighborhood collective has used them */
    struct neighbors *_Atomic neighbors;
    _Atomic uint32_t neighbor_inits; /* persistent neighborhood collectives made so far */
};

/* Ranks in the communicator of a window. */
struct window_peers {
    int *ranks;
    int count;
};

struct trace_window {
    uint32_t id;
    struct trace_comm *comm;
    _Atomic uint64_t match;                /* number of the operations since the last completion */
    _Atomic bool pending;                  /* there are such operations */
    struct window_peers exposed, accessed; /* by MPI_Win_post and MPI_Win_start, until they end */
};

/* A handle as the key of a table; never 0. */
#define HANDLE_KEY(handle) ((uint64_t)(uintptr_t)(handle) + 1)

/* Register MPI_COMM_WORLD and MPI_COMM_SELF. */
int ictusi_comms_start(void);

/* The slow path of trace_comm(). @return NULL only without memory */
struct trace_comm *ictusi_comm_find(struct recorder *r, MPI_Comm comm);

/* Names given by the program. */
void ictusi_comm_name(MPI_Comm comm, const char *name);
void ictusi_tracer_window_name(MPI_Win win, const char *name);

/* A communicator was made by a call that is collective over parent. */
void ictusi_comm_child(MPI_Comm parent, MPI_Comm made);
/* ... by MPI_Comm_create_group. */
void ictusi_comm_group(MPI_Comm parent, int tag, MPI_Comm made);
/* ... by MPI_Comm_idup: the handle may not be used yet. */
void ictusi_comm_idup(MPI_Comm parent, MPI_Comm made);
/* ... by MPI_Intercomm_create. */
void ictusi_comm_inter(MPI_Comm made, int tag);
/* ... from groups, with a text. */
void ictusi_comm_text(MPI_Comm made, const char *text);
/* ... by MPI_Comm_accept and MPI_Comm_connect, or without a name by MPI_Comm_join and spawn. */
void ictusi_comm_port(MPI_Comm made, const char *port);
void ictusi_comm_gone(MPI_Comm comm);

/* The key of a file that is opened by all processes of a communicator. */
uint64_t ictusi_comm_file_key(struct trace_comm *comm);

/*
 * A persistent collective was made on comm. Its starts match each other and nothing else on comm,
 * in whatever order processes start several. So they are recorded on a communicator of their own.
 * @return NULL without memory
 */
const struct trace_comm *ictusi_comm_persistent(MPI_Comm comm);

struct trace_window *ictusi_tracer_window_new(struct recorder *r, MPI_Comm comm, MPI_Win win);
struct trace_window *ictusi_tracer_window_find(MPI_Win win);
void ictusi_tracer_window_gone(MPI_Win win);

/* The description of a communicator; the recorder caches the last one. */
static inline struct trace_comm *trace_comm(struct recorder *r, MPI_Comm comm)
{
    const uint64_t epoch = atomic_load_explicit(&ictusi_tracer.comm_epoch, memory_order_relaxed);
    if (__builtin_expect(r->comm == comm && r->comm_epoch == epoch, 1)) {
        return r->comm_info;
    }
    return ictusi_comm_find(r, comm);
}

/* The size of a datatype in bytes. */
static inline int64_t trace_type_bytes(struct recorder *r, MPI_Datatype type)
{
    const uint64_t epoch = atomic_load_explicit(&ictusi_tracer.type_epoch, memory_order_relaxed);
    if (__builtin_expect(r->type == type && r->type_epoch == epoch, 1)) {
        return r->type_bytes;
    }
    MPI_Count bytes = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) {
        return 0;
    }
    r->type = type;
    r->type_epoch = epoch;
    r->type_bytes = bytes;
    return bytes;
}

#endif
