/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error histories of clocks: which clocks there are, that draws have the deviations that the
 * archive states, and how they are interpolated between knots.
 */
#include "../check.h"

#include "waits/histories.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { NODES = 40, OF_NODE = 2, LOCATIONS = NODES * OF_NODE, KNOTS = 3 };

/* Processes with one location each, two per node, with clock offsets at some instants. */
struct scene {
    struct trace trace;
    struct layout_location locations[LOCATIONS];
    struct layout_process processes[LOCATIONS];
    struct clock_offset offsets[LOCATIONS][KNOTS];
    uint32_t unit_of[LOCATIONS], process_of[LOCATIONS];
    struct session session;
};

/* The processes of a node read one clock, whose error depends on its number. */
static void scene_open(struct scene *s)
{
    *s = (struct scene){.trace = {.layout = {.resolution = 1000000000,
                                             .length = 9000,
                                             .location_count = LOCATIONS,
                                             .process_count = LOCATIONS,
                                             .node_count = NODES,
                                             .locations = s->locations,
                                             .processes = s->processes}}};
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        const uint32_t node = i / OF_NODE;
        for (uint32_t k = 0; k < KNOTS; k++) {
            s->offsets[i][k] = (struct clock_offset){1000 + 4000 * (uint64_t)k,
                                                     (int64_t)(100 * node + 7 * k), 10.0 + node};
        }
        s->locations[i] = (struct layout_location){
            .ref = i, .process = i, .offsets = s->offsets[i], .offset_count = KNOTS};
        s->processes[i] = (struct layout_process){
            .ref = i, .node = node, .creator = LAYOUT_NONE, .rank_location = i};
        s->unit_of[i] = node;
        s->process_of[i] = i;
    }
    s->session = (struct session){.trace = &s->trace,
                                  .unit_of = s->unit_of,
                                  .process_of = s->process_of,
                                  .presync = PRESYNC_LINEAR};
}

/*
 * The product of the draws at two knots, over all clocks and histories, in units of their
 * deviations.
 */
static double drawn_product(const struct histories *h, uint32_t a, uint32_t b)
{
    double sum = 0;
    for (uint32_t c = 0; c < h->clock_count; c++) {
        const struct clock_errors *e = &h->clocks[c];
        for (int k = 0; k < HISTORIES; k++) {
            sum += e->history[a * HISTORIES + (uint32_t)k] / e->sigma[a] *
                   e->history[b * HISTORIES + (uint32_t)k] / e->sigma[b];
        }
    }
    return sum / (HISTORIES * (double)h->clock_count);
}

/* Each node has a clock; knots and deviations come from the archive. */
static void archive_tells(void)
{
    struct scene s;
    struct histories h;
    struct histories again;
    double furthest = 0;
    scene_open(&s);
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.source == SIGMA_ARCHIVE && h.clock_count == NODES && !h.pairs);
    CHECK_NEAR(h.worst, 10.0 + NODES - 1, 1e-12);
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        CHECK(h.clock_of[i] == i / OF_NODE);
    }
    for (uint32_t c = 0; c < NODES; c++) {
        REQUIRE(h.clocks[c].count == KNOTS);
        for (uint32_t k = 0; k < KNOTS; k++) {
            CHECK(h.clocks[c].times[k] == 1000 + 4007 * (int64_t)k + 100 * (int64_t)c);
            CHECK_NEAR(h.clocks[c].sigma[k], 10.0 + c, 1e-12);
        }
        for (int k = 0; k < KNOTS * HISTORIES; k++) {
            furthest = fmax(furthest, fabs(h.clocks[c].history[k]));
        }
    }
    CHECK_NEAR(h.reach, furthest, 0);
    /* 1600 draws with variance 1, half of it common to all knots: within five deviations. */
    const double off = 5 / sqrt(HISTORIES * (double)NODES);
    for (uint32_t a = 0; a < KNOTS; a++) {
        for (uint32_t b = 0; b < KNOTS; b++) {
            CHECK_NEAR(drawn_product(&h, a, b), a == b ? 1 : 0.5, off * sqrt(2));
        }
    }
    CHECK(h.clocks[0].history[0] / h.clocks[0].sigma[0] !=
          h.clocks[1].history[0] / h.clocks[1].sigma[0]); /* the errors of clocks are independent */
    REQUIRE(!ictusi_histories_make(&again, &s.session, 0));
    for (uint32_t c = 0; c < NODES; c++) {
        for (int k = 0; k < KNOTS * HISTORIES; k++) {
            CHECK_NEAR(h.clocks[c].history[k], again.clocks[c].history[k], 0);
        }
    }
    ictusi_histories_free(&h);
    ictusi_histories_free(&again);
    CHECK(!h.clocks);
}

