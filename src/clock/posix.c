/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's clocks: monotonic, monotonic_raw, realtime, and PTP hardware clocks by device
 * path. */
#include "clock/sources.h"
#include "core/container.h"

#include <ictus/text.h>
#include <ictus/time.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct posix {
    struct source base;
    clockid_t id;
    int fd; /* file descriptor of a PTP device, or -1 */
};

/* The kernel derives the id of a dynamic clock from its file descriptor, id = (~fd << 3) | 3;
 * see clock_gettime(2), "Dynamic clocks". */
static clockid_t clock_of_fd(int fd)
{
    const unsigned inverted = ~(unsigned)fd;
    return (clockid_t)((inverted << 3) | 3U);
}

/*
 * If the kernel keeps time by a counter, the vDSO serves the reading in 20 to 40 ns. Otherwise it
 * is a system call. A PTP device always takes a system call and an access over its bus, 1 us or
 * more.
 */
static int64_t posix_read(const struct source *source)
{
    const struct posix *posix = container_of(source, struct posix, base);
    struct timespec now;
    (void)clock_gettime(posix->id, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/*
 * Two processes get the same readings if boot, time namespace and clock are the same. A PTP clock
 * is identified by its device number, because one device may be opened under several paths.
 */
static void posix_identify(const struct source *source, char *text, size_t size)
{
    const struct posix *posix = container_of(source, struct posix, base);
    char kernel[128];
    struct stat device;
    ictusi_source_kernel_identity(kernel, sizeof(kernel));
    if (posix->id == CLOCK_REALTIME || posix->fd >= 0) {
        kernel[strcspn(kernel, "/")] = '\0'; /* time namespaces do not shift these clocks */
    }
    if (posix->fd >= 0 && fstat(posix->fd, &device) == 0) {
        (void)snprintf(text, size, "%s/phc%llu", kernel, (unsigned long long)device.st_rdev);
        return;
    }
    (void)snprintf(text, size, "%s/%s", kernel, source->ops->name);
}

static void posix_free(struct source *source)
{
    struct posix *posix = container_of(source, struct posix, base);
    if (posix->fd >= 0) {
        (void)close(posix->fd);
    }
    free(posix);
}

static int posix_create(const struct source_ops *ops, clockid_t id, int fd, struct source **source)
{
    struct posix *posix = calloc(1, sizeof(*posix));
    if (!posix) {
        return ICTUS_ERR_NOMEM;
    }
    posix->base.ops = ops;
    posix->id = id;
    posix->fd = fd;
    *source = &posix->base;
    return ICTUS_OK;
}

/* A clock that cannot be read now would fail at every reading, so it is refused here and the
 * reason is given once. */
static int posix_open_plain(const struct source_ops *ops, clockid_t id, const struct spec *spec,
                            struct source **source, struct ictus_why *why)
{
    struct timespec now;
    if (clock_gettime(id, &now)) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "clock '%s' is not available on this machine: %s", spec->name,
                             strerror(errno));
    }
    return posix_create(ops, id, -1, source);
}

static int posix_open_monotonic(const struct spec *spec, const struct source_place *place,
                                struct source **source, struct ictus_why *why)
{
    (void)place;
    return posix_open_plain(&ictusi_source_monotonic, CLOCK_MONOTONIC, spec, source, why);
}

static int posix_open_monotonic_raw(const struct spec *spec, const struct source_place *place,
                                    struct source **source, struct ictus_why *why)
{
    (void)place;
    return posix_open_plain(&ictusi_source_monotonic_raw, CLOCK_MONOTONIC_RAW, spec, source, why);
}

static int posix_open_realtime(const struct spec *spec, const struct source_place *place,
                               struct source **source, struct ictus_why *why)
{
    (void)place;
    return posix_open_plain(&ictusi_source_realtime, CLOCK_REALTIME, spec, source, why);
}

/* Check only the form of the path. Whether the device exists is known only where it is opened. */
static int posix_check_phc(const struct spec *spec, struct ictus_why *why)
{
    return spec->options[0] == '/'
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_SPEC, "clock 'phc' needs a device: phc:/dev/ptp0");
}

static int posix_open_phc(const struct spec *spec, const struct source_place *place,
                          struct source **source, struct ictus_why *why)
{
    (void)place;
    struct timespec now;
    const int fd = open(spec->options, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        const int err =
            errno == EACCES || errno == EPERM ? ICTUS_ERR_PERMISSION : ICTUS_ERR_UNSUPPORTED;
        return ictus_because(why, err, "clock 'phc:%.100s' cannot be opened: %s", spec->options,
                             strerror(errno));
    }
    if (clock_gettime(clock_of_fd(fd), &now)) {
        (void)close(fd);
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "'%.100s' is not a PTP hardware clock",
                             spec->options);
    }
    const int err = posix_create(&ictusi_source_phc, clock_of_fd(fd), fd, source);
    if (err) {
        (void)close(fd);
    }
    return err;
}

const struct source_ops ictusi_source_monotonic = {
    .name = "monotonic",
    .summary = "CLOCK_MONOTONIC: never steps; NTP steers its rate",
    .check = ictusi_source_check_bare,
    .open = posix_open_monotonic,
    .read = posix_read,
    .identify = posix_identify,
    .free = posix_free,
};

const struct source_ops ictusi_source_monotonic_raw = {
    .name = "monotonic_raw",
    .summary = "CLOCK_MONOTONIC_RAW: the bare oscillator, not steered",
    .check = ictusi_source_check_bare,
    .open = posix_open_monotonic_raw,
    .read = posix_read,
    .identify = posix_identify,
    .free = posix_free,
};

const struct source_ops ictusi_source_realtime = {
    .name = "realtime",
    .summary = "CLOCK_REALTIME: may step",
    .check = ictusi_source_check_bare,
    .open = posix_open_realtime,
    .read = posix_read,
    .identify = posix_identify,
    .free = posix_free,
};

const struct source_ops ictusi_source_phc = {
    .name = "phc",
    .summary = "a PTP hardware clock, phc:/dev/ptpN",
    .check = posix_check_phc,
    .open = posix_open_phc,
    .read = posix_read,
    .identify = posix_identify,
    .free = posix_free,
};
