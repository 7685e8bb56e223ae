/* SPDX-License-Identifier: BSD-3-Clause */
/* Where instants between a location's events move, by looking through all of them. */
#include "../check.h"

#include "archive/stamps.h"
#include "core/random.h"

enum { EVENTS = 9 };

/* An event moves as it moved; others keep their distance from the event before them, but never pass
 * the next one; those before all events keep that from the first, but are not below 0. */
static uint64_t moved_by_looking(const uint64_t *shown, const uint64_t *moved, uint64_t count,
                                 uint64_t stamp)
{
    uint64_t before = UINT64_MAX;
    for (uint64_t i = 0; i < count; i++) {
        if (shown[i] == stamp) {
            return moved[i]; /* of several at one instant, the first */
        }
        before = shown[i] < stamp ? i : before;
    }
    if (count == 0) {
        return stamp;
    }
    if (before == UINT64_MAX) {
        const uint64_t ahead = shown[0] - stamp;
        return moved[0] > ahead ? moved[0] - ahead : 0;
    }
    const uint64_t kept = moved[before] + (stamp - shown[before]);
    return before + 1 < count && kept > moved[before + 1] ? moved[before + 1] : kept;
}

static void instants_move_with_their_events(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 3, 0);
    for (int trial = 0; trial < 200; trial++) {
        uint64_t shown[EVENTS], moved[EVENTS];
        const uint64_t count = (uint64_t)trial % (EVENTS + 1);
        uint64_t at = 20 + ictusi_random_below(&rng, 10), to = ictusi_random_below(&rng, 40);
        for (uint64_t i = 0; i < count; i++) {
            shown[i] = at += ictusi_random_below(&rng, 6);
            moved[i] = to += ictusi_random_below(&rng, 6);
        }
        const struct moved_times times = {{shown, count, EVENTS}, moved};
        for (uint64_t stamp = 0; stamp < 90; stamp++) {
            CHECK(ictusi_moved_time(&times, stamp) == moved_by_looking(shown, moved, count, stamp));
        }
    }
}

int main(void)
{
    instants_move_with_their_events();
    return check_result();
}
