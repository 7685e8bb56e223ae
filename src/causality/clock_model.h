/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far each clock is ahead of the common time, as far as messages, recorded clock offsets and
 * the nature of oscillators tell. The unknowns are phi_u(t) of each clock u, which is a line or a
 * chain of straight pieces between knots, and the least delay D >= 0 of each ordered pair of
 * clocks. The least delay y that was seen in a cell of time is
 *
 *       y = phi_b(t) - phi_a(t) + D_ab + e,   e >= 0,
 *
 * where e is time spent waiting. All times in the model are microseconds; positions in time run
 * from 0 to knots - 1.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_MODEL_H
#define ICTUS_CAUSALITY_CLOCK_MODEL_H

#include "causality/least_delays.h"

/* The largest number of cells of time. */
enum { MODEL_CELLS_MAX = 64 };

/* The least delay of an ordered pair of clocks in one cell. */
struct model_delay {
    uint32_t cell;
    double position;
    double seen; /* after subtracting the present phi */
    double y;
    double sent, received; /* what the clocks showed, as positions */
    bool now;              /* seen by the last observation */
};

/* An unordered pair a < b: [0] from a to b, [1] from b to a. */
struct model_pair {
    uint32_t a, b;
    struct model_delay *delays[2];
    uint32_t counts[2];
    uint32_t now[2];  /* how many the last observation saw; 0: all are earlier bounds */
    double least[2];  /* D */
    double spread[2]; /* scale of e */
};

/* A clock offset from the archive: phi of this clock minus phi of the reference. */
struct model_offset {
    uint32_t clock;
    double position, value, sd;
};

/* How much the clocks may wander. */
struct model_walk {
    double strength; /* of the random walk of frequency, 1/sqrt(s); 0: lines */
    bool apart;      /* each clock has its own factor */
    bool even;       /* a broken bound weighs as much as a wait: for clocks that jump */
    double *factor;  /* by clock */
};

struct clock_model {
    uint32_t clocks, knots, cells;
    double length; /* between the first and the last knot */
    struct model_pair *pairs;
    struct model_delay *delays;
    uint64_t pair_count, delay_count;
    uint64_t news;    /* directions first seen by the last observation that contradict the clocks */
    uint32_t *degree; /* by clock: the number of others it exchanges messages with both ways */
    struct model_offset *offsets;
    uint64_t offset_count;
    uint32_t reference;
    bool mean_is_time; /* the reference wanders, so the mean clock shows the time */
    double *phi;       /* clocks x knots */
    double *error; /* the same: about 2 standard deviations, relative to the clock of the time */
};

/* The caller fills in offsets, which the model then owns. Errors: ICTUS_ERR_NOMEM. */
int ictusi_clock_model_init(struct clock_model *model, uint32_t clocks, uint32_t knots,
                            double length_us);
void ictusi_clock_model_fini(struct clock_model *model);

/*
 * Add an observation, made with the present phi applied, to the earlier ones. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_clock_model_see(struct clock_model *model, const struct least_delays *delays,
                           double us_per_tick);

/* The sum of all violations, us: the worst one of each cell and ordered pair. */
double ictusi_clock_model_violation(const struct clock_model *model);

/*
 * Fit phi and D. The fit starts from the present values; with afresh set, D counts as unknown.
 * fold: the cells to leave out, 0 or 1, or -1 for none. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_UNSUPPORTED (no solution).
 */
int ictusi_clock_model_solve(struct clock_model *model, const struct model_walk *walk, int fold,
                             int steps, bool afresh);

/*
 * How well the cells of a fold are predicted: for each delay, its score and the pair it belongs to.
 * @return their number.
 */
uint64_t ictusi_clock_model_score(const struct clock_model *model, int fold, double *score,
                                  uint64_t *pair_of);

/* Fit D alone. */
void ictusi_clock_model_delays_only(struct clock_model *model, int fold);

/* Fill in error, after a solution with this walk. Errors: as above. */
int ictusi_clock_model_errors(struct clock_model *model, const struct model_walk *walk);

/*
 * Subtract the reference's phi from all clocks. What moves all clocks alike cannot be seen, and the
 * reference is the archive's master, whose clock shows the time. Where the reference is known to
 * wander more than the others, only its level and slope are subtracted.
 */
void ictusi_clock_model_align(struct clock_model *model);

/* Return to phi = 0. The error grows by the phi that is given up. */
void ictusi_clock_model_decline(struct clock_model *model);

/* An instant as a position between the knots, which stand between `from` and `to`. All in ticks. */
double ictusi_clock_model_position(const struct clock_model *model, int64_t from, int64_t to,
                                   int64_t instant);

/* phi or error at a position; the outermost pieces extend beyond the ends. */
double ictusi_clock_model_at(const struct clock_model *model, const double *values, uint32_t clock,
                             double position);

#endif
