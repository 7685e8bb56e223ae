/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Wtime as a source: the time as reported by the MPI library or by a tool in front of it. It
 * calls MPI_Wtime and not PMPI_Wtime, so that a tool which skews or replaces the clock is seen and
 * can be synchronised.
 */
#include "clock/sources.h"

#include <ictus/text.h>

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* MPI_Wtime returns seconds as a double. If they count from 1970, a reading resolves 238 ns. If
 * they count from boot, it resolves 1 ns for the first 50 days. */
static int64_t wtime_read(const struct source *source)
{
    (void)source;
    return (int64_t)llrint(MPI_Wtime() * 1e9);
}

static void wtime_identify(const struct source *source, char *text, size_t size)
{
    (void)source;
    int *global = NULL;
    int found = 0;
    /* MPI does not say which clock it reads. Only its promise MPI_WTIME_IS_GLOBAL makes the
     * clocks of two processes the same one. */
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, (void *)&global, &found);
    (void)snprintf(text, size, "%s", found && *global ? "MPI_WTIME_IS_GLOBAL" : "");
}

static void wtime_free(struct source *source)
{
    free(source);
}

static int wtime_open(const struct spec *spec, const struct source_place *place,
                      struct source **source, struct ictus_why *why)
{
    (void)spec;
    (void)place;
    int up = 0;
    MPI_Initialized(&up);
    if (!up) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "clock 'wtime' needs MPI to be initialised");
    }
    struct source *wtime = calloc(1, sizeof(*wtime));
    if (!wtime) {
        return ICTUS_ERR_NOMEM;
    }
    wtime->ops = &ictusi_source_wtime;
    *source = wtime;
    return ICTUS_OK;
}

const struct source_ops ictusi_source_wtime = {
    .name = "wtime",
    .summary = "MPI_Wtime of the MPI library",
    .check = ictusi_source_check_bare,
    .open = wtime_open,
    .read = wtime_read,
    .identify = wtime_identify,
    .free = wtime_free,
};
