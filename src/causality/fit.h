/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Presynchronisation from the messages themselves: what no message contradicts. For two clocks the
 * least delay seen in each direction bounds their offset from both sides; the middle is taken, per
 * stretch of time, and solved for all clocks at once.
 */
#ifndef ICTUS_CAUSALITY_FIT_H
#define ICTUS_CAUSALITY_FIT_H

#include "causality/flow.h"

/* More clocks than this are left as they are. */
enum { FIT_UNITS_MAX = 2048 };

/* The least delays seen, by ordered pair of units and stretch of time. */
struct fit {
    struct observer observer; /* first member */
    const struct history *history;
    const uint32_t *unit_of; /* by location */
    const int64_t *stamps;   /* of the points: the time of a pair */
    uint32_t units, blocks;
    int64_t from, length; /* of the trace */
    double per_tick;      /* blocks */
    int64_t *least;       /* units x units x blocks, sender first */
    uint64_t cells;
};

/* Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_UNSUPPORTED (too many units). */
int ictusi_fit_init(struct fit *fit, const struct history *history, const uint32_t *unit_of,
                    uint32_t units, int64_t from, int64_t to, bool fine);
void ictusi_fit_fini(struct fit *fit);

/* Forget what was seen. */
void ictusi_fit_clear(struct fit *fit);

/*
 * One constant per unit from the delays of the whole trace; what was seen is shifted by them, as
 * if it had been looked at with them applied. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_fit_constants(struct fit *fit, double *constants);

/*
 * Add what the delays say to each unit's offsets at the middles of the blocks: knots is units x
 * blocks. *used: into how many parts the trace could be divided. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_fit_solve(struct fit *fit, double *knots, uint32_t *used);

/* Put n knots on a line if they lie on it as well as their own scatter allows. */
void ictusi_fit_straighten(double *knots, uint32_t n, uint32_t parts);

/* Half the least round trip of a pair in ticks, or a negative number where it is unknown. */
double ictusi_fit_half_trip(const struct fit *fit, uint32_t a, uint32_t b);

#endif
