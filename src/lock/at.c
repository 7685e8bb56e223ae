/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting a command at an instant: the process exists beforehand and is replaced on time. */
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

/* Sleep in pieces, so that corrections of the clock are seen; spin for the last moment. */
static const int64_t piece_ns = 500000000;
static const int64_t spin_ns = 1000000;

/* An instant missed by more than this was missed for another reason than a slow machine. */
static const int64_t missed_ns = 1000000000;

/*
 * What the waiting child tells its parent. Both live on one machine and come from one image, so the
 * structure is passed as it is. It is far smaller than PIPE_BUF: the parent never sees a part of
 * one, however the child ends.
 */
struct word {
    int err;
    int code;         /* errno of execvp */
    int64_t released; /* CLOCK_MONOTONIC_RAW */
    double lateness_ns, sigma_ns, bound_ns;
};

/* Whether the clock is good enough: by its bound, or by two standard deviations (95 %). */
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
 * Until the clock shows the instant. The instant is compared with the locked clock at every turn,
 * and not converted to a deadline of a system clock once: the clock's rate and slew are corrected
 * while we sleep, and a deadline computed an hour ahead would be off by what was learned since. A
 * sleep ends spin_ns early, because a wake-up is late by up to a timer tick and a scheduler's turn;
 * the loop after it ends within one reading. @return ICTUS_OK or ICTUS_ERR_TIMEOUT
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

/* Ahead of everybody else while waiting, where we may; the command gets its old place back. */
static bool process_hurry(bool on)
{
    const struct sched_param param = {.sched_priority = on ? 1 : 0};
    return sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &param) == 0;
}

/*
 * The waiting process. It tells what came of the wait, then becomes the command; where that fails,
 * it has a second word. The pipe closes itself on exec.
 */
_Noreturn static void at_be_child(const struct ictus_lock *lock, const struct ictus_at_start *start,
                                  int fd)
{
    struct word word = {.err = ICTUS_OK};
    struct ictus_lock_reading reading;
    /*
     * The kernel may let sleeps end 50 us late to save wake-ups: not these. And no child outlives
     * the command that made it wait.
     */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    /*
     * Only who is scheduled normally is raised, since only that class can be restored here:
     * SCHED_BATCH, or a priority that the user chose, stays. Without the privilege the call fails,
     * and the wait is as it was.
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
     * A pipe takes so few bytes at once. The word is written before exec, so lateness_ns holds the
     * instant of release and not the time to load the command; the parent measures that by the end
     * of the pipe (exec_ns).
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

/* @return 1 a word, 0 the end of the pipe */
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

/* One word and then the end of the pipe: the command runs. A second word: it could not be run. */
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
    /* Blocks until the pipe's last writer is gone, which O_CLOEXEC makes the moment of exec. */
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
