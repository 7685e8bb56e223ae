/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared page: readers and a writer at full speed, dead daemons, wrong files, instants. */
#include "page/page.h"
#include "page/timebase.h"

#include "../check.h"
#include "core/random.h"

#include <fcntl.h>
#include <ictus/lock_daemon.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[CHECK_PATH];
static char path[200];
static int64_t slept_ns; /* added to the time this machine has slept */

/* The kernel's clocks; CLOCK_BOOTTIME includes the time asleep. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    const int err = (int)syscall(SYS_clock_gettime, id, t);
    if (!err && id == CLOCK_BOOTTIME) {
        const int64_t ns = (int64_t)t->tv_sec * ICTUS_NS_PER_S + t->tv_nsec + slept_ns;
        t->tv_sec = ns / ICTUS_NS_PER_S;
        t->tv_nsec = ns % ICTUS_NS_PER_S;
    }
    return err;
}

static struct page_clock clock_at(int64_t anchor, double slope)
{
    const struct page_clock c = {.anchor = anchor,
                                 .value = INT64_C(1800000000000000000),
                                 .slope = slope,
                                 .pp_ns2 = 1e4,
                                 .ff_ns2_per_s2 = 4.0,
                                 .bound_ns = 2000.0,
                                 .bound_rate = 100.0,
                                 .good_until = anchor + 60000000000,
                                 .state = ICTUS_LOCK_LOCKED};
    return c;
}

static void test_reading(void)
{
    struct page_writer writer, second;
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading r;
    struct ictus_lock_status status;
    struct ictus_why why;
    CHECK(ictus_lock_open("none", directory, &lock, &why) == ICTUS_ERR_IO);
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    CHECK(ictusi_page_create("t", directory, &second, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "already kept by process") != NULL);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictus_lock_now(lock, &r) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_lock_status(lock, &status) == ICTUS_ERR_SAMPLES);
    struct page_clock c = clock_at(INT64_C(5000000000), 1e-5);
    ictusi_page_publish(&writer, &c);
    const struct ictus_time later = {INT64_C(6000000000)};
    REQUIRE(ictus_lock_map(lock, later, &r) == ICTUS_OK);
    CHECK(r.time.ns == c.value + 1000010000);
    CHECK_NEAR(r.sigma_ns, sqrt(1e4 + 4.0), 2.0); /* a chord up to the next poll */
    CHECK_NEAR(r.bound_ns, 2100.0, 1e-9);
    CHECK(r.state == ICTUS_LOCK_LOCKED);
    /* A slew of 1 us at 100 ppm is finished after 10 ms, and counts as error until then. */
    c.slew_ns = 1000.0;
    c.slew_rate = 1e-4;
    ictusi_page_publish(&writer, &c);
    const struct ictus_time at = {c.anchor}, half = {c.anchor + 5000000};
    REQUIRE(ictus_lock_map(lock, at, &r) == ICTUS_OK);
    CHECK(r.time.ns == c.value - 1000 && r.sigma_ns >= 1000.0);
    REQUIRE(ictus_lock_map(lock, half, &r) == ICTUS_OK);
    CHECK(r.time.ns == c.value + 5000000 + 50 - 500);
    struct ictus_time back;
    REQUIRE(ictus_lock_unmap(lock, r.time, &back) == ICTUS_OK);
    CHECK_NEAR((double)(back.ns - half.ns), 0, 1);
    /* After its next poll and a grace period it is in holdover, with growing errors. */
    const struct ictus_time far = {c.good_until + 1};
    REQUIRE(ictus_lock_map(lock, far, &r) == ICTUS_OK);
    CHECK(r.state == ICTUS_LOCK_HOLDOVER && r.bound_ns > 7900.0);
    CHECK_NEAR(r.sigma_ns, sqrt(1e4 + 4.0 * 3600.0), 1e-3);
    memset(&status, 0, sizeof(status));
    status.pid = 4711;
    ictusi_page_report(&writer, &status);
    REQUIRE(ictus_lock_status(lock, &status) == ICTUS_OK);
    CHECK(status.pid == 4711 && status.alive == 1);
    ictusi_page_close(&writer);
    REQUIRE(ictus_lock_status(lock, &status) == ICTUS_OK);
    CHECK(status.alive == 0);
    CHECK(ictus_lock_now(lock, &r) == ICTUS_OK); /* the clock goes on */
    /*
     * A new daemon takes over the page; a process that still maps it sees an unlocked clock, not
     * the old one.
     */
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    CHECK(ictus_lock_now(lock, &r) == ICTUS_ERR_SAMPLES);
    ictusi_page_close(&writer);
    ictus_lock_close(lock);
}

