/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated oscillator, network and servers, and the judge. */
#include "world.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

struct world *world_here;

static const int64_t second = 1000000000;

/* The kernel's adjtime removes 500 us each second. */
static const double adjtime_rate = 5e5;

void world_init(struct world *w, uint64_t seed, const char *directory)
{
    memset(w, 0, sizeof(*w));
    ictusi_random_seed(&w->rng, seed, 4242);
    w->epoch = INT64_C(1780000000) * second; /* 2026-05-28T20:26:40Z */
    w->raw = 5e12;
    w->frequency = 2e4;
    w->walk = 1.0;
    w->warm_period_s = 1.0;
    w->may_adjust = true;
    w->directory = directory;
    w->judge_from_s = 0.0;
}

struct world_server *world_add(struct world *w)
{
    struct world_server *s = &w->servers[w->server_count++];
    memset(s, 0, sizeof(*s));
    ictusi_limiter_init(&s->code.limiter, 0.0, 8.0, 7);
    s->honest = true;
    s->root_ns = 1000.0;
    s->there = (struct way){.base_ns = 1e5, .wait_ns = 2e4};
    s->back = s->there;
    s->hold_ns = 3e4;
    s->code.clock.stratum = 2;
    return s;
}

double world_error(const struct world *w, const struct world_server *s)
{
    return s->error_ns + s->rate * (double)(w->now - s->at) * 1e-9;
}

void world_set_error(struct world *w, struct world_server *s, double error_ns, double rate)
{
    s->error_ns = error_ns;
    s->rate = rate;
    s->at = w->now;
}

/* UTC repeats or leaves out a second at the leap; before it the instant's name is `leap_at`. */
static int64_t utc_at(const struct world *w, int64_t now)
{
    const int64_t plain = w->epoch + now;
    if (!w->leap_at) {
        return plain;
    }
    const int64_t edge = w->leap > 0 ? w->leap_at : w->leap_at - second;
    return plain >= edge ? plain - w->leap * second : plain;
}

int64_t world_utc(const struct world *w)
{
    return utc_at(w, w->now);
}

double world_raw(const struct world *w)
{
    const double d = (double)(w->now - w->segment);
    return w->raw + d + d * 1e-9 * w->frequency;
}

/* CLOCK_REALTIME minus raw time moves by what was set, and by a slew while there is one. */
static void settle_real(struct world *w)
{
    const double s = (double)(w->now - w->real_at) * 1e-9;
    const double slewed = copysign(fmin(fabs(w->slew_left), adjtime_rate * s), w->slew_left);
    w->real += w->kernel_frequency * s + slewed;
    w->slew_left -= slewed;
    w->real_at = w->now;
}

double world_real(const struct world *w)
{
    struct world copy = {.now = w->now,
                         .real_at = w->real_at,
                         .real = w->real,
                         .kernel_frequency = w->kernel_frequency,
                         .slew_left = w->slew_left};
    settle_real(&copy);
    return (double)(world_raw(w) - 5e12) + copy.real;
}

static double wait_of(struct world *w, const struct way *way)
{
    double ns = way->base_ns + way->wait_ns * ictusi_random_exponential(&w->rng);
    if (way->pareto_ns > 0.0) {
        ns += way->pareto_ns * (pow(ictusi_random_uniform(&w->rng), -1.0 / way->shape) - 1.0);
    }
    return fmin(ns, 5e9);
}

static void launch(struct world *w, const struct flight *flight)
{
    if (w->flight_count < WORLD_FLIGHTS) {
        w->flights[w->flight_count++] = *flight;
    }
}

void world_send(struct world *w, int fd, const uint8_t *bytes, size_t length)
{
    struct world_socket *socket = &w->sockets[fd];
    const int which = (int)(socket->peer - 0x0a000001);
    if (which < 0 || which >= w->server_count || length > PACKET_MAX) {
        return;
    }
    struct world_server *s = &w->servers[which];
    struct flight flight = {.server = which, .fd = fd, .length = length};
    s->asked++;
    if (ictusi_random_uniform(&w->rng) < s->loss) {
        return;
    }
    flight.at = w->now + (int64_t)wait_of(w, &s->there);
    memcpy(flight.bytes, bytes, length);
    launch(w, &flight);
}

