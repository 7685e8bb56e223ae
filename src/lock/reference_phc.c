/* SPDX-License-Identifier: BSD-3-Clause */
/* PTP hardware clocks by PTP_SYS_OFFSET_EXTENDED, and PPS devices by RFC 2783's fetch. */
#include "reference_phc.h"

#include "core/container.h"
#include "reference.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timex.h>
#include <unistd.h>

enum { PHC_READINGS = 10, TAI_DEFAULT_S = 37 };

/* The kernel's stamp of a pulse errs by the interrupt latency (ns): the initial value for
 * learning, and the limit. */
static const double pps_sigma_ns = 1000.0;
static const double pps_bound_ns = 1e5;
static const double pps_stale_ns = 1.5e9;

struct device {
    struct reference base;
    int fd;
    unsigned sequence;
};

static int reference_phc_call_ioctl(int fd, unsigned long request, void *argument)
{
    return ioctl(fd, request, argument);
}

static const struct device_calls system_calls = {.ioctl = reference_phc_call_ioctl};

static int64_t ptp_ns(const struct ptp_clock_time *t)
{
    return (int64_t)t->sec * 1000000000 + (int64_t)t->nsec;
}

/*
 *     local  = raw((before + after) / 2)
 *     offset = device - TAI offset - local        (ns)
 *     bound  = (after - before) / 2 + 100 ns
 * The device was read between the two system readings, so that half of their distance bounds the
 * error of the pair. The 100 ns allow for the resolution of the readings. PTP_SYS_OFFSET (without
 * EXTENDED) takes one system reading between two readings of the device, and its bound would be
 * twice as wide.
 */
bool ictusi_phc_sample(const struct ptp_sys_offset_extended *answer, const struct timebase *base,
                       int tai_offset_s, struct sample *sample)
{
    int64_t best = INT64_MAX;
    memset(sample, 0, sizeof(*sample));
    for (unsigned i = 0; i < answer->n_samples && i < PTP_MAX_SAMPLES; i++) {
        const int64_t before = ptp_ns(&answer->ts[i][0]);
        const int64_t device = ptp_ns(&answer->ts[i][1]);
        const int64_t width = ptp_ns(&answer->ts[i][2]) - before;
        /* The system clock was read before and after the device. The narrowest pair is the most
         * accurate. */
        if (width < 0 || width >= best) {
            continue;
        }
        best = width;
        sample->local = ictusi_timebase_raw(base, before + width / 2);
        sample->offset_ns = device - (int64_t)tai_offset_s * 1000000000 - sample->local;
    }
    sample->delay_ns = (double)best;
    sample->bound_ns = (double)best / 2 + 100.0;
    sample->kernel = true;
    return best != INT64_MAX;
}

/* PTP hardware clocks show TAI, and UTC = TAI - tai_offset_s. */
int ictusi_phc_read(const struct device_calls *calls, int fd, struct timebase *base,
                    int tai_offset_s, struct sample *sample)
{
    struct ptp_sys_offset_extended request;
    memset(&request, 0, sizeof(request));
    request.n_samples = PHC_READINGS;
    if (calls->ioctl(fd, PTP_SYS_OFFSET_EXTENDED, &request) < 0) {
        return ICTUS_ERR_IO;
    }
    (void)ictusi_timebase_read(base);
    return ictusi_phc_sample(&request, base, tai_offset_s, sample) ? 1 : ICTUS_ERR_FORMAT;
}

/*
 * A pulse marks the start of a second, but not which one. That is known from other sources (utc_ns)
 * or from the system clock, which must be right to half a second:
 *     whole = guess rounded to a second;  offset = whole - local
 * If the guess is off by half a second or more, the sample is wrong by whole seconds and looks as
 * good as any other. A PPS device alone is therefore useless on a machine whose clock is not set,
 * and the guess is taken from the locked clock as soon as there is one.
 */
bool ictusi_pps_sample(const struct pps_fdata *answer, const struct timebase *base, int64_t utc_ns,
                       struct sample *sample)
{
    const struct pps_ktime *t = &answer->info.assert_tu;
    const int64_t second = INT64_C(1000000000);
    const int64_t real = (int64_t)t->sec * second + t->nsec;
    if (real <= 0 || fabs((double)(base->real - real)) > pps_stale_ns) {
        return false;
    }
    memset(sample, 0, sizeof(*sample));
    sample->local = ictusi_timebase_raw(base, real);
    /* The pulse marks a whole second, namely the one nearest to the guess. The guess is the time
     * now, minus the age of the pulse. */
    const int64_t guess = utc_ns ? utc_ns - (base->raw - sample->local) : real;
    const int64_t whole = (guess + second / 2) / second * second;
    sample->offset_ns = whole - sample->local;
    sample->sigma_ns = pps_sigma_ns;
    sample->bound_ns = pps_bound_ns;
    sample->kernel = true;
    return true;
}

