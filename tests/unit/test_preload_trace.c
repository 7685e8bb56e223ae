/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the preloaded tracer meets a program: around MPI's beginning and end, in a child, at the
 * end of the process; and which process says something before MPI does. The tracer itself and the
 * MPI library are made up.
 */
#include "../check.h"

#include "behind.h"

#include <mpi.h>
#include <stdbool.h>

static int level_behind;

/* What comes behind the tracer. */
#undef PRELOAD_BEHIND
#define PRELOAD_BEHIND(name)                                                                       \
    static int behind_and_##name(const int level)                                                  \
    {                                                                                              \
        level_behind = level;                                                                      \
        return 7;                                                                                  \
    }                                                                                              \
    static int (*behind_##name(void))(const int)                                                   \
    {                                                                                              \
        return behind_and_##name;                                                                  \
    }

/* NOLINTNEXTLINE(bugprone-suspicious-include): its static functions are what is looked at */
#include "trace.c"

#include <sys/wait.h>

struct tracer ictusi_tracer;
struct real_mpi ictusi_real;
__thread struct recorder *ictusi_tracer_self __attribute__((tls_model("initial-exec")));
__thread struct recorder *ictusi_tracer_active __attribute__((tls_model("initial-exec")));

/* What was done, in order: a letter each. */
static char deeds[40];
static struct begin_call begun;
static const char *lost_by;
static int opened_err, closed_err, muted = -1, refusals, loads;
static struct {
    int fails; /* what MPI returns */
    bool cannot_start, starts_in_sessions, cannot_finish, is_over;
} world;

static void deed_note(char what)
{
    const size_t used = strlen(deeds);
    REQUIRE(used < sizeof deeds - 1);
    deeds[used] = what;
    deeds[used + 1] = '\0';
}

void ictusi_sessions_enter(void)
{
    deed_note('e');
}

void ictusi_sessions_opened(int err)
{
    deed_note('o');
    opened_err = err;
}

void ictusi_sessions_closing(void)
{
    deed_note('c');
}

void ictusi_sessions_closed(int err)
{
    deed_note('d');
    closed_err = err;
}

bool ictusi_sessions_over(void)
{
    return world.is_over;
}

bool ictusi_settings_wanted(void)
{
    const char *wanted = getenv("ICTUS_TRACE_OUTPUT");
    return wanted && wanted[0];
}

struct early_stamp ictusi_tracer_stamp(void)
{
    return (struct early_stamp){(int64_t)strlen(deeds), 0};
}

bool ictusi_tracer_start(const struct begin_call *call)
{
    deed_note('S');
    begun = *call;
    ictusi_tracer.in_sessions = world.starts_in_sessions;
    return !world.cannot_start;
}

int ictusi_comms_start(void)
{
    deed_note('C');
    return 0;
}

bool ictusi_tracer_finish(const void *from)
{
    CHECK(from != NULL);
    deed_note('F');
    return !world.cannot_finish;
}

void ictusi_write_deferred(const struct tracer *t)
{
    CHECK(t == &ictusi_tracer);
    deed_note('D');
}

void ictusi_tallies_write(struct tracer *t)
{
    CHECK(t == &ictusi_tracer);
    deed_note('T');
}

void ictusi_write_parallel(struct tracer *t)
{
    CHECK(t == &ictusi_tracer);
    deed_note('P');
}

void ictusi_write_last(struct tracer *t)
{
    CHECK(t == &ictusi_tracer);
    deed_note('L');
}

void ictusi_tracer_release(void)
{
    deed_note('R');
}

void ictusi_tracer_lost(const char *reason)
{
    lost_by = reason;
}

void ictusi_tracer_mute(bool on)
{
    muted = on;
}

void ictusi_real_load(void)
{
    CHECK(refusals == 1); /* what belongs to another library is left alone */
    loads++;
}

void preload_refuse_other(const char *name)
{
    CHECK_STR(name, "trace");
    refusals++;
}

static int model_init(int *argc, char ***argv)
{
    CHECK(argc && argv);
    deed_note('I');
    return world.fails;
}

static int model_init_thread(int *argc, char ***argv, int required, int *provided)
{
    CHECK(argc && argv && required == 2);
    deed_note('I');
    *provided = 1;
    return world.fails;
}

static int model_finalize(void)
{
    deed_note('M');
    return world.fails;
}

static int model_abort(MPI_Comm comm, int code)
{
    CHECK(comm == MPI_COMM_SELF && lost_by && strcmp(lost_by, "MPI_Abort") == 0);
    return code;
}

/* The name under which a program calls must be that under which the tracer goes on. */
static void world_begins(bool by_pmpi)
{
    memset(&world, 0, sizeof world);
    memset(&ictusi_real, 0, sizeof ictusi_real);
    if (by_pmpi) {
        ictusi_real = (struct real_mpi){.P_Init = model_init,
                                        .P_Init_thread = model_init_thread,
                                        .P_Finalize = model_finalize,
                                        .P_Abort = model_abort};
    } else {
        ictusi_real = (struct real_mpi){.Init = model_init,
                                        .Init_thread = model_init_thread,
                                        .Finalize = model_finalize,
                                        .Abort = model_abort};
    }
    ictusi_tracer.in_sessions = ictusi_tracer.settings.defer = false;
    ictusi_tracer.settings.statistics = false;
    CHECK(setenv("ICTUS_TRACE_OUTPUT", "/there", 1) == 0);
    deeds[0] = '\0';
    opened_err = closed_err = -1;
    lost_by = NULL;
}

/* Tracing begins after MPI, if MPI began and a trace is wanted. */
static void traces_begin_after_mpi(void)
{
    char *words[] = {"program", NULL}, **argv = words;
    int argc = 1;
    for (int by = 0; by < 4; by++) {
        int provided = 0;
        world_begins(by % 2);
        const int err = by == 0   ? MPI_Init(&argc, &argv)
                        : by == 1 ? PMPI_Init(&argc, &argv)
                        : by == 2 ? MPI_Init_thread(&argc, &argv, 2, &provided)
                                  : PMPI_Init_thread(&argc, &argv, 2, &provided);
        CHECK(err == 0 && opened_err == 0 && provided == by / 2);
        CHECK_STR(deeds, "eIoS");
        CHECK(begun.function == (by < 2 ? FUNCTION_MPI_Init : FUNCTION_MPI_Init_thread));
        CHECK(begun.all == MPI_COMM_WORLD && !begun.sessions && begun.from);
        CHECK(begun.entered.monotonic_ns == 0); /* stamped before anything else */
    }
    world_begins(false);
    world.fails = 5;
    CHECK(MPI_Init(&argc, &argv) == 5 && opened_err == 5);
    CHECK_STR(deeds, "eIo");
    world_begins(false);
    CHECK(unsetenv("ICTUS_TRACE_OUTPUT") == 0 && MPI_Init(&argc, &argv) == 0);
    CHECK_STR(deeds, "eIo");
    for (int sessions = 0; sessions < 2; sessions++) { /* it had begun before */
        world_begins(false);
        world.cannot_start = true;
        world.starts_in_sessions = sessions;
        CHECK(MPI_Init(&argc, &argv) == 0);
        CHECK_STR(deeds, sessions ? "eIoSC" : "eIoS");
    }
    world_begins(false);
    world.starts_in_sessions = true;
    CHECK(MPI_Init(&argc, &argv) == 0);
    CHECK_STR(deeds, "eIoS");
}

/* What was recorded is written while MPI can still be used, in the way that was asked for. */
static void traces_are_written_before_the_end(void)
{
    static const char *const ways[] = {"FPRcMd", "FTRcMd", "FDRcMd", "FDRcMd"};
    for (int way = 0; way < 4; way++) {
        world_begins(way % 2);
        ictusi_tracer.settings.statistics = way % 2;
        ictusi_tracer.settings.defer = way / 2;
        world.fails = way;
        CHECK((way % 2 ? PMPI_Finalize() : MPI_Finalize()) == way && closed_err == way);
        CHECK_STR(deeds, ways[way]);
    }
    world_begins(false);
    world.cannot_finish = true;
    CHECK(MPI_Finalize() == 0);
    CHECK_STR(deeds, "FcMd");
}

static void calls_go_on_to_mpi(void)
{
    for (int by = 0; by < 2; by++) {
        world_begins(by);
        CHECK((by ? PMPI_Abort(MPI_COMM_SELF, 33) : MPI_Abort(MPI_COMM_SELF, 33)) == 33);
        for (int level = -1; level < 3; level++) {
            CHECK((by ? PMPI_Pcontrol(level) : MPI_Pcontrol(level, "more")) == 7);
            CHECK(level_behind == level && muted == (level == 0));
        }
    }
}

/* A child shares its parent's windows and files, and must touch none. */
static void children_do_not_record(void)
{
    static struct recorder recorder;
    int status = -1;
    atomic_store(&ictusi_tracer.state, TRACER_RUNNING);
    ictusi_tracer_self = ictusi_tracer_active = &recorder;
    ictusi_tracer.log_fd = 3;
    const pid_t child = fork();
    if (child == 0) {
        const bool good = atomic_load(&ictusi_tracer.state) == TRACER_IDLE && !ictusi_tracer_self &&
                          !ictusi_tracer_active && ictusi_tracer.log_fd == -1 &&
                          ictusi_tracer.forked;
        trace_unloaded();
        _exit(good && !lost_by ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(atomic_load(&ictusi_tracer.state) == TRACER_RUNNING && !ictusi_tracer.forked);
    CHECK(ictusi_tracer_self == &recorder && ictusi_tracer.log_fd == 3);
    ictusi_tracer_self = ictusi_tracer_active = NULL;
    atomic_store(&ictusi_tracer.state, TRACER_IDLE);
}

/* Standard error while something is done. */
static const char *said_by(void (*call)(void))
{
    static char text[600];
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    REQUIRE(file && kept >= 0 && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    call();
    REQUIRE(dup2(kept, STDERR_FILENO) == STDERR_FILENO && close(kept) == 0);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    CHECK(fclose(file) == 0);
    return text;
}

/* The process that 'ictus trace' started says so if nothing was recorded, and nobody else. */
static void silence_is_explained(void)
{
    char pid[24];
    static const char nothing[] = "ictus trace: nothing was recorded: the program never called "
                                  "MPI_Init, nor made a communicator of all processes from a "
                                  "session\n";
    world_begins(false);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    CHECK_STR(said_by(trace_unloaded), "");
    CHECK_STR(lost_by, "ended without MPI_Finalize");
    CHECK(setenv("ICTUS_TRACE_PID", pid, 1) == 0);
    CHECK_STR(said_by(trace_unloaded), nothing);
    CHECK(setenv("PMI_RANK", "1", 1) == 0);
    CHECK_STR(said_by(trace_unloaded), ""); /* rank 0 says it */
    CHECK(unsetenv("PMI_RANK") == 0 && unsetenv("ICTUS_TRACE_OUTPUT") == 0);
    CHECK_STR(said_by(trace_unloaded), "");
    world_begins(false);
    atomic_store(&ictusi_tracer.claimed, true);
    CHECK_STR(said_by(trace_unloaded), "");
    atomic_store(&ictusi_tracer.claimed, false);
    CHECK(setenv("ICTUS_TRACE_PID", "1", 1) == 0); /* a shell that it started */
    CHECK_STR(said_by(trace_unloaded), "");
    CHECK(setenv("ICTUS_TRACE_PID", "x", 1) == 0);
    CHECK_STR(said_by(trace_unloaded), "");
    CHECK(unsetenv("ICTUS_TRACE_PID") == 0);
    CHECK_STR(deeds, "");
    ictusi_tracer.in_sessions = true;
    world.is_over = true;
    CHECK_STR(said_by(trace_unloaded), "");
    CHECK_STR(deeds, "L");
    CHECK_STR(lost_by, "ended with an open session");
    world.is_over = false;
    deeds[0] = '\0';
    CHECK_STR(said_by(trace_unloaded), "");
    CHECK_STR(deeds, "");
}

/* Rank 0 speaks, whichever launcher tells the rank; without a launcher everybody does. */
static void rank_zero_speaks(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < 4; i++) {
        CHECK(preload_speaks());
        CHECK(setenv(ranks[i], "0", 1) == 0 && preload_speaks());
        CHECK(setenv(ranks[i], "10", 1) == 0 && !preload_speaks());
        CHECK(unsetenv(ranks[i]) == 0);
    }
}

static void variables_are_told(void)
{
    char *words[] = {"program", NULL}, **argv = words;
    int argc = 1;
    CHECK(MPI_Init(&argc, &argv) == 0);
    deeds[0] = '\0';
}

/* A misspelt variable is told once, but not below 'ictus trace', which has looked already. */
static void misspellings_are_told_once(void)
{
    CHECK(setenv("ICTUS_TRACE_OUTPUTT", "1", 1) == 0 && setenv("ICTUS_TRACE_SYNK", "1", 1) == 0);
    CHECK(setenv("ICTUS_TRACE_PID", "1", 1) == 0);
    CHECK_STR(said_by(variables_are_told), "");
    CHECK(unsetenv("ICTUS_TRACE_PID") == 0 && setenv("PMIX_RANK", "3", 1) == 0);
    CHECK_STR(said_by(variables_are_told), "");
    CHECK(unsetenv("PMIX_RANK") == 0);
    const char *said = said_by(variables_are_told);
    CHECK(strncmp(said, "ictus trace: ", 13) == 0 && strstr(said, "ICTUS_TRACE_OUTPUTT"));
    CHECK(strstr(said, "\nictus trace: ") && strstr(said, "ICTUS_TRACE_SYNK"));
    CHECK_STR(said_by(variables_are_told), "");
    CHECK(unsetenv("ICTUS_TRACE_OUTPUTT") == 0 && unsetenv("ICTUS_TRACE_SYNK") == 0);
}

/* @param seconds  that a process waits until its launcher ends it */
unsigned sleep(unsigned seconds)
{
    _exit(seconds >= 10 ? 99 : 98);
}

static int code_of_end(const char *variable, const char *rank)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        CHECK(!variable || setenv(variable, rank, 1) == 0);
        preload_end(2);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    CHECK(ictusi_tracer.comm == MPI_COMM_NULL && ictusi_tracer.world == MPI_GROUP_NULL);
    CHECK(atomic_load(&ictusi_tracer.next_region) == REGION_USER + 1); /* the first is our own */
    CHECK(atomic_load(&ictusi_tracer.next_metric) == METRIC_CLASS_USER);
    CHECK(loads == 1);
    rank_zero_speaks();
    world_begins(false);
    misspellings_are_told_once();
    traces_begin_after_mpi();
    traces_are_written_before_the_end();
    calls_go_on_to_mpi();
    lost_by = NULL;
    children_do_not_record();
    silence_is_explained();
    /* Open MPI ends a job as soon as one process fails: the one that speaks goes first. */
    CHECK(code_of_end(NULL, NULL) == 2 && code_of_end("PMI_RANK", "2") == 2);
    CHECK(code_of_end("OMPI_COMM_WORLD_RANK", "0") == 2);
    CHECK(code_of_end("OMPI_COMM_WORLD_RANK", "2") == 99);
    return check_result();
}
