/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges with a scripted peer: how many there are, and what ends them. */
#include "exchange/exchange.h"

#include "../check.h"

#include <ictus/error.h>
#include <sched.h>

enum { REQUEST = 1, REPLY = 2, PEER = 3, LENGTH_MAX = 2 }; /* the tags of exchange.c */

/*
 * The peer, and what it has seen from this process; both read one clock, which each reading
 * advances.
 */
static struct {
    int64_t now;
    int asks;         /* requests that it still makes if this process is the server */
    int fails;        /* this message from now on cannot be sent or received; 0: none */
    int sent;         /* messages that this process sent */
    int synchronous;  /* those sent by a synchronous send */
    int patient;      /* messages that were waited for without blocking */
    int delay;        /* tests until such a message is there */
    int looks, rests; /* unsuccessful tests, and yields of the core */
    int64_t *awaited; /* where that message goes, and how it arrives */
    int awaited_words, awaited_tag;
    int lengths[2];            /* of the last message sent, and received */
    int64_t words[LENGTH_MAX]; /* of the last message sent */
    int64_t answered;          /* contents of the last reply */
} peer;

static int64_t peer_clock(const struct source *source)
{
    (void)source;
    return ++peer.now;
}

static const struct source_ops peer_ops = {.name = "peer", .read = peer_clock};
static const struct source peer_source = {&peer_ops};

static int peer_hears(const void *words, int n, int to, int tag)
{
    CHECK(to == PEER && (tag == REQUEST || tag == REPLY) && n >= 1 && n <= LENGTH_MAX);
    if (peer.fails && --peer.fails == 0) {
        return MPI_ERR_OTHER;
    }
    memset(peer.words, 0, sizeof(peer.words));
    memcpy(peer.words, words, sizeof(int64_t) * (size_t)n);
    peer.lengths[0] = n;
    peer.sent++;
    return MPI_SUCCESS;
}

/* A reply with its time, or a request; the one after the last says that it is over. */
static int peer_says(int64_t *words, int n, int from, int tag)
{
    CHECK(from == PEER && (tag == REQUEST || tag == REPLY) && n >= 1 && n <= LENGTH_MAX);
    if (peer.fails && --peer.fails == 0) {
        return MPI_ERR_OTHER;
    }
    peer.answered = peer_clock(NULL);
    words[0] = peer.answered;
    if (n > 1) {
        words[1] = tag == REQUEST ? peer.asks-- > 0 : 0;
    }
    peer.lengths[1] = n;
    return MPI_SUCCESS;
}

int PMPI_Send(const void *words, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)type;
    (void)comm;
    return peer_hears(words, n, to, tag);
}

int PMPI_Ssend(const void *words, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)type;
    (void)comm;
    peer.synchronous++;
    return peer_hears(words, n, to, tag);
}

int PMPI_Recv(void *words, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    (void)type;
    (void)comm;
    (void)status;
    return peer_says(words, n, from, tag);
}

int PMPI_Irecv(void *words, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    (void)type;
    (void)comm;
    CHECK(from == PEER && !peer.awaited);
    *request = MPI_REQUEST_NULL;
    peer.patient++;
    peer.delay = 3;
    peer.awaited = words;
    peer.awaited_words = n;
    peer.awaited_tag = tag;
    return MPI_SUCCESS;
}

int PMPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    (void)request;
    (void)status;
    *done = peer.delay == 0;
    if (peer.delay > 0) {
        peer.delay--;
        peer.looks++;
        return MPI_SUCCESS;
    }
    int64_t *words = peer.awaited;
    peer.awaited = NULL;
    return peer_says(words, peer.awaited_words, PEER, peer.awaited_tag);
}

/* Replaces that of the C library, which could not be observed. */
int sched_yield(void)
{
    peer.rests++;
    return 0;
}

static struct exchange exchange_new(void)
{
    const struct exchange x = {.comm = MPI_COMM_NULL, .source = &peer_source};
    memset(&peer, 0, sizeof(peer));
    return x;
}

/*
 * Netgauge's burst ends at its maximum, however much there would be to gain, and the peer is told.
 */
static void bursts_stop_at_their_maximum(void)
{
    for (size_t max = 1; max <= 5; max++) {
        struct exchange x = exchange_new();
        struct netgauge rule = ictusi_estimator_netgauge_begin(1000);
        CHECK(ictusi_exchange_ping_until(&x, PEER, max, &rule) == ICTUS_OK);
        CHECK(x.started == max && x.messages == max + 1);
        CHECK(peer.sent == (int)max + 1 && peer.words[1] == 0);
    }
}

