/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines: composition, inversion, precision at extreme instants, growth of errors. */
#include "core/line.h"
#include "core/random.h"

#include "../check.h"

static const int64_t origins[] = {0, -5000000000, 1700000000000000000, -1700000000000000000};

static void composition_equals_mapping_twice(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 1, 0);
    for (int i = 0; i < 2000; i++) {
        const int64_t origin = origins[i % 4];
        const int64_t shift = (int64_t)(4e9 * (ictusi_random_uniform(&rng) - 0.5));
        const struct line inner = ictusi_line_make(origin, shift, ictusi_random_uniform(&rng),
                                                   2e-4 * ictusi_random_normal(&rng));
        const struct line outer = ictusi_line_make(origin + 123456789, -shift / 2, 0.25,
                                                   1e-4 * ictusi_random_normal(&rng));
        const struct line both = ictusi_line_compose(&outer, &inner);
        const int64_t t = origin + (int64_t)(1e12 * ictusi_random_uniform(&rng));
        const int64_t twice = ictusi_line_map(&outer, ictusi_line_map(&inner, t));
        CHECK(llabs(ictusi_line_map(&both, t) - twice) <= 1);
    }
}

static void inversion_returns(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 2, 0);
    for (int i = 0; i < 2000; i++) {
        const int64_t origin = origins[i % 4];
        const struct line line =
            ictusi_line_make(origin, -1500000000, 0.3, 3e-4 * ictusi_random_normal(&rng));
        const int64_t t = origin + (int64_t)(3.6e12 * ictusi_random_uniform(&rng));
        const int64_t global = ictusi_line_map(&line, t);
        CHECK(llabs(ictusi_line_unmap(&line, global) - t) <= 1);
        const struct line back = ictusi_line_invert(&line);
        CHECK(llabs(ictusi_line_map(&back, global) - t) <= 1);
    }
}

static void moving_the_anchor_changes_nothing(void)
{
    const struct line line = ictusi_line_make(1700000000000000000, 42, 0.4, 17e-6);
    const struct line moved = ictusi_line_move(&line, 1700000000000000000 + 7200000000000);
    for (int64_t t = 0; t < 10000000000; t += 777777777) {
        const int64_t at = 1700000000000000000 + t;
        CHECK(llabs(ictusi_line_map(&line, at) - ictusi_line_map(&moved, at)) <= 1);
    }
}

static void errors_grow(void)
{
    const struct line_error error = {100.0, 0.0, 4.0, 3.0, 500.0, 200.0, 36.0, 1e6};
    CHECK_NEAR(ictusi_line_error_sigma(&error, 0.0), 10.0, 1e-12);
    CHECK_NEAR(ictusi_line_error_sigma(&error, 10.0), sqrt(100.0 + 400.0 + 3000.0), 1e-9);
    CHECK_NEAR(ictusi_line_error_bound(&error, -10.0), 2500.0, 1e-9);
    const struct line_error moved = ictusi_line_error_move(&error, 4.0);
    CHECK_NEAR(ictusi_line_error_sigma(&moved, 6.0), ictusi_line_error_sigma(&error, 10.0), 1e-9);
}

/* The matrix of (offset, slope), moved by F = (1 d; 0 1), plus the walk of the rate on the way. */
static void errors_move(double d)
{
    const struct line_error e = {100.0, -7.0, 4.0, 3.0, 500.0, 200.0, 36.0, 81.0};
    const struct line_error m = ictusi_line_error_move(&e, d);
    const double w = fabs(d);
    CHECK_NEAR(m.offset_var_ns2, 100.0 - 14.0 * d + 4.0 * d * d + 3.0 * w * w * w, 1e-9);
    CHECK_NEAR(m.covariance_ns2_per_s, -7.0 + 4.0 * d + 4.5 * d * w, 1e-9);
    CHECK_NEAR(m.slope_var_ns2_per_s2, 4.0 + 9.0 * w, 1e-9);
    CHECK(m.walk_ns_per_s_sqrt_s == 3.0 && m.path_var_ns2 == 36.0 && m.unseen_var_ns2 == 81.0);
    CHECK_NEAR(m.bound_ns, 500.0 + 200.0 * w, 1e-9);
    CHECK(m.bound_slope_ns_per_s == 200.0);
    /* Without a walk, both ways give the same variance, there and back. */
    CHECK_NEAR(ictusi_line_error_sigma(&e, d), sqrt(m.offset_var_ns2), 1e-9);
    const struct line_error sure = {100.0, -7.0, 4.0, 0.0, 500.0, 0.0, 0.0, 0.0};
    const struct line_error there = ictusi_line_error_move(&sure, d);
    const struct line_error back = ictusi_line_error_move(&there, -d);
    CHECK_NEAR(back.offset_var_ns2, 100.0, 1e-9);
    CHECK_NEAR(back.covariance_ns2_per_s, -7.0, 1e-9);
}

/* The variances of independent errors add up, and so do bounds; walks add up as variances. */
static void errors_add(void)
{
    const struct line_error a = {100.0, -7.0, 4.0, 3.0, 500.0, 200.0, 36.0, 81.0};
    const struct line_error b = {1.0, 2.0, 0.5, 4.0, 60.0, 30.0, 0.25, 0.5};
    const struct line_error both = ictusi_line_error_add(&a, &b);
    CHECK(both.offset_var_ns2 == 101.0 && both.covariance_ns2_per_s == -5.0);
    CHECK(both.slope_var_ns2_per_s2 == 4.5 && both.bound_ns == 560.0);
    CHECK(both.bound_slope_ns_per_s == 230.0 && both.path_var_ns2 == 36.25 &&
          both.unseen_var_ns2 == 81.5);
    CHECK_NEAR(both.walk_ns_per_s_sqrt_s, 5.0, 1e-12);
    for (double d = -3.0; d <= 3.0; d += 1.5) {
        CHECK_NEAR(pow(ictusi_line_error_sigma(&both, d), 2),
                   pow(ictusi_line_error_sigma(&a, d), 2) + pow(ictusi_line_error_sigma(&b, d), 2),
                   1e-9);
        CHECK_NEAR(ictusi_line_error_bound(&both, d),
                   ictusi_line_error_bound(&a, d) + ictusi_line_error_bound(&b, d), 1e-9);
    }
    /* Rounding may make a variance negative; there is no error then. */
    const struct line_error none = {1.0, -2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    CHECK(ictusi_line_error_sigma(&none, 2.0) == 0.0);
}

/* Whole nanoseconds and a remainder of at most half of one, for any input. */
static void rests_are_small(void)
{
    const struct line line = ictusi_line_make(5, 10, -3.75, 2e-6);
    CHECK(line.anchor == 5 && line.offset == 6 && line.frac == 0.25 && line.slope == 2e-6);
    CHECK(ictusi_line_map(&line, 5) == 11 && ictusi_line_map(&line, 1000005) == 1000013);
    const struct line same = ictusi_line_identity();
    CHECK(ictusi_line_map(&same, -77) == -77 && same.frac == 0.0 && same.anchor == 0);
    const struct line both = ictusi_line_compose(&line, &same);
    CHECK(both.frac >= -0.5 && both.frac <= 0.5 && ictusi_line_map(&both, 5) == 11);
}

int main(void)
{
    composition_equals_mapping_twice();
    inversion_returns();
    moving_the_anchor_changes_nothing();
    errors_grow();
    errors_move(4.0);
    errors_move(-4.0);
    errors_add();
    rests_are_small();
    return check_result();
}
