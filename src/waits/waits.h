/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of an analysis as objects of a result file. */
#ifndef ICTUS_WAITS_WAITS_H
#define ICTUS_WAITS_WAITS_H

#include "waits/blame.h"
#include "waits/critical.h"
#include "waits/instances.h"

#include <jansson.h>

/* All results that the objects report. */
struct wait_results {
    const struct analysis *analysis;
    const struct wait_rows *rows;
    const struct times *times;
    const struct blame *blame;
    const struct critical *critical;
    const struct wait_instances *instances;
    double rank_ticks; /* time of all locations together */
};

/* Say which rank and location an object is about, and by name which of the rank's threads. */
void ictusi_report_set_place(const struct wait_results *results, json_t *object, uint32_t location);

/* Append the causes of the waits and the critical path. Errors: ICTUS_ERR_NOMEM. */
int ictusi_causes_json(const struct wait_results *results, json_t *list);

/* Append the waits. Errors: ICTUS_ERR_NOMEM. */
int ictusi_waits_json(const struct wait_results *results, json_t *list);

#endif
