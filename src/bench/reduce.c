/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions over the ranks (H08 section 1.2: the ways to make one number of many). */
#include "bench/reduce.h"

#include "sync/sync.h"

#include <stdlib.h>
#include <string.h>

const char *const ictus_reduction_names[] = {"max",      "mean", "min",  "root",
                                             "makespan", "exit", "wait", NULL};

/*
 * The place of this process among all that measure. The call itself may be on a group of them only.
 */
struct place {
    int rank, size;
};

/*
 * scheme->comm has all processes that start together. call->comm may be one of several groups
 * within it.
 */
static struct place reduce_place_of(const struct scheme *scheme)
{
    struct place place;
    MPI_Comm_rank(scheme->comm, &place.rank);
    MPI_Comm_size(scheme->comm, &place.size);
    return place;
}

/* Columns that are combined by MPI_MAX, each with one word for each repetition. */
enum { MAX_TIME, MAX_MINUS_TIME, MAX_STOP, MAX_MINUS_START, MAX_ARRIVAL, MAX_INVALID, MAX_COLUMNS };

struct columns {
    int64_t *max;  /* MAX_COLUMNS times n */
    int64_t *sum;  /* n: times */
    int64_t *root; /* n: the times of the root, after the reduction on rank 0 */
    int64_t *wait; /* n: time within the call until the last arrival */
    int64_t *all;  /* the one allocation that holds all columns */
};

/*
 * Columns of n words; column c of repetition i is at c n + i. Each column is contiguous, so one
 * reduction can combine all of them.
 */
static int columns_init(struct columns *c, int64_t n)
{
    c->all = calloc((size_t)(n * (MAX_COLUMNS + 3)), sizeof(*c->all));
    c->max = c->all;
    c->sum = c->all + n * MAX_COLUMNS;
    c->root = c->sum + n;
    c->wait = c->root + n;
    return c->all ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

static void batch_fill(struct columns *c, const struct sample *samples, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        const int64_t time = s->stop - s->start;
        const int64_t begin = s->has_common ? s->common : s->begin;
        c->max[MAX_TIME * n + i] = time;
        /*
         * A minimum is the negative of the maximum of the negatives, so one reduction serves all
         * columns. The makespan, last exit minus first start, is then the sum of two columns.
         */
        c->max[MAX_MINUS_TIME * n + i] = -time;
        c->max[MAX_STOP * n + i] = s->end;
        c->max[MAX_MINUS_START * n + i] = -begin;
        c->max[MAX_ARRIVAL * n + i] = s->begin;
        c->max[MAX_INVALID * n + i] = !s->valid || s->late;
        c->sum[i] = time;
        c->root[i] = time;
    }
}

/*
 * How long each process waited inside its call for the last process to arrive, as `ictus waits`
 * defines it:
 *       wait = min(last arrival - own arrival, length of the own call),   ns on the global clock
 *
 * It is limited by the length of the call, because a process that has left (from a rooted
 * operation) waits no longer.
 */
static void batch_wait(struct columns *c, const struct sample *samples, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        const int64_t late = c->max[MAX_ARRIVAL * n + i] - s->begin;
        c->wait[i] = late < s->end - s->begin ? late : s->end - s->begin;
    }
}

/*
 * The root's times go to rank 0 by a sum to which the other processes contribute zeros. With
 * several groups they are those of the first group, whose processes have the lowest ranks of all.
 */
static int batch_combine(struct columns *c, const struct scheme *scheme, const struct call *call,
                         const struct sample *samples, int64_t n)
{
    const int rank = reduce_place_of(scheme).rank;
    const int count = (int)n;
    if (rank != call->root) {
        memset(c->root, 0, (size_t)n * sizeof(*c->root));
    }
    int err = MPI_Allreduce(MPI_IN_PLACE, c->max, count * MAX_COLUMNS, MPI_INT64_T, MPI_MAX,
                            scheme->comm);
    if (err == MPI_SUCCESS) {
        /*
         * The waits are known only after the last arrival is. Sum, root and wait are contiguous and
         * go in one reduction.
         */
        batch_wait(c, samples, n);
        err = MPI_Reduce(rank ? c->sum : MPI_IN_PLACE, c->sum, 3 * count, MPI_INT64_T, MPI_SUM, 0,
                         scheme->comm);
    }
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * The capacity is at least doubled, so that the total cost of appending is proportional to the
 * number of samples.
 */
static int collection_reserve(struct collection *all, int64_t wanted, int processes)
{
    if (wanted <= all->capacity) {
        return ICTUS_OK;
    }
    const int64_t capacity = wanted > 2 * all->capacity ? wanted : 2 * all->capacity;
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        double *grown = realloc(all->values[r], (size_t)capacity * sizeof(*grown));
        if (!grown) {
            return ICTUS_ERR_NOMEM;
        }
        all->values[r] = grown;
    }
    if (all->keep_ranks) {
        const size_t bytes = (size_t)capacity * (size_t)processes * sizeof(double);
        double *grown = realloc(all->ranks_s, bytes);
        if (!grown) {
            return ICTUS_ERR_NOMEM;
        }
        all->ranks_s = grown;
    }
    all->capacity = capacity;
    return ICTUS_OK;
}