/* The kernel keeps only the latest edge, and counts edges in assert_sequence. If several seconds
 * have passed since the last read, the edges between are lost, but they are not needed. */
int ictusi_pps_read(const struct device_calls *calls, int fd, struct timebase *base, int64_t utc_ns,
                    unsigned *sequence, struct sample *sample)
{
    struct pps_fdata answer;
    memset(&answer, 0, sizeof(answer));
    answer.timeout.flags = 0; /* a timeout of 0 returns the latest edge at once */
    if (calls->ioctl(fd, PPS_FETCH, &answer) < 0) {
        return errno == ETIMEDOUT ? 0 : ICTUS_ERR_IO;
    }
    (void)ictusi_timebase_read(base);
    /* Each pulse counts only once. */
    if (answer.info.assert_sequence == *sequence) {
        return 0;
    }
    *sequence = answer.info.assert_sequence;
    return ictusi_pps_sample(&answer, base, utc_ns, sample) ? 1 : 0;
}

static int device_open(const char *path, const char *kind, const struct reference_ops *ops,
                       struct device **device, struct ictus_why *why)
{
    struct device *d = calloc(1, sizeof(*d));
    if (!d) {
        return ICTUS_ERR_NOMEM;
    }
    d->base.ops = ops;
    d->fd = open(path, O_RDWR | O_CLOEXEC);
    if (d->fd < 0) {
        const int code = errno;
        free(d);
        return ictus_because(why, code == EACCES ? ICTUS_ERR_PERMISSION : ICTUS_ERR_UNSUPPORTED,
                             "cannot open the %s %.80s: %s", kind, path, strerror(code));
    }
    *device = d;
    return ICTUS_OK;
}

static void device_close(struct reference *reference)
{
    struct device *d = container_of(reference, struct device, base);
    (void)close(d->fd);
    free(d);
}

/*
 * Return TAI - UTC in s from the kernel, or the present value (37 since 2017) if the kernel's is
 * unset, as on most machines. After the next leap second this default is off by one until a
 * program, such as a PTP daemon, sets the kernel's.
 */
static int tai_offset(void)
{
    struct timex request;
    memset(&request, 0, sizeof(request));
    return adjtimex(&request) >= 0 && request.tai > 0 ? request.tai : TAI_DEFAULT_S;
}

static int phc_open(const char *argument, struct reference **reference, struct ictus_why *why)
{
    struct device *d = NULL;
    struct timebase base = {0};
    struct sample sample;
    const char *path = argument[0] ? argument : "/dev/ptp0";
    const int err = device_open(path, "PTP hardware clock", &ictusi_reference_phc, &d, why);
    if (err) {
        return err;
    }
    if (ictusi_phc_read(&system_calls, d->fd, &base, 0, &sample) < 0) {
        device_close(&d->base);
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "%.80s is not a PTP hardware clock that can be compared with the "
                             "system clock: %s",
                             path, strerror(errno));
    }
    *reference = &d->base;
    return ICTUS_OK;
}

static int phc_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                    struct sample *samples, int max)
{
    const struct device *d = container_of(reference, struct device, base);
    (void)utc_ns;
    return max < 1 ? 0 : ictusi_phc_read(&system_calls, d->fd, base, tai_offset(), samples);
}

/* Use rising edges, because receivers mark the second by them. */
static int pps_open(const char *argument, struct reference **reference, struct ictus_why *why)
{
    struct device *d = NULL;
    struct pps_kparams params;
    const char *path = argument[0] ? argument : "/dev/pps0";
    const int err = device_open(path, "PPS device", &ictusi_reference_pps, &d, why);
    if (err) {
        return err;
    }
    memset(&params, 0, sizeof(params));
    if (reference_phc_call_ioctl(d->fd, PPS_GETPARAMS, &params) < 0) {
        device_close(&d->base);
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "%.80s is not a PPS device: %s", path,
                             strerror(errno));
    }
    params.mode |= PPS_CAPTUREASSERT;
    (void)reference_phc_call_ioctl(d->fd, PPS_SETPARAMS, &params);
    *reference = &d->base;
    return ICTUS_OK;
}

static int pps_read(struct reference *reference, struct timebase *base, int64_t utc_ns,
                    struct sample *samples, int max)
{
    struct device *d = container_of(reference, struct device, base);
    return max < 1 ? 0 : ictusi_pps_read(&system_calls, d->fd, base, utc_ns, &d->sequence, samples);
}

const struct reference_ops ictusi_reference_phc = {
    .name = "phc",
    .refid = "PHC\0",
    .open = phc_open,
    .read = phc_read,
    .close = device_close,
};

const struct reference_ops ictusi_reference_pps = {
    .name = "pps",
    .refid = "PPS\0",
    .open = pps_open,
    .read = pps_read,
    .close = device_close,
};
