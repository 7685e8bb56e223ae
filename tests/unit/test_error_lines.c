/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines that delays leave possible, against all lines of a fine grid: the distance between the
 * bounds for the best line, and the mean and spread of the lines that keep them.
 */
#include "../check.h"

#include "core/random.h"
#include "waits/error_lines.h"

#include <math.h>
#include <stdbool.h>

enum { CELLS = 24, GRID = 300 };

struct scene {
    int64_t forth[CELLS], back[CELLS];
    struct delay_cells cells;
    struct error_lines lines;
};

/* Delays of 1000 ticks and more both ways around a line of errors; few cells are near it. */
static void scene_open(struct scene *s, uint64_t seed)
{
    struct rng rng;
    ictusi_random_seed(&rng, seed, 0);
    const double begin = 400 * ictusi_random_normal(&rng);
    const double end = 400 * ictusi_random_normal(&rng);
    for (int i = 0; i < CELLS; i++) {
        const double at = (i + 0.5) / CELLS;
        const double error = begin + at * (end - begin);
        s->forth[i] = llround(1000 - 900 * log(1 - ictusi_random_uniform(&rng)) + error);
        s->back[i] = llround(1000 - 900 * log(1 - ictusi_random_uniform(&rng)) - error);
    }
    s->cells = (struct delay_cells){
        .forth = s->forth, .back = s->back, .from = 0, .to = CELLS, .drift = 1500};
    REQUIRE(!ictusi_error_lines_init(&s->lines, CELLS));
}

/* How far a line stays from the nearest bound, in ticks. */
static double scene_room(const struct scene *s, double p, double q)
{
    double least = INFINITY;
    for (uint32_t i = s->cells.from; i < s->cells.to; i++) {
        const double length = s->cells.to - s->cells.from;
        const double at = (i - s->cells.from + 0.5) / length;
        const double wider = s->cells.apart * fabs(i + 0.5 - s->cells.near);
        const double value = p + at * (q - p);
        least = fmin(least, (double)s->forth[i] + wider - value);
        least = fmin(least, value + (double)s->back[i] + wider);
    }
    return fabs(q - p) <= s->cells.drift ? least : -INFINITY;
}

/*
 * All lines of a grid: the largest distance from the bounds, and the moments of the possible ones.
 */
static double grid_moments(const struct scene *s, double shrink, struct line_spread *spread)
{
    const double reach = 4500;
    double count = 0;
    double best = -INFINITY;
    *spread = (struct line_spread){{0, 0}, {0, 0}, 0};
    for (int i = 0; i < GRID; i++) {
        for (int k = 0; k < GRID; k++) {
            const double p = reach * (2.0 * i / (GRID - 1) - 1);
            const double q = reach * (2.0 * k / (GRID - 1) - 1);
            const double room = scene_room(s, p, q);
            best = fmax(best, room);
            if (room >= shrink) {
                count++;
                spread->mean[0] += p;
                spread->mean[1] += q;
                spread->square[0] += p * p;
                spread->square[1] += q * q;
                spread->product += p * q;
            }
        }
    }
    REQUIRE(count > 0);
    spread->mean[0] /= count;
    spread->mean[1] /= count;
    spread->square[0] = spread->square[0] / count - spread->mean[0] * spread->mean[0];
    spread->square[1] = spread->square[1] / count - spread->mean[1] * spread->mean[1];
    spread->product = spread->product / count - spread->mean[0] * spread->mean[1];
    return best;
}

static void lines_are_those_of_grid(struct scene *s, double shrink)
{
    struct line_spread plain;
    const double room = grid_moments(s, shrink, &plain);
    const double margin = ictusi_error_lines_margin(&s->lines, &s->cells);
    CHECK_NEAR(margin / 2, room, 30); /* the grid has steps of 30 */
    const struct line_spread spread = ictusi_error_lines_spread(&s->lines, shrink);
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(spread.mean[k], plain.mean[k], 10);
        CHECK_NEAR(sqrt(spread.square[k]), sqrt(plain.square[k]), 5);
    }
    CHECK_NEAR(spread.product, plain.product, 0.03 * sqrt(plain.square[0] * plain.square[1]) + 25);
}