/*
 * max, mean, min, root: of stop - start, which are local readings of one process each
 *
 *       makespan = last exit - first start,   exit = last exit - last arrival,   on the global
 * clock
 *
 * Differences are taken as integers, since a double that holds nanoseconds since 1970 is off by up
 * to 128 ns.
 */
static void collection_append(struct collection *all, const struct columns *c, int64_t n, int64_t i,
                              int processes)
{
    const int64_t makespan = c->max[MAX_STOP * n + i] + c->max[MAX_MINUS_START * n + i];
    all->values[ICTUS_REDUCE_MAX][all->n] = 1e-9 * (double)c->max[MAX_TIME * n + i];
    all->values[ICTUS_REDUCE_MEAN][all->n] = 1e-9 * (double)c->sum[i] / processes;
    all->values[ICTUS_REDUCE_MIN][all->n] = -1e-9 * (double)c->max[MAX_MINUS_TIME * n + i];
    all->values[ICTUS_REDUCE_ROOT][all->n] = 1e-9 * (double)c->root[i];
    all->values[ICTUS_REDUCE_MAKESPAN][all->n] = 1e-9 * (double)makespan;
    all->values[ICTUS_REDUCE_EXIT][all->n] =
        1e-9 * (double)(c->max[MAX_STOP * n + i] - c->max[MAX_ARRIVAL * n + i]);
    all->values[ICTUS_REDUCE_WAIT][all->n] = 1e-9 * (double)c->wait[i];
}

static void reduce_append_ranks(struct collection *all, const double *table, int64_t n, int64_t i,
                                int processes)
{
    for (int rank = 0; table && rank < processes; rank++) {
        all->ranks_s[all->n * processes + rank] = table[n + rank * n + i];
    }
}

/*
 * The times of every process, rank by rank; NULL if the plan does not ask for them. To save a
 * second buffer, the gather writes after the process's own times. Rank 0 needs more memory than the
 * others, so all agree first that the allocation succeeded.
 */
static int reduce_gather_ranks(const struct scheme *scheme, const struct collection *all,
                               const struct sample *samples, int64_t n, double **table)
{
    if (!all->keep_ranks) {
        return ICTUS_OK;
    }
    const struct place place = reduce_place_of(scheme);
    const size_t rows = place.rank == 0 ? (size_t)place.size + 1 : 1;
    /* A process's own times come first. On rank 0 the times of process p begin at (p + 1) n. */
    double *times = calloc(rows * (size_t)n, sizeof(*times));
    int err = ictusi_sync_agree(scheme->comm, times ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    for (int64_t i = 0; i < n && !err; i++) {
        times[i] = 1e-9 * (double)(samples[i].stop - samples[i].start);
    }
    if (!err && MPI_Gather(times, (int)n, MPI_DOUBLE, times + n, (int)n, MPI_DOUBLE, 0,
                           scheme->comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    *table = times;
    return err;
}

/*
 * Every process counts the valid repetitions from the same reduced column, so all know how many are
 * left without another message.
 */
int ictusi_reduce_batch(const struct scheme *scheme, const struct call *call,
                        const struct sample *samples, int64_t n, struct collection *all)
{
    const struct place place = reduce_place_of(scheme);
    struct columns c = {.all = NULL};
    int err = columns_init(&c, n);
    if (!err && place.rank == 0) {
        err = collection_reserve(all, all->n + n, place.size);
    }
    err = ictusi_sync_agree(scheme->comm, err, NULL);
    double *table = NULL;
    if (!err) {
        batch_fill(&c, samples, n);
        err = batch_combine(&c, scheme, call, samples, n);
    }
    if (!err) {
        err = reduce_gather_ranks(scheme, all, samples, n, &table);
    }
    for (int64_t i = 0; i < n && !err; i++) {
        /*
         * One process was late. The times of the others depend on when it arrived, so the
         * repetition is dropped on all.
         */
        if (c.max[MAX_INVALID * n + i]) {
            all->invalid++;
            continue;
        }
        if (place.rank == 0) {
            collection_append(all, &c, n, i, place.size);
            reduce_append_ranks(all, table, n, i, place.size);
        }
        all->n++;
    }
    free(table);
    free(c.all);
    return err;
}

void ictusi_reduce_collection_fini(struct collection *all)
{
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        free(all->values[r]);
    }
    free(all->ranks_s);
    memset(all, 0, sizeof(*all));
}
