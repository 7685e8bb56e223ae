/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that start at an instant of a clock that this test keeps: when they start, what the
 * clock has to be for that, and what is told of it.
 */
#include "../check.h"

#include "page/page.h"
#include "page/timebase.h"

#include <ftw.h>
#include <ictus/error.h>
#include <ictus/lock_daemon.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[CHECK_PATH];
static struct page_writer writer;
static struct ictus_lock *lock;

/* A clock that is this much ahead of the system's, with a standard deviation of 100 ns. */
static struct page_clock clock_ahead(int64_t ns)
{
    return (struct page_clock){.anchor = ictusi_timebase_raw_now(),
                               .value = ictusi_timebase_real_now() + ns,
                               .pp_ns2 = 1e4,
                               .bound_ns = 2000,
                               .good_until = INT64_MAX,
                               .state = ICTUS_LOCK_LOCKED};
}

static void clock_set(enum ictus_lock_state state, double sigma_ns)
{
    struct page_clock c = clock_ahead(0);
    c.state = (int64_t)state;
    c.pp_ns2 = sigma_ns * sigma_ns;
    ictusi_page_publish(&writer, &c);
}

static char *const seven[] = {"sh", "-c", "exit 7", NULL};
static char *const kills_itself[] = {"sh", "-c", "kill -9 $$", NULL};
static char *const nothing[] = {"/nonexistent/program", NULL};
static char *const no_words[] = {NULL};

struct told {
    int times;
    bool ran; /* the command had ended before */
};

static void started(const struct ictus_at_report *report, void *context)
{
    struct told *told = context;
    told->times++;
    told->ran = report->status != 0;
}

/* Start a command at an instant. */
static int start_at(char *const *command, int64_t instant, double tolerance_ns, bool use_bound,
                    struct ictus_at_report *report, struct told *told, struct ictus_why *why)
{
    const struct ictus_at_start at = {.instant = {instant},
                                      .command = command,
                                      .tolerance_ns = tolerance_ns,
                                      .use_bound = use_bound,
                                      .on_start = told ? started : NULL,
                                      .context = told};
    why->text[0] = '\0';
    return ictus_at_run(lock, &at, report, why);
}

/* The same, so many ns from now. */
static int start(char *const *command, int64_t in_ns, double tolerance_ns, bool use_bound,
                 struct ictus_at_report *report, struct told *told, struct ictus_why *why)
{
    const int64_t instant = ictus_lock_time(lock).ns + in_ns;
    return start_at(command, instant, tolerance_ns, use_bound, report, told, why);
}

/* Not before its instant; what is told of the clock holds at that instant. */
static void commands_start_at_their_instants(void)
{
    static const int64_t ahead[] = {-5000000, 0, 3000000, 30000000};
    struct ictus_at_report report;
    struct ictus_why why;
    clock_set(ICTUS_LOCK_LOCKED, 100);
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
        struct told told = {0, false};
        const int64_t before = ictus_lock_time(lock).ns;
        CHECK(start(seven, ahead[i], 1e6, false, &report, &told, &why) == ICTUS_OK);
        const int64_t after = ictus_lock_time(lock).ns;
        CHECK(WIFEXITED(report.status) && WEXITSTATUS(report.status) == 7);
        CHECK(report.lateness_ns >= 0 && report.exec_ns > 0);
        const double released = (double)(report.instant.ns - before) + report.lateness_ns;
        CHECK(released >= (double)ahead[i] && released >= 0);
        CHECK(released + report.exec_ns <= (double)(after - before));
        CHECK_NEAR(report.sigma_ns, 100, 1);
        CHECK_NEAR(report.bound_ns, 2000, 1);
        CHECK(told.times == 1 && !told.ran);
    }
    CHECK(start(kills_itself, 0, 1e6, false, &report, NULL, &why) == ICTUS_OK);
    CHECK(WIFSIGNALED(report.status) && WTERMSIG(report.status) == 9);
}

/* Two standard deviations, or the bound, may be as large as the tolerance and no larger. */
static void clocks_must_be_accurate(void)
{
    struct ictus_at_report report;
    struct ictus_why why;
    clock_set(ICTUS_LOCK_LOCKED, 100);
    CHECK(start(seven, 0, 201, false, &report, NULL, &why) == ICTUS_OK);
    CHECK(start(seven, 0, 199, false, &report, NULL, &why) == ICTUS_ERR_TOLERANCE);
    CHECK(strstr(why.text, "+-0.2 us, but the tolerance is 0.199 us"));
    CHECK(start(seven, 0, 2001, true, &report, NULL, &why) == ICTUS_OK);
    CHECK(start(seven, 0, 1999, true, &report, NULL, &why) == ICTUS_ERR_TOLERANCE);
    CHECK(strstr(why.text, "+-2 us by its bound, but the tolerance is 2 us"));
}

