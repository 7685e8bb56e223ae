/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric positive definite systems, dense, scaled to a unit diagonal. */
#ifndef ICTUS_CAUSALITY_CHOLESKY_H
#define ICTUS_CAUSALITY_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Factorise an n x n matrix in place: the lower triangle becomes L of D A D = L L', D = scale.
 * False where it is not positive definite.
 */
bool ictusi_cholesky_factorise(double *matrix, uint32_t n, double *scale);

/* x becomes the solution of L y = D x. */
void ictusi_cholesky_forward(const double *matrix, uint32_t n, const double *scale, double *x);

/* x becomes the solution of A y = x. */
void ictusi_cholesky_solve(const double *matrix, uint32_t n, const double *scale, double *x);

#endif