/* How many clocks there are after a change of the archive. */
static uint32_t clocks_of(const struct scene *s)
{
    struct histories h;
    REQUIRE(!ictusi_histories_make(&h, (struct session *)(uintptr_t)&s->session, 0));
    const uint32_t count = h.clock_count;
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        CHECK(h.clock_of[i] == (count == NODES ? i / OF_NODE : i));
    }
    ictusi_histories_free(&h);
    return count;
}

/* Processes of a node share a clock unless their offsets or the messages contradict that. */
static void clocks_are_told_apart(void)
{
    struct scene s;
    scene_open(&s);
    CHECK(clocks_of(&s) == NODES);
    s.offsets[7][1].offset++;
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    s.offsets[7][1].time++;
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    s.locations[7].offset_count = 2;
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    s.locations[7].offset_count = 0; /* it has no offsets */
    CHECK(clocks_of(&s) == NODES);
    scene_open(&s);
    s.locations[6].offset_count = 0; /* nor has the first one */
    CHECK(clocks_of(&s) == NODES);
    s.locations[6].offset_count = 1; /* one has an offset, but no drift */
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    s.unit_of[7] = 77; /* messages have shown that */
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    for (uint32_t k = 0; k < KNOTS; k++) { /* constant offsets, stated at other instants */
        s.offsets[6][k].offset = s.offsets[7][k].offset = 5;
        s.offsets[7][k].time += 50;
    }
    CHECK(clocks_of(&s) == NODES);
    s.locations[7].offset_count = 1;
    CHECK(clocks_of(&s) == NODES);
    s.offsets[7][0].offset = 6;
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    s.processes[2].node = s.unit_of[2] = 0; /* the first and the last of three on a node differ */
    s.locations[1].offset_count = 0;
    CHECK(clocks_of(&s) == LOCATIONS);
    scene_open(&s);
    s.processes[7].node = 9; /* of the node whose clock it reads: consistent */
    s.unit_of[7] = 9;
    memcpy(s.offsets[7], s.offsets[18], sizeof(s.offsets[7]));
    struct histories h;
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.clock_count == NODES && h.clock_of[7] == 9);
    ictusi_histories_free(&h);
}

/*
 * Threads that contradict the clock of their process get clocks of their own, after all others, and
 * return to the process's clock if nothing ties them to their own.
 */
static void threads_have_clocks(void)
{
    struct scene s;
    struct histories h;
    uint32_t group[NODES + 2] = {0};
    scene_open(&s);
    s.process_of[7] = 6;
    s.process_of[13] = 12;
    s.unit_of[7] = NODES;
    s.unit_of[13] = NODES + 1;
    s.session.unit_count = NODES + 2;
    s.session.thread_units = 2;
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.clock_count == NODES + 2 && h.clock_of[7] == NODES && h.clock_of[13] == NODES + 1);
    CHECK(h.clock_of[6] == 3 && h.clock_of[12] == 6);
    CHECK(h.home[NODES] == 3 && h.home[NODES + 1] == 6 && h.home[3] == 3);
    CHECK(!ictusi_histories_rejoin(&h, &s.session, group)); /* all are tied to each other */
    CHECK(h.clock_count == NODES + 2 && h.clock_of[13] == NODES + 1);
    group[NODES] = NODES;
    CHECK(ictusi_histories_rejoin(&h, &s.session, group));
    CHECK(h.clock_count == NODES + 1 && h.clock_of[7] == 3);
    CHECK(h.clock_of[13] == NODES && h.home[NODES] == 6);
    h.clock_count = NODES + 2; /* the number of clocks to release */
    ictusi_histories_free(&h);
}

