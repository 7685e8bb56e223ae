/* SPDX-License-Identifier: BSD-3-Clause */
/* A process of a made-up job, as far as the beginning and the end of a trace see it: its MPI
 * library, its clock, the rest of the tracer, and what the other processes answer. */
#ifndef ICTUS_TESTS_LIFECYCLE_SCENE_H
#define ICTUS_TESTS_LIFECYCLE_SCENE_H

#include "../check.h"

#include "sync/clock.h"
#include "tracer/comms.h"
#include "tracer/directory.h"
#include "tracer/lifecycle.h"
#include "tracer/openmp.h"
#include "tracer/real.h"
#include "tracer/sessions.h"

#include <fcntl.h>
#include <ictus/text.h>
#include <ictus/traits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RANK = 2, SIZE = 5, LINES = 40, LENGTH = 400, WORDS = 512, STEP_NS = 10 };

static const int64_t local_ns = 7000000000; /* of the clock's source */
static const int64_t ahead_ns = 123;        /* of the global clock, at that instant */
static const double slope = 2e-6, sigma_ns = 8.5, sigma_later_ns = 9.25, bound_ns = 77.0;

struct tracer ictusi_tracer;
__thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
__thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

static char directory[CHECK_PATH];
static struct recorder recorder;
static uint64_t words[WORDS];
static struct source_counter counter = {.anchor_ticks = 77, .anchor_ns = 88, .multiplier = 1234};
static struct ictus_clock clock_made;

/* The other processes of the job, what is missing on this machine, and what has been done. */
static struct {
    int claims, running;          /* their minimum */
    int fails_at, agreements;     /* the n-th time that all agree, another process has failed */
    double every_s, barriers;     /* the root's settings */
    const char *scratch, *parent; /* the root's directories; NULL: this is the root */
    bool has_tsc, has_clock;
    const char *kind; /* of the clock */
    bool is_spawned, fails_to_meet, joins_full, cannot_join;
    int provided, missing;
    char specs[2][LENGTH];
    int specs_tried, traits, resyncs, rests, leaves_room, frees[3], finishes, mutes, settled;
    int made, made_spawned, scratches, threads_ended;
    bool settled_begun;
    char said[LENGTH];
    char lines[LINES][LENGTH];
    int line_count;
    int64_t now_ns;
} world;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's */
int clock_gettime(clockid_t id, struct timespec *t)
{
    const int64_t now =
        (id == CLOCK_REALTIME ? 1800000000 * ICTUS_NS_PER_S : 0) + (world.now_ns += STEP_NS);
    *t = (struct timespec){.tv_sec = now / ICTUS_NS_PER_S, .tv_nsec = now % ICTUS_NS_PER_S};
    return 0;
}

/* What MPI does. */

static int model_allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm)
{
    CHECK(count == 1 && comm == (ictusi_tracer.comm ? ictusi_tracer.comm : MPI_COMM_WORLD));
    if (type == MPI_2INT) {
        const int none[2] = {0, 0}, another[2] = {-ICTUS_ERR_IO, 4};
        const bool fails = ++world.agreements == world.fails_at;
        CHECK(op == MPI_MAXLOC && ((const int *)from)[1] == ictusi_tracer.rank);
        memcpy(to, ((const int *)from)[0] > 0 ? from : fails ? another : none, sizeof(another));
        return MPI_SUCCESS;
    }
    CHECK(type == MPI_INT && op == MPI_MIN);
    const int theirs = atomic_load(&ictusi_tracer.state) == TRACER_RUNNING ||
                               atomic_load(&ictusi_tracer.state) == TRACER_DONE
                           ? world.running
                           : world.claims;
    *(int *)to = *(const int *)from < theirs ? *(const int *)from : theirs;
    return MPI_SUCCESS;
}

