/* SPDX-License-Identifier: BSD-3-Clause */
/* ClockBound's segment. */
#include "clockbound.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <ictus/time.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The layout is that of ClockBound 2's shared memory, so that its readers work unchanged. */
static const uint32_t magic[2] = {UINT32_C(0x414d5a4e), UINT32_C(0x43420200)};

/* A published bound holds for this time (s), while it grows. */
static const int64_t void_after_s = 1000;

/* The coarse clock may lag by a tick (s). */
static const double tick_s = 0.01;

/*
 * The blocks are reserved by posix_fallocate(). Writing a page of a sparse file on a full disk
 * would end the daemon by SIGBUS instead of returning an error. O_NOFOLLOW, because the path may be
 * in a directory that others can write to.
 */
int ictusi_clockbound_open(struct clockbound *bound, const char *path, struct ictus_why *why)
{
    struct stat info;
    const size_t size = sizeof(struct clockbound_segment);
    bound->segment = NULL;
    bound->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (bound->fd < 0 || fstat(bound->fd, &info) < 0 || !S_ISREG(info.st_mode) ||
        fchmod(bound->fd, 0644) < 0 || ftruncate(bound->fd, (off_t)size) < 0) {
        const int code = errno;
        ictusi_clockbound_close(bound);
        return ictus_because(why, code == EACCES ? ICTUS_ERR_PERMISSION : ICTUS_ERR_IO,
                             "cannot create ClockBound's segment %s: %s", path, strerror(code));
    }
    const int full = posix_fallocate(bound->fd, 0, (off_t)size);
    void *memory =
        full ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bound->fd, 0);
    if (memory == MAP_FAILED) {
        ictusi_clockbound_close(bound);
        return ictus_because(why, ICTUS_ERR_IO, "cannot map ClockBound's segment %s: %s", path,
                             strerror(full ? full : errno));
    }
    bound->segment = memory;
    ictusi_clockbound_tell(bound, CLOCKBOUND_UNKNOWN, 0.0, 0.0);
    return ICTUS_OK;
}

/*
 * A sequence lock whose generation is odd while the segment is written. A reader that sees an odd
 * or changed generation reads again. 0 means that nothing was ever written, so the count skips it.
 */
void ictusi_clockbound_tell(struct clockbound *bound, enum clockbound_status status,
                            double bound_ns, double drift)
{
    struct clockbound_segment *s = bound->segment;
    struct timespec now;
    if (!s || clock_gettime(CLOCK_MONOTONIC_COARSE, &now) < 0) {
        return;
    }
    /* A daemon that died between the two stores left an odd generation. `| 1` keeps it odd. `+
     * 1` would make it even, and readers would trust a half-written segment. */
    const uint16_t last = atomic_load(&s->generation);
    const uint16_t writing = (uint16_t)(last | 1U);
    atomic_store(&s->generation, writing);
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(s->magic, magic, sizeof(magic));
    s->size = (uint32_t)sizeof(*s);
    s->as_of_s = now.tv_sec;
    s->as_of_ns = now.tv_nsec;
    s->void_after_s = now.tv_sec + void_after_s;
    s->void_after_ns = now.tv_nsec;
    /* In ns, rounded up, because a bound may be too wide but not too narrow. The coarse clock
     * may lag by a tick, during which the clock drifts on. */
    s->bound_ns = (int64_t)ceil(fmin(9e18, bound_ns + drift * tick_s));
    /* A disruption marker would be a virtual machine's count of migrations, which is not known
     * here. */
    s->disruption = 0;
    s->max_drift_ppb = (uint32_t)ceil(fmin(4e9, drift));
    s->status = (int32_t)status;
    s->disruption_support = 0;
    memset(s->padding, 0, sizeof(s->padding));
    atomic_store(&s->version, CLOCKBOUND_VERSION);
    atomic_thread_fence(memory_order_seq_cst);
    const uint16_t next = (uint16_t)(writing + 1U);
    atomic_store(&s->generation, next ? next : 2);
}

void ictusi_clockbound_close(struct clockbound *bound)
{
    if (bound->segment) {
        ictusi_clockbound_tell(bound, CLOCKBOUND_UNKNOWN, 0.0, 0.0);
        (void)munmap(bound->segment, sizeof(*bound->segment));
    }
    if (bound->fd >= 0) {
        (void)close(bound->fd);
    }
    bound->segment = NULL;
    bound->fd = -1;
}
