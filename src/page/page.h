/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared page. It holds the clock in two slots and the status in two more. A writer fills the
 * slot that is not in force and then increments the turn counter, whose lowest bit selects the
 * slot. A reader therefore never waits, not even for a daemon that was killed while it was writing.
 * It only reads again if the counter has changed while it was reading.
 */
#ifndef ICTUS_LOCK_PAGE_H
#define ICTUS_LOCK_PAGE_H

#include <ictus/lock.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_MAGIC UINT64_C(0x314b434c53544349) /* "ICTSLCK1" */

enum { PAGE_VERSION = 2, PAGE_BOOT_BYTES = 40, PAGE_PATH_BYTES = 512 };

/*
 * What is needed to read the clock. All words have 8 bytes. With raw the reading of
 * CLOCK_MONOTONIC_RAW, d = raw - anchor in ns and s = d / 1e9,
 *
 *   absolute  = value + d + slope * d - left,  left = sign(slew_ns) max(0, |slew_ns| - slew_rate d)
 *   elapsed   = elapsed + d + slope * d
 *   sigma^2   = pp + 2 |pf| s + ff s^2 + walk s^3 / 3
 *
 * where left is what the slew has not removed yet. The absolute clock counts ns since 1970 and may
 * be stepped or slewed. The difference clock counts elapsed ns and is never corrected in phase.
 */
struct page_clock {
    int64_t anchor;   /* CLOCK_MONOTONIC_RAW */
    int64_t value;    /* absolute clock at the anchor, ns since 1970, without the slew */
    double slope;     /* rate of both clocks against raw, minus 1 */
    double slew_ns;   /* the offset still to be removed from the absolute clock at the anchor */
    double slew_rate; /* the rate at which it is removed, ns per ns */
    int64_t elapsed;  /* difference clock at the anchor */
    double pp_ns2, pf_ns2_per_s, ff_ns2_per_s2; /* covariance of phase and frequency at the
                                                   anchor */
    double walk_ns2_per_s3;      /* variance of the random walk of the frequency, per s */
    double bound_ns, bound_rate; /* ns and ns per s */
    int64_t good_until;          /* raw: after this time the daemon has missed its poll */
    int64_t state;               /* enum ictus_lock_state */
    int64_t epoch;
    int64_t leap;
    int64_t leap_at; /* end of the day with a leap second, on the absolute clock without the leap */
    int64_t leap_ns; /* -1 s: a second is inserted, +1 s: a second is deleted, 0: no leap second */
    /* Computed from the members above when the clock is published, for the fast path of readers: */
    int64_t slew_until;          /* raw: from this time on, nothing is left to slew */
    int64_t quick_until;         /* raw: good_until, or the leap second if that comes first */
    double sigma_ns, sigma_rate; /* standard deviation at the anchor, and its mean rate up to
                                    good_until, per s */
};

struct page_header {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;
    char boot[PAGE_BOOT_BYTES]; /* boot id */
    uint64_t timens;            /* inode of the time namespace, whose raw clock has its own zero */
    int64_t pid;
    uint64_t pidns;       /* inode of the process namespace to which pid belongs */
    uint64_t pid_started; /* start time from /proc; differs if the pid has been reused */
    int64_t started;
};

enum {
    PAGE_CLOCK_WORDS = sizeof(struct page_clock) / 8,
    PAGE_STATUS_WORDS = (sizeof(struct ictus_lock_status) + 7) / 8
};

struct page {
    struct page_header header;
    _Alignas(64) _Atomic uint64_t clock_turn; /* 0: never written */
    _Alignas(64) _Atomic uint64_t clock[2][PAGE_CLOCK_WORDS];
    _Alignas(64) _Atomic uint64_t status_turn;
    _Alignas(64) _Atomic uint64_t status[2][PAGE_STATUS_WORDS];
};

/* Write the boot id and the time namespace of this process. @return ICTUS_OK or ICTUS_ERR_IO */
int ictusi_page_identity(char boot[PAGE_BOOT_BYTES], uint64_t *timens);

/* Find out when a process started and in which process namespace it counts. @return false if
 * there is no such process or no /proc */
bool ictusi_page_process(int64_t pid, uint64_t *started, uint64_t *namespace);

/* The directory of the clocks that root, or root's service user, keeps on this machine. */
#define PAGE_SYSTEM_DIRECTORY "/run/ictus"

/*
 * Choose the directory of a clock: the given one, else $ICTUS_LOCK_DIRECTORY, else the caller's
 * own. The caller's own directory is the system's if it belongs to the caller, and
 * /dev/shm/ictus-UID otherwise. @return ICTUS_OK, or ICTUS_ERR_SPEC if the name is too long
 */
int ictusi_page_directory(const char *directory, char *path, size_t size, struct ictus_why *why);

/* Compose the path of a clock's page. @return ICTUS_OK, or ICTUS_ERR_SPEC for a name with
 * characters that are not allowed */
int ictusi_page_path(const char *name, const char *directory, char *path, size_t size,
                     struct ictus_why *why);

/*
 * Open the page of a clock for reading. Without a given directory both the caller's own and the
 * system's are searched. The page must belong to root, to the caller or to the system service.
 * *owner is set to its owner. @return a file descriptor, or a negative error
 */
int ictusi_page_open(const char *name, const char *directory, char path[PAGE_PATH_BYTES],
                     uid_t *owner, struct ictus_why *why);

/* Return whether the page of this handle still has a name. If it does not, a new daemon has
 * created another file. */
bool ictusi_page_lock_is_there(const struct ictus_lock *lock);

/* The writer's side: the open page, and a lock that prevents a second daemon of the same name.
 * The lock is on a file that no other user can open. */
struct page_writer {
    int fd, guard;
    struct page *page;
};

/* @return ICTUS_OK, ICTUS_ERR_EXISTS (the reason names the other process), ICTUS_ERR_ARG (no such
 * directory), ICTUS_ERR_IO, ... */
int ictusi_page_create(const char *name, const char *directory, struct page_writer *writer,
                       struct ictus_why *why);

/* Return the standard deviation, in ns, of the line s seconds after its anchor. */
double ictusi_page_sigma(const struct page_clock *clock, double s);

/*
 * Return the bound, in ns, s seconds after the anchor. The published rate holds for an hour, over
 * which the mean frequency of the oscillator is known. After that only the limit for any oscillator
 * holds, 200 ppm.
 */
static inline double ictusi_page_bound(double bound_ns, double rate, double s)
{
    const double window_s = 3600.0, rate_prior = 4e5; /* ns/s: the published line itself may also
                                                         be off by 200 ppm */
    return bound_ns + (s <= window_s ? s * rate : window_s * rate + (s - window_s) * rate_prior);
}

/*
 * Return what the absolute clock shows where its line is at `plain`: that time, plus the leap if it
 * has happened. An inserted second repeats the last second of the day, so it starts at leap_at. A
 * deleted second is the last of the day, so the leap happens one second earlier.
 */
static inline int64_t ictusi_page_leapt(int64_t plain, int64_t leap_at, int64_t leap_ns)
{
    const int64_t edge = leap_ns > 0 ? leap_at - leap_ns : leap_at;
    return leap_ns && plain >= edge ? plain + leap_ns : plain;
}

/* Publish a clock or a status. Only one thread of the daemon may write. */
void ictusi_page_publish(struct page_writer *writer, const struct page_clock *clock);
void ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status);

/* Release the page. It stays for readers, who see a clock in holdover. */
void ictusi_page_close(struct page_writer *writer);

#endif
