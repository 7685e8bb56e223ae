/* SPDX-License-Identifier: BSD-3-Clause */
/* `ictus lock`: opens everything, drops privileges, and polls until it is told to stop. */
#include "clockbound.h"
#include "drift.h"
#include "keeper.h"
#include "metrics.h"
#include "privilege.h"
#include "steer.h"

#include <errno.h>
#include <ictus/text.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { SPEC_BYTES = 320, POOL_SOURCES = 4 };

/* By how much the oscillator may have changed since the drift file was written (ns/s): by
 * temperature, or, after a new boot, by the kernel's new calibration of the same counter. */
static const double drift_doubt = 1e2, drift_doubt_boot = 1e3;

/* Interval (ns) at which the drift file is written. */
static const int64_t drift_ns = INT64_C(3600) * 1000000000;

struct runner {
    struct keeper keeper;
    struct keys keys;
    struct steer steer;
    struct drift drift;
    struct clockbound clockbound;
    struct metrics *metrics;
    int signals, metrics_fd;
    sigset_t old_mask;
    int64_t ends;      /* raw; 0: never */
    int64_t tick_due;  /* raw: once a second, for tasks that cannot wait for a poll */
    int64_t drift_due; /* raw */
    enum agreement told;
    bool stop, answered;
};

static const int64_t second_ns = 1000000000;

/* The first polls of the sources are this far (ns) apart, so that their packets do not queue. */
static const int64_t stagger_ns = 7000000;

static void runner_say(const struct runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void runner_say(const struct runner *runner, const char *format, ...)
{
    const struct ictus_lock_options *o = &runner->keeper.options;
    char text[400];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (o->on_message) {
        o->on_message(text, o->context);
    }
}

enum source_kind { SOURCE_SERVER, SOURCE_POOL, SOURCE_REFERENCE };

/*
 * The drift file gives a new source the frequency that the last run found as a prior of the loop.
 * Its standard deviation is 3 times the old one plus what oscillators change between runs. If it
 * were too small, the loop would distrust good measurements after a move to a warmer room. If it is
 * too large, this only costs some polls.
 */
static int run_add_source(struct runner *runner, const char *text, enum source_kind kind,
                          const struct key *key, struct ictus_why *why)
{
    struct keeper *k = &runner->keeper;
    const struct upstream_options options = {
        .lock = &k->options, .key = key, .keys = &runner->keys, .pool = kind == SOURCE_POOL};
    if (k->source_count == ICTUS_LOCK_SOURCES_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "at most %d sources can be given, and a pool counts as %d",
                             ICTUS_LOCK_SOURCES_MAX, POOL_SOURCES);
    }
    struct upstream *source = &k->sources[k->source_count];
    why->text[0] = '\0';
    const int err = kind == SOURCE_REFERENCE
                        ? ictusi_upstream_reference(source, text, &options, why)
                        : ictusi_upstream_server(source, text, &options, why);
    if (!err) {
        if (runner->drift.known) {
            const double doubt = runner->drift.same_boot ? drift_doubt : drift_doubt_boot;
            ictusi_discipline_expect(&source->discipline, runner->drift.frequency,
                                     3.0 * runner->drift.sd + doubt);
        }
        k->source_count++;
        if (why->text[0]) {
            runner_say(runner, "%s: %s", source->name, why->text);
        }
    }
    return err;
}

static int run_add_list(struct runner *runner, const char *list, enum source_kind kind,
                        const struct key *key, struct ictus_why *why)
{
    int err = ICTUS_OK;
    while (!err && list && *list) {
        char text[SPEC_BYTES];
        const size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof(text)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "'%.80s': a source is empty or too long",
                                 list);
        }
        memcpy(text, list, length);
        text[length] = '\0';
        list += length + (list[length] == ',' ? 1 : 0);
        const int count = kind == SOURCE_POOL ? POOL_SOURCES : 1;
        for (int i = 0; !err && i < count; i++) {
            err = run_add_source(runner, text, kind, key, why);
        }
    }
    return err;
}

