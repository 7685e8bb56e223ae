/* SPDX-License-Identifier: BSD-3-Clause */
/* `ictus lock`: open everything, drop privileges, and poll until told to stop. */
#include "keeper.h"
#include "metrics.h"
#include "privilege.h"
#include "steer.h"

#include <errno.h>
#include <ictus/text.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { METRICS_BYTES = 24576, SPEC_BYTES = 320 };

struct runner {
    struct keeper keeper;
    struct keys keys;
    struct steer steer;
    int signals, metrics;
    sigset_t old_mask;
    int64_t ends; /* raw; 0: never */
    bool stop, answered;
};

static void say(const struct runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct runner *runner, const char *format, ...)
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

static int add_source(struct runner *runner, const char *text, bool reference,
                      const struct key *key, struct ictus_why *why)
{
    struct keeper *k = &runner->keeper;
    const struct upstream_options options = {.lock = &k->options, .key = key};
    if (k->source_count == ICTUS_LOCK_SOURCES_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "at most %d sources", ICTUS_LOCK_SOURCES_MAX);
    }
    struct upstream *source = &k->sources[k->source_count];
    why->text[0] = '\0';
    const int err = reference ? ictusi_upstream_reference(source, text, &options, why)
                              : ictusi_upstream_server(source, text, &options, why);
    if (!err) {
        k->source_count++;
        if (why->text[0]) {
            say(runner, "%s: %s", source->name, why->text);
        }
    }
    return err;
}

/* A name that does not resolve now may do so later, as long as another source works. */
static int add_list(struct runner *runner, const char *list, bool reference, const struct key *key,
                    struct ictus_why *why)
{
    int failed = ICTUS_OK;
    while (list && *list) {
        char text[SPEC_BYTES];
        const size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof(text)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "an empty or too long source in '%.80s'",
                                 list);
        }
        memcpy(text, list, length);
        text[length] = '\0';
        list += length + (list[length] == ',' ? 1 : 0);
        const int err = add_source(runner, text, reference, key, why);
        if (err == ICTUS_ERR_IO && !reference) {
            failed = err;
            if (*list || runner->keeper.source_count) {
                say(runner, "%s", why->text);
            }
        } else if (err) {
            return err;
        }
    }
    return runner->keeper.source_count ? ICTUS_OK : failed;
}

static int open_sources(struct runner *runner, struct ictus_why *why)
{
    const struct ictus_lock_options *o = &runner->keeper.options;
    const struct key *key = NULL;
    if (!o->servers && !o->reference) {
        return ictus_because(why, ICTUS_ERR_SPEC, "want --server or --reference");
    }
    int err = o->keys ? ictusi_keys_read(o->keys, &runner->keys, why) : ICTUS_OK;
    if (err) {
        return err;
    }
    if (o->key) {
        key = ictusi_keys_find(&runner->keys, (uint32_t)o->key);
        if (!key) {
            return ictus_because(why, ICTUS_ERR_SPEC, "--key=%lld: --keys names no such key",
                                 (long long)o->key);
        }
    }
    err = add_list(runner, o->reference, true, NULL, why);
    return err ? err : add_list(runner, o->servers, false, key, why);
}

static int open_signals(struct runner *runner)
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

static int open_all(struct runner *runner, struct ictus_why *why)
{
    struct keeper *k = &runner->keeper;
    const struct ictus_lock_options *o = &k->options;
    char path[512];
    int err = ictusi_page_path(o->name, o->directory, path, sizeof(path), why);
    if (!err) {
        err = ictusi_page_create(path, &k->page, why);
    }
    if (!err) {
        (void)ictusi_timebase_read(&k->base);
        err = open_sources(runner, why);
    }
    if (!err && o->metrics) {
        err = ictusi_metrics_open(o->metrics, &runner->metrics, why);
    }
    if (!err) {
        err = open_signals(runner);
    }
    return err ? err : ictusi_privilege_drop(o->user, o->steer, why);
}

static void close_all(struct runner *runner)
{
    struct keeper *k = &runner->keeper;
    for (int i = 0; i < k->source_count; i++) {
        ictusi_upstream_close(&k->sources[i]);
    }
    if (k->published && k->clock.state == ICTUS_LOCK_LOCKED) {
        k->clock.state = ICTUS_LOCK_HOLDOVER;
        ictusi_page_publish(&k->page, &k->clock);
    }
    ictusi_page_close(&k->page);
    ictusi_keys_free(&runner->keys);
    if (runner->metrics >= 0) {
        (void)close(runner->metrics);
    }
    if (runner->signals >= 0) {
        (void)close(runner->signals);
        (void)sigprocmask(SIG_SETMASK, &runner->old_mask, NULL);
    }
}

static void answer_metrics(struct runner *runner)
{
    struct ictus_lock_status status;
    char *body = malloc(METRICS_BYTES);
    if (!body) {
        return;
    }
    /* As a reader sees it: through the page. */
    struct ictus_lock *lock = NULL;
    memset(&status, 0, sizeof(status));
    if (ictus_lock_open(runner->keeper.options.name, runner->keeper.options.directory, &lock,
                        NULL) == ICTUS_OK) {
        (void)ictus_lock_status(lock, &status);
        ictus_lock_close(lock);
    }
    ictusi_metrics_answer(runner->metrics, body, ictusi_metrics_text(&status, body, METRICS_BYTES));
    free(body);
}

