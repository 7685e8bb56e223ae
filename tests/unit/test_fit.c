/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines through a few offsets, and their errors, checked by hand. */
#include "../check.h"

#include "core/fit.h"

#include <ictus/error.h>
#include <stdint.h>

#define START INT64_C(1700000000000000000)
#define SECOND INT64_C(1000000000)

static struct offset point_at(double s, int64_t offset, double frac, double half_width_ns)
{
    return (struct offset){.at = START + (int64_t)(s * 1e9),
                           .offset = offset,
                           .frac = frac,
                           .half_width_ns = half_width_ns,
                           .rtt_min_ns = 1000.0};
}

/* In any order, the line is anchored at the last instant. */
static void points_on_a_line(void)
{
    const struct offset points[] = {point_at(2, 120, 0.25, 5), point_at(0, 100, 0.25, 5),
                                    point_at(1, 110, 0.25, 5)};
    struct line line;
    struct line_error error;
    REQUIRE(!ictusi_fit_ols(points, 3, &line, &error));
    CHECK(line.anchor == START + 2 * SECOND && line.offset == 120);
    CHECK_NEAR(line.frac, 0.25, 1e-9);
    CHECK_NEAR(line.slope, 1e-8, 1e-18);
    CHECK_NEAR(error.offset_var_ns2, 0.0, 1e-12);
    CHECK_NEAR(error.slope_var_ns2_per_s2, 0.0, 1e-12);
    CHECK_NEAR(error.bound_ns, 5.0, 1e-9);
    CHECK_NEAR(error.bound_slope_ns_per_s, 400010.0, 1e-6);
    CHECK(ictusi_fit_ols(points, 0, &line, &error) == ICTUS_ERR_SAMPLES);
    CHECK(!ictusi_fit_ols(points, 3, &line, NULL));
}

/* Residuals of -1, 2, -1 ns have a variance of 6 ns^2 with one degree of freedom. */
static void residuals_are_the_noise(void)
{
    const struct offset points[] = {point_at(0, 0, 0, 50), point_at(1, 3, 0, 50),
                                    point_at(2, 0, 0, 40)};
    struct line line;
    struct line_error error;
    REQUIRE(!ictusi_fit_ols(points, 3, &line, &error));
    CHECK_NEAR((double)line.offset + line.frac, 1.0, 1e-12);
    CHECK_NEAR(line.slope, 0.0, 1e-18);
    CHECK_NEAR(error.slope_var_ns2_per_s2, 3.0, 1e-9);
    CHECK_NEAR(error.offset_var_ns2, 5.0, 1e-9);
    CHECK_NEAR(error.covariance_ns2_per_s, 3.0, 1e-9);
    /* The last point is the nearest: 1 ns away, and 40 wide. */
    CHECK_NEAR(error.bound_ns, 41.0, 1e-9);
}

/* A point with double weight counts as two; a common factor of all weights changes nothing. */
static void weights_count(void)
{
    const struct offset twice[] = {point_at(0, 0, 0, 9), point_at(1, 6, 0, 9), point_at(2, 6, 0, 9),
                                   point_at(2, 6, 0, 9)};
    const double weights[] = {10, 10, 20};
    struct line one;
    struct line two;
    struct line_error error_one;
    REQUIRE(!ictusi_fit_ols(twice, 4, &one, NULL));
    REQUIRE(!ictusi_fit_wls(twice, weights, 3, &two, &error_one));
    CHECK_NEAR((double)one.offset + one.frac, (double)two.offset + two.frac, 1e-9);
    CHECK_NEAR(one.slope, two.slope, 1e-18);
    /* Means 1.25 and 4.5; sums of squares 2.75, 7.5 and 27; the residual is 27 - 7.5^2 / 2.75. */
    CHECK_NEAR(two.slope, 7.5 / 2.75 * 1e-9, 1e-18);
    const double rest = 10.0 * (27.0 - 7.5 * 7.5 / 2.75);
    const double noise = rest / (40.0 / 3.0);
    const double slope_var = noise * (40.0 / 3.0) / 27.5;
    CHECK_NEAR(error_one.slope_var_ns2_per_s2, slope_var, 1e-9);
    CHECK_NEAR(error_one.offset_var_ns2, noise / 3.0 + 0.75 * 0.75 * slope_var, 1e-9);
    const double nothing[] = {0, 0, 0};
    CHECK(ictusi_fit_wls(twice, nothing, 3, &one, NULL) == ICTUS_ERR_SAMPLES);
}

