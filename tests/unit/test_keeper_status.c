/* SPDX-License-Identifier: BSD-3-Clause */
/* What a keeper reports about itself and its sources. */
#include "keeper_scene.h"

static void accounts_begin_empty(void)
{
    keeper_begin(2);
    page.header.pid = 4711;
    keeper.started = 55;
    keeper.options.steer = true;
    keeper.suspends = 3;
    keeper.system_steps = 4;
    ictusi_keeper_report(&keeper);
    CHECK(told.pid == 4711 && told.started_raw_ns == 55 && told.updated_raw_ns == now);
    CHECK(told.stratum == 16 && told.leap == 3 && told.steer == 1 && told.source_count == 2);
    CHECK(told.suspends == 3 && told.system_steps == 4 && told.reference[0] == '\0');
}

/* Two sources, of which the second is selected. */
static struct upstream *account_begin(void)
{
    keeper_begin(2);
    struct upstream *s = &keeper.sources[1];
    source_say(0, 10.0, 500.0); /* a wide interval, so the other is selected */
    s->reference_id = 0x0a000001;
    s->root_delay_ns = 3000;
    s->last.delay_ns = 70;
    s->root_dispersion_ns = 900;
    s->expected_ns = 12;
    s->discipline.measured_ns2 = 169;
    s->leap = 1;
    keeper.sources[0].leap = 1;
    ictusi_keeper_update(&keeper);
    ictusi_keeper_update(&keeper);
    keeper.steps = 6;
    ictusi_keeper_report(&keeper);
    return s;
}

static void accounts_are_of_the_selected(void)
{
    const struct upstream *s = account_begin();
    CHECK_STR(told.reference, "source1");
    CHECK(told.stratum == 4 && told.leap == 1 && told.steps == 6 && told.voters == 2);
    CHECK(told.agreeing == 2 && told.liars == 0 && told.reference_id == 0x0a000001);
    CHECK_NEAR(told.frequency_ppm, 2.0, 1e-9);
    CHECK_NEAR(told.skew_ppm, sqrt(keeper.clock.ff_ns2_per_s2) / 1e3, 1e-12);
    /* 20 ns: the square root of pp. */
    CHECK(told.root_delay_ns == 3070 && told.root_dispersion_ns == 920);
    CHECK(told.expected_ns == 12 && told.measured_ns == 13);
    CHECK(told.predicted_ns == told.sources[1].predicted_ns && told.predicted_ns > 20.0);
    CHECK(told.sources[1].bound_ns == 101.0 && told.sources[0].bound_ns == 500.0);
    CHECK(told.sources[1].sigma_ns == 20.0 && told.sources[1].skew_ppm == 3e-3);
    CHECK(told.sources[1].frequency_ppm == 2.0 && told.system_offset_ns == keeper.system_offset_ns);
    CHECK(s->selection == ICTUS_SOURCE_SELECTED);
    CHECK(told.sources[1].walk == 0.5e-9);
}

/* Unknown values are not reported, nor are old ones. */
static void unlocked_accounts_are_empty(void)
{
    struct upstream *s = account_begin();
    s->stratum = 15;
    ictusi_keeper_report(&keeper);
    CHECK(told.stratum == 16 && told.leap == 3);
    s->stratum = 3;
    keeper.clock.state = ICTUS_LOCK_UNLOCKED;
    ictusi_keeper_report(&keeper);
    CHECK(told.stratum == 16 && told.leap == 3);
    keeper.published = false;
    s->bound.started = false;
    ictusi_keeper_report(&keeper);
    CHECK(told.reference[0] == '\0' && told.steps == 0 && told.skew_ppm == 0.0);
    CHECK(told.sources[1].sigma_ns == 0.0 && told.sources[0].sigma_ns == 20.0);
    CHECK(told.sources[2].name[0] == '\0');
}

/*
 * The bound of a source extends to the further end of its interval, its prediction to its next
 * poll, and its stability is that of its measurements.
 */
static void estimates_are_told(void)
{
    struct stability_point points[STABILITY_LEVELS];
    keeper_begin(2);
    struct upstream *s = &keeper.sources[1];
    s->reference = (struct reference *)&page; /* only whether it exists matters */
    s->bound.kept.high_ns += 50;
    ictusi_keeper_report(&keeper);
    CHECK(told.sources[1].bound_ns == 151.0 && told.sources[1].stamps == -1);
    s->bound.kept.low_ns -= 70;
    for (int i = 0; i < 9; i++) {
        ictusi_stability_add(&s->discipline.stability, INT64_C(16) * i * second, 1e4 * (i % 3),
                             1.0);
    }
    ictusi_keeper_report(&keeper);
    CHECK(told.sources[1].bound_ns == 171.0);
    const struct kalman then = ictusi_discipline_predict(&s->discipline, now + 16 * second);
    CHECK_NEAR(told.sources[1].predicted_ns, sqrt(then.pp), 1e-9);
    const size_t count = ictusi_stability_points(&s->discipline.stability, points);
    CHECK(count >= 2 && count < ICTUS_LOCK_ALLAN_MAX);
    for (size_t i = 0; i < ICTUS_LOCK_ALLAN_MAX; i++) {
        CHECK(told.sources[1].allan_tau_s[i] == (i < count ? points[i].tau_s : 0.0));
        CHECK(told.sources[1].allan[i] == (i < count ? points[i].sigma_y : 0.0));
    }
}

