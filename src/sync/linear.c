/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The linear algorithms, O(p): rank 0 is the reference of every process.
 *
 *   skampi: one offset for each process in turn (Worsch, Reussner, Augustin 2002).
 *   jk: Jones and Koenig 2013 as H18 describes it: lines, with the rank loop inside the fit-point
 *       loop, so that the points of every process span the whole synchronisation.
 */
#include "sync/algorithms.h"
#include "sync/measure.h"

#include "core/fit.h"

#include <stdlib.h>

struct linear_options {
    struct measure_options measure;
    int64_t fitpoints;
};

static const struct spec_param skampi_params[] = {
    MEASURE_PARAMS(struct linear_options, measure, "100"),
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/* Defaults: H18 III-C found 20 exchanges with SKaMPI's offsets to suffice for 1000 points. */
static const struct spec_param jk_params[] = {
    {"fitpoints", SPEC_INT, offsetof(struct linear_options, fitpoints), "1000", 2, 1000000, NULL,
     "number of offsets to which each line is fitted"},
    MEASURE_PARAMS(struct linear_options, measure, "20"),
    {NULL, SPEC_INT, 0, NULL, 0, 0, NULL, NULL}};

/* Measure the offset of one client, reference minus client. In known[], rank 0 records the
 * clients whose round trip has already been measured (H18 algorithm 8). */
static int linear_one_offset(struct measure *m, struct sync_run *run, int rank, int client,
                             int *known, struct offset *offset)
{
    if (rank == client) {
        return ictusi_measure_client(m, 0, offset);
    }
    m->rtt_peer = known[client];
    const int err = ictusi_measure_reference(m, client, &run->base);
    known[client] = m->rtt_peer;
    return err;
}

/*
 * The order of the loops lets the points of each line span the whole synchronisation. If the points
 * of a process were measured in a row, they would span 1/p of it, and the variance of a slope falls
 * with the square of the span.
 */
static int linear_measure_all(struct measure *m, struct sync_run *run, int64_t points, int *known)
{
    int rank = 0;
    int size = 0;
    int failed = ICTUS_OK;
    PMPI_Comm_rank(run->comm, &rank);
    PMPI_Comm_size(run->comm, &size);
    for (int i = 0; i < size; i++) {
        known[i] = -1;
    }
    for (int64_t k = 0; k < points; k++) {
        for (int client = 1; client < size; client++) {
            if (rank == 0 || rank == client) {
                const int err = linear_one_offset(m, run, rank, client, known, &m->points[k]);
                failed = failed ? failed : err;
            }
        }
    }
    if (rank && !failed) {
        failed = ictusi_fit_ols(m->points, (size_t)points, &run->line, &run->error);
        if (!failed) {
            ictusi_fit_admit_path(m->points, (size_t)points, &run->error);
        }
    }
    return failed;
}

/* This takes 2 * exchanges * points * (p - 1) messages, all of them through rank 0, so the time
 * grows linearly with p. It is implemented for comparison with published methods. */
static int linear_run(struct sync_run *run, const struct measure_options *options, int64_t points)
{
    struct measure m;
    struct line_error base = run->base_error;
    int size = 0;
    int rank = 0;
    PMPI_Comm_rank(run->comm, &rank);
    PMPI_Comm_size(run->comm, &size);
    run->line = run->base;
    run->error = run->base_error;
    int *known = malloc((size_t)size * sizeof(*known));
    int err = ictusi_sync_agree(run->comm, known ? ICTUS_OK : ICTUS_ERR_NOMEM, &run->why);
    if (!err) {
        err = ictusi_measure_init(&m, options, points, run);
    }
    if (err || !known) {
        free(known);
        return err;
    }
    err = linear_measure_all(&m, run, points, known);
    free(known);
    ictusi_measure_fini(&m, run);
    /* The reference's own error, moved to the present. */
    const double age_s = (double)(ictusi_source_read(run->source) - run->base.anchor) * 1e-9;
    base = ictusi_line_error_move(&base, age_s);
    if (PMPI_Bcast(&base, (int)sizeof(base), MPI_BYTE, 0, run->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (rank && !err) {
        run->error = ictusi_line_error_add(&run->error, &base);
    }
    return err;
}

static int skampi_run(struct sync *sync, struct sync_run *run)
{
    const struct linear_options *options = sync->options;
    return linear_run(run, &options->measure, 1);
}

static int jk_run(struct sync *sync, struct sync_run *run)
{
    const struct linear_options *options = sync->options;
    return linear_run(run, &options->measure, options->fitpoints);
}

const struct sync_ops ictusi_sync_skampi = {
    .name = "skampi",
    .summary = "offsets only, one process after the other (Worsch 2002)",
    .params = skampi_params,
    .options_size = sizeof(struct linear_options),
    .run = skampi_run,
};

const struct sync_ops ictusi_sync_jk = {
    .name = "jk",
    .summary = "lines, all processes in turn at each fit point (Jones 2013)",
    .params = jk_params,
    .options_size = sizeof(struct linear_options),
    .run = jk_run,
};
