/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines between clocks: composition, inversion and the growth of their errors. */
#include "core/line.h"

#include <math.h>

struct line ictusi_line_identity(void)
{
    return (struct line){0, 0, 0.0, 0.0};
}

/* Whole nanoseconds go into the integer, so that |frac| <= 1/2 and no precision is lost, however
 * large the offset is. */
struct line ictusi_line_make(int64_t anchor, int64_t offset, double frac_ns, double slope)
{
    const double whole = nearbyint(frac_ns);
    return (struct line){anchor, offset + (int64_t)whole, frac_ns - whole, slope};
}

int64_t ictusi_line_unmap(const struct line *line, int64_t global)
{
    /* The division is accurate to within rounding. The correction step makes the result exact. */
    const int64_t shifted = global - line->offset;
    const double rest = line->frac + line->slope * (double)(shifted - line->anchor);
    int64_t local = shifted - (int64_t)nearbyint(rest / (1.0 + line->slope));
    local += global - ictusi_line_map(line, local);
    return local;
}

/* The same line with another anchor: G(L) = L + offset + slope (L - anchor). */
struct line ictusi_line_move(const struct line *line, int64_t anchor)
{
    const double moved = line->slope * (double)(anchor - line->anchor);
    return ictusi_line_make(anchor, line->offset, line->frac + moved, line->slope);
}

struct line ictusi_line_compose(const struct line *outer, const struct line *inner)
{
    /* With the outer line anchored at the image of the inner anchor, the offsets simply add. */
    const int64_t image = inner->anchor + inner->offset;
    const struct line at = ictusi_line_move(outer, image);
    /* The factors (1 + slope) multiply: (1 + a)(1 + b) - 1 = a + b + a b. At 10 ppm the product
     * a b is 1e-10, which is a nanosecond after ten seconds, so it is kept. */
    const double frac = inner->frac + at.frac + at.slope * inner->frac;
    const double slope = inner->slope + at.slope + inner->slope * at.slope;
    return ictusi_line_make(inner->anchor, inner->offset + at.offset, frac, slope);
}

struct line ictusi_line_invert(const struct line *line)
{
    /* 1 / (1 + slope) - 1, computed without the difference of numbers near 1. */
    const double slope = -line->slope / (1.0 + line->slope);
    /* At global = anchor + offset the local instant is anchor - frac / (1 + slope). */
    return ictusi_line_make(line->anchor + line->offset, -line->offset,
                            -line->frac / (1.0 + line->slope), slope);
}

/*
 * The standard error at a distance d from the anchor: var(offset) + 2 d cov + d^2 var(slope), and
 * walk^2 |d|^3 / 3, the variance of a clock whose rate performs a random walk (the integral of a
 * Wiener process). In the end it grows as d^(3/2), however good the fit was.
 */
double ictusi_line_error_sigma(const struct line_error *error, double d_s)
{
    const double walk = error->walk_ns_per_s_sqrt_s;
    const double variance = error->offset_var_ns2 + 2.0 * d_s * error->covariance_ns2_per_s +
                            d_s * d_s * error->slope_var_ns2_per_s2 +
                            walk * walk * fabs(d_s * d_s * d_s) / 3.0;
    return variance > 0.0 ? sqrt(variance) : 0.0;
}

/* A hard limit and not a standard deviation. It grows linearly, by the largest drift that is
 * assumed possible. */
double ictusi_line_error_bound(const struct line_error *error, double d_s)
{
    return error->bound_ns + fabs(d_s) * error->bound_slope_ns_per_s;
}

/* Two lines in a row. Their fits are independent, so variances add. Both bounds may be reached
 * at once, so the bounds add linearly. */
struct line_error ictusi_line_error_add(const struct line_error *a, const struct line_error *b)
{
    return (struct line_error){
        .offset_var_ns2 = a->offset_var_ns2 + b->offset_var_ns2,
        .covariance_ns2_per_s = a->covariance_ns2_per_s + b->covariance_ns2_per_s,
        .slope_var_ns2_per_s2 = a->slope_var_ns2_per_s2 + b->slope_var_ns2_per_s2,
        .walk_ns_per_s_sqrt_s = hypot(a->walk_ns_per_s_sqrt_s, b->walk_ns_per_s_sqrt_s),
        .bound_ns = a->bound_ns + b->bound_ns,
        .bound_slope_ns_per_s = a->bound_slope_ns_per_s + b->bound_slope_ns_per_s,
        .path_var_ns2 = a->path_var_ns2 + b->path_var_ns2,
        .unseen_var_ns2 = a->unseen_var_ns2 + b->unseen_var_ns2,
    };
}

/*
 * The covariance matrix of (offset, slope), moved by F = (1 d; 0 1): F P F' + Q. The process noise
 * Q of a random walk of the rate is |d|^3/3, d^2/2 and |d| times walk^2 (Bar-Shalom, Li and
 * Kirubarajan 2001, 6.2.2).
 */
struct line_error ictusi_line_error_move(const struct line_error *error, double d_s)
{
    struct line_error moved = *error;
    const double walk2 = error->walk_ns_per_s_sqrt_s * error->walk_ns_per_s_sqrt_s;
    const double distance = fabs(d_s);
    moved.offset_var_ns2 += 2.0 * d_s * error->covariance_ns2_per_s +
                            d_s * d_s * error->slope_var_ns2_per_s2 +
                            walk2 * distance * distance * distance / 3.0;
    moved.covariance_ns2_per_s +=
        d_s * error->slope_var_ns2_per_s2 + copysign(walk2 * d_s * d_s / 2.0, d_s);
    moved.slope_var_ns2_per_s2 += walk2 * distance;
    moved.bound_ns += distance * error->bound_slope_ns_per_s;
    return moved;
}
