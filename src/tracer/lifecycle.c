/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts and ends a trace. */
#include "tracer/lifecycle.h"

#include "sync/clock.h"
#include "tracer/comms.h"
#include "tracer/directory.h"
#include "tracer/openmp.h"
#include "tracer/real.h"
#include "tracer/requests.h"
#include "tracer/sessions.h"
#include "tracer/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <ictus/traits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The region that the tracer records for itself. */
enum { REGION_SYNC = REGION_USER };

struct early_stamp ictusi_tracer_stamp(void)
{
    struct early_stamp stamp = {ticks_monotonic_ns(), 0};
#if defined(__x86_64__)
    stamp.counter = __rdtsc();
#endif
    return stamp;
}

/* Convert a stamp to ticks, now that their kind is known. */
static uint64_t stamp_ticks(const struct tracer *t, struct early_stamp stamp)
{
    if (t->setup.kind == TICKS_TSC) {
        return stamp.counter;
    }
    if (t->setup.kind == TICKS_MONOTONIC) {
        return (uint64_t)stamp.monotonic_ns;
    }
    const int64_t ago = ticks_monotonic_ns() - stamp.monotonic_ns;
    return ticks_read(t->setup.kind, t->clock) - (uint64_t)ago;
}

/* The worst of all processes' codes, with the reason of the process that had it. */
static int tracer_agree(int err, struct ictus_why *why)
{
    struct {
        int value, rank;
    } mine = {-err, ictusi_tracer.rank}, worst;
    (void)REAL(Allreduce)(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, ictusi_tracer.comm);
    if (worst.value != 0) {
        (void)REAL(Bcast)(why->text, (int)sizeof(why->text), MPI_CHAR, worst.rank,
                          ictusi_tracer.comm);
    }
    return -worst.value;
}

/* Choose the cheapest way to read the clock's source. */
static void lifecycle_choose_ticks(struct tracer *t)
{
    struct source *source = t->clock->source;
    const char *name = source->ops->name;
    t->setup.clock = t->clock;
    t->setup.kind = TICKS_CLOCK;
    if (strcmp(name, "monotonic") == 0) {
        t->setup.kind = TICKS_MONOTONIC;
    }
#if defined(__x86_64__)
    if (strcmp(name, "tsc") == 0) {
        size_t size = 0;
        const struct source_counter *counter = source->ops->state(source, &size);
        t->setup.kind = TICKS_TSC;
        t->scale.anchor_ticks = counter->anchor_ticks;
        t->scale.anchor_ns = counter->anchor_ns;
        t->scale.multiplier = counter->multiplier;
    }
#endif
    t->scale.kind = t->setup.kind;
}

/*
 * Make the requested clock. By default it uses the counter, if every machine of the job has a
 * reliable one.
 */
static int lifecycle_make_clock(struct tracer *t, struct ictus_why *why)
{
    const char *sync = t->settings.sync;
    const char *source = t->settings.clock;
    const char *usual = getenv("ICTUS_CLOCK");
    char spec[sizeof(t->settings.sync) + sizeof(t->settings.clock) + 1];
    if (!source[0] && !(usual && usual[0])) {
        (void)snprintf(spec, sizeof(spec), "%s@tsc", sync);
        if (ictus_clock_create_why(t->comm, spec, &t->clock, why) == ICTUS_OK) {
            return ICTUS_OK;
        }
    }
    (void)snprintf(spec, sizeof(spec), "%s%s%s", sync, source[0] ? "@" : "", source);
    return ictus_clock_create_why(t->comm, spec[0] ? spec : NULL, &t->clock, why);
}

static int lifecycle_open_log(struct tracer *t, struct ictus_why *why)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%d.log", t->setup.directory, t->rank);
    t->log_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (t->log_fd < 0) {
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: %s", path, strerror(errno));
    }
    return ICTUS_OK;
}

/* More than MPI libraries hold at a time. Only used entries take memory. */
enum {
    COMM_SLOTS = 1 << 18,
    WINDOW_SLOTS = 1 << 16,
    FILE_SLOTS = 1 << 14,
    COUNTER_SLOTS = 1 << 18
};

