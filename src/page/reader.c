/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the clock of the shared page: the implementation of ictus/lock.h. */
#include "page.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct ictus_lock {
    const struct page *page; /* NULL: read by pread(), because a mapped file that is cut off
                                raises SIGBUS */
    int fd;
};

/* The part of the page that is needed to read the clock. */
struct page_head {
    _Alignas(64) char bytes[offsetof(struct page, status_turn)];
};

/* No daemon publishes faster than a reader reads. This limit only ends an endless loop. */
enum { TRIES_MAX = 1000 };

/*
 * Refuse pages of another layout, of an earlier boot and of another time namespace. The raw clock
 * starts anew at each boot and has another zero in each namespace, so such lines do not fit.
 */
static int reader_check_header(const struct page_header *header, const char *path,
                               struct ictus_why *why)
{
    char boot[PAGE_BOOT_BYTES];
    uint64_t timens = 0;
    if (header->magic != PAGE_MAGIC || header->version != PAGE_VERSION ||
        header->bytes != sizeof(struct page)) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s is not a clock of this version of ictus",
                             path);
    }
    if (ictusi_page_identity(boot, &timens)) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot read the boot id");
    }
    if (memcmp(boot, header->boot, sizeof(boot)) != 0) {
        return ictus_because(why, ICTUS_ERR_NOT_SHARED, "the clock %s is from before the last boot",
                             path);
    }
    if (timens != header->timens) {
        return ictus_because(why, ICTUS_ERR_NOT_SHARED,
                             "the clock %s belongs to another time namespace", path);
    }
    return ICTUS_OK;
}

static int reader_check_file(int fd, const char *path, struct ictus_why *why)
{
    struct page_header header;
    struct stat info;
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) ||
        info.st_size < (off_t)sizeof(struct page) ||
        pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s is not a clock of this version of ictus",
                             path);
    }
    return reader_check_header(&header, path, why);
}

static bool reader_copy_clock(const struct ictus_lock *lock, struct page_clock *copy);

/*
 * Check that no reading of a clock can leave the range of its numbers. A page in a directory that
 * is open to all may hold anything. NaN fails these checks because comparisons with it are false.
 */
static bool reader_is_sane(const struct page_clock *c)
{
    static const double slope_most = 0.01; /* daemons stay within 500 ppm */
    static const double ns_most = 4e18;    /* 126 years */
    const double fields[] = {c->slew_ns,    c->slew_rate, c->bound_ns,
                             c->bound_rate, c->sigma_ns,  c->sigma_rate};
    const int64_t instants[] = {c->anchor, c->value, c->elapsed, c->leap_at};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!(fabs(fields[i]) <= ns_most)) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++) {
        if (!(fabs((double)instants[i]) <= ns_most)) {
            return false;
        }
    }
    /* A leap is absent, or one second in either direction. */
    if (c->leap_ns != 0 && c->leap_ns != ICTUS_NS_PER_S && c->leap_ns != -ICTUS_NS_PER_S) {
        return false;
    }
    return fabs(c->slope) <= slope_most && c->slew_rate >= 0.0 && c->slew_rate <= slope_most;
}

static int reader_check_clock(const struct ictus_lock *lock, const char *path,
                              struct ictus_why *why)
{
    struct page_clock clock;
    if (reader_copy_clock(lock, &clock) && !reader_is_sane(&clock)) {
        return ictus_because(why, ICTUS_ERR_CORRUPT, "%s does not hold a valid clock", path);
    }
    return ICTUS_OK;
}

static int reader_open_lock(const char *name, const char *directory, bool guarded,
                            struct ictus_lock *l, struct ictus_why *why)
{
    char path[PAGE_PATH_BYTES];
    uid_t owner = 0;
    const int fd = ictusi_page_open(name, directory, path, &owner, why);
    if (fd < 0) {
        return fd;
    }
    l->fd = fd;
    const int err = reader_check_file(fd, path, why);
    if (err) {
        return err;
    }
    /* Do not map another user's page, such as the service's. That user could truncate the file
     * and kill this process by SIGBUS. */
    if (!guarded && (owner == 0 || owner == geteuid())) {
        void *memory = mmap(NULL, sizeof(struct page), PROT_READ, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) {
            return ictus_because(why, ICTUS_ERR_IO, "cannot map %s: %s", path, strerror(errno));
        }
        l->page = memory;
    }
    return reader_check_clock(l, path, why);
}

