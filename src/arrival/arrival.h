/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intentional arrival patterns: how long after the common instant each process begins. Since the
 * starts are under control, imbalance is a parameter here instead of an accident.
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
    const struct arrival_shape *shape; /* NULL: an application's pattern, from a file */
    int rank, size;
    /* of a shape: between the first and the last; for "late": of the late process */
    double spread_ns;
    int64_t odd; /* of a shape: the rank that differs from the others */
    uint64_t seed;
    struct replay_track track;          /* from a file, by instance; owned */
    int64_t gap_ns;                     /* of a shape: all compute this long before they arrive */
    int64_t footprint;                  /* bytes that the computation touches */
    bool footprint_given;               /* else it may be fitted (bench/footprint.h) */
    int ranks;                          /* of a file: the number of ranks of the pattern; else 0 */
    struct ictus_arrival_traced traced; /* of a file: what it was recorded for */
};

/*
 * What a process does in one repetition: from the common instant on it waits, computes and arrives.
 */
struct arrival_turn {
    /* from the common instant until the first may arrive; the same on all processes */
    int64_t lead_ns;
    int64_t delay_ns; /* from then until this process arrives */
    int64_t gap_ns;   /* computation directly before it arrives */
    /* how long before it arrives it calls MPI for the last time while it computes; 0: not at all */
    int64_t silence_ns;
};

/*
 * Parse "together", "ascending:spread=10us", "late:rank=0,spread=20us", ... (all are in arrival.c),
 * or "file:patterns.jsonl,site=solver.c:120,draw=1,scale=2". rank and size are those of the
 * process. Both are 0 if they are not known and only the text is checked. Errors: ICTUS_ERR_SPEC
 * (also for an unreadable or unsuitable file), ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOMEM.
 */
int ictusi_arrival_init(struct arrival *a, const char *text, int rank, int size,
                        struct ictus_why *why);

/* Whether a specification requests any pattern at all. */
bool ictusi_arrival_is_asked(const char *text);

void ictusi_arrival_fini(struct arrival *a);

/* The turn for one repetition. If a file has fewer instances, they are repeated. */
struct arrival_turn ictusi_arrival_turn(const struct arrival *a, int64_t repetition);

/* Whether any process computes before it arrives. */
static inline bool arrival_computes(const struct arrival *a)
{
    return a->gap_ns > 0 || a->track.gaps_ns;
}

#endif