static int lifecycle_make_tables(struct tracer *t, struct ictus_why *why)
{
    const size_t requests =
        t->settings.requests > 0
            ? (size_t)t->settings.requests
            : ictusi_table_slots(ictusi_settings_table(&t->settings), sizeof(struct trace_request));
    if (ictusi_table_init(&t->requests, requests, sizeof(struct trace_request)) ||
        ictusi_table_init(&t->comms, COMM_SLOTS, sizeof(struct trace_comm *)) ||
        ictusi_table_init(&t->files, FILE_SLOTS, sizeof(struct trace_file *)) ||
        ictusi_table_init(&t->windows, WINDOW_SLOTS, sizeof(struct trace_window *)) ||
        ictusi_table_init(&t->counters, COUNTER_SLOTS, sizeof(uint64_t))) {
        return ictus_because(why, ICTUS_ERR_NOMEM, "not enough memory for the tables of handles");
    }
    return ICTUS_OK;
}

static int lifecycle_choose_calls(struct tracer *t, struct ictus_why *why)
{
    char missing[256];
    for (int i = 0; i < TRACE_FUNCTIONS; i++) {
        atomic_store(&t->tracked[i], ictusi_tracer_functions[i].tracked ? FILTER_ON : FILTER_OFF);
    }
    uint8_t enabled[TRACE_FUNCTIONS];
    int err = ictusi_filter_apply(t->settings.filter, enabled, why);
    for (int i = 0; i < TRACE_FUNCTIONS && !err; i++) {
        const bool left_out = t->settings.statistics && !ictusi_tracer_functions[i].counted;
        atomic_store(&t->enabled[i], left_out ? FILTER_OFF : enabled[i]);
        if (left_out) {
            atomic_store(&t->tracked[i], FILTER_OFF);
        }
    }
    if (!err) {
        err = ictusi_tracer_metrics_choose(t->settings.metrics, &t->metrics, missing,
                                           sizeof(missing), why);
    }
    if (!err && missing[0]) {
        ictusi_tracer_say("this machine cannot count %s", missing);
    }
    return err;
}

/*
 * All processes must decide alike when to synchronise again, whatever their environments say, so
 * the root's settings are used. The same holds for a scratch directory, which becomes one of this
 * job.
 */
static void lifecycle_share_settings(struct tracer *t)
{
    double shared[] = {t->settings.resync_every_s, (double)t->settings.resync_barriers};
    (void)REAL(Bcast)(shared, 2, MPI_DOUBLE, 0, t->comm);
    t->settings.resync_every_s = shared[0];
    t->settings.resync_barriers = (int64_t)shared[1];
    if (t->rank == 0 && t->settings.scratch[0]) {
        ictusi_directory_scratch_own(&t->settings);
    }
    (void)REAL(Bcast)(t->settings.scratch, (int)sizeof(t->settings.scratch), MPI_CHAR, 0, t->comm);
}

/* Create the file of statistics, if requested. */
static int lifecycle_open_tally(struct tracer *t, struct ictus_why *why)
{
    char path[4096];
    if (!t->settings.statistics) {
        return ICTUS_OK;
    }
    (void)snprintf(path, sizeof(path), "%s/%d.tally", t->setup.directory, t->rank);
    const int err = ictusi_tally_create(&t->tally, path, why);
    if (!err) {
        t->tally.image->rank = (uint32_t)t->rank;
        t->tally.image->size = (uint32_t)t->size;
    }
    return err;
}

/*
 * Variables that decide which collective calls the tracer makes, on which clock and where, must be
 * the same on all processes. Where a launcher did not forward one, they would wait for each other.
 */
static int lifecycle_check_variables(const struct tracer *t, struct ictus_why *why)
{
    static const char *const names[] = {
        "ICTUS_TRACE_OUTPUT",     "ICTUS_TRACE_SYNC", "ICTUS_TRACE_CLOCK", "ICTUS_TRACE_DEFER",
        "ICTUS_TRACE_STATISTICS", "ICTUS_SYNC",       "ICTUS_CLOCK"};
    enum { NAMES = sizeof(names) / sizeof(*names) };
    struct ictus_trait traits[NAMES];
    for (int i = 0; i < NAMES; i++) {
        const char *given = getenv(names[i]);
        traits[i] = (struct ictus_trait){names[i], given && given[0] ? given : NULL};
    }
    return ictus_traits_agree(t->comm, traits, NAMES, why);
}