static int reader_open_kind(const char *name, const char *directory, bool guarded,
                            struct ictus_lock **lock, struct ictus_why *why)
{
    if (!lock) {
        return ICTUS_ERR_ARG;
    }
    struct ictus_lock *l = calloc(1, sizeof(*l));
    if (!l) {
        return ICTUS_ERR_NOMEM;
    }
    l->fd = -1;
    const int err = reader_open_lock(name, directory, guarded, l, why);
    if (err) {
        ictus_lock_close(l);
        return err;
    }
    *lock = l;
    return ICTUS_OK;
}

int ictus_lock_open(const char *name, const char *directory, struct ictus_lock **lock,
                    struct ictus_why *why)
{
    return reader_open_kind(name, directory, false, lock, why);
}

int ictus_lock_open_guarded(const char *name, const char *directory, struct ictus_lock **lock,
                            struct ictus_why *why)
{
    return reader_open_kind(name, directory, true, lock, why);
}

void ictus_lock_close(struct ictus_lock *lock)
{
    if (lock) {
        if (lock->page) {
            (void)munmap((void *)(uintptr_t)lock->page, sizeof(*lock->page));
        }
        if (lock->fd >= 0) {
            (void)close(lock->fd);
        }
        free(lock);
    }
}

bool ictusi_page_lock_is_there(const struct ictus_lock *lock)
{
    struct stat info;
    return fstat(lock->fd, &info) == 0 && info.st_nlink > 0 &&
           info.st_size >= (off_t)sizeof(struct page);
}

/* Copy a whole slot. A copy counts only if the turn counter did not change meanwhile. @return
 * false if nothing has been published yet. */
static inline bool reader_copy_slot(const _Atomic uint64_t *counter, const _Atomic uint64_t *slots,
                                    size_t words, uint64_t *to)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        const uint64_t turn = atomic_load_explicit(counter, memory_order_acquire);
        if (turn == 0) {
            return false;
        }
        const _Atomic uint64_t *slot = slots + (turn & 1) * words;
        for (size_t w = 0; w < words; w++) {
            to[w] = atomic_load_explicit(&slot[w], memory_order_relaxed);
        }
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(counter, memory_order_relaxed) == turn) {
            return true;
        }
    }
    return false;
}

/* One member of a slot. The loads are relaxed, which costs nothing on common processors. Reading
 * the turn counter before and after orders them. */
#define INTEGER(slot, member)                                                                      \
    ((int64_t)atomic_load_explicit(&(slot)[offsetof(struct page_clock, member) / 8],               \
                                   memory_order_relaxed))
#define REAL(slot, member) reader_as_real((uint64_t)INTEGER(slot, member))

static inline double reader_as_real(uint64_t word)
{
    double value = 0.0;
    memcpy(&value, &word, sizeof(value));
    return value;
}

/* Return the slot in force and its turn, or NULL if nothing has been published yet. */
static inline const _Atomic uint64_t *slot_now(const struct page *page, uint64_t *turn)
{
    *turn = atomic_load_explicit(&page->clock_turn, memory_order_acquire);
    return *turn ? page->clock[*turn & 1] : NULL;
}

/* Return whether the slot was in force during the whole read. */
static inline bool page_still(const struct page *page, uint64_t turn)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&page->clock_turn, memory_order_relaxed) == turn;
}

/*
 * Read the beginning of the page by system calls. The copy is consistent if the turn counter had
 * one value before, in and after it. @return NULL if the file has been cut off or never stops
 * changing
 */
static const struct page *page_read_head(const struct ictus_lock *lock, struct page_head *head)
{
    const off_t turn_at = (off_t)offsetof(struct page, clock_turn);
    for (int i = 0; i < TRIES_MAX; i++) {
        uint64_t before = 0, after = 0;
        if (pread(lock->fd, &before, sizeof(before), turn_at) != (ssize_t)sizeof(before) ||
            pread(lock->fd, head->bytes, sizeof(head->bytes), 0) != (ssize_t)sizeof(head->bytes) ||
            pread(lock->fd, &after, sizeof(after), turn_at) != (ssize_t)sizeof(after)) {
            return NULL;
        }
        const struct page *page = (const struct page *)(const void *)head->bytes;
        if (before == after && atomic_load(&page->clock_turn) == before) {
            return page;
        }
    }
    return NULL;
}

static inline int64_t reader_raw_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * ICTUS_NS_PER_S + t.tv_nsec;
}

