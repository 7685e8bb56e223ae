/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of collectives: what the records of the call that a thread has just left say goes to
 * the tally, and the records are forgotten.
 */
#include "tracer/collective.h"

/* What a call does. */
struct traffic_of {
    uint64_t op, root, sent, received;
};

/* Where the bytes differ between members and calls they do not tell patterns apart. */
static bool op_varies(uint64_t op)
{
    return op == COLL_GATHERV || op == COLL_SCATTERV || op == COLL_ALLGATHERV ||
           op == COLL_ALLTOALLV || op == COLL_ALLTOALLW || op == COLL_REDUCE_SCATTER;
}

/* Every call has its number, counted or not: that is how processes know what they have in common.
 */
static void call_count(struct recorder *r, const struct traffic_of *moved, uint64_t leave)
{
    struct tally *t = &ictusi_tracer.tally;
    struct trace_comm *comm = r->comm_info;
    if (comm->remote >= 0) {
        __atomic_fetch_add(&t->image->inter, 1, __ATOMIC_RELAXED);
        return;
    }
    /* MPI allows one call at a time on a communicator. */
    const uint64_t number = ++comm->calls;
    if (comm->size < 2 || (r->after & (AFTER_MUTED | AFTER_HIDDEN))) {
        return;
    }
    const bool varies = op_varies(moved->op);
    const struct tally_key key = {
        .place = tally_place((uint32_t)r->call[2], comm->id),
        .what = tally_what(record_small(*r->call), (uint8_t)moved->op),
        .sent = varies ? 0 : moved->sent,
        .received = varies ? 0 : moved->received,
    };
    struct tally_site *site = tally_site(t, &key);
    if (__builtin_expect(!site, 0)) {
        __atomic_fetch_add(&t->image->full, 1, __ATOMIC_RELAXED);
        return;
    }
    if (__builtin_expect(site->calls == 0, 0)) {
        site->root = moved->root;
        site->sent = moved->sent;
        site->received = moved->received;
    }
    site->root = site->root == moved->root ? site->root : ROOT_NONE;
    tally_add(site, r->call[1], leave, number);
}

void ictusi_tracer_count_coll(struct recorder *r)
{
    const uint64_t *call = r->call;
    const uint64_t *p = call + record_words(*call);
    /* Closed in place, unless it took longer than a record can say. */
    const uint64_t leave =
        record_kind(*call) == RECORD_CALL ? call[1] + record_value(*call) : recorder_ticks(r);
    p += record_kind(*p) == RECORD_SENDERS ? record_words(*p) : 0;
    if (record_kind(*p) == RECORD_COLL && p < r->pos) {
        const struct traffic_of moved = {record_small(*p), record_value(*p), p[2], p[3]};
        call_count(r, &moved, leave);
    }
}

void ictusi_tracer_count_icoll(struct recorder *r, const struct trace_request *made)
{
    if (made->comm) {
        const struct traffic_of moved = {(unsigned)made->peer, made->root, made->sent,
                                         made->received};
        call_count(r, &moved, 0);
    }
}