/* Everything that may fail before the first record; the result is the same on every process. */
static int tracer_prepare(struct tracer *t, struct ictus_why *why)
{
    int err = lifecycle_check_variables(t, why);
    if (err) {
        return err;
    }
    err = ictusi_settings_read(&t->settings, why);
    err = tracer_agree(err, why);
    if (err) {
        return err;
    }
    lifecycle_share_settings(t);
    err = lifecycle_choose_calls(t, why);
    if (!err && t->rank == 0) {
        err = t->spawned ? ictusi_directory_make_spawned(&t->settings, why)
                         : ictusi_directory_make(&t->settings, why);
    }
    err = tracer_agree(err, why);
    if (err) {
        return err;
    }
    if (t->spawned) {
        (void)REAL(Bcast)(t->settings.directory, (int)sizeof(t->settings.directory), MPI_CHAR, 0,
                          t->comm);
    }
    t->setup.rank = (uint32_t)t->rank;
    t->setup.table_hash = TRACE_TABLE_HASH;
    t->setup.tally = t->settings.statistics;
    t->windows_left = ictusi_settings_windows(&t->settings);
    t->setup.limit_bytes = t->settings.limit_bytes ? t->settings.limit_bytes : UINT64_MAX;
    err = ictusi_directory_raw(&t->settings, t->setup.directory, sizeof(t->setup.directory), why);
    if (!err) {
        err = lifecycle_open_log(t, why);
    }
    if (!err) {
        err = lifecycle_open_tally(t, why);
    }
    if (!err) {
        err = lifecycle_make_tables(t, why);
    }
    return tracer_agree(err, why);
}

static void log_header(const struct tracer *t)
{
    char host[256] = "unknown";
    char program[256] = "unknown";
    struct timespec real;
    (void)gethostname(host, sizeof(host) - 1);
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? (size_t)length : strlen(program)] = '\0';
    const int64_t local = ictus_clock_local(t->clock).ns;
    (void)clock_gettime(CLOCK_REALTIME, &real);
    ictusi_tracer_log("H\t1\t%llu\t%d\t%d\t%d", (unsigned long long)TRACE_TABLE_HASH, t->rank,
                      t->size, (int)getpid());
    ictusi_tracer_log("K\t%d\t%llu\t%lld\t%llu", (int)t->scale.kind,
                      (unsigned long long)t->scale.anchor_ticks, (long long)t->scale.anchor_ns,
                      (unsigned long long)t->scale.multiplier);
    ictusi_tracer_log("A\t%lld\t%lld", (long long)local,
                      (long long)real.tv_sec * 1000000000 + real.tv_nsec);
    ictusi_tracer_log("O\t%s", host);
    ictusi_tracer_log("X\t%s", program);
    ictusi_tracer_log("L\t%s", ictus_clock_spec(t->clock));
    ictusi_tracer_log("R\t%d\t%s", REGION_SYNC, TRACE_REGION_SYNC);
    for (int i = 0; i < t->metrics.count; i++) {
        ictusi_tracer_log("M\t%d\t%d\t%s", METRIC_CLASS_COUNTERS, i, t->metrics.names[i]);
    }
}

/* Log the present state of the clock: a point between which timestamps will be interpolated. */
static void log_point(struct tracer *t)
{
    struct ictus_reading now;
    struct ictus_reading later;
    struct recorder *r = ictusi_tracer_self;
    const struct ictus_time local = ictus_clock_local(t->clock);
    const struct ictus_time second = {local.ns + ICTUS_NS_PER_S};
    (void)ictus_clock_map_reading(t->clock, local, &now);
    (void)ictus_clock_map_reading(t->clock, second, &later);
    const double slope =
        (double)(later.time.ns - now.time.ns - ICTUS_NS_PER_S) / (double)ICTUS_NS_PER_S;
    ictusi_tracer_log("S\t%lld\t%lld\t%.17g\t%.17g\t%.17g\t%.17g", (long long)local.ns,
                      (long long)now.time.ns, slope, now.sigma_ns, now.bound_ns, later.sigma_ns);
    t->last_sync_ns = ticks_monotonic_ns();
    t->syncs++;
    if (r) {
        uint64_t bits = 0;
        memcpy(&bits, &now.sigma_ns, sizeof(bits));
        recorder_make_room(r);
        recorder_timed_words(r, RECORD_METRIC, METRIC_CLASS_CLOCK, recorder_ticks(r), &bits, 1);
    }
}

int ictusi_tracer_sync(void)
{
    struct tracer *t = &ictusi_tracer;
    struct recorder *r = ictusi_tracer_self;
    if (r) {
        recorder_make_room(r);
        recorder_enter(r, REGION_SYNC);
    }
    const int err = ictus_clock_resync(t->clock);
    if (r) {
        recorder_make_room(r);
        recorder_leave(r, REGION_SYNC, recorder_ticks(r));
    }
    if (!err) {
        log_point(t);
    }
    return err;
}

