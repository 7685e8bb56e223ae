/* SPDX-License-Identifier: BSD-3-Clause */
/* The timestamp exchange over MPI point-to-point messages. */
#include "exchange/exchange.h"

#include <ictus/error.h>

#include <sched.h>

#if defined(ICTUS_SIMGRID)
#include "exchange/burst.h"
#endif

/* Tags on the private communicator. */
enum { TAG_REQUEST = 1, TAG_REPLY, TAG_WORDS };

/* A request carries the client's stamp and a flag that is 1 if a reply is wanted. The reply has
 * the same length, because a longer request would take longer and look like an offset. */
enum { REQUEST_WORDS = 2 };

static int error_translate(int mpi_error)
{
    return mpi_error == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

static int exchange_send_words(struct exchange *x, int peer, int tag, const int64_t *words, int n)
{
    x->messages++;
    return x->synchronous ? PMPI_Ssend(words, n, MPI_INT64_T, peer, tag, x->comm)
                          : PMPI_Send(words, n, MPI_INT64_T, peer, tag, x->comm);
}

/* A blocking receive spins in most MPI libraries. If processes outnumber cores, the peer that
 * should send may be waiting for this very core. */
static int exchange_receive_patiently(struct exchange *x, int peer, int tag, void *buffer, int n,
                                      MPI_Datatype type)
{
    MPI_Request request;
    int done = 0;
    int err = PMPI_Irecv(buffer, n, type, peer, tag, x->comm, &request);
    while (err == MPI_SUCCESS && !done) {
        err = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            (void)sched_yield();
        }
    }
    /* The loop ends with a true MPI_Test, which the checker does not see. */
    return err; /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker) */
}

static int exchange_receive(struct exchange *x, int peer, int tag, void *buffer, int n,
                            MPI_Datatype type)
{
    return x->crowded ? exchange_receive_patiently(x, peer, tag, buffer, n, type)
                      : PMPI_Recv(buffer, n, type, peer, tag, x->comm, MPI_STATUS_IGNORE);
}

static int exchange_receive_words(struct exchange *x, int peer, int tag, int64_t *words, int n)
{
    return exchange_receive(x, peer, tag, words, n, MPI_INT64_T);
}

/*
 * The stamps are taken as close to the messages as a portable program can get. MPI's own code
 * between a stamp and the wire is part of the delay. If it takes equally long on both sides, it
 * cancels in offset = remote - (sent + received) / 2. Otherwise its difference appears as
 * asymmetry.
 */
static int ping_once(struct exchange *x, int peer, struct stamp *stamp)
{
    stamp->sent = ictusi_source_read(x->source);
    int err = exchange_send_words(x, peer, TAG_REQUEST, &stamp->sent, 1);
    if (err == MPI_SUCCESS) {
        err = exchange_receive_words(x, peer, TAG_REPLY, &stamp->remote, 1);
    }
    stamp->received = ictusi_source_read(x->source);
    return err;
}

int ictusi_exchange_ping(struct exchange *x, int peer, size_t n, struct stamp *stamps)
{
    int err = MPI_SUCCESS;
    x->started += n;
#if defined(ICTUS_SIMGRID)
    if (ictusi_burst_possible(x, n)) {
        return error_translate(ictusi_burst_ping(x, peer, n, stamps));
    }
#endif
    for (size_t i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = ping_once(x, peer, &stamps[i]);
    }
    return error_translate(err);
}

/*
 * The clock is read immediately before the reply is sent. Any time that the server spends between
 * the arrival of the request and its reply is therefore visible to the client as round-trip time.
 */
int ictusi_exchange_pong(struct exchange *x, int peer, size_t n, const struct line *line)
{
    int err = MPI_SUCCESS;
#if defined(ICTUS_SIMGRID)
    if (ictusi_burst_possible(x, n)) {
        return error_translate(ictusi_burst_pong(x, peer, n, line));
    }
#endif
    for (size_t i = 0; i < n && err == MPI_SUCCESS; i++) {
        int64_t request = 0;
        err = exchange_receive_words(x, peer, TAG_REQUEST, &request, 1);
        if (err == MPI_SUCCESS) {
            const int64_t reply = ictusi_line_map(line, ictusi_source_read(x->source));
            err = exchange_send_words(x, peer, TAG_REPLY, &reply, 1);
        }
    }
    return error_translate(err);
}

/* The last request asks for no reply. It only releases the server. */
int ictusi_exchange_ping_until(struct exchange *x, int peer, size_t max, struct netgauge *rule)
{
    int err = MPI_SUCCESS;
    bool over = false;
    for (size_t i = 0; !over && err == MPI_SUCCESS; i++) {
        struct stamp stamp = {ictusi_source_read(x->source), 0, 0};
        int64_t request[REQUEST_WORDS] = {stamp.sent, 1};
        int64_t reply[REQUEST_WORDS] = {0, 0};
        err = exchange_send_words(x, peer, TAG_REQUEST, request, REQUEST_WORDS);
        if (err == MPI_SUCCESS) {
            err = exchange_receive_words(x, peer, TAG_REPLY, reply, REQUEST_WORDS);
        }
        stamp.received = ictusi_source_read(x->source);
        stamp.remote = reply[0];
        x->started++;
        over = ictusi_estimator_netgauge_add(rule, &stamp) || i + 1 == max;
    }
    const int64_t stop[REQUEST_WORDS] = {0, 0};
    return error_translate(
        err == MPI_SUCCESS ? exchange_send_words(x, peer, TAG_REQUEST, stop, REQUEST_WORDS) : err);
}

int ictusi_exchange_pong_until(struct exchange *x, int peer, const struct line *line)
{
    for (;;) {
        int64_t request[REQUEST_WORDS] = {0, 0};
        int err = exchange_receive_words(x, peer, TAG_REQUEST, request, REQUEST_WORDS);
        if (err != MPI_SUCCESS || !request[1]) {
            return error_translate(err);
        }
        const int64_t reply[REQUEST_WORDS] = {ictusi_line_map(line, ictusi_source_read(x->source)),
                                              0};
        err = exchange_send_words(x, peer, TAG_REPLY, reply, REQUEST_WORDS);
        if (err != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
    }
}

int ictusi_exchange_tell(struct exchange *x, int peer, const void *bytes, size_t size)
{
    x->messages++;
    return error_translate(PMPI_Send(bytes, (int)size, MPI_BYTE, peer, TAG_WORDS, x->comm));
}

int ictusi_exchange_hear(struct exchange *x, int peer, void *bytes, size_t size)
{
    return error_translate(exchange_receive(x, peer, TAG_WORDS, bytes, (int)size, MPI_BYTE));
}
