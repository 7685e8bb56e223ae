/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded: what every collective call of a program was, and which messages it sent. It shares
 * nothing with ictus: arguments come from the MPI calls themselves, messages under Open MPI from
 * the table of its point-to-point layer (pml_monitoring would change the selection of components,
 * and Debian's ends in a crash), under MPICH from its calls into UCX. MPI_Finalize writes
 * OBSERVER_OUT.RANK, one JSON object for each kind of call on each communicator.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEERS_MAX = 32, KINDS_MAX = 65536, FIELDS = 2 };

/* Sent so far to each peer: messages, bytes. Under MPICH peers are endpoints as they were made. */
struct traffic {
    unsigned long long sent[FIELDS][PEERS_MAX];
};

struct kind {
    const char *operation;
    int comm;
    int size;
    int root;
    long long bytes;
    int failed;
    struct traffic traffic;
    long count;
    long last; /* number of its last call */
};

static struct observer {
    struct kind kinds[KINDS_MAX];
    int known;
    long calls;
    int comms;
    int keyval;
    int peers;
    bool begun;
    bool lost; /* there was no room */
    bool monitored;
    void (*pml[2])(void);
    const void *endpoints[PEERS_MAX];
    int endpoint_count;
    struct traffic traffic;
} observer = {.keyval = MPI_KEYVAL_INVALID};

/* --- Messages --- */

static void observer_sent(int peer, size_t bytes)
{
    if (peer >= 0 && peer < PEERS_MAX) {
        observer.traffic.sent[0][peer]++;
        observer.traffic.sent[1][peer] += bytes;
    }
}

/* --- Open MPI: the two functions of its point-to-point layer that all components send by --- */

enum { PML_ISEND = 10, PML_SEND = 11 }; /* places in its table, the same since 1.0; tried below */

typedef int pml_send(const void *buffer, size_t count, MPI_Datatype type, int peer, int tag,
                     int mode, MPI_Comm comm);
typedef int pml_isend(const void *buffer, size_t count, MPI_Datatype type, int peer, int tag,
                      int mode, MPI_Comm comm, MPI_Request *request);

static void pml_note(size_t count, MPI_Datatype type, int peer, MPI_Comm comm)
{
    MPI_Group group;
    MPI_Group world;
    int rank = -1;
    int element = 0;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &peer, world, &rank);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    PMPI_Type_size(type, &element);
    observer_sent(rank, count * (size_t)element);
}

static int pml_send_noted(const void *buffer, size_t count, MPI_Datatype type, int peer, int tag,
                          int mode, MPI_Comm comm)
{
    pml_note(count, type, peer, comm);
    return ((pml_send *)observer.pml[0])(buffer, count, type, peer, tag, mode, comm);
}

static int pml_isend_noted(const void *buffer, size_t count, MPI_Datatype type, int peer, int tag,
                           int mode, MPI_Comm comm, MPI_Request *request)
{
    pml_note(count, type, peer, comm);
    return ((pml_isend *)observer.pml[1])(buffer, count, type, peer, tag, mode, comm, request);
}

/* Whether one message of each kind to this process itself is counted as such. */
static bool observer_sees(void)
{
    const struct traffic before = observer.traffic;
    char out[3] = {0};
    char in[3];
    int rank = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) {
        PMPI_Irecv(in, 3, MPI_CHAR, 0, 77, MPI_COMM_SELF, &request);
        if (i == 0) {
            PMPI_Send(out, 3, MPI_CHAR, 0, 77, MPI_COMM_SELF);
        } else {
            MPI_Request sending = MPI_REQUEST_NULL;
            PMPI_Isend(out, 3, MPI_CHAR, 0, 77, MPI_COMM_SELF, &sending);
            PMPI_Wait(&sending, MPI_STATUS_IGNORE);
        }
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return observer.traffic.sent[0][rank] == before.sent[0][rank] + 2 &&
           observer.traffic.sent[1][rank] == before.sent[1][rank] + 6;
}

static void observer_begin(void)
{
    void (**table)(void) = (void (**)(void))dlsym(RTLD_DEFAULT, "mca_pml");
    observer.begun = true;
    PMPI_Comm_size(MPI_COMM_WORLD, &observer.peers);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &observer.keyval, NULL);
    observer.monitored = observer.endpoint_count > 0;
    if (table) {
        observer.pml[0] = table[PML_SEND];
        observer.pml[1] = table[PML_ISEND];
        table[PML_SEND] = (void (*)(void))pml_send_noted;
        table[PML_ISEND] = (void (*)(void))pml_isend_noted;
        observer.monitored = observer_sees();
    }
}

