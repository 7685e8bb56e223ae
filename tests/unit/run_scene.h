/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All that `ictus lock` opens, asks and tells, made up: the linker gives its loop these functions
 * (--wrap). They write down in which order they were called; time passes where the loop waits.
 */
#ifndef ICTUS_TESTS_RUN_SCENE_H
#define ICTUS_TESTS_RUN_SCENE_H

#include "lock/clockbound.h"
#include "lock/drift.h"
#include "lock/keeper.h"
#include "lock/metrics.h"
#include "lock/privilege.h"
#include "lock/steer.h"

#include <ictus/lock_daemon.h>
#include <ictus/text.h>

#include "../check.h"

#include <poll.h>
#include <stdarg.h>
#include <unistd.h>

static const int64_t second = 1000000000;
static const int64_t ms = 1000000;

/* One run: what the parts answer, and what they were told. */
static struct scene {
    int64_t now, began;
    char journal[1024]; /* "page drift server(a) ..." */
    char said[2048];
    const char *fails; /* the part that cannot be opened */
    struct keeper *keeper;
    /* Sources: how often they are asked, and what comes of it. */
    int64_t every[ICTUS_LOCK_SOURCES_MAX];
    enum upstream_event event;
    int steps, updates, reports, polls, watches;
    int64_t first_step[ICTUS_LOCK_SOURCES_MAX], last_step;
    bool with_key[ICTUS_LOCK_SOURCES_MAX], from_pool[ICTUS_LOCK_SOURCES_MAX];
    double expected, expected_sd; /* frequencies that sources begin with */
    void (*on_step)(struct keeper *keeper, int source);
    void (*on_wait)(void);
    /* The clock, as the keeper sees it. */
    double offset_ns;
    unsigned watch_events;
    int64_t quiet_until, postponed_until;
    bool changed_too_far;
    /* The tasks of each second. */
    int applied, told, drifts, reads, reads_applied;
    double told_bound, told_drift, drift_frequency, drift_sd;
    enum clockbound_status told_status;
    int64_t last_tick, last_tell;
    bool drift_known, drift_same_boot, drift_unwritable;
    /* The end. */
    struct page_clock published;
    int publishes;
    size_t (*metrics_text)(void *context, char *to, size_t size);
    void *metrics_context;
    bool keep_time, page_is_there;
} scene;

/* What a test wants to be in the clock that a source has locked. */
static struct page_clock scene_clock;

static void scene_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void scene_note(const char *format, ...)
{
    const size_t used = strlen(scene.journal);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(scene.journal + used, sizeof(scene.journal) - used, format, list);
    va_end(list);
}

