/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweeps of exchanges over the processes of a study, and what they show about nodes and links. */
#include "core/checkup.h"
#include "core/estimator.h"
#include "core/pairing.h"
#include "core/stats.h"
#include "exchange/exchange.h"
#include "study/study.h"
#include "sync/sync.h"
#include "sync/wait.h"

#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>

/* The first exchanges run with cold caches and a cold path, and are not used. */
enum { EXCHANGES = 12, WARM = 2 };

/* The state of one process. */
struct round_trip {
    struct ictus_study *study;
    struct pairing pairing;
    struct checkup_meeting *meetings; /* `slots` for each sweep */
    int slots;
    double span_s;
};

/*
 * Make one meeting as client. The offset is SKaMPI's (H18 algorithm 7). The round trip is the
 * median of the burst: a minimum would hide a link that is slow most of the time, and a mean would
 * accuse one that was slow once.
 */
static int checkup_meet(struct round_trip *t, int peer, struct checkup_meeting *m)
{
    struct exchange x = {
        .comm = t->study->comm, .source = t->study->source, .crowded = t->study->crowded};
    struct stamp stamps[EXCHANGES];
    struct offset found;
    double rtts[EXCHANGES - WARM];
    const int err = ictusi_exchange_ping(&x, peer, EXCHANGES, stamps);
    if (err || ictusi_estimator_offset_skampi(stamps + WARM, EXCHANGES - WARM, &found)) {
        return err; /* without an offset the meeting stays empty */
    }
    for (int i = WARM; i < EXCHANGES; i++) {
        rtts[i - WARM] = (double)(stamps[i].received - stamps[i].sent);
    }
    ictusi_stats_sort(rtts, EXCHANGES - WARM);
    *m = (struct checkup_meeting){t->study->rank, peer, found.at, found.offset,
                                  ictusi_stats_quantile(rtts, EXCHANGES - WARM, 0.5)};
    return ICTUS_OK;
}

/* Make all rounds of one sweep, as client or server. */
static int checkup_sweep(struct round_trip *t, int k)
{
    struct exchange x = {
        .comm = t->study->comm, .source = t->study->source, .crowded = t->study->crowded};
    const struct line bare = ictusi_line_identity();
    struct checkup_meeting *m = t->meetings + (size_t)k * (size_t)t->slots;
    int err = ICTUS_OK;
    /*
     * In each round a process meets at most one other, and both know which one without a message. A
     * sweep of r rounds thus takes the time of r bursts, however many processes there are.
     */
    for (int r = 0; r < t->pairing.rounds && !err; r++) {
        const int peer = ictusi_pairing_partner(&t->pairing, r, t->study->rank);
        if (peer >= 0 && ictusi_pairing_asks(&t->pairing, r, t->study->rank)) {
            err = checkup_meet(t, peer, m++);
        } else if (peer >= 0) {
            err = ictusi_exchange_pong(&x, peer, EXCHANGES, &bare);
        }
    }
    return err;
}

/* Draw the pairs of all rounds, and allocate the meetings in which this process is the client. */
static int checkup_prepare(struct round_trip *t, int rounds)
{
    /* The seed is the same on all processes and in all sweeps. The judge compares what a pair
     * showed in three sweeps, so the pairs must be the same ones in the same order. */
    int err = ictusi_pairing_create(t->study->size, rounds, 1, &t->pairing);
    err = ictusi_sync_agree(t->study->comm, err, NULL);
    for (int r = 0; !err && r < t->pairing.rounds; r++) {
        t->slots += ictusi_pairing_asks(&t->pairing, r, t->study->rank);
    }
    /* Processes are clients in different numbers of rounds. MPI_Gather() requires equal counts,
     * so all use the largest number. Surplus slots stay empty. */
    if (!err && MPI_Allreduce(MPI_IN_PLACE, &t->slots, 1, MPI_INT, MPI_MAX, t->study->comm) !=
                    MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    /* One more is allocated, because malloc(0) may return NULL although memory is left. */
    const size_t room = (size_t)t->slots * CHECKUP_SWEEPS;
    t->meetings = err ? NULL : malloc((room + 1) * sizeof(*t->meetings));
    /* Meetings that do not take place or fail keep server = -1, and the judge leaves them out. */
    for (size_t i = 0; t->meetings && i < room; i++) {
        t->meetings[i] = (struct checkup_meeting){.client = t->study->rank, .server = -1};
    }
    const int mine = err ? err : t->meetings ? ICTUS_OK : ICTUS_ERR_NOMEM;
    return ictusi_sync_agree(t->study->comm, mine, NULL);
}

/* At the root: sort all meetings by sweep and judge them. */
static int checkup_judge_all(const struct round_trip *t, const struct checkup_meeting *all,
                             const struct checkup_limits *limits, struct checkup *out)
{
    const size_t slots = (size_t)t->slots;
    const size_t pairs = slots * (size_t)t->study->size;
    struct checkup_meeting *sorted = malloc((CHECKUP_SWEEPS * pairs + 1) * sizeof(*sorted));
    if (!sorted) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < (size_t)t->study->size; i++) {
        for (size_t k = 0; k < CHECKUP_SWEEPS; k++) {
            for (size_t s = 0; s < slots; s++) {
                /* gathered by process, sweep, slot; judged by sweep, process, slot */
                sorted[k * pairs + i * slots + s] = all[(i * CHECKUP_SWEEPS + k) * slots + s];
            }
        }
    }
    const int err = ictusi_checkup(sorted, pairs, t->study->size, limits, out);
    free(sorted);
    return err;
}

