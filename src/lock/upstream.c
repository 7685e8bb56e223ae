/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling one source. */
#include "upstream.h"

#include "server_options.h"

#include <ictus/text.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXCHANGES_MAX = 32, LOST_MAX = 2, REOPEN_MISSED = 4 };

/* A RATE kiss doubles the interval, at most three times. This many good polls halve it again. */
enum { POLITE_MAX = 3, POLITE_POLLS = 4 };

/* The interval (s) between lookups of a name without an address doubles up to this. */
static const double nameless_s = 64.0;

/* Interval (ns) at which a lookup is checked. */
static const int64_t lookup_ns = 20000000;

/* Local references cost nothing to read, and most of them tick once a second. */
static const double reference_interval_s = 1.0;

/* Initialise what servers and local references have in common. Before the first poll a source is
 * unreachable and unsynchronised. */
static void upstream_init(struct upstream *source, const char *text,
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
    ictusi_lock_delays_reset(&source->delays);
    source->peer.socket.fd = -1;
    source->peer.card.fd = -1;
}

int ictusi_upstream_server(struct upstream *source, const char *text,
                           const struct upstream_options *options, struct ictus_why *why)
{
    struct server_options own;
    int err = ictusi_server_options(text, options->lock, options->key, options->keys, &own, why);
    if (err) {
        return err;
    }
    upstream_init(source, own.host, options);
    err = ictusi_peer_name(own.host, &source->peer, why);
    if (err) {
        return err;
    }
    source->plan.tmin_s = own.tmin_s;
    source->plan.tmax_s = own.tmax_s;
    source->plan.exchanges = (int)own.exchanges;
    source->exchanges = (int)own.exchanges;
    source->interval_s = own.tmin_s;
    source->spacing_s = own.spacing_s;
    source->peer.options.stamps = (enum stamp_mode)options->lock->stamps;
    source->peer.options.interleaved = own.interleaved;
    source->peer.options.key = own.key;
    source->peer.options.timeout_s = options->lock->timeout_s;
    source->peer.options.max_distance_ns = options->lock->max_distance_s * 1e9;
    source->pool = options->pool;
    if (!ictusi_lookup_numeric(source->peer.host)) {
        return ICTUS_OK; /* looked up when the daemon runs, as often as necessary */
    }
    /* Connect at once, because network cards are set up to stamp while there are privileges. */
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    if (getaddrinfo(source->peer.host, source->peer.port, &hints, &list)) {
        return ictus_because(why, ICTUS_ERR_SPEC, "'%.60s' is not an address", text);
    }
    (void)ictusi_peer_connect(&source->peer, list, why);
    freeaddrinfo(list);
    return ICTUS_OK;
}

/* A local reference is read once a second. Its reference id is its name in four letters (RFC
 * 5905, 7.3). */
int ictusi_upstream_reference(struct upstream *source, const char *text,
                              const struct upstream_options *options, struct ictus_why *why)
{
    upstream_init(source, text, options);
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
        ictusi_lookup_end(source->lookup);
        source->lookup = NULL;
        ictusi_peer_close(&source->peer);
    }
}

/* Two sources at one server would outvote others with the same error. */
static bool upstream_taken(const struct upstream *source, const char *address)
{
    for (int i = 0; i < source->sibling_count; i++) {
        const struct upstream *s = &source->siblings[i];
        if (s != source && s->pool && strcmp(s->peer.host, source->peer.host) == 0 &&
            strcmp(s->peer.address, address) == 0) {
            return true;
        }
    }
    return false;
}

/* Choose an address of the name. A source of a pool takes one that no other source has, and not
 * the one that failed. */
static const struct addrinfo *upstream_choose_address(const struct upstream *source,
                                                      const struct addrinfo *list)
{
    const struct addrinfo *own = NULL;
    for (const struct addrinfo *a = list; source->pool && a; a = a->ai_next) {
        char text[sizeof(source->peer.address)];
        if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST)) {
            continue;
        }
        if (strcmp(text, source->peer.address) == 0) {
            own = a;
        } else if (!upstream_taken(source, text)) {
            return a;
        }
    }
    return source->pool ? own : list;
}

