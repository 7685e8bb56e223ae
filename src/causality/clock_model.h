/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each clock shows too much, as far as messages, clock offsets and the nature of oscillators
 * tell. Unknown are phi_u(t) of each clock u, a line or a chain of straight pieces between knots,
 * and the least delay D >= 0 of each ordered pair of clocks. The least delay y that was seen in a
 * cell of time is
 *
 *     y = phi_b(t) - phi_a(t) + D_ab + e,   e >= 0.
 *
 * All times of the model are microseconds; positions in time go from 0 to knots - 1.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_MODEL_H
#define ICTUS_CAUSALITY_CLOCK_MODEL_H

#include "causality/least_delays.h"

/* Cells of time at most. */
enum { MODEL_CELLS_MAX = 64 };

/* The least delay of an ordered pair of clocks in one cell. */
struct model_delay {
    uint32_t cell;
    double position;
    double seen; /* with the present phi applied */
    double y;
    double sent, received; /* as the clocks showed them, as positions */
    bool now;              /* whether the last look saw it */
};

/* An unordered pair a < b: [0] from a to b, [1] from b to a. */
struct model_pair {
    uint32_t a, b;
    struct model_delay *delays[2];
    uint32_t counts[2];
    uint32_t now[2];  /* of them the last look's: 0 where all delays are bounds alone */
    double least[2];  /* D */
    double spread[2]; /* scale of e */
};

/* A clock offset of the archive: phi of this clock less that of the reference. */
struct model_offset {
    uint32_t clock;
    double position, value, sd;
};

/* How much the clocks may wander. */
struct model_walk {
    double strength; /* of the frequency's random walk, 1/sqrt(s); 0: lines */
    bool apart;      /* each clock by its own factor */
    bool even;       /* a bound that is broken counts as a wait does: clocks jump */
    double *factor;  /* by clock */
};

struct clock_model {
    uint32_t clocks, knots, cells;
    double length; /* between the first and the last knot */
    struct model_pair *pairs;
    struct model_delay *delays;
    uint64_t pair_count, delay_count;
    uint64_t news;    /* directions that the last look saw first, and that contradict the clocks */
    uint32_t *degree; /* by clock: with how many others it talks both ways */
    struct model_offset *offsets;
    uint64_t offset_count;
    uint32_t reference;
    bool mean_is_time; /* the reference wanders: the mean clock shows the time */
    double *phi;       /* clocks x knots */
    double *error;     /* the same: what is about 2 standard deviations, relative to that clock */
};

/* offsets become the model's own. Errors: ICTUS_ERR_NOMEM. */
int ictusi_clock_model_init(struct clock_model *model, uint32_t clocks, uint32_t knots,
                            double length_us);
void ictusi_clock_model_fini(struct clock_model *model);

/* Add what was seen with the present phi applied to what was seen before. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_clock_model_see(struct clock_model *model, const struct least_delays *delays,
                           double us_per_tick);

/* Sum of all pairs' worst violations, us. */
double ictusi_clock_model_violation(const struct clock_model *model);

/*
 * Fit phi and D, beginning with the present ones (afresh: D is unknown). fold: cells to leave out,
 * 0 or 1, or -1 for none. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_UNSUPPORTED (no solution).
 */
int ictusi_clock_model_solve(struct clock_model *model, const struct model_walk *walk, int fold,
                             int steps, bool afresh);

/*
 * How well the cells of a fold are predicted: one number a delay in score, and the pair it is of;
 * @return how many.
 */
uint64_t ictusi_clock_model_score(const struct clock_model *model, int fold, double *score,
                                  uint64_t *pair_of);

/* Fit D alone. */
void ictusi_clock_model_delays_only(struct clock_model *model, int fold);

/* Fill in error; after a solution with this walk. Errors: as above. */
int ictusi_clock_model_errors(struct clock_model *model, const struct model_walk *walk);

/*
 * Take the reference's phi off all: what moves all clocks alike cannot be seen, and the reference
 * is the archive's master, whose clock shows the time. Where it is known to wander more than the
 * others only its level and slope are taken off.
 */
void ictusi_clock_model_align(struct clock_model *model);

/* Back to phi = 0: that may be as far off as the phi that is declined, and as that may err. */
void ictusi_clock_model_decline(struct clock_model *model);

/* phi or error at a position, which goes on straight beyond the ends. */
double ictusi_clock_model_at(const struct clock_model *model, const double *values, uint32_t clock,
                             double position);

#endif
