/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared page: the clock in two slots, the status in two more. A writer fills the slot that is
 * not in force and then turns the counter, so a reader never waits, not even for a daemon that was
 * killed half way through; it only reads again when the counter turned meanwhile.
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

/* What reading the clock takes; all words are 8 bytes. */
struct page_clock {
    int64_t anchor;   /* CLOCK_MONOTONIC_RAW */
    int64_t value;    /* absolute clock at the anchor, ns since 1970, when not slewing */
    double slope;     /* of both clocks against raw, minus 1 */
    double slew_ns;   /* still to be removed from the absolute clock at the anchor */
    double slew_rate; /* by which it is, per ns */
    int64_t elapsed;  /* difference clock at the anchor */
    double pp_ns2, pf_ns2_per_s, ff_ns2_per_s2; /* variance of the line, per s from the anchor */
    double walk_ns2_per_s3;
    double bound_ns, bound_rate; /* ns and ns per s */
    int64_t good_until;          /* raw: past that the daemon has missed its poll */
    int64_t state;               /* enum ictus_lock_state */
    int64_t epoch;
    int64_t leap;
    int64_t leap_at; /* absolute clock, not having leapt: where the day ends that is longer or */
    int64_t leap_ns; /* shorter; -1 s: a second is inserted, +1 s: left out, 0: neither */
    /* Worked out of the above when it is published, for the quick way of reading: */
    int64_t slew_until;          /* raw: nothing is left to slew from there on */
    int64_t quick_until;         /* raw: good_until, or the leap if that is sooner */
    double sigma_ns, sigma_rate; /* the standard deviation between the anchor and good_until */
};

struct page_header {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;
    char boot[PAGE_BOOT_BYTES]; /* boot id */
    uint64_t timens;            /* inode of the time namespace: its raw clock has its own zero */
    int64_t pid;
    uint64_t pidns;       /* inode of the process namespace in which pid counts */
    uint64_t pid_started; /* as /proc tells it: a process that took the number over has another */
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

/* Boot id and time namespace of this process. @return ICTUS_OK or ICTUS_ERR_IO */
int ictusi_page_identity(char boot[PAGE_BOOT_BYTES], uint64_t *timens);

/* When a process started, and in which namespace it counts. @return false: there is none, or no
 * /proc */
bool ictusi_page_process(int64_t pid, uint64_t *started, uint64_t *namespace);

/* Where the clocks of this machine are, that root keeps or root's service user. */
#define PAGE_SYSTEM_DIRECTORY "/run/ictus"

/*
 * The directory of a clock: as given, else $ICTUS_LOCK_DIRECTORY; else a writer's own: the system's
 * for whom it belongs to, /dev/shm/ictus-UID for others. @return ICTUS_OK or ICTUS_ERR_SPEC
 */
int ictusi_page_directory(const char *directory, char *path, size_t size, struct ictus_why *why);

/* A file of an instance. @return ICTUS_OK, or ICTUS_ERR_SPEC for a name with odd characters */
int ictusi_page_path(const char *name, const char *directory, char *path, size_t size,
                     struct ictus_why *why);

/*
 * Open an instance's page for reading, wherever it is looked for, if it is root's, one's own or the
 * system service's. owner gets whose it is. @return a descriptor, or a negative error
 */
int ictusi_page_open(const char *name, const char *directory, char path[PAGE_PATH_BYTES],
                     uid_t *owner, struct ictus_why *why);

/* Whether a handle's page still has a name: else a new daemon's is another file. */
bool ictusi_page_lock_is_there(const struct ictus_lock *lock);

/*
 * The writer's side: the page open, and a lock against a second daemon of the name on a file that
 * nobody else can open.
 */
struct page_writer {
    int fd, guard;
    struct page *page;
};

/* @return ICTUS_OK, ICTUS_ERR_EXISTS (the reason names the other process), ICTUS_ERR_ARG (no such
 * directory), ICTUS_ERR_IO ... */
int ictusi_page_create(const char *name, const char *directory, struct page_writer *writer,
                       struct ictus_why *why);

/* Standard deviation of the line s seconds from its anchor. */
double ictusi_page_sigma(const struct page_clock *clock, double s);

/*
 * The bound s seconds from the anchor. The rate holds for an hour, over which the oscillator's mean
 * is known; beyond, only what holds for any oscillator: 200 ppm.
 */
static inline double ictusi_page_bound(double bound_ns, double rate, double s)
{
    const double window_s = 3600.0, rate_prior = 4e5; /* ns/s: the line itself may be 200 off */
    return bound_ns + (s <= window_s ? s * rate : window_s * rate + (s - window_s) * rate_prior);
}

/* What the absolute clock shows where its line is at plain: the leap, if it is past. */
static inline int64_t ictusi_page_leapt(int64_t plain, int64_t leap_at, int64_t leap_ns)
{
    const int64_t edge = leap_ns > 0 ? leap_at - leap_ns : leap_at;
    return leap_ns && plain >= edge ? plain + leap_ns : plain;
}

void ictusi_page_publish(struct page_writer *writer, const struct page_clock *clock);
void ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status);

/* Let go of the page; it stays for readers, as a clock in holdover. */
void ictusi_page_close(struct page_writer *writer);

#endif
