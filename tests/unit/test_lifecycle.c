/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a trace begins and ends in a process: what all processes decide together, what the log says
 * of the clock, which calls are recorded at either end, and that a program whose tracer cannot
 * begin runs without it.
 */
#define CHECK_OWN_INPUT
#include "lifecycle_scene.h"

enum { ENTERED_AGO_NS = 5000, ENTERED_TICKS = 4242, FEW_NS = 100 * STEP_NS };

static const uint64_t frame[2] = {0x401234}; /* the place where MPI_Init was called */

static bool trace_starts(unsigned function, bool sessions)
{
    const struct begin_call call = {function,
                                    &frame[1],
                                    {world.now_ns - ENTERED_AGO_NS, ENTERED_TICKS},
                                    MPI_COMM_WORLD,
                                    sessions};
    const bool begun = ictusi_tracer_start(&call);
    CHECK(world.settled == (world.agreements > 0 || world.traits > 0) &&
          world.settled_begun == begun);
    return begun;
}

/* A trace of a process with such a clock and one more variable, which may be NULL. */
static void trace_begins(const char *kind, const char *variable, const char *value)
{
    scene_begin(kind);
    CHECK(!variable || setenv(variable, value, 1) == 0);
    REQUIRE(trace_starts(FUNCTION_MPI_Init, false));
    CHECK(ictusi_tracer_self == &recorder);
}

