/* SPDX-License-Identifier: BSD-3-Clause */
/* How a keeper combines its sources into the clock that it publishes. */
#include "keeper_scene.h"

/* From the scene's epoch to the end of its month. */
static const int64_t month_left = INT64_C(1440000000000000);

static int64_t clock_at(int64_t raw)
{
    return ictusi_keeper_clock(&keeper, raw) - raw - epoch;
}

static void one_source_is_the_clock(void)
{
    keeper_begin(1);
    source_say(0, 30.0, 100.0);
    keeper.sources[0].bound.kept.low_ns -= 60;
    CHECK(ictusi_keeper_clock(&keeper, now) == 0);
    ictusi_keeper_update(&keeper);
    CHECK(shows == 1 && shown.state == ICTUS_LOCK_LOCKED && shown.epoch == 0);
    CHECK(shown.anchor == now && shown.value == now + epoch + 30 && shown.elapsed == 0);
    CHECK(shown.slew_ns == 0.0 && shown.leap_ns == 0);
    CHECK_NEAR(shown.slope, 2000e-9, 1e-20);
    CHECK(shown.pp_ns2 == 400 && shown.pf_ns2_per_s == 5 && shown.ff_ns2_per_s2 == 9);
    CHECK(shown.walk_ns2_per_s3 == 0.25);
    /* The further end of the interval and of the possible rates: 1500 to 2700 around 2000. */
    CHECK_NEAR(shown.bound_ns, 160.0, 1e-9);
    CHECK_NEAR(shown.bound_rate, 700.0, 1e-9);
    CHECK(shown.good_until == now + 43 * second); /* 2.5 intervals and 3 s */
    CHECK(clock_at(now) == 30 && clock_at(now + 10 * second) == 30 + 20000);
    CHECK(keeper.system_offset_ns == 7000.0 - 30.0);
    now += second;
    CHECK(ictusi_keeper_offset(&keeper) == 7300.0 - 2030.0);
    CHECK(keeper.system_offset_ns == 7300.0 - 2030.0);
    source_say(0, 30.0, 100.0);
    keeper.sources[0].bound.kept.high_ns += 60;
    keeper.sources[0].bound.kept.rate_low = 1000;
    keeper.sources[0].polite = 2; /* it has asked for less frequent polls */
    ictusi_keeper_update(&keeper);
    CHECK_NEAR(shown.bound_ns, 160.0, 1e-9);
    CHECK_NEAR(shown.bound_rate, 1000.0, 1e-9);
    CHECK(shown.good_until == now + 163 * second);
}