static int run_open_sources(struct runner *runner, struct ictus_why *why)
{
    const struct ictus_lock_options *o = &runner->keeper.options;
    const struct key *key = NULL;
    if (!o->servers && !o->pool && !o->reference) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "no source was given; use --server, --pool or --reference");
    }
    int err = o->keys ? ictusi_keys_read(o->keys, &runner->keys, why) : ICTUS_OK;
    if (err) {
        return err;
    }
    if (o->key) {
        key = ictusi_keys_find(&runner->keys, (uint32_t)o->key);
        if (!key) {
            return ictus_because(
                why, ICTUS_ERR_SPEC,
                "--key=%lld: the key file (--keys) contains no key with this number",
                (long long)o->key);
        }
    }
    struct keeper *k = &runner->keeper;
    err = run_add_list(runner, o->reference, SOURCE_REFERENCE, NULL, why);
    err = err ? err : run_add_list(runner, o->servers, SOURCE_SERVER, key, why);
    err = err ? err : run_add_list(runner, o->pool, SOURCE_POOL, key, why);
    for (int i = 0; i < k->source_count; i++) {
        k->sources[i].siblings = k->sources;
        k->sources[i].sibling_count = k->source_count;
    }
    if (!err && k->source_count < o->min_sources) {
        err = ictus_because(why, ICTUS_ERR_SPEC,
                            "--min-sources=%d: only %d sources are given, so the clock would never "
                            "lock",
                            (int)o->min_sources, k->source_count);
    }
    return err;
}

/* Signals as a file descriptor, so that the same poll() waits for them and for packets, and
 * nothing is interrupted. */
static int run_open_signals(struct runner *runner)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, &runner->old_mask) < 0) {
        return ICTUS_ERR_IO;
    }
    runner->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return runner->signals < 0 ? ICTUS_ERR_IO : ICTUS_OK;
}

static size_t run_metrics_text(void *context, char *to, size_t size)
{
    const struct ictus_lock_options *o = context;
    struct ictus_lock_status status;
    /* Read through the page, like any reader, so that this thread shares nothing with the
     * daemon's. */
    struct ictus_lock *lock = NULL;
    memset(&status, 0, sizeof(status));
    if (ictus_lock_open(o->name, o->directory, &lock, NULL) == ICTUS_OK) {
        (void)ictus_lock_status(lock, &status);
        ictus_lock_close(lock);
    }
    return ictusi_lock_metrics_text(&status, to, size);
}

static int run_open_all(struct runner *runner, struct ictus_why *why)
{
    struct keeper *k = &runner->keeper;
    const struct ictus_lock_options *o = &k->options;
    /* Everything that may need privileges is opened before they are dropped. The metrics thread
     * starts after that, with signals blocked, so that only the descriptor receives them. */
    int err = o->steer ? ictusi_steer_check(&runner->steer, why) : ICTUS_OK;
    err = err ? err : ictusi_page_create(o->name, o->directory, &k->page, why);
    if (!err && o->drift) {
        err = ictusi_drift_open(&runner->drift, o->drift, why);
    }
    if (!err && o->clockbound) {
        err = ictusi_clockbound_open(&runner->clockbound, o->clockbound, why);
    }
    if (!err) {
        (void)ictusi_timebase_read(&k->base);
        err = run_open_sources(runner, why);
    }
    if (!err && o->metrics) {
        err = ictusi_lock_metrics_open(o->metrics, &runner->metrics_fd, why);
    }
    if (!err) {
        err = run_open_signals(runner);
    }
    err = err ? err : ictusi_privilege_drop(o->user, o->steer, why);
    if (!err && o->metrics) {
        err = ictusi_lock_metrics_start(runner->metrics_fd, run_metrics_text, &k->options,
                                        &runner->metrics);
    }
    return err;
}

/* Write the frequency (ns/s) and its standard deviation. Only a locked clock knows its
 * frequency. */
static void run_keep_drift(struct runner *runner)
{
    const struct keeper *k = &runner->keeper;
    if (runner->drift.fd >= 0 && k->published && k->clock.state == ICTUS_LOCK_LOCKED &&
        !ictusi_drift_write(&runner->drift, k->clock.slope * 1e9, sqrt(k->clock.ff_ns2_per_s2))) {
        runner_say(runner, "cannot write the drift file: %s", strerror(errno));
    }
}

/*
 * The clock becomes holdover and not unlocked. The line was good when the daemon ended, and its
 * bound grows with its age. Readers decide by their own tolerance whether to trust it, and
 * good_until tells them that it is no longer renewed.
 */
