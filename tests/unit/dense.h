/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalised least squares as textbooks write it: y = a + b t + e, with the covariance V of e
 * inverted as a whole. Slow and plain; it judges what the library computes by other ways.
 */
#ifndef ICTUS_TESTS_DENSE_H
#define ICTUS_TESTS_DENSE_H

#include <math.h>

enum { DENSE_MAX = 16 };

typedef double dense_matrix[DENSE_MAX][DENSE_MAX];

/* What follows from V and the times: the matrix P of the residual form y' P y, and rows of a and b.
 */
struct dense {
    dense_matrix inverse; /* of V */
    dense_matrix unexplained;
    double row[2][DENSE_MAX];
    double log_det; /* of V and of the information about a and b */
};

/* Gauss and Jordan, with pivots from the diagonal. Returns log |v|. */
static inline double dense_invert(dense_matrix v, int n, dense_matrix inverse)
{
    dense_matrix left;
    double log_det = 0.0;
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            left[k][l] = v[k][l];
            inverse[k][l] = k == l;
        }
    }
    for (int k = 0; k < n; k++) {
        const double pivot = left[k][k];
        log_det += log(pivot);
        for (int l = 0; l < n; l++) {
            left[k][l] /= pivot;
            inverse[k][l] /= pivot;
        }
        for (int i = 0; i < n; i++) {
            const double part = left[i][k];
            for (int l = 0; l < n && i != k; l++) {
                left[i][l] -= part * left[k][l];
                inverse[i][l] -= part * inverse[k][l];
            }
        }
    }
    return log_det;
}

static inline void dense_solve(dense_matrix v, const double *t, int n, struct dense *d)
{
    double told[2][DENSE_MAX] = {{0.0}}; /* A' V^-1 */
    double oo = 0.0, ot = 0.0, tt = 0.0;
    d->log_det = dense_invert(v, n, d->inverse);
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            told[0][l] += d->inverse[k][l];
            told[1][l] += t[k] * d->inverse[k][l];
        }
    }
    for (int l = 0; l < n; l++) {
        oo += told[0][l];
        ot += told[0][l] * t[l];
        tt += told[1][l] * t[l];
    }
    const double det = oo * tt - ot * ot;
    d->log_det += log(det);
    for (int l = 0; l < n; l++) {
        d->row[0][l] = (tt * told[0][l] - ot * told[1][l]) / det;
        d->row[1][l] = (oo * told[1][l] - ot * told[0][l]) / det;
    }
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            d->unexplained[k][l] =
                d->inverse[k][l] - told[0][k] * d->row[0][l] - told[1][k] * d->row[1][l];
        }
    }
}

#endif