/* --- MPICH --- */

/* MPICH's endpoints, in the order in which they were made, which is the same in every run. */
static int observer_endpoint(const void *endpoint)
{
    int i = 0;
    while (i < observer.endpoint_count && observer.endpoints[i] != endpoint) {
        i++;
    }
    if (i == observer.endpoint_count && i < PEERS_MAX) {
        observer.endpoints[observer.endpoint_count++] = endpoint;
    }
    return i;
}

typedef int ucp_make(void *worker, const void *parameters, void **endpoint);
typedef void *ucp_send(void *endpoint, const void *buffer, size_t count, uint64_t tag,
                       const void *parameters);

int ucp_ep_create(void *worker, const void *parameters, void **endpoint);
int ucp_ep_create(void *worker, const void *parameters, void **endpoint)
{
    ucp_make *next = (ucp_make *)(uintptr_t)dlsym(RTLD_NEXT, "ucp_ep_create");
    const int status = next(worker, parameters, endpoint);
    if (status == 0) {
        (void)observer_endpoint(*endpoint);
    }
    return status;
}

#define UCP_SEND(name)                                                                             \
    void *name(void *endpoint, const void *buffer, size_t count, uint64_t tag,                     \
               const void *parameters);                                                            \
    void *name(void *endpoint, const void *buffer, size_t count, uint64_t tag,                     \
               const void *parameters)                                                             \
    {                                                                                              \
        static ucp_send *next;                                                                     \
        if (!next) {                                                                               \
            next = (ucp_send *)(uintptr_t)dlsym(RTLD_NEXT, #name);                                 \
        }                                                                                          \
        observer_sent(observer_endpoint(endpoint), count);                                         \
        return next(endpoint, buffer, count, tag, parameters);                                     \
    }
UCP_SEND(ucp_tag_send_nbx)
UCP_SEND(ucp_tag_send_sync_nbx)

/* --- Calls --- */

static int observer_comm(MPI_Comm comm)
{
    void *held = NULL;
    int found = 0;
    PMPI_Comm_get_attr(comm, observer.keyval, &held, &found);
    if (!found) {
        held = (void *)(intptr_t)(++observer.comms);
        PMPI_Comm_set_attr(comm, observer.keyval, held);
    }
    return (int)(intptr_t)held;
}

static bool kind_same(const struct kind *a, const struct kind *b)
{
    return a->operation == b->operation && a->comm == b->comm && a->bytes == b->bytes &&
           a->root == b->root && a->failed == b->failed &&
           memcmp(&a->traffic, &b->traffic, sizeof(a->traffic)) == 0;
}

static void observer_note(const struct kind *seen)
{
    int i = observer.known - 1;
    while (i >= 0 && !kind_same(&observer.kinds[i], seen)) {
        i--;
    }
    if (i < 0) {
        observer.lost = observer.lost || observer.known == KINDS_MAX;
        i = observer.known < KINDS_MAX ? observer.known++ : KINDS_MAX - 1;
        observer.kinds[i] = *seen;
    }
    observer.kinds[i].count++;
    observer.kinds[i].last = ++observer.calls;
}

static struct traffic observer_enter(void)
{
    if (!observer.begun) {
        observer_begin();
    }
    return observer.traffic;
}

static void observer_leave(const char *operation, const struct traffic *before, MPI_Comm comm,
                           long long count, MPI_Datatype type, int root, int err)
{
    struct kind seen;
    int element = 0;
    memset(&seen, 0, sizeof(seen));
    seen.traffic = observer.traffic;
    for (int i = 0; i < FIELDS; i++) {
        for (int k = 0; k < PEERS_MAX; k++) {
            seen.traffic.sent[i][k] -= before->sent[i][k];
        }
    }
    PMPI_Comm_size(comm, &seen.size);
    if (type != MPI_DATATYPE_NULL) {
        PMPI_Type_size(type, &element);
    }
    seen.operation = operation;
    seen.comm = observer_comm(comm);
    seen.bytes = count * element;
    seen.root = root;
    seen.failed = err != MPI_SUCCESS;
    observer_note(&seen);
}

#define OBSERVE(name, Name, PARAMETERS, ARGUMENTS, COUNT, TYPE, ROOT)                              \
    int MPI_##Name PARAMETERS                                                                      \
    {                                                                                              \
        const struct traffic before = observer_enter();                                            \
        const int err = PMPI_##Name ARGUMENTS;                                                     \
        observer_leave(#name, &before, comm, COUNT, TYPE, ROOT, err);                              \
        return err;                                                                                \
    }
#define SENDING const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define RECEIVING void *recvbuf, int recvcount, MPI_Datatype recvtype
#define REDUCING const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op

OBSERVE(barrier, Barrier, (MPI_Comm comm), (comm), 0, MPI_DATATYPE_NULL, 0)
OBSERVE(bcast, Bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm),
        (buffer, count, type, root, comm), count, type, root)
OBSERVE(reduce, Reduce, (REDUCING, int root, MPI_Comm comm),
        (sendbuf, recvbuf, count, type, op, root, comm), count, type, root)
OBSERVE(allreduce, Allreduce, (REDUCING, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm),
        count, type, 0)
OBSERVE(scan, Scan, (REDUCING, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm), count,
        type, 0)
OBSERVE(exscan, Exscan, (REDUCING, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm), count,
        type, 0)
OBSERVE(reduce_scatter_block, Reduce_scatter_block, (REDUCING, MPI_Comm comm),
        (sendbuf, recvbuf, count, type, op, comm), count, type, 0)
OBSERVE(reduce_scatter, Reduce_scatter,
        (const void *sendbuf, void *recvbuf, const int *counts, MPI_Datatype type, MPI_Op op,
         MPI_Comm comm),
        (sendbuf, recvbuf, counts, type, op, comm), counts[0], type, 0)
OBSERVE(gather, Gather, (SENDING, RECEIVING, int root, MPI_Comm comm),
        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), sendcount,
        sendtype, root)
