/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose pages are trusted, and how far: one's own and root's are mapped, and others' are refused.
 * Also queries that have no answer.
 */
#define CHECK_OWN_INPUT
#include "page/page.h"
#include "page/timebase.h"

#include "../check.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/lock_daemon.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char directory[CHECK_PATH];
static char path[200];

/*
 * The linker makes the library call these: the system's directory is the test's own while
 * system_moved is set.
 */
static bool system_moved;
int __wrap_open(const char *name, int flags, ...);
int __wrap_stat(const char *name, struct stat *info);
int __real_stat(const char *name, struct stat *info);

static const char *moved_name(const char *name, char text[200])
{
    static const size_t length = sizeof(PAGE_SYSTEM_DIRECTORY) - 1;
    if (!system_moved || strncmp(name, PAGE_SYSTEM_DIRECTORY, length) != 0) {
        return name;
    }
    (void)snprintf(text, 200, "%s%s", directory, name + length);
    return text;
}

int __wrap_open(const char *name, int flags, ...)
{
    char text[200];
    va_list rest;
    va_start(rest, flags);
    const int fd =
        openat(AT_FDCWD, moved_name(name, text), flags, flags & O_CREAT ? va_arg(rest, int) : 0);
    va_end(rest);
    return fd;
}

int __wrap_stat(const char *name, struct stat *info)
{
    char text[200];
    return __real_stat(moved_name(name, text), info);
}

/*
 * What another user created there is named as such, whoever reads it, and is not taken for a lock
 * of ours.
 */
static void others_are_not_trusted(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    char guard[200];
    struct stat info;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    (void)snprintf(guard, sizeof(guard), "%s/ictus-guard.t", directory);
    REQUIRE(stat(guard, &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    /* A lock on the page by any process that can read it hides nothing and stops nobody. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(flock(fd, LOCK_EX) == 0);
    ictusi_page_close(&writer);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    (void)close(fd);
    ictusi_page_close(&writer);
    if (geteuid() != 0) {
        return; /* only root can give files away */
    }
    REQUIRE(chown(path, 65534, 65534) == 0);
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "belongs to user nobody") != NULL);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "another user") != NULL);
    REQUIRE(chown(path, 1987654321, 65534) == 0); /* a user without a name is given as a number */
    CHECK(ictus_lock_open("t", directory, &lock, &why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "belongs to user number 1987654321") != NULL);
    REQUIRE(unlink(path) == 0 && chown(guard, 65534, 65534) == 0);
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_PERMISSION);
    REQUIRE(unlink(guard) == 0);
}

/*
 * Root may give the system's directory to a user, whose clock all others then trust. They trust
 * pages of that owner only, and only if nobody else can create any there.
 */
static void system_directory_has_one_owner(void)
{
    static const struct {
        uid_t directory, page;
        mode_t mode;
        int err;
    } cases[] = {{NOBODY, NOBODY, 0755, ICTUS_OK},
                 {NOBODY, 0, 0777, ICTUS_OK}, /* root's, wherever they are */
                 {NOBODY, NOBODY - 1, 0755, ICTUS_ERR_PERMISSION},
                 {0, NOBODY, 0755, ICTUS_ERR_PERMISSION},
                 {NOBODY, NOBODY, 0775, ICTUS_ERR_PERMISSION},
                 {NOBODY, NOBODY, 0757, ICTUS_ERR_PERMISSION}};
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    if (geteuid() != 0) {
        return; /* only root can give files away */
    }
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    ictusi_page_close(&writer);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        REQUIRE(chown(path, cases[i].page, 0) == 0 && chown(directory, cases[i].directory, 0) == 0);
        REQUIRE(chmod(directory, cases[i].mode) == 0);
        system_moved = true;
        CHECK(ictus_lock_open("t", NULL, &lock, &why) == cases[i].err);
        system_moved = false;
        ictus_lock_close(cases[i].err ? NULL : lock);
        /* In a directory that is not the system's, the same page is only for its owner. */
        CHECK(ictus_lock_open("t", directory, &lock, &why) ==
              (cases[i].page == 0 ? ICTUS_OK : ICTUS_ERR_PERMISSION));
        ictus_lock_close(cases[i].page == 0 ? lock : NULL);
    }
    REQUIRE(chown(directory, 0, 0) == 0 && chmod(directory, 0700) == 0 && unlink(path) == 0);
}

