/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of collectives: calls that a thread has left, or begun, go to the tally. */
#include "tracer/counting.h"

#include "tracer/requests.h"

/* Where the bytes differ between members and calls they do not tell patterns apart. */
static bool op_varies(uint8_t op)
{
    return op == COLL_GATHERV || op == COLL_SCATTERV || op == COLL_ALLGATHERV ||
           op == COLL_ALLTOALLV || op == COLL_ALLTOALLW || op == COLL_REDUCE_SCATTER;
}

/*
 * What all its calls have in common is told by the first of them. NULL: no room. A site is a place
 * of the program, a communicator, a function and the bytes: each has a distribution of arrivals of
 * its own. Operations whose bytes vary by design have one for all sizes, or each step of an
 * adaptive program would fill another of the TALLY_SITES. The root is kept as long as all calls
 * agree on it.
 */
static struct tally_site *call_site(struct recorder *r, const struct counted *c)
{
    struct tally *t = &ictusi_tracer.tally;
    const uint8_t op = tally_what_op(c->what);
    const bool varies = op_varies(op);
    const struct tally_key key = {
        .place = tally_place((uint32_t)r->call[2], c->info->id),
        .what = tally_what(record_small(*r->call), op),
        .sent = varies ? 0 : c->sent,
        .received = varies ? 0 : c->received,
    };
    struct tally_site *site = tally_site(t, &key);
    if (!site) {
        __atomic_fetch_add(&t->image->full, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    if (site->calls == 0) {
        site->root = c->root;
        site->sent = c->sent;
        site->received = c->received;
    }
    site->root = site->root == c->root ? site->root : ROOT_NONE;
    return site;
}

/*
 * Every call has its number, counted or not: that is how processes know what they have in common.
 * number counts the collectives on this communicator: the k-th of one process is the k-th of every
 * other, because MPI requires one order. It is raised before any reason not to keep the call, as
 * those differ between processes.
 */
static void call_count(struct recorder *r, struct counted *c, uint64_t leave)
{
    struct trace_comm *info = c->info;
    if (__builtin_expect(info->remote >= 0, 0)) {
        __atomic_fetch_add(&ictusi_tracer.tally.image->inter, 1, __ATOMIC_RELAXED);
        return;
    }
    /* MPI allows one call at a time on a communicator. */
    const uint64_t number = ++info->calls;
    if (info->size < 2 || (r->after & (AFTER_MUTED | AFTER_HIDDEN))) {
        return;
    }
    if (__builtin_expect(!c->site, 0)) {
        c->site = call_site(r, c);
    }
    if (__builtin_expect(c->site != NULL, 1)) {
        tally_add(c->site, r->call[1], leave, number);
    }
}

void ictusi_tracer_count_coll(struct recorder *r)
{
    struct counted *c = r->counting;
    if (c) {
        const uint64_t *call = r->call;
        /* Closed in place, unless it took longer than a record can say. */
        call_count(r, c,
                   record_kind(*call) == RECORD_CALL ? call[1] + record_value(*call)
                                                     : recorder_ticks(r));
    }
}

void ictusi_tracer_count_icoll(struct recorder *r, const struct trace_request *made)
{
    if (made->comm) {
        struct counted c = {.what = tally_what(0, (uint8_t)made->peer),
                            .root = made->root,
                            .sent = made->sent,
                            .received = made->received,
                            .info = r->comm_info};
        call_count(r, &c, 0);
    }
}