OBSERVE(scatter, Scatter, (SENDING, RECEIVING, int root, MPI_Comm comm),
        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm), recvcount,
        recvtype, root)
OBSERVE(allgather, Allgather, (SENDING, RECEIVING, MPI_Comm comm),
        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), sendcount, sendtype, 0)
OBSERVE(alltoall, Alltoall, (SENDING, RECEIVING, MPI_Comm comm),
        (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), sendcount, sendtype, 0)
OBSERVE(allgatherv, Allgatherv,
        (SENDING, void *recvbuf, const int *counts, const int *places, MPI_Datatype recvtype,
         MPI_Comm comm),
        (sendbuf, sendcount, sendtype, recvbuf, counts, places, recvtype, comm), sendcount,
        sendtype, 0)
OBSERVE(alltoallv, Alltoallv,
        (const void *sendbuf, const int *sendcounts, const int *sendplaces, MPI_Datatype sendtype,
         void *recvbuf, const int *counts, const int *places, MPI_Datatype recvtype, MPI_Comm comm),
        (sendbuf, sendcounts, sendplaces, sendtype, recvbuf, counts, places, recvtype, comm),
        sendcounts[0], sendtype, 0)

static void observer_list(FILE *out, const char *name, const unsigned long long *values)
{
    (void)fprintf(out, ",\"%s\":[", name);
    for (int i = 0; i < observer.peers && i < PEERS_MAX; i++) {
        (void)fprintf(out, "%s%llu", i ? "," : "", values[i]);
    }
    (void)fprintf(out, "]");
}

static void observer_write(FILE *out)
{
    for (int i = 0; i < observer.known; i++) {
        const struct kind *k = &observer.kinds[i];
        (void)fprintf(out,
                      "{\"comm\":%d,\"operation\":\"%s\",\"size\":%d,\"bytes\":%lld,\"root\":%d,"
                      "\"failed\":%d,\"count\":%ld,\"last\":%ld",
                      k->comm, k->operation, k->size, k->bytes, k->root, k->failed, k->count,
                      k->last);
        observer_list(out, "messages", k->traffic.sent[0]);
        observer_list(out, "volume", k->traffic.sent[1]);
        (void)fprintf(out, "}\n");
    }
    (void)fprintf(out, "{\"lost\":%s,\"monitored\":%s}\n", observer.lost ? "true" : "false",
                  observer.monitored ? "true" : "false");
}

int MPI_Finalize(void)
{
    const char *stem = getenv("OBSERVER_OUT");
    char path[4096];
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)snprintf(path, sizeof(path), "%s.%d", stem ? stem : "observed", rank);
    FILE *out = observer.begun ? fopen(path, "w") : NULL;
    if (out) {
        observer_write(out);
        (void)fclose(out);
    }
    return PMPI_Finalize();
}
