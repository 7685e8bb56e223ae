/* SPDX-License-Identifier: BSD-3-Clause */
/* `ictus serve`: sockets, stamps and the loop around the server. */
#include "core/plain.h"
#include "metrics.h"
#include "page/page.h"
#include "page/timebase.h"
#include "privilege.h"
#include "server.h"
#include "stamp.h"

#include <errno.h>
#include <ictus/lock_daemon.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { SOCKETS = 2, PENDING = 1024 };

/* Maximum age (ns) of a pair of clock readings for converting stamps, and of the account of the
 * clock. */
static const int64_t pair_ns = 10000000;
static const int64_t account_ns = 500000000;

/* A pair of clock readings that leads further off than this (ns) is renewed. It may: a preemption
 * between two readings looks the same. */
static const int64_t moved_ns = 100000;

/* Rate at which a served clock may drift from its line between two accounts. */
static const double drift_most = 5e-4;

/* Root dispersion (ns) of a clock that the user declares as trusted (--system-clock). */
static const double trusted_dispersion_ns = 1000.0;

struct serving {
    const struct ictus_serve_options *options;
    struct server server;
    struct ictus_lock *lock;
    struct timebase base;
    int64_t account_at;
    struct stamp_socket sockets[SOCKETS];
    int families[SOCKETS];
    bool set_meanwhile[SOCKETS]; /* CLOCK_REALTIME was, after datagrams came that wait here */
    uint64_t pending[SOCKETS][PENDING]; /* receive stamp of the answer with this number */
    int stampedcount;
    int signals, metrics_fd;
    struct metrics *metrics;
    pthread_mutex_t told_lock; /* protects told, which the metrics thread reads */
    struct server_counts told;
    struct server_clock told_clock;
    sigset_t old_mask;
    bool stop, was_locked;
};

static void serve_say(const struct serving *s, const char *text)
{
    if (s->options->on_message) {
        s->options->on_message(text, s->options->context);
    }
}

/*
 * Renew the pair of raw and real time that converts stamps of CLOCK_REALTIME to raw time: if it is
 * old, or if it no longer leads to what is read now. If somebody has set CLOCK_REALTIME since the
 * last pair, nobody can tell from a stamp whether it is from before.
 */
static void serve_refresh_pair(struct serving *s)
{
    const int64_t real = ictusi_timebase_real_now();
    const int64_t now = ictusi_timebase_raw_now();
    const bool moved = llabs(ictusi_timebase_raw(&s->base, real) - now) > moved_ns;
    if (s->base.started && !moved && now - s->base.raw <= pair_ns) {
        return;
    }
    if (ictusi_timebase_read(&s->base) & TIMEBASE_STEPPED) {
        for (int i = 0; i < SOCKETS; i++) {
            s->set_meanwhile[i] = true;
        }
        memset(s->pending, 0, sizeof(s->pending)); /* their stamps do not count */
    }
}

static bool serve_map_raw(const struct serving *s, int64_t raw, int64_t *served)
{
    struct ictus_lock_reading reading;
    if (!s->lock || ictus_lock_map(s->lock, (struct ictus_time){raw}, &reading) ||
        reading.state == ICTUS_LOCK_UNLOCKED) {
        return false;
    }
    *served = reading.time.ns;
    return true;
}

/*
 * Convert a CLOCK_REALTIME stamp to the clock that is served. The conversion goes through raw time.
 * CLOCK_REALTIME may be off by any amount and may be slewed, but the pair of readings in `base` is
 * at most 10 ms old, during which it moves by 5 us at 500 ppm. Return whether *served is set: not
 * if the served clock can no longer be read or is not locked.
 */
static bool serve_read_served(const struct serving *s, int64_t real, int64_t *served)
{
    *served = real;
    return s->options->system_clock ||
           serve_map_raw(s, ictusi_timebase_raw(&s->base, real), served);
}

/* The served clock now: without CLOCK_REALTIME, which may be set at any time. */
static bool serve_read_now(const struct serving *s, int64_t *served)
{
    *served = ictusi_timebase_real_now();
    return s->options->system_clock || serve_map_raw(s, ictusi_timebase_raw_now(), served);
}

static void serve_set_unsynchronised(struct server_clock *clock)
{
    clock->stratum = PACKET_STRATUM_MAX + 1;
    clock->leap = PACKET_LEAP_UNSYNCHRONISED;
}

/*
 * What answers say about the clock, from the page that the lock's daemon publishes:
 *     root distance = root delay / 2 + root dispersion >= bound
 * (RFC 5905, 11.2, without its skew). A client adds up just these two, so the dispersion contains
 * what the bound has beyond half the delay.
 */
