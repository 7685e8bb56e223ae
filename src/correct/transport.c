/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replay's messages. A rank sends what it has when it runs out of work or a bundle is full.
 * That nothing is under way any more is found by counting twice (Mattern 1987, four counters): two
 * rounds of sums in which all that was sent has been received, and no sum has changed.
 */
#include "correct/transport.h"

#include "core/container.h"

#include <ictus/error.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): requests live in bundles */

enum { EPOCHS = 16384 }; /* tags in use; MPI guarantees 32767 */

static struct mpi_transport *self(struct transport *transport)
{
    return container_of(transport, struct mpi_transport, transport);
}

static int checked(int code)
{
    return code == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

static struct bundle *new_bundle(struct mpi_transport *t)
{
    struct bundle *bundle = t->spare;
    if (bundle) {
        t->spare = bundle->next;
    } else {
        bundle = malloc(sizeof *bundle);
    }
    if (bundle) {
        bundle->count = 0;
        bundle->next = NULL;
    }
    return bundle;
}

static int post(struct mpi_transport *t, int rank)
{
    struct bundle *bundle = t->open[rank];
    t->open[rank] = NULL;
    t->sent += bundle->count;
    bundle->next = t->under_way;
    t->under_way = bundle;
    return checked(MPI_Isend(bundle->messages, bundle->count * (int)sizeof *bundle->messages,
                             MPI_BYTE, rank, t->epoch, t->comm, &bundle->request));
}

static int send_message(struct transport *transport, uint32_t rank, const struct message *message)
{
    struct mpi_transport *t = self(transport);
    if (!t->open[rank]) {
        t->open[rank] = new_bundle(t);
        if (!t->open[rank]) {
            return ICTUS_ERR_NOMEM;
        }
    }
    struct bundle *bundle = t->open[rank];
    bundle->messages[bundle->count++] = *message;
    return bundle->count == BUNDLE ? post(t, (int)rank) : ICTUS_OK;
}

/* Bundles that have arrived can be used again. */
static int reclaim(struct mpi_transport *t)
{
    for (struct bundle **at = &t->under_way; *at;) {
        int done = 0;
        if (MPI_Test(&(*at)->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return ICTUS_ERR_MPI;
        }
        if (!done) {
            at = &(*at)->next;
            continue;
        }
        struct bundle *bundle = *at;
        *at = bundle->next;
        bundle->next = t->spare;
        t->spare = bundle;
    }
    return ICTUS_OK;
}

static int poll_once(struct mpi_transport *t, struct flow *flow, bool *got)
{
    int there = 0;
    int bytes = 0;
    MPI_Status status;
    *got = false;
    if (MPI_Iprobe(MPI_ANY_SOURCE, t->epoch, t->comm, &there, &status) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (!there) {
        return ICTUS_OK;
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (MPI_Recv(t->inbox, bytes, MPI_BYTE, status.MPI_SOURCE, t->epoch, t->comm,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const int count = bytes / (int)sizeof *t->inbox;
    int err = ICTUS_OK;
    t->received += count;
    *got = true;
    for (int i = 0; i < count && !err; i++) {
        err = ictusi_flow_receive(flow, &t->inbox[i]);
    }
    return err;
}

static int poll_messages(struct transport *transport, struct flow *flow)
{
    struct mpi_transport *t = self(transport);
    bool got = true;
    int err = ICTUS_OK;
    while (got && !err) {
        err = poll_once(t, flow, &got);
    }
    return err;
}

static int post_all(struct mpi_transport *t)
{
    int err = ICTUS_OK;
    for (int i = 0; i < t->size && !err; i++) {
        if (t->open[i]) {
            err = post(t, i);
        }
    }
    return err ? err : reclaim(t);
}

static int start_round(struct mpi_transport *t, bool through)
{
    t->counts[0] = t->sent;
    t->counts[1] = t->received;
    t->counts[2] = through;
    t->counting = true;
    return checked(
        MPI_Iallreduce(t->counts, t->totals, 3, MPI_INT64_T, MPI_SUM, t->comm, &t->round));
}

/* A round is complete: is it the second of two that agree? */
static bool is_quiet(struct mpi_transport *t)
{
    const bool same = t->had_round && memcmp(t->totals, t->before, sizeof t->totals) == 0;
    memcpy(t->before, t->totals, sizeof t->before);
    t->had_round = true;
    t->counting = false;
    return same && t->totals[0] == t->totals[1];
}

/*
 * Nothing came: leave the core to those who have something to do. Sleeping, not yielding: on a
 * crowded machine who yields waits for everybody's time slice, and who wakes goes first.
 */
static void back_off(int tries)
{
    enum { SPINS = 128, NAP_NS = 20000 };
    const struct timespec nap = {0, NAP_NS};
    if (tries > SPINS) {
        (void)nanosleep(&nap, NULL);
    }
}

static int idle(struct transport *transport, struct flow *flow, bool through, bool *quiet,
                bool *finished)
{
    struct mpi_transport *t = self(transport);
    *quiet = false;
    for (int tries = 0;; tries += tries < INT_MAX) {
        bool got = false;
        int done = 0;
        int err = post_all(t);
        err = err ? err : poll_once(t, flow, &got);
        if (err || got) {
            return err;
        }
        if (!t->counting) {
            err = start_round(t, through);
        }
        err = err ? err : checked(MPI_Test(&t->round, &done, MPI_STATUS_IGNORE));
        if (err) {
            return err;
        }
        if (done && is_quiet(t)) {
            break;
        }
        back_off(tries);
    }
    *quiet = true;
    *finished = t->totals[2] == t->size;
    t->had_round = false;
    if (*finished) {
        t->epoch = (t->epoch + 1) % EPOCHS;
    }
    return ICTUS_OK;
}

static int exchange(struct transport *transport, struct flow *flow)
{
    return ictusi_crossings_exchange(&self(transport)->crossings, flow);
}

static int sum(struct transport *transport, uint64_t *value)
{
    return checked(
        MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_UINT64_T, MPI_SUM, self(transport)->comm));
}

static int least(struct transport *transport, int64_t *time, uint32_t *location)
{
    struct mpi_transport *t = self(transport);
    int64_t first = 0;
    int64_t where = 0;
    if (MPI_Allreduce(time, &first, 1, MPI_INT64_T, MPI_MIN, t->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    int64_t mine = *time == first ? (int64_t)*location : INT64_MAX;
    if (MPI_Allreduce(&mine, &where, 1, MPI_INT64_T, MPI_MIN, t->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    *time = first;
    *location = (uint32_t)where;
    return ICTUS_OK;
}

int ictusi_transport_init(struct mpi_transport *t, MPI_Comm comm)
{
    *t = (struct mpi_transport){
        .transport = {send_message, poll_messages, idle, exchange, sum, least},
        .comm = comm,
        .round = MPI_REQUEST_NULL};
    MPI_Comm_rank(comm, &t->rank);
    MPI_Comm_size(comm, &t->size);
    t->open = calloc((uint32_t)t->size + 1UL, sizeof(struct bundle *));
    t->inbox = malloc(BUNDLE * sizeof *t->inbox);
    return t->open && t->inbox ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_transport_fini(struct mpi_transport *t)
{
    while (t->under_way) {
        (void)reclaim(t);
    }
    for (int i = 0; t->open && i < t->size; i++) {
        free(t->open[i]);
    }
    for (struct bundle *b = t->spare, *next = NULL; b; b = next) {
        next = b->next;
        free(b);
    }
    free(t->open);
    free(t->inbox);
    ictusi_crossings_fini(&t->crossings);
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
