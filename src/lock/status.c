/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon reports about itself: the status page, and the log's record of a poll. */
#include "keeper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double status_predicted_ns(const struct upstream *s)
{
    const struct kalman k = ictusi_discipline_predict(
        &s->discipline, s->discipline.at + (int64_t)(s->interval_s * 1e9));
    return sqrt(k.pp);
}

static void status_fill_id(const struct upstream *s, char text[16])
{
    if (s->reference || s->stratum <= 1) {
        char code[5];
        ictusi_packet_refid_text(s->reference ? s->reference_id : s->peer.reply.reference_id, code);
        (void)snprintf(text, 16, "%s", code);
    } else {
        const uint32_t id = s->peer.reply.reference_id;
        (void)snprintf(text, 16, "%u.%u.%u.%u", id >> 24, id >> 16 & 255, id >> 8 & 255, id & 255);
    }
}

static void status_fill_discipline(const struct upstream *s, int64_t now,
                                   struct ictus_lock_source_status *out)
{
    struct stability_point points[STABILITY_LEVELS];
    const struct discipline *d = &s->discipline;
    const struct kalman k = ictusi_discipline_predict(d, now);
    double low = 0.0, high = 0.0;
    out->offset_ns = d->innovation_ns;
    out->frequency_ppm = k.frequency / 1e3;
    out->skew_ppm = sqrt(k.ff) / 1e3;
    out->sigma_ns = sqrt(k.pp);
    ictusi_bound_at(&s->bound, now, &low, &high);
    const double at = k.phase + (double)(d->origin_ns - s->bound.origin_ns);
    out->bound_ns = fmax(high - at, at - low);
    out->expected_ns = s->expected_ns;
    out->predicted_ns = status_predicted_ns(s);
    out->measured_ns = sqrt(d->measured_ns2);
    out->walk = sqrt(d->walk_ns2_per_s3) * 1e-9;
    out->noise_ns = sqrt(d->noise_ns2);
    const size_t count = ictusi_stability_points(&d->stability, points);
    for (size_t i = 0; i < count && i < ICTUS_LOCK_ALLAN_MAX; i++) {
        out->allan_tau_s[i] = points[i].tau_s;
        out->allan[i] = points[i].sigma_y;
    }
    out->accepted = d->accepted;
    out->glitches = d->rejected;
    out->steps = d->steps;
    out->turns = d->turns;
}

static void status_fill_source(const struct upstream *s, int64_t now,
                               struct ictus_lock_source_status *out)
{
    memset(out, 0, sizeof(*out));
    (void)snprintf(out->name, sizeof(out->name), "%s", s->name);
    out->selection = (int32_t)s->selection;
    out->stratum = s->stratum;
    out->reach = s->reach;
    out->stamps = s->reference ? -1 : (int32_t)s->peer.socket.mode;
    out->interleaved = s->last.interleaved;
    out->leap = s->leap;
    out->last_raw_ns = s->last_good;
    out->interval_s = s->interval_s;
    out->delay_ns = s->last.delay_ns;
    out->delay_sd_ns = s->last.delay_sd_ns;
    out->send_ns = s->last.send_ns;
    out->network_ns = s->last.network_ns;
    out->receive_ns = s->last.receive_ns;
    out->root_delay_ns = s->root_delay_ns;
    out->root_dispersion_ns = s->root_dispersion_ns;
    out->sent = s->peer.sent;
    out->received = s->peer.received;
    out->lost = s->lost;
    out->refused = s->refused;
    out->missing_stamps = s->peer.missing;
    out->falseticks = s->falseticks;
    if (s->polls) {
        status_fill_id(s, out->reference_id);
    }
    if (s->discipline.started && s->bound.started) {
        status_fill_discipline(s, now, out);
    }
}

