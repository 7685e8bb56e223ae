/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrival patterns on purpose: how much after the common instant each process begins. Since the
 * starts are under control, imbalance is a parameter here and not an accident.
 */
#ifndef ICTUS_ARRIVAL_ARRIVAL_H
#define ICTUS_ARRIVAL_ARRIVAL_H

#include "arrival/replay.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stdint.h>

struct arrival_shape;

/* One process's part of a pattern. */
struct arrival {
    const struct arrival_shape *shape; /* NULL: the application's, from a file */
    int rank, size;
    double spread_ns; /* of a shape: between the first and the last; for late: of the one */
    int64_t odd;      /* of a shape: the rank that is unlike the others */
    uint64_t seed;
    struct replay_track track; /* of a file: by instance; owned */
    int64_t gap_ns;            /* of a shape: all compute so long before they arrive */
    int ranks;                 /* of a file: that the pattern has; else 0 */
};

/* What a process does in one repetition: from the common instant, wait, compute, arrive. */
struct arrival_turn {
    int64_t lead_ns;  /* from the common instant until the first may arrive; the same on all */
    int64_t delay_ns; /* from there until this one arrives */
    int64_t gap_ns;   /* computing, directly before it arrives */
};

/*
 * Read "together", "ascending:spread=10us", "late:rank=0,spread=20us", ... (arrival.c has them
 * all), or "file:patterns.jsonl,site=solver.c:120,draw=1,scale=2". rank is the process's,
 * size their number: 0, 0 where they are not known and only the text is checked. Errors:
 * ICTUS_ERR_SPEC (an unreadable or unfit file, too), ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOMEM.
 */
int ictusi_arrival_init(struct arrival *a, const char *text, int rank, int size,
                        struct ictus_why *why);

/* Whether a specification asks for any pattern at all. */
bool ictusi_arrival_is_asked(const char *text);

void ictusi_arrival_fini(struct arrival *a);

/* One repetition; they repeat where a file has fewer instances. */
struct arrival_turn ictusi_arrival_turn(const struct arrival *a, int64_t repetition);

/* Whether anybody computes before it arrives. */
static inline bool arrival_computes(const struct arrival *a)
{
    return a->gap_ns > 0 || a->track.gaps_ns;
}

#endif
