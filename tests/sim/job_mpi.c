/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of MPI that synchronisations and harmonised starts need, between the fibres of a
 * simulated job: messages, communicators, attributes. Handles are small numbers, which every
 * library's handle types can hold. There is no MPI_COMM_WORLD, as in a program of sessions alone.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum {
    COMMS = 256,
    GROUPS = 64,
    KEYVALS = 16,
    REQUESTS = 64,
    HANDLES = 0x1000, /* the first handle's number */
    CALL_NS = 150,    /* a call takes */
};

struct message {
    struct message *next;
    int comm, from, tag; /* from: rank in the job */
    int64_t at;
    bool synchronous;
    size_t size;
    unsigned char bytes[];
};

/* What makes a communicator: processes that ask for the same get the same. */
struct origin {
    int parent, turn, colour;
};

struct comm {
    struct origin origin;
    int size, members[JOB_RANKS]; /* ranks in the job */
    int turns[JOB_RANKS];         /* communicators made of it, by each process */
    void *attributes[JOB_RANKS][KEYVALS];
};

struct group {
    int size, members[JOB_RANKS]; /* ranks in the job */
};

struct request {
    bool used;
    int comm, from, tag;
    void *bytes;
    size_t size;
};

static struct {
    struct comm comms[COMMS];
    int comm_count;
    struct group groups[GROUPS];
    int group_count;
    struct request requests[REQUESTS];
    struct message *queues[JOB_RANKS];
    int64_t last[JOB_RANKS][JOB_RANKS]; /* messages of a pair arrive in order */
    bool taken[JOB_RANKS];              /* the synchronous send of a process */
} mpi;

/* Keys outlive a job. */
static MPI_Comm_delete_attr_function *deleters[KEYVALS];
static int keyval_count;

static MPI_Comm comm_handle(int index)
{
    return (MPI_Comm)(intptr_t)(HANDLES + index);
}

static int comm_index(MPI_Comm comm)
{
    const intptr_t index = (intptr_t)comm - HANDLES;
    if (index < 0 || index >= mpi.comm_count) {
        abort();
    }
    return (int)index;
}

static struct comm *comm_of(MPI_Comm comm)
{
    return &mpi.comms[comm_index(comm)];
}

static int member_of(const int *members, int size)
{
    int i = 0;
    while (i < size && members[i] != job_rank()) {
        i++;
    }
    return i;
}

MPI_Comm job_world(void)
{
    return comm_handle(0);
}

void job_mpi_start(void)
{
    memset(&mpi, 0, sizeof(mpi));
    struct comm *all = &mpi.comms[mpi.comm_count++];
    all->size = job_options()->ranks;
    for (int i = 0; i < all->size; i++) {
        all->members[i] = i;
    }
}

void job_mpi_end(void)
{
    for (int i = 0; i < JOB_RANKS; i++) {
        while (mpi.queues[i]) {
            struct message *next = mpi.queues[i]->next;
            free(mpi.queues[i]);
            mpi.queues[i] = next;
        }
    }
}

/* How long a message takes. */
static double message_ns(int from, int to)
{
    const struct job_options *o = job_options();
    struct rng pair;
    double ns = job_node(from) == job_node(to) ? o->inside_ns : o->latency_ns;
    ictusi_random_seed(&pair, o->seed, 1000 + (uint64_t)from * JOB_RANKS + (uint64_t)to);
    ns *= 1.0 + o->asymmetry * ictusi_random_uniform(&pair);
    ns += job_exponential(o->jitter_ns);
    return job_uniform() < o->tail ? ns + job_exponential(o->tail_ns) : ns;
}

static void message_post(MPI_Comm comm, int to, int tag, const void *bytes, size_t size,
                         bool synchronous)
{
    const struct comm *c = comm_of(comm);
    const int me = job_rank();
    const int peer = c->members[to];
    struct message *m = calloc(1, sizeof(*m) + size);
    struct message **end = &mpi.queues[peer];
    if (!m) {
        abort();
    }
    job_spend(CALL_NS);
    m->comm = comm_index(comm);
    m->from = me;
    m->tag = tag;
    m->size = size;
    m->synchronous = synchronous;
    m->at = job_now() + (int64_t)message_ns(me, peer);
    m->at = m->at > mpi.last[me][peer] ? m->at : mpi.last[me][peer];
    mpi.last[me][peer] = m->at;
    if (size) {
        memcpy(m->bytes, bytes, size);
    }
    while (*end) {
        end = &(*end)->next;
    }
    *end = m;
    mpi.taken[me] = false;
    job_wake(peer);
    while (synchronous && !mpi.taken[me]) {
        job_block("MPI_Ssend", peer);
    }
    if (synchronous) {
        job_arrive(job_now() + (int64_t)message_ns(peer, me));
    }
}

