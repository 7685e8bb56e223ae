/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrival patterns from the tallies of a job's processes. The rows of one instance, identified by
 * the number of the call on its communicator, are joined on the global clock.
 */
#ifndef ICTUS_TRACE_TALLIES_H
#define ICTUS_TRACE_TALLIES_H

#include "trace/rawlog.h"
#include "trace/unify.h"
#include "tracer/tally.h"

#include <ictus/arrivals.h>

/* One process's part in an instance. */
struct tallied {
    uint64_t number, index;
    int64_t enter, leave; /* global; leave INT64_MIN: unknown */
    float sigma_ns;
    uint32_t place; /* index in tallies.places */
};

/* A site of one process. */
struct tallied_place {
    uint64_t calls, sent, received;
    uint32_t function;
    uint8_t op;
    uint32_t process, comm, symbol; /* unified numbers; symbol KEYMAP_NONE: unknown */
    uint32_t rank;                  /* in the communicator */
    uint32_t root, operands, pattern;
    uint64_t level; /* the least height of which it has kept all calls */
    uint64_t high;  /* while choosing: the latest call of at least the pattern's level */
};

struct tallies {
    struct rawlog *logs; /* by process; their timelines keep a cursor */
    const struct trace_map *maps;
    const struct unified *unified;
    int size;
    bool recent;     /* use the latest calls instead of the sample */
    uint32_t *clock; /* by process: the lowest process that reads the same clock */
    struct tallied *rows;
    size_t count, room;
    struct tallied_place *places;
    size_t place_count;
    unsigned level;       /* rows below it were dropped to limit memory */
    uint64_t full, inter; /* calls that were left out */
};

/* Call ictusi_tallies_free() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_tallies_init(struct tallies *t);

/* Add what a process has counted; it may still be running. Errors: ICTUS_ERR_NOMEM. */
int ictusi_tallies_add(struct tallies *t, int process, const struct tally_image *image);

/*
 * List all patterns, sorted by how long the first waited for the last, with at most `most` rows per
 * pattern (0: all). list may become empty. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_tallies_list(struct tallies *t, int64_t most, struct ictus_arrivals_list *list);

void ictusi_tallies_free(struct tallies *t);

#endif
