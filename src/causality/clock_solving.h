/* SPDX-License-Identifier: BSD-3-Clause */
/* A solution of the clock model under way: what its steps and its errors share. */
#ifndef ICTUS_CAUSALITY_CLOCK_SOLVING_H
#define ICTUS_CAUSALITY_CLOCK_SOLVING_H

#include "causality/clock_model.h"
#include "causality/clock_normal.h"

#include <math.h>

/* The unknowns of one pair's D, in terms of the step of phi_b - phi_a. */
struct eliminated {
    double inverse[3]; /* of the symmetric matrix of both D: 00, 01, 11 */
    double pull[2];    /* its right side */
    double *coupling;  /* 2 x nb */
};

/* One solution under way. */
struct solving {
    struct clock_model *m;
    const struct model_walk *walk;
    int fold;
    bool posterior; /* weights for the errors: what the data are worth, not what leads to the fit */
    bool start;     /* nothing is known yet */
    bool contradicts; /* the present pair breaks bounds; only looked at for the errors */
    int step;
    uint32_t nb;           /* unknowns of a clock */
    struct normal normal;  /* its edges: the pairs, then the clocks of the archive's offsets */
    double *x;             /* the unknowns of phi */
    double *level, *slope; /* nb: how they follow from a clock's unknowns */
    double *side;          /* nb: of a pair */
    double *ratios;        /* one an offset: work */
    struct eliminated *eliminated;
    double *couplings;
    double asymmetry; /* sd in half round trips */
    double doubt;     /* how many times the archive's standard deviations its offsets err */
};

/* The two unknowns of a clock that matter at a position, and by how much. */
struct basis {
    uint32_t at[2];
    double by[2];
};

static inline struct basis solving_basis(const struct solving *s, double position)
{
    const uint32_t knots = s->m->knots;
    if (s->walk->strength == 0) {
        return (struct basis){{0, 1}, {1, position / (knots - 1) - 0.5}};
    }
    double low = floor(position);
    low = low > 0 ? low : 0;
    low = low < knots - 2 ? low : knots - 2;
    const uint32_t i = (uint32_t)low;
    return (struct basis){{i, i + 1}, {1 - (position - low), position - low}};
}

static inline double *solving_right(const struct solving *s, uint32_t clock)
{
    return &s->normal.right[(uint64_t)clock * s->nb];
}

/* Room, and the unknowns that are nearest to the present phi. Errors: ICTUS_ERR_NOMEM. */
int ictusi_solving_init(struct solving *s);
void ictusi_solving_fini(struct solving *s);

/* The normal equations at the present phi and D. */
void ictusi_solving_assemble(struct solving *s);

#endif