/* Use an address if it has arrived. @return whether there is one to ask */
static bool upstream_find_address(struct upstream *source)
{
    struct peer *peer = &source->peer;
    const struct addrinfo *list = NULL;
    struct ictus_why why = {""};
    int code = 0;
    /* Look the name up without a socket, and at each fourth miss, because the name may have
     * another address by now. */
    const bool wanted =
        peer->socket.fd < 0 || (source->missed && source->missed % REOPEN_MISSED == 0);
    if (!source->lookup && wanted) {
        source->lookup = ictusi_lookup_start(peer->host, peer->port);
    }
    if (!source->lookup) {
        return peer->socket.fd >= 0;
    }
    const enum lookup_state state = ictusi_lookup_check(source->lookup, &list, &code);
    if (state == LOOKUP_PENDING) {
        return peer->socket.fd >= 0;
    }
    source->trouble[0] = '\0';
    if (state == LOOKUP_FAILED) {
        (void)snprintf(source->trouble, sizeof(source->trouble), "cannot resolve '%.80s': %.60s",
                       peer->host, gai_strerror(code));
    } else {
        char was[sizeof(peer->address)];
        memcpy(was, peer->address, sizeof(was));
        const struct addrinfo *a = upstream_choose_address(source, list);
        /* A source of a pool tries only this one, because the next one may be a sibling's. */
        for (; a; a = source->pool ? NULL : a->ai_next) {
            if (ictusi_peer_connect(peer, a, &why) == ICTUS_OK) {
                break;
            }
        }
        /* Another address means another path, to which the known delays do not apply. */
        if (strcmp(was, peer->address) != 0) {
            ictusi_lock_delays_reset(&source->delays);
        }
    }
    ictusi_lookup_end(source->lookup);
    source->lookup = NULL;
    return peer->socket.fd >= 0;
}

/* Return the cause of a poll without a sample: this machine's clock, the server's statement, or
 * the network. */
static enum upstream_event upstream_failure(const struct upstream *source, int err)
{
    if (err == ICTUS_ERR_CLOCK) {
        return UPSTREAM_CLOCK;
    }
    if (err == ICTUS_ERR_FORMAT) {
        return source->peer.fault == PACKET_KISS ? UPSTREAM_KISS : UPSTREAM_REFUSED;
    }
    return UPSTREAM_LOST;
}

/* Note what the server says about itself in its last reply: its distance to the primary clock,
 * and the possible error of that. */
static void upstream_take_root(struct upstream *source)
{
    const struct packet *reply = &source->peer.reply;
    source->leap = reply->leap;
    source->stratum = reply->stratum;
    source->reference_id = source->peer.reference_id;
    source->root_delay_ns = reply->root_delay_ns;
    source->root_dispersion_ns = reply->root_dispersion_ns;
}

/*
 * Turn the samples of a poll into one measurement, which the loop accepts or holds back. The bound
 * takes all samples. It is an intersection of intervals that all contain the truth, so that a slow
 * exchange is merely wide. The loop takes one mean of the group, and may hold it back as a glitch.
 * After a step the bound continues with the suspected intervals.
 */
static enum upstream_event upstream_discipline(struct upstream *source,
                                               const struct sample *samples, size_t count)
{
    static const enum upstream_event events[] = {
        [DISCIPLINE_ACCEPTED] = UPSTREAM_ACCEPTED, [DISCIPLINE_FIRST] = UPSTREAM_FIRST,
        [DISCIPLINE_GLITCH] = UPSTREAM_GLITCH,     [DISCIPLINE_STEPPED] = UPSTREAM_STEPPED,
        [DISCIPLINE_TURNED] = UPSTREAM_ACCEPTED,
    };
    struct measurement m;
    /* The bound takes all exchanges, whether or not the loop holds them back. */
    (void)ictusi_bound_add(&source->bound, samples, count);
    if (!ictusi_group_combine(samples, count, source->drop_first, &source->delays, &m)) {
        return UPSTREAM_LOST;
    }
    source->last = m;
    source->expected_ns = m.spread_ns;
    const enum discipline_event event = ictusi_discipline_update(&source->discipline, &m);
    if (event == DISCIPLINE_STEPPED) {
        ictusi_bound_believe(&source->bound);
        source->since_start = 0;
    }
    source->locked =
        source->locked || ictusi_discipline_locked(&source->discipline, source->interval_s);
    return events[event];
}

/* Kiss codes (RFC 5905, 7.4): DENY and RSTR end the association, RATE slows it down. */
static void upstream_kissed(struct upstream *source)
{
    char code[5];
    ictusi_packet_refid_text(source->peer.reply.reference_id, code);
    if (strcmp(code, "DENY") == 0 || strcmp(code, "RSTR") == 0) {
        source->dead = true;
    } else if (strcmp(code, "RATE") == 0) {
        source->polite += source->polite < POLITE_MAX ? 1 : 0;
        source->good_run = 0;
    }
}

/* After enough good answers, the source may be asked more often again. */
static void upstream_fade(struct upstream *source)
{
    if (source->polite && ++source->good_run >= POLITE_POLLS) {
        source->polite--;
        source->good_run = 0;
    }
}