/* A single thread, too. */
static void one_thread_has_a_clock(void)
{
    struct scene s;
    struct histories h;
    scene_open(&s);
    s.process_of[7] = 6;
    s.unit_of[7] = NODES;
    s.session.unit_count = NODES + 1;
    s.session.thread_units = 1;
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.clock_count == NODES + 1 && h.clock_of[7] == NODES && h.home[NODES] == 3);
    ictusi_histories_free(&h);
}

/* One clock has no error, and the error of an unknown one may be anything. */
static void other_sources(void)
{
    struct scene s;
    struct histories h;
    scene_open(&s);
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        s.processes[i].node = 0;
        s.unit_of[i] = 0;
        s.locations[i].offset_count = 0;
    }
    s.trace.layout.node_count = 1;
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.source == SIGMA_ONE_CLOCK && h.clock_count == 1 && h.reach == 0 && h.worst == 0);
    uint32_t hint = 0;
    CHECK(ictusi_histories_sigma(&h, 0, 0, 3, 0) == 0);
    CHECK(ictusi_histories_off(&h, 0, 0, &hint) == 0);
    ictusi_histories_free(&h);
    scene_open(&s);
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        for (uint32_t k = 0; k < KNOTS; k++) {
            s.offsets[i][k].sd = 0; /* the archive has offsets, but not their accuracy */
        }
    }
    /* Nor do messages, because there are none. */
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.source == SIGMA_UNKNOWN && h.reach == 0);
    CHECK(isinf(ictusi_histories_sigma(&h, 0, 0, 2, 0)));
    CHECK(ictusi_histories_sigma(&h, 0, 0, 1, 0) == 0); /* on one node */
    double off[HISTORIES] = {1};
    ictusi_histories_read(&h, 0, 0, off);
    CHECK(off[0] == 0 && ictusi_histories_at(&h, 0, 0, 5) == 0);
    ictusi_histories_free(&h);
    scene_open(&s);
    s.session.presync = PRESYNC_MESSAGES; /* the archive's offsets turned out to be wrong */
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.source == SIGMA_UNKNOWN);
    ictusi_histories_free(&h);
    scene_open(&s);
    s.locations[4].offset_count = s.locations[5].offset_count = 0; /* a node without offsets */
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    CHECK(h.source == SIGMA_UNKNOWN);
    ictusi_histories_free(&h);
}

/* The knot before an instant, and the position of the instant on the way to the next one. */
static uint32_t knot_before(const struct clock_errors *e, int64_t time, double *share)
{
    uint32_t at = 0;
    while (at + 1 < KNOTS && e->times[at + 1] <= time) {
        at++;
    }
    const bool between = at + 1 < KNOTS && time > e->times[0];
    *share =
        between ? (double)(time - e->times[at]) / (double)(e->times[at + 1] - e->times[at]) : 0;
    return at;
}

static void line_is_straight(const struct histories *h, uint32_t location, int64_t time)
{
    const struct clock_errors *e = &h->clocks[location / OF_NODE];
    double off[HISTORIES];
    double share = 0;
    const uint32_t at = knot_before(e, time, &share);
    ictusi_histories_read(h, location, time, off);
    for (int k = 0; k < HISTORIES; k++) {
        const double *own = &e->history[at * HISTORIES + (uint32_t)k];
        const double want = share > 0 ? own[0] * (1 - share) + own[HISTORIES] * share : *own;
        CHECK_NEAR(off[k], want, 1e-9);
        CHECK_NEAR(ictusi_histories_at(h, location, time, k), want, 1e-9);
        CHECK_NEAR(ictusi_histories_at(h, location, time, HISTORIES + k), -want, 1e-9);
    }
    /* Half of the variance is common to both knots; so this is the variance of the sum. */
    const double a = e->sigma[at] * (1 - share);
    const double b = share > 0 ? e->sigma[at + 1] * share : 0;
    const uint32_t other = location ^ OF_NODE; /* on the next node or the previous one */
    const double far = h->clocks[other / OF_NODE].sigma[0];
    CHECK_NEAR(ictusi_histories_sigma(h, location, time, other, 0),
               sqrt(a * a + b * b + a * b + far * far), 1e-9);
    CHECK(ictusi_histories_sigma(h, location, time, location ^ 1, 0) == 0);
    uint32_t hint = 0;
    CHECK(ictusi_histories_off(h, location, time, &hint) == 0); /* of messages only */
}

