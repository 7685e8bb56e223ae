/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of collectives: adds the calls that a thread has left or begun to the tally. */
#include "tracer/counting.h"

#include "core/operands.h"
#include "tracer/requests.h"

/* Whether the bytes differ between members and calls, and so do not distinguish patterns. */
static bool op_varies(uint8_t op)
{
    return op == COLL_GATHERV || op == COLL_SCATTERV || op == COLL_ALLGATHERV ||
           op == COLL_ALLTOALLV || op == COLL_ALLTOALLW || op == COLL_REDUCE_SCATTER;
}

/*
 * The site of a call. Its first call determines what all its calls have in common. NULL: no room. A
 * site is a place in the program, a communicator, a function and the number of bytes, each with its
 * own distribution of arrivals. Operations whose bytes vary by design have one site for all sizes,
 * because otherwise each step of an adaptive program would use up another of the TALLY_SITES. The
 * root is kept while all calls agree on it.
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
        site->operands = c->operands;
        site->sent = c->sent;
        site->received = c->received;
    }
    site->root = site->root == c->root ? site->root : ROOT_NONE;
    site->operands = ictusi_operands_common((uint32_t)site->operands, c->operands);
    return site;
}

/*
 * Every call on a communicator gets a number, whether it is counted or not: the k-th call of one
 * process is the k-th of every other, because MPI requires the same order. This is how rows of
 * different processes are matched. The number is advanced before anything that may exclude a call,
 * because such reasons differ between processes.
 */
static void call_count(struct recorder *r, struct counted *c, uint64_t leave)
{
    struct trace_comm *info = c->info;
    if (__builtin_expect(info->remote >= 0, 0)) {
        __atomic_fetch_add(&ictusi_tracer.tally.image->inter, 1, __ATOMIC_RELAXED);
        return;
    }
    /* MPI allows one collective call at a time on a communicator. */
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
        /* The record was closed in place, unless the call took longer than a record can hold. */
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
                            .operands = made->operands,
                            .sent = made->sent,
                            .received = made->received,
                            .info = r->comm_info};
        call_count(r, &c, 0);
    }
}
