/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics over time: one series per metric and track. Of a long series every k-th value is kept,
 * where k doubles whenever the series is full.
 */
#ifndef ICTUS_VIEW_SERIES_H
#define ICTUS_VIEW_SERIES_H

#include "core/idmap.h"

enum { SERIES_POINTS = 400, SERIES_MOST = 128 };

struct metric_series {
    uint32_t track, member;
    uint64_t seen, every;
    uint32_t count;
    int64_t time[SERIES_POINTS]; /* ns */
    double value[SERIES_POINTS];
};

struct series_list {
    struct metric_series *list[SERIES_MOST];
    uint64_t count;
    struct idmap index; /* track, member -> index */
    uint64_t seen;      /* series in the archive; the first SERIES_MOST are kept */
    uint64_t values;    /* of all series, kept or not */
};

void ictusi_series_fini(struct series_list *series);

/* Errors: ICTUS_ERR_NOMEM. */
int ictusi_series_add(struct series_list *series, uint32_t track, uint32_t member, int64_t time,
                      double value);

#endif