/* Gather the meetings of all processes at rank 0 and judge them there. */
static int checkup_gather(struct round_trip *t, const struct checkup_limits *limits,
                          struct checkup *out)
{
    const size_t mine = (size_t)t->slots * CHECKUP_SWEEPS;
    const int bytes = (int)(mine * sizeof(*t->meetings));
    const bool root = t->study->rank == 0;
    struct checkup_meeting *all =
        root ? malloc((mine * (size_t)t->study->size + 1) * sizeof(*all)) : NULL;
    int err = ictusi_sync_agree(t->study->comm, !root || all ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    if (!err && MPI_Gather(t->meetings, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, t->study->comm) !=
                    MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    if (!err && all) {
        err = checkup_judge_all(t, all, limits, out);
    }
    free(all);
    return ictusi_sync_agree(t->study->comm, err, NULL);
}

/* Copy the findings to the public structure: times in ns, drifts as ratios. */
static int checkup_publish(const struct checkup *found, struct ictus_checkup *out)
{
    out->nodes = calloc((size_t)out->node_count, sizeof(*out->nodes));
    out->links = calloc(found->links + 1, sizeof(*out->links));
    if (!out->nodes || !out->links) {
        return ICTUS_ERR_NOMEM;
    }
    for (int i = 0; i < out->node_count; i++) {
        const struct checkup_process *p = &found->process[i];
        out->nodes[i] =
            (struct ictus_node_check){p->rtt_ns, p->drift, p->step_ns, p->worst, p->faults};
    }
    for (size_t i = 0; i < found->links; i++) {
        const struct checkup_link *l = &found->link[i];
        out->links[i] = (struct ictus_link_check){l->a, l->b, l->rtt_ns, l->expected_ns, l->worst};
    }
    out->link_count = found->links;
    out->pair_count = found->pairs;
    out->usual_rtt_ns = found->usual_rtt_ns;
    out->drift_spread = found->drift_spread;
    return ICTUS_OK;
}

static int checkup_run(struct round_trip *t, const struct checkup_limits *limits, int rounds,
                       struct ictus_checkup *out)
{
    struct checkup found = {.pairs = 0};
    int err = checkup_prepare(t, rounds);
    const int64_t start = ictusi_source_read(t->study->source);
    int failed = ICTUS_OK;
    for (int k = 0; k < CHECKUP_SWEEPS && !err; k++) {
        /*
         * The sweeps are evenly spread over the span. They begin at about the same instants on all
         * processes, because these left the preparation together. The longer the distance of the
         * sweeps, the better they show a drift: its error is that of an offset divided by the
         * distance.
         */
        const double then_s = t->span_s * k / (CHECKUP_SWEEPS - 1);
        (void)ictusi_sync_wait_until(t->study->source, start + (int64_t)(then_s * 1e9),
                                     t->study->crowded);
        failed = failed ? failed : checkup_sweep(t, k);
    }
    /* A process that failed in one sweep takes part in the next one, because its peers wait for
     * answers. Errors are therefore agreed on only afterwards. */
    err = err ? err : ictusi_sync_agree(t->study->comm, failed, NULL);
    err = err ? err : checkup_gather(t, limits, &found);
    out->duration_s = (double)(ictusi_source_read(t->study->source) - start) * 1e-9;
    if (!err && found.process) {
        err = checkup_publish(&found, out);
    }
    ictusi_checkup_free(&found);
    return ictusi_sync_agree(t->study->comm, err, NULL);
}

int ictus_study_checkup(struct ictus_study *study, const struct ictus_checkup_plan *plan,
                        struct ictus_checkup **out, struct ictus_why *why)
{
    if (!study || !plan || !out) {
        return ICTUS_ERR_ARG;
    }
    if (study->size < CHECKUP_SIZE_MIN) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "a checkup needs at least %d nodes to tell which one is faulty, but "
                             "this job has only %d",
                             CHECKUP_SIZE_MIN, study->size);
    }
    const struct checkup_limits limits = {plan->slow, plan->drift, plan->step_ns};
    struct round_trip t = {.study = study, .span_s = plan->span_s};
    struct ictus_checkup *made = calloc(1, sizeof(*made));
    int err = ictusi_sync_agree(study->comm, made ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    if (!err && made) {
        made->node_count = study->size;
        err = checkup_run(&t, &limits, plan->rounds, made);
    }
    ictusi_pairing_free(&t.pairing);
    free(t.meetings);
    if (err) {
        ictus_checkup_free(made);
        return err;
    }
    *out = made;
    return ICTUS_OK;
}

void ictus_checkup_free(struct ictus_checkup *checkup)
{
    if (checkup) {
        free(checkup->nodes);
        free(checkup->links);
        free(checkup);
    }
}