static void lock_account(struct serving *s, struct server_clock *clock)
{
    struct ictus_lock_status status;
    if (!s->lock || ictus_lock_status(s->lock, &status) ||
        status.now.state == ICTUS_LOCK_UNLOCKED || status.stratum > PACKET_STRATUM_MAX) {
        serve_set_unsynchronised(clock);
        return;
    }
    clock->stratum = (uint8_t)status.stratum;
    clock->leap = (uint8_t)status.leap;
    clock->reference_id = status.reference_id;
    /* Half the delay plus the dispersion is the bound. No client is promised more. */
    clock->root_delay_ns = status.root_delay_ns;
    clock->root_dispersion_ns =
        fmax(status.now.sigma_ns, status.now.bound_ns - status.root_delay_ns / 2);
    /* Until the next account, the bound grows by the largest possible drift of an oscillator. */
    clock->root_dispersion_ns += (double)account_ns * drift_most;
    clock->reference_ns = status.now.time.ns - (ictusi_timebase_raw_now() - status.updated_raw_ns);
}

/* If a page was removed, for example by a service manager, look for a new one. */
static void lock_reopen(struct serving *s)
{
    struct ictus_lock *lock = NULL;
    if (s->lock && ictusi_page_lock_is_there(s->lock)) {
        return;
    }
    ictus_lock_close(s->lock);
    s->lock = NULL;
    if (ictus_lock_open_guarded(s->options->name, s->options->directory, &lock, NULL) == ICTUS_OK) {
        s->lock = lock;
    }
}

/* Renew the account of the clock, and report a change of its state. */
static void serve_refresh_account(struct serving *s)
{
    struct server_clock *clock = &s->server.clock;
    const int64_t now = ictusi_timebase_raw_now();
    if (s->account_at && now - s->account_at < account_ns) {
        return;
    }
    s->account_at = now;
    if (s->options->system_clock) {
        clock->stratum = (uint8_t)s->options->stratum;
        clock->root_dispersion_ns = trusted_dispersion_ns;
        clock->reference_id = UINT32_C(0x4c4f434c); /* "LOCL" */
        clock->reference_ns = ictusi_timebase_real_now();
        return;
    }
    lock_reopen(s);
    lock_account(s, clock);
    const bool locked = clock->stratum <= PACKET_STRATUM_MAX;
    if (locked != s->was_locked) {
        serve_say(s, locked ? "the clock is locked and will be served"
                            : "the clock is not locked; answers say that it is unsynchronised");
        s->was_locked = locked;
    }
}

/*
 * Collect the transmit stamps that the kernel has by now. An interleaved client gets each of them
 * with its next answer. The queue is emptied, because all answers share it, and if it is full the
 * kernel drops stamps.
 */
static void serve_take_sent(struct serving *s, int which)
{
    struct stamps stamps;
    uint32_t id = 0;
    while (ictusi_stamp_sent(&s->sockets[which], &id, &stamps) == ICTUS_OK) {
        int64_t sent = 0;
        serve_refresh_pair(s);
        if (stamps.kernel && serve_read_served(s, stamps.kernel, &sent)) {
            ictusi_server_sent(&s->server, s->pending[which][id % PENDING], sent);
        }
    }
}

/* When a datagram came, by CLOCK_REALTIME. After that was set, it is when the datagram was read:
 * too late, which a client takes for delay, but true. */
static int64_t serve_came(const struct serving *s, int which, const struct stamps *stamps)
{
    return s->set_meanwhile[which] ? ictusi_timebase_real_now()
           : stamps->kernel        ? stamps->kernel
                                   : stamps->user;
}

/* Answer one request. All stamps must be from one clock, so there is no answer if that clock is
 * lost meanwhile. */
static void serve_take_request(struct serving *s, int which, struct stamp_datagram *datagram)
{
    struct stamp_socket *socket = &s->sockets[which];
    struct server_answer answer;
    int64_t received = 0, sending = 0, sent = 0;
    serve_refresh_pair(s);
    const bool readable = serve_read_served(s, serve_came(s, which, &datagram->stamps), &received);
    if (!readable) {
        serve_set_unsynchronised(&s->server.clock);
        s->account_at = 0; /* renew the account in the next turn */
    }
    const struct server_request request = {.bytes = datagram->bytes,
                                           .length = datagram->length,
                                           .from = (const struct sockaddr *)&datagram->peer,
                                           .received_ns = received,
                                           .raw_ns = s->base.raw};
    ictusi_server_answer(&s->server, &request, &answer);
    if (answer.length == 0 || serve_read_now(s, &sending) != readable) {
        return;
    }
    /*
     * The kernel numbers transmit stamps by the datagrams that were sent on this socket (OPT_ID),
     * as socket->sent does. If a stamp returns after 1024 further answers, it finds the entry of
     * another answer. The server then compares the receive stamp, so that a stamp may be lost but
     * is never given to the wrong answer.
     */
    const uint32_t number = socket->sent;
    s->pending[which][number % PENDING] = readable ? answer.receive : 0;
    /* Converted stamps are off by some microseconds while CLOCK_REALTIME is slewed. */
    ictusi_server_finish(&answer, sending > received ? sending : received);
    (void)ictusi_stamp_send(socket, answer.bytes, answer.length, datagram, &sent);
    serve_take_sent(s, which);
}