/*
 * The writer alternates between three clocks such that no mixture of their members is a valid one.
 * With two clocks, each slot would always contain the same one. It publishes in bursts, so that a
 * slot is overwritten while it is read, and pauses in between, because a reader gives up if the
 * page never rests.
 */
static void publish_round(struct page_writer *writer, const struct page_clock *even,
                          const struct page_clock *odd, const struct page_clock *third)
{
    const struct page_clock *round[3] = {even, odd, third};
    for (int i = 0; i < 300001; i++) {
        ictusi_page_publish(writer, round[i % 3]);
        for (volatile int pause = 0; i % 4 == 3 && pause < 5000; pause++) {
        }
    }
    _exit(0);
}

static void test_race(void)
{
    struct page_writer writer;
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    struct page_clock even = clock_at(0, 0.0), odd = clock_at(1000, 0.0);
    odd.value = INT64_C(1500000000000000000);
    odd.bound_ns = 1.0;
    odd.pp_ns2 = 9.0;
    struct page_clock third = clock_at(1000, 0.0);
    third.value = INT64_C(1200000000000000000);
    third.bound_ns = 7.0;
    third.pp_ns2 = 25.0;
    ictusi_page_publish(&writer, &even);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    const pid_t child = fork();
    if (child == 0) {
        publish_round(&writer, &even, &odd, &third);
    }
    int bad = 0, missed = 0, seen[3] = {0, 0, 0}, status = 0;
    for (;;) {
        struct ictus_lock_reading r;
        const struct ictus_time raw = {1000};
        if (waitpid(child, &status, WNOHANG) == child) {
            break;
        }
        for (int i = 0; i < 1000; i++) {
            if (ictus_lock_map(lock, raw, &r)) {
                missed++;
                continue;
            }
            if (r.time.ns == odd.value) {
                seen[1]++;
                bad += r.sigma_ns != 3.0 || r.bound_ns != 1.0;
            } else if (r.time.ns == third.value) {
                seen[2]++;
                bad += r.sigma_ns != 5.0 || r.bound_ns != 7.0;
            } else {
                seen[0]++;
                bad += r.time.ns != even.value + 1000;
            }
        }
    }
    CHECK(bad == 0);
    CHECK(missed == 0);
    CHECK(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    /* If the writer is killed while writing, the slot in force is complete all the same. */
    memset((void *)(uintptr_t)writer.page->clock[(writer.page->clock_turn + 1) & 1], 0x5a,
           sizeof(writer.page->clock[0]));
    struct ictus_lock_reading r;
    const struct ictus_time raw = {1000};
    CHECK(ictus_lock_map(lock, raw, &r) == ICTUS_OK && r.time.ns == even.value + 1000);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

static void test_wrong_files(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    writer.page->header.boot[0] ^= 1;
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_NOT_SHARED);
    writer.page->header.boot[0] ^= 1;
    writer.page->header.timens++;
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_NOT_SHARED);
    writer.page->header.version++;
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_FORMAT);
    ictusi_page_close(&writer);
    REQUIRE(truncate(path, 100) == 0);
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_FORMAT);
    CHECK(ictus_lock_open("a/b", directory, &lock, &why) == ICTUS_ERR_SPEC);
    REQUIRE(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_IO);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_IO);
    (void)unlink(path);
}