/* What a server's clock shows at a true instant, smears and errors included. */
static int64_t shows(const struct world *w, const struct world_server *s, int64_t now)
{
    const double error = s->error_ns + s->rate * (double)(now - s->at) * 1e-9;
    int64_t utc = utc_at(w, now);
    if (s->smear_s > 0.0 && w->leap_at) {
        const double t = (double)(w->epoch + now - w->leap_at) * 1e-9;
        const double share = fmin(1.0, fmax(0.0, t / s->smear_s + 0.5));
        utc = w->epoch + now - (int64_t)(share * w->leap * 1e9);
    }
    return utc + (int64_t)llround(error);
}

static void state_account(struct world *w, struct world_server *s)
{
    struct server_clock *c = &s->code.clock;
    const double error = fabs(world_error(w, s));
    c->root_dispersion_ns = s->root_ns + (s->honest ? error : 0.0);
    c->root_delay_ns = 0.0;
    c->reference_id = 0x47505300;
    c->reference_ns = shows(w, s, w->now) - second;
    const bool soon = w->leap_at && w->epoch + w->now < w->leap_at - (w->leap < 0 ? second : 0);
    const bool flagged = soon && !s->mute_leap && s->smear_s <= 0.0;
    c->leap = flagged ? (w->leap > 0 ? 1 : 2) : 0;
}

static void serve(struct world *w, const struct flight *request)
{
    struct world_server *s = &w->servers[request->server];
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(WORLD_CLIENT)};
    struct server_answer answer;
    if (s->dead) {
        return;
    }
    state_account(w, s);
    const struct server_request asked = {.bytes = request->bytes,
                                         .length = request->length,
                                         .from = (const struct sockaddr *)(const void *)&from,
                                         .received_ns = shows(w, s, w->now),
                                         .raw_ns = w->now};
    ictusi_server_answer(&s->code, &asked, &answer);
    if (!answer.length) {
        return;
    }
    const int64_t built = w->now + (int64_t)(s->hold_ns * (0.5 + ictusi_random_uniform(&w->rng)));
    const int64_t left = built + (int64_t)(4e3 * ictusi_random_exponential(&w->rng));
    ictusi_server_finish(&answer, shows(w, s, built));
    ictusi_server_sent(&s->code, answer.receive, shows(w, s, left));
    if (request->fd < 0 || ictusi_random_uniform(&w->rng) < s->loss) {
        return;
    }
    struct flight reply = {.server = -1,
                           .fd = request->fd,
                           .from = request->server,
                           .length = answer.length,
                           .at = left + (int64_t)wait_of(w, &s->back)};
    memcpy(reply.bytes, answer.bytes, answer.length);
    launch(w, &reply);
}

static void arrive(struct world *w, const struct flight *flight)
{
    struct world_socket *socket = &w->sockets[flight->fd];
    const bool mine = socket->open && (int)(socket->peer - 0x0a000001) == flight->from;
    if (mine && socket->inbox_count < 8) {
        socket->inbox[socket->inbox_count++] = *flight;
    }
}

static void judge_real(struct world *w)
{
    const double error = world_real(w) - (double)(world_utc(w) - w->epoch);
    w->verdict.real_squares += error * error;
    w->verdict.real_worst_ns = fmax(w->verdict.real_worst_ns, fabs(error));
}

/* What a program would read now, against the truth. */
static void judge(struct world *w)
{
    struct world_verdict *v = &w->verdict;
    struct ictus_lock_reading r;
    const struct ictus_time raw = {(int64_t)llround(world_raw(w))};
    if (!w->reader && ictus_lock_open("world", w->directory, &w->reader, NULL)) {
        w->reader = NULL;
    }
    if (!w->reader || ictus_lock_map(w->reader, raw, &r)) {
        return;
    }
    double error = (double)(r.time.ns - world_utc(w));
    /* A clock that is a microsecond off leaps a microsecond sooner or later: no error of a second.
     */
    const int64_t edge = w->leap < 0 ? w->leap_at - second : w->leap_at;
    if (fabs((double)(w->epoch + w->now - edge)) <= r.bound_ns && fabs(error) > 5e8) {
        error -= copysign(1e9, error);
    }
    w->last_error_ns = error;
    w->last_bound_ns = r.bound_ns;
    w->last_state = r.state;
    if ((double)w->now * 1e-9 < w->judge_from_s) {
        v->epoch = r.epoch;
        return;
    }
    v->seconds++;
    v->locked += r.state == ICTUS_LOCK_LOCKED;
    v->holdover += r.state == ICTUS_LOCK_HOLDOVER;
    judge_real(w);
    if (r.state == ICTUS_LOCK_UNLOCKED) {
        v->unlocked++;
        v->epoch = r.epoch;
        return;
    }
    if (!v->first_locked && r.state == ICTUS_LOCK_LOCKED) {
        v->first_locked = w->now;
        v->epoch = r.epoch;
    }
    v->outside += fabs(error) > r.bound_ns;
    v->squares += error * error;
    v->sigma_squares += error * error / (r.sigma_ns * r.sigma_ns);
    v->worst_ns = fmax(v->worst_ns, fabs(error));
    v->worst_share = fmax(v->worst_share, fabs(error) / r.bound_ns);
    v->widest_ns = fmax(v->widest_ns, r.bound_ns);
    v->jumps += r.epoch != v->epoch;
    v->epoch = r.epoch;
}

