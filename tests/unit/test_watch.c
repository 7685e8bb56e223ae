/* SPDX-License-Identifier: BSD-3-Clause */
/* Known steps of a source, compared with what its watch reports. */
#include "clock/source.h"
#include "clock/watch.h"

#include "../check.h"

#include <ictus/time.h>
#include <time.h>

/*
 * The linker makes all code call this instead of the kernel's clock: it returns that clock, or one
 * of the test's own that advances by a fixed time with each reading.
 */
static int64_t own_ns, each_ns;
int clock_real(clockid_t clock, struct timespec *now) __asm__("__real_clock_gettime");
int clock_own(clockid_t clock, struct timespec *now) __asm__("__wrap_clock_gettime");

int clock_own(clockid_t clock, struct timespec *now)
{
    if (!own_ns) {
        return clock_real(clock, now);
    }
    now->tv_sec = own_ns / ICTUS_NS_PER_S;
    now->tv_nsec = own_ns % ICTUS_NS_PER_S;
    own_ns += each_ns;
    return 0;
}

/* The kernel's clock, moved by what has been added to it. */
struct moved {
    struct source base;
    int64_t added_ns;
};

static int64_t moved_read(const struct source *source)
{
    const struct moved *moved = (const void *)source;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec + moved->added_ns;
}

static const struct source_ops moved_ops = {.name = "moved", .read = moved_read};

/*
 * Whether a move by ns after this long a watch is ever called a step. A process that loses its core
 * between two readings may miss a step, so there are many attempts. A move that is no step must
 * never be called one.
 */
static bool is_step(int64_t watched_ns, int64_t ns)
{
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES; i++) {
        struct moved moved = {.base.ops = &moved_ops, .added_ns = 1000000007};
        struct watch watch;
        ictusi_watch_begin(&watch, &moved.base);
        watch.began_ns -= watched_ns;
        moved.added_ns += ns;
        const struct watch_look look = ictusi_watch_look(&watch, &moved.base);
        CHECK(look.elapsed_ns >= watched_ns);
        if (look.stepped) {
            return true;
        }
    }
    return false;
}

/*
 * Immediately, 20 us are a step; later, a thousandth of the watched time more. In both directions.
 */
static void steps_are_told_from_drifts(void)
{
    for (int way = -1; way <= 1; way += 2) {
        CHECK(is_step(0, way * INT64_C(30000)));
        CHECK(!is_step(0, way * INT64_C(10000)));
        CHECK(!is_step(ICTUS_NS_PER_S, way * INT64_C(900000)));
        CHECK(is_step(ICTUS_NS_PER_S, way * INT64_C(1100000)));
        CHECK(!is_step(1000 * ICTUS_NS_PER_S, way * (ICTUS_NS_PER_S * 9 / 10)));
        CHECK(is_step(1000 * ICTUS_NS_PER_S, way * (ICTUS_NS_PER_S * 11 / 10)));
    }
    CHECK(!is_step(0, 0));
}

/* A source that is ahead of the kernel's clock; its reader may lose its core once. */
static int64_t ahead_ns, kept_ns;

static int64_t ahead_read(const struct source *source)
{
    (void)source;
    const int64_t now = own_ns + ahead_ns;
    own_ns += kept_ns;
    kept_ns = 0;
    return now;
}

/*
 * The watch reports what was read: the source's instant, and the time on the kernel's clock since
 * then.
 */
static void looks_are_told(void)
{
    static const struct source_ops ops = {.name = "ahead", .read = ahead_read};
    const struct source source = {.ops = &ops};
    const int64_t began = 8 * ICTUS_NS_PER_S - 1000; /* a second ends between two readings */
    struct watch watch;
    own_ns = began;
    each_ns = 3000;
    ahead_ns = 50000;
    ictusi_watch_begin(&watch, &source);
    CHECK(watch.began_ns == began && watch.low_ns == 50000 && watch.high_ns == 53000);
    own_ns = began + 5 * ICTUS_NS_PER_S;
    struct watch_look look = ictusi_watch_look(&watch, &source);
    CHECK(look.source_ns == began + 5 * ICTUS_NS_PER_S + 50000 && !look.stepped);
    CHECK(look.elapsed_ns == 5 * ICTUS_NS_PER_S);
    /* A reader that lost its core after reading the source has seen no step. */
    own_ns = began;
    kept_ns = 60000000;
    look = ictusi_watch_look(&watch, &source);
    CHECK(!look.stepped && look.elapsed_ns == 60003000 && look.source_ns == began + 60056000);
    for (int way = -1; way <= 1; way += 2) {
        own_ns = began;
        ahead_ns = 50000 + way * INT64_C(60000000);
        look = ictusi_watch_look(&watch, &source);
        CHECK(look.stepped && look.elapsed_ns == 3000 && look.source_ns == began + 6000 + ahead_ns);
    }
    own_ns = 0;
}

/* The kernel's clock never steps relative to itself, however long its reader is away. */
static void itself_is_no_step(void)
{
    struct ictus_why why;
    struct source *source = NULL;
    struct watch watch;
    REQUIRE(ictusi_source_open("monotonic", NULL, &source, &why) == ICTUS_OK);
    own_ns = 8 * ICTUS_NS_PER_S;
    each_ns = 1000;
    ictusi_watch_begin(&watch, source);
    own_ns = 9 * ICTUS_NS_PER_S;
    each_ns = 50000000;
    const struct watch_look look = ictusi_watch_look(&watch, source);
    CHECK(!look.stepped && look.source_ns == 9 * ICTUS_NS_PER_S);
    CHECK(look.elapsed_ns == ICTUS_NS_PER_S && own_ns == 9 * ICTUS_NS_PER_S + 50000000);
    own_ns = 0;
    ictusi_source_free(source);
}

/* On a clock that stands, the limit is exact: 20 us and a thousandth of the watched time. */
static void limits_are_exact(void)
{
    each_ns = 0;
    for (int64_t watched_s = 0; watched_s <= 8; watched_s += 8) {
        const int64_t limit_ns = 20000 + watched_s * (ICTUS_NS_PER_S / 1000);
        for (int way = -1; way <= 1; way += 2) {
            for (int over = 0; over <= 1; over++) {
                struct moved moved = {.base.ops = &moved_ops};
                struct watch watch;
                own_ns = 7 * ICTUS_NS_PER_S;
                ictusi_watch_begin(&watch, &moved.base);
                own_ns += watched_s * ICTUS_NS_PER_S;
                moved.added_ns = way * (limit_ns + over);
                const struct watch_look look = ictusi_watch_look(&watch, &moved.base);
                CHECK(look.stepped == (over == 1));
                CHECK(look.elapsed_ns == watched_s * ICTUS_NS_PER_S);
            }
        }
    }
    own_ns = 0;
}

int main(void)
{
    steps_are_told_from_drifts();
    looks_are_told();
    itself_is_no_step();
    limits_are_exact();
    return check_result();
}