/* A user without a clock of his own reads the system's, unless another place is named. */
static void users_read_the_systems_clock(void)
{
    static const struct {
        uid_t directory, page;
        int err;
    } cases[] = {{0, 0, ICTUS_OK},
                 {NOBODY - 1, NOBODY - 1, ICTUS_OK},
                 {0, NOBODY - 1, ICTUS_ERR_PERMISSION}};
    char own[64];
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    (void)snprintf(own, sizeof(own), "/dev/shm/ictus-%d", NOBODY);
    if (geteuid() != 0 || access(own, F_OK) == 0) {
        return; /* only root can be another user */
    }
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    ictusi_page_close(&writer);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        REQUIRE(chown(path, cases[i].page, 0) == 0 && chown(directory, cases[i].directory, 0) == 0);
        REQUIRE(chmod(directory, 0755) == 0 && seteuid(NOBODY) == 0);
        system_moved = true;
        CHECK(ictus_lock_open("t", NULL, &lock, &why) == cases[i].err);
        ictus_lock_close(cases[i].err ? NULL : lock);
        CHECK(ictus_lock_open("other", NULL, &lock, &why) == ICTUS_ERR_IO);
        CHECK(strstr(why.text, PAGE_SYSTEM_DIRECTORY "/ictus-lock.other"));
        CHECK(ictus_lock_open("t", own, &lock, &why) == ICTUS_ERR_IO);
        system_moved = false;
        REQUIRE(seteuid(0) == 0);
    }
    REQUIRE(chown(directory, 0, 0) == 0 && chmod(directory, 0700) == 0 && unlink(path) == 0);
}

/* Whether this process has mapped the page. */
static bool page_is_mapped(void)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps);
    while (fgets(line, sizeof(line), maps)) {
        found = found || strstr(line, path);
    }
    (void)fclose(maps);
    return found;
}

/*
 * One's own pages and root's are read where they are, which takes no system call; a guarded reader
 * copies even those.
 */
static void trusted_pages_are_mapped(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    const struct page_clock clock = {.anchor = 1, .value = 1, .state = ICTUS_LOCK_LOCKED};
    ictusi_page_publish(&writer, &clock);
    ictusi_page_close(&writer);
    CHECK(!page_is_mapped());
    for (int user = 0; user < (geteuid() == 0 ? 2 : 1); user++) { /* the second one is not root */
        REQUIRE(user == 0 || (chmod(directory, 0755) == 0 && seteuid(NOBODY) == 0));
        REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
        CHECK(page_is_mapped());
        ictus_lock_close(lock);
        CHECK(!page_is_mapped());
        REQUIRE(ictus_lock_open_guarded("t", directory, &lock, &why) == ICTUS_OK);
        CHECK(!page_is_mapped());
        ictus_lock_close(lock);
        REQUIRE(user == 0 || seteuid(0) == 0);
    }
}

/* The service's page is mapped by the service's own user only: whoever else maps it could be killed
 * by that user, who may cut it off. */
static void pages_of_a_service_are_copied(void)
{
    static const uid_t users[] = {0, NOBODY, NOBODY - 1};
    struct ictus_lock *lock = NULL;
    struct page_writer writer;
    if (geteuid() != 0) {
        return; /* only root can give files away */
    }
    REQUIRE(ictusi_page_create("t", directory, &writer, NULL) == ICTUS_OK);
    ictusi_page_close(&writer);
    REQUIRE(chown(path, NOBODY, 0) == 0 && chown(directory, NOBODY, 0) == 0);
    REQUIRE(chmod(directory, 0755) == 0);
    system_moved = true;
    for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++) {
        REQUIRE(seteuid(users[i]) == 0);
        REQUIRE(ictus_lock_open("t", NULL, &lock, NULL) == ICTUS_OK);
        CHECK(page_is_mapped() == (users[i] == NOBODY));
        ictus_lock_close(lock);
        REQUIRE(seteuid(0) == 0);
    }
    system_moved = false;
    REQUIRE(chown(path, 0, 0) == 0 && chown(directory, 0, 0) == 0);
}

/* Whatever a file's mode was, and whatever the mask: everybody can read the page, nobody else can
 * lock the guard. */
