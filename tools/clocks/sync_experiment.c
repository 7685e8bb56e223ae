/* SPDX-License-Identifier: BSD-3-Clause */
/* Running one experiment of ictus sync. */
#include "clocks/sync_experiment.h"

#include "main/interrupt.h"
#include "main/meet.h"

#include <ictus/clock.h>
#include <ictus/study.h>
#include <math.h>
#include <stdlib.h>

/* A normally distributed error lies within this many standard deviations in 95 of 100 cases. */
#define SIGMAS_95 1.959964
/*
 * Truth and clocks have a resolution of a nanosecond, so a claimed error of exactly zero may be off
 * by that much. A claim that is larger contains it.
 */
#define ROUNDING_NS 1.0

uint64_t sync_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/*
 * Whether this rank is in the sample: `wanted` of the ranks 1..size-1, drawn alike on all ranks
 * without a list (selection sampling, Knuth 2, 3.4.2 S).
 */
static bool sync_experiment_is_sampled(int rank, int size, double share, uint64_t seed)
{
    int left = size - 1;
    int wanted = (int)ceil(share * left);
    wanted = wanted < 1 ? 1 : wanted;
    for (int i = 1; i < size && wanted > 0; i++, left--) {
        const bool taken = sync_random(&seed) % (uint64_t)left < (uint64_t)wanted;
        if (i == rank) {
            return taken;
        }
        wanted -= taken ? 1 : 0;
    }
    return false;
}

static int sync_experiment_gather_raw(MPI_Comm comm, const struct ictus_clock_error *mine, int rank,
                                      int size, struct sync_quality *q)
{
    const double error = mine->known ? mine->error_ns : NAN;
    int enough = 1;
    if (rank == 0) {
        q->errors_ns = calloc((size_t)size, sizeof(*q->errors_ns));
        enough = q->errors_ns != NULL;
    }
    MPI_Bcast(&enough, 1, MPI_INT, 0, comm);
    if (!enough) {
        return ICTUS_ERR_NOMEM;
    }
    MPI_Gather(&error, 1, MPI_DOUBLE, q->errors_ns, 1, MPI_DOUBLE, 0, comm);
    return ICTUS_OK;
}

static int error_gather(MPI_Comm comm, const struct ictus_clock *clock,
                        const struct ictus_clock_error *mine, bool raw, struct sync_quality *q)
{
    int rank = 0;
    int size = 0;
    double unseen_ns = 0.0;
    (void)ictus_clock_unseen(clock, &unseen_ns);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const double error = mine->known ? fabs(mine->error_ns) : 0.0;
    const bool counts = mine->known && rank > 0;
    const bool inside = error <= fmax(SIGMAS_95 * mine->sigma_ns, ROUNDING_NS);
    enum { HIGHEST = 6 };
    const double high[HIGHEST] = {
        error, mine->sigma_ns, mine->bound_ns, mine->half_width_ns, mine->path_ns, unseen_ns};
    const double sum[3] = {counts ? 1.0 : 0.0, counts ? error * error : 0.0,
                           counts && inside ? 1.0 : 0.0};
    double most[HIGHEST] = {0};
    double total[3] = {0};
    MPI_Reduce(high, most, HIGHEST, MPI_DOUBLE, MPI_MAX, 0, comm);
    MPI_Reduce(sum, total, 3, MPI_DOUBLE, MPI_SUM, 0, comm);
    q->max_error_ns = most[0];
    q->max_sigma_ns = most[1];
    q->max_bound_ns = most[2];
    q->half_width_ns = most[3];
    q->max_path_ns = most[4];
    q->max_unseen_ns = most[5];
    q->checked = (int)total[0];
    q->rms_error_ns = total[0] > 0.0 ? sqrt(total[1] / total[0]) : 0.0;
    q->covered = total[0] > 0.0 ? total[2] / total[0] : NAN;
    return raw ? sync_experiment_gather_raw(comm, mine, rank, size, q) : ICTUS_OK;
}

/*
 * Judge after every wait. The future of a simulated clock is known, so nobody has to wait for it.
 */
static int clock_judge(MPI_Comm comm, const struct ictus_clock *clock, const struct judging *how,
                       bool truth, struct sync_quality *qualities, size_t *judged)
{
    const struct ictus_time end = ictus_clock_local(clock);
    const double end_s = meet_now_s();
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const bool asked = sync_experiment_is_sampled(rank, size, how->sample, how->seed);
    for (size_t i = 0; i < how->wait_count; i++) {
        const double wait_s = how->waits[i];
        struct ictus_clock_error mine;
        int err = ICTUS_OK;
        if (truth) {
            err = ictus_clock_true_error(clock, ictus_time_add(end, (int64_t)llrint(wait_s * 1e9)),
                                         &mine);
            mine.known = asked || rank == 0;
        } else {
            const double last_s = fmax(1e-9, how->waits[how->wait_count - 1]);
            const double before_s = i > 0 ? how->waits[i - 1] : 0.0;
            meet_sleep_telling(end_s + wait_s, how->progress, how->done + before_s / last_s,
                               (wait_s - before_s) / last_s, how->label);
            int told = interrupt_here();
            MPI_Allreduce(MPI_IN_PLACE, &told, 1, MPI_INT, MPI_MAX, comm);
            if (told) {
                return ICTUS_OK;
            }
            err = ictus_clock_measured_error(clock, asked, how->exchanges, &mine);
        }
        if (!err) {
            qualities[i] = (struct sync_quality){.wait_s = wait_s};
            err = error_gather(comm, clock, &mine, how->raw, &qualities[i]);
        }
        if (err) {
            return err;
        }
        *judged = i + 1;
    }
    return ICTUS_OK;
}

static void sync_experiment_add_up(MPI_Comm comm, const struct ictus_clock *clock,
                                   struct sync_cost *cost)
{
    struct ictus_sync_stats stats;
    (void)ictus_clock_stats(clock, &stats);
    uint64_t counts[2] = {stats.exchanges, stats.messages};
    cost->duration_s = stats.duration_s;
    MPI_Allreduce(MPI_IN_PLACE, &cost->duration_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UINT64_T, MPI_SUM, comm);
    cost->exchanges = counts[0];
    cost->messages = counts[1];
}

int sync_experiment_run(MPI_Comm comm, const char *spec, const struct judging *how,
                        struct sync_cost *cost, struct sync_quality *qualities, size_t *judged,
                        struct ictus_why *why)
{
    struct ictus_clock *clock = NULL;
    *judged = 0;
    int err = ictus_clock_create_why(comm, spec, &clock, why);
    if (err) {
        return err;
    }
    err = ictus_clock_has_truth(clock, &cost->truth);
    if (!err) {
        err = clock_judge(comm, clock, how, cost->truth, qualities, judged);
    }
    sync_experiment_add_up(comm, clock, cost);
    ictus_clock_free(clock);
    return err;
}
