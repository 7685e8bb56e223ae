/* SPDX-License-Identifier: BSD-3-Clause */
/* chrony's SOCK: a feeder sends one datagram for each sample to a socket that we own. */
#include "reference_sock.h"
#include "core/container.h"
#include "reference.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SOCK_MAGIC = 0x534f434b };

/* A pulse does not name its second, so only the offset within a second counts. */
static const double pulse_max_s = 0.5;

/* Initial values (ns), because a feeder does not report its accuracy. The discipline replaces them
 * by what it measures. */
static const double sigma_ns = 1000.0;
static const double bound_ns = 1e6;
static const double stale_ns = 1e10;

struct sock_reference {
    struct reference base;
    int fd;
    struct sockaddr_un address;
};

/*
 *     offset (s) = true time - system time, at the system time `time`
 * For a pulse only the offset modulo a second is known. The second is chosen so that the result is
 * within half a second of the guess, which is what the locked clock shows at that instant:
 *     reference = guess + ((phase - guess) mod 1 s, in [-0.5 s, 0.5 s))
 * In C the remainder of a negative number is negative, hence the additions of whole seconds.
 */
bool ictusi_sock_sample(const struct sock_message *message, size_t length, struct timebase *base,
                        int64_t utc_ns, struct sample *sample)
{
    if (length != sizeof(*message) || message->magic != SOCK_MAGIC || message->leap == 3 ||
        !isfinite(message->offset) || fabs(message->offset) > 1e9) {
        return false;
    }
    int64_t real = 0;
    const int64_t us = (int64_t)message->time.tv_usec;
    if (us < 0 || us > 999999 ||
        !ictusi_timebase_stamp_join(message->time.tv_sec, us * 1000, &real) ||
        fabs((double)(base->real - real)) > stale_ns) {
        return false;
    }
    memset(sample, 0, sizeof(*sample));
    sample->local = ictusi_timebase_raw(base, real);
    int64_t reference = real + llround(message->offset * 1e9);
    if (message->pulse) {
        /* The clock that is already locked shows which second it was. Without one, the system's
         * clock does. */
        if (fabs(message->offset) > pulse_max_s) {
            return false;
        }
        const int64_t guess = utc_ns ? utc_ns - (base->real - real) : reference;
        const int64_t second = INT64_C(1000000000);
        const int64_t phase = ((reference % second) + second) % second;
        reference = guess + ((phase - guess % second + second + second / 2) % second) - second / 2;
    }
    sample->offset_ns = reference - sample->local;
    sample->sigma_ns = sigma_ns;
    sample->bound_ns = bound_ns;
    sample->kernel = true;
    return true;
}

static int sock_open(const char *argument, struct reference **reference, struct ictus_why *why)
{
    struct sock_reference *r = calloc(1, sizeof(*r));
    if (!r) {
        return ICTUS_ERR_NOMEM;
    }
    r->base.ops = &ictusi_reference_sock;
    r->address.sun_family = AF_UNIX;
    if (!argument[0] || strlen(argument) >= sizeof(r->address.sun_path)) {
        free(r);
        return ictus_because(why, ICTUS_ERR_SPEC, "sock:%.60s: must be the path of a socket",
                             argument);
    }
    (void)snprintf(r->address.sun_path, sizeof(r->address.sun_path), "%s", argument);
    struct stat info;
    if (lstat(argument, &info) == 0 && S_ISSOCK(info.st_mode)) {
        (void)unlink(argument); /* left by an earlier run */
    }
    r->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r->fd < 0 || bind(r->fd, (const struct sockaddr *)&r->address, sizeof(r->address)) < 0) {
        const int err = ictus_because(why, ICTUS_ERR_IO, "cannot create the socket %.80s: %s",
                                      argument, strerror(errno));
        if (r->fd >= 0) {
            (void)close(r->fd);
        }
        free(r);
        return err;
    }
    *reference = &r->base;
    return ICTUS_OK;
}

static int sock_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                     struct sample *samples, int max)
{
    struct sock_reference *r = container_of(reference, struct sock_reference, base);
    struct sock_message message;
    int count = 0;
    (void)ictusi_timebase_read(base);
    while (count < max) {
        const ssize_t length = recv(r->fd, &message, sizeof(message), MSG_TRUNC);
        if (length < 0) {
            break;
        }
        count += ictusi_sock_sample(&message, (size_t)length, base, utc_ns, &samples[count]);
    }
    return count;
}

static void sock_close(struct reference *reference)
{
    struct sock_reference *r = container_of(reference, struct sock_reference, base);
    (void)close(r->fd);
    (void)unlink(r->address.sun_path);
    free(r);
}

const struct reference_ops ictusi_reference_sock = {
    .name = "sock",
    .refid = "SOCK",
    .open = sock_open,
    .read = sock_read,
    .close = sock_close,
};