/* A guarded reader survives if a page is truncated, and if it grows again. */
static void test_truncation(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading r;
    struct ictus_lock_status status;
    struct ictus_time time;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    const struct page_clock c = clock_at(ictusi_timebase_raw_now(), 1e-5);
    ictusi_page_publish(&writer, &c);
    memset(&status, 0, sizeof(status));
    ictusi_page_report(&writer, &status);
    REQUIRE(ictus_lock_open_guarded("t", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictus_lock_now(lock, &r) == ICTUS_OK && r.state == ICTUS_LOCK_LOCKED);
    CHECK(ictus_lock_status(lock, &status) == ICTUS_OK && status.alive == 1);
    REQUIRE(truncate(path, 0) == 0);
    CHECK(ictus_lock_now(lock, &r) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_lock_status(lock, &status) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_lock_unmap(lock, (struct ictus_time){c.value}, &time) == ICTUS_ERR_SAMPLES);
    (void)ictus_lock_time(lock);
    CHECK(!ictusi_page_lock_is_there(lock));
    REQUIRE(truncate(path, sizeof(struct page)) == 0);
    CHECK(ictus_lock_now(lock, &r) == ICTUS_ERR_SAMPLES);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* What is left of a slew counts as error, however small it is. */
static void test_small_slews(void)
{
    struct ictus_lock *lock = NULL;
    struct page_writer writer;
    struct ictus_lock_reading r;
    struct ictus_why why;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    for (int side = -1; side <= 1; side += 2) {
        struct page_clock c = clock_at(INT64_C(5000000000), 0.0);
        const struct ictus_time half = {c.anchor + 5000000};
        c.slew_ns = side;
        c.slew_rate = 1e-7;
        ictusi_page_publish(&writer, &c);
        REQUIRE(ictus_lock_map(lock, half, &r) == ICTUS_OK);
        CHECK_NEAR(r.bound_ns, c.bound_ns + 5e-3 * c.bound_rate + 0.5, 1e-6);
    }
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* The clock of a page by the equations, without the shortcuts of the reader. */
static int64_t reference_clock(const struct page_clock *c, int64_t raw)
{
    const long double d = (long double)(raw - c->anchor);
    const long double gone = (long double)c->slew_rate * d;
    const long double left = fabsl((long double)c->slew_ns) - gone;
    const long double rest = left > 0 ? copysignl(left, (long double)c->slew_ns) : 0.0L;
    const int64_t plain = c->value + (raw - c->anchor) + llroundl((long double)c->slope * d - rest);
    return ictusi_page_leapt(plain, c->leap_at, c->leap_ns);
}

/* Random lines, slews and leap seconds: the reader's instant, its bound, and the inverse. */
static void test_lines(void)
{
    struct rng rng;
    struct page_writer writer;
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    ictusi_random_seed(&rng, 6, 22);
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    for (int i = 0; i < 20000; i++) {
        struct page_clock c =
            clock_at(INT64_C(5000000000), 1e-3 * (ictusi_random_uniform(&rng) - 0.5));
        struct ictus_lock_reading r;
        struct ictus_time back;
        c.slew_ns = i % 3 ? 2e6 * (ictusi_random_uniform(&rng) - 0.5) : 0.0;
        c.slew_rate = 5e-4 * ictusi_random_uniform(&rng);
        c.leap_ns = (i % 4 == 1) ? ICTUS_NS_PER_S : (i % 4 == 2) ? -ICTUS_NS_PER_S : 0;
        c.leap_at = c.value + (int64_t)(2e10 * ictusi_random_uniform(&rng));
        ictusi_page_publish(&writer, &c);
        const struct ictus_time raw = {c.anchor + (int64_t)(8e10 * ictusi_random_uniform(&rng))};
        REQUIRE(ictus_lock_map(lock, raw, &r) == ICTUS_OK);
        CHECK_NEAR((double)(r.time.ns - reference_clock(&c, raw.ns)), 0, 1);
        /* The rest of a slew counts as error, and the original error is kept. */
        const double s = (double)(raw.ns - c.anchor) * 1e-9;
        const double left = fmax(0.0, fabs(c.slew_ns) - c.slew_rate * s * 1e9);
        CHECK_NEAR(r.bound_ns, c.bound_ns + s * c.bound_rate + left, 1e-3);
        CHECK(r.sigma_ns >= left);
        CHECK(ictus_lock_unmap(lock, r.time, &back) == ICTUS_OK);
        /* If an instant occurs twice, the first occurrence counts. */
        const bool twice = c.leap_ns < 0 && r.time.ns < c.leap_at && back.ns < raw.ns;
        CHECK_NEAR((double)(back.ns - raw.ns), twice ? -1e9 : 0, twice ? 6e5 : 2);
    }
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* The difference clock runs with the slope in both directions, from its value at the anchor. */
static void test_elapsed(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_time elapsed = {-1};
    struct ictus_why why;
    struct page_writer writer;
    double rate = -1.0;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictus_lock_elapsed(lock, &elapsed, &rate) == ICTUS_ERR_SAMPLES && elapsed.ns == -1);
    CHECK(ictus_lock_unmap(lock, elapsed, &elapsed) == ICTUS_ERR_SAMPLES && elapsed.ns == -1);
    CHECK(ictus_lock_elapsed(NULL, &elapsed, &rate) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_elapsed(lock, NULL, &rate) == ICTUS_ERR_ARG);
    for (int sign = -1; sign <= 1; sign++) {
        const int64_t before = ictusi_timebase_raw_now();
        struct page_clock c = clock_at(before - 100 * ICTUS_NS_PER_S, sign * 5e-3);
        c.elapsed = 7 * ICTUS_NS_PER_S;
        ictusi_page_publish(&writer, &c);
        CHECK(ictus_lock_elapsed(lock, &elapsed, &rate) == ICTUS_OK);
        const int64_t after = ictusi_timebase_raw_now();
        CHECK(elapsed.ns - c.elapsed >= llround((1.0 + c.slope) * (double)(before - c.anchor)) - 1);
        CHECK(elapsed.ns - c.elapsed <= llround((1.0 + c.slope) * (double)(after - c.anchor)) + 1);
        CHECK_NEAR(rate, 2e-9, 1e-15); /* for a frequency known to 2 ns/s */
        CHECK(ictus_lock_elapsed(lock, &elapsed, NULL) == ICTUS_OK);
    }
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* A clock with no period of validity still gives its value at the anchor. */
static void test_no_span(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading r;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    struct page_clock c = clock_at(INT64_C(5000000000), 1e-5);
    c.good_until = c.anchor;
    ictusi_page_publish(&writer, &c);
    REQUIRE(ictus_lock_map(lock, (struct ictus_time){c.anchor}, &r) == ICTUS_OK);
    CHECK(r.time.ns == c.value);
    CHECK_NEAR(r.sigma_ns, 100.0, 1e-9);
    CHECK_NEAR(r.bound_ns, 2000.0, 1e-9);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/*
 * A page in a directory that everybody can write to is refused if any number is outside the range
 * of clocks.
 */
static void test_ranges(void)
{
    const struct page_clock sane = clock_at(INT64_C(5000000000), 1e-5);
    struct page_clock odd[16];
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    size_t count = 0;
    for (; count < sizeof(odd) / sizeof(odd[0]); count++) {
        odd[count] = sane;
    }
    count = 0;
    odd[count++].anchor = INT64_C(-5000000000000000000);
    odd[count++].value = INT64_C(5000000000000000000);
    odd[count++].elapsed = INT64_MIN;
    odd[count++].leap_at = INT64_MAX;
    odd[count++].leap_ns = 2 * ICTUS_NS_PER_S;
    odd[count++].leap_ns = 1;
    odd[count++].slope = 0.02;
    odd[count++].slope = -0.02;
    odd[count++].slope = NAN;
    odd[count++].slew_ns = INFINITY;
    odd[count++].slew_rate = -1e-9;
    odd[count++].slew_rate = 0.02;
    odd[count++].bound_ns = 5e18;
    odd[count++].bound_rate = NAN;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    for (size_t i = 0; i < count; i++) {
        ictusi_page_publish(&writer, &odd[i]);
        CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_CORRUPT && !lock);
        CHECK(strstr(why.text, "does not hold a valid clock"));
    }
    ictusi_page_publish(&writer, &sane);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    static struct ictus_lock_status told, read;
    static const int counts[][2] = {{-5, 0},
                                    {0, 0},
                                    {ICTUS_LOCK_SOURCES_MAX, ICTUS_LOCK_SOURCES_MAX},
                                    {1000000, ICTUS_LOCK_SOURCES_MAX}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        memset(&told, 'x', sizeof(told));
        told.source_count = counts[i][0];
        ictusi_page_report(&writer, &told);
        REQUIRE(ictus_lock_status(lock, &read) == ICTUS_OK);
        CHECK(read.source_count == counts[i][1]);
        CHECK(strlen(read.reference) == sizeof(read.reference) - 1);
        for (int k = 0; k < read.source_count; k++) {
            CHECK(strlen(read.sources[k].name) == sizeof(read.sources[k].name) - 1);
            CHECK(strlen(read.sources[k].reference_id) == sizeof(read.sources[k].reference_id) - 1);
        }
    }
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* A page that is one byte too short is refused, whether it is being opened or already open. */
static void test_sizes(void)
{
    const off_t whole = (off_t)sizeof(struct page);
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(truncate(path, whole - 1) == 0);
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_FORMAT && !lock);
    REQUIRE(truncate(path, whole) == 0);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictusi_page_lock_is_there(lock));
    REQUIRE(truncate(path, whole - 1) == 0);
    CHECK(!ictusi_page_lock_is_there(lock));
    REQUIRE(truncate(path, whole + 1) == 0);
    CHECK(ictusi_page_lock_is_there(lock));
    REQUIRE(unlink(path) == 0);
    CHECK(!ictusi_page_lock_is_there(lock)); /* it has no name, and a new daemon's is another */
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

static int lowest_free(void)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    (void)close(fd);
    return fd;
}

/* Everything that was opened is closed: a program may open clocks, or be refused, forever. */
static void test_closing(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    const int free_first = lowest_free();
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    const int free_then = lowest_free();
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    ictus_lock_close(lock);
    CHECK(lowest_free() == free_then);
    REQUIRE(ictus_lock_open_guarded("t", directory, &lock, &why) == ICTUS_OK);
    ictus_lock_close(lock);
    CHECK(lowest_free() == free_then);
    writer.page->header.version++;
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_FORMAT);
    CHECK(lowest_free() == free_then);
    ictusi_page_close(&writer);
    CHECK(lowest_free() == free_first);
    ictus_lock_close(NULL);
}

static int64_t instant(const char *text, int64_t odd, double align, int64_t now, int *err)
{
    struct ictus_why why;
    const struct ictus_at_when when = {.when = text, .odd_minute_s = odd, .align_s = align};
    const struct ictus_time t = {now};
    struct ictus_time out = {-1};
    *err = ictus_at_instant(&when, t, &out, &why);
    CHECK(*err || ictus_at_check(&when, &why) == ICTUS_OK);
    return out.ns;
}

static void test_instants(void)
{
    static const char *const wrong[] = {"",
                                        "noon",
                                        "+",
                                        "+-1s",
                                        "@",
                                        "@12.",
                                        "@1e9",
                                        "2026-12-01T12:00:30",
                                        "2026-02-30T12:00:30Z",
                                        "2026-12-01 12:00:30Z",
                                        "2026-12-01T12:00:30.Z",
                                        "+900000h"};
    const int64_t s = 1000000000, now = INT64_C(1780000000) * s; /* 2026-05-28T20:26:40Z */
    int err = 0;
    CHECK(instant("+2min", -1, 0, now, &err) == now + 120 * s && !err);
    CHECK(instant("@1780000001.5", -1, 0, now, &err) == now + 3 * s / 2 && !err);
    CHECK(instant("2026-05-28T20:26:41.25Z", -1, 0, now, &err) == now + 5 * s / 4 && !err);
    CHECK(instant("+1s", -1, 60.0, now, &err) == now + 20 * s && !err);
    CHECK(instant(NULL, 30, 0, now, &err) == now + (20 + 30) * s && !err);
    CHECK(instant(NULL, 30, 0, now + 25 * s, &err) == now + (140 + 30) * s && !err);
    (void)instant("2026-05-28T20:26:39Z", -1, 0, now, &err);
    CHECK(err == ICTUS_ERR_SPEC);
    (void)instant("2029-05-28T20:26:39Z", -1, 0, now, &err);
    CHECK(err == ICTUS_ERR_SPEC);
    (void)instant("+1s", 30, 0, now, &err);
    CHECK(err == ICTUS_ERR_SPEC);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)instant(wrong[i], -1, 0, now, &err);
        CHECK(err == ICTUS_ERR_SPEC);
        CHECK(ictus_at_check(&(struct ictus_at_when){wrong[i], -1, 0}, NULL) == err);
    }
    /* An instant in the past is valid: only a clock can tell that it has passed. */
    CHECK(ictus_at_check(&(struct ictus_at_when){"@1780000000", -1, 86400.0}, NULL) == ICTUS_OK);
    (void)instant("@9223372036", -1, 60.0, now, &err); /* cannot be rounded up in 64 bits */
    CHECK(err == ICTUS_ERR_SPEC);
}

