/* SPDX-License-Identifier: BSD-3-Clause */
/* How much time a location spent in each call path between two of its calls, waits left out. */
#ifndef ICTUS_WAITS_TIMES_H
#define ICTUS_WAITS_TIMES_H

#include "waits/analysis.h"

/* Ticks by call path, of which those that are not zero are listed; and of waits. */
struct time_map {
    int64_t waited;
    int64_t *ticks;   /* by path */
    uint32_t *listed; /* paths */
    uint32_t count;
    bool *is_listed;
};

/* Where the running sums of one end, and those of waits. */
struct checkpoint {
    uint64_t end; /* after its last sum */
    int64_t waited;
};

/* Running sums at every so many calls of a location, so that no interval needs more steps. */
struct times {
    struct call_pass pass; /* first member: makes the sums */
    const struct analysis *analysis;
    struct store sums;      /* struct share_of_time: since the location's beginning */
    struct store ends;      /* struct checkpoint */
    uint64_t *first;        /* by location: its first checkpoint */
    struct time_map totals; /* of all locations */
    struct time_map sum;    /* of the present location so far */
    struct ictus_why *why;
};

/*
 * Before the pass over all calls. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. Released by
 * ictusi_times_free(), after errors too.
 */
int ictusi_times_begin(struct times *times, const struct analysis *analysis, struct ictus_why *why);
void ictusi_times_free(struct times *times);

/* Let go of the memory behind the sums; they stay. */
void ictusi_times_relax(const struct times *times);

int ictusi_time_map_init(struct time_map *map, uint64_t paths);
void ictusi_time_map_fini(struct time_map *map);
void ictusi_time_map_clear(struct time_map *map);

/*
 * Add what a location spent from a call, whose own time but not whose wait counts, up to the enter
 * of a later one; from CALL_NONE: from the location's beginning.
 */
void ictusi_times_between(const struct times *times, struct time_map *map, uint32_t location,
                          uint32_t from, uint64_t to);

/* Take off so many ticks right before the end of the same interval. */
void ictusi_times_trim(const struct times *times, struct time_map *map, uint32_t location,
                       uint32_t from, uint64_t to, int64_t ticks);

#endif