/*
 * Plan the next poll. A source that does not answer is asked at the shortest interval, with one
 * packet for each poll, so that the clock locks again as soon as possible.
 *     wait = interval 2^polite (s)
 * A poll that took longer than the interval (due is in the past) is followed by a whole wait and
 * not by a burst that catches up.
 */
static void upstream_plan_next(struct upstream *source, bool good)
{
    if (good) {
        const struct interval_choice choice =
            ictusi_interval_next(&source->plan, &source->discipline, source->interval_s);
        source->interval_s = choice.interval_s;
        source->exchanges = choice.exchanges;
    } else if (!source->reference && source->peer.socket.fd < 0) {
        source->interval_s = fmin(fmax(nameless_s, source->plan.tmin_s), 2.0 * source->interval_s);
    } else if (source->missed) {
        source->interval_s = source->plan.tmin_s;
    }
    const double start_s = ictusi_interval_start(source->plan.tmin_s, source->since_start);
    if (start_s < source->plan.tmin_s && !source->polite) {
        source->interval_s = start_s;
    }
    source->since_start++;
    /* Counted from the due times and not from now, so that polls keep their distance. */
    const double wait_s = ldexp(source->interval_s, source->polite);
    source->due += (int64_t)(wait_s * 1e9);
    const int64_t now = ictusi_timebase_raw_now();
    if (source->due <= now) {
        source->due = now + (int64_t)(wait_s * 1e9);
    }
    source->wake = source->due;
}

/*
 * End a poll. The last eight polls form the reach register (RFC 5905), whose lowest bit is the
 * latest one. A clock that was set, or a kiss, invalidates all samples of the poll, even earlier
 * ones.
 */
static enum upstream_event upstream_finish(struct upstream *source)
{
    struct upstream_poll *poll = &source->poll;
    enum upstream_event event = upstream_failure(source, poll->failure);
    const bool good = poll->count > 0 && event != UPSTREAM_CLOCK && event != UPSTREAM_KISS;
    poll->phase = UPSTREAM_RESTING;
    if (good) {
        if (!source->reference) {
            upstream_take_root(source);
        }
        event = upstream_discipline(source, poll->samples, poll->count);
        source->last_good = ictusi_timebase_raw_now();
        source->missed = 0;
        upstream_fade(source);
    } else {
        source->missed++;
        source->lost += event == UPSTREAM_LOST;
        source->refused += event == UPSTREAM_REFUSED || event == UPSTREAM_KISS;
        if (event == UPSTREAM_KISS) {
            upstream_kissed(source);
        }
    }
    source->reach = (uint8_t)(source->reach << 1 | (good ? 1 : 0));
    source->polls++;
    upstream_plan_next(source, good);
    return event;
}

/*
 * In interleaved mode each reply completes the previous exchange. The first one completes that of
 * the last group, which is stale, so one more exchange is needed. A server may start to keep stamps
 * only after it has seen the mode, so two more are needed at the very first poll.
 */
static int exchanges_most(const struct upstream *source)
{
    const int extra = !source->peer.options.interleaved ? 0 : source->polls ? 1 : 2;
    return source->poll.wanted + extra;
}

/*
 * Start the next exchange. A source that has been silent for four polls gets one packet for each
 * poll, so that the network is not filled with requests to a server that is down. @return false if
 * the poll is over
 */
static bool upstream_ask(struct upstream *source, struct timebase *base)
{
    struct upstream_poll *poll = &source->poll;
    const int lost_max = source->missed >= REOPEN_MISSED ? 1 : LOST_MAX;
    if (poll->asked >= exchanges_most(source) || poll->lost >= lost_max ||
        poll->count >= (size_t)poll->wanted) {
        return false;
    }
    poll->asked++;
    poll->failure = ictusi_peer_ask(&source->peer, base);
    if (poll->failure == ICTUS_ERR_CLOCK) {
        return false;
    }
    if (poll->failure) {
        poll->lost++;
        source->wake = ictusi_timebase_raw_now() + (int64_t)(source->spacing_s * 1e9);
        poll->phase = UPSTREAM_PAUSING;
        return true;
    }
    poll->phase = UPSTREAM_WAITING;
    source->wake = source->peer.wait.deadline;
    return true;
}