static int model_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct trace_settings *s = &ictusi_tracer.settings;
    CHECK(comm == ictusi_tracer.comm);
    if (root == ictusi_tracer.rank) {
        return MPI_SUCCESS;
    }
    if (type == MPI_DOUBLE) {
        CHECK(count == 2 && root == 0);
        memcpy(buffer, (double[]){world.every_s, world.barriers}, 2 * sizeof(double));
    } else if (buffer == s->scratch || buffer == s->directory) {
        CHECK(type == MPI_CHAR && count == 2048 && root == 0);
        (void)snprintf(buffer, (size_t)count, "%s",
                       buffer == s->scratch ? world.scratch : world.parent);
    } else {
        CHECK(type == MPI_CHAR && count == (int)sizeof(struct ictus_why) && root == 4);
        (void)snprintf(buffer, (size_t)count, "process 4 has no disk");
    }
    return MPI_SUCCESS;
}

static int model_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = world.scratch ? RANK : 0;
    return MPI_SUCCESS;
}

static int model_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = SIZE;
    return MPI_SUCCESS;
}

static int model_query_thread(int *provided)
{
    *provided = world.provided;
    return MPI_SUCCESS;
}

static int model_comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    CHECK(comm == MPI_COMM_WORLD);
    *made = MPI_COMM_SELF;
    return MPI_SUCCESS;
}

static int model_comm_group(MPI_Comm comm, MPI_Group *group)
{
    CHECK(comm == MPI_COMM_WORLD);
    *group = MPI_GROUP_EMPTY;
    return MPI_SUCCESS;
}

static int model_comm_get_parent(MPI_Comm *parent)
{
    *parent = world.is_spawned ? MPI_COMM_SELF : MPI_COMM_NULL;
    return MPI_SUCCESS;
}

static int model_group_free(MPI_Group *group)
{
    CHECK(*group == MPI_GROUP_EMPTY);
    world.frees[0]++;
    return MPI_SUCCESS;
}

static int model_comm_free(MPI_Comm *comm)
{
    CHECK(*comm == MPI_COMM_SELF);
    world.frees[1]++;
    return MPI_SUCCESS;
}

struct real_mpi ictusi_real = {.P_Allreduce = model_allreduce,
                               .P_Bcast = model_bcast,
                               .P_Comm_rank = model_rank,
                               .P_Comm_size = model_size,
                               .P_Query_thread = model_query_thread,
                               .P_Comm_dup = model_comm_dup,
                               .P_Comm_group = model_comm_group,
                               .P_Comm_get_parent = model_comm_get_parent,
                               .P_Group_free = model_group_free,
                               .P_Comm_free = model_comm_free};

/* What the library does. */

static void *counter_state(struct source *source, size_t *size)
{
    (void)source;
    *size = sizeof(counter);
    return &counter;
}

static const struct source_ops kinds[] = {
    {.name = "tsc", .state = counter_state}, {.name = "monotonic"}, {.name = "sim"}};

int ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **clock,
                           struct ictus_why *why)
{
    static struct source source;
    CHECK(comm == ictusi_tracer.comm);
    REQUIRE(world.specs_tried < 2);
    (void)snprintf(world.specs[world.specs_tried++], LENGTH, "%s", spec ? spec : "(none)");
    const bool wants_tsc = spec && strstr(spec, "@tsc");
    if (wants_tsc ? !world.has_tsc : !world.has_clock) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "there is no such clock");
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        source.ops = strcmp(kinds[i].name, world.kind) == 0 ? &kinds[i] : source.ops;
    }
    clock_made.source = &source;
    *clock = &clock_made;
    return ICTUS_OK;
}

struct ictus_time ictus_clock_local(const struct ictus_clock *clock)
{
    CHECK(clock == &clock_made);
    return (struct ictus_time){local_ns};
}

int ictus_clock_map_reading(const struct ictus_clock *clock, struct ictus_time local,
                            struct ictus_reading *reading)
{
    const int64_t since = local.ns - local_ns;
    CHECK(clock == &clock_made);
    *reading = (struct ictus_reading){{local.ns + ahead_ns + llround(slope * (double)since)},
                                      since ? sigma_later_ns : sigma_ns,
                                      0,
                                      bound_ns};
    return ICTUS_OK;
}