/* Record the call with which tracing begins, which was entered before there was a recorder. */
static void lifecycle_record_begin(struct recorder *r, const struct begin_call *call, uint64_t from,
                                   uint64_t to)
{
    const uint64_t site = trace_site(call->from);
    recorder_timed_words(r, RECORD_OPEN, call->function, from, &site, 1);
    recorder_timed(r, RECORD_LEAVE, call->function, to);
}

/* Record the first synchronisation, which also began before. */
static void record_first_sync(struct recorder *r, uint64_t from)
{
    recorder_timed(r, RECORD_OPEN, REGION_SYNC, from);
    recorder_timed(r, RECORD_LEAVE, REGION_SYNC, recorder_ticks(r));
}

static void lifecycle_find_sampling(struct tracer *t)
{
    t->sample_ticks = (uint64_t)(t->settings.metrics_every_s * 1e9);
    if (t->scale.multiplier) {
        const double ns_per_tick = (double)t->scale.multiplier / 281474976710656.0;
        t->sample_ticks = (uint64_t)((double)t->sample_ticks / ns_per_tick);
    }
}

/*
 * Set up this thread's recorder and the tables it needs; the result is the same on every process.
 */
static int lifecycle_join_first(struct tracer *t, struct ictus_why *why)
{
    int err = ICTUS_OK;
    (void)pthread_key_create(&t->key, ictusi_tracer_thread_ended);
    lifecycle_find_sampling(t);
    t->sweeps = t->settings.resync_every_s > 0.0 || t->settings.resync_barriers > 0;
    atomic_store(&t->state, TRACER_RUNNING);
    const struct recorder *r = ictusi_tracer_join();
    if (!r || (!t->in_sessions && ictusi_comms_start())) {
        err = ictus_because(why, ICTUS_ERR_NOMEM, "not enough memory");
    } else if (r->after & AFTER_FULL) {
        err = ictus_because(why, ICTUS_ERR_IO,
                            "%.200s: not enough space for the first events of rank %d",
                            t->setup.directory, t->rank);
    }
    err = tracer_agree(err, why);
    if (err) {
        atomic_store(&t->state, TRACER_IDLE);
        ictusi_tracer_self = NULL;
        ictusi_tracer_active = NULL;
    }
    return err;
}

static void tracer_begin(struct tracer *t, const struct begin_call *call,
                         struct early_stamp returned)
{
    struct recorder *r = ictusi_tracer_self;
    const uint64_t from = stamp_ticks(t, call->entered);
    const uint64_t to = stamp_ticks(t, returned);
    ictusi_tracer_log("I\t%llu", (unsigned long long)from);
    if (atomic_load(&t->enabled[call->function]) == FILTER_FRESH) {
        ictusi_tracer_unusual(r, call->function);
        lifecycle_record_begin(r, call, from, to < from ? from : to);
    }
    record_first_sync(r, to);
    log_point(t);
    if (t->settings.off) {
        ictusi_tracer_mute(true);
    }
}

/*
 * Whether tracing begins at this call. Several threads may make such calls at once, and different
 * ones may come first in different processes. Tracing begins at a call that all processes claim
 * first, and otherwise at a later call. So that none waits for another, all processes ask at every
 * such call, even if they know their own answer.
 */
static bool tracer_claim(struct tracer *t, MPI_Comm all)
{
    const int mine = !atomic_exchange(&t->claimed, true);
    int everybody = 0;
    (void)REAL(Allreduce)(&mine, &everybody, 1, MPI_INT, MPI_MIN, all);
    if (mine && !everybody) {
        atomic_store(&t->claimed, false);
    }
    return everybody;
}

/* Called after MPI_Init. */
static void tracer_meet(struct tracer *t, MPI_Comm all)
{
    int provided = MPI_THREAD_SINGLE;
    MPI_Comm parent = MPI_COMM_NULL;
    (void)REAL(Query_thread)(&provided);
    (void)REAL(Comm_dup)(all, &t->comm);
    (void)REAL(Comm_group)(all, &t->world);
    (void)REAL(Comm_get_parent)(&parent);
    t->spawned = parent != MPI_COMM_NULL;
    t->multiple = provided == MPI_THREAD_MULTIPLE;
}