static void test_timebase(void)
{
    struct timebase base = {0};
    CHECK(ictusi_timebase_read(&base) == 0);
    const int64_t real = ictusi_timebase_real_now();
    const int64_t raw = ictusi_timebase_raw(&base, real);
    CHECK(ictusi_timebase_real(&base, raw) - real <= 1);
    CHECK(llabs(ictusi_timebase_raw_now() - raw) < 1000000000);
    base.real_minus_mono -= 1000000000; /* as if the clock had been set by one second */
    CHECK(ictusi_timebase_read(&base) == TIMEBASE_STEPPED);
    base.boot_minus_mono -= 5000000000;
    CHECK(ictusi_timebase_read(&base) == TIMEBASE_SUSPENDED);
    CHECK(ictusi_timebase_read(&base) == 0);
}

/* A clock without a name is the default one, and root's clocks are in the system's directory. */
static void test_places(void)
{
    char place[PAGE_PATH_BYTES], long_name[66];
    struct ictus_why why;
    (void)unsetenv("ICTUS_LOCK_NAME");
    (void)unsetenv("ICTUS_LOCK_DIRECTORY");
    CHECK(ictusi_page_path(NULL, "/d", place, sizeof(place), &why) == ICTUS_OK);
    CHECK_STR(place, "/d/ictus-lock.default");
    CHECK(ictusi_page_path("", "/d", place, sizeof(place), &why) == ICTUS_OK);
    CHECK_STR(place, "/d/ictus-lock.default");
    memset(long_name, 'x', sizeof(long_name));
    long_name[65] = '\0';
    CHECK(ictusi_page_path(long_name, "/d", place, sizeof(place), &why) == ICTUS_ERR_SPEC);
    CHECK(ictusi_page_path(long_name + 1, "/d", place, sizeof(place), &why) == ICTUS_OK);
    CHECK(ictusi_page_directory(NULL, place, sizeof(place), &why) == ICTUS_OK);
    if (geteuid() == 0) {
        CHECK_STR(place, PAGE_SYSTEM_DIRECTORY);
    }
}

