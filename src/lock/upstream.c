/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling one source. */
#include "upstream.h"

#include <ictus/text.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { EXCHANGES_MAX = 32, LOST_MAX = 2, REOPEN_MISSED = 4 };

/* After a RATE kiss: be at least this polite. */
static const double polite_spacing_s = 2.0;
static const double polite_tmin_s = 64.0;

/* Local references cost nothing to read and mostly tick once a second. */
static const double reference_interval_s = 1.0;

static void common(struct upstream *source, const char *text,
                   const struct upstream_options *options)
{
    const struct ictus_lock_options *o = options->lock;
    memset(source, 0, sizeof(*source));
    (void)snprintf(source->name, sizeof(source->name), "%.63s", text);
    source->plan.policy = o->policy;
    source->plan.tmin_s = o->tmin_s;
    source->plan.tmax_s = o->tmax_s;
    source->plan.sigma_ns = o->sigma_s * 1e9;
    source->plan.exchanges = (int)o->exchanges;
    source->plan.exchanges_max = EXCHANGES_MAX;
    source->spacing_s = o->spacing_s;
    source->drop_first = !o->keep_first;
    source->interval_s = o->tmin_s;
    source->exchanges = (int)o->exchanges;
    source->since_start = 0;
    source->stratum = PACKET_STRATUM_MAX + 1;
    source->selection = ICTUS_SOURCE_UNREACHABLE;
    ictusi_discipline_init(&source->discipline, o->loop, o->sigma_s * 1e9, o->tconf_s);
    ictusi_bound_init(&source->bound, o->wander);
    ictusi_delays_reset(&source->delays);
    source->peer.socket.fd = -1;
    source->peer.card.fd = -1;
}

int ictusi_upstream_server(struct upstream *source, const char *text,
                           const struct upstream_options *options, struct ictus_why *why)
{
    common(source, text, options);
    const int err = ictusi_peer_name(text, &source->peer, why);
    if (err) {
        return err;
    }
    source->peer.options.stamps = (enum stamp_mode)options->lock->stamps;
    source->peer.options.interleaved = options->lock->interleaved;
    source->peer.options.key = options->key;
    source->peer.options.timeout_s = options->lock->timeout_s;
    source->peer.options.max_distance_ns = options->lock->max_distance_s * 1e9;
    return ictusi_peer_open(&source->peer, why);
}

int ictusi_upstream_reference(struct upstream *source, const char *text,
                              const struct upstream_options *options, struct ictus_why *why)
{
    common(source, text, options);
    const int err = ictusi_reference_open(text, &source->reference, why);
    if (err) {
        return err;
    }
    source->plan.policy = ICTUS_LOCK_FIXED;
    source->plan.tmin_s = reference_interval_s;
    source->plan.tmax_s = reference_interval_s;
    source->interval_s = reference_interval_s;
    source->drop_first = false;
    source->stratum = 0;
    const char *refid = source->reference->ops->refid;
    source->reference_id = (uint32_t)refid[0] << 24 | (uint32_t)refid[1] << 16 |
                           (uint32_t)refid[2] << 8 | (uint32_t)refid[3];
    return ICTUS_OK;
}

void ictusi_upstream_close(struct upstream *source)
{
    if (source->reference) {
        ictusi_reference_close(source->reference);
        source->reference = NULL;
    } else {
        ictusi_peer_close(&source->peer);
    }
}

