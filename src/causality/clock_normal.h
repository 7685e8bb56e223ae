/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The normal equations of a clock model's step, in the shape that they have: with a block of nb
 * unknowns a clock,
 *
 *     A = sum over clocks of O_u + sum over edges of (b - a)' S_ab (b - a) + pin sum_f l_f' l_f
 *
 * where O_u holds what is known of one clock, S_ab what is known of the difference of two, and l_f
 * is a functional of the mean clock. A few clocks are solved for densely (Cholesky), many by
 * conjugate gradients (Hestenes and Stiefel 1952), preconditioned by the clocks' own blocks: A is a
 * graph's Laplacian of blocks, and a step of the iteration costs what there are edges. What many
 * clocks' errors are is drawn: as A is a sum of squares, a vector b of covariance A takes a few
 * normal numbers an edge, and A^-1 b has the covariance A^-1.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_NORMAL_H
#define ICTUS_CAUSALITY_CLOCK_NORMAL_H

#include "core/random.h"

#include <stdbool.h>
#include <stdint.h>

/* More clocks than this are solved for by conjugate gradients. */
enum { NORMAL_DENSE_MAX = 120 };

struct normal_edge {
    uint32_t a, b;
};

enum { NORMAL_PINS = 2 };

struct normal {
    uint32_t clocks, nb;
    uint64_t n; /* clocks x nb */
    struct normal_edge *edges;
    uint64_t edge_count;
    double *own;    /* clocks x nb x nb */
    double *blocks; /* edges x nb x nb */
    double *right;  /* n; the solution after ictusi_normal_solve() */
    double *pinned; /* pins x nb: l_f of any clock */
    double pin;     /* the weight of their sums over all clocks */
    bool dense;
    double *matrix, *scale;    /* dense: n x n and n */
    double *inverse, *vectors; /* else: clocks x (nb + 1) x nb, factors and scales; work */
};

/*
 * Room for so many clocks and edges, which are to be filled in, as are pinned and pin. dense: as a
 * whole matrix. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_normal_init(struct normal *s, uint32_t clocks, uint32_t nb, uint64_t edges, bool dense);
void ictusi_normal_fini(struct normal *s);

/* All of A and the right side become 0; edges stay. */
void ictusi_normal_clear(struct normal *s);

/* After A is filled in. False where it is not positive definite. */
bool ictusi_normal_factorise(struct normal *s);

/* The right side becomes the solution; after factorising. */
void ictusi_normal_solve(struct normal *s);

/* The right side becomes a random vector of covariance A; not where it is dense. */
void ictusi_normal_draw(struct normal *s, struct rng *rng);

#endif
