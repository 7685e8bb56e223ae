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
    const struct line_error error = {100.0, 0.0, 4.0, 3.0, 500.0, 200.0, 36.0};
    CHECK_NEAR(ictusi_line_error_sigma(&error, 0.0), 10.0, 1e-12);
    CHECK_NEAR(ictusi_line_error_sigma(&error, 10.0), sqrt(100.0 + 400.0 + 3000.0), 1e-9);
    CHECK_NEAR(ictusi_line_error_bound(&error, -10.0), 2500.0, 1e-9);
    const struct line_error moved = ictusi_line_error_move(&error, 4.0);
    CHECK_NEAR(ictusi_line_error_sigma(&moved, 6.0), ictusi_line_error_sigma(&error, 10.0), 1e-9);
}

int main(void)
{
    composition_equals_mapping_twice();
    inversion_returns();
    moving_the_anchor_changes_nothing();
    errors_grow();
    return check_result();
}