/* Heard and done with: one left pending would end the process once the mask is as it was. */
static void take_signals(int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) > 0) {
    }
}

/* Sleep until an instant, answering whoever asks meanwhile. */
static void wait_until(struct runner *runner, int64_t due)
{
    while (!runner->stop) {
        const int64_t left = due - ictusi_raw_now();
        if (left <= 0) {
            return;
        }
        struct pollfd events[2] = {{.fd = runner->signals, .events = POLLIN},
                                   {.fd = runner->metrics, .events = POLLIN}};
        const struct timespec pause = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (ppoll(events, 2, &pause, NULL) <= 0) {
            continue;
        }
        if (events[0].revents) {
            take_signals(runner->signals);
            runner->stop = true;
        }
        if (events[1].revents) {
            answer_metrics(runner);
        }
    }
}

static struct upstream *next_source(struct runner *runner)
{
    struct keeper *k = &runner->keeper;
    struct upstream *next = NULL;
    for (int i = 0; i < k->source_count; i++) {
        struct upstream *s = &k->sources[i];
        const bool done = s->dead || (k->options.polls > 0 && s->polls >= k->options.polls);
        if (!done && (!next || s->due < next->due)) {
            next = s;
        }
    }
    return next;
}

static void tell(struct runner *runner, const struct upstream *source, enum upstream_event event)
{
    if (event == UPSTREAM_KISS) {
        char code[5];
        ictusi_packet_refid_text(source->peer.reply.reference_id, code);
        say(runner, "%s: kiss-o'-death %s%s", source->name, code,
            source->dead ? ": never asked again" : ": asking less often");
    } else if (event == UPSTREAM_REFUSED && source->missed == 1) {
        say(runner, "%s: reply refused: %s", source->name,
            ictusi_packet_fault_name(source->peer.fault));
    } else if (event == UPSTREAM_STEPPED) {
        say(runner, "%s: stepped by %.9f s", source->name, source->discipline.innovation_ns / 1e9);
    } else if (event == UPSTREAM_LOST && source->missed == 3) {
        say(runner, "%s: no answer", source->name);
    } else if (event == UPSTREAM_CLOCK) {
        say(runner, "CLOCK_REALTIME was set during an exchange with %s", source->name);
    }
}

static void poll_source(struct runner *runner, struct upstream *source)
{
    struct keeper *k = &runner->keeper;
    const int64_t before = ictusi_raw_now();
    const int64_t shows = ictusi_keeper_clock(k, before);
    unsigned events = ictusi_timebase_read(&k->base);
    if (events & TIMEBASE_STEPPED) {
        say(runner, "CLOCK_REALTIME was set; the clock goes on unmoved");
    }
    if (events & TIMEBASE_SUSPENDED) {
        say(runner, "the machine was suspended: starting over");
    }
    ictusi_keeper_watch(k, events);
    const enum upstream_event event = ictusi_upstream_poll(source, &k->base, shows);
    runner->answered = runner->answered || event <= UPSTREAM_STEPPED;
    const bool was_stepped = event == UPSTREAM_STEPPED && k->selected == (int)(source - k->sources);
    ictusi_keeper_update(k, was_stepped);
    ictusi_keeper_report(k);
    if (k->options.steer) {
        ictusi_steer_apply(&runner->steer, &k->clock, k->system_offset_ns, source->interval_s);
    }
    tell(runner, source, event);
    if (k->options.on_poll) {
        struct ictus_lock_poll poll;
        ictusi_keeper_poll(k, source, event, &poll);
        k->options.on_poll(&poll, k->options.context);
    }
}

static int loop(struct runner *runner, struct ictus_why *why)
{
    struct keeper *k = &runner->keeper;
    while (!runner->stop) {
        struct upstream *source = next_source(runner);
        if (!source) {
            break;
        }
        const int64_t due = source->due;
        if (runner->ends && due >= runner->ends) {
            wait_until(runner, runner->ends);
            break;
        }
        wait_until(runner, due);
        if (!runner->stop) {
            poll_source(runner, source);
        }
    }
    if (!runner->answered && !runner->stop) {
        const struct upstream *first = &k->sources[0];
        return ictus_because(why, ICTUS_ERR_TIMEOUT, "%s: %s", first->name,
                             first->peer.fault ? ictusi_packet_fault_name(first->peer.fault)
                                               : "no answer");
    }
    return ICTUS_OK;
}

static int check(const struct ictus_lock_options *o, struct ictus_why *why)
{
    if (!o || o->size != sizeof(*o)) {
        return ICTUS_ERR_ARG;
    }
    if (o->tmin_s > o->tmax_s) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--tmin must not exceed --tmax");
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
    int err = check(options, why);
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
    runner->metrics = -1;
    ictusi_steer_init(&runner->steer);
    err = open_all(runner, why);
    if (!err) {
        const int64_t now = ictusi_raw_now();
        runner->keeper.started = now;
        runner->ends = options->duration_s > 0 ? now + (int64_t)(options->duration_s * 1e9) : 0;
        for (int i = 0; i < runner->keeper.source_count; i++) {
            runner->keeper.sources[i].due = now;
        }
        ictusi_keeper_report(&runner->keeper);
        err = loop(runner, why);
    }
    close_all(runner);
    free(runner);
    return err;
}