int ictus_clock_resync(struct ictus_clock *clock)
{
    CHECK(clock == &clock_made);
    world.resyncs++;
    return world.fails_to_meet ? ICTUS_ERR_MPI : ICTUS_OK;
}

const char *ictus_clock_spec(const struct ictus_clock *clock)
{
    CHECK(clock == &clock_made);
    return "mesh@made-up";
}

void ictus_clock_free(struct ictus_clock *clock)
{
    world.frees[2] += clock == &clock_made;
}

int ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                       struct ictus_why *why)
{
    CHECK(comm == ictusi_tracer.comm);
    for (size_t i = 0; i < count; i++) {
        const char *given = getenv(traits[i].name);
        world.traits += given && given[0] ? traits[i].value && strcmp(traits[i].value, given) == 0
                                          : traits[i].value == NULL;
        if (traits[i].value && strcmp(traits[i].value, "apart") == 0) {
            return ictus_because(why, ICTUS_ERR_SPEC, "%s differs", traits[i].name);
        }
    }
    return ICTUS_OK;
}

/* What the rest of the tracer does. */

void ictusi_tracer_log(const char *format, ...)
{
    va_list list;
    REQUIRE(world.line_count < LINES && ictusi_tracer.log_fd >= 0);
    va_start(list, format);
    (void)vsnprintf(world.lines[world.line_count++], LENGTH, format, list);
    va_end(list);
}

void ictusi_tracer_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(world.said, LENGTH, format, list);
    va_end(list);
}

struct recorder *ictusi_tracer_join(void)
{
    struct tracer *t = &ictusi_tracer;
    CHECK(atomic_load(&t->state) == TRACER_RUNNING && t->clock == &clock_made);
    if (world.cannot_join) {
        return NULL;
    }
    memset(&recorder, 0, sizeof(recorder));
    memset(words, 0, sizeof(words));
    recorder.pos = words;
    recorder.soft = words + WORDS;
    recorder.enabled = t->enabled;
    recorder.kind = t->setup.kind;
    recorder.clock = t->clock;
    recorder.after = world.joins_full ? AFTER_FULL : 0;
    t->recorders[t->recorder_count++] = &recorder;
    return ictusi_tracer_self = ictusi_tracer_active = &recorder;
}

void ictusi_tracer_unusual(struct recorder *r, unsigned function)
{
    CHECK(r == &recorder);
    ictusi_tracer_log("F\t%u", function);
    atomic_store(&ictusi_tracer.enabled[function], FILTER_ON);
}

void ictusi_tracer_mute(bool muted)
{
    world.mutes += muted;
}

int ictusi_tracer_metrics_choose(const char *names, struct metric_set *set, char *missing,
                                 size_t size, struct ictus_why *why)
{
    (void)why;
    CHECK(strcmp(names, world.missing ? "cycles" : "page_faults,flops") == 0 || !names[0]);
    (void)snprintf(missing, size, "%s", world.missing ? "cycles" : "");
    set->count = names[0] && !world.missing ? 2 : 0;
    (void)snprintf(set->names[0], METRIC_NAME_ROOM, "page_faults");
    (void)snprintf(set->names[1], METRIC_NAME_ROOM, "flops");
    return ICTUS_OK;
}

int ictusi_directory_make(const struct trace_settings *settings, struct ictus_why *why)
{
    world.made++;
    return strcmp(settings->directory, "/taken") == 0
               ? ictus_because(why, ICTUS_ERR_EXISTS, "/taken has a trace")
               : ICTUS_OK;
}

int ictusi_directory_make_spawned(struct trace_settings *settings, struct ictus_why *why)
{
    (void)settings, (void)why;
    world.made_spawned++;
    return ICTUS_OK;
}

int ictusi_directory_raw(const struct trace_settings *settings, char *path, size_t size,
                         struct ictus_why *why)
{
    (void)settings, (void)why;
    (void)snprintf(path, size, "%s", directory);
    return ICTUS_OK;
}