/* The first message that matches; NULL: none has been sent. */
static struct message *message_find(int comm, int from, int tag)
{
    struct message **place = &mpi.queues[job_rank()];
    while (*place && ((*place)->comm != comm || (*place)->from != from || (*place)->tag != tag)) {
        place = &(*place)->next;
    }
    struct message *m = *place;
    if (m) {
        *place = m->next;
    }
    return m;
}

/* late_ns: after it has come, until this process looks. */
static void message_take(const struct request *r, const char *call, double late_ns)
{
    struct message *m = message_find(r->comm, r->from, r->tag);
    while (!m) {
        job_block(call, r->from);
        m = message_find(r->comm, r->from, r->tag);
    }
    job_arrive(m->at);
    job_spend(CALL_NS + late_ns);
    if (m->size > r->size) {
        abort();
    }
    if (m->size) {
        memcpy(r->bytes, m->bytes, m->size);
    }
    if (m->synchronous) {
        mpi.taken[m->from] = true;
        job_wake(m->from);
    }
    free(m);
}

static struct request request_for(MPI_Comm comm, int from, int tag, void *bytes, size_t size)
{
    return (struct request){.used = true,
                            .comm = comm_index(comm),
                            .from = comm_of(comm)->members[from],
                            .tag = tag,
                            .bytes = bytes,
                            .size = size};
}

static void message_receive(MPI_Comm comm, int from, int tag, void *bytes, size_t size)
{
    const struct request r = request_for(comm, from, tag, bytes, size);
    message_take(&r, "MPI_Recv", 0.0);
}

size_t job_type_size(MPI_Datatype type)
{
    if (type == MPI_INT) {
        return sizeof(int);
    }
    if (type == MPI_INT64_T || type == MPI_UINT64_T || type == MPI_DOUBLE || type == MPI_2INT) {
        return 8;
    }
    if (type == MPI_BYTE || type == MPI_CHAR) {
        return 1;
    }
    abort();
}

int PMPI_Send(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    message_post(comm, to, tag, bytes, (size_t)count * job_type_size(type), false);
    return MPI_SUCCESS;
}

int PMPI_Ssend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    message_post(comm, to, tag, bytes, (size_t)count * job_type_size(type), true);
    return MPI_SUCCESS;
}

int PMPI_Recv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    (void)status;
    message_receive(comm, from, tag, bytes, (size_t)count * job_type_size(type));
    return MPI_SUCCESS;
}

int PMPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
                  void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Status *status)
{
    (void)PMPI_Send(sent, sent_count, sent_type, to, sent_tag, comm);
    return PMPI_Recv(bytes, count, type, from, tag, comm, status);
}

int PMPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    int i = 0;
    while (mpi.requests[i].used) {
        i++; /* one a process: there are enough */
    }
    mpi.requests[i] = request_for(comm, from, tag, bytes, (size_t)count * job_type_size(type));
    *request = (MPI_Request)(intptr_t)(HANDLES + i);
    return MPI_SUCCESS;
}

/*
 * Who polls does nothing else: so many turns as there are until the message is here are one. Who
 * shares its core finds it only when it has its turn again.
 */
int PMPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    struct request *r = &mpi.requests[(intptr_t)*request - HANDLES];
    const struct job_options *o = job_options();
    (void)status;
    message_take(r, "MPI_Test", o->cores * o->nodes < o->ranks ? job_exponential(5000.0) : 0.0);
    r->used = false;
    *request = MPI_REQUEST_NULL;
    *done = 1;
    return MPI_SUCCESS;
}

int PMPI_Iprobe(int from, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    (void)from;
    (void)tag;
    (void)comm;
    (void)status;
    *found = 0;
    job_spend(CALL_NS);
    return MPI_SUCCESS;
}

int PMPI_Initialized(int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    const struct comm *c = comm_of(comm);
    *rank = member_of(c->members, c->size);
    return MPI_SUCCESS;
}

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = comm_of(comm)->size;
    return MPI_SUCCESS;
}

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm;
    (void)handler;
    return MPI_SUCCESS;
}

/* The first process that asks makes it. */
static MPI_Comm comm_make(MPI_Comm parent, int colour, const int *members, int size)
{
    struct comm *above = comm_of(parent);
    const struct origin origin = {comm_index(parent),
                                  above->turns[member_of(above->members, above->size)], colour};
    int i = 1;
    while (i < mpi.comm_count && memcmp(&mpi.comms[i].origin, &origin, sizeof(origin)) != 0) {
        i++;
    }
    if (i == COMMS) {
        abort();
    }
    struct comm *c = &mpi.comms[i];
    if (i == mpi.comm_count) {
        mpi.comm_count++;
        c->origin = origin;
        c->size = size;
        memcpy(c->members, members, (size_t)size * sizeof(*members));
    }
    return comm_handle(i);
}

