/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of one solution of the clock model, shared by its steps and its errors. */
#ifndef ICTUS_CAUSALITY_CLOCK_SOLVING_H
#define ICTUS_CAUSALITY_CLOCK_SOLVING_H

#include "causality/clock_model.h"
#include "causality/clock_normal.h"

#include <math.h>

/* The D of one pair, eliminated in terms of the step of phi_b - phi_a. */
struct eliminated {
    double inverse[3]; /* of the symmetric 2 x 2 matrix of both D: 00, 01, 11 */
    double pull[2];    /* its right-hand side */
    double *coupling;  /* 2 x nb */
};

struct solving {
    struct clock_model *m;
    const struct model_walk *walk;
    int fold;
    bool posterior;   /* for the errors: weights say what the data are worth */
    bool start;       /* first step: the scale of the waits is unknown */
    bool contradicts; /* the present pair breaks bounds; used for the errors only */
    int step;
    uint32_t nb;           /* unknowns of a clock */
    struct normal normal;  /* edges: the pairs, then the clocks with offsets */
    double *x;             /* the unknowns of phi */
    double *level, *slope; /* nb: coefficients by which they follow from a clock's unknowns */
    double *side;          /* nb: right-hand side of one pair */
    double *ratios;        /* one per offset: work space */
    struct eliminated *eliminated;
    double *couplings;
    double asymmetry; /* sd in half round trips */
    double doubt; /* how many times their declared standard deviations the archive's offsets err */
};

/* The two unknowns of a clock that determine phi at a position, and their coefficients. */
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

/* Allocate, and set the unknowns to those nearest to the present phi. Errors: ICTUS_ERR_NOMEM. */
int ictusi_solving_init(struct solving *s);
void ictusi_solving_fini(struct solving *s);

/* Assemble the normal equations at the present phi and D. */
void ictusi_solving_assemble(struct solving *s);

#endif
