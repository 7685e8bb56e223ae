/* SPDX-License-Identifier: BSD-3-Clause */
/* What one process of a benchmark does to play its part of a pattern. */
#ifndef ICTUS_ARRIVAL_REPLAY_H
#define ICTUS_ARRIVAL_REPLAY_H

#include <ictus/arrivals.h>
#include <stdbool.h>

/* A replay goes up to this: who waits longer measures sleeping processes. */
#define REPLAY_OFFSET_MAX_NS INT64_C(10000000000)

/* Who has computed for so long has left nothing of the operation in its caches: it is enough. */
#define REPLAY_GAP_MAX_NS INT64_C(10000000)

/* Instances that are drawn; then they are repeated. */
enum { REPLAY_DRAWN = 1024 };

struct replay_part {
    int rank, size; /* of the benchmark's processes */
    bool draw;      /* from the fitted model, not the recorded instances in their order */
    uint64_t seed;  /* of what is drawn */
    double scale;   /* of all offsets */
    int64_t gap_ns; /* compute so long before each arrival; below 0: as recorded */
};

/* One process's instances. All processes have the same leads. */
struct replay_track {
    int64_t *delays_ns; /* from when the first may arrive until it arrives itself */
    int64_t *leads_ns;  /* until the first may arrive, so that all can compute; NULL: nobody does */
    int64_t *gaps_ns;   /* how long it computes before it arrives; NULL likewise */
    int64_t count;
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
 * of each other, the same on all processes, with the gaps of recorded instances in their order. A
 * pattern without a table is always drawn. The track is zero after errors, else released by
 * ictusi_replay_fini(). Errors: ICTUS_ERR_FORMAT (no signal, too long), ICTUS_ERR_NOMEM.
 */
int ictusi_replay_make(const struct ictus_arrivals *arrivals, const struct replay_part *part,
                       struct replay_track *track, struct ictus_why *why);

void ictusi_replay_fini(struct replay_track *track);

#endif