/* What a source follows: a name for stratum 1, an address otherwise. */
static void sources_are_named(void)
{
    keeper_begin(2);
    keeper.sources[0].peer.reply.reference_id = 0xc0a9f307;
    keeper.sources[0].stratum = 2;
    keeper.sources[1].peer.reply.reference_id = 0x47505300;
    keeper.sources[1].stratum = 1;
    ictusi_keeper_report(&keeper);
    CHECK_STR(told.sources[0].reference_id, "");
    keeper.sources[0].polls = keeper.sources[1].polls = 1;
    keeper.sources[1].falseticks = 2;
    keeper.sources[1].lost = 5;
    keeper.sources[1].refused = 6;
    keeper.sources[1].peer.sent = 40;
    keeper.sources[1].peer.received = 30;
    keeper.sources[1].peer.missing = 7;
    keeper.sources[1].peer.socket.mode = STAMP_KERNEL;
    ictusi_keeper_report(&keeper);
    CHECK_STR(told.sources[0].reference_id, "192.169.243.7");
    CHECK_STR(told.sources[1].reference_id, "GPS");
    CHECK_STR(told.sources[1].name, "source1");
    CHECK(told.sources[1].falseticks == 2 && told.sources[1].lost == 5);
    CHECK(told.sources[1].refused == 6 && told.sources[1].sent == 40);
    CHECK(told.sources[1].received == 30 && told.sources[1].missing_stamps == 7);
    CHECK(told.sources[1].stamps == STAMP_KERNEL && told.sources[1].stratum == 1);
    CHECK(told.sources[0].interval_s == 16.0 && told.sources[0].last_raw_ns == now);
}

/* The rest of a slew counts as error of the clock. */
static void polls_are_told(void)
{
    struct ictus_lock_poll poll;
    memset(&poll, 0xff, sizeof(poll));
    keeper_begin(1);
    struct upstream *s = &keeper.sources[0];
    s->last = (struct measurement){.local = now - 500,
                                   .offset_ns = epoch + 40,
                                   .offset_frac = 0.5,
                                   .delay_ns = 61,
                                   .delay_sd_ns = 62,
                                   .send_ns = 63,
                                   .network_ns = 64,
                                   .receive_ns = 65,
                                   .count = 9,
                                   .used = 8,
                                   .kernel = true};
    s->discipline.innovation_ns = -17;
    ictusi_keeper_poll(&keeper, s, UPSTREAM_GLITCH, &poll);
    CHECK_STR(poll.source, "source0");
    CHECK_STR(poll.event, "glitch");
    CHECK(poll.exchanges == 9 && poll.used == 8 && poll.kernel && !poll.interleaved);
    CHECK(poll.offset_ns == -17 && poll.estimate_ns == 20 && poll.bound_ns == 100);
    CHECK(poll.delay_ns == 61 && poll.delay_sd_ns == 62 && poll.send_ns == 63);
    CHECK(poll.network_ns == 64 && poll.receive_ns == 65 && poll.interval_s == 16);
    CHECK(poll.tau_s == 16 && poll.skew_ppm == 3e-3 && poll.frequency_ppm == 2.0);
    CHECK_NEAR(poll.raw_offset_ns, 40.5 - 7000, 1e-6);
    CHECK(poll.state == ICTUS_LOCK_UNLOCKED && poll.clock_ns == 0.0);
    ictusi_keeper_update(&keeper);
    source_say(0, 1000.0, 100.0);
    ictusi_keeper_update(&keeper); /* 1000 ns to slew in half a second */
    now += second / 4;
    ictusi_keeper_poll(&keeper, s, UPSTREAM_ACCEPTED, &poll);
    CHECK(poll.state == ICTUS_LOCK_LOCKED);
    CHECK_NEAR(poll.clock_ns, 500 + 500 - 7000, 1);
    CHECK(poll.utc_ns == ictusi_keeper_clock(&keeper, now));
    CHECK_NEAR(poll.bound_ns, 100 + 700 * 0.25 + 500, 1e-6);
    CHECK_NEAR(poll.estimate_ns, ictusi_page_sigma(&shown, 0.25) + 500, 1e-6);
    now += second; /* nothing is left */
    ictusi_keeper_poll(&keeper, s, UPSTREAM_ACCEPTED, &poll);
    CHECK_NEAR(poll.bound_ns, 100 + 700 * 1.25, 1e-6);
    s->discipline.started = false;
    ictusi_keeper_poll(&keeper, s, UPSTREAM_LOST, &poll);
    CHECK(poll.offset_ns == 0.0 && poll.measured_ns == 0.0 && poll.skew_ppm == 0.0);
}

int main(void)
{
    accounts_begin_empty();
    accounts_are_of_the_selected();
    unlocked_accounts_are_empty();
    estimates_are_told();
    sources_are_named();
    polls_are_told();
    return check_result();
}