static void modes_do_not_depend_on_the_mask(void)
{
    static const mode_t masks[] = {0, 077, 0777};
    char guard[200];
    struct stat info;
    struct page_writer writer;
    (void)snprintf(guard, sizeof(guard), "%s/ictus-guard.t", directory);
    for (int used = 0; used < 2; used++) { /* the second time, both files are there already */
        for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
            (void)(used || unlink(guard) + unlink(path));
            REQUIRE(!used || (chmod(guard, 0644) == 0 && chmod(path, 0600) == 0));
            const mode_t before = umask(masks[i]);
            REQUIRE(ictusi_page_create("t", directory, &writer, NULL) == ICTUS_OK);
            (void)umask(before);
            ictusi_page_close(&writer);
            CHECK(stat(guard, &info) == 0 && (info.st_mode & 0777) == 0600);
            CHECK(stat(path, &info) == 0 && (info.st_mode & 0777) == 0644);
        }
    }
}

/* A process that was started without standard input gets the same answers. */
static void descriptor_zero_is_one_too(void)
{
    struct ictus_why why;
    struct page_writer writer;
    char guard[200];
    if (geteuid() != 0) {
        return;
    }
    (void)snprintf(guard, sizeof(guard), "%s/ictus-guard.t", directory);
    REQUIRE(chown(guard, NOBODY, NOBODY) == 0);
    const int kept = dup(STDIN_FILENO);
    REQUIRE(close(STDIN_FILENO) == 0);
    errno = 0;
    CHECK(ictusi_page_create("t", directory, &writer, &why) == ICTUS_ERR_PERMISSION);
    CHECK(strstr(why.text, "belongs to another user"));
    CHECK(open("/dev/null", O_RDONLY) == STDIN_FILENO); /* and it was closed again */
    REQUIRE(dup2(kept, STDIN_FILENO) == STDIN_FILENO && close(kept) == 0);
    REQUIRE(unlink(guard) == 0);
}

