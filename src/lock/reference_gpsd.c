/* SPDX-License-Identifier: BSD-3-Clause */
/* gpsd over TCP: TOFF tells when the report of a second came, PPS when its pulse did. */
#include "reference_gpsd.h"

#include "core/container.h"
#include "reference.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 16384 };

/* A serial report comes some time within its second; a pulse is exact to its interrupt. */
static const double report_sigma_ns = 2e6;
static const double report_bound_ns = 1e9;
static const double pulse_sigma_ns = 1000.0;
static const double pulse_bound_ns = 1e5;
static const double stale_ns = 1e10;

/* How long a connection may take to be made, at first and again; and how soon it is tried again. */
enum { PATIENCE_MS = 5000, AGAIN_MS = 300 };
static const int64_t retry_ns = INT64_C(5000000000);

struct gpsd_reference {
    struct reference base;
    char host[128], port[16];
    int fd; /* -1: gpsd went away */
    int64_t retry_at;
    bool pulses; /* once pulses come, reports are left alone */
    size_t length;
    char buffer[BUFFER_BYTES];
};

/*
 * The number after "key": of a flat JSON object, which these reports are. No JSON parser: keys of
 * gpsd's TOFF and PPS reports are unique within a line, and the quotation marks and the colon in
 * `key` keep "sec" from matching within "real_sec". What is not there fails the sample.
 */
static bool gpsd_number(const char *line, const char *key, int64_t *value)
{
    const char *at = strstr(line, key);
    char *end = NULL;
    if (!at) {
        return false;
    }
    at += strlen(key);
    errno = 0;
    *value = strtoll(at, &end, 10);
    return end != at && errno == 0;
}

/* An instant from two members, as "real_sec" and "real_nsec". */
static bool gpsd_instant(const char *line, const char *key_s, const char *key_ns, int64_t *ns)
{
    int64_t s = 0, rest = 0;
    return gpsd_number(line, key_s, &s) && gpsd_number(line, key_ns, &rest) && s > 0 &&
           ictusi_timebase_stamp_join(s, rest, ns);
}

/*
 * TOFF: when a report of the receiver came over its serial line. PPS: when its pulse came, which is
 * what counts to microseconds. Both have the pair of true and system time.
 *     offset = real - raw(clock): "real" is the receiver's time, "clock" CLOCK_REALTIME at that
 * instant A pair that is more than 10 s old, or from before the system's clock was set, is dropped:
 * its system time can no longer be converted to raw time. kernel marks pulses here, which gpsd has
 * stamped well.
 */
bool ictusi_gpsd_sample(const char *line, const struct timebase *base, struct sample *sample)
{
    const bool report = strstr(line, "\"class\":\"TOFF\"") != NULL;
    const bool pulse = strstr(line, "\"class\":\"PPS\"") != NULL;
    int64_t reference = 0, local = 0;
    if ((!report && !pulse) || !gpsd_instant(line, "\"real_sec\":", "\"real_nsec\":", &reference) ||
        !gpsd_instant(line, "\"clock_sec\":", "\"clock_nsec\":", &local) ||
        fabs((double)(base->real - local)) > stale_ns) {
        return false;
    }
    memset(sample, 0, sizeof(*sample));
    sample->local = ictusi_timebase_raw(base, local);
    sample->offset_ns = reference - sample->local;
    sample->sigma_ns = pulse ? pulse_sigma_ns : report_sigma_ns;
    sample->bound_ns = pulse ? pulse_bound_ns : report_bound_ns;
    sample->kernel = pulse;
    return true;
}

/*
 * The socket does not block, so connect() begins and poll() waits, for a bounded time: the daemon's
 * one thread also polls the other sources and slews the clock meanwhile.
 */
static bool gpsd_connects(int fd, const struct addrinfo *a, int patience_ms)
{
    int failed = 0;
    socklen_t length = sizeof(failed);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
        return true;
    }
    struct pollfd event = {.fd = fd, .events = POLLOUT};
    if (errno != EINPROGRESS) {
        return false;
    }
    if (poll(&event, 1, patience_ms) <= 0) {
        errno = ETIMEDOUT;
        return false;
    }
    /* A socket is writable after a refusal as well: only this tells them apart. */
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &length) == 0) {
        errno = failed;
    }
    return failed == 0;
}

