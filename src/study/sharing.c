/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the processes that read the same clock: by what their sources promise and by their
 * readings. */
#include "core/estimator.h"
#include "core/spec.h"
#include "exchange/exchange.h"
#include "study/study.h"
#include "sync/sync.h"

#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS = 10 };

struct named {
    uint64_t name;
    int rank;
};

static int sharing_compare_named(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    /* Ordered by rank within a name, because sharing_first_of_each() takes the first of each run
     * as leader. */
    if (x->name != y->name) {
        return x->name < y->name ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* For each rank, find the lowest rank with the same name. */
static void sharing_first_of_each(const struct named *sorted, int n, int *first)
{
    int leader = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || sorted[i].name != sorted[i - 1].name) {
            leader = sorted[i].rank;
        }
        first[sorted[i].rank] = leader;
    }
}

/* For every rank, find the lowest rank with the same name. Collective. */
static int sharing_gather_first(const struct ictus_study *study, uint64_t name, int *first)
{
    const size_t n = (size_t)study->size;
    uint64_t *names = calloc(n, sizeof(*names));
    struct named *sorted = calloc(n, sizeof(*sorted));
    int err = ictusi_sync_agree(study->comm, names && sorted ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    if (!err) {
        const int sent = MPI_Allgather(&name, 1, MPI_UINT64_T, names, 1, MPI_UINT64_T, study->comm);
        err = sent == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
    }
    if (!err) {
        for (size_t i = 0; i < n; i++) {
            sorted[i] = (struct named){names[i], (int)i};
        }
        qsort(sorted, n, sizeof(*sorted), sharing_compare_named);
        sharing_first_of_each(sorted, study->size, first);
    }
    free(names);
    free(sorted);
    return err;
}

static int sharing_count_leaders(const int *first, int n)
{
    int leaders = 0;
    for (int i = 0; i < n; i++) {
        leaders += first[i] == i;
    }
    return leaders;
}

/*
 * Find out whether exchanges with the leader leave room for an offset of zero. If both processes
 * read one clock, the true offset is 0, and every exchange contains it within its round trip. Ten
 * exchanges suffice, because this test need not be accurate: it detects clocks that clearly differ.
 */
static int sharing_agrees(struct exchange *x, int leader, bool *agree)
{
    struct stamp stamps[CHECKS];
    struct offset offset;
    int err = ictusi_exchange_ping(x, leader, CHECKS, stamps);
    if (!err) {
        *agree = ictusi_estimator_offset_skampi(stamps, CHECKS, &offset) == ICTUS_OK &&
                 /* The half-width is a hard limit, so jitter cannot make a shared clock fail. */
                 fabs((double)offset.offset + offset.frac) <= offset.half_width_ns;
    }
    return err;
}

/* Every member of a group exchanges with the group's first process, which answers one after the
 * other. */
static int sharing_check_readings(const struct ictus_study *study, const int *first, bool *agree)
{
    struct exchange x = {.comm = study->comm, .source = study->source, .crowded = study->crowded};
    const struct line bare = ictusi_line_identity();
    int err = ICTUS_OK;
    *agree = true;
    if (first[study->rank] != study->rank) {
        return sharing_agrees(&x, first[study->rank], agree);
    }
    /*
     * A leader is the lowest rank of its group, so all members have higher ranks, and it serves
     * them in the order of their ranks. Each member waits for its turn in its first exchange, so
     * none can overtake.
     */
    for (int i = study->rank + 1; i < study->size && !err; i++) {
        if (first[i] == study->rank) {
            err = ictusi_exchange_pong(&x, i, CHECKS, &bare);
        }
    }
    return err;
}

/* Find the node, that is the processes that share memory. It is named by its lowest rank. */
static int sharing_node_of(const struct ictus_study *study)
{
    MPI_Comm node = MPI_COMM_NULL;
    int lowest = study->rank;
    if (MPI_Comm_split_type(study->comm, MPI_COMM_TYPE_SHARED, study->rank, MPI_INFO_NULL, &node) ==
        MPI_SUCCESS) {
        MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node);
        MPI_Comm_free(&node);
    }
    return lowest;
}

/* Equal identities have equal hashes. Two different ones have equal hashes with a probability of
 * 2^-64 for each pair. The exchanges would detect that, because they would contradict it. */
static uint64_t sharing_promised_name(const struct ictus_study *study)
{
    char text[SOURCE_IDENTITY_MAX] = "";
    study->source->ops->identify(study->source, text, sizeof(text));
    /* A process whose source promises nothing is in a group of its own. */
    return text[0] ? ictusi_spec_hash(text) : (uint64_t)study->rank;
}

static int sharing_count_names(const struct ictus_study *study, uint64_t name, int *scratch,
                               int *count)
{
    const int err = sharing_gather_first(study, name, scratch);
    *count = err ? 0 : sharing_count_leaders(scratch, study->size);
    return err;
}

static int sharing_find_groups(const struct ictus_study *study, int *first,
                               struct ictus_sharing *out)
{
    char kernel[SOURCE_IDENTITY_MAX];
    bool agree = true;
    ictusi_source_kernel_identity(kernel, sizeof(kernel));
    int err = sharing_count_names(study, ictusi_spec_hash(kernel), first, &out->kernels);
    if (!err) {
        err = sharing_gather_first(study, sharing_promised_name(study), first);
    }
    if (!err) {
        err = ictusi_sync_agree(study->comm, sharing_check_readings(study, first, &agree), NULL);
    }
    if (err) {
        return err;
    }
    out->contradicted = agree ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &out->contradicted, 1, MPI_INT, MPI_SUM, study->comm);
    /*
     * A process whose readings contradict its group forms a group of its own. If two processes
     * disagree, it is unknown which one differs. The group of the first process is kept, because
     * all that agree with it also agree with each other.
     */
    const int leader = agree ? first[study->rank] : study->rank;
    const int node = sharing_node_of(study);
    /* There is one clock for each node, neither more nor fewer, if on every process the leader
     * of the clock is the leader of the node. */
    int same = leader == node;
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, study->comm);
    out->per_node = same != 0;
    err = sharing_count_names(study, (uint64_t)node, first, &out->nodes);
    if (!err) {
        err = sharing_count_names(study, (uint64_t)leader, first, &out->groups);
    }
    for (int i = 0; i < first[study->rank] && !err; i++) {
        /* Groups are numbered in the order of their first processes. The number of a group is
         * therefore the number of leaders with lower ranks than its own. */
        out->group += first[i] == i;
    }
    return err;
}

int ictus_study_sharing(struct ictus_study *study, struct ictus_sharing *out, struct ictus_why *why)
{
    if (!study || !out) {
        return ictus_because(why, ICTUS_ERR_ARG, "sharing needs a study");
    }
    struct ictus_sharing found = {0};
    int *first = calloc((size_t)study->size, sizeof(*first));
    int err = ictusi_sync_agree(study->comm, first ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    if (!err) {
        err = sharing_find_groups(study, first, &found);
    }
    free(first);
    if (!err) {
        *out = found;
    }
    return err;
}
