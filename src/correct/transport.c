/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the replay. A rank sends what it has when it runs out of work, or when a bundle
 * is full. That no message is in transit is detected by counting twice (Mattern 1987, four
 * counters): two rounds of sums in which everything sent has been received, and no sum has changed.
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

struct mpi_team *ictusi_transport_team(struct team *team)
{
    return container_of(team, struct mpi_team, team);
}

static int transport_checked(int code)
{
    return code == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * Reuse a bundle that has been sent, or make a new one; NULL: no memory. There are as many as were
 * ever in transit at the same time.
 */
static struct bundle *bundle_new(struct mpi_team *t)
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

/*
 * Send a bundle, with the epoch as the tag. A rank that learns early that a flow has ended may have
 * begun the next one; the tag keeps messages of the two apart.
 */
static int bundle_post(struct mpi_team *t, int rank)
{
    struct bundle *bundle = t->open[rank];
    t->open[rank] = NULL;
    t->sent += bundle->count;
    bundle->next = t->under_way;
    t->under_way = bundle;
    return transport_checked(MPI_Isend(bundle->messages,
                                       bundle->count * (int)sizeof *bundle->messages, MPI_BYTE,
                                       rank, t->epoch, t->comm, &bundle->request));
}

/*
 * Messages to one rank are collected, since each is much smaller than the cost of sending it alone.
 */
static int transport_send(struct team *team, uint32_t rank, const struct message *message)
{
    struct mpi_team *t = ictusi_transport_team(team);
    if (!t->open[rank]) {
        t->open[rank] = bundle_new(t);
        if (!t->open[rank]) {
            return ICTUS_ERR_NOMEM;
        }
    }
    struct bundle *bundle = t->open[rank];
    bundle->messages[bundle->count++] = *message;
    return bundle->count == BUNDLE ? bundle_post(t, (int)rank) : ICTUS_OK;
}

/* Reclaim bundles that have been sent. */
static int bundles_reclaim(struct mpi_team *t)
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

/*
 * No other thread receives on this communicator, so the message received is the one that was
 * probed. No message is longer than the inbox, which holds a bundle.
 */
static int transport_poll_once(struct mpi_team *t, struct flow *flow, bool *got)
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

static int transport_poll(struct team *team, struct flow *flow)
{
    struct mpi_team *t = ictusi_transport_team(team);
    bool got = true;
    int err = ICTUS_OK;
    while (got && !err) {
        err = transport_poll_once(t, flow, &got);
    }
    return err;
}

/*
 * When there is no work left, send what was collected, full or not, since other ranks may wait for
 * it.
 */
static int bundles_post(struct mpi_team *t)
{
    int err = ICTUS_OK;
    for (int i = 0; i < t->team.size && !err; i++) {
        if (t->open[i]) {
            err = bundle_post(t, i);
        }
    }
    return err ? err : bundles_reclaim(t);
}

/* The reduction works on copies, because both counts may grow while the round is in progress. */
static int transport_start_round(struct mpi_team *t, bool through)
{
    t->counts[0] = t->sent;
    t->counts[1] = t->received;
    t->counts[2] = through;
    t->counting = true;
    return transport_checked(
        MPI_Iallreduce(t->counts, t->totals, 3, MPI_INT64_T, MPI_SUM, t->comm, &t->round));
}

/* Called when a round is complete: whether it is the second of two that agree. */
static bool transport_is_quiet(struct mpi_team *t)
{
    const bool same = t->had_round && memcmp(t->totals, t->before, sizeof t->totals) == 0;
    memcpy(t->before, t->totals, sizeof t->before);
    t->had_round = true;
    t->counting = false;
    /*
     * One round is not enough. Its sums are taken at different moments, so it may count the receipt
     * of a message that was sent after its sender had been counted, while an older message is still
     * in transit. Counts only grow. So if two rounds agree, nothing happened between the end of the
     * first and the beginning of the second, and the sums belong to one moment.
     */
    return same && t->totals[0] == t->totals[1];
}

/*
 * If nothing has arrived for a while, leave the core to processes with work. Sleeping is better
 * than yielding: on an oversubscribed machine a process that yields waits for everybody's time
 * slice, while one that wakes up is scheduled first.
 */
static void transport_back_off(int tries)
{
    enum { SPINS = 128, NAP_NS = 20000 };
    const struct timespec nap = {0, NAP_NS};
    if (tries > SPINS) {
        (void)nanosleep(&nap, NULL);
    }
}

/*
 * Without work: send the bundles, take what arrives, and count. A round of counting is a
 * nonblocking Allreduce of (sent, received, through). Messages are still taken while it is in
 * progress, since others may wait for their effects.
 */
static int transport_idle(struct team *team, struct flow *flow, bool through, bool *quiet,
                          bool *finished)
{
    struct mpi_team *t = ictusi_transport_team(team);
    *quiet = false;
    for (int tries = 0;; tries += tries < INT_MAX) {
        bool got = false;
        int done = 0;
        int err = bundles_post(t);
        err = err ? err : transport_poll_once(t, flow, &got);
        if (err || got) {
            return err;
        }
        if (!t->counting) {
            err = transport_start_round(t, through);
        }
        err = err ? err : transport_checked(MPI_Test(&t->round, &done, MPI_STATUS_IGNORE));
        if (err) {
            return err;
        }
        if (done && transport_is_quiet(t)) {
            break;
        }
        transport_back_off(tries);
    }
    *quiet = true;
    *finished = t->totals[2] == t->team.size;
    t->had_round = false;
    if (*finished) {
        t->epoch = (t->epoch + 1) % EPOCHS;
    }
    return ICTUS_OK;
}

static int transport_exchange(struct team *team, struct flow *flow)
{
    return ictusi_crossings_exchange(&ictusi_transport_team(team)->crossings, flow);
}

/*
 * Two reductions: the least time, then the least location among those that have it. So all ranks
 * break a cycle at the same place, whatever their number.
 */
static int transport_least(struct team *team, int64_t *time, uint32_t *location)
{
    struct mpi_team *t = ictusi_transport_team(team);
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

int ictusi_transport_init(struct mpi_team *t, MPI_Comm comm)
{
    *t = (struct mpi_team){.team = {.send = transport_send,
                                    .poll = transport_poll,
                                    .idle = transport_idle,
                                    .exchange = transport_exchange,
                                    .least = transport_least},
                           .comm = comm,
                           .round = MPI_REQUEST_NULL};
    MPI_Comm_rank(comm, &t->team.rank);
    MPI_Comm_size(comm, &t->team.size);
    t->open = calloc((uint32_t)t->team.size + 1UL, sizeof(struct bundle *));
    t->inbox = malloc(BUNDLE * sizeof *t->inbox);
    return t->open && t->inbox ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* Bundles in transit belong to MPI until they have been sent. */
void ictusi_transport_fini(struct mpi_team *t)
{
    while (t->under_way) {
        (void)bundles_reclaim(t);
    }
    for (int i = 0; t->open && i < t->team.size; i++) {
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