static int gpsd_connect(struct gpsd_reference *r, int patience_ms, struct ictus_why *why)
{
    static const char watch[] = "?WATCH={\"enable\":true,\"json\":true,\"pps\":true}\n";
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    const int code = getaddrinfo(r->host, r->port, &hints, &list);
    if (code) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot resolve gpsd's host '%.60s': %s", r->host,
                             gai_strerror(code));
    }
    for (const struct addrinfo *a = list; a && r->fd < 0; a = a->ai_next) {
        r->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (r->fd >= 0 && (!gpsd_connects(r->fd, a, patience_ms) ||
                           send(r->fd, watch, sizeof(watch) - 1, MSG_NOSIGNAL) < 0)) {
            /* close() may set errno, and the message is to give the first reason. */
            const int reason = errno;
            (void)close(r->fd);
            r->fd = -1;
            errno = reason;
        }
    }
    freeaddrinfo(list);
    r->length = 0;
    return r->fd >= 0
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_IO, "cannot reach gpsd at %.60s port %.10s: %s",
                               r->host, r->port, strerror(errno));
}

static int gpsd_open(const char *argument, struct reference **reference, struct ictus_why *why)
{
    const char *colon = strrchr(argument, ':');
    const size_t length = colon ? (size_t)(colon - argument) : strlen(argument);
    struct gpsd_reference *r = calloc(1, sizeof(*r));
    if (!r) {
        return ICTUS_ERR_NOMEM;
    }
    r->base.ops = &ictusi_reference_gpsd;
    r->fd = -1;
    if (length >= sizeof(r->host)) {
        free(r);
        return ictus_because(why, ICTUS_ERR_SPEC, "gpsd: the host's name is too long");
    }
    (void)snprintf(r->host, sizeof(r->host), "%.*s", length ? (int)length : 9,
                   length ? argument : "localhost");
    (void)snprintf(r->port, sizeof(r->port), "%.15s", colon ? colon + 1 : "2947");
    const int err = gpsd_connect(r, PATIENCE_MS, why);
    if (err) {
        free(r);
        return err;
    }
    *reference = &r->base;
    return ICTUS_OK;
}

/*
 * gpsd went away: it is started again some time, and is asked for now and then. A shorter patience
 * than at the start (300 ms), as this happens between polls of other sources. What the receiver can
 * do may have changed with its restart, so reports count again until a pulse comes.
 */
static void gpsd_come_back(struct gpsd_reference *r, int64_t now)
{
    if (now >= r->retry_at) {
        r->retry_at = now + retry_ns;
        r->pulses = false;
        (void)gpsd_connect(r, AGAIN_MS, NULL);
    }
}

/*
 * Reports on the serial line come up to a second late by a delay that depends on the number of
 * satellites; next to pulses they would only widen the bound. @return 1 with a sample that counts
 */
static int reference_gpsd_take_line(struct gpsd_reference *r, const char *line,
                                    const struct timebase *base, struct sample *sample)
{
    if (!ictusi_gpsd_sample(line, base, sample) || (r->pulses && !sample->kernel)) {
        return 0;
    }
    r->pulses = r->pulses || sample->kernel;
    return 1;
}

/* All whole lines that have come; what is left of one stays for the next time. */
static int gpsd_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                     struct sample *samples, int max)
{
    struct gpsd_reference *r = container_of(reference, struct gpsd_reference, base);
    int count = 0;
    (void)utc_ns;
    (void)ictusi_timebase_read(base);
    if (r->fd < 0) {
        gpsd_come_back(r, base->raw);
    }
    while (r->fd >= 0) {
        /* What the buffer holds here is the beginning of one line, without its end. */
        const size_t room = sizeof(r->buffer) - 1 - r->length;
        const ssize_t got = recv(r->fd, r->buffer + r->length, room, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (got <= 0) {
            (void)close(r->fd);
            r->fd = -1;
            break;
        }
        r->length += (size_t)got;
        r->buffer[r->length] = '\0';
        char *start = r->buffer;
        char *end = NULL;
        while ((end = strchr(start, '\n'))) {
            *end = '\0';
            if (count < max) {
                count += reference_gpsd_take_line(r, start, base, &samples[count]);
            }
            start = end + 1;
        }
        /*
         * What follows the last newline begins the next line: moved to the front, so that room
         * never shrinks.
         */
        r->length -= (size_t)(start - r->buffer);
        memmove(r->buffer, start, r->length);
        if (r->length == sizeof(r->buffer) - 1) {
            r->length = 0; /* a line of 16 KiB is none of gpsd's */
        }
    }
    return count;
}

static void gpsd_close(struct reference *reference)
{
    struct gpsd_reference *r = container_of(reference, struct gpsd_reference, base);
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
    free(r);
}

const struct reference_ops ictusi_reference_gpsd = {
    .name = "gpsd",
    .refid = "GPSD",
    .open = gpsd_open,
    .read = gpsd_read,
    .close = gpsd_close,
};