/* A change is slewed away in half a second, or at 500 ppm if that takes longer. */
static void changes_are_slewed(double change_ns, double slew_s)
{
    keeper_begin(1);
    ictusi_keeper_update(&keeper);
    now += 10 * second;
    source_say(0, 20000.0 + change_ns, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(shown.slew_ns == change_ns && shown.epoch == 0 && keeper.steps == 0);
    CHECK(keeper.largest_change_ns == fabs(change_ns));
    CHECK(clock_at(now) == 20000);
    const int64_t half = (int64_t)(slew_s / 2 * 1e9);
    CHECK_NEAR(clock_at(now + half), 20000 + change_ns / 2 + slew_s / 2 * 2000, 2);
    CHECK_NEAR(clock_at(now + 2 * half), 20000 + change_ns + slew_s * 2000, 2);
    CHECK_NEAR(clock_at(now + 4 * half), 20000 + change_ns + 2 * slew_s * 2000, 2);
    /* A change in the middle of a slew begins from what the clock shows then. */
    now += half;
    const int64_t middle = clock_at(now);
    source_say(0, 30000.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK_NEAR(shown.slew_ns, 30000.0 - (double)middle, 1);
    CHECK_NEAR(clock_at(now), (double)middle, 1);
}

static void large_changes_step(void)
{
    keeper_begin(1);
    ictusi_keeper_update(&keeper);
    source_say(0, 10000000.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(shown.epoch == 0 && keeper.steps == 0 && shown.slew_ns == 10000000.0);
    source_say(0, -10001000.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(shown.epoch == 1 && keeper.steps == 1 && shown.slew_ns == 0.0 && shown.slew_rate == 0.0);
    CHECK(clock_at(now) == -10001000);
    CHECK(!ictusi_keeper_changed_too_far(&keeper));
    keeper.options.maxchange_s = 1e-9;
    CHECK(ictusi_keeper_changed_too_far(&keeper));
    keeper.options.maxchange_s = 0.015625;
    keeper.largest_change_ns = 15625000.0;
    CHECK(!ictusi_keeper_changed_too_far(&keeper));
    keeper.largest_change_ns++;
    CHECK(ictusi_keeper_changed_too_far(&keeper));
    /* If the clock may not change by that much, it stays as it was and guarantees nothing. */
    keeper_begin(1);
    keeper.options.maxchange_s = 1e-3;
    ictusi_keeper_update(&keeper);
    source_say(0, 1000001.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(shows == 2 && shown.state == ICTUS_LOCK_UNLOCKED && clock_at(now) == 0);
    CHECK(shown.value == now + epoch && keeper.clock.state == ICTUS_LOCK_UNLOCKED);
}

/* The difference clock has the rate of each interval and no jump, and rounding loses nothing. */
static void differences_never_jump(void)
{
    keeper_begin(1);
    ictusi_keeper_update(&keeper);
    const int64_t first = now;
    for (int i = 1; i <= 1000; i++) {
        now += second / 1000 + i % 2; /* 2.000 ns in 1 ms, and half a picosecond */
        source_say(0, i == 500 ? 1e8 : 0.0, 100.0);
        keeper.sources[0].discipline.state.frequency = 1300;
        ictusi_keeper_update(&keeper);
    }
    /* 2000 ns per second in the first interval, and 1300 in all others. */
    const double wanted = 2.0 + 1.3 * 999;
    CHECK_NEAR((double)(shown.elapsed - (now - first)), wanted, 1);
}

static void agreement_is_wanted(void)
{
    keeper_begin(2);
    source_say(1, 1000.0, 100.0); /* one of them is wrong, and nobody knows which */
    ictusi_keeper_update(&keeper);
    CHECK(keeper.agreement == AGREEMENT_DISSENT && shown.state == ICTUS_LOCK_UNLOCKED);
    CHECK(shows == 1 && shown.value == now + epoch && shown.bound_ns == 1100.0);
    CHECK(shown.pp_ns2 == 1100.0 * 1100.0 && shown.ff_ns2_per_s2 == 2700.0 * 2700.0);
    CHECK(keeper.selected == 0 && keeper.consensus.voters == 2 && keeper.consensus.agreeing == 0);
    CHECK(keeper.sources[0].selection == ICTUS_SOURCE_FALSETICKER);
    keeper_begin(2);
    source_say(1, -1000.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(shown.bound_ns == 1100.0 && shown.pp_ns2 == 1100.0 * 1100.0);
    /* An unlocked clock that finds a majority becomes another clock and may jump. */
    now += second;
    source_say(0, -5000.0, 100.0);
    source_say(1, -5000.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(keeper.agreement == AGREEMENT_MAJORITY && shown.state == ICTUS_LOCK_LOCKED);
    CHECK(shown.epoch == 1 && shown.slew_ns == 0.0 && clock_at(now) == -5000);
    /* If sources disagree, a locked clock goes on as it was, with a bound that covers both. */
    now += second;
    source_say(0, -4000.0, 100.0);
    source_say(1, 1000.0, 100.0);
    keeper.sources[0].bound.kept.rate_low = -9000;
    keeper.sources[1].bound.kept.rate_high = 8000;
    ictusi_keeper_update(&keeper);
    CHECK(shown.state == ICTUS_LOCK_UNLOCKED && shown.epoch == 1 && clock_at(now) == -3000);
    CHECK(shown.bound_ns == 4100.0 && keeper.selected == 0);
    CHECK_NEAR(shown.slope, 2000e-9, 1e-20);
    CHECK(shown.bound_rate == 11000.0 && shown.ff_ns2_per_s2 == 8000.0 * 8000.0);
}

/* Two of three can outvote the third. */
static void majorities_are_enough(void)
{
    keeper_begin(3);
    source_say(1, 1000.0, 100.0);
    keeper.sources[1].interval_s = 64.0;
    keeper.sources[2].interval_s = 32.0;
    keeper.sources[1].leap = keeper.sources[2].leap = 1;
    ictusi_keeper_update(&keeper);
    CHECK(shown.state == ICTUS_LOCK_LOCKED && keeper.consensus.agreeing == 2);
    /* The longest interval of those that make the clock. */
    CHECK(shown.good_until == now + 83 * second);
    ictusi_keeper_update(&keeper);
    CHECK(shown.leap == 0); /* only one of those that agree announces it */
    CHECK(keeper.consensus.liars == 1 && keeper.sources[1].selection == ICTUS_SOURCE_FALSETICKER);
    CHECK(keeper.sources[0].selection == ICTUS_SOURCE_SELECTED);
    CHECK(keeper.sources[2].selection == ICTUS_SOURCE_COMBINED);
    /* More sources than a majority may be required. */
    keeper.options.min_sources = 3;
    ictusi_keeper_update(&keeper);
    CHECK(keeper.agreement == AGREEMENT_FEW && shown.state == ICTUS_LOCK_UNLOCKED);
    keeper.options.min_sources = 2;
    ictusi_keeper_update(&keeper);
    CHECK(keeper.agreement == AGREEMENT_MAJORITY && shown.state == ICTUS_LOCK_LOCKED);
}

/* A source that has refused service has no vote, nor has one that never answered. */
static void some_have_no_vote(void)
{
    keeper_begin(2);
    source_say(1, 1000.0, 100.0);
    keeper.sources[1].dead = true;
    ictusi_keeper_update(&keeper);
    CHECK(shown.state == ICTUS_LOCK_LOCKED && keeper.consensus.voters == 1);
    keeper_begin(2);
    keeper.sources[0].discipline.started = false;
    keeper.sources[0].reach = 0;
    keeper.sources[1].discipline.origin_ns += 3000;
    keeper.sources[1].bound.origin_ns += 3000;
    ictusi_keeper_update(&keeper);
    CHECK(shown.state == ICTUS_LOCK_LOCKED && keeper.selected == 1 && clock_at(now) == 3000);
    CHECK(keeper.sources[0].selection == ICTUS_SOURCE_UNREACHABLE);
    keeper_begin(2);
    keeper.sources[0].bound.started = false;
    keeper.sources[1].bound.started = false;
    keeper.sources[1].stratum = 16;
    ictusi_keeper_update(&keeper);
    CHECK(shows == 0 && keeper.agreement == AGREEMENT_NONE && !keeper.published);
    CHECK(keeper.sources[0].selection == ICTUS_SOURCE_SETTLING);
    CHECK(keeper.sources[1].selection == ICTUS_SOURCE_UNSYNCHRONISED);
    /* A first estimate uses the first source that has a vote. */
    keeper_begin(3);
    keeper.sources[0].discipline.started = false;
    source_say(1, 400.0, 100.0);
    source_say(2, 4000.0, 100.0);
    ictusi_keeper_update(&keeper);
    CHECK(shown.state == ICTUS_LOCK_UNLOCKED && keeper.selected == 1 && clock_at(now) == 400);
    CHECK(shown.bound_ns == 3700.0);
    CHECK_NEAR(shown.slope, 2000e-9, 1e-20);
    /* A source that has not settled has a vote, but does not count in the mean. */
    keeper_begin(2);
    keeper.sources[0].locked = false;
    source_say(1, 20.0, 101.0);
    ictusi_keeper_update(&keeper);
    CHECK(shown.state == ICTUS_LOCK_LOCKED && keeper.selected == 1 && clock_at(now) == 20);
    CHECK(keeper.sources[0].selection == ICTUS_SOURCE_SETTLING);
    CHECK(keeper.consensus.voters == 2 && keeper.consensus.agreeing == 2);
}

/* If none has settled, a locked clock goes on by itself, and an unlocked one uses an estimate. */
static void nobody_counts(void)
{
    keeper_begin(1);
    keeper.sources[0].locked = false;
    ictusi_keeper_update(&keeper);
    CHECK(shows == 1 && shown.state == ICTUS_LOCK_UNLOCKED &&
          keeper.agreement == AGREEMENT_MAJORITY);
    CHECK(shown.bound_ns == 100.0);
    keeper_begin(1);
    ictusi_keeper_update(&keeper);
    const int64_t anchor = shown.anchor;
    now += second;
    source_say(0, 777.0, 100.0);
    keeper.sources[0].locked = false;
    ictusi_keeper_update(&keeper);
    CHECK(shows == 2 && shown.anchor == anchor && shown.state == ICTUS_LOCK_HOLDOVER);
    CHECK(clock_at(now) == 2000 && keeper.system_offset_ns == 7000.0 - 2000.0);
}

/* Sources that answer count; if none answers, all count until they are late. */
static void answers_are_preferred(void)
{
    keeper_begin(2);
    keeper.sources[0].reach = 0;
    source_say(1, 40.0, 102.0);
    ictusi_keeper_update(&keeper);
    CHECK(keeper.selected == 1 && clock_at(now) == 40);
    CHECK(keeper.sources[0].selection == ICTUS_SOURCE_UNREACHABLE);
    CHECK(keeper.consensus.voters == 2);
    CHECK(shown.good_until == now + 43 * second);
    keeper.sources[0].reach = 1;
    keeper.sources[1].reach = 0;
    ictusi_keeper_update(&keeper);
    CHECK(keeper.selected == 0 && keeper.sources[1].selection == ICTUS_SOURCE_UNREACHABLE);
    CHECK(shown.value == now + epoch);
    keeper.sources[0].reach = 0;
    ictusi_keeper_update(&keeper);
    CHECK(shown.anchor == now && shown.state == ICTUS_LOCK_HOLDOVER && keeper.selected == 0);
    CHECK(shown.good_until == now + 3 * second);
}

/* A source is late after two and a half intervals, 3 s and the time of its largest group. */
static void silence_is_holdover(void)
{
    for (int polite = 0; polite < 3; polite++) {
        const int64_t late = (int64_t)((2.5 * 16.0 * (1 << polite) + 3.0 + 0.5 * 64) * 1e9);
        keeper_begin(1);
        struct upstream *s = &keeper.sources[0];
        s->spacing_s = 0.5;
        s->polite = polite;
        s->last_good = now - late + 1;
        ictusi_keeper_update(&keeper);
        CHECK(shown.state == ICTUS_LOCK_LOCKED);
        s->missed = 2;
        ictusi_keeper_update(&keeper);
        CHECK(shown.state == ICTUS_LOCK_LOCKED);
        s->missed = 3;
        ictusi_keeper_update(&keeper);
        CHECK(shown.state == ICTUS_LOCK_HOLDOVER);
        s->missed = 0;
        s->last_good--;
        ictusi_keeper_update(&keeper);
        CHECK(shown.state == ICTUS_LOCK_HOLDOVER);
        keeper.source_count = 2; /* the other one that makes the clock is recent enough */
        source_say(1, 0.0, 101.0);
        ictusi_keeper_update(&keeper);
        CHECK(keeper.selected == 0 && shown.state == ICTUS_LOCK_LOCKED);
        keeper.source_count = 1;
        keeper.published = false; /* a clock that was never locked cannot be in holdover */
        ictusi_keeper_update(&keeper);
        CHECK(shown.state == ICTUS_LOCK_UNLOCKED);
    }
}

/* Most of the agreeing sources must announce a leap second; those that do not are left out then. */
static void leaps_are_voted(void)
{
    static const struct {
        uint8_t leap[3];
        int64_t wanted;
    } votes[] = {{{1, 1, 0}, -1}, {{2, 0, 2}, 1}, {{1, 0, 0}, 0}, {{1, 2, 0}, 0},
                 {{2, 0, 0}, 0},  {{3, 3, 3}, 0}, {{2, 2, 2}, 1}, {{0, 0, 0}, 0}};
    for (size_t i = 0; i < sizeof(votes) / sizeof(votes[0]); i++) {
        keeper_begin(3);
        ictusi_keeper_update(&keeper); /* selects them */
        for (int s = 0; s < 3; s++) {
            keeper.sources[s].leap = votes[i].leap[s];
        }
        ictusi_keeper_update(&keeper);
        const int64_t wanted = votes[i].wanted;
        CHECK(shown.leap_ns == wanted * second && shown.leap == (wanted < 0 ? 1 : 2 * wanted));
        CHECK(shown.leap_at == (wanted ? epoch + month_left : 0));
        for (int s = 0; s < 3; s++) {
            const bool says = !wanted || votes[i].leap[s] == shown.leap;
            CHECK((keeper.sources[s].selection >= ICTUS_SOURCE_COMBINED) == says);
        }
    }
    /* Half of two is not a majority, and a source that does not answer is not counted. */
    keeper_begin(2);
    ictusi_keeper_update(&keeper);
    keeper.sources[0].leap = 1;
    ictusi_keeper_update(&keeper);
    CHECK(shown.leap_ns == 0);
    keeper.sources[1].reach = 0;
    ictusi_keeper_update(&keeper);
    CHECK(shown.leap_ns == -second);
}

/* An inserted second begins at the end of the month, and an omitted one a second before it. */
static void leaps_are_taken(uint8_t leap)
{
    const int64_t jump = leap == 1 ? -second : second;
    keeper_begin(2);
    keeper.sources[0].leap = keeper.sources[1].leap = leap;
    ictusi_keeper_update(&keeper);
    ictusi_keeper_update(&keeper);
    const int64_t edge_ns = month_left - (leap == 2 ? second : 0);
    /* The line rises by 2000 ns per second from 100 s on. */
    const int64_t edge = 100 * second + (int64_t)((double)(edge_ns - 100 * second) / (1 + 2e-6));
    CHECK(ictusi_keeper_leap(&keeper, edge - 2 * second - 100000) == 0);
    const int64_t until = ictusi_keeper_leap(&keeper, edge - 2 * second + 100000);
    CHECK_NEAR((double)(until - edge), 3e9, 1e5);
    CHECK(keeper.clock.leap_ns == jump);
    const int64_t before = ictusi_keeper_clock(&keeper, edge + 1000);
    CHECK_NEAR((double)(before - epoch - edge_ns - jump), 1000, 10);
    shows = 0;
    CHECK_NEAR((double)(ictusi_keeper_leap(&keeper, edge + 1000) - edge), 3e9, 1e5);
    CHECK(shows == 1 && shown.leap_ns == 0 && shown.leap == 0);
    CHECK(ictusi_keeper_clock(&keeper, edge + 1000) == before);
    for (int i = 0; i < 2; i++) {
        CHECK(keeper.sources[i].leap == 0);
        CHECK(keeper.sources[i].discipline.origin_ns == epoch + 1000 + INT64_C(300) * i + jump);
        CHECK(keeper.sources[i].bound.origin_ns == epoch + 500 + jump);
    }
    CHECK(keeper.sources[2].bound.origin_ns == epoch + 500);
    CHECK(ictusi_keeper_leap(&keeper, edge + second) == 0);
    keeper.clock.leap_ns = jump;
    keeper.published = false;
    CHECK(ictusi_keeper_leap(&keeper, edge + second) == 0);
}

static void sleeps_are_noticed(void)
{
    keeper_begin(2);
    ictusi_keeper_update(&keeper);
    shows = 0;
    CHECK(ictusi_keeper_watch(&keeper) == 0);
    keeper.base.stepped++;
    CHECK(ictusi_keeper_watch(&keeper) == TIMEBASE_STEPPED && keeper.system_steps == 1);
    CHECK(ictusi_keeper_watch(&keeper) == 0 && shows == 0 && keeper.clock.epoch == 0);
    keeper.base.suspended++;
    CHECK(ictusi_keeper_watch(&keeper) == TIMEBASE_SUSPENDED && keeper.suspends == 1);
    CHECK(shows == 1 && shown.state == ICTUS_LOCK_UNLOCKED && shown.epoch == 1);
    for (int i = 0; i < 2; i++) {
        CHECK(!keeper.sources[i].discipline.started && !keeper.sources[i].locked);
        CHECK(!keeper.sources[i].bound.started && keeper.sources[i].due == now);
    }
    CHECK(keeper.sources[2].due == 5);
    CHECK(ictusi_keeper_watch(&keeper) == 0 && keeper.system_steps == 1);
    keeper_begin(1);
    keeper.base.suspended++;
    keeper.base.stepped++;
    CHECK(ictusi_keeper_watch(&keeper) == (TIMEBASE_STEPPED | TIMEBASE_SUSPENDED) && shows == 0);
}

int main(void)
{
    one_source_is_the_clock();
    changes_are_slewed(1000.0, 0.5);
    changes_are_slewed(-1000.0, 0.5);
    changes_are_slewed(1000000.0, 2.0);
    large_changes_step();
    differences_never_jump();
    agreement_is_wanted();
    majorities_are_enough();
    some_have_no_vote();
    nobody_counts();
    answers_are_preferred();
    silence_is_holdover();
    leaps_are_voted();
    leaps_are_taken(1);
    leaps_are_taken(2);
    sleeps_are_noticed();
    return check_result();
}
