/* SPDX-License-Identifier: BSD-3-Clause */
/* gpsd over TCP. TOFF reports tell when the serial report of a second arrived, and PPS reports
 * when its pulse arrived. */
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

/* A serial report arrives at some time within its second. A pulse is exact to the latency of its
 * interrupt. */
static const double report_sigma_ns = 2e6;
static const double report_bound_ns = 1e9;
static const double pulse_sigma_ns = 1000.0;
static const double pulse_bound_ns = 1e5;
static const double stale_ns = 1e10;

/* Time limits (ms) for connecting at the start and later, and the time (ns) before the next
 * attempt. */
enum { PATIENCE_MS = 5000, AGAIN_MS = 300 };
static const int64_t retry_ns = INT64_C(5000000000);

struct gpsd_reference {
    struct reference base;
    char host[128], port[16];
    int fd; /* -1: gpsd has gone */
    int64_t retry_at;
    bool pulses; /* once pulses arrive, serial reports are ignored */
    size_t length;
    char buffer[BUFFER_BYTES];
};

/*
 * Read the number after "key": of a flat JSON object. No JSON parser is needed. Keys of gpsd's TOFF
 * and PPS reports are unique within a line, and the quotation marks and the colon in `key` keep
 * "sec" from matching inside "real_sec". Without the key there is no sample.
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

/* Read an instant from two members, such as "real_sec" and "real_nsec". */
static bool gpsd_instant(const char *line, const char *key_s, const char *key_ns, int64_t *ns)
{
    int64_t s = 0, rest = 0;
    return gpsd_number(line, key_s, &s) && gpsd_number(line, key_ns, &rest) && s > 0 &&
           ictusi_timebase_stamp_join(s, rest, ns);
}

/*
 * TOFF gives the time at which a report of the receiver arrived over its serial line, and PPS the
 * time of its pulse, which is the one that is exact to microseconds. Both contain a pair of true
 * and system time:
 *     offset = real - raw(clock),
 * where "real" is the receiver's time and "clock" is CLOCK_REALTIME at that instant. A pair is
 * dropped if it is more than 10 s old or was made before the system's clock was set, because its
 * system time can no longer be converted to raw time. kernel marks pulses here, which gpsd stamps
 * well.
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

/* The socket is non-blocking, so connect() only begins, and poll() waits for a limited time. The
 * daemon has one thread, which must also poll the other sources and slew the clock. */
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
    /* A socket is also writable after a refusal. Only SO_ERROR distinguishes the two. */
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
            /* close() may change errno, but the message must give the first reason. */
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
 * gpsd has gone. It may be started again, so it is tried from time to time, with a shorter limit
 * than at the start (300 ms) because this happens between polls of other sources. The receiver may
 * have other capabilities after its restart, so serial reports count again until a pulse arrives.
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
 * Serial reports arrive up to a second late, by a delay that depends on the number of satellites.
 * Next to pulses they would only widen the bound. @return 1 if the line gives a sample that counts
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

/* Process all complete lines that have arrived. An incomplete line is kept for the next call. */
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
        /* Here the buffer holds the beginning of a single incomplete line. */
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
        /* The text after the last newline begins the next line. It is moved to the front, so
         * that the room does not shrink. */
        r->length -= (size_t)(start - r->buffer);
        memmove(r->buffer, start, r->length);
        if (r->length == sizeof(r->buffer) - 1) {
            r->length = 0; /* a line of 16 KiB cannot be from gpsd */
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