static void run_close_all(struct runner *runner)
{
    struct keeper *k = &runner->keeper;
    ictusi_lock_metrics_stop(runner->metrics);
    ictusi_steer_release(&runner->steer);
    run_keep_drift(runner);
    ictusi_drift_close(&runner->drift);
    ictusi_clockbound_close(&runner->clockbound);
    for (int i = 0; i < k->source_count; i++) {
        ictusi_upstream_close(&k->sources[i]);
    }
    if (k->published && k->clock.state == ICTUS_LOCK_LOCKED) {
        /* The line stays on the page, but it is no longer renewed. */
        k->clock.state = ICTUS_LOCK_HOLDOVER;
        ictusi_page_publish(&k->page, &k->clock);
    }
    ictusi_page_close(&k->page);
    ictusi_keys_free(&runner->keys);
    if (runner->metrics_fd >= 0) {
        (void)close(runner->metrics_fd);
    }
    if (runner->signals >= 0) {
        (void)close(runner->signals);
        (void)sigprocmask(SIG_SETMASK, &runner->old_mask, NULL);
    }
}

/* Read all pending signals. A pending one would end the process once the old mask is restored. */
static void run_take_signals(int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) > 0) {
    }
}

static bool run_is_done(const struct keeper *k, const struct upstream *s)
{
    return s->dead || (k->options.polls > 0 && s->polls >= k->options.polls);
}

static bool runner_ticks(const struct runner *runner)
{
    return runner->keeper.options.steer || runner->clockbound.segment;
}

/* Return the raw instant of the next task, or -1 if there is none. The search is linear, because
 * there are at most 16 sources and wake-ups are rare. */
static int64_t run_next_wake(const struct runner *runner)
{
    const struct keeper *k = &runner->keeper;
    int64_t next = -1;
    for (int i = 0; i < k->source_count; i++) {
        const struct upstream *s = &k->sources[i];
        if (!run_is_done(k, s) && (next < 0 || s->wake < next)) {
            next = s->wake;
        }
    }
    /* The tick alone does not keep the daemon running. It ends when all sources are done. */
    if (next >= 0 && runner_ticks(runner) && runner->tick_due < next) {
        next = runner->tick_due;
    }
    return next;
}

/*
 * Sleep until an instant or until a socket has data. ppoll() uses CLOCK_MONOTONIC, which is slewed
 * and may be 500 ppm fast or slow against raw time. Over 1024 s it may wake 0.5 s early or late.
 * Early is harmless, because the instant is checked again. Late is within the grace of a poll.
 * Sockets wake it at once, because the user stamp of a reply is taken when it is read.
 */
static void run_wait_until(struct runner *runner, int64_t wake)
{
    const struct keeper *k = &runner->keeper;
    struct pollfd events[ICTUS_LOCK_SOURCES_MAX + 1];
    const int64_t left = wake - ictusi_timebase_raw_now();
    if (left <= 0) {
        return;
    }
    events[0] = (struct pollfd){.fd = runner->signals, .events = POLLIN};
    for (int i = 0; i < k->source_count; i++) {
        /* -1 if no reply is expected; poll() ignores it. */
        events[i + 1] = (struct pollfd){.fd = ictusi_upstream_fd(&k->sources[i]), .events = POLLIN};
    }
    const struct timespec pause = {.tv_sec = left / second_ns, .tv_nsec = left % second_ns};
    if (ppoll(events, (nfds_t)k->source_count + 1, &pause, NULL) > 0 && events[0].revents) {
        run_take_signals(runner->signals);
        runner->stop = true;
    }
}

static void runner_tell(struct runner *runner, const struct upstream *source,
                        enum upstream_event event)
{
    if (event == UPSTREAM_KISS) {
        char code[5];
        ictusi_packet_refid_text(source->peer.reply.reference_id, code);
        runner_say(runner, "%s: kiss-o'-death %s%s", source->name, code,
                   source->dead ? ": it will not be asked again" : ": it will be asked less often");
    } else if (event == UPSTREAM_REFUSED && source->missed == 1) {
        runner_say(runner, "%s: reply refused: %s", source->name,
                   ictusi_packet_fault_name(source->peer.fault));
    } else if (event == UPSTREAM_STEPPED) {
        runner_say(runner, "%s: stepped by %.9f s", source->name,
                   source->discipline.innovation_ns / 1e9);
    } else if (event == UPSTREAM_LOST && source->trouble[0] && source->missed == 1) {
        runner_say(runner, "%s; trying again", source->trouble);
    } else if (event == UPSTREAM_LOST && source->missed == 3) {
        runner_say(runner, "%s: no answer", source->name);
    } else if (event == UPSTREAM_CLOCK) {
        runner_say(runner, "CLOCK_REALTIME was set during an exchange with %s", source->name);
    }
}