static void comm_turn(MPI_Comm parent)
{
    struct comm *above = comm_of(parent);
    above->turns[member_of(above->members, above->size)]++;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    const struct comm *c = comm_of(comm);
    (void)PMPI_Barrier(comm);
    *made = comm_make(comm, 0, c->members, c->size);
    comm_turn(comm);
    return MPI_SUCCESS;
}

/* By key, and by rank where keys are equal. */
static int split_choose(const int (*wishes)[2], const struct comm *c, int colour, int *members)
{
    int size = 0;
    for (int i = 0; i < c->size; i++) {
        int at = size;
        if (wishes[i][0] != colour) {
            continue;
        }
        while (at > 0 && wishes[members[at - 1]][1] > wishes[i][1]) {
            members[at] = members[at - 1];
            at--;
        }
        members[at] = i;
        size++;
    }
    for (int i = 0; i < size; i++) {
        members[i] = c->members[members[i]];
    }
    return size;
}

int PMPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *made)
{
    const int mine[2] = {colour, key};
    int wishes[JOB_RANKS][2];
    int members[JOB_RANKS];
    (void)PMPI_Allgather(mine, 1, MPI_2INT, wishes, 1, MPI_2INT, comm);
    *made = MPI_COMM_NULL;
    if (colour != MPI_UNDEFINED) {
        const int size = split_choose((const int(*)[2])wishes, comm_of(comm), colour, members);
        *made = comm_make(comm, colour, members, size);
    }
    comm_turn(comm);
    return MPI_SUCCESS;
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made)
{
    (void)type; /* nodes */
    (void)info;
    return PMPI_Comm_split(comm, job_node(job_rank()), key, made);
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    const struct comm *c = comm_of(comm);
    const int i = mpi.group_count++ % GROUPS; /* nobody keeps one for long */
    mpi.groups[i].size = c->size;
    memcpy(mpi.groups[i].members, c->members, sizeof(c->members));
    *group = (MPI_Group)(intptr_t)(HANDLES + i);
    return MPI_SUCCESS;
}

int PMPI_Group_incl(MPI_Group group, int n, const int *ranks, MPI_Group *chosen)
{
    const struct group *from = &mpi.groups[(intptr_t)group - HANDLES];
    const int i = mpi.group_count++ % GROUPS;
    struct group *to = &mpi.groups[i];
    to->size = n;
    for (int k = 0; k < n; k++) {
        to->members[k] = from->members[ranks[k]];
    }
    *chosen = (MPI_Group)(intptr_t)(HANDLES + i);
    return MPI_SUCCESS;
}

int PMPI_Group_free(MPI_Group *group)
{
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* Of all members, which is all that anybody asks for. */
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made)
{
    const struct comm *c = comm_of(comm);
    if (mpi.groups[(intptr_t)group - HANDLES].size != c->size) {
        abort();
    }
    return PMPI_Comm_dup(comm, made);
}

/* Members only: it does not count among what all make together. Groups at one time are disjoint. */
int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    enum { GROUP_COLOUR = 1 << 24 };
    const struct group *g = &mpi.groups[(intptr_t)group - HANDLES];
    *made = comm_make(comm, GROUP_COLOUR + tag * JOB_RANKS + g->members[0], g->members, g->size);
    return PMPI_Barrier(*made);
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    struct comm *c = comm_of(*comm);
    const int me = member_of(c->members, c->size);
    for (int key = 0; key < keyval_count; key++) {
        void *value = c->attributes[me][key];
        c->attributes[me][key] = NULL;
        if (value) {
            (void)deleters[key](*comm, key, value, NULL);
        }
    }
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *del,
                            int *key, void *extra)
{
    (void)copy; /* the library's own duplicates need no attributes */
    (void)extra;
    if (keyval_count == KEYVALS) {
        abort();
    }
    deleters[keyval_count] = del;
    *key = keyval_count++;
    return MPI_SUCCESS;
}

int PMPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
    struct comm *c = comm_of(comm);
    c->attributes[member_of(c->members, c->size)][key] = value;
    return MPI_SUCCESS;
}

int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *found)
{
    const struct comm *c = comm_of(comm);
    void *kept = c->attributes[member_of(c->members, c->size)][key];
    *found = kept != NULL;
    if (kept) {
        memcpy(value, &kept, sizeof(kept));
    }
    return MPI_SUCCESS;
}

int PMPI_Comm_delete_attr(MPI_Comm comm, int key)
{
    struct comm *c = comm_of(comm);
    const int me = member_of(c->members, c->size);
    void *value = c->attributes[me][key];
    c->attributes[me][key] = NULL;
    return value ? deleters[key](comm, key, value, NULL) : MPI_SUCCESS;
}

int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info)
{
    (void)comm;
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