bool ictusi_tracer_start(const struct begin_call *call)
{
    struct tracer *t = &ictusi_tracer;
    struct ictus_why why = {""};
    const struct early_stamp returned = ictusi_tracer_stamp();
    if (!tracer_claim(t, call->all)) {
        return false;
    }
    if (call->sessions) {
        ictusi_sessions_meet(call->all);
    } else {
        tracer_meet(t, call->all);
    }
    (void)REAL(Comm_rank)(t->comm, &t->rank);
    (void)REAL(Comm_size)(t->comm, &t->size);
    t->speaks = t->rank == 0;
    int err = tracer_prepare(t, &why);
    if (!err) {
        err = lifecycle_make_clock(t, &why);
    }
    if (!err) {
        lifecycle_choose_ticks(t);
        log_header(t);
        err = lifecycle_join_first(t, &why);
    }
    if (err) {
        ictusi_tracer_say("%s; the program runs without tracing",
                          why.text[0] ? why.text : ictus_strerror(err));
    } else {
        tracer_begin(t, call, returned);
    }
    ictusi_sessions_settle(!err);
    return !err;
}

/* Recording is over. Its memory is released, so that writing the archive can use it. */
static void tracer_rest(struct tracer *t)
{
    for (uint32_t i = 0; i < t->recorder_count; i++) {
        ictusi_recorder_rest(t->recorders[i]);
    }
    if (ictusi_tracer_self) {
        ictusi_recorder_leave_room(ictusi_tracer_self);
    }
    ictusi_table_clear(&t->requests);
}

bool ictusi_tracer_finish(const void *from)
{
    struct tracer *t = &ictusi_tracer;
    struct recorder *r = ictusi_tracer_self;
    int running = atomic_load(&t->state) == TRACER_RUNNING;
    int all = 0;
    if (t->comm == MPI_COMM_NULL || !t->clock) {
        return false;
    }
    (void)REAL(Allreduce)(&running, &all, 1, MPI_INT, MPI_MIN, t->comm);
    if (!all) {
        return false;
    }
    ictusi_tracer_active = NULL;
    if (r) {
        trace_notice_switch(r);
    }
    const bool seen = r && atomic_load(&r->enabled[FUNCTION_MPI_Finalize]) == FILTER_FRESH;
    if (seen) {
        ictusi_tracer_unusual(r, FUNCTION_MPI_Finalize);
        recorder_make_room(r);
        recorder_prepare_call(r, FUNCTION_MPI_Finalize, trace_site(from));
        recorder_enter_call(r);
        r->lost += (r->after & AFTER_DIVERTED) == AFTER_FULL;
    }
    (void)ictusi_tracer_sync();
    if (seen) {
        recorder_make_room(r);
        recorder_leave(r, FUNCTION_MPI_Finalize, recorder_ticks(r));
    }
    ictusi_tracer_end();
    return true;
}

void ictusi_tracer_end(void)
{
    struct tracer *t = &ictusi_tracer;
    atomic_store(&t->state, TRACER_DONE);
    ictusi_openmp_finish();
    const uint64_t lost = ictusi_tracer_count_lost(t);
    tracer_rest(t);
    if (t->tally.image) {
        __atomic_store_n(&t->tally.image->ended, 1, __ATOMIC_RELEASE);
    }
    ictusi_tracer_log("E\t%llu\t%llu", (unsigned long long)lost,
                      (unsigned long long)atomic_load(&t->untracked));
    if (t->kept_bytes) {
        (void)fprintf(stderr,
                      "ictus trace: no space for the last %zu bytes of %.200s/%d.log; the trace "
                      "will lack what they describe\n",
                      t->kept_bytes, t->setup.directory, t->rank);
    }
    t->ended = true;
}

void ictusi_tracer_release(void)
{
    struct tracer *t = &ictusi_tracer;
    ictusi_tally_close(&t->tally);
    free(t->kept_log);
    t->kept_log = NULL;
    ictus_clock_free(t->clock);
    t->clock = NULL;
    (void)REAL(Group_free)(&t->world);
    (void)REAL(Comm_free)(&t->comm);
}

void ictusi_tracer_lost(const char *reason)
{
    if (atomic_load(&ictusi_tracer.state) == TRACER_RUNNING) {
        atomic_store(&ictusi_tracer.state, TRACER_DONE);
        const char *kept = ictusi_tracer.settings.statistics
                               ? "the statistics are kept; 'ictus arrivals %s' shows them"
                               : "the events are kept; run 'ictus recover %s'";
        char text[2200];
        (void)snprintf(text, sizeof(text), kept, ictusi_tracer.settings.directory);
        (void)fprintf(stderr, "ictus trace: rank %d: %s; %s\n", ictusi_tracer.rank, reason, text);
    }
}