/* Answer waiting requests in batches, so that signals are also handled under a flood. A request
 * that is longer than the buffer was cut off and cannot be checked, so it is dropped. */
static void serve_take_requests(struct serving *s, int which)
{
    enum { BATCH = 64 };
    uint8_t bytes[PACKET_MAX];
    struct stamp_datagram datagram = {.bytes = bytes, .size = sizeof(bytes)};
    for (int i = 0; i < BATCH; i++) {
        if (ictusi_stamp_receive(&s->sockets[which], &datagram) != ICTUS_OK) {
            s->set_meanwhile[which] = false;
            return;
        }
        if (datagram.length <= datagram.size) {
            serve_take_request(s, which, &datagram);
        }
    }
}

/*
 * Pass the counts to the metrics thread, unless it is just reading them. trylock, because a scraper
 * that reads slowly must not delay answers. The counts are totals, so a turn that is left out loses
 * nothing.
 */
static void serve_tell_counts(struct serving *s)
{
    if (s->metrics && pthread_mutex_trylock(&s->told_lock) == 0) {
        s->told = s->server.counts;
        s->told_clock = s->server.clock;
        (void)pthread_mutex_unlock(&s->told_lock);
    }
}

/* Called in the metrics thread. */
static size_t serve_metrics_text(void *context, char *to, size_t size)
{
    struct serving *s = context;
    (void)pthread_mutex_lock(&s->told_lock);
    const struct server_counts c = s->told;
    const struct server_clock clock = s->told_clock;
    (void)pthread_mutex_unlock(&s->told_lock);
    const struct plain plain = plain_begin();
    const int n =
        snprintf(to, size,
                 "ictus_serve_requests_total %" PRIu64 "\nictus_serve_answered_total %" PRIu64
                 "\nictus_serve_interleaved_total %" PRIu64 "\nictus_serve_denied_total %" PRIu64
                 "\nictus_serve_limited_total %" PRIu64 "\nictus_serve_leaked_total %" PRIu64
                 "\nictus_serve_kissed_total %" PRIu64 "\nictus_serve_malformed_total %" PRIu64
                 "\nictus_serve_unauthentic_total %" PRIu64
                 "\nictus_serve_stratum %d\nictus_serve_root_dispersion_ns %.17g\n",
                 c.requests, c.answered, c.interleaved, c.denied, c.limited, c.leaked, c.kissed,
                 c.malformed, c.unauthentic, clock.stratum, clock.root_dispersion_ns);
    plain_end(&plain);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* Each address family has a socket of its own. The IPv6 wildcard would also accept IPv4, but
 * with mapped addresses. */
static int serve_open_socket(struct serving *s, const struct addrinfo *info, struct ictus_why *why)
{
    const int on = 1;
    struct stamp_socket *stamped = &s->sockets[s->stampedcount];
    struct ictus_why lesser = {""};
    stamped->fd = socket(info->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (stamped->fd < 0) {
        return ICTUS_ERR_UNSUPPORTED; /* for example no IPv6; the other family is enough */
    }
    if (info->ai_family == AF_INET6) {
        (void)setsockopt(stamped->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    }
    if (bind(stamped->fd, info->ai_addr, info->ai_addrlen) < 0) {
        const int code = errno;
        (void)close(stamped->fd);
        return ictus_because(why, code == EACCES ? ICTUS_ERR_PERMISSION : ICTUS_ERR_IO,
                             "cannot serve on port %" PRId64 ": %s", s->options->port,
                             strerror(code));
    }
    ictusi_stamp_want_own(stamped, info->ai_family);
    (void)ictusi_stamp_enable(stamped, (enum stamp_mode)s->options->stamps, &lesser);
    if (lesser.text[0]) {
        serve_say(s, lesser.text);
    }
    s->families[s->stampedcount++] = info->ai_family;
    return ICTUS_OK;
}

static int serve_open_sockets(struct serving *s, struct ictus_why *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    char port[8];
    (void)snprintf(port, sizeof(port), "%d", (int)s->options->port);
    if (getaddrinfo(s->options->address, port, &hints, &list)) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--address=%.60s: must be a numeric address",
                             s->options->address ? s->options->address : "");
    }
    int err = ICTUS_OK;
    for (const struct addrinfo *a = list; a && s->stampedcount < SOCKETS; a = a->ai_next) {
        const int failed = serve_open_socket(s, a, why);
        err = failed ? failed : err;
    }
    freeaddrinfo(list);
    return s->stampedcount ? ICTUS_OK : err;
}

static int serve_open_signals(struct serving *s)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, &s->old_mask) < 0) {
        return ICTUS_ERR_IO;
    }
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals < 0 ? ICTUS_ERR_IO : ICTUS_OK;
}

