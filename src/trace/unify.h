/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One numbering for all processes. Each process numbers its communicators, windows, regions, events
 * and metrics as it encounters them, but an archive needs a single definition of each.
 */
#ifndef ICTUS_TRACE_UNIFY_H
#define ICTUS_TRACE_UNIFY_H

#include "trace/keymap.h"
#include "trace/rawlog.h"
#include "trace/symbols.h"

enum map_kind {
    MAP_COMM,
    MAP_WINDOW,
    MAP_FUNCTION,
    MAP_REGION,
    MAP_EVENT,
    MAP_METRIC,
    MAP_SITE,
    MAP_FILE,    /* number of an open file */
    MAP_DELETED, /* number of a file */
    MAP_TEAM,    /* number of a communicator */
    MAP_KINDS
};

/*
 * Translates a process's numbers to the archive's: the count of each kind, then the tables in
 * order.
 */
struct trace_map {
    uint32_t *flat;
    size_t words;
};

/* The archive's number, or KEYMAP_NONE. */
uint32_t ictusi_unify_map_get(const struct trace_map *map, enum map_kind kind, uint32_t number);

struct unified_group {
    uint64_t *members; /* world ranks */
    uint32_t count;
};

struct unified_comm {
    uint64_t key;
    const char *name; /* "" if it has none */
    uint32_t group;   /* index; in an inter-communicator of side a */
    uint32_t other;   /* index of side b's group, or KEYMAP_NONE */
    bool self;        /* MPI_COMM_SELF, for all processes together */
    int size;
};

struct unified_window {
    const char *name;
    uint32_t comm;
};

/* An open file. */
struct unified_file {
    uint32_t file; /* number of its name */
    uint32_t comm;
};

/* An OpenMP team: threads of one process, in the order of their numbers in the team. */
struct unified_team {
    int rank;
    uint64_t *threads;
    uint32_t count;
};

/* A region, an event, a metric or a file name. */
struct unified_name {
    const char *name, *unit;
    uint32_t function; /* of a region: its function number, or KEYMAP_NONE for a user region */
};

struct unified {
    struct unified_group *groups;
    uint32_t group_count;
    struct unified_comm *comms;
    struct unified_window *windows;
    struct unified_file *handles;
    struct unified_team *teams; /* their communicators are numbered after all MPI communicators */
    struct unified_name *regions, *events, *metrics, *files;
    struct keymap comm_keys, group_keys, window_keys, region_keys, event_keys, metric_keys,
        site_keys, handle_keys, file_keys, team_keys;
    struct symbols symbols;        /* of the call sites */
    const struct rawlog *counters; /* a log that lists the sampled counters, or NULL */
    int64_t shift_ns; /* added to all times so that none is negative; 0 if not needed */
};

/*
 * Number everything in the logs of count processes. logs[i].text is NULL if process i left no log.
 * Fills one map per process. The logs must outlive the result. local: timestamps will be on the
 * local clocks. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_unify(struct rawlog *logs, int count, bool local, struct unified *unified,
                 struct trace_map *maps);

void ictusi_unify_free(struct unified *unified);

#endif