/* A clock that is not locked yet shows any time. One that lost its servers is still known. */
static void clocks_must_be_locked(void)
{
    struct ictus_at_report report;
    struct ictus_why why;
    struct told told = {0, false};
    clock_set(ICTUS_LOCK_UNLOCKED, 100);
    CHECK(start(seven, 0, 1e6, false, &report, &told, &why) == ICTUS_ERR_CLOCK);
    CHECK(strstr(why.text, "not locked yet") && told.times == 0);
    clock_set(ICTUS_LOCK_HOLDOVER, 100);
    CHECK(start(seven, 0, 1e6, false, &report, &told, &why) == ICTUS_OK && told.times == 1);
}

/* No machine is so slow that it is a second late: the clock was set. This clock stands still. */
static void instants_that_passed_are_refused(void)
{
    struct ictus_at_report report;
    struct ictus_why why;
    struct told told = {0, false};
    struct page_clock c = clock_ahead(0);
    c.slope = -1;
    ictusi_page_publish(&writer, &c);
    CHECK(start(seven, 0, 1e6, false, &report, &told, &why) == ICTUS_OK);
    CHECK_NEAR(report.lateness_ns, 0, 0);
    CHECK(start(seven, -1000000000, 1e6, false, &report, &told, &why) == ICTUS_OK);
    CHECK_NEAR(report.lateness_ns, 1e9, 0);
    CHECK(told.times == 2);
    CHECK(start(seven, -1000000001, 1e6, false, &report, &told, &why) == ICTUS_ERR_TIMEOUT);
    CHECK(strstr(why.text, "the clock was set while waiting") && told.times == 2);
}

/* Let a clock stand still at this time in a while, from another process. */
static pid_t change_soon(int64_t value, double sigma_ns)
{
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        (void)usleep(50000);
        struct page_clock c = clock_ahead(0);
        c.value = value;
        c.slope = -1;
        c.pp_ns2 = sigma_ns * sigma_ns;
        ictusi_page_publish(&writer, &c);
        _exit(0);
    }
    return child;
}

/* What happens to the clock during the wait decides, and not what it was in the beginning. */
static void clocks_change_during_waits(void)
{
    static const struct {
        int64_t behind_ns; /* what the clock shows then, after the instant */
        double sigma_ns;
        int wanted;
    } cases[] = {{30000, 100, ICTUS_OK},
                 {1000000001, 100, ICTUS_ERR_TIMEOUT},
                 {30000, 1e9, ICTUS_ERR_TOLERANCE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ictus_at_report report;
        struct ictus_why why;
        struct told told = {0, false};
        clock_set(ICTUS_LOCK_LOCKED, 100);
        const int64_t instant = ictus_lock_time(lock).ns + INT64_C(3600000000000);
        const pid_t child = change_soon(instant + cases[i].behind_ns, cases[i].sigma_ns);
        CHECK(start_at(seven, instant, 1e6, false, &report, &told, &why) == cases[i].wanted);
        CHECK(told.times == (cases[i].wanted == ICTUS_OK));
        if (cases[i].wanted == ICTUS_OK) {
            CHECK_NEAR(report.lateness_ns, (double)cases[i].behind_ns, 0);
        }
        if (cases[i].wanted == ICTUS_ERR_TOLERANCE) {
            CHECK(strstr(why.text, "lost its accuracy while waiting"));
        }
        REQUIRE(waitpid(child, NULL, 0) == child);
    }
}

static void commands_must_exist(void)
{
    struct ictus_at_report report;
    struct ictus_why why;
    struct told told = {0, false};
    clock_set(ICTUS_LOCK_LOCKED, 100);
    CHECK(start(nothing, 0, 1e6, false, &report, &told, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "cannot run '/nonexistent/program': No such file"));
    CHECK(told.times == 0);
    CHECK(start(no_words, 0, 1e6, false, &report, &told, &why) == ICTUS_ERR_ARG);
    CHECK(start(NULL, 0, 1e6, false, &report, &told, &why) == ICTUS_ERR_ARG);
    CHECK(start(seven, 0, 1e6, false, NULL, &told, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_at_run(lock, NULL, &report, &why) == ICTUS_ERR_ARG);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    struct ictus_why why = {""};
    REQUIRE(mkdtemp(check_scratch(directory, "at-run")));
    REQUIRE(!ictusi_page_create("at", directory, &writer, &why));
    REQUIRE(!ictus_lock_open("at", directory, &lock, &why));
    commands_start_at_their_instants();
    clocks_must_be_accurate();
    clocks_must_be_locked();
    instants_that_passed_are_refused();
    clocks_change_during_waits();
    commands_must_exist();
    ictus_lock_close(lock);
    ictusi_page_close(&writer);
    (void)nftw(directory, entry_remove, 4, FTW_DEPTH | FTW_PHYS);
    return check_result();
}
