/* SPDX-License-Identifier: BSD-3-Clause */
/* How much time a location spent in each call path between two of its calls, without waits. */
#ifndef ICTUS_WAITS_TIMES_H
#define ICTUS_WAITS_TIMES_H

#include "waits/analysis.h"

/* Ticks by call path, with a list of those that are used, and ticks of waits. */
struct time_map {
    int64_t waited;
    int64_t *ticks;   /* by path */
    uint32_t *listed; /* paths */
    uint32_t count;
    bool *is_listed;
};

/* Where the running sums of a checkpoint end, and the waits up to it. */
struct checkpoint {
    uint64_t end; /* one past its last sum */
    int64_t waited;
};

/*
 * Running sums at regular intervals of a location's calls, so that the cost of an interval is
 * bounded.
 */
struct times {
    struct call_pass pass; /* first member: makes the sums */
    const struct analysis *analysis;
    struct store sums;      /* struct share_of_time, since the beginning of the location */
    struct store ends;      /* struct checkpoint */
    uint64_t *first;        /* by location: its first checkpoint */
    struct time_map totals; /* of all locations */
    struct time_map sum;    /* of the present location so far */
    struct ictus_why *why;
};

/*
 * Call before the pass over all calls. Call ictusi_times_free() even after an error:
 * ICTUS_ERR_NOMEM, ICTUS_ERR_IO.
 */
int ictusi_times_begin(struct times *times, const struct analysis *analysis, struct ictus_why *why);
void ictusi_times_free(struct times *times);

/* Release the memory behind the sums; they stay in the file. */
void ictusi_times_relax(const struct times *times);

int ictusi_time_map_init(struct time_map *map, uint64_t paths);
void ictusi_time_map_fini(struct time_map *map);
void ictusi_time_map_clear(struct time_map *map);

/*
 * Add what a location spent from a call up to the enter of a later one. The first call's own time
 * counts, but not its wait. CALL_NONE: from the location's beginning.
 */
void ictusi_times_between(const struct times *times, struct time_map *map, uint32_t location,
                          uint32_t from, uint64_t to);

/* Subtract this many ticks just before the end of the same interval. */
void ictusi_times_trim(const struct times *times, struct time_map *map, uint32_t location,
                       uint32_t from, uint64_t to, int64_t ticks);

#endif
