/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computed row by row (Golub and Van Loan, Matrix Computations, 4.2), so that both factors of each
 * inner product lie contiguously in rows.
 */
#include "causality/cholesky.h"

#include <math.h>

/* Added to the unit diagonal, so that rounding does not make the matrix indefinite. */
static const double jitter = 1e-13;

/* The inner product in four partial sums, which the processor can compute in parallel. */
static double row_product(const double *a, const double *b, uint32_t n)
{
    double s[4] = {0, 0, 0, 0};
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (uint32_t k = 0; k < 4; k++) {
            s[k] += a[i + k] * b[i + k];
        }
    }
    for (; i < n; i++) {
        s[0] += a[i] * b[i];
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/*
 * A = S^-1 L L' S^-1 with S = diag(1/sqrt(a_ii)). After scaling to a unit diagonal one jitter suits
 * all rows, whatever their units. Takes n^3/3 multiplications. Returns false if the matrix is not
 * positive definite even with the jitter. Only the lower triangle is read and written.
 */
bool ictusi_cholesky_factorise(double *matrix, uint32_t n, double *scale)
{
    for (uint32_t i = 0; i < n; i++) {
        const double diagonal = matrix[(uint64_t)i * n + i];
        scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        double *row = &matrix[(uint64_t)i * n];
        for (uint32_t j = 0; j <= i; j++) {
            const double *other = &matrix[(uint64_t)j * n];
            const double a = row[j] * scale[i] * scale[j] + (i == j ? jitter : 0);
            const double rest = a - row_product(row, other, j);
            if (j < i) {
                row[j] = rest / other[j];
            } else if (rest > 0) {
                row[j] = sqrt(rest);
            } else {
                return false;
            }
        }
    }
    return true;
}

/* Solve L y = S x in place. Since |y|^2 = x' A^-1 x, this step alone gives the quadratic form. */
void ictusi_cholesky_forward(const double *matrix, uint32_t n, const double *scale, double *x)
{
    for (uint32_t i = 0; i < n; i++) {
        const double *row = &matrix[(uint64_t)i * n];
        x[i] = (x[i] * scale[i] - row_product(row, x, i)) / row[i];
    }
}

void ictusi_cholesky_solve(const double *matrix, uint32_t n, const double *scale, double *x)
{
    ictusi_cholesky_forward(matrix, n, scale, x);
    for (uint32_t i = n; i-- > 0;) {
        const double *row = &matrix[(uint64_t)i * n];
        x[i] /= row[i];
        for (uint32_t j = 0; j < i; j++) {
            x[j] -= row[j] * x[i];
        }
        x[i] *= scale[i];
    }
}
