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
#include <stddef.h>
#include <stdint.h>

#define PAGE_MAGIC UINT64_C(0x314b434c53544349) /* "ICTSLCK1" */

enum { PAGE_VERSION = 1, PAGE_BOOT_BYTES = 40 };

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
    /* Worked out of the above when it is published, for the quick way of reading: */
    int64_t slew_until;          /* raw: nothing is left to slew from there on */
    double sigma_ns, sigma_rate; /* the standard deviation between the anchor and good_until */
};

struct page_header {
    uint64_t magic;
    uint32_t version;
    uint32_t bytes;
    char boot[PAGE_BOOT_BYTES]; /* boot id */
    uint64_t timens;            /* inode of the time namespace: its raw clock has its own zero */
    int64_t pid;
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

/* The file of an instance. @return ICTUS_OK, or ICTUS_ERR_SPEC for a name with odd characters */
int ictusi_page_path(const char *name, const char *directory, char *path, size_t size,
                     struct ictus_why *why);

/* The writer's side: the page open and locked against a second daemon of the name. */
struct page_writer {
    int fd;
    struct page *page;
};

/* @return ICTUS_OK, ICTUS_ERR_EXISTS (the reason names the other process), ICTUS_ERR_IO ... */
int ictusi_page_create(const char *path, struct page_writer *writer, struct ictus_why *why);
/* Standard deviation of the line s seconds from its anchor. */
double ictusi_page_sigma(const struct page_clock *clock, double s);

void ictusi_page_publish(struct page_writer *writer, const struct page_clock *clock);
void ictusi_page_report(struct page_writer *writer, const struct ictus_lock_status *status);

/* Let go of the page; it stays for readers, as a clock in holdover. */
void ictusi_page_close(struct page_writer *writer);

#endif