/* Report when a majority is lost or found. */
static void run_tell_agreement(struct runner *runner)
{
    const struct keeper *k = &runner->keeper;
    const struct consensus *c = &k->consensus;
    bool asked = true; /* each of them at least once */
    for (int i = 0; i < k->source_count; i++) {
        asked = asked && k->sources[i].polls > 0;
    }
    if (!asked || k->agreement == runner->told || k->agreement == AGREEMENT_NONE) {
        return;
    }
    if (k->agreement == AGREEMENT_DISSENT) {
        runner_say(runner,
                   "unlocked: there is no majority among %d sources, of which at most %d "
                   "may be wrong",
                   c->voters, c->liars);
    } else if (k->agreement == AGREEMENT_FEW) {
        runner_say(runner, "unlocked: --min-sources=%d must agree, but only %d do",
                   (int)k->options.min_sources, c->agreeing);
    } else if (runner->told != AGREEMENT_NONE) {
        runner_say(runner, "locked: a majority agrees (%d of %d sources)", c->agreeing, c->voters);
    }
    runner->told = k->agreement;
}

static void run_watch_clocks(struct runner *runner)
{
    const unsigned events = ictusi_keeper_watch(&runner->keeper);
    if (events & TIMEBASE_STEPPED) {
        runner_say(runner, "CLOCK_REALTIME was set; the locked clock continues unchanged");
    }
    if (events & TIMEBASE_SUSPENDED) {
        runner_say(runner, "the machine was suspended; starting over");
    }
}

static void run_end_poll(struct runner *runner, struct upstream *source, enum upstream_event event)
{
    struct keeper *k = &runner->keeper;
    runner->answered = runner->answered || event <= UPSTREAM_STEPPED;
    ictusi_keeper_update(k);
    source->falseticks += source->selection == ICTUS_SOURCE_FALSETICKER;
    ictusi_keeper_report(k);
    runner_tell(runner, source, event);
    run_tell_agreement(runner);
    if (k->options.on_poll) {
        struct ictus_lock_poll poll;
        ictusi_keeper_poll(k, source, event, &poll);
        k->options.on_poll(&poll, k->options.context);
    }
}

/* The bound of CLOCK_REALTIME: its distance to the clock, plus the possible error of the clock. */
static void run_tell_clockbound(struct runner *runner, double offset_ns)
{
    static const enum clockbound_status statuses[] = {
        [ICTUS_LOCK_UNLOCKED] = CLOCKBOUND_UNKNOWN,
        [ICTUS_LOCK_LOCKED] = CLOCKBOUND_SYNCHRONIZED,
        [ICTUS_LOCK_HOLDOVER] = CLOCKBOUND_FREE_RUNNING,
    };
    const struct keeper *k = &runner->keeper;
    const struct page_clock *c = &k->clock;
    /*
     *     bound(t) = |realtime - clock| + rest of a slew + bound + bound_rate s       (ns)
     * A client adds max_drift (here in ns/s, which is ppb) times the age of the bound, and so
     * covers the time until the next tick.
     */
    const double s = (double)(k->base.raw - c->anchor) * 1e-9;
    /* In ns. What is still to be slewed away counts fully as error. */
    const double left = fmax(0.0, fabs(c->slew_ns) - c->slew_rate * s * 1e9);
    /* The clock gains by its slope on raw time, and CLOCK_REALTIME by the steering of others. */
    const double drift = fabs(c->slope + k->base.rate) * 1e9 + c->bound_rate;
    ictusi_clockbound_tell(
        &runner->clockbound, statuses[c->state],
        fabs(offset_ns) + left + ictusi_page_bound(c->bound_ns, c->bound_rate, s), drift);
}

/*
 * Tasks that depend on time alone. They run once a second, whatever the interval of polls, because
 * steering CLOCK_REALTIME by rate requires it, and because the bound for ClockBound's clients is
 * renewed before it has grown.
 */
static void runner_tick(struct runner *runner, int64_t now)
{
    struct keeper *k = &runner->keeper;
    if (runner_ticks(runner) && now >= runner->tick_due) {
        const double offset_ns = ictusi_keeper_offset(k);
        runner->tick_due = now + second_ns;
        if (k->published && k->options.steer) {
            ictusi_steer_apply(&runner->steer, &k->clock, offset_ns);
            /* Its own step need not be reported. */
            (void)ictusi_timebase_read(&k->base);
            k->seen_steps = k->base.stepped;
        }
        if (k->published) {
            run_tell_clockbound(runner, offset_ns);
        }
    }
    if (now >= runner->drift_due) {
        run_keep_drift(runner);
        runner->drift_due = now + drift_ns;
    }
}

