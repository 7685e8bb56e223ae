/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits are blamed on, in an analysis made by hand. */
#include "../check.h"

#include "wait_scene.h"
#include "waits/blame.h"

/* What a path on a location caused; nothing: it is not among the causes. */
static struct blame_row blame_of(const struct blame *blame, uint32_t location, uint32_t path)
{
    for (uint64_t i = 0; i < blame->count; i++) {
        if (blame->list[i].location == location && blame->list[i].path == path) {
            return blame->list[i];
        }
    }
    return (struct blame_row){.direct = 0};
}

/* Each location's calls from here on, and that none of the rest has any. */
static void scene_begin(struct scene *s, uint32_t location)
{
    for (uint32_t l = location; l <= LOCATIONS; l++) {
        s->first[l] = s->a.calls.calls.count;
    }
}

/*
 * 1 waits 900 ns for 2, and then begins a call that 0 waits 570 ns for, and leaves it long after 0
 * has gone on. The replay passes that call only once 0 has charged it all the same, so that what
 * 1's own wait is blamed for is passed on to 2.
 */
static void blame_is_passed_on(void)
{
    struct scene s;
    struct times times;
    struct syncs syncs;
    struct blame blame = {.list = NULL};
    uint64_t lower[LOCATIONS + 1] = {1, 1};
    uint64_t points[LOCATIONS + 1] = {0};
    scene_open(&s);
    s.a.partners.lower = lower;
    s.a.session.history.first = points;
    scene_begin(&s, 0);
    scene_share(&s, 4, 500);
    const uint32_t last = scene_call(&s, 0, 500, 1100, 3);
    (void)scene_call(&s, 0, 1100, 1100, 0);
    scene_begin(&s, 1);
    scene_share(&s, 4, 100);
    const uint32_t middle = scene_call(&s, 1, 100, 1020, 2);
    scene_share(&s, 4, 50);
    const uint32_t slow = scene_call(&s, 1, 1070, 3000, 3);
    (void)scene_call(&s, 1, 3000, 3000, 0);
    scene_begin(&s, 2);
    scene_share(&s, 4, 1000);
    const uint32_t cause = scene_call(&s, 2, 1000, 1010, 2);
    (void)scene_call(&s, 2, 1010, 1010, 0);
    scene_begin(&s, 3);
    scene_wait(&s, middle, cause, WAIT_LATE_SENDER);
    scene_wait(&s, last, slow, WAIT_LATE_RECEIVER);
    scene_times(&s, &times);
    REQUIRE(!ictusi_syncs_begin(&syncs, &s.a, NULL));
    scene_walk(&s, &syncs.pass);
    REQUIRE(!ictusi_syncs_end(&syncs, NULL));
    REQUIRE(!ictusi_blame_find(&blame, &times, &syncs, NULL));
    CHECK_NEAR(blame.total, 1470, 1e-9);
    CHECK(blame.cyclic == 0 && blame.unattributed == 0);
    /* 1 spent 20 ns more in the call than 0, beside the 900 that it waited. */
    CHECK_NEAR(blame_of(&blame, 1, 2).direct, 570 * 20.0 / 920, 1e-6);
    CHECK_NEAR(blame_of(&blame, 2, 4).direct, 900, 1e-6);
    CHECK_NEAR(blame_of(&blame, 2, 4).indirect, 570 * 900.0 / 920, 1e-6);
    ictusi_blame_free(&blame);
    ictusi_syncs_free(&syncs);
    ictusi_times_free(&times);
    scene_close(&s);
}

int main(void)
{
    blame_is_passed_on();
    return check_result();
}