/* With one or two points the errors come from their widths, as of uniform distributions. */
static void few_points(void)
{
    const struct offset points[] = {point_at(0, 7, 0.5, 3), point_at(4, 15, 0.5, 6)};
    struct line line;
    struct line_error error;
    REQUIRE(!ictusi_fit_ols(points, 1, &line, &error));
    CHECK(line.anchor == START);
    CHECK_NEAR((double)line.offset + line.frac, 7.5, 1e-12);
    CHECK_NEAR(line.slope, 0.0, 0.0);
    CHECK_NEAR(error.offset_var_ns2, 3.0, 1e-12);
    CHECK_NEAR(error.slope_var_ns2_per_s2, 200000.0 * 200000.0 / 3.0, 1e-3);
    CHECK_NEAR(error.covariance_ns2_per_s, 0.0, 0.0);
    CHECK_NEAR(error.bound_ns, 3.0, 1e-12);
    REQUIRE(!ictusi_fit_ols(points, 2, &line, &error));
    CHECK_NEAR(line.slope, 2e-9, 1e-18);
    const double noise = (9.0 + 36.0) / 6.0;
    CHECK_NEAR(error.slope_var_ns2_per_s2, noise / 8.0, 1e-12);
    CHECK_NEAR(error.offset_var_ns2, noise / 2.0 + 4.0 * noise / 8.0, 1e-12);
    CHECK_NEAR(error.bound_ns, 6.0, 1e-9);
}

/* Points at one instant have no slope; points two nanoseconds apart do. */
static void points_without_a_spread(void)
{
    struct offset points[] = {point_at(0, 10, 0, 3), point_at(0, 20, 0, 3)};
    struct line line;
    REQUIRE(!ictusi_fit_ols(points, 2, &line, NULL));
    CHECK_NEAR((double)line.offset + line.frac, 15.0, 1e-12);
    CHECK_NEAR(line.slope, 0.0, 0.0);
    points[1].at += 1;
    REQUIRE(!ictusi_fit_ols(points, 2, &line, NULL));
    CHECK_NEAR(line.slope, 0.0, 0.0);
    points[1].at += 3;
    REQUIRE(!ictusi_fit_ols(points, 2, &line, NULL));
    CHECK_NEAR(line.slope, 10.0 / 4.0, 1e-9);
}

/*
 * The best point sets the bound: a wide one at the anchor, or a narrow one that drift cannot spoil.
 */
static void bounds_are_of_the_best_point(void)
{
    const struct line line = ictusi_line_make(START, 100, 0.0, 0.0);
    const struct offset wide = point_at(0, 103, 0, 50);
    const struct offset narrow = point_at(-0.0001, 98, 0, 1);
    const struct offset late = point_at(0.0001, 98, 0, 1);
    CHECK_NEAR(ictusi_fit_bound(&line, &wide, 1), 53.0, 1e-9);
    CHECK_NEAR(ictusi_fit_bound(&line, &narrow, 1), 2.0 + 1.0 + 40.0, 1e-6);
    CHECK_NEAR(ictusi_fit_bound(&line, &late, 1), 43.0, 1e-6);
    const struct offset both[] = {wide, narrow};
    CHECK_NEAR(ictusi_fit_bound(&line, both, 2), 43.0, 1e-6);
}

/* Asymmetry: 3 % of the shortest round trip. Wander: 1 % of it, renewed after 0.3 s. */
static void paths_are_admitted(void)
{
    struct offset points[] = {point_at(0.3, 0, 0, 1), point_at(0, 0, 0, 1), point_at(0.1, 0, 0, 1)};
    points[0].rtt_min_ns = 5000.0;
    points[2].rtt_min_ns = 3000.0;
    struct line_error error = {.walk_ns_per_s_sqrt_s = 4.8};
    ictusi_fit_admit_path(points, 3, &error);
    const double slope_var = 12.0 * 100.0 / (0.09 * 2.0);
    CHECK_NEAR(error.path_var_ns2, 900.0, 1e-9);
    CHECK_NEAR(error.slope_var_ns2_per_s2, slope_var, 1e-6);
    CHECK_NEAR(error.covariance_ns2_per_s, 0.15 * slope_var, 1e-6);
    CHECK_NEAR(error.offset_var_ns2, 900.0 + 0.0225 * slope_var + 50.0, 1e-6);
    CHECK_NEAR(error.walk_ns_per_s_sqrt_s, 5.0, 1e-12);
    struct line_error alone = {.offset_var_ns2 = 1.0};
    ictusi_fit_admit_path(&points[1], 1, &alone);
    CHECK_NEAR(alone.offset_var_ns2, 901.0, 1e-9);
    CHECK_NEAR(alone.slope_var_ns2_per_s2, 0.0, 0.0);
}

int main(void)
{
    points_on_a_line();
    residuals_are_the_noise();
    weights_count();
    few_points();
    points_without_a_spread();
    bounds_are_of_the_best_point();
    paths_are_admitted();
    return check_result();
}
