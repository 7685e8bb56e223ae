/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the study of every measuring command has besides what it measures: the clock that was asked
 * for, the results it writes, and how far it is. Rank 0 writes, and every rank hears how it went.
 */
#ifndef ICTUS_TOOLS_STUDY_BASE_H
#define ICTUS_TOOLS_STUDY_BASE_H

#include "main/clock_spec.h"
#include "main/header.h"
#include "main/progress.h"
#include "main/results.h"

struct study_base {
    const char *command; /* its name, for what is said of it */
    const struct results_options *results;
    const struct progress_options *talk;
    struct clock_spec clock_text;
    const char *clock;        /* "SYNC@SOURCE"; NULL: the default */
    struct ictus_output *out; /* rank 0 only */
    struct progress progress;
    double done; /* of what progress counts */
};

/* Local. sync and clock: as given, NULL for the default. The options must outlive the study. */
void study_base_init(struct study_base *base, const char *command,
                     const struct results_options *results, const struct progress_options *talk);
void study_base_clock(struct study_base *base, const char *sync, const char *clock);

/* Collective: open the output under a header of these facts. */
int study_base_open(struct study_base *base, const struct header_facts *facts,
                    const struct ictus_column *columns, struct ictus_why *why);

/* Begin to count: total of what, "turns". */
void study_base_begin(struct study_base *base, const char *what, double total);

/* One more of them; label (or NULL) names it. */
void study_base_step(struct study_base *base, const char *label);

/* Rank 0: write an object, which is taken over; NULL stands for no memory. */
int study_base_put(struct study_base *base, json_t *object);

/* Say what is left out, and why. The reason is cleared: it must not explain a later error. */
void study_base_omit(struct study_base *base, struct ictus_why *why);

/* Collective: finish the output. @return err, or how that went */
int study_base_close(struct study_base *base, int err, struct ictus_why *why);

#endif
