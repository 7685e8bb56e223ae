/* SPDX-License-Identifier: BSD-3-Clause */
/* SimGrid's own time as a source, only in the build for `ictus simulate`. Reading it takes no
 * simulated time. */
#include "clock/sources.h"

#include <ictus/text.h>

#include <math.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>

/* The engine's seconds are a double, which is exact to 1 ns for the first 50 days of simulated
 * time. The reading is rounded down, as that of a counter would be. */
static int64_t simgrid_read(const struct source *source)
{
    (void)source;
    return (int64_t)floor(simgrid_get_clock() * 1e9);
}

/* A simulation has a single time. */
static void simgrid_identify(const struct source *source, char *text, size_t size)
{
    (void)source;
    (void)snprintf(text, size, "simgrid");
}

static void simgrid_free(struct source *source)
{
    free(source);
}

static int simgrid_open(const struct spec *spec, const struct source_place *place,
                        struct source **source, struct ictus_why *why)
{
    (void)spec;
    (void)place;
    (void)why;
    struct source *simgrid = calloc(1, sizeof(*simgrid));
    if (!simgrid) {
        return ICTUS_ERR_NOMEM;
    }
    simgrid->ops = &ictusi_source_simgrid;
    *source = simgrid;
    return ICTUS_OK;
}

const struct source_ops ictusi_source_simgrid = {
    .name = "simgrid",
    .summary = "the simulation's own time, the same in all processes",
    .check = ictusi_source_check_bare,
    .open = simgrid_open,
    .read = simgrid_read,
    .identify = simgrid_identify,
    .free = simgrid_free,
};
