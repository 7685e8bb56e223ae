/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock model: a line that maps instants of one clock to another,
 *     G(L) = L + offset + slope * (L - anchor),
 * and its error. Lines compose to lines, so nested clocks need no chain of decorators (H18 IV-B
 * flattens such a chain before sending it).
 */
#ifndef ICTUS_CORE_LINE_H
#define ICTUS_CORE_LINE_H

#include <stdint.h>

struct line {
    int64_t anchor; /* ns on the clock that is mapped, near the instants of interest */
    int64_t offset; /* ns at the anchor, whole part */
    double frac;    /* ns at the anchor, the fraction: within [-0.5, 0.5] */
    double slope;   /* dimensionless: rate of the target relative to the mapped clock, minus 1 */
};

/*
 * The error of a line at a distance of d seconds from the anchor:
 *     variance(d) = offset_var + 2 d covariance + d^2 slope_var + walk^2 |d|^3 / 3
 *     bound(d) = bound_ns + |d| bound_slope
 * The last term of the variance is for a frequency that performs a random walk, by `walk` per
 * square root of a second. No error exceeds the bound if the assumptions hold.
 */
struct line_error {
    double offset_var_ns2;
    double covariance_ns2_per_s;
    double slope_var_ns2_per_s2;
    double walk_ns_per_s_sqrt_s;
    double bound_ns;
    double bound_slope_ns_per_s;
    double path_var_ns2;   /* the systematic part of offset_var: the asymmetry of paths */
    double unseen_var_ns2; /* not part of it: asymmetries that no measurement shows */
};

/* The identity. */
struct line ictusi_line_identity(void);

/* A line through (anchor, offset + frac_ns) with the given slope. */
struct line ictusi_line_make(int64_t anchor, int64_t offset, double frac_ns, double slope);

/* Map an instant, rounded to the nearest nanosecond. */
static inline int64_t ictusi_line_map(const struct line *line, int64_t local)
{
    const double rest = line->frac + line->slope * (double)(local - line->anchor);
    return local + line->offset + (int64_t)(rest < 0 ? rest - 0.5 : rest + 0.5);
}

/* Find the instant that is mapped to the given one, to the nanosecond. */
int64_t ictusi_line_unmap(const struct line *line, int64_t global);

/* The line that maps first by inner and then by outer. */
struct line ictusi_line_compose(const struct line *outer, const struct line *inner);

/* The same line with another anchor, so that no precision is lost in a job that runs for hours. */
struct line ictusi_line_move(const struct line *line, int64_t anchor);

/* The inverse line. */
struct line ictusi_line_invert(const struct line *line);

/* Standard deviation and bound, in ns, of a line's value d seconds from its anchor. */
double ictusi_line_error_sigma(const struct line_error *error, double d_s);
double ictusi_line_error_bound(const struct line_error *error, double d_s);

/* The error of a composed line whose parts err independently, both given at the same anchor. */
struct line_error ictusi_line_error_add(const struct line_error *a, const struct line_error *b);

/* The same error model with its anchor moved by d seconds. */
struct line_error ictusi_line_error_move(const struct line_error *error, double d_s);

#endif
