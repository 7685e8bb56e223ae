/* SPDX-License-Identifier: BSD-3-Clause */
/* The counter that processes of one node share, as the mesh uses it. */
#include "sync/mesh_counter.h"

#include "clock/counter.h"

#include <math.h>
#include <stdlib.h>

enum {
    MEETINGS = 4, /* of two processes, until one succeeds; then more, to average them */
    LOOKS = 3     /* of one process, likewise */
};

/* A series of readings that was interrupted is repeated. It takes 20 us otherwise. */
static const double span_most_ns = 200e3;
/* Two processes meet again if they are less certain than this. */
static const double sigma_good_ns = 3.0;
/* A point for the rate is kept for at least this time, so that the rate is known to 1e-7. */
static const double rate_span_ns = 10e6;
/* But one that is so many times as uncertain as the next is not kept. */
static const double bad_ratio = 4.0;

void ictusi_mesh_counter_close(struct mesh_counter *counter)
{
    free(counter->names);
    counter->names = NULL;
}

bool ictusi_mesh_counter_shared(const struct mesh_counter *counter, int peer)
{
    return counter->names && counter->names[peer] &&
           counter->names[peer] == counter->names[counter->rank];
}

bool ictusi_mesh_counter_common(const struct mesh_counter *counter, int size)
{
    bool common = counter->names != NULL;
    for (int i = 0; i < size && common; i++) {
        common = ictusi_mesh_counter_shared(counter, i);
    }
    return common;
}

/* Read the clock, again if this was interrupted, and keep the best point. One that is unusable has
 * an infinite sigma. */
static struct calibration_point mesh_counter_look(struct mesh_counter *counter,
                                                  const struct source *source)
{
    struct calibration_reading readings[CALIBRATION_READINGS];
    struct calibration_point best = {.sigma_ns = INFINITY, .rate_sigma = INFINITY};
    const struct calibration_point *earlier = counter->begun ? &counter->earlier : NULL;
    double span_ns = INFINITY;
    for (int i = 0; i < LOOKS && span_ns > span_most_ns; i++) {
        struct calibration_point point;
        ictusi_counter_bracket(source, readings, CALIBRATION_READINGS);
        span_ns = (double)(readings[CALIBRATION_READINGS - 1].clock - readings[0].clock);
        if (!ictusi_calibration_point(readings, earlier, &point) &&
            point.sigma_ns < best.sigma_ns) {
            best = point;
        }
    }
    const bool old = earlier && fabs((double)(best.clock - earlier->clock)) > rate_span_ns;
    const bool bad = earlier && earlier->sigma_ns > bad_ratio * best.sigma_ns;
    if (best.sigma_ns < INFINITY && (!earlier || old || bad)) {
        counter->earlier = best;
        counter->begun = true;
    }
    return best;
}

int ictusi_mesh_counter_open(struct mesh_counter *counter, bool wanted, struct sync_run *run)
{
    const uint64_t mine = wanted ? ictusi_counter_name() : 0;
    uint64_t any = 0;
    int common = 0;
    int size = 0;
    PMPI_Comm_rank(run->comm, &counter->rank);
    PMPI_Comm_size(run->comm, &size);
    if (PMPI_Allreduce(&mine, &any, 1, MPI_UINT64_T, MPI_MAX, run->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (!any) {
        return ICTUS_OK;
    }
    counter->names = calloc((size_t)size, sizeof(*counter->names));
    int err = ictusi_sync_agree(run->comm, counter->names ? ICTUS_OK : ICTUS_ERR_NOMEM, &run->why);
    if (err) {
        return err;
    }
    if (PMPI_Allgather(&mine, 1, MPI_UINT64_T, counter->names, 1, MPI_UINT64_T, run->comm) !=
        MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    for (int i = 0; i < size; i++) {
        common += i != counter->rank && ictusi_mesh_counter_shared(counter, i);
    }
    err = PMPI_Allreduce(MPI_IN_PLACE, &common, 1, MPI_INT, MPI_MAX, run->comm);
    if (!common) {
        ictusi_mesh_counter_close(counter);
    } else if (!counter->begun) {
        (void)mesh_counter_look(counter, run->source);
    }
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/* Whether two processes meet once more: a few times until one meeting succeeds, and then while
 * there are room and time. */
static int meetings_again(const struct mesh_meetings *m, int64_t spent_ns)
{
    double least = INFINITY;
    for (int i = 0; i < m->count; i++) {
        least = fmin(least, ictusi_calibration_sigma(&m->seen[i]));
    }
    return least <= sigma_good_ns
               ? m->count < CALIBRATION_MEETINGS && (double)spent_ns < m->budget_s * 1e9
               : m->count < MEETINGS;
}

int ictusi_mesh_counter_meet(struct mesh_counter *counter, struct exchange *x, int peer, bool asks,
                             struct mesh_meetings *meetings)
{
    const int64_t began = ictusi_source_read(x->source);
    int again = 1;
    int err = ICTUS_OK;
    meetings->count = 0;
    while (again && !err) {
        struct calibration_pair now;
        if (asks) {
            now.client = mesh_counter_look(counter, x->source);
            err = ictusi_exchange_hear(x, peer, &now.server, sizeof(now.server));
            if (!err) {
                meetings->seen[meetings->count++] = now;
                again = meetings_again(meetings, ictusi_source_read(x->source) - began);
                err = ictusi_exchange_tell(x, peer, &again, sizeof(again));
            }
        } else {
            now.server = mesh_counter_look(counter, x->source);
            err = ictusi_exchange_tell(x, peer, &now.server, sizeof(now.server));
            err = err ? err : ictusi_exchange_hear(x, peer, &again, sizeof(again));
        }
    }
    return err;
}
