/* SPDX-License-Identifier: BSD-3-Clause */
/* gpsd over TCP: TOFF tells when the report of a second came, PPS when its pulse did. */
#include "reference_gpsd.h"

#include "core/container.h"
#include "reference.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <netdb.h>
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

struct gpsd_reference {
    struct reference base;
    int fd;
    bool pulses; /* once pulses come, reports are left alone */
    size_t length;
    char buffer[BUFFER_BYTES];
};

/* The number behind "key": of a flat JSON object, which these reports are. */
static bool number(const char *line, const char *key, int64_t *value)
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
static bool instant(const char *line, const char *key_s, const char *key_ns, int64_t *ns)
{
    int64_t s = 0, rest = 0;
    return number(line, key_s, &s) && number(line, key_ns, &rest) && s > 0 &&
           ictusi_stamp_join(s, rest, ns);
}

bool ictusi_gpsd_sample(const char *line, const struct timebase *base, struct sample *sample)
{
    const bool report = strstr(line, "\"class\":\"TOFF\"") != NULL;
    const bool pulse = strstr(line, "\"class\":\"PPS\"") != NULL;
    int64_t reference = 0, local = 0;
    if ((!report && !pulse) || !instant(line, "\"real_sec\":", "\"real_nsec\":", &reference) ||
        !instant(line, "\"clock_sec\":", "\"clock_nsec\":", &local) ||
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

static int connect_to(const char *host, const char *port, int *fd, struct ictus_why *why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    const int code = getaddrinfo(host, port, &hints, &list);
    if (code) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot resolve gpsd's host '%.60s': %s", host,
                             gai_strerror(code));
    }
    *fd = -1;
    for (const struct addrinfo *a = list; a && *fd < 0; a = a->ai_next) {
        *fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (*fd >= 0 && connect(*fd, a->ai_addr, a->ai_addrlen) < 0) {
            (void)close(*fd);
            *fd = -1;
        }
    }
    freeaddrinfo(list);
    return *fd >= 0 ? ICTUS_OK
                    : ictus_because(why, ICTUS_ERR_IO, "cannot reach gpsd at %.60s port %.10s: %s",
                                    host, port, strerror(errno));
}

static int gpsd_open(const char *argument, struct reference **reference, struct ictus_why *why)
{
    static const char watch[] = "?WATCH={\"enable\":true,\"json\":true,\"pps\":true}\n";
    char host[128] = "localhost";
    const char *port = "2947";
    const char *colon = strrchr(argument, ':');
    const size_t length = colon ? (size_t)(colon - argument) : strlen(argument);
    if (length >= sizeof(host)) {
        return ictus_because(why, ICTUS_ERR_SPEC, "gpsd: the host's name is too long");
    }
    if (length) {
        memcpy(host, argument, length);
        host[length] = '\0';
    }
    if (colon) {
        port = colon + 1;
    }
    struct gpsd_reference *r = calloc(1, sizeof(*r));
    if (!r) {
        return ICTUS_ERR_NOMEM;
    }
    r->base.ops = &ictusi_reference_gpsd;
    int err = connect_to(host, port, &r->fd, why);
    if (!err && send(r->fd, watch, sizeof(watch) - 1, MSG_NOSIGNAL) < 0) {
        (void)close(r->fd);
        err = ictus_because(why, ICTUS_ERR_IO, "cannot talk to gpsd: %s", strerror(errno));
    }
    if (err) {
        free(r);
        return err;
    }
    *reference = &r->base;
    return ICTUS_OK;
}

/* @return 1 with a sample that counts */
static int take_line(struct gpsd_reference *r, const char *line, const struct timebase *base,
                     struct sample *sample)
{
    if (!ictusi_gpsd_sample(line, base, sample) || (r->pulses && !sample->kernel)) {
        return 0;
    }
    r->pulses = r->pulses || sample->kernel;
    return 1;
}

static int gpsd_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                     struct sample *samples, int max)
{
    struct gpsd_reference *r = container_of(reference, struct gpsd_reference, base);
    int count = 0;
    (void)utc_ns;
    (void)ictusi_timebase_read(base);
    for (;;) {
        const size_t room = sizeof(r->buffer) - 1 - r->length;
        const ssize_t got = recv(r->fd, r->buffer + r->length, room, MSG_DONTWAIT);
        if (got <= 0) {
            return count ? count : got == 0 ? ICTUS_ERR_IO : 0;
        }
        r->length += (size_t)got;
        r->buffer[r->length] = '\0';
        char *start = r->buffer;
        char *end = NULL;
        while ((end = strchr(start, '\n'))) {
            *end = '\0';
            if (count < max) {
                count += take_line(r, start, base, &samples[count]);
            }
            start = end + 1;
        }
        r->length -= (size_t)(start - r->buffer);
        memmove(r->buffer, start, r->length);
        if (r->length == sizeof(r->buffer) - 1) {
            r->length = 0; /* a line of 16 KiB is none of gpsd's */
        }
    }
}

static void gpsd_close(struct reference *reference)
{
    struct gpsd_reference *r = container_of(reference, struct gpsd_reference, base);
    (void)close(r->fd);
    free(r);
}

const struct reference_ops ictusi_reference_gpsd = {
    .name = "gpsd",
    .refid = "GPSD",
    .open = gpsd_open,
    .read = gpsd_read,
    .close = gpsd_close,
};
