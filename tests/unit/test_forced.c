/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intervals that had to change by more than was asked for: which are listed, that several ranks
 * list what one does, and what is said of each.
 */
#include "thread_team.h"

#include "archive/trace.h"
#include "core/random.h"
#include "correct/clock_fit.h"
#include "correct/forced.h"

#include <math.h>
#include <stdbool.h>

enum { MANY = 500, LOCATIONS = 8 };

static struct forced_interval intervals[MANY];

/* Of each relative change there are a few, growing and shrinking, and some intervals are empty. */
static void intervals_make(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    for (int i = 0; i < MANY; i++) {
        const int64_t was = (int64_t)ictusi_random_below(&rng, 12);
        const int64_t is = (int64_t)ictusi_random_below(&rng, 40);
        intervals[i] = (struct forced_interval){1000 + i, was, is, i % LOCATIONS};
    }
}

static double ratio_of(const struct forced_interval *i)
{
    return fabs((double)(i->is - i->was)) / (double)(i->was ? i->was : 1);
}

static bool same_lists(const struct forced *a, const struct forced *b)
{
    bool same = a->count == b->count && a->listed == b->listed;
    for (uint32_t i = 0; i < a->listed && same; i++) {
        same = memcmp(&a->list[i], &b->list[i], sizeof a->list[i]) == 0;
    }
    return same;
}

/* All are counted. The largest changes are listed in descending order, equal ones as they came. */
static void largest_are_listed(void)
{
    struct forced forced = {.slope = 0.01};
    for (int n = 1; n <= MANY; n++) {
        ictusi_forced_keep(&forced, &intervals[n - 1]);
        REQUIRE(forced.count == (uint64_t)n);
        REQUIRE(forced.listed == (uint32_t)(n < FORCED_LISTED ? n : FORCED_LISTED));
        for (uint32_t i = 0; i + 1 < forced.listed; i++) {
            const double larger = ratio_of(&forced.list[i]);
            const double smaller = ratio_of(&forced.list[i + 1]);
            CHECK(larger > smaller ||
                  (larger == smaller && forced.list[i].at < forced.list[i + 1].at));
        }
        uint32_t before = 0; /* those that come before the last one listed, all of them listed */
        const struct forced_interval *last = &forced.list[forced.listed - 1];
        for (int i = 0; i < n; i++) {
            before += ratio_of(&intervals[i]) > ratio_of(last) ||
                      (ratio_of(&intervals[i]) == ratio_of(last) && intervals[i].at < last->at);
        }
        CHECK(before == forced.listed - 1);
    }
}

/* The intervals of the parts, one after another. */
static void part_keep(struct forced *forced, int part, int parts)
{
    for (int i = MANY * part / parts; i < MANY * (part + 1) / parts; i++) {
        ictusi_forced_keep(forced, &intervals[i]);
    }
}

static void parts_add_up(void)
{
    struct forced alone = {.slope = 0};
    struct forced sum = {.slope = 0};
    part_keep(&alone, 0, 1);
    for (int part = 0; part < 7; part++) {
        struct forced one = {.slope = 0};
        part_keep(&one, part, 7);
        ictusi_forced_add(&sum, &one);
    }
    CHECK(same_lists(&sum, &alone));
    struct forced two = {.slope = 0};
    struct forced both = {.slope = 0};
    ictusi_forced_keep(&two, &intervals[0]);
    ictusi_forced_keep(&two, &intervals[1]);
    ictusi_forced_add(&both, &two);
    CHECK(same_lists(&both, &two));
    const struct forced nothing = {.slope = 0};
    ictusi_forced_add(&sum, &nothing);
    CHECK(same_lists(&sum, &alone));
    CHECK(!ictusi_forced_share(&sum, NULL) && same_lists(&sum, &alone));
}

static int few; /* so many ranks have nothing */

static void *rank_share(void *argument)
{
    struct team *team = argument;
    struct forced alone = {.slope = 0};
    struct forced mine = {.slope = 0};
    part_keep(&alone, 0, 1);
    if (team->rank >= few) {
        part_keep(&mine, team->rank - few, team->size - few);
    }
    const int err = ictusi_forced_share(&mine, team);
    (void)pthread_mutex_lock(&meeting.lock);
    CHECK(!err && same_lists(&mine, &alone));
    (void)pthread_mutex_unlock(&meeting.lock);
    return NULL;
}

