/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a simulated job under MPI's own names, see job_blocks.h. A receive does nothing until
 * it is waited for: who forgets to wait has no data. Messages to MPI_ANY_SOURCE are taken from the
 * highest rank first.
 */
#include "job_blocks.h"

#include "../check.h"

enum { REQUESTS = 512, POSTED = 4096, FIRST_REQUEST = 0x4000 };

struct letter {
    int from, to, tag;
    size_t size;
    unsigned char *packed;
};

struct request {
    bool used, sends, persistent, active;
    void *bytes;
    int count, peer, tag;
    MPI_Datatype type;
};

static struct letter letters[POSTED];
static int letter_count;
static struct request requests[REQUESTS];

static void letter_send(const struct request *r)
{
    REQUIRE(letter_count < POSTED);
    const size_t size = block_bytes(r->type, r->count);
    struct letter *letter = &letters[letter_count++];
    *letter = (struct letter){job_rank(), r->peer, r->tag, size, malloc(size + 1)};
    REQUIRE(letter->packed);
    block_pack(r->bytes, r->count, r->type, letter->packed);
    job_spend(100.0);
    job_wake(r->peer);
}

/* Of several senders the highest, of several letters the first. */
static int letter_find(const struct request *r)
{
    int found = -1;
    for (int i = letter_count - 1; i >= 0; i--) {
        const struct letter *l = &letters[i];
        if (l->to == job_rank() && l->tag == r->tag &&
            (r->peer == MPI_ANY_SOURCE ? found < 0 || l->from >= letters[found].from
                                       : l->from == r->peer)) {
            found = i;
        }
    }
    return found;
}

static void letter_take(const struct request *r, MPI_Status *status)
{
    int at = letter_find(r);
    while (at < 0) {
        job_block("a receive", r->peer);
        at = letter_find(r);
    }
    const struct letter letter = letters[at];
    memmove(&letters[at], &letters[at + 1], (size_t)(letter_count - at - 1) * sizeof(letters[0]));
    letter_count--;
    REQUIRE(letter.size == block_bytes(r->type, r->count));
    block_unpack(r->bytes, r->count, r->type, letter.packed);
    free(letter.packed);
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

int MPI_Request_free(MPI_Request *handle)
{
    request_forget(handle);
    return MPI_SUCCESS;
}