/* The errors that messages have shown are subtracted, interpolated linearly. */
static void messages_are_taken_off(struct histories *h)
{
    double *off = h->clocks[0].off;
    const int64_t *times = h->clocks[0].times;
    h->source = SIGMA_MESSAGES;
    off[0] = 100;
    off[1] = 300;
    off[2] = -51;
    uint32_t hint = 0;
    const uint32_t all = h->clock_count;
    h->clock_count = 2; /* two are enough, but one has nothing to be compared with */
    CHECK(ictusi_histories_off(h, 0, 0, &hint) == 100);
    h->clock_count = 1;
    CHECK(ictusi_histories_off(h, 0, 0, &hint) == 0);
    h->clock_count = all;
    CHECK(ictusi_histories_off(h, 0, 0, &hint) == 100);
    CHECK(ictusi_histories_off(h, 0, times[0] + 1, &hint) == 100);
    CHECK(ictusi_histories_off(h, 0, (times[0] + times[1]) / 2, &hint) == 200);
    CHECK(ictusi_histories_off(h, 0, times[2], &hint) == -51);
    CHECK(ictusi_histories_off(h, 0, 1000000, &hint) == -51);
    CHECK(ictusi_histories_off(h, 3, 1000000, &hint) == 0);
    for (uint32_t from = 0; from < 5; from++) { /* the hint changes no result */
        uint32_t near[] = {from, from, from};
        CHECK(ictusi_histories_off(h, 0, times[0], &near[0]) == 100);
        CHECK(ictusi_histories_off(h, 0, (times[0] + times[1]) / 2, &near[1]) == 200);
        CHECK(ictusi_histories_off(h, 0, times[2], &near[2]) == -51);
        CHECK(near[0] == 0 && near[1] == 0 && near[2] == 2);
    }
}

/* For pairs that messages connect, the deviation is reported as it was drawn. */
static void pairs_have_deviations(struct histories *h)
{
    h->knots = KNOTS;
    h->pairs = calloc((size_t)NODES * NODES * KNOTS, sizeof(*h->pairs));
    REQUIRE(h->pairs);
    double *pair = &h->pairs[(2UL * NODES + 5) * KNOTS];
    const int64_t *times = h->clocks[2].times;
    pair[0] = 8;
    pair[1] = 12;
    pair[2] = 2;
    CHECK_NEAR(ictusi_histories_sigma(h, 4, 0, 10, 0), 8, 1e-12);
    CHECK_NEAR(ictusi_histories_sigma(h, 4, times[1], 10, 0), 12, 1e-12);
    CHECK_NEAR(ictusi_histories_sigma(h, 5, (times[1] + times[2]) / 2, 11, 0), 7, 0.01);
    CHECK_NEAR(ictusi_histories_sigma(h, 4, 1000000, 10, 0), 2, 1e-12);
}

/* Straight lines between knots, and constant values before the first and after the last. */
static void lines_between_knots(void)
{
    struct scene s;
    struct histories h;
    scene_open(&s);
    REQUIRE(!ictusi_histories_make(&h, &s.session, 0));
    for (uint32_t location = 0; location < LOCATIONS; location += 13) {
        for (int64_t time = -500; time < 15000; time += 137) {
            line_is_straight(&h, location, time);
        }
    }
    messages_are_taken_off(&h);
    pairs_have_deviations(&h);
    ictusi_histories_free(&h);
}

int main(void)
{
    archive_tells();
    clocks_are_told_apart();
    threads_have_clocks();
    one_thread_has_a_clock();
    other_sources();
    lines_between_knots();
    return check_result();
}
