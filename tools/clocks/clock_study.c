/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a study of bare local clocks. */
#include "clocks/clock_study.h"

#include "main/interrupt.h"
#include "main/results.h"

#include <ictus/clock.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int clock_study_open(struct clock_study *s, const char *clock, struct header_facts facts,
                     const struct results_options *results, const struct ictus_column *columns,
                     struct ictus_why *why)
{
    char sync[CLOCK_STUDY_SPEC_MAX];
    memset(s, 0, sizeof(*s));
    s->file = results->file;
    int err = ictus_clock_default(NULL, sync, sizeof(sync), s->clock, sizeof(s->clock), why);
    if (!err && clock) {
        (void)snprintf(s->clock, sizeof(s->clock), "%s", clock);
    }
    if (!err) {
        err = ictus_study_create(MPI_COMM_WORLD, s->clock, &s->study, why);
    }
    if (!err) {
        facts.clock = s->clock;
        err = results_open(results, columns, header_create(&facts), &s->out, why);
    }
    if (!err) {
        s->opened = true;
        interrupt_watch();
    }
    return err;
}

int clock_study_close(struct clock_study *s, int err, struct ictus_why *why)
{
    err = s->opened ? results_close(s->out, s->file, err, why) : err;
    ictus_study_free(s->study);
    return err;
}
