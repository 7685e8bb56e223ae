/* SPDX-License-Identifier: BSD-3-Clause */
/* The critical path and its intervals, on few calls made by hand. */
#include "../check.h"

#include "wait_scene.h"
#include "waits/critical.h"

#include <math.h>
#include <stdlib.h>

/* With both signs, 78 are -100 or 100, and two are 0. */
static double error_of_hundred(int history)
{
    return history == 0 ? 0 : 100;
}

static double error_of_hundred_back(int history)
{
    return -error_of_hundred(history);
}

/* 1 waits from 960 until 0 comes, and goes on for longer than 0. */
static void scene_of_wait(struct scene *s, int64_t came)
{
    scene_share(s, 1, came);
    s->first[0] = 0;
    const uint32_t cause = scene_call(s, 0, came, came + 10, 2);
    scene_share(s, 1, 490 + 1000 - came);
    (void)scene_call(s, 0, 1500, 1500, 0);
    s->first[1] = 2;
    scene_share(s, 1, 960);
    const uint32_t call = scene_call(s, 1, 960, 1200, 3);
    scene_share(s, 1, 800);
    (void)scene_call(s, 1, 2000, 2000, 0);
    s->first[2] = s->first[3] = s->first[4] = 4;
    scene_wait(s, call, cause, WAIT_LATE_SENDER);
}

/*
 * The path after the same wait, if the second clock errs by 100 ns and each history by some of it.
 * Without the wait, all of the path is on 1; with a wait of 140 ns, it changes over at 1100. The
 * intervals reach from the one to the other.
 */
static void path_of_errors(double (*error)(int history), struct critical *c)
{
    struct scene s;
    struct times times;
    scene_open(&s);
    scene_of_wait(&s, 1000);
    scene_errs(&s, 0, 0, NULL);
    scene_errs(&s, 1, 100, error);
    scene_times(&s, &times);
    REQUIRE(!ictusi_critical_find(c, &times, NULL));
    CHECK_NEAR(c->low[0], 0, 1e-12);
    CHECK_NEAR(c->high[0], 1100.0 / 2000, 1e-9);
    CHECK_NEAR(c->low[1], 900.0 / 2000, 1e-9);
    CHECK_NEAR(c->high[1], 1, 1e-12);
    ictusi_times_free(&times);
    scene_close(&s);
}

/*
 * By clocks that may differ by 100 ns, it did not wait in half of the histories, and the path is
 * its own from the beginning.
 */
static void path_is_uncertain(void)
{
    struct critical c;
    path_of_errors(error_of_hundred, &c);
    CHECK(c.length == 2000 && c.by_location[0] == 1000 && c.by_location[1] == 1000);
    CHECK(c.by_path.ticks[1] == 1800 && c.by_path.ticks[3] == 200 && c.by_path.ticks[2] == 0);
    ictusi_critical_free(&c);
}

/* Of 80 signed histories, two are -100 and two 100. */
static double error_of_few(int history)
{
    return history < 2 ? -100 : 0;
}

/*
 * The same with two histories that differ from the others. Only the most extreme one at either end
 * is left out of the interval, so the second of each two is its end.
 */
static void few_histories_count(void)
{
    struct critical c;
    path_of_errors(error_of_few, &c);
    ictusi_critical_free(&c);
}

/*
 * 0 came so long before 1 entered. It is waited for in the histories in which it came later, by
 * what both clocks differ: 1 is ahead by 100 ns in half of them, and 0 behind by as much.
 */
static void early_ones_may_be_waited_for(int64_t before, bool waits)
{
    struct critical c;
    struct scene s;
    struct times times;
    const double wait = waits ? 200.0 - (double)before : 0;
    scene_open(&s);
    scene_of_wait(&s, 960 - before);
    scene_errs(&s, 0, 100, error_of_hundred_back);
    scene_errs(&s, 1, 100, error_of_hundred);
    scene_times(&s, &times);
    REQUIRE(!ictusi_critical_find(&c, &times, NULL));
    CHECK(c.length == 2000 && c.by_location[0] == 0 && c.by_location[1] == 2000);
    CHECK_NEAR(c.low[0], 0, 1e-12);
    CHECK_NEAR(c.high[0], waits ? (960 + wait) / 2000.0 : 0, 1e-9);
    CHECK_NEAR(c.low[1], waits ? (1040 - wait) / 2000.0 : 1, 1e-9);
    CHECK_NEAR(c.high[1], 1, 1e-12);
    ictusi_critical_free(&c);
    ictusi_times_free(&times);
    scene_close(&s);
}

/*
 * By one clock nothing is uncertain, even if it is set forward by a thousand times the wait and
 * more in some histories, or if nobody knows of other clocks; shares are not known if nothing is
 * known of the clocks.
 */
