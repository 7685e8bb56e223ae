/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a source that are known, against what its watch says of them. */
#include "clock/source.h"
#include "clock/watch.h"

#include "../check.h"

#include <ictus/time.h>
#include <time.h>

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
 * Whether a move by ns after so long a watch is ever called a step. A process that is kept from its
 * core between two readings may miss one, so it is asked often; what is no step never is one.
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

/* At once 20 us are a step; of what is watched, a thousandth more. Either way. */
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

int main(void)
{
    steps_are_told_from_drifts();
    return check_result();
}