/* Note a part that is opened. @return an error if the test wants one */
static int scene_open(const char *part, struct ictus_why *why)
{
    scene_note("%s ", part);
    return scene.fails && strcmp(scene.fails, part) == 0
               ? ictus_because(why, ICTUS_ERR_PERMISSION, "no %s", part)
               : ICTUS_OK;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
#define SCENE_WRAP(result, name, ...)                                                              \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

SCENE_WRAP(int64_t, ictusi_timebase_raw_now, void)
{
    return scene.now;
}

SCENE_WRAP(unsigned, ictusi_timebase_read, struct timebase *base)
{
    base->raw = scene.now;
    scene.reads++;
    return 0;
}

SCENE_WRAP(int, ictusi_steer_check, struct steer *steer, struct ictus_why *why)
{
    CHECK(steer->adjust != NULL);
    return scene_open("steer", why);
}

SCENE_WRAP(void, ictusi_steer_apply, struct steer *steer, const struct page_clock *clock,
           double offset_ns)
{
    CHECK(steer->adjust && clock == &scene.keeper->clock && offset_ns == scene.offset_ns);
    CHECK(!scene.applied || scene.now - scene.last_tick >= second);
    scene.last_tick = scene.now;
    scene.applied++;
    scene.reads_applied = scene.reads;
    scene.keeper->base.stepped++; /* its own step */
}

SCENE_WRAP(void, ictusi_steer_release, struct steer *steer)
{
    CHECK(steer->adjust != NULL);
    scene_note("-steer ");
}

SCENE_WRAP(int, ictusi_page_create, const char *name, const char *directory,
           struct page_writer *writer, struct ictus_why *why)
{
    CHECK(strcmp(name, "run") == 0 && strcmp(directory, "/nowhere") == 0 && writer->fd == -1);
    return scene_open("page", why);
}

SCENE_WRAP(void, ictusi_page_publish, struct page_writer *writer, const struct page_clock *clock)
{
    CHECK(writer == &scene.keeper->page);
    scene.published = *clock;
    scene.publishes++;
}

SCENE_WRAP(void, ictusi_page_close, struct page_writer *writer)
{
    CHECK(writer != NULL);
    scene_note("-page ");
}

SCENE_WRAP(int, ictusi_drift_open, struct drift *drift, const char *path, struct ictus_why *why)
{
    CHECK(strcmp(path, "/drift") == 0);
    drift->fd = 0;
    drift->known = scene.drift_known;
    drift->same_boot = scene.drift_same_boot;
    drift->frequency = 1234;
    drift->sd = 7;
    return scene_open("drift", why);
}

SCENE_WRAP(bool, ictusi_drift_write, struct drift *drift, double frequency, double sd)
{
    CHECK(drift->fd == 0);
    scene.drifts++;
    scene.drift_frequency = frequency;
    scene.drift_sd = sd;
    return !scene.drift_unwritable;
}

SCENE_WRAP(void, ictusi_drift_close, struct drift *drift)
{
    CHECK(drift != NULL);
    scene_note("-drift ");
}

SCENE_WRAP(int, ictusi_clockbound_open, struct clockbound *bound, const char *path,
           struct ictus_why *why)
{
    static struct clockbound_segment segment;
    CHECK(strcmp(path, "/segment") == 0);
    bound->segment = &segment;
    return scene_open("clockbound", why);
}

SCENE_WRAP(void, ictusi_clockbound_tell, struct clockbound *bound, enum clockbound_status status,
           double bound_ns, double drift)
{
    if (bound->segment) {
        CHECK(!scene.told || scene.now - scene.last_tell >= second);
        scene.last_tell = scene.now;
        scene.told++;
    }
    scene.told_status = status;
    scene.told_bound = bound_ns;
    scene.told_drift = drift;
}

SCENE_WRAP(void, ictusi_clockbound_close, struct clockbound *bound)
{
    CHECK(bound->fd == -1);
    scene_note("-clockbound ");
}

SCENE_WRAP(int, ictusi_keys_read, const char *path, struct keys *keys, struct ictus_why *why)
{
    CHECK(strcmp(path, "/keys") == 0 && keys);
    return scene_open("keys", why);
}

SCENE_WRAP(const struct key *, ictusi_keys_find, const struct keys *keys, uint32_t id)
{
    static const struct key key = {.id = 5};
    CHECK(keys != NULL);
    return id == 5 ? &key : NULL;
}

SCENE_WRAP(void, ictusi_keys_free, struct keys *keys)
{
    CHECK(keys != NULL);
    scene_note("-keys ");
}

/* A source whose name begins with "!" is refused, and one with "?" is opened with a remark. */
static int scene_add(struct upstream *source, const char *kind, const char *text,
                     const struct upstream_options *options, struct ictus_why *why)
{
    scene_note("%s(%s) ", options->pool ? "pool" : kind, text);
    CHECK(options->lock && options->keys && !why->text[0] && scene.reads > 0);
    (void)snprintf(source->name, sizeof(source->name), "%s", text);
    if (text[0] == '!') {
        return ictus_because(why, ICTUS_ERR_SPEC, "no such source");
    }
    if (text[0] == '?') {
        (void)ictus_because(why, ICTUS_OK, "no hardware stamps");
    }
    return ICTUS_OK;
}

SCENE_WRAP(int, ictusi_upstream_server, struct upstream *source, const char *text,
           const struct upstream_options *options, struct ictus_why *why)
{
    return scene_add(source, options->key ? "keyed" : "server", text, options, why);
}

SCENE_WRAP(int, ictusi_upstream_reference, struct upstream *source, const char *text,
           const struct upstream_options *options, struct ictus_why *why)
{
    CHECK(!options->key);
    return scene_add(source, "reference", text, options, why);
}

SCENE_WRAP(void, ictusi_discipline_expect, struct discipline *discipline, double frequency,
           double sd)
{
    CHECK(discipline != NULL);
    scene.expected = frequency;
    scene.expected_sd = sd;
}

SCENE_WRAP(void, ictusi_upstream_close, struct upstream *source)
{
    scene_note("-%s ", source->name);
}

SCENE_WRAP(int, ictusi_upstream_fd, const struct upstream *source)
{
    return 1000 + (int)(source - scene.keeper->sources);
}

SCENE_WRAP(void, ictusi_upstream_postpone, struct upstream *source, int64_t until)
{
    CHECK(until == scene.quiet_until);
    source->wake = until;
    scene.postponed_until = until;
}

/* A source answers at once when it is due. */
SCENE_WRAP(bool, ictusi_upstream_step, struct upstream *source, struct timebase *base,
           int64_t utc_ns, enum upstream_event *event)
{
    const int i = (int)(source - source->siblings);
    struct keeper *k = scene.keeper;
    if (!k || scene.now < source->due) {
        source->wake = source->due;
        return false;
    }
    CHECK(base == &k->base && base->raw == scene.now && utc_ns == 77 && i < source->sibling_count);
    CHECK(source->sibling_count == k->source_count);
    if (source->polls++ == 0) {
        scene.first_step[i] = scene.now - scene.began;
    }
    scene.steps++;
    scene.last_step = scene.now;
    source->due = source->wake = scene.now + (scene.every[i] ? scene.every[i] : second / 2);
    *event = scene.event;
    if (scene.on_step) {
        scene.on_step(k, i);
    }
    return true;
}

SCENE_WRAP(void, ictusi_keeper_update, struct keeper *k)
{
    CHECK(k == scene.keeper && scene.updates == scene.steps - 1);
    scene.updates++;
}

/* The first report comes when all is open, before anything is asked. */
SCENE_WRAP(void, ictusi_keeper_report, struct keeper *k)
{
    if (scene.reports++ == 0) {
        scene.keeper = k;
        scene_note("| ");
        CHECK(k->started == scene.now);
        return;
    }
    CHECK(scene.reports == scene.updates + 1);
}

SCENE_WRAP(unsigned, ictusi_keeper_watch, struct keeper *k)
{
    const unsigned events = scene.watch_events;
    CHECK(k == scene.keeper);
    scene.watch_events = 0;
    scene.watches++;
    return events;
}

SCENE_WRAP(int64_t, ictusi_keeper_leap, struct keeper *k, int64_t raw)
{
    CHECK(k == scene.keeper && raw == scene.now);
    return raw < scene.quiet_until ? scene.quiet_until : 0;
}

SCENE_WRAP(double, ictusi_keeper_offset, struct keeper *k)
{
    CHECK(k == scene.keeper);
    return scene.offset_ns;
}

SCENE_WRAP(int64_t, ictusi_keeper_clock, const struct keeper *k, int64_t raw)
{
    CHECK(k == scene.keeper && raw == scene.now);
    return 77;
}

SCENE_WRAP(void, ictusi_keeper_poll, const struct keeper *k, const struct upstream *source,
           enum upstream_event event, struct ictus_lock_poll *poll)
{
    CHECK(k == scene.keeper && event == scene.event);
    memset(poll, 0, sizeof(*poll));
    poll->source = source->name;
}

SCENE_WRAP(bool, ictusi_keeper_changed_too_far, const struct keeper *k)
{
    CHECK(k != NULL);
    return scene.changed_too_far;
}

SCENE_WRAP(int, ictusi_lock_metrics_open, const char *where, int *fd, struct ictus_why *why)
{
    CHECK(strcmp(where, "9123") == 0 && *fd == -1);
    *fd = dup(STDIN_FILENO);
    return scene_open("metrics", why);
}

SCENE_WRAP(int, ictusi_lock_metrics_start, int listener,
           size_t (*text)(void *context, char *to, size_t size), void *context,
           struct metrics **metrics)
{
    CHECK(listener > STDERR_FILENO && metrics);
    scene.metrics_text = text;
    scene.metrics_context = context;
    return scene_open("thread", NULL);
}

SCENE_WRAP(void, ictusi_lock_metrics_stop, struct metrics *metrics)
{
    CHECK(!metrics);
    scene_note("; -thread ");
}

SCENE_WRAP(int, ictus_lock_open, const char *name, const char *directory, struct ictus_lock **lock,
           struct ictus_why *why)
{
    CHECK(strcmp(name, "run") == 0 && strcmp(directory, "/nowhere") == 0 && !why);
    scene_note("read ");
    *lock = scene.page_is_there ? (struct ictus_lock *)(void *)&scene : NULL;
    return *lock ? ICTUS_OK : ICTUS_ERR_ARG;
}

SCENE_WRAP(int, ictus_lock_status, const struct ictus_lock *lock, struct ictus_lock_status *status)
{
    CHECK(lock == (const struct ictus_lock *)(const void *)&scene);
    status->stratum = 7;
    return ICTUS_OK;
}

SCENE_WRAP(void, ictus_lock_close, struct ictus_lock *lock)
{
    CHECK(lock == (struct ictus_lock *)(void *)&scene);
    scene_note("-read ");
}

SCENE_WRAP(int, ictusi_privilege_drop, const char *user, bool keep_time, struct ictus_why *why)
{
    CHECK(strcmp(user, "nobody") == 0);
    scene.keep_time = keep_time;
    return scene_open("drop", why);
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* Time passes here. The first descriptor is the signals', the others are the sources'. */
int ppoll(struct pollfd *events, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    REQUIRE(scene.keeper && count == (nfds_t)scene.keeper->source_count + 1 && timeout && !mask);
    const int64_t pause = timeout->tv_sec * second + timeout->tv_nsec;
    CHECK(pause > 0 && timeout->tv_nsec < second);
    for (nfds_t i = 0; i < count; i++) {
        CHECK(events[i].events == POLLIN && (i == 0 || events[i].fd == 999 + (int)i));
    }
    scene.now += pause;
    if (scene.on_wait) {
        scene.on_wait();
    }
    return poll(events, 1, 0);
}

int __ppoll_chk(struct pollfd *events, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size);
int __ppoll_chk(struct pollfd *events, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t size)
{
    (void)size;
    return ppoll(events, count, timeout, mask);
}

/* What is said, and after how many polls. */
static void scene_hear(const char *text, void *context)
{
    const size_t used = strlen(scene.said);
    CHECK(context == &scene);
    (void)snprintf(scene.said + used, sizeof(scene.said) - used, "%d %s\n", scene.steps, text);
}

static void scene_count(const struct ictus_lock_poll *poll, void *context)
{
    CHECK(context == &scene && poll->source && scene.polls == scene.steps - 1);
    CHECK(scene.reports == scene.steps + 1); /* the page knows it already */
    scene.polls++;
}

static struct ictus_lock_options scene_begin(const char *servers)
{
    memset(&scene, 0, sizeof(scene));
    memset(&scene_clock, 0, sizeof(scene_clock));
    scene.now = scene.began = 5000 * second;
    scene.event = UPSTREAM_ACCEPTED;
    const struct ictus_lock_options o = {.size = sizeof(o),
                                         .servers = servers,
                                         .name = "run",
                                         .directory = "/nowhere",
                                         .user = "nobody",
                                         .exchanges = 4,
                                         .duration_s = 10,
                                         .tmin_s = 1,
                                         .tmax_s = 1,
                                         .on_poll = scene_count,
                                         .on_message = scene_hear,
                                         .context = &scene};
    return o;
}

#endif