static void clocks_decide(bool same, enum sigma_source source)
{
    struct critical c;
    struct scene s;
    struct times times;
    scene_open(&s);
    scene_of_wait(&s, 1000);
    REQUIRE(!ictusi_clock_errors_init(&s.clocks[0], 2));
    s.clocks[0].times[0] = 990;
    s.clocks[0].times[1] = 1000;
    for (int k = 0; k < HISTORIES; k++) {
        s.clocks[0].history[HISTORIES + k] = 1e5 * k;
    }
    scene_errs(&s, 1, 100, error_of_hundred);
    s.clock_of[1] = same ? 0 : 1;
    s.a.histories.reach = 1e5 * HISTORIES;
    s.a.histories.source = source;
    scene_times(&s, &times);
    REQUIRE(!ictusi_critical_find(&c, &times, NULL));
    CHECK(c.length == 2000 && c.by_location[0] == 1000 && c.by_location[1] == 1000);
    for (uint32_t l = 0; l < 2; l++) {
        if (source == SIGMA_UNKNOWN) {
            CHECK(isnan(c.low[l]) && isnan(c.high[l]));
        } else {
            CHECK((c.low[l] == 0.5 && c.high[l] == 0.5) == same);
        }
    }
    ictusi_critical_free(&c);
    ictusi_times_free(&times);
    scene_close(&s);
}

/* The shortest run of all is on the path as a whole, and one without length has no shares. */
static void shortest_path_is_shared(void)
{
    for (int i = 0; i < 4; i++) {
        const int64_t ticks = i % 2;
        struct scene s;
        struct times times;
        struct critical c;
        scene_open(&s);
        s.first[0] = 0;
        s.begin[0] = 1000;
        s.begin[1] = 1000;
        (void)scene_call(&s, 0, 1000, 1000, 0);
        s.first[1] = 1;
        scene_share(&s, 1, ticks);
        (void)scene_call(&s, 1, 1000 + ticks, 1000 + ticks, 0);
        s.first[2] = s.first[3] = s.first[4] = 2;
        if (i < 2) { /* else by one clock */
            scene_errs(&s, 0, 0, NULL);
            scene_errs(&s, 1, 100, error_of_few);
        }
        scene_times(&s, &times);
        REQUIRE(!ictusi_critical_find(&c, &times, NULL));
        CHECK(c.length == ticks);
        for (uint32_t l = 0; l < 2; l++) {
            CHECK_NEAR(c.low[l], l == 1 ? (double)ticks : 0, 0);
            CHECK_NEAR(c.high[l], l == 1 ? (double)ticks : 0, 0);
        }
        ictusi_critical_free(&c);
        ictusi_times_free(&times);
        scene_close(&s);
    }
}

/*
 * By uncertain clocks, 1 returns from its wait 40 ns before 0 arrives. Where the path changes over,
 * these 40 ns of 0 are not part of it.
 */
static void path_ends_when_it_came(void)
{
    struct scene s;
    struct times times;
    struct critical c;
    scene_open(&s);
    s.first[0] = 0;
    scene_share(&s, 1, 970);
    (void)scene_call(&s, 0, 970, 985, 4);
    scene_share(&s, 1, 15);
    const uint32_t cause = scene_call(&s, 0, 1000, 1010, 2);
    scene_share(&s, 1, 490);
    (void)scene_call(&s, 0, 1500, 1500, 0);
    s.first[1] = 3;
    scene_share(&s, 1, 900);
    const uint32_t call = scene_call(&s, 1, 900, 960, 3);
    scene_share(&s, 1, 1040);
    (void)scene_call(&s, 1, 2000, 2000, 0);
    s.first[2] = s.first[3] = s.first[4] = 5;
    scene_wait(&s, call, cause, WAIT_LATE_SENDER);
    scene_times(&s, &times);
    REQUIRE(!ictusi_critical_find(&c, &times, NULL));
    CHECK(c.length == 2000 && c.by_location[0] == 960 && c.by_location[1] == 1040);
    CHECK(c.by_path.ticks[1] == 2000 && c.by_path.ticks[4] == 0 && c.by_path.ticks[3] == 0);
    ictusi_critical_free(&c);
    ictusi_times_free(&times);
    scene_close(&s);
}

int main(void)
{
    path_is_uncertain();
    few_histories_count();
    early_ones_may_be_waited_for(40, true);
    early_ones_may_be_waited_for(198, true);
    early_ones_may_be_waited_for(199, true);
    early_ones_may_be_waited_for(200, false);
    clocks_decide(true, SIGMA_ARCHIVE);
    clocks_decide(false, SIGMA_ARCHIVE);
    clocks_decide(true, SIGMA_UNKNOWN);
    shortest_path_is_shared();
    path_ends_when_it_came();
    return check_result();
}
