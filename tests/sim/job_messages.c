/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a simulated job under MPI's own names, see job_blocks.h. A receive does nothing until
 * it is waited for: who forgets to wait has no data. Messages to MPI_ANY_SOURCE are taken from the
 * highest rank first.
 */
#include "job_blocks.h"

#include "../check.h"

enum { REQUESTS = 512, POSTED = 4096, FIRST_REQUEST = 0x4000, SUMS = 4, SUM_WORDS = 3 };

struct letter {
    int from, to, tag;
    int64_t at; /* when it is there */
    size_t size;
    unsigned char *packed;
};

/* A sum of all ranks' numbers. */
struct sum {
    int64_t totals[SUM_WORDS];
    int arrived, taken;
};

struct request {
    struct sum *sum;
    int looks; /* so often it was asked for */
    bool used, sends, persistent, active;
    void *bytes;
    int count, peer, tag;
    MPI_Datatype type;
};

static struct sum sums[SUMS];
static struct letter letters[POSTED];
static int letter_count;
static struct request requests[REQUESTS];

static void letter_send(const struct request *r)
{
    REQUIRE(letter_count < POSTED);
    const size_t size = block_bytes(r->type, r->count);
    struct letter *letter = &letters[letter_count++];
    *letter = (struct letter){.from = job_rank(), .to = r->peer, .tag = r->tag, .size = size};
    letter->packed = malloc(size + 1);
    letter->at = job_now() + (int64_t)job_exponential(job_options()->jitter_ns);
    if (letter->from + 1 == blocks_plant.slow_from && letter->to == blocks_plant.slow_to) {
        letter->at += blocks_plant.slow_ns;
    }
    for (int i = 0; i + 1 < letter_count; i++) { /* those of a pair come in order */
        const struct letter *l = &letters[i];
        if (l->from == letter->from && l->to == letter->to && l->at > letter->at) {
            letter->at = l->at;
        }
    }
    REQUIRE(letter->packed);
    block_pack(r->bytes, r->count, r->type, letter->packed);
    job_spend(100.0);
    job_wake(r->peer);
}

/* Of several senders the highest, of several letters the first. */
static int letter_find(const struct request *r, int64_t until)
{
    int found = -1;
    for (int i = letter_count - 1; i >= 0; i--) {
        const struct letter *l = &letters[i];
        if (l->to == job_rank() && l->tag == r->tag && l->at <= until &&
            (r->peer == MPI_ANY_SOURCE ? found < 0 || l->from >= letters[found].from
                                       : l->from == r->peer)) {
            found = i;
        }
    }
    return found;
}

static void letter_take(const struct request *r, MPI_Status *status)
{
    int at = letter_find(r, INT64_MAX);
    while (at < 0) {
        job_block("a receive", r->peer);
        at = letter_find(r, INT64_MAX);
    }
    const struct letter letter = letters[at];
    memmove(&letters[at], &letters[at + 1], (size_t)(letter_count - at - 1) * sizeof(letters[0]));
    letter_count--;
    REQUIRE(letter.size == block_bytes(r->type, r->count));
    block_unpack(r->bytes, r->count, r->type, letter.packed);
    free(letter.packed);
    job_arrive(letter.at);
    job_spend(100.0);
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = letter.from;
    }
}

static struct request request_of(const void *bytes, int count, MPI_Datatype type, int peer, int tag,
                                 bool sends)
{
    return (struct request){.used = true,
                            .sends = sends,
                            .bytes = (void *)(uintptr_t)bytes,
                            .count = count,
                            .peer = peer,
                            .tag = tag,
                            .type = type};
}

/* Sends are done at once. */
static void request_begin(struct request *r)
{
    REQUIRE(!r->active);
    r->active = true;
    if (r->sends && r->peer != MPI_PROC_NULL) {
        letter_send(r);
    }
}

static void request_end(struct request *r, MPI_Status *status)
{
    if (r->active && !r->sends && r->peer != MPI_PROC_NULL) {
        letter_take(r, status);
    }
    r->active = false;
}

static int request_new(struct request request, bool persistent, MPI_Request *made)
{
    int i = 0;
    while (i < REQUESTS && requests[i].used) {
        i++;
    }
    REQUIRE(i < REQUESTS);
    requests[i] = request;
    requests[i].persistent = persistent;
    if (!persistent) {
        request_begin(&requests[i]);
    }
    *made = (MPI_Request)(intptr_t)(FIRST_REQUEST + i);
    blocks_things[job_rank()]++;
    return MPI_SUCCESS;
}