void ictusi_keeper_report(struct keeper *keeper)
{
    struct ictus_lock_status status;
    const int64_t now = ictusi_timebase_raw_now();
    const struct upstream *s = &keeper->sources[keeper->selected];
    memset(&status, 0, sizeof(status));
    status.pid = keeper->page.page->header.pid;
    status.started_raw_ns = keeper->started;
    status.updated_raw_ns = now;
    status.source_count = keeper->source_count;
    status.voters = keeper->consensus.voters;
    status.agreeing = keeper->consensus.agreeing;
    status.liars = keeper->consensus.liars;
    status.steer = keeper->options.steer;
    status.suspends = keeper->suspends;
    status.system_steps = keeper->system_steps;
    status.system_offset_ns = keeper->system_offset_ns;
    status.stratum = PACKET_STRATUM_MAX + 1;
    status.leap = PACKET_LEAP_UNSYNCHRONISED;
    for (int i = 0; i < keeper->source_count; i++) {
        status_fill_source(&keeper->sources[i], now, &status.sources[i]);
    }
    if (keeper->published) {
        const struct ictus_lock_source_status *best = &status.sources[keeper->selected];
        (void)snprintf(status.reference, sizeof(status.reference), "%s", s->name);
        status.reference_id = s->reference_id;
        status.frequency_ppm = keeper->clock.slope * 1e6;
        status.skew_ppm = sqrt(keeper->clock.ff_ns2_per_s2) / 1e3;
        status.root_delay_ns = s->root_delay_ns + s->last.delay_ns;
        status.root_dispersion_ns = s->root_dispersion_ns + best->sigma_ns;
        status.expected_ns = best->expected_ns;
        status.predicted_ns = best->predicted_ns;
        status.measured_ns = best->measured_ns;
        status.steps = keeper->steps;
        if (keeper->clock.state != ICTUS_LOCK_UNLOCKED && s->stratum < PACKET_STRATUM_MAX) {
            status.stratum = s->stratum + 1;
            status.leap = (int32_t)keeper->clock.leap;
        }
    }
    ictusi_page_report(&keeper->page, &status);
}

/* The clock as a reader sees it. What a slew has not removed yet counts as error. */
static void status_fill_clock(const struct keeper *keeper, int64_t now,
                              struct ictus_lock_poll *poll)
{
    const struct page_clock *c = &keeper->clock;
    const double s = (double)(now - c->anchor) / 1e9;
    const double left = fmax(0.0, fabs(c->slew_ns) - c->slew_rate * s * 1e9);
    poll->estimate_ns = ictusi_page_sigma(c, s) + left;
    poll->bound_ns = c->bound_ns + s * c->bound_rate + left;
    poll->clock_ns =
        (double)(ictusi_keeper_clock(keeper, now) - ictusi_timebase_real(&keeper->base, now));
    poll->utc_ns = ictusi_keeper_clock(keeper, now);
}

void ictusi_keeper_poll(const struct keeper *keeper, const struct upstream *source,
                        enum upstream_event event, struct ictus_lock_poll *poll)
{
    struct ictus_lock_source_status row;
    const int64_t now = ictusi_timebase_raw_now();
    const struct discipline *d = &source->discipline;
    const int64_t real = ictusi_timebase_real(&keeper->base, source->last.local);
    status_fill_source(source, now, &row);
    memset(poll, 0, sizeof(*poll));
    poll->source = source->name;
    poll->event = ictusi_upstream_event_name(event);
    poll->utc_ns = ictusi_timebase_real_now();
    poll->interval_s = source->interval_s;
    poll->exchanges = source->last.count;
    poll->used = source->last.used;
    poll->interleaved = source->last.interleaved;
    poll->kernel = source->last.kernel;
    poll->offset_ns = row.offset_ns;
    poll->frequency_ppm = row.frequency_ppm;
    poll->skew_ppm = row.skew_ppm;
    poll->expected_ns = row.expected_ns;
    poll->predicted_ns = row.predicted_ns;
    poll->measured_ns = row.measured_ns;
    poll->estimate_ns = row.sigma_ns;
    poll->bound_ns = row.bound_ns;
    poll->delay_ns = row.delay_ns;
    poll->delay_sd_ns = row.delay_sd_ns;
    poll->send_ns = row.send_ns;
    poll->network_ns = row.network_ns;
    poll->receive_ns = row.receive_ns;
    poll->tau_s = source->interval_s;
    poll->sigma_y = ictusi_stability_at(&d->stability, source->interval_s, d->walk_ns2_per_s3);
    poll->raw_offset_ns =
        (double)(source->last.local + source->last.offset_ns - real) + source->last.offset_frac;
    poll->state = (enum ictus_lock_state)keeper->clock.state;
    if (keeper->published) {
        status_fill_clock(keeper, now, poll);
    }
}