/* What needs privileges is opened first. They are dropped before any request is read. */
static int serve_open_all(struct serving *s, struct ictus_why *why)
{
    const struct ictus_serve_options *o = s->options;
    uint64_t secret = 0;
    (void)!getrandom(&secret, sizeof(secret), 0);
    ictusi_limiter_init(&s->server.limiter, o->rate, (double)o->burst, secret);
    s->server.require_key = o->require_key;
    int err = ictusi_access_read(&s->server.access, o->deny, o->allow, why);
    if (!err && o->keys) {
        err = ictusi_keys_read(o->keys, &s->server.keys, why);
    }
    if (!err && o->require_key && s->server.keys.count == 0) {
        err = ictus_because(why, ICTUS_ERR_SPEC, "--require-key needs --keys");
    }
    if (!err && !o->system_clock) {
        err = ictus_lock_open_guarded(o->name, o->directory, &s->lock, why);
    }
    if (!err) {
        err = serve_open_sockets(s, why);
    }
    if (!err && o->metrics) {
        err = ictusi_lock_metrics_open(o->metrics, &s->metrics_fd, why);
    }
    if (!err) {
        err = serve_open_signals(s);
    }
    err = err ? err : ictusi_privilege_drop(o->user, false, why);
    if (!err && o->metrics) {
        err = ictusi_lock_metrics_start(s->metrics_fd, serve_metrics_text, s, &s->metrics);
    }
    return err;
}

static void serve_close_all(struct serving *s)
{
    ictusi_lock_metrics_stop(s->metrics);
    (void)pthread_mutex_destroy(&s->told_lock);
    for (int i = 0; i < s->stampedcount; i++) {
        (void)close(s->sockets[i].fd);
    }
    if (s->metrics_fd >= 0) {
        (void)close(s->metrics_fd);
    }
    if (s->signals >= 0) {
        (void)close(s->signals);
        (void)sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
    }
    ictusi_keys_free(&s->server.keys);
    ictus_lock_close(s->lock);
}

/* Read all pending signals. A pending one would end the process once the old mask is restored. */
static void serve_take_signals(int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) > 0) {
    }
}

/*
 * One thread suffices: the kernel takes the stamps, so nothing is lost while an answer is made.
 * POLLERR means that transmit stamps wait in the error queue. An idle server announces a lost clock
 * as good for at most half a second. Each request reads the clock anew.
 */
static void serve_loop(struct serving *s)
{
    enum { SIGNALS = SOCKETS, EVENTS = SOCKETS + 1, REFRESH_MS = 500 };
    struct pollfd events[EVENTS];
    for (int i = 0; i < EVENTS; i++) {
        events[i].events = POLLIN;
        events[i].fd = i < s->stampedcount ? s->sockets[i].fd : -1;
    }
    events[SIGNALS].fd = s->signals;
    while (!s->stop) {
        const int ready = poll(events, EVENTS, REFRESH_MS);
        serve_refresh_account(s);
        serve_tell_counts(s);
        for (int i = 0; ready > 0 && i < s->stampedcount; i++) {
            if (events[i].revents & POLLERR) {
                serve_take_sent(s, i);
            }
            if (events[i].revents & POLLIN) {
                serve_take_requests(s, i);
            }
        }
        if (ready > 0 && events[SIGNALS].revents) {
            serve_take_signals(s->signals);
            s->stop = true;
        }
    }
}

int ictus_serve_run(const struct ictus_serve_options *options, struct ictus_why *why)
{
    struct ictus_why local = {""};
    why = why ? why : &local;
    if (!options || options->size != sizeof(*options)) {
        return ICTUS_ERR_ARG;
    }
    struct serving *s = calloc(1, sizeof(*s));
    if (!s) {
        return ICTUS_ERR_NOMEM;
    }
    s->options = options;
    s->signals = -1;
    s->metrics_fd = -1;
    (void)pthread_mutex_init(&s->told_lock, NULL);
    s->was_locked = true; /* so that an unlocked clock is reported at the start */
    const int err = serve_open_all(s, why);
    if (!err) {
        serve_loop(s);
    }
    serve_close_all(s);
    free(s);
    return err;
}