/* It ends earlier once this many exchanges in a row were no better than the best. */
static void bursts_stop_when_content(void)
{
    struct exchange x = exchange_new();
    struct netgauge rule = ictusi_estimator_netgauge_begin(3);
    CHECK(ictusi_exchange_ping_until(&x, PEER, 100, &rule) == ICTUS_OK);
    CHECK(x.started == 4 && rule.unimproved == 3);
    CHECK(peer.words[1] == 0);
    /* The first was as good as any: sent, answered and received, in this order. */
    CHECK(rule.best.sent == 1 && rule.best.remote == 2 && rule.best.received == 3);
    /* Messages of unequal length there and back would look like an offset. */
    CHECK(peer.lengths[0] == peer.lengths[1]);
}

static void pairs_are_counted_and_ordered(void)
{
    struct stamp stamps[4];
    struct exchange x = exchange_new();
    CHECK(ictusi_exchange_ping(&x, PEER, 4, stamps) == ICTUS_OK);
    CHECK(x.started == 4 && x.messages == 4 && peer.sent == 4);
    for (int i = 0; i < 4; i++) {
        CHECK(stamps[i].sent < stamps[i].remote && stamps[i].remote < stamps[i].received);
        CHECK(i == 0 || stamps[i].sent > stamps[i - 1].received);
    }
    CHECK(peer.lengths[0] == peer.lengths[1]);
    CHECK(peer.synchronous == 0 && peer.patient == 0);
}

/* A server answers with the reading of its line until it is told that the exchange is over. */
static void servers_answer_by_their_line(void)
{
    const struct line line = ictusi_line_make(0, 5000, 0.0, 0.0);
    struct exchange x = exchange_new();
    CHECK(ictusi_exchange_pong(&x, PEER, 3, &line) == ICTUS_OK);
    CHECK(peer.sent == 3 && x.messages == 3 && x.started == 0);
    CHECK(peer.words[0] == peer.answered + 1 + 5000);
    CHECK(peer.lengths[0] == peer.lengths[1]);
    x = exchange_new();
    peer.asks = 6;
    CHECK(ictusi_exchange_pong_until(&x, PEER, &line) == ICTUS_OK);
    CHECK(peer.sent == 6 && x.messages == 6);
    CHECK(peer.words[0] == peer.now - 1 + 5000); /* read before it was told that it is over */
    CHECK(peer.lengths[0] == peer.lengths[1]);
}

/* Nothing blocks where cores are scarce, and sends are synchronous if the algorithm wants that. */
static void ways_are_followed(void)
{
    struct stamp stamps[3];
    struct exchange x = exchange_new();
    x.crowded = true;
    x.synchronous = true;
    CHECK(ictusi_exchange_ping(&x, PEER, 3, stamps) == ICTUS_OK);
    CHECK(peer.patient == 3 && peer.synchronous == 3);
    /* A message that is not there yet is tested for again, and its sender may need this core. */
    CHECK(!peer.awaited && peer.looks == 9 && peer.rests == peer.looks);
    CHECK(stamps[2].remote == peer.answered && stamps[2].received > stamps[2].remote);
}

/* Whichever message fails, the exchange ends there with an MPI error and sends nothing more. */
static void failures_end_it(void)
{
    const struct line line = ictusi_line_identity();
    for (int i = 1; i <= 6; i++) {
        struct stamp stamps[3];
        struct netgauge rule = ictusi_estimator_netgauge_begin(1000);
        struct exchange x = exchange_new();
        peer.fails = i;
        CHECK(ictusi_exchange_ping(&x, PEER, 3, stamps) == ICTUS_ERR_MPI);
        CHECK(peer.fails == 0 && peer.sent == i / 2);
        x = exchange_new();
        peer.fails = i;
        CHECK(ictusi_exchange_ping_until(&x, PEER, 3, &rule) == ICTUS_ERR_MPI);
        CHECK(peer.fails == 0 && peer.sent == i / 2);
        x = exchange_new();
        peer.fails = i;
        CHECK(ictusi_exchange_pong(&x, PEER, 3, &line) == ICTUS_ERR_MPI);
        CHECK(peer.fails == 0 && peer.sent == (i - 1) / 2);
        x = exchange_new();
        peer.fails = i;
        peer.asks = 3;
        CHECK(ictusi_exchange_pong_until(&x, PEER, &line) == ICTUS_ERR_MPI);
        CHECK(peer.fails == 0 && peer.sent == (i - 1) / 2);
    }
}

int main(void)
{
    bursts_stop_at_their_maximum();
    bursts_stop_when_content();
    pairs_are_counted_and_ordered();
    servers_answer_by_their_line();
    ways_are_followed();
    failures_end_it();
    return check_result();
}