/*
 * Do everything that can be done now. The leap is checked first. From two seconds before it until
 * three seconds after it no poll begins, and those under way are dropped. A server may already have
 * leapt when this machine has not, and stamps from both sides of the leap make an exchange that is
 * off by a second.
 */
static void runner_act(struct runner *runner)
{
    struct keeper *k = &runner->keeper;
    const int64_t now = ictusi_timebase_raw_now();
    const int64_t quiet_until = ictusi_keeper_leap(k, now);
    (void)ictusi_timebase_read(&k->base);
    run_watch_clocks(runner);
    for (int i = 0; i < k->source_count; i++) {
        struct upstream *s = &k->sources[i];
        enum upstream_event event = UPSTREAM_LOST;
        if (quiet_until) {
            ictusi_upstream_postpone(s, quiet_until);
        } else if (!run_is_done(k, s) &&
                   ictusi_upstream_step(s, &k->base, ictusi_keeper_clock(k, now), &event)) {
            run_end_poll(runner, s, event);
        }
    }
    /* Watch again, because polls also read the timebase and may have seen a clock being set. */
    run_watch_clocks(runner);
    runner_tick(runner, now);
}

static int run_judge_end(const struct runner *runner, struct ictus_why *why)
{
    const struct keeper *k = &runner->keeper;
    if (ictusi_keeper_changed_too_far(k)) {
        return ictus_because(why, ICTUS_ERR_TOLERANCE,
                             "the clock would change by %.6f s, which is more than --maxchange; "
                             "exiting",
                             k->largest_change_ns / 1e9);
    }
    if (!runner->answered && !runner->stop) {
        const struct upstream *first = &k->sources[0];
        return first->trouble[0]
                   ? ictus_because(why, ICTUS_ERR_IO, "%s", first->trouble)
                   : ictus_because(why, ICTUS_ERR_TIMEOUT, "%s: %s", first->name,
                                   first->peer.fault ? ictusi_packet_fault_name(first->peer.fault)
                                                     : "no answer");
    }
    return ICTUS_OK;
}

/* The only place that sleeps. It ends by --duration, --polls, signals or --maxchange. Whether
 * the run was successful is judged afterwards, by whether any source ever answered. */
static int runner_loop(struct runner *runner, struct ictus_why *why)
{
    while (!runner->stop) {
        const int64_t wake = run_next_wake(runner);
        if (wake < 0 || (runner->ends && ictusi_timebase_raw_now() >= runner->ends)) {
            break;
        }
        run_wait_until(runner, runner->ends && runner->ends < wake ? runner->ends : wake);
        if (!runner->stop && (!runner->ends || ictusi_timebase_raw_now() < runner->ends)) {
            runner_act(runner);
        }
        if (ictusi_keeper_changed_too_far(&runner->keeper)) {
            break;
        }
    }
    return run_judge_end(runner, why);
}

static int runner_check(const struct ictus_lock_options *o, struct ictus_why *why)
{
    if (!o || o->size != sizeof(*o)) {
        return ICTUS_ERR_ARG;
    }
    if (o->tmin_s > o->tmax_s) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--tmin must not be larger than --tmax");
    }
    if (o->exchanges < 1 || o->exchanges > GROUP_MAX / 2) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--exchanges must be between 1 and %d",
                             GROUP_MAX / 2);
    }
    return ICTUS_OK;
}

int ictus_lock_run(const struct ictus_lock_options *options, struct ictus_why *why)
{
    struct ictus_why local = {""};
    why = why ? why : &local;
    int err = runner_check(options, why);
    if (err) {
        return err;
    }
    struct runner *runner = calloc(1, sizeof(*runner));
    if (!runner) {
        return ICTUS_ERR_NOMEM;
    }
    runner->keeper.options = *options;
    runner->keeper.page.fd = -1;
    runner->signals = -1;
    runner->metrics_fd = -1;
    runner->drift.fd = -1;
    runner->clockbound.fd = -1;
    ictusi_steer_init(&runner->steer);
    err = run_open_all(runner, why);
    if (!err) {
        const int64_t now = ictusi_timebase_raw_now();
        runner->keeper.started = now;
        runner->drift_due = now + drift_ns;
        runner->ends = options->duration_s > 0 ? now + (int64_t)(options->duration_s * 1e9) : 0;
        for (int i = 0; i < runner->keeper.source_count; i++) {
            runner->keeper.sources[i].due = now + i * stagger_ns;
            runner->keeper.sources[i].wake = now + i * stagger_ns;
        }
        ictusi_keeper_report(&runner->keeper);
        err = runner_loop(runner, why);
    }
    run_close_all(runner);
    free(runner);
    return err;
}