static void pause_s(double seconds)
{
    const int64_t ns = (int64_t)(seconds * 1e9);
    const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static enum upstream_event failure(const struct upstream *source, int err)
{
    if (err == ICTUS_ERR_CLOCK) {
        return UPSTREAM_CLOCK;
    }
    if (err == ICTUS_ERR_FORMAT) {
        return source->peer.fault == PACKET_KISS ? UPSTREAM_KISS : UPSTREAM_REFUSED;
    }
    return UPSTREAM_LOST;
}

/*
 * The exchanges of one group. In interleaved mode each reply completes the exchange before it: the
 * first one that of the last group, which is stale, so one more is needed. A server may want to see
 * the mode before it keeps stamps: two more at the very first.
 */
static size_t ask_server(struct upstream *source, struct timebase *base, struct sample *samples,
                         enum upstream_event *event)
{
    const int wanted = source->exchanges;
    const int extra = !source->peer.options.interleaved ? 0 : source->polls ? 1 : 2;
    const int64_t start = ictusi_raw_now();
    int lost = 0;
    size_t count = 0;
    *event = UPSTREAM_LOST;
    for (int i = 0; i < wanted + extra && lost < LOST_MAX && count < (size_t)wanted; i++) {
        if (i) {
            pause_s(source->spacing_s);
        }
        const int err = ictusi_peer_exchange(&source->peer, base, &samples[count]);
        if (err == ICTUS_ERR_SAMPLES) {
            continue;
        }
        if (err == ICTUS_OK) {
            count += samples[count].local >= start ? 1 : 0;
            continue;
        }
        lost++;
        *event = failure(source, err);
        if (*event != UPSTREAM_LOST) {
            break;
        }
    }
    return *event == UPSTREAM_CLOCK || *event == UPSTREAM_KISS ? 0 : count;
}

static void take_root(struct upstream *source)
{
    const struct packet *reply = &source->peer.reply;
    source->leap = reply->leap;
    source->stratum = reply->stratum;
    source->reference_id = source->peer.reference_id;
    source->root_delay_ns = reply->root_delay_ns;
    source->root_dispersion_ns = reply->root_dispersion_ns;
}

static enum upstream_event discipline(struct upstream *source, const struct sample *samples,
                                      size_t count)
{
    static const enum upstream_event events[] = {
        [DISCIPLINE_ACCEPTED] = UPSTREAM_ACCEPTED,
        [DISCIPLINE_FIRST] = UPSTREAM_FIRST,
        [DISCIPLINE_GLITCH] = UPSTREAM_GLITCH,
        [DISCIPLINE_STEPPED] = UPSTREAM_STEPPED,
    };
    struct measurement m;
    if (!ictusi_group_combine(samples, count, source->drop_first, &source->delays, &m)) {
        return UPSTREAM_LOST;
    }
    source->last = m;
    source->expected_ns = m.spread_ns;
    const enum discipline_event event = ictusi_discipline_update(&source->discipline, &m);
    /*
     * A glitch may be a server that was set for a moment: its interval must not replace the one
     * that all exchanges before agree on. Believed steps start over.
     */
    if (event == DISCIPLINE_STEPPED) {
        ictusi_bound_reset(&source->bound);
        source->since_start = 0;
    }
    for (size_t i = 0; event != DISCIPLINE_GLITCH && i < count; i++) {
        (void)ictusi_bound_add(&source->bound, &samples[i]);
    }
    return events[event];
}

/* Root distance must not exceed what its own user may ask of it: handled in the peer. */
static void kissed(struct upstream *source)
{
    char code[5];
    ictusi_packet_refid_text(source->peer.reply.reference_id, code);
    if (strcmp(code, "DENY") == 0 || strcmp(code, "RSTR") == 0) {
        source->dead = true;
    } else if (strcmp(code, "RATE") == 0) {
        source->spacing_s = fmax(source->spacing_s, polite_spacing_s);
        source->plan.tmin_s = fmax(2.0 * source->plan.tmin_s, polite_tmin_s);
        source->plan.tmax_s = fmax(source->plan.tmax_s, source->plan.tmin_s);
        source->since_start = INT_MAX / 2;
    }
}

static void plan_next(struct upstream *source, bool good)
{
    if (good) {
        const struct interval_choice choice =
            ictusi_interval_next(&source->plan, &source->discipline, source->interval_s);
        source->interval_s = choice.interval_s;
        source->exchanges = choice.exchanges;
    } else if (source->missed > REOPEN_MISSED) {
        source->interval_s = fmin(source->plan.tmax_s, 2.0 * source->interval_s);
    }
    const double start_s = ictusi_interval_start(source->plan.tmin_s, source->since_start);
    if (start_s < source->plan.tmin_s) {
        source->interval_s = start_s;
    }
    source->since_start++;
    source->due += (int64_t)(source->interval_s * 1e9);
    const int64_t now = ictusi_raw_now();
    if (source->due <= now) {
        source->due = now + (int64_t)(source->interval_s * 1e9);
    }
}

/* A server that stays away may have moved: ask for its address again. */
static void reopen(struct upstream *source)
{
    if (!source->reference && source->missed && source->missed % REOPEN_MISSED == 0) {
        struct ictus_why why;
        (void)ictusi_peer_open(&source->peer, &why);
    }
}

enum upstream_event ictusi_upstream_poll(struct upstream *source, struct timebase *base,
                                         int64_t utc_ns)
{
    struct sample samples[GROUP_MAX];
    enum upstream_event event = UPSTREAM_LOST;
    size_t count = 0;
    reopen(source);
    if (source->reference) {
        const int got = ictusi_reference_read(source->reference, base, utc_ns, samples, GROUP_MAX);
        count = got > 0 ? (size_t)got : 0;
    } else if (source->peer.socket.fd >= 0) {
        count = ask_server(source, base, samples, &event);
    }
    const bool good = count > 0;
    if (good) {
        if (!source->reference) {
            take_root(source);
        }
        event = discipline(source, samples, count);
        source->last_good = ictusi_raw_now();
        source->missed = 0;
    } else {
        source->missed++;
        source->lost += event == UPSTREAM_LOST;
        source->refused += event == UPSTREAM_REFUSED || event == UPSTREAM_KISS;
        if (event == UPSTREAM_KISS) {
            kissed(source);
        }
    }
    source->reach = (uint8_t)(source->reach << 1 | (good ? 1 : 0));
    source->polls++;
    plan_next(source, good);
    return event;
}

void ictusi_upstream_restart(struct upstream *source)
{
    ictusi_discipline_restart(&source->discipline);
    ictusi_bound_reset(&source->bound);
    source->since_start = 0;
    source->due = ictusi_raw_now();
    source->peer.last.valid = false;
}

const char *ictusi_upstream_event_name(enum upstream_event event)
{
    static const char *const names[] = {"first", "accepted", "glitch", "step",
                                        "lost",  "refused",  "kiss",   "clock set"};
    return names[event];
}
