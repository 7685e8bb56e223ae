/* SPDX-License-Identifier: BSD-3-Clause */
/* What one process of a benchmark does to play its part of a pattern. */
#ifndef ICTUS_ARRIVAL_REPLAY_H
#define ICTUS_ARRIVAL_REPLAY_H

#include <ictus/arrivals.h>
#include <stdbool.h>

/* A replay goes up to this: who waits longer measures sleeping processes. */
#define REPLAY_OFFSET_MAX_NS INT64_C(10000000000)

/* Instances that are drawn; then they are repeated. */
enum { REPLAY_DRAWN = 1024 };

struct replay_part {
    int rank, size; /* of the benchmark's processes */
    bool draw;      /* from the fitted model, not the recorded instances in their order */
    uint64_t seed;  /* of what is drawn */
    double scale;   /* of all offsets */
};

/* The rank of the pattern that a process plays: by its share, rank * pattern's ranks / size. */
static inline int replay_rank(int rank, int size, int ranks)
{
    return (int)((int64_t)rank * ranks / size);
}

/*
 * One process's delays, an instance each. The ranks that are played begin at 0: with fewer
 * processes than ranks the first arrival may be another. Drawn instances follow each rank's
 * quantiles (normal, where they are not known) and autocorrelation; ranks are drawn independently
 * of each other, the same on all processes. A pattern without a table is always drawn.
 * *delays_ns is the caller's. Errors: ICTUS_ERR_FORMAT (no signal, too long), ICTUS_ERR_NOMEM.
 */
int ictusi_replay_make(const struct ictus_arrivals *arrivals, const struct replay_part *part,
                       int64_t **delays_ns, int64_t *count, struct ictus_why *why);

#endif