static int lines_like(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int lines_like(const char *format, ...)
{
    char wanted[LENGTH];
    int count = 0;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(wanted, sizeof(wanted), format, list);
    va_end(list);
    for (int i = 0; i < world.line_count; i++) {
        count += strncmp(world.lines[i], wanted, strlen(wanted)) == 0;
    }
    return count;
}

/* The next record from this word on. @return its first word */
static const uint64_t *record_next(const uint64_t **at)
{
    const uint64_t *const record = *at;
    *at += record_words(*record);
    return record;
}

static void record_is(const uint64_t *record, enum record_kind kind, unsigned small)
{
    CHECK(record_kind(*record) == (unsigned)kind && record_small(*record) == small);
}

/* The log says whose it is, how ticks become the clock's time, and when that was real time. */
static void logs_begin_with_the_clock(void)
{
    char program[256] = "", line[LENGTH];
    trace_begins("monotonic", "ICTUS_TRACE_METRICS", "page_faults,flops");
    CHECK(lines_like("H\t1\t%llu\t%d\t%d\t%d", (unsigned long long)TRACE_TABLE_HASH, RANK, SIZE,
                     (int)getpid()) == 1);
    CHECK(strncmp(world.lines[0], "H\t", 2) == 0); /* which tells a reader how to go on */
    long long local = 0, real = 0;
    CHECK(sscanf(world.lines[2], "A\t%lld\t%lld", &local, &real) == 2 && local == local_ns);
    real -= 1800000000 * ICTUS_NS_PER_S;
    CHECK(real <= world.now_ns && real >= world.now_ns - FEW_NS);
    CHECK(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    CHECK(gethostname(line, sizeof(line)) == 0);
    CHECK(lines_like("X\t%s", program) == 1 && lines_like("O\t%s", line) == 1);
    CHECK(lines_like("L\tmesh@made-up") == 1);
    CHECK(lines_like("R\t%d\t%s", REGION_USER, TRACE_REGION_SYNC) == 1);
    CHECK(lines_like("M\t%d\t0\tpage_faults", METRIC_CLASS_COUNTERS) == 1);
    CHECK(lines_like("M\t%d\t1\tflops", METRIC_CLASS_COUNTERS) == 1 && lines_like("M") == 2);
    CHECK(lines_like("S\t%lld\t%lld\t%.17g\t%.17g\t%.17g\t%.17g", (long long)local_ns,
                     (long long)(local_ns + ahead_ns), slope, sigma_ns, bound_ns,
                     sigma_later_ns) == 1);
    CHECK(ictusi_tracer.syncs == 1 && ictusi_tracer.last_sync_ns <= world.now_ns &&
          ictusi_tracer.last_sync_ns >= world.now_ns - FEW_NS);
    (void)snprintf(line, sizeof(line), "%s/%d.log", directory, RANK);
    struct stat info;
    const mode_t mask = umask(0);
    CHECK(umask(mask) == 0 && stat(line, &info) == 0 && (info.st_mode & 07777) == (0666 & ~mask));
    CHECK(fcntl(ictusi_tracer.log_fd, F_GETFD) & FD_CLOEXEC);
}

/* A process that was started without standard input is traced like others. */
static void descriptor_zero_is_one_too(void)
{
    const int kept = dup(STDIN_FILENO);
    scene_begin("monotonic");
    CHECK(kept >= 0 && close(STDIN_FILENO) == 0);
    CHECK(trace_starts(FUNCTION_MPI_Init, false) && ictusi_tracer.log_fd == STDIN_FILENO);
    scene_begin("monotonic");
    CHECK(dup2(kept, STDIN_FILENO) == STDIN_FILENO && close(kept) == 0);
}

/* Each kind of ticks is converted as its source says, and what was stamped before the tracer knew
 * the kind becomes such ticks. */
static void ticks_are_those_of_the_source(void)
{
    unsigned long long first = 0;
    trace_begins("monotonic", NULL, NULL);
    CHECK(lines_like("K\t%d\t0\t0\t0", TICKS_MONOTONIC) == 1 && recorder.kind == TICKS_MONOTONIC);
    CHECK(lines_like("I\t%lld", 60LL * ICTUS_NS_PER_S - ENTERED_AGO_NS) == 1);
    trace_begins("sim", NULL, NULL);
    CHECK(lines_like("K\t%d\t0\t0\t0", TICKS_CLOCK) == 1 && recorder.kind == TICKS_CLOCK);
    CHECK(ictusi_tracer.sample_ticks == 1000000);
    for (int i = 0; i < world.line_count && !first; i++) {
        (void)sscanf(world.lines[i], "I\t%llu", &first);
    }
    CHECK_NEAR((double)(local_ns - ENTERED_AGO_NS) - (double)first, FEW_NS / 2.0, FEW_NS / 2.0);
#if defined(__x86_64__)
    counter.multiplier = UINT64_C(1) << 47; /* half a nanosecond */
    const uint64_t before = __rdtsc();
    trace_begins("tsc", NULL, NULL);
    CHECK(lines_like("K\t%d\t77\t88\t%llu", TICKS_TSC, 1ULL << 47) == 1);
    CHECK(lines_like("I\t%d", ENTERED_TICKS) == 1 && recorder.kind == TICKS_TSC);
    CHECK(words[1] == ENTERED_TICKS && words[4] >= before && words[4] <= __rdtsc());
    CHECK(ictusi_tracer.sample_ticks == 2000000);
#endif
}

/* The call with which tracing begins is the first one in the records, with its place, unless it is
 * filtered out; then comes the synchronisation, and the clock's error after it. */
static void first_calls_are_recorded(void)
{
    for (int filtered = 0; filtered < 2; filtered++) {
        const uint64_t *at = words;
        trace_begins("monotonic", filtered ? "ICTUS_TRACE_FILTER" : NULL, "MPI_Send");
        const uint64_t *record = record_next(&at);
        const uint64_t to = record[record_words(*record) == 3 ? 4 : 1];
        if (!filtered) {
            record_is(record, RECORD_OPEN, FUNCTION_MPI_Init);
            CHECK(lines_like("F\t%d", FUNCTION_MPI_Init) == 1); /* its name, for a reader */
            CHECK(record[1] == (uint64_t)(60 * ICTUS_NS_PER_S - ENTERED_AGO_NS) && record[2] == 21);
            record = record_next(&at);
            record_is(record, RECORD_LEAVE, FUNCTION_MPI_Init);
            record = record_next(&at);
        }
        CHECK(to == (uint64_t)(60 * ICTUS_NS_PER_S + STEP_NS)); /* read first of all */
        record_is(record, RECORD_OPEN, REGION_USER);
        CHECK(record[1] == to);
        record = record_next(&at);
        record_is(record, RECORD_LEAVE, REGION_USER);
        CHECK(record[1] > to);
        const uint64_t synced = record[1];
        record = record_next(&at);
        record_is(record, RECORD_METRIC, METRIC_CLASS_CLOCK);
        CHECK(record[1] > synced && record_words(*record) == 3);
        CHECK(memcmp(&record[2], &sigma_ns, sizeof(sigma_ns)) == 0);
        CHECK(at == recorder.pos);
    }
}

/* Counters of two processors may disagree; no call ends before it begins. */
static void calls_do_not_end_before_they_begin(void)
{
    scene_begin("monotonic");
    const struct begin_call call = {
        FUNCTION_MPI_Init, &frame[1], {world.now_ns + ENTERED_AGO_NS, 0}, MPI_COMM_WORLD, false};
    REQUIRE(ictusi_tracer_start(&call));
    CHECK(words[4] == words[1] && words[1] == (uint64_t)call.entered.monotonic_ns);
}

/* The processor's counter is tried unless the user names a clock, and whatever clock there is is
 * taken where it is not good. */
static void counters_are_the_default(void)
{
    static const struct {
        const char *sync, *clock, *usual;
        bool has_tsc;
        const char *tried[2];
    } cases[] = {
        {"", "", "", true, {"@tsc", ""}},         {"", "", "", false, {"@tsc", "(none)"}},
        {"hca3", "", "", true, {"hca3@tsc", ""}}, {"hca3", "", "", false, {"hca3@tsc", "hca3"}},
        {"", "phc", "", true, {"@phc", ""}},      {"hca3", "phc", "", false, {"hca3@phc", ""}},
        {"", "", "phc", true, {"(none)", ""}},    {"hca3", "", "phc", true, {"hca3", ""}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scene_begin("monotonic");
        CHECK(setenv("ICTUS_TRACE_SYNC", cases[i].sync, 1) == 0);
        CHECK(setenv("ICTUS_TRACE_CLOCK", cases[i].clock, 1) == 0);
        CHECK(setenv("ICTUS_CLOCK", cases[i].usual, 1) == 0);
        CHECK(setenv("ICTUS_TRACE_DEFER", "1", 1) == 0);
        world.has_tsc = cases[i].has_tsc;
        CHECK(trace_starts(FUNCTION_MPI_Init, false));
        CHECK_STR(world.specs[0], cases[i].tried[0]);
        CHECK_STR(world.specs[1], cases[i].tried[1]);
        CHECK(world.traits == 7); /* and each was compared with those of the other processes */
    }
}

/* When to synchronise again, and where raw files go, is what the root says. */
static void roots_decide(void)
{
    scene_begin("monotonic");
    CHECK(setenv("ICTUS_TRACE_RESYNC_EVERY", "77", 1) == 0);
    world.barriers = 1;
    CHECK(trace_starts(FUNCTION_MPI_Init, false));
    const struct trace_settings *s = &ictusi_tracer.settings;
    CHECK(s->resync_every_s == 0 && s->resync_barriers == 1 && ictusi_tracer.sweeps);
    CHECK_STR(s->scratch, "/theirs");
    CHECK_STR(s->directory, "/mine"); /* each process has its own name for it */
    CHECK(world.made == 0 && world.scratches == 0 && !ictusi_tracer.speaks);
    scene_begin("monotonic");
    world.every_s = 0.25;
    CHECK(trace_starts(FUNCTION_MPI_Init, false) && s->resync_every_s == 0.25);
    CHECK(ictusi_tracer.sweeps && ictusi_tracer.multiple && !ictusi_tracer.spawned);
    scene_begin("monotonic");
    world.provided = MPI_THREAD_SERIALIZED;
    CHECK(trace_starts(FUNCTION_MPI_Init, false) && !ictusi_tracer.sweeps);
    CHECK(!ictusi_tracer.multiple);
    static const char *const names[] = {"", "/local", "."};
    for (int i = 0; i < 3; i++) {
        scene_begin("monotonic");
        world.scratch = NULL; /* the root itself */
        CHECK(setenv("ICTUS_TRACE_SCRATCH", names[i], 1) == 0);
        CHECK(trace_starts(FUNCTION_MPI_Init, false) && ictusi_tracer.speaks);
        CHECK(world.made == 1 && world.made_spawned == 0 && world.scratches == (i > 0));
        CHECK_STR(s->scratch, i > 0 ? "/own" : "");
    }
}

/* Spawned processes write where their root found a name that was free. */
static void spawned_processes_follow_their_root(void)
{
    for (int root = 0; root < 2; root++) {
        scene_begin("monotonic");
        world.is_spawned = true;
        world.scratch = root ? NULL : "";
        CHECK(trace_starts(FUNCTION_MPI_Init, false) && ictusi_tracer.spawned);
        CHECK(world.made == 0 && world.made_spawned == root);
        CHECK_STR(ictusi_tracer.settings.directory, root ? "/mine" : "/parent");
    }
}

/* A trace does not begin, for this reason, and nothing is left that could record. */
static void start_fails(const char *reason)
{
    char wanted[LENGTH];
    (void)snprintf(wanted, sizeof(wanted), "%s; the program runs without tracing", reason);
    CHECK(!trace_starts(FUNCTION_MPI_Init, false));
    CHECK(strstr(world.said, wanted) != NULL);
    CHECK(atomic_load(&ictusi_tracer.state) == TRACER_IDLE);
    CHECK(!ictusi_tracer_self && !ictusi_tracer_active);
    CHECK(atomic_load(&ictusi_tracer.claimed)); /* and no later call tries again */
}

static void failures_leave_the_program_alone(void)
{
    static const struct {
        const char *variable, *value, *reason;
    } given[] = {
        {"ICTUS_TRACE_SYNC", "apart", "ICTUS_TRACE_SYNC differs"},
        {"ICTUS_TRACE_BUFFER", "1", "ICTUS_TRACE_BUFFER=1: must be between 8.38861e+06 and 1e+12"},
        {"ICTUS_TRACE_FILTER", "MPI_Nix",
         "there is no MPI function or group 'MPI_Nix'; did you mean 'MPI_Get'?"},
        {"ICTUS_TRACE_OUTPUT", "/taken", "/taken has a trace"}};
    for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
        scene_begin("monotonic");
        world.scratch = i == 3 ? NULL : "";
        CHECK(setenv(given[i].variable, given[i].value, 1) == 0);
        start_fails(given[i].reason);
        CHECK(world.specs_tried == 0 && world.line_count == 0 && ictusi_tracer.log_fd == -1);
    }
    for (int at = 1; at <= 4; at++) { /* another process fails */
        scene_begin("monotonic");
        world.fails_at = at;
        start_fails("process 4 has no disk");
        CHECK(world.agreements == at && world.specs_tried == (at > 3));
    }
    for (int tally = 0; tally < 2; tally++) {
        char path[CHECK_PATH + 40];
        scene_begin("monotonic");
        (void)snprintf(path, sizeof(path), "%s/%d.%s", directory, RANK, tally ? "tally" : "log");
        CHECK(mkdir(path, 0777) == 0); /* what another job has left there */
        CHECK(setenv("ICTUS_TRACE_STATISTICS", "1", 1) == 0);
        start_fails("File exists");
        CHECK(strstr(world.said, path) != NULL && world.specs_tried == 0);
    }
}

static void failures_of_the_clock_and_the_recorder(void)
{
    scene_begin("monotonic");
    world.has_tsc = world.has_clock = false;
    start_fails("there is no such clock");
    CHECK(world.line_count == 0);
    scene_begin("monotonic");
    world.cannot_join = true;
    start_fails("not enough memory");
    scene_begin("monotonic");
    world.joins_full = true;
    start_fails("not enough space for the first events of rank 2");
}

/* Tracing begins at a call that all processes claim first, and otherwise at a later one. */
static void all_begin_at_the_same_call(void)
{
    scene_begin("monotonic");
    world.claims = 0; /* another process is already busy with another call */
    CHECK(!trace_starts(FUNCTION_MPI_Init, false) && !atomic_load(&ictusi_tracer.claimed));
    CHECK(world.traits == 0);
    world.claims = 1;
    CHECK(trace_starts(FUNCTION_MPI_Init, false) && atomic_load(&ictusi_tracer.claimed));
    scene_begin("monotonic");
    atomic_store(&ictusi_tracer.claimed, true); /* by another thread */
    CHECK(!trace_starts(FUNCTION_MPI_Init, false) && atomic_load(&ictusi_tracer.claimed));
    CHECK(world.traits == 0);
    scene_begin("monotonic");
    CHECK(trace_starts(FUNCTION_MPI_Comm_create_from_group, true) && ictusi_tracer.in_sessions);
    record_is(words, RECORD_OPEN, FUNCTION_MPI_Comm_create_from_group);
}

static int enabled(unsigned function)
{
    return atomic_load(&ictusi_tracer.enabled[function]);
}

static int tracked(unsigned function)
{
    return atomic_load(&ictusi_tracer.tracked[function]);
}

/* While recording is off, only what later records depend on is followed; statistics follow less. */
static void calls_are_chosen(void)
{
    trace_begins("monotonic", "ICTUS_TRACE_FILTER", "MPI_Send");
    CHECK(enabled(FUNCTION_MPI_Send) == FILTER_FRESH && enabled(FUNCTION_MPI_Recv) != FILTER_FRESH);
    for (int i = 0; i < TRACE_FUNCTIONS; i++) {
        CHECK(tracked((unsigned)i) ==
              (ictusi_tracer_functions[i].tracked ? FILTER_ON : FILTER_OFF));
    }
    CHECK(ictusi_tracer.tally.image == NULL && !ictusi_tracer.setup.tally);
    trace_begins("monotonic", NULL, NULL);
    for (unsigned i = 0; i < TRACE_FUNCTIONS; i++) {
        CHECK(enabled(i) == (i == FUNCTION_MPI_Init ? FILTER_ON : FILTER_FRESH));
    }
    trace_begins("monotonic", "ICTUS_TRACE_STATISTICS", "1");
    for (int i = 0; i < TRACE_FUNCTIONS; i++) {
        const struct trace_function *f = &ictusi_tracer_functions[i];
        if (f->counted) {
            CHECK(enabled((unsigned)i) != FILTER_OFF);
            CHECK(tracked((unsigned)i) == (f->tracked ? FILTER_ON : FILTER_OFF));
        } else {
            CHECK(enabled((unsigned)i) == FILTER_OFF && tracked((unsigned)i) == FILTER_OFF);
        }
    }
    const struct tally_image *image = ictusi_tracer.tally.image;
    REQUIRE(image && ictusi_tracer.setup.tally);
    CHECK(image->rank == RANK && image->size == SIZE && image->ended == 0);
}

/* What this machine lacks is said, and the rest is done. */
static void settings_are_applied(void)
{
    scene_begin("monotonic");
    world.missing = 1;
    CHECK(setenv("ICTUS_TRACE_METRICS", "cycles", 1) == 0);
    CHECK(trace_starts(FUNCTION_MPI_Init, false) && lines_like("M") == 0);
    CHECK_STR(world.said, "this machine cannot count cycles");
    CHECK(world.mutes == 0 && ictusi_tracer.setup.limit_bytes == UINT64_MAX);
    CHECK(ictusi_tracer.setup.rank == RANK && ictusi_tracer.setup.table_hash == TRACE_TABLE_HASH);
    CHECK(ictusi_tracer.windows_left == 8 << 20); /* half of the usual buffer */
    const size_t usual = ictusi_tracer.requests.mapped_bytes;
    CHECK(usual > 2 << 20 && usual <= 4 << 20); /* a quarter, and tables are powers of two */
    trace_begins("monotonic", "ICTUS_TRACE_OFF", "1");
    CHECK(world.mutes == 1);
    trace_begins("monotonic", "ICTUS_TRACE_LIMIT", "100000");
    CHECK(ictusi_tracer.setup.limit_bytes == 100000);
    trace_begins("monotonic", "ICTUS_TRACE_REQUESTS", "1");
    CHECK(ictusi_tracer.requests.mapped_bytes < 8192);
    CHECK(ictusi_table_put(&ictusi_tracer.requests, 77) != NULL);
}

static void *thread_runs(void *r)
{
    CHECK(pthread_setspecific(ictusi_tracer.key, r) == 0);
    return NULL;
}

/* The tracer hears of each thread's end. */
static void ends_of_threads_are_noticed(void)
{
    pthread_t thread;
    trace_begins("monotonic", NULL, NULL);
    REQUIRE(pthread_create(&thread, NULL, thread_runs, &recorder) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && world.threads_ended == 1);
}

/* Standard error during a call that says something to the user. */
static const char *said_by(void (*call)(void))
{
    static char text[LENGTH];
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    REQUIRE(file && kept >= 0 && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    call();
    REQUIRE(dup2(kept, STDERR_FILENO) == STDERR_FILENO && close(kept) == 0);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    CHECK(fclose(file) == 0);
    return text;
}

static bool trace_ends(void)
{
    world.line_count = 0;
    recorder.pos = words;
    memset(words, 0, sizeof(words));
    return ictusi_tracer_finish(&frame[1]);
}

/* MPI_Finalize is recorded around the last synchronisation; then the memory is given back, and the
 * log says how many calls and requests are missing. */
static void traces_end_with_finalize(void)
{
    const uint64_t *at = words;
    trace_begins("monotonic", NULL, NULL);
    recorder.lost = 11;
    ictusi_tracer.lost = 100;
    atomic_store(&ictusi_tracer.untracked, 7);
    REQUIRE(ictusi_table_put(&ictusi_tracer.requests, 77) != NULL);
    CHECK(trace_ends());
    const uint64_t *const call = record_next(&at), *const enter = record_next(&at);
    record_is(call, RECORD_OPEN, FUNCTION_MPI_Finalize);
    record_is(enter, RECORD_CALL, REGION_USER);
    CHECK(call[2] == 21 && enter[1] > call[1] && record_value(*enter) > 0);
    record_is(record_next(&at), RECORD_METRIC, METRIC_CLASS_CLOCK);
    record_is(record_next(&at), RECORD_LEAVE, FUNCTION_MPI_Finalize);
    CHECK(at == recorder.pos && world.resyncs == 1 && ictusi_tracer.syncs == 2);
    CHECK(world.line_count == 3 && lines_like("F\t%d", FUNCTION_MPI_Finalize) == 1);
    CHECK(lines_like("S\t") == 1);
    CHECK_STR(world.lines[2], "E\t111\t7");
    CHECK(atomic_load(&ictusi_tracer.state) == TRACER_DONE && ictusi_tracer.ended);
    CHECK(world.finishes == 1 && world.rests == 1 && world.leaves_room == 1);
    CHECK(!ictusi_tracer_active && !ictusi_table_find(&ictusi_tracer.requests, 77));
    ictusi_tracer.kept_log = malloc(1); /* the leak sanitizer would miss it */
    ictusi_tracer_release();
    CHECK(world.frees[0] == 1 && world.frees[1] == 1 && world.frees[2] == 1);
    CHECK(!ictusi_tracer.clock && !ictusi_tracer.kept_log && !ictusi_tracer.tally.image);
    CHECK(!ictusi_tracer_finish(&frame[1])); /* it is over */
}

/* Where it is filtered out, switched off or has no room, the end comes all the same. */
static void ends_do_not_need_finalize(void)
{
    const uint64_t *at = words;
    trace_begins("monotonic", "ICTUS_TRACE_FILTER", "MPI_Send");
    CHECK(trace_ends() && lines_like("E\t0\t0") == 1 && world.resyncs == 1);
    record_is(record_next(&at), RECORD_CALL, REGION_USER);
    trace_begins("monotonic", NULL, NULL);
    atomic_store(&ictusi_tracer.muted, true);
    CHECK(trace_ends() && lines_like("E\t0\t0") == 1 && recorder.muted);
    at = words;
    record_is(record_next(&at), RECORD_CALL, REGION_USER);
    trace_begins("monotonic", NULL, NULL);
    recorder.after = AFTER_FULL;
    CHECK(trace_ends() && lines_like("E\t1\t0") == 1); /* MPI_Finalize itself is lost */
    trace_begins("monotonic", NULL, NULL);
    world.fails_to_meet = true; /* the clock stays what it was */
    CHECK(trace_ends() && lines_like("S") == 0 && lines_like("E\t0\t0") == 1);
    trace_begins("monotonic", NULL, NULL);
    ictusi_tracer_self = NULL; /* another thread calls it */
    CHECK(trace_ends() && world.leaves_room == 0 && world.rests == 1 && recorder.pos == words);
    CHECK(lines_like("S\t") == 1 && lines_like("E\t0\t0") == 1);
    trace_begins("monotonic", "ICTUS_TRACE_STATISTICS", "1");
    CHECK(trace_ends() && ictusi_tracer.tally.image->ended == 1);
    ictusi_tracer_release();
    CHECK(!ictusi_tracer.tally.image);
}

/* There is an archive only if all processes were still recording. */
static void all_end_or_none(void)
{
    trace_begins("monotonic", NULL, NULL);
    world.running = 0; /* another process has given up */
    CHECK(!trace_ends() && world.line_count == 0 && world.resyncs == 0);
    CHECK(atomic_load(&ictusi_tracer.state) == TRACER_RUNNING && ictusi_tracer_active);
    trace_begins("monotonic", NULL, NULL);
    atomic_store(&ictusi_tracer.state, TRACER_DONE);
    CHECK(!trace_ends() && world.line_count == 0);
    scene_begin("monotonic");
    atomic_store(&ictusi_tracer.state, TRACER_RUNNING);
    ictusi_tracer.comm = MPI_COMM_NULL; /* it never began */
    ictusi_tracer.clock = &clock_made;
    CHECK(!trace_ends());
    ictusi_tracer.comm = MPI_COMM_SELF; /* it could not begin */
    ictusi_tracer.clock = NULL;
    CHECK(!trace_ends() && world.resyncs == 0 && world.line_count == 0);
    memset(&ictusi_tracer.comm, 0, sizeof(ictusi_tracer.comm));
}

static void lost_by_abort(void)
{
    ictusi_tracer_lost("MPI_Abort was called");
}

/* Whoever loses a trace is told once what is left of it, and how to use that. */
static void losses_are_told(void)
{
    trace_begins("monotonic", NULL, NULL);
    CHECK_STR(said_by(lost_by_abort), "ictus trace: rank 2: MPI_Abort was called; the events are "
                                      "kept; run 'ictus recover /mine'\n");
    CHECK(atomic_load(&ictusi_tracer.state) == TRACER_DONE);
    CHECK_STR(said_by(lost_by_abort), "");
    trace_begins("monotonic", "ICTUS_TRACE_STATISTICS", "1");
    CHECK_STR(said_by(lost_by_abort), "ictus trace: rank 2: MPI_Abort was called; the statistics "
                                      "are kept; 'ictus arrivals /mine' shows them\n");
    scene_begin("monotonic");
    CHECK_STR(said_by(lost_by_abort), "");
    trace_begins("monotonic", NULL, NULL);
    CHECK_STR(said_by(ictusi_tracer_end), "");
    trace_begins("monotonic", NULL, NULL);
    ictusi_tracer.kept_bytes = 43;
    const char *text = said_by(ictusi_tracer_end);
    CHECK(strstr(text, "no space for the last 43 bytes of /") && strstr(text, "/2.log; the trace"));
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "lifecycle")) != NULL);
    logs_begin_with_the_clock();
    descriptor_zero_is_one_too();
    ticks_are_those_of_the_source();
    first_calls_are_recorded();
    calls_do_not_end_before_they_begin();
    counters_are_the_default();
    roots_decide();
    spawned_processes_follow_their_root();
    failures_leave_the_program_alone();
    failures_of_the_clock_and_the_recorder();
    all_begin_at_the_same_call();
    calls_are_chosen();
    settings_are_applied();
    ends_of_threads_are_noticed();
    traces_end_with_finalize();
    ends_do_not_need_finalize();
    all_end_or_none();
    losses_are_told();
    scene_begin("monotonic");
    CHECK(rmdir(directory) == 0);
    return check_result();
}