static struct request *request_at(MPI_Request handle)
{
    const intptr_t i = (intptr_t)handle - FIRST_REQUEST;
    REQUIRE(i >= 0 && i < REQUESTS && requests[i].used);
    return &requests[i];
}

static void request_forget(MPI_Request *handle)
{
    struct request *r = request_at(*handle);
    REQUIRE(!r->active);
    r->used = false;
    *handle = MPI_REQUEST_NULL;
    blocks_things[job_rank()]--;
}

int MPI_Send(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    struct request r = request_of(bytes, count, type, to, tag, true);
    (void)comm;
    request_begin(&r);
    return MPI_SUCCESS;
}

int MPI_Recv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    struct request r = request_of(bytes, count, type, from, tag, false);
    (void)comm;
    request_begin(&r);
    request_end(&r, status);
    return MPI_SUCCESS;
}

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
                 void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Status *status)
{
    (void)MPI_Send(sent, sent_count, sent_type, to, sent_tag, comm);
    return MPI_Recv(bytes, count, type, from, tag, comm, status);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *made)
{
    (void)comm;
    return request_new(request_of(bytes, count, type, to, tag, true), false, made);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *made)
{
    (void)comm;
    return request_new(request_of(bytes, count, type, from, tag, false), false, made);
}

int MPI_Send_init(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *made)
{
    (void)comm;
    return request_new(request_of(bytes, count, type, to, tag, true), true, made);
}

int MPI_Recv_init(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *made)
{
    (void)comm;
    return request_new(request_of(bytes, count, type, from, tag, false), true, made);
}

int MPI_Start(MPI_Request *handle)
{
    struct request *r = request_at(*handle);
    REQUIRE(r->persistent);
    request_begin(r);
    return MPI_SUCCESS;
}

int MPI_Startall(int count, MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        (void)MPI_Start(&handles[i]);
    }
    return MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    for (int i = 0; i < count; i++) {
        struct request *r = request_at(handles[i]);
        request_end(r, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
        if (!r->persistent) {
            request_forget(&handles[i]);
        }
    }
    return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    MPI_Status one;
    (void)status;
    return MPI_Waitall(1, handle, &one);
}

/* Sends are under way for a while; a sum is there when all ranks have asked for it. */
int MPI_Test(MPI_Request *handle, int *done, MPI_Status *status)
{
    struct request *r = request_at(*handle);
    (void)status;
    REQUIRE(r->sum || r->sends);
    job_spend(100.0);
    *done = r->sum ? r->sum->arrived == job_options()->ranks : r->looks++ > 2;
    if (!*done) {
        return MPI_SUCCESS;
    }
    if (r->sum) {
        memcpy(r->bytes, r->sum->totals, sizeof(r->sum->totals));
        if (++r->sum->taken == job_options()->ranks) {
            memset(r->sum, 0, sizeof(*r->sum));
        }
    }
    r->active = false;
    request_forget(handle);
    return MPI_SUCCESS;
}

/* It is in a member of the status that nobody needs. */
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    REQUIRE(type == MPI_BYTE);
    *count = status->MPI_TAG;
    return MPI_SUCCESS;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    const struct request r = request_of(NULL, 0, MPI_BYTE, from, tag, false);
    (void)comm;
    job_spend(100.0);
    const int at = letter_find(&r, job_now());
    *found = at >= 0;
    if (at >= 0) {
        status->MPI_SOURCE = letters[at].from;
        status->MPI_TAG = (int)letters[at].size;
    }
    return MPI_SUCCESS;
}

/* The nth that a rank asks for belongs to the nth of the others. */
int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *made)
{
    struct sum *sum = &sums[blocks_sums[job_rank()]++ % SUMS];
    struct request r = request_of(all, count, type, MPI_PROC_NULL, 0, false);
    (void)comm;
    REQUIRE(count == SUM_WORDS && type == MPI_INT64_T && op == MPI_SUM);
    for (int i = 0; i < SUM_WORDS; i++) {
        sum->totals[i] += ((const int64_t *)mine)[i];
    }
    sum->arrived++;
    r.sum = sum;
    return request_new(r, false, made);
}

int MPI_Request_free(MPI_Request *handle)
{
    request_forget(handle);
    return MPI_SUCCESS;
}
