/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts a command at an instant. The process is created beforehand and is replaced by the
 * command on time. */
#include "page/timebase.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/lock_daemon.h>
#include <ictus/text.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The wait is a sleep in pieces, so that corrections of the clock take effect, and then a spin,
 * in ns. */
static const int64_t piece_ns = 500000000;
static const int64_t spin_ns = 1000000;

/* If an instant was missed by more than this (ns), the reason is not a slow machine. */
static const int64_t missed_ns = 1000000000;

/*
 * What the waiting child reports to its parent. Both run on one machine from one image, so the
 * structure is sent as it is. It is much smaller than PIPE_BUF, so the parent never receives a part
 * of it, however the child ends.
 */
struct word {
    int err;
    int code;         /* errno of execvp */
    int64_t released; /* CLOCK_MONOTONIC_RAW */
    double lateness_ns, sigma_ns, bound_ns;
};

/* Check that the clock is accurate enough: by its bound, or by two standard deviations (95 %). */
static int report_fill(const struct ictus_lock *lock, struct ictus_time raw,
                       const struct ictus_at_start *start, struct ictus_lock_reading *reading,
                       struct ictus_why *why)
{
    const int err = ictus_lock_map(lock, raw, reading);
    if (err || reading->state == ICTUS_LOCK_UNLOCKED) {
        return ictus_because(why, ICTUS_ERR_CLOCK, "the clock is not locked yet");
    }
    const double error = start->use_bound ? reading->bound_ns : 2.0 * reading->sigma_ns;
    if (error > start->tolerance_ns) {
        return ictus_because(why, ICTUS_ERR_TOLERANCE,
                             "the clock is accurate to +-%.3g us%s, but the tolerance is %.3g us",
                             error / 1e3, start->use_bound ? " by its bound" : "",
                             start->tolerance_ns / 1e3);
    }
    return ICTUS_OK;
}

static void at_sleep_ns(int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/*
 * Wait until the clock shows the instant. In each turn the instant is compared with the locked
 * clock. It is not converted once to a deadline of a system clock, because the clock's rate and
 * slew are corrected during the sleep. A deadline that was computed an hour ahead would be off by
 * these corrections. A sleep ends spin_ns early, because a wake-up may be late by a timer tick and
 * a turn of the scheduler. The loop after it ends within one reading. @return ICTUS_OK or
 * ICTUS_ERR_TIMEOUT
 */
static int at_wait_for(const struct ictus_lock *lock, struct ictus_time instant)
{
    for (;;) {
        const int64_t left = instant.ns - ictus_lock_time(lock).ns;
        if (left < -missed_ns) {
            return ICTUS_ERR_TIMEOUT;
        }
        if (left <= spin_ns) {
            break;
        }
        at_sleep_ns(left - spin_ns < piece_ns ? left - spin_ns : piece_ns);
    }
    while (ictus_lock_time(lock).ns < instant.ns) {
    }
    return ICTUS_OK;
}

/* Take precedence over other processes while waiting, if permitted. The command gets the old
 * priority back. */
static bool process_hurry(bool on)
{
    const struct sched_param param = {.sched_priority = on ? 1 : 0};
    return sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &param) == 0;
}

/* The waiting process. It reports the result of the wait and then becomes the command. If that
 * fails, it sends a second report. exec closes the pipe. */
_Noreturn static void at_be_child(const struct ictus_lock *lock, const struct ictus_at_start *start,
                                  int fd)
{
    struct word word = {.err = ICTUS_OK};
    struct ictus_lock_reading reading;
    /* By default the kernel may end sleeps 50 us late to save wake-ups, which is switched off
     * here. The child must not outlive the process for which it waits. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    /*
     * Only a process with SCHED_OTHER is raised, because only that class can be restored here.
     * SCHED_BATCH, or a priority that the user chose, is kept. Without the privilege the call
     * fails, and the wait goes on as before.
     */
    const int policy = sched_getscheduler(0);
    const bool hurried = policy == SCHED_OTHER && process_hurry(true);
    word.err = at_wait_for(lock, start->instant);
    const struct ictus_time now = {ictusi_timebase_raw_now()};
    if (!word.err) {
        word.err = report_fill(lock, now, start, &reading, NULL);
    }
    word.released = now.ns;
    if (!word.err) {
        word.lateness_ns = (double)(reading.time.ns - start->instant.ns);
        word.sigma_ns = reading.sigma_ns;
        word.bound_ns = reading.bound_ns;
    }
    /*
     * A pipe takes so few bytes at once. The report is written before exec, so lateness_ns holds
     * the instant of release without the time to load the command. The parent measures that time by
     * the end of the pipe (exec_ns).
     */
    if (write(fd, &word, sizeof(word)) == (ssize_t)sizeof(word) && !word.err) {
        (void)prctl(PR_SET_PDEATHSIG, 0UL);
        if (hurried) {
            (void)process_hurry(false);
        }
        (void)execvp(start->command[0], start->command);
        word.err = ICTUS_ERR_IO;
        word.code = errno;
        (void)!write(fd, &word, sizeof(word));
    }
    _exit(127); /* the child of a fork */
}

/* Read a report. @return 1, or 0 at the end of the pipe */
static int at_read_word(int fd, struct word *word)
{
    size_t have = 0;
    while (have < sizeof(*word)) {
        const ssize_t got = read(fd, (char *)word + have, sizeof(*word) - have);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return 0;
        }
        have += got > 0 ? (size_t)got : 0;
    }
    return 1;
}

/* One report and then the end of the pipe mean that the command runs. A second report means that
 * it could not be run. */
static int report_receive(int fd, struct ictus_at_report *report, char *const *command,
                          struct ictus_why *why)
{
    struct word word, after;
    if (!at_read_word(fd, &word)) {
        return ictus_because(why, ICTUS_ERR_IO, "the waiting process was terminated");
    }
    if (word.err == ICTUS_ERR_TIMEOUT) {
        return ictus_because(why, word.err,
                             "the instant has passed because the clock was set while waiting");
    }
    if (word.err) {
        return ictus_because(why, word.err, "the clock lost its accuracy while waiting");
    }
    report->lateness_ns = word.lateness_ns;
    report->sigma_ns = word.sigma_ns;
    report->bound_ns = word.bound_ns;
    /* Blocks until the last writer closes the pipe. With O_CLOEXEC this is the moment of exec. */
    if (at_read_word(fd, &after)) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot run '%.80s': %s", command[0],
                             strerror(after.code));
    }
    report->exec_ns = (double)(ictusi_timebase_raw_now() - word.released);
    return ICTUS_OK;
}

int ictus_at_run(const struct ictus_lock *lock, const struct ictus_at_start *start,
                 struct ictus_at_report *report, struct ictus_why *why)
{
    struct ictus_lock_reading reading;
    int ends[2];
    if (!lock || !start || !start->command || !start->command[0] || !report) {
        return ICTUS_ERR_ARG;
    }
    const struct ictus_time now = {ictusi_timebase_raw_now()};
    int err = report_fill(lock, now, start, &reading, why);
    if (err) {
        return err;
    }
    memset(report, 0, sizeof(*report));
    report->instant = start->instant;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot create a pipe: %s", strerror(errno));
    }
    const pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        at_be_child(lock, start, ends[1]);
    }
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return ictus_because(why, ICTUS_ERR_IO, "cannot fork: %s", strerror(errno));
    }
    err = report_receive(ends[0], report, start->command, why);
    (void)close(ends[0]);
    if (!err && start->on_start) {
        start->on_start(report, start->context);
    }
    while (waitpid(child, &report->status, 0) < 0 && errno == EINTR) {
    }
    return err;
}