/* Round to the nearest integer without a call of the math library. */
static inline int64_t ns_whole(double ns)
{
    return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* Return the ns that a slew still has to remove, mostly 0. */
static inline double slew_left(const _Atomic uint64_t *slot, int64_t raw)
{
    if (raw >= INTEGER(slot, slew_until)) {
        return 0.0;
    }
    const double d = (double)(raw - INTEGER(slot, anchor));
    const double slew = REAL(slot, slew_ns);
    return copysign(fmax(0.0, fabs(slew) - REAL(slot, slew_rate) * d), slew);
}

/*
 * These functions are the hot path. Each member is loaded once, nothing is copied, and only the
 * kernel's clock is called. Only the small product slope * d is in floating point; the instant
 * itself stays an integer.
 */
static inline int64_t slot_absolute(const _Atomic uint64_t *slot, int64_t raw, double left)
{
    const int64_t d = raw - INTEGER(slot, anchor);
    return INTEGER(slot, value) + d + ns_whole(REAL(slot, slope) * (double)d - left);
}

/* The time including a leap second, which matters only near the end of that day. */
static inline int64_t slot_leapt(const _Atomic uint64_t *slot, int64_t plain)
{
    return ictusi_page_leapt(plain, INTEGER(slot, leap_at), INTEGER(slot, leap_ns));
}

/* The range of the fast path: from the anchor until shortly after the next poll, or until a
 * leap. */
static inline bool slot_near(const _Atomic uint64_t *slot, int64_t raw)
{
    return raw >= INTEGER(slot, anchor) && raw <= INTEGER(slot, quick_until);
}

/* Outside that range the whole formula is used. If the daemon has missed its poll, the state
 * becomes holdover. */
static __attribute__((noinline)) void reader_fill_far(const _Atomic uint64_t *slot, int64_t raw,
                                                      struct ictus_lock_reading *reading)
{
    const struct page_clock c = {.pp_ns2 = REAL(slot, pp_ns2),
                                 .pf_ns2_per_s = REAL(slot, pf_ns2_per_s),
                                 .ff_ns2_per_s2 = REAL(slot, ff_ns2_per_s2),
                                 .walk_ns2_per_s3 = REAL(slot, walk_ns2_per_s3)};
    const double s = fabs((double)(raw - INTEGER(slot, anchor))) * 1e-9;
    const double left = slew_left(slot, raw);
    reading->time.ns = slot_leapt(slot, slot_absolute(slot, raw, left));
    reading->sigma_ns = ictusi_page_sigma(&c, s) + fabs(left);
    reading->bound_ns =
        ictusi_page_bound(REAL(slot, bound_ns), REAL(slot, bound_rate), s) + fabs(left);
    reading->epoch = (uint32_t)INTEGER(slot, epoch);
    reading->state = (enum ictus_lock_state)INTEGER(slot, state);
    if (reading->state == ICTUS_LOCK_LOCKED && raw > INTEGER(slot, good_until)) {
        reading->state = ICTUS_LOCK_HOLDOVER;
    }
}

/* Inside that range no leap can happen, sigma is interpolated, and the bound needs no case for
 * more than an hour. */
static inline void reader_fill_near(const _Atomic uint64_t *slot, int64_t raw,
                                    struct ictus_lock_reading *reading)
{
    const double left = slew_left(slot, raw);
    const double s = (double)(raw - INTEGER(slot, anchor)) * 1e-9;
    reading->time.ns = slot_absolute(slot, raw, left);
    reading->sigma_ns = REAL(slot, sigma_ns) + s * REAL(slot, sigma_rate) + fabs(left);
    reading->bound_ns = REAL(slot, bound_ns) + s * REAL(slot, bound_rate) + fabs(left);
    reading->epoch = (uint32_t)INTEGER(slot, epoch);
    reading->state = (enum ictus_lock_state)INTEGER(slot, state);
}

static __attribute__((noinline)) int reader_map_slowly(const struct ictus_lock *lock, int64_t raw,
                                                       struct ictus_lock_reading *reading)
{
    struct page_head head;
    const struct page *page = lock->page ? lock->page : page_read_head(lock, &head);
    for (int i = 0; i < TRIES_MAX; i++) {
        struct ictus_lock_reading mine;
        uint64_t turn = 0;
        const _Atomic uint64_t *slot = page ? slot_now(page, &turn) : NULL;
        if (!slot) {
            return ICTUS_ERR_SAMPLES;
        }
        reader_fill_far(slot, raw, &mine);
        if (page_still(page, turn)) {
            *reading = mine;
            return ICTUS_OK;
        }
    }
    return ICTUS_ERR_SAMPLES;
}

/* The first try nearly always succeeds. Its values stay in registers until the slot is known to
 * be unchanged. */
static inline int reader_map_raw(const struct ictus_lock *lock, int64_t raw,
                                 struct ictus_lock_reading *reading)
{
    uint64_t turn = 0;
    const struct page *page = lock->page;
    const _Atomic uint64_t *slot = page ? slot_now(page, &turn) : NULL;
    if (__builtin_expect(slot && slot_near(slot, raw), 1)) {
        struct ictus_lock_reading mine;
        reader_fill_near(slot, raw, &mine);
        if (__builtin_expect(page_still(page, turn), 1)) {
            reading->time = mine.time;
            reading->sigma_ns = mine.sigma_ns;
            reading->bound_ns = mine.bound_ns;
            reading->state = mine.state;
            reading->epoch = mine.epoch;
            return ICTUS_OK;
        }
    }
    return reader_map_slowly(lock, raw, reading);
}

int ictus_lock_map(const struct ictus_lock *lock, struct ictus_time raw,
                   struct ictus_lock_reading *reading)
{
    return lock && reading ? reader_map_raw(lock, raw.ns, reading) : ICTUS_ERR_ARG;
}

int ictus_lock_now(const struct ictus_lock *lock, struct ictus_lock_reading *reading)
{
    return lock && reading ? reader_map_raw(lock, reader_raw_now(), reading) : ICTUS_ERR_ARG;
}

struct ictus_time ictus_lock_time(const struct ictus_lock *lock)
{
    struct ictus_time now = {reader_raw_now()};
    struct page_head head;
    const struct page *page = lock->page ? lock->page : page_read_head(lock, &head);
    for (int i = 0; page && i < TRIES_MAX; i++) {
        uint64_t turn = 0;
        const _Atomic uint64_t *slot = slot_now(page, &turn);
        const struct ictus_time utc = {
            slot ? slot_leapt(slot, slot_absolute(slot, now.ns, slew_left(slot, now.ns))) : now.ns};
        if (page_still(page, turn)) {
            return utc;
        }
    }
    return now;
}

static bool reader_copy_clock(const struct ictus_lock *lock, struct page_clock *copy)
{
    uint64_t words[PAGE_CLOCK_WORDS] = {0};
    struct page_head head;
    const struct page *page = lock->page ? lock->page : page_read_head(lock, &head);
    const bool ok =
        page && reader_copy_slot(&page->clock_turn, &page->clock[0][0], PAGE_CLOCK_WORDS, words);
    memcpy(copy, words, sizeof(*copy));
    return ok;
}

/* Like slot_absolute(), for a copy. */
static int64_t reader_absolute_of(const struct page_clock *c, int64_t raw)
{
    const int64_t d = raw - c->anchor;
    const double left = fabs(c->slew_ns) - c->slew_rate * (double)d;
    return c->value + d +
           ns_whole(c->slope * (double)d - (left <= 0.0 ? 0.0 : copysign(left, c->slew_ns)));
}

int ictus_lock_unmap(const struct ictus_lock *lock, struct ictus_time utc, struct ictus_time *raw)
{
    struct page_clock copy;
    if (!lock || !raw) {
        return ICTUS_ERR_ARG;
    }
    if (!reader_copy_clock(lock, &copy)) {
        return ICTUS_ERR_SAMPLES;
    }
    /* Undo the leap first. Of an instant that occurs twice, take the first occurrence. A deleted
     * instant becomes the first instant after it. */
    if (copy.leap_ns && utc.ns >= copy.leap_at) {
        utc.ns -= copy.leap_ns;
    } else if (copy.leap_ns > 0 && utc.ns > copy.leap_at - copy.leap_ns) {
        utc.ns = copy.leap_at - copy.leap_ns;
    }
    /* Fixed-point iteration: raw <- raw + (utc - absolute(raw)). Each step multiplies the error
     * by slope and slew rate, together at most 0.02, so that 12 steps are more than enough. */
    int64_t guess = copy.anchor + (utc.ns - copy.value);
    for (int i = 0; i < 12; i++) {
        guess += utc.ns - reader_absolute_of(&copy, guess);
    }
    raw->ns = guess;
    return ICTUS_OK;
}

int ictus_lock_elapsed(const struct ictus_lock *lock, struct ictus_time *elapsed,
                       double *sigma_rate)
{
    struct page_clock copy;
    const int64_t raw = reader_raw_now();
    if (!lock || !elapsed) {
        return ICTUS_ERR_ARG;
    }
    if (!reader_copy_clock(lock, &copy)) {
        return ICTUS_ERR_SAMPLES;
    }
    const int64_t d = raw - copy.anchor;
    /* The frequency's variance grows with its random walk: sigma_f^2 = ff + walk * |s|. */
    elapsed->ns = copy.elapsed + d + ns_whole(copy.slope * (double)d);
    if (sigma_rate) {
        *sigma_rate =
            sqrt(copy.ff_ns2_per_s2 + copy.walk_ns2_per_s3 * fabs((double)d) * 1e-9) * 1e-9;
    }
    return ICTUS_OK;
}

/* Terminate texts and limit counts to their arrays, whatever the page contains. */
static void reader_tidy_status(struct ictus_lock_status *status)
{
    status->reference[sizeof(status->reference) - 1] = '\0';
    if (status->source_count < 0) {
        status->source_count = 0;
    } else if (status->source_count > ICTUS_LOCK_SOURCES_MAX) {
        status->source_count = ICTUS_LOCK_SOURCES_MAX;
    }
    for (int i = 0; i < status->source_count; i++) {
        struct ictus_lock_source_status *source = &status->sources[i];
        source->name[sizeof(source->name) - 1] = '\0';
        source->reference_id[sizeof(source->reference_id) - 1] = '\0';
    }
}

/* Read the whole status by system calls. It is read rarely, so speed does not matter. */
static bool reader_read_status(const struct ictus_lock *lock, uint64_t words[PAGE_STATUS_WORDS])
{
    const off_t turn_at = (off_t)offsetof(struct page, status_turn);
    const size_t bytes = PAGE_STATUS_WORDS * sizeof(uint64_t);
    for (int i = 0; i < TRIES_MAX; i++) {
        uint64_t before = 0, after = 0;
        if (pread(lock->fd, &before, sizeof(before), turn_at) != (ssize_t)sizeof(before)) {
            return false;
        }
        const off_t at = (off_t)(offsetof(struct page, status) + (before & 1) * bytes);
        if (before == 0 || pread(lock->fd, words, bytes, at) != (ssize_t)bytes ||
            pread(lock->fd, &after, sizeof(after), turn_at) != (ssize_t)sizeof(after)) {
            return false;
        }
        if (before == after) {
            return true;
        }
    }
    return false;
}

/*
 * Return whether the daemon is alive: its process exists and started at the recorded time. If this
 * cannot be seen, for example from another process namespace, a clock that was published in time is
 * taken as a sign of life.
 */
static bool reader_is_alive(const struct ictus_lock *lock)
{
    struct page_header header;
    struct page_clock clock;
    uint64_t started = 0, namespace = 0;
    if (pread(lock->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) || !header.pid) {
        return false;
    }
    const bool seen = ictusi_page_process(header.pid, &started, &namespace);
    if (namespace && namespace == header.pidns && header.pid_started) {
        return seen && started == header.pid_started;
    }
    return reader_copy_clock(lock, &clock) && reader_raw_now() <= clock.good_until;
}

int ictus_lock_status(const struct ictus_lock *lock, struct ictus_lock_status *status)
{
    uint64_t words[PAGE_STATUS_WORDS];
    struct page_clock clock;
    if (!lock || !status) {
        return ICTUS_ERR_ARG;
    }
    if (!reader_read_status(lock, words)) {
        return ICTUS_ERR_SAMPLES;
    }
    memcpy(status, words, sizeof(*status));
    reader_tidy_status(status);
    status->alive = reader_is_alive(lock);
    if (ictus_lock_now(lock, &status->now)) {
        memset(&status->now, 0, sizeof(status->now));
    }
    /* Do not announce a leap second that has already passed. */
    if (reader_copy_clock(lock, &clock) && status->leap < 3 &&
        (!clock.leap_ns || reader_absolute_of(&clock, reader_raw_now()) >= clock.leap_at)) {
        status->leap = 0;
    }
    return ICTUS_OK;
}

const char *ictus_lock_state_name(enum ictus_lock_state state)
{
    switch (state) {
    case ICTUS_LOCK_UNLOCKED:
        return "unlocked";
    case ICTUS_LOCK_LOCKED:
        return "locked";
    case ICTUS_LOCK_HOLDOVER:
        return "holdover";
    }
    return "unknown";
}

const char *ictus_lock_selection_name(enum ictus_lock_selection selection)
{
    static const char *const names[] = {"unreachable", "unsynchronised", "settling", "falseticker",
                                        "truechimer",  "combined",       "selected"};
    return (int)selection >= 0 && selection <= ICTUS_SOURCE_SELECTED ? names[selection] : "unknown";
}
