/* SPDX-License-Identifier: BSD-3-Clause */
/* Which clock jumped, when, and by how much, against truth; and what must not pass for a jump. */
#include "../check.h"

#include "causality/clock_jumps.h"
#include "core/random.h"

#include <math.h>
#include <stdint.h>

enum { CLOCKS = 4, CELLS = 48 };

static const double span = 48e9;
static const double latency = 2000; /* ns */

/* How far each clock is ahead, ns. */
typedef double (*course_fn)(uint32_t clock, double time);

struct scene {
    struct least_delays delays;
    struct jump_finding finding;
    struct jump_witness witnesses[CLOCKS];
    bool found;
};

/* Who talks to whom. */
enum talk { TALK_ALL, TALK_CHAIN, TALK_TWO };

static bool talk_links(enum talk talk, uint32_t a, uint32_t b)
{
    const bool neighbours = a + 1 == b || b + 1 == a;
    return a != b && (talk == TALK_ALL || (talk == TALK_CHAIN ? neighbours : a * b == 2));
}

/* Messages each way, twenty a cell. */
static void scene_observe(struct scene *s, course_fn course, enum talk talk, double from, double to)
{
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    ictusi_delays_begin(&s->delays, NULL, (int64_t)from, (int64_t)to);
    for (int i = 0; i < CELLS * 20; i++) {
        for (uint32_t a = 0; a < CLOCKS; a++) {
            for (uint32_t b = 0; b < CLOCKS; b++) {
                const bool talks = talk_links(talk, a, b);
                const double sent = span * (i + ictusi_random_uniform(&rng)) / (CELLS * 20.0);
                const double delay = latency + 500 * ictusi_random_exponential(&rng);
                if (talks && sent > from && sent < to) {
                    const double seen = delay + course(b, sent + delay) - course(a, sent);
                    ictusi_delays_add(&s->delays, a, b, llround(sent + delay), llround(seen));
                }
            }
        }
    }
    REQUIRE(!ictusi_delays_finish(&s->delays, NULL));
}

static void scene_find(struct scene *s, course_fn course, enum talk talk)
{
    REQUIRE(!ictusi_delays_init(&s->delays, NULL, CLOCKS, CELLS));
    s->finding = (struct jump_finding){.witnesses = s->witnesses};
    scene_observe(s, course, talk, 0, span);
    REQUIRE(!ictusi_clock_jump_find(&s->delays, 0, 1000, &s->finding, &s->found));
}

static const int64_t jump_ns = 20300000000;

static double course_one_jumps(uint32_t clock, double time)
{
    const double drift = 1e-6 * clock * time;
    return drift - (clock == 2 && time > (double)jump_ns ? 20000 : 0);
}

static void the_clock_that_jumped_is_found(void)
{
    for (enum talk talk = TALK_ALL; talk <= TALK_CHAIN; talk++) {
        struct scene s;
        scene_find(&s, course_one_jumps, talk);
        CHECK(s.found && s.finding.jump.clock == 2 &&
              s.finding.count == (talk == TALK_CHAIN ? 2 : 3));
        CHECK_NEAR(s.finding.jump.size, -20000, 500);
        CHECK(s.finding.jump.from < jump_ns && s.finding.jump.to > jump_ns);
        for (int look = 0; look < 3; look++) {
            const double from = (double)s.finding.jump.from;
            const double to = (double)s.finding.jump.to;
            scene_observe(&s, course_one_jumps, talk, from - (to - from) / 10,
                          to + (to - from) / 10);
            REQUIRE(!ictusi_clock_jump_place(&s.delays, &s.finding));
        }
        /* Twenty messages a second each way. */
        CHECK(s.finding.jump.from <= jump_ns && s.finding.jump.from > jump_ns - 200000000);
        CHECK(s.finding.jump.to >= jump_ns && s.finding.jump.to < jump_ns + 200000000);
        CHECK(!s.finding.gradual);
        ictusi_delays_fini(&s.delays);
    }
}

/* Of two clocks that talk to nobody else, each may have jumped. */
static void nobody_is_moved_if_another_may_have_jumped(void)
{
    struct scene s;
    scene_find(&s, course_one_jumps, TALK_TWO);
    CHECK(!s.found);
    ictusi_delays_fini(&s.delays);
}

static double course_slides(uint32_t clock, double time)
{
    return clock == 2 ? 20000 * fmin(fmax((time - 20.1e9) / 0.8e9, 0), 1) : 0;
}

