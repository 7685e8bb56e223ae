/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for an instant: never shorter, by sleeping where there is time and by yielding where
 * others need the core, and not for ever on a clock that steps back.
 */
#include "clock/source.h"
#include "sync/wait.h"

#include "../check.h"

#include <sched.h>
#include <time.h>

/* A clock that each reading, yield and sleep moves on. */
static struct {
    int64_t now_ns, read_ns, yield_ns, late_ns;
    int64_t step_at_ns, step_ns; /* once */
    int64_t slept_ns;
    int sleeps, yields, reads;
} world;

static int64_t world_read(const struct source *source)
{
    (void)source;
    world.reads++;
    world.now_ns += world.read_ns;
    if (world.step_ns && world.now_ns >= world.step_at_ns) {
        world.now_ns += world.step_ns;
        world.step_ns = 0;
    }
    return world.now_ns;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);
int __wrap_sched_yield(void);

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    CHECK(wanted->tv_sec >= 0 && wanted->tv_nsec >= 0 && wanted->tv_nsec < 1000000000);
    world.sleeps++;
    world.slept_ns = wanted->tv_sec * 1000000000 + wanted->tv_nsec;
    world.now_ns += world.slept_ns + world.late_ns;
    return 0;
}

int __wrap_sched_yield(void)
{
    world.yields++;
    world.now_ns += world.yield_ns;
    return 0;
}

static const struct source_ops ops = {.name = "test", .read = world_read};
static const struct source source = {.ops = &ops};

static int64_t wait_for(int64_t span_ns, bool crowded)
{
    world.now_ns = 5000;
    world.read_ns = 10;
    world.yield_ns = 300;
    world.sleeps = world.yields = world.reads = 0;
    return ictusi_sync_wait_until(&source, 5000 + span_ns, crowded);
}

static const int64_t hour = INT64_C(3600000000000);

static void waits_sleep_yield_and_spin(void)
{
    CHECK(wait_for(0, true) == 5010 && world.reads == 1); /* it was already past */
    CHECK(wait_for(10, true) == 5010 && world.reads == 1);
    CHECK(wait_for(11, true) == 5020 && world.reads == 2 && world.yields == 0);
    CHECK(wait_for(2000, true) == 7000 && world.yields == 0); /* the core is kept at the end */
    CHECK(wait_for(100000, false) == 105000 && world.yields == 0 && world.sleeps == 0);
    CHECK(wait_for(100000, true) == 105000 && world.yields > 300 && world.sleeps == 0);
    CHECK(wait_for(300010, false) == 305010 && world.sleeps == 0);
    CHECK(wait_for(300020, false) == 305020 && world.sleeps == 1 && world.slept_ns == 100010);
    CHECK(wait_for(hour, false) == hour + 5000 && world.sleeps == 1);
    CHECK(world.slept_ns == hour - 200010);
    world.late_ns = 250000; /* a sleep that ends too late is seen to */
    CHECK(wait_for(hour, true) == hour + 55010 && world.sleeps == 1);
    world.late_ns = 0;
}

static void steps_end_a_wait(void)
{
    /* An hour back, once: whoever has to wait for that is told the time instead. */
    world.step_at_ns = 6000;
    world.step_ns = -hour;
    CHECK(wait_for(2000, false) < 6000 && world.sleeps == 0);
    /* Forward is only late. */
    world.step_at_ns = 6000;
    world.step_ns = hour;
    CHECK(wait_for(2000, false) > hour);
}

int main(void)
{
    waits_sleep_yield_and_spin();
    steps_end_a_wait();
    return check_result();
}
