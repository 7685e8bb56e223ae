/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of bare local clocks with its output: what rtt and drift open and close alike. */
#ifndef ICTUS_TOOLS_CLOCK_STUDY_H
#define ICTUS_TOOLS_CLOCK_STUDY_H

#include "main/header.h"
#include "main/results.h"

#include <ictus/result.h>
#include <ictus/study.h>
#include <stdbool.h>

enum { CLOCK_STUDY_SPEC_MAX = 1024 };

struct clock_study {
    struct ictus_study *study;
    struct ictus_output *out; /* NULL but on rank 0 */
    bool opened;
    const char *file;                 /* asked for, or NULL */
    char clock[CLOCK_STUDY_SPEC_MAX]; /* the source under study */
};

/*
 * Collective. clock: asked for, or NULL for the default. facts names the command and its options;
 * its clock is filled in. Release with clock_study_close(), whatever this returns.
 */
int clock_study_open(struct clock_study *s, const char *clock, struct header_facts facts,
                     const struct results_options *results, const struct ictus_column *columns,
                     struct ictus_why *why);

/* Collective. err: how the study went. @return err, or how closing the output went */
int clock_study_close(struct clock_study *s, int err, struct ictus_why *why);

#endif