/* What looks like a jump from afar may take its time, which a closer look shows. */
static void slides_are_no_jumps(void)
{
    struct scene s;
    scene_find(&s, course_slides, TALK_ALL);
    CHECK(s.found && !s.finding.gradual);
    const double from = (double)s.finding.jump.from;
    const double to = (double)s.finding.jump.to;
    scene_observe(&s, course_slides, TALK_ALL, from - (to - from) / 10, to + (to - from) / 10);
    REQUIRE(!ictusi_clock_jump_place(&s.delays, &s.finding));
    CHECK(s.finding.gradual);
    ictusi_delays_fini(&s.delays);
}

static struct {
    double begin, length, size;
} slide;

static double course_slides_anywhere(uint32_t clock, double time)
{
    return clock == 1 ? slide.size * fmin(fmax((time - slide.begin) / slide.length, 0), 1) : 0;
}

/* Slides over three cells never look like jumps, and those over two seldom, even from afar. */
static void slides_look_like_slides(void)
{
    int found[2] = {0, 0};
    int count = 0;
    for (slide.begin = 20e9; slide.begin < 21e9; slide.begin += 0.125e9) {
        for (slide.size = 9000; slide.size < 1e6; slide.size *= 9) {
            for (int cells = 2; cells <= 3; cells++) {
                struct scene s;
                slide.length = cells * 1e9;
                scene_find(&s, course_slides_anywhere, count % 2 ? TALK_CHAIN : TALK_ALL);
                found[cells - 2] += s.found;
                ictusi_delays_fini(&s.delays);
            }
            count++;
        }
    }
    CHECK(found[0] <= count / 4 && found[1] == 0);
}

static double course_rest(uint32_t clock, double time)
{
    return clock == 2 && time > 20.5e9 ? 700 : 0;
}

/* What is left of a jump is added to its size, and its error is as small as the messages permit. */
static void sizes_are_improved(void)
{
    struct scene s;
    scene_find(&s, course_rest, TALK_ALL);
    CHECK(!s.found); /* less than is looked for */
    struct clock_jump jump = {2, 19300, 0, (int64_t)20.4e9, (int64_t)20.6e9};
    REQUIRE(!ictusi_clock_jump_rest(&s.delays, &jump));
    CHECK_NEAR(jump.size, 20000, 100);
    CHECK(jump.error > 0 && jump.error < 100);
    ictusi_delays_fini(&s.delays);
}

static double course_reference_jumps(uint32_t clock, double time)
{
    return clock == 0 && time > 30.5e9 ? 20000 : 0;
}

/* Of the two ends of a chain, the clock that shows the time has one witness, which may have jumped.
 */
static void the_clock_that_shows_the_time_needs_witnesses(void)
{
    struct scene s;
    scene_find(&s, course_reference_jumps, TALK_ALL);
    CHECK(s.found && s.finding.jump.clock == 0 && s.finding.count == CLOCKS - 1);
    ictusi_delays_fini(&s.delays);
    scene_find(&s, course_reference_jumps, TALK_CHAIN);
    CHECK(!s.found || s.finding.jump.clock != 0);
    ictusi_delays_fini(&s.delays);
}

static double course_bends(uint32_t clock, double time)
{
    return clock == 1 && time > 24.5e9 ? 1e-5 * (time - 24.5e9) : 0;
}

static double course_two_bend(uint32_t clock, double time)
{
    const double later = clock == 1 ? 23e9 : 26e9;
    return (clock == 1 || clock == 2) && time > later ? 7e-6 * (time - later) : 0;
}

static double course_sways(uint32_t clock, double time)
{
    return clock == 3 ? 30000 * sin(time / 4e9) : 0;
}

static double course_runs(uint32_t clock, double time)
{
    return 1e-4 * clock * time + 5e5 * clock;
}

static void what_bends_does_not_jump(void)
{
    const course_fn courses[] = {course_bends, course_two_bend, course_sways, course_runs};
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        for (enum talk talk = TALK_ALL; talk <= TALK_CHAIN; talk++) {
            struct scene s;
            scene_find(&s, courses[i], talk);
            CHECK(!s.found);
            ictusi_delays_fini(&s.delays);
        }
    }
}

int main(void)
{
    the_clock_that_jumped_is_found();
    nobody_is_moved_if_another_may_have_jumped();
    slides_are_no_jumps();
    slides_look_like_slides();
    sizes_are_improved();
    the_clock_that_shows_the_time_needs_witnesses();
    what_bends_does_not_jump();
    return check_result();
}