/* The next second: the oscillator walks, the script acts, the judge looks. */
static void turn_second(struct world *w)
{
    settle_real(w);
    w->raw = world_raw(w);
    w->segment = w->now;
    const double turn = 6.283185307179586 / w->warm_period_s;
    const double t = (double)w->now * 1e-9;
    w->frequency +=
        w->walk * ictusi_random_normal(&w->rng) + w->warm * (sin(turn * (t + 1.0)) - sin(turn * t));
    if (w->script) {
        w->script(w, t);
    }
    judge(w);
}

int64_t world_next(const struct world *w)
{
    int64_t next = w->segment + second;
    for (int i = 0; i < w->flight_count; i++) {
        next = w->flights[i].at < next ? w->flights[i].at : next;
    }
    return next;
}

static void deliver(struct world *w)
{
    for (int i = 0; i < w->flight_count; i++) {
        if (w->flights[i].at <= w->now) {
            const struct flight flight = w->flights[i];
            w->flights[i--] = w->flights[--w->flight_count];
            if (flight.server >= 0) {
                serve(w, &flight);
            } else {
                arrive(w, &flight);
            }
        }
    }
}

void world_advance(struct world *w, int64_t to)
{
    for (;;) {
        const int64_t next = world_next(w);
        if (next > to) {
            w->now = to > w->now ? to : w->now;
            return;
        }
        w->now = next > w->now ? next : w->now;
        deliver(w);
        if (w->now >= w->segment + second) {
            turn_second(w);
        }
    }
}

static void hear(const char *text, void *context)
{
    struct world *w = context;
    const size_t length = strlen(w->said);
    (void)snprintf(w->said + length, sizeof(w->said) - length, "%.3f s: %s\n",
                   (double)w->now * 1e-9, text);
}

struct ictus_lock_options world_options(struct world *w, double tmin_s)
{
    const struct ictus_lock_options o = {.size = sizeof(o),
                                         .servers = "10.0.0.1",
                                         .name = "world",
                                         .directory = w->directory,
                                         .user = "root",
                                         .stamps = ICTUS_STAMPS_KERNEL,
                                         .policy = ICTUS_LOCK_FIXED,
                                         .interleaved = true,
                                         .exchanges = 5,
                                         .spacing_s = 1e-3,
                                         .timeout_s = 1.0,
                                         .sigma_s = 1e-5,
                                         .tconf_s = 300.0,
                                         .tmin_s = tmin_s,
                                         .tmax_s = 1024.0,
                                         .wander = 1e-6,
                                         .max_distance_s = 3.0,
                                         .makestep_s = 0.01,
                                         .on_message = hear,
                                         .context = w};
    return o;
}

int world_run(struct world *w, const struct ictus_lock_options *options, double seconds)
{
    struct ictus_lock_options o = *options;
    struct ictus_why why = {""};
    o.duration_s = seconds;
    world_here = w;
    const int err = ictus_lock_run(&o, &why);
    if (err) {
        hear(why.text, w);
    }
    ictus_lock_close(w->reader);
    w->reader = NULL;
    world_here = NULL;
    return err;
}

double world_rms(const struct world *w)
{
    const struct world_verdict *v = &w->verdict;
    return sqrt(v->squares / fmax(1.0, (double)(v->seconds - v->unlocked)));
}

double world_real_rms(const struct world *w)
{
    return sqrt(w->verdict.real_squares / fmax(1.0, (double)w->verdict.seconds));
}