/* Whatever one rank has, all of them know in the end. */
static void ranks_share(void)
{
    for (int ranks = 1; ranks <= 5; ranks++) {
        for (few = 0; few < ranks; few++) {
            team_run(ranks, rank_share);
        }
    }
}

static void *rank_fails(void *argument)
{
    struct team *team = argument;
    struct forced mine = {.slope = 0};
    if (team->rank == 1) {
        (void)team->agree(team, ICTUS_ERR_NOMEM); /* what one without memory says */
        return NULL;
    }
    const int err = ictusi_forced_share(&mine, team);
    (void)pthread_mutex_lock(&meeting.lock);
    CHECK(err == ICTUS_ERR_NOMEM);
    (void)pthread_mutex_unlock(&meeting.lock);
    return NULL;
}

/* Both ends are rounded, however short the interval is. */
static void rounding_is_not_forced(void)
{
    const struct forced forced = {.slope = 0.01};
    CHECK(!forced_is(&forced, 1000, 1012) && !forced_is(&forced, 1000, 988));
    CHECK(forced_is(&forced, 1000, 1013) && forced_is(&forced, 1000, 987));
    CHECK(!forced_is(&forced, 0, 2) && forced_is(&forced, 0, 3));
}

static double real_at(const json_t *row, const char *member)
{
    return json_real_value(json_object_get(row, member));
}

/* Each is told in ns, with its location's reference and the error of its clock, if that is known.
 */
static void intervals_are_told(void)
{
    struct layout_location locations[2] = {{.ref = 70}, {.ref = 71}};
    const struct trace trace = {
        .layout = {.resolution = 100000000, .location_count = 2, .locations = locations}};
    double phi[4] = {0};
    double error[4] = {0, 0, 0.003, 0.005}; /* us */
    uint32_t clock_of[2] = {0, 1};
    const struct clock_fit fit = {.model = {.clocks = 2, .knots = 2, .phi = phi, .error = error},
                                  .tried = true,
                                  .clock_of = clock_of,
                                  .from = 1000,
                                  .to = 2000,
                                  .us_per_tick = 0.01};
    struct forced forced = {.slope = 0.01};
    json_t *object = json_object();
    ictusi_forced_json(&forced, &trace, &fit, object);
    CHECK(json_integer_value(json_object_get(object, "forced_intervals")) == 0);
    CHECK(!json_object_get(object, "forced"));
    ictusi_forced_keep(&forced, &(struct forced_interval){1000, 50, 40, 0});
    ictusi_forced_keep(&forced, &(struct forced_interval){1500, 20, 70, 1});
    ictusi_forced_json(&forced, &trace, &fit, object);
    CHECK(json_integer_value(json_object_get(object, "forced_intervals")) == 2);
    const json_t *list = json_object_get(object, "forced");
    REQUIRE(json_array_size(list) == 2);
    const json_t *one = json_array_get(list, 0);
    CHECK(json_integer_value(json_object_get(one, "location")) == 71);
    CHECK(json_integer_value(json_object_get(one, "stamp")) == 1500);
    CHECK_NEAR(real_at(one, "input_ns"), 200, 0);
    CHECK_NEAR(real_at(one, "output_ns"), 700, 0);
    CHECK_NEAR(real_at(one, "change"), 2.5, 1e-12);
    CHECK_NEAR(real_at(one, "clock_error_ns"), 4, 1e-9);
    const json_t *other = json_array_get(list, 1);
    CHECK(json_integer_value(json_object_get(other, "location")) == 70);
    CHECK_NEAR(real_at(other, "change"), 0.2, 1e-12);
    CHECK(!json_object_get(other, "clock_error_ns")); /* it shows the time */
    json_decref(object);
}

int main(void)
{
    intervals_make();
    largest_are_listed();
    parts_add_up();
    ranks_share();
    team_run(3, rank_fails);
    rounding_is_not_forced();
    intervals_are_told();
    return check_result();
}
