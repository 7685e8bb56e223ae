/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A keeper with sources whose estimates are set by hand, at instants that the test chooses. The
 * linker makes it call the functions here instead of the clock and the page (--wrap).
 */
#ifndef ICTUS_TESTS_KEEPER_SCENE_H
#define ICTUS_TESTS_KEEPER_SCENE_H

#include "lock/keeper.h"

#include "../check.h"

static const int64_t second = 1000000000;

/* The local clock is zero at 2027-01-15 08:00:00 UTC. */
static const int64_t epoch = INT64_C(1800000000000000000);

/* Static because it is large; each test resets it. */
static struct keeper keeper;
static struct page page;

/* What the linker makes the keeper call: the clock of the test, and what it publishes. */
static int64_t now;
static struct page_clock shown;
static int shows;
static struct ictus_lock_status told;
int64_t __wrap_ictusi_timebase_raw_now(void);
unsigned __wrap_ictusi_timebase_read(struct timebase *base);
void __wrap_ictusi_page_publish(struct page_writer *writer, const struct page_clock *clock);
void __wrap_ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status);

int64_t __wrap_ictusi_timebase_raw_now(void)
{
    return now;
}

unsigned __wrap_ictusi_timebase_read(struct timebase *base)
{
    base->real += 300; /* something else steers the clock */
    return 0;
}

void __wrap_ictusi_page_publish(struct page_writer *writer, const struct page_clock *clock)
{
    CHECK(writer == &keeper.page);
    shown = *clock;
    shows++;
}

void __wrap_ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status)
{
    CHECK(writer == &keeper.page);
    told = *status;
}

/*
 * A good source now reports that the clock is `ahead` of the epoch's line, within `half` to each
 * side.
 */
static void source_say(int i, double ahead_ns, double half_ns)
{
    struct upstream *s = &keeper.sources[i];
    s->discipline.state = (struct kalman){
        .phase = ahead_ns - 1000 - 300 * i, .frequency = 2000, .pp = 400, .pf = 5, .ff = 9};
    s->discipline.at = now;
    s->bound.kept = (struct bound_track){.at = now,
                                         .low_ns = ahead_ns - half_ns - 500,
                                         .high_ns = ahead_ns + half_ns - 500,
                                         .rate_low = 1500,
                                         .rate_high = 2700,
                                         .started = true};
    s->last_good = now;
}

static void keeper_begin(int sources)
{
    memset(&keeper, 0, sizeof(keeper));
    now = 100 * second;
    shows = 0;
    keeper.source_count = sources;
    keeper.options.min_sources = 1;
    keeper.options.makestep_s = 0.01;
    keeper.page.page = &page;
    keeper.base.real = epoch + 7000;
    for (int i = 0; i <= sources; i++) {
        struct upstream *s = &keeper.sources[i];
        (void)snprintf(s->name, sizeof(s->name), "source%d", i);
        ictusi_discipline_init(&s->discipline, ICTUS_LOCK_FLL, 0.0, 120.0);
        ictusi_bound_init(&s->bound, 1e-8);
        s->discipline.started = s->bound.started = s->locked = true;
        s->discipline.origin_ns = epoch + 1000 + INT64_C(300) * i;
        s->discipline.walk_ns2_per_s3 = 0.25;
        s->bound.origin_ns = epoch + 500;
        s->reach = 1;
        s->stratum = 3;
        s->interval_s = 16.0;
        source_say(i, 0.0, 100.0 + i);
    }
    /* There is no source after the last one, whatever the memory there contains. */
    source_say(sources, 1e9, 1.0);
    keeper.sources[sources].leap = 2;
    keeper.sources[sources].selection = ICTUS_SOURCE_SELECTED;
    keeper.sources[sources].due = 5;
}

#endif