/* Only a sleep since the last reading counts, and it is reported once. */
static void test_sleeps(void)
{
    struct timebase base = {0};
    slept_ns = 3 * 86400 * ICTUS_NS_PER_S;
    CHECK(ictusi_timebase_read(&base) == 0);
    CHECK(!(ictusi_timebase_read(&base) & TIMEBASE_SUSPENDED));
    for (int way = -1; way <= 1; way += 2) {
        slept_ns += way * ICTUS_NS_PER_S;
        CHECK(ictusi_timebase_read(&base) & TIMEBASE_SUSPENDED);
        CHECK(!(ictusi_timebase_read(&base) & TIMEBASE_SUSPENDED));
    }
    CHECK(base.suspended == 2);
    slept_ns = 0;
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "page")) != NULL);
    (void)snprintf(path, sizeof(path), "%s/ictus-lock.t", directory);
    test_reading();
    test_race();
    test_lines();
    test_small_slews();
    test_elapsed();
    test_no_span();
    test_ranges();
    test_sizes();
    test_closing();
    test_truncation();
    test_wrong_files();
    test_instants();
    test_timebase();
    test_sleeps();
    test_places();
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/ictus-guard.t", directory);
    (void)unlink(path);
    (void)rmdir(directory);
    return check_result();
}