void ictusi_directory_scratch_own(struct trace_settings *settings)
{
    world.scratches++;
    (void)snprintf(settings->scratch, sizeof(settings->scratch), "/own");
}

int ictusi_comms_start(void)
{
    CHECK(!ictusi_tracer.in_sessions);
    return 0;
}

void ictusi_sessions_meet(MPI_Comm all)
{
    CHECK(all == MPI_COMM_WORLD);
    ictusi_tracer.in_sessions = true;
    ictusi_tracer.comm = MPI_COMM_SELF;
}

void ictusi_sessions_settle(bool begun)
{
    world.settled++;
    world.settled_begun = begun;
}

void ictusi_tracer_thread_ended(void *r)
{
    world.threads_ended += r == &recorder;
}

void ictusi_tracer_switched(struct recorder *r, bool muted)
{
    CHECK(r == &recorder);
    r->muted = muted;
    r->enabled = muted ? ictusi_tracer.tracked : ictusi_tracer.enabled;
}

uint64_t ictusi_tracer_count_lost(struct tracer *t)
{
    return t->lost + recorder.lost;
}

void ictusi_openmp_finish(void)
{
    CHECK(world.rests == 0); /* it writes records */
    world.finishes++;
}

void ictusi_recorder_rest(struct recorder *r)
{
    REQUIRE(r == &recorder);
    world.rests++;
}

void ictusi_recorder_leave_room(struct recorder *r)
{
    world.leaves_room += r == &recorder;
}

void ictusi_recorder_switch(struct recorder *r)
{
    REQUIRE(!r); /* not called: there is room */
}

void ictusi_recorder_flush(struct recorder *r)
{
    REQUIRE(!r); /* not called: nothing is flushed */
}

uint64_t ictusi_sites_find(struct sites *sites, uint64_t address, const void *stack)
{
    (void)sites, (void)address, (void)stack;
    return 21;
}

/* A process with such a clock, which is not the root, in a job where all goes well. */
static void scene_begin(const char *kind)
{
    static const char *const unset[] = {
        "SCRATCH",       "SYNC",         "CLOCK",           "FILTER",   "METRICS",
        "METRICS_EVERY", "RESYNC_EVERY", "RESYNC_BARRIERS", "BUFFER",   "LIMIT",
        "OFF",           "DEFER",        "WINDOW",          "REQUESTS", "STATISTICS"};
    struct tracer *t = &ictusi_tracer;
    char text[CHECK_PATH + 40];
    for (size_t i = 0; i < sizeof(unset) / sizeof(*unset); i++) {
        (void)snprintf(text, sizeof(text), "ICTUS_TRACE_%s", unset[i]);
        CHECK(unsetenv(text) == 0);
    }
    CHECK(unsetenv("ICTUS_CLOCK") == 0 && unsetenv("ICTUS_SYNC") == 0);
    CHECK(setenv("ICTUS_TRACE_OUTPUT", "/mine", 1) == 0);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(text, sizeof(text), "%s/%d.%s", directory, i < 2 ? RANK : 0,
                       i % 2 ? "log" : "tally");
        (void)(unlink(text) && rmdir(text));
    }
    if (t->log_fd >= 0 && world.line_count > 0) {
        CHECK(close(t->log_fd) == 0);
    }
    struct table *const tables[] = {&t->comms, &t->requests, &t->windows, &t->files, &t->counters};
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        ictusi_table_fini(tables[i]);
    }
    ictusi_tally_close(&t->tally);
    memset(t, 0, sizeof(*t));
    memset(&world, 0, sizeof(world));
    memset(&recorder, 0, sizeof(recorder));
    t->log_fd = -1;
    ictusi_tracer_self = ictusi_tracer_active = NULL;
    world.claims = world.running = 1;
    world.scratch = "/theirs";
    world.parent = "/parent";
    world.has_tsc = world.has_clock = true;
    world.kind = kind;
    world.provided = MPI_THREAD_MULTIPLE;
    world.now_ns = 60 * ICTUS_NS_PER_S;
}

#endif