static void lines_are_found(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct scene s;
        scene_open(&s, seed);
        s.cells.from = seed % 3 ? 0 : 5;
        s.cells.near = 9;
        s.cells.apart = seed % 2 ? 0 : 30;
        s.cells.drift = seed == 4 ? 300 : 1500;
        lines_are_those_of_grid(&s, seed % 2 ? 0 : 500);
        ictusi_error_lines_fini(&s.lines);
    }
}

/* Lines are known within a tick as they are within thousands. */
static void small_spreads_are_found(void)
{
    struct scene s;
    scene_open(&s, 3);
    for (int i = 0; i < CELLS; i++) {
        s.forth[i] = s.back[i] = i == 0 || i == CELLS - 1 ? 1 : 3;
    }
    s.cells.drift = 1e-3; /* nearly no slope: uniform between -1 and 1 */
    (void)ictusi_error_lines_margin(&s.lines, &s.cells);
    struct line_spread spread = ictusi_error_lines_spread(&s.lines, 0);
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(spread.mean[k], 0, 1e-9);
        CHECK_NEAR(spread.square[k], 1.0 / 3, 1e-3);
    }
    CHECK_NEAR(spread.product, 1.0 / 3, 1e-3);
    s.forth[0] = 3; /* bounds need not be centred */
    s.forth[CELLS - 1] = 3;
    (void)ictusi_error_lines_margin(&s.lines, &s.cells);
    spread = ictusi_error_lines_spread(&s.lines, 0);
    for (int k = 0; k < 2; k++) {
        CHECK_NEAR(spread.mean[k], 1, 1e-3);
        CHECK_NEAR(spread.square[k], 4.0 / 3, 4e-3);
    }
    CHECK_NEAR(spread.product, 4.0 / 3, 4e-3);
    ictusi_error_lines_fini(&s.lines);
}

/* Bounds that contradict each other are relaxed until one line is left. */
static void contradictions_are_measured(void)
{
    struct scene s;
    scene_open(&s, 9);
    for (int i = 0; i < CELLS; i++) {
        s.forth[i] = i == 3 ? -700 : 2000;
        s.back[i] = i == 3 ? 500 : 2000;
    }
    CHECK_NEAR(ictusi_error_lines_margin(&s.lines, &s.cells), -200, 1e-6);
    const struct line_spread one = ictusi_error_lines_spread(&s.lines, -200);
    const double at = 3.5 / CELLS;
    CHECK_NEAR(one.mean[0] + at * (one.mean[1] - one.mean[0]), -600, 60);
    ictusi_error_lines_fini(&s.lines);
}

/*
 * What a single instant shows applies to that instant only: elsewhere clocks may have drifted
 * apart.
 */
static void ends_are_less_sure(void)
{
    struct scene s;
    scene_open(&s, 10);
    for (int i = 0; i < CELLS; i++) {
        s.forth[i] = s.back[i] = i == CELLS / 2 ? 100 : 100000;
    }
    (void)ictusi_error_lines_margin(&s.lines, &s.cells);
    const struct line_spread spread = ictusi_error_lines_spread(&s.lines, 0);
    const double middle = (spread.square[0] + spread.square[1] + 2 * spread.product) / 4;
    CHECK_NEAR(sqrt(middle), 100 / sqrt(3), 10);           /* uniform */
    CHECK_NEAR(sqrt(spread.square[0]), 750 / sqrt(3), 30); /* from the drift only */
    CHECK(spread.product < 0);
    ictusi_error_lines_fini(&s.lines);
}

int main(void)
{
    lines_are_found();
    small_spreads_are_found();
    contradictions_are_measured();
    ends_are_less_sure();
    return check_result();
}