/* @return whether the poll continues */
static bool upstream_begin(struct upstream *source, struct timebase *base, int64_t utc_ns)
{
    struct upstream_poll *poll = &source->poll;
    poll->count = 0;
    poll->asked = 0;
    poll->lost = 0;
    poll->failure = ICTUS_ERR_TIMEOUT;
    poll->wanted = source->polite ? 1 : source->exchanges;
    poll->began = ictusi_timebase_raw_now();
    poll->until = poll->began + (int64_t)(source->peer.options.timeout_s * 1e9);
    if (source->reference) {
        const int got =
            ictusi_reference_read(source->reference, base, utc_ns, poll->samples, GROUP_MAX);
        poll->count = got > 0 ? (size_t)got : 0;
        return false;
    }
    poll->phase = UPSTREAM_NAMING;
    return true;
}

/* @return whether the poll continues */
static bool upstream_hear(struct upstream *source, struct timebase *base)
{
    struct upstream_poll *poll = &source->poll;
    struct sample *sample = &poll->samples[poll->count];
    const int err = ictusi_peer_hear(&source->peer, base, sample);
    if (err == PEER_PENDING) {
        source->wake = source->peer.wait.deadline;
        return true;
    }
    poll->failure = err;
    if (err == ICTUS_OK) {
        /* In interleaved mode the first reply completes an exchange of the previous poll. */
        poll->count += sample->local >= poll->began ? 1 : 0;
    } else if (err != ICTUS_ERR_SAMPLES) {
        poll->lost++;
        if (upstream_failure(source, err) != UPSTREAM_LOST) {
            return false;
        }
    }
    poll->phase = UPSTREAM_PAUSING;
    source->wake = ictusi_timebase_raw_now() + (int64_t)(source->spacing_s * 1e9);
    return poll->asked < exchanges_most(source) && poll->count < (size_t)poll->wanted;
}

/* @return whether the poll continues */
static bool upstream_go_on(struct upstream *source, struct timebase *base, int64_t now)
{
    switch (source->poll.phase) {
    case UPSTREAM_NAMING:
        if (upstream_find_address(source)) {
            return upstream_ask(source, base);
        }
        source->wake = now + lookup_ns;
        return source->lookup && now < source->poll.until;
    case UPSTREAM_WAITING:
        return upstream_hear(source, base);
    case UPSTREAM_PAUSING:
        return now < source->wake || upstream_ask(source, base);
    case UPSTREAM_RESTING:
        break;
    }
    return false;
}

/* The socket to wait on while a reply is expected, else -1. */
int ictusi_upstream_fd(const struct upstream *source)
{
    return source->poll.phase == UPSTREAM_WAITING ? source->peer.socket.fd : -1;
}

/*
 * Called when the wake time has come or the socket has data. It never blocks. True: a poll is over.
 *     RESTING -> NAMING -> WAITING <-> PAUSING -> RESTING (references: RESTING -> RESTING)
 * Each phase waits for its own instant (wake) or for the socket. No state is kept on the stack, so
 * that one thread can run all sources at once.
 */
bool ictusi_upstream_step(struct upstream *source, struct timebase *base, int64_t utc_ns,
                          enum upstream_event *event)
{
    const int64_t now = ictusi_timebase_raw_now();
    if (source->poll.phase == UPSTREAM_RESTING) {
        if (now < source->due) {
            source->wake = source->due;
            return false;
        }
        if (!upstream_begin(source, base, utc_ns)) {
            *event = upstream_finish(source);
            return true;
        }
    }
    if (upstream_go_on(source, base, now)) {
        return false;
    }
    *event = upstream_finish(source);
    return true;
}

void ictusi_upstream_postpone(struct upstream *source, int64_t until)
{
    source->poll.phase = UPSTREAM_RESTING;
    source->peer.last.valid = false;
    source->due = until > source->due ? until : source->due;
    source->wake = source->due;
}

/* UTC stepped but raw time did not. The origins move by the leap, and no interleaved exchange
 * may span it. */
void ictusi_upstream_leap(struct upstream *source, int64_t leap_ns)
{
    source->discipline.origin_ns += leap_ns;
    source->bound.origin_ns += leap_ns;
    source->leap = 0;
    source->peer.last.valid = false;
}

/*
 * After a suspend: the raw clock stood still for an unknown time, so phase, bound and any exchange
 * under way are worthless. The discipline keeps its frequency, which is that of the oscillator.
 */
void ictusi_upstream_restart(struct upstream *source)
{
    ictusi_discipline_restart(&source->discipline);
    ictusi_bound_reset(&source->bound);
    source->since_start = 0;
    source->locked = false;
    source->poll.phase = UPSTREAM_RESTING;
    source->due = ictusi_timebase_raw_now();
    source->wake = source->due;
    source->peer.last.valid = false;
}

const char *ictusi_upstream_event_name(enum upstream_event event)
{
    static const char *const names[] = {"first", "accepted", "glitch", "step",
                                        "lost",  "refused",  "kiss",   "clock set"};
    return names[event];
}