/* Instants that a leap second leaves out are read as the first one after them. */
static void instants_left_out_are_the_next(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_time next, back;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    const struct page_clock c = {.anchor = 5 * ICTUS_NS_PER_S,
                                 .value = INT64_C(1800000000000000000),
                                 .slope = 1e-5,
                                 .leap_ns = ICTUS_NS_PER_S,
                                 .leap_at = INT64_C(1800000010000000000),
                                 .state = ICTUS_LOCK_LOCKED};
    ictusi_page_publish(&writer, &c);
    REQUIRE(ictus_lock_unmap(lock, (struct ictus_time){c.leap_at}, &next) == ICTUS_OK);
    for (int64_t before = 1; before < c.leap_ns; before *= 7) {
        const struct ictus_time out = {c.leap_at - before};
        REQUIRE(ictus_lock_unmap(lock, out, &back) == ICTUS_OK);
        CHECK(back.ns == next.ns);
    }
    const struct ictus_time last = {c.leap_at - c.leap_ns - 1000};
    REQUIRE(ictus_lock_unmap(lock, last, &back) == ICTUS_OK);
    CHECK_NEAR((double)(next.ns - back.ns), 1000, 2);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* An instant that is sought is found: the clock shows it then, whether a second is left out or
 * repeated. */
static void instants_are_found(void)
{
    static const int64_t away[] = {-3000000000, -1000000000, -500000000, -1, 0, 1, 500000000};
    struct ictus_lock *lock = NULL;
    struct ictus_time raw;
    struct ictus_lock_reading r;
    struct ictus_why why;
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    for (int leap = -1; leap <= 1; leap++) {
        const struct page_clock c = {.anchor = 5 * ICTUS_NS_PER_S,
                                     .value = INT64_C(1800000000000000000),
                                     .slope = 1e-5,
                                     .leap_ns = leap * ICTUS_NS_PER_S,
                                     .leap_at = INT64_C(1800000010000000000),
                                     .state = ICTUS_LOCK_LOCKED};
        ictusi_page_publish(&writer, &c);
        for (size_t i = 0; i < sizeof(away) / sizeof(*away); i++) {
            const struct ictus_time utc = {c.leap_at + away[i]};
            if (leap == 1 && away[i] < 0 && away[i] >= -ICTUS_NS_PER_S) {
                continue; /* there is no such instant */
            }
            REQUIRE(ictus_lock_unmap(lock, utc, &raw) == ICTUS_OK);
            REQUIRE(ictus_lock_map(lock, raw, &r) == ICTUS_OK);
            CHECK_NEAR((double)(r.time.ns - utc.ns), 0, 1);
        }
    }
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* A query without a question is refused, and one before the clock was first set gets no reading. */
static void nothing_asked_is_refused(void)
{
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading r;
    struct ictus_lock_status status;
    struct ictus_why why;
    struct page_writer writer;
    const struct ictus_lock_reading none = {.bound_ns = 0};
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    CHECK(ictus_lock_now(lock, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_now(NULL, &r) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_map(lock, (struct ictus_time){1}, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_map(NULL, (struct ictus_time){1}, &r) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_unmap(NULL, (struct ictus_time){1}, &r.time) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_unmap(lock, (struct ictus_time){1}, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_status(NULL, &status) == ICTUS_ERR_ARG);
    CHECK(ictus_lock_status(lock, NULL) == ICTUS_ERR_ARG);
    memset(&status, 0x5a, sizeof(status));
    ictusi_page_report(&writer, &status);
    REQUIRE(ictus_lock_status(lock, &status) == ICTUS_OK);
    CHECK(status.now.time.ns == none.time.ns && status.now.bound_ns == none.bound_ns);
    CHECK(status.now.sigma_ns == none.sigma_ns && status.now.state == none.state);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* Until the next update is due, the error is interpolated along the chord between now and then. */
static void errors_are_a_chord(void)
{
    static const double now_ns = 100.0, then_ns = 300.0; /* sqrt(1e4 + 25 t^2) at 0 and at t */
    static const int64_t anchors[] = {0, INT64_C(5000000000), INT64_C(1000000000000000)};
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading r;
    struct ictus_why why;
    struct page_writer writer;
    const double due_s = sqrt(8e4 / 25.0);
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    for (int i = 0; i < 3; i++) {
        const struct page_clock c = {.anchor = anchors[i],
                                     .value = INT64_C(1800000000000000000),
                                     .pp_ns2 = now_ns * now_ns,
                                     .ff_ns2_per_s2 = 25.0,
                                     .good_until = anchors[i] + llround(due_s * 1e9),
                                     .state = ICTUS_LOCK_LOCKED};
        ictusi_page_publish(&writer, &c);
        for (int part = 0; part <= 4; part++) {
            const struct ictus_time at = {c.anchor + llround(due_s * 1e9 * part / 4.0)};
            REQUIRE(ictus_lock_map(lock, at, &r) == ICTUS_OK);
            CHECK_NEAR(r.sigma_ns, now_ns + (then_ns - now_ns) * part / 4.0, 1e-3);
        }
    }
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/*
 * A rate that walks: its variance grows with time, and that of the clock with the cube of time (a
 * third of the walk's), in addition to the common error of offset and rate.
 */
static void errors_walk(void)
{
    static const double due_s = 40.0, pp = 1e4, pf = 3.0, ff = 25.0, walk = 6.0, long_ago_s = 1e4;
    struct ictus_lock *lock = NULL;
    struct ictus_lock_reading r;
    struct ictus_time elapsed;
    struct ictus_why why;
    struct page_writer writer;
    double rate = 0;
    struct page_clock c = {.value = INT64_C(1800000000000000000),
                           .pp_ns2 = pp,
                           .pf_ns2_per_s = -pf, /* the sign does not matter */
                           .ff_ns2_per_s2 = ff,
                           .walk_ns2_per_s3 = walk,
                           .good_until = llround(due_s * 1e9),
                           .state = ICTUS_LOCK_LOCKED};
    REQUIRE(ictusi_page_create("t", directory, &writer, &why) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, &why) == ICTUS_OK);
    ictusi_page_publish(&writer, &c);
    REQUIRE(ictus_lock_map(lock, (struct ictus_time){0}, &r) == ICTUS_OK);
    CHECK_NEAR(r.sigma_ns, sqrt(pp), 1e-3);
    REQUIRE(ictus_lock_map(lock, (struct ictus_time){c.good_until}, &r) == ICTUS_OK);
    CHECK_NEAR(r.sigma_ns,
               sqrt(pp + 2 * pf * due_s + ff * due_s * due_s + walk * pow(due_s, 3) / 3), 1e-3);
    /* The rate since the anchor, which was long ago. */
    c.anchor = ictusi_timebase_raw_now() - llround(long_ago_s * 1e9);
    ictusi_page_publish(&writer, &c);
    REQUIRE(ictus_lock_elapsed(lock, &elapsed, &rate) == ICTUS_OK);
    CHECK_NEAR(rate, 1e-9 * sqrt(ff + walk * long_ago_s), 0.02 * rate);
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
}

/* A name that is too long is refused, including that of its guard, which is longer. */
static void long_names_are_refused(void)
{
    static const char guard[] = "/d/ictus-guard.n";
    char text[64];
    struct ictus_why why;
    for (size_t size = 1; size < sizeof(text); size++) {
        const int err = ictusi_page_path("n", "/d", text, size, &why);
        CHECK(err == (size > sizeof(guard) ? ICTUS_OK : ICTUS_ERR_SPEC));
        CHECK(err || strcmp(text, "/d/ictus-lock.n") == 0);
        const int place = ictusi_page_directory("/d", text, size, &why);
        CHECK(place == (size > 2 ? ICTUS_OK : ICTUS_ERR_SPEC));
    }
}

/*
 * A reader that cannot see the daemon's process, from another process namespace, takes a clock that
 * was published in time for a sign of life, and one that is overdue for none.
 */
static void unseen_daemons_live_in_time(void)
{
    struct page_writer writer;
    struct ictus_lock *lock = NULL;
    struct ictus_lock_status status = {.pid = 1};
    REQUIRE(ictusi_page_create("t", directory, &writer, NULL) == ICTUS_OK);
    REQUIRE(ictus_lock_open("t", directory, &lock, NULL) == ICTUS_OK);
    ictusi_page_report(&writer, &status);
    writer.page->header.pidns ^= 1;
    for (int64_t overdue_s = -60; overdue_s <= 60; overdue_s += 120) {
        const int64_t until = ictusi_timebase_raw_now() - overdue_s * ICTUS_NS_PER_S;
        const struct page_clock c = {.anchor = until - ICTUS_NS_PER_S, .good_until = until};
        ictusi_page_publish(&writer, &c);
        REQUIRE(ictus_lock_status(lock, &status) == ICTUS_OK);
        CHECK(status.alive == (overdue_s < 0));
    }
    /* One that has said goodbye is none, whatever it had published. */
    const int64_t until = ictusi_timebase_raw_now() + 60 * ICTUS_NS_PER_S;
    const struct page_clock c = {.anchor = until - ICTUS_NS_PER_S, .good_until = until};
    ictusi_page_publish(&writer, &c);
    ictusi_page_close(&writer);
    REQUIRE(ictus_lock_status(lock, &status) == ICTUS_OK);
    CHECK(!status.alive);
    ictus_lock_close(lock);
}

/* The fast path ends with the clock's period of validity, or one to two seconds before a leap. */
static void fast_path_ends_before_a_leap(void)
{
    struct page_writer writer;
    REQUIRE(ictusi_page_create("t", directory, &writer, NULL) == ICTUS_OK);
    for (int64_t leap_s = 0; leap_s <= 120; leap_s += 40) {
        struct page_clock c = {.anchor = 5 * ICTUS_NS_PER_S,
                               .value = INT64_C(1800000000000000000),
                               .good_until = 65 * ICTUS_NS_PER_S,
                               .leap_ns = leap_s ? ICTUS_NS_PER_S : 0};
        c.leap_at = c.value + leap_s * ICTUS_NS_PER_S;
        ictusi_page_publish(&writer, &c);
        memcpy(&c, (void *)writer.page->clock[writer.page->clock_turn & 1], sizeof(c));
        const int64_t left = c.anchor + leap_s * ICTUS_NS_PER_S - c.quick_until;
        CHECK(leap_s == 40 ? left >= ICTUS_NS_PER_S && left <= 2 * ICTUS_NS_PER_S
                           : c.quick_until == c.good_until);
    }
    ictusi_page_close(&writer);
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "owners")) != NULL);
    (void)snprintf(path, sizeof(path), "%s/ictus-lock.t", directory);
    instants_left_out_are_the_next();
    instants_are_found();
    nothing_asked_is_refused();
    errors_are_a_chord();
    errors_walk();
    long_names_are_refused();
    unseen_daemons_live_in_time();
    fast_path_ends_before_a_leap();
    REQUIRE(unlink(path) == 0);
    trusted_pages_are_mapped();
    pages_of_a_service_are_copied();
    modes_do_not_depend_on_the_mask();
    descriptor_zero_is_one_too();
    REQUIRE(unlink(path) == 0);
    system_directory_has_one_owner();
    users_read_the_systems_clock();
    others_are_not_trusted();
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/ictus-guard.t", directory);
    (void)unlink(path);
    CHECK(rmdir(directory) == 0);
    return check_result();
}
