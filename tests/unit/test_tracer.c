/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of a traced process, its switch and its log: each thread has a recorder of its own,
 * that of an ended thread serves the next one, no call is forgotten when none can be made, and the
 * log keeps its lines in order, whatever becomes of its file.
 */
#include "../check.h"

#include "tracer/openmp.h"
#include "tracer/real.h"
#include "tracer/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 23, STEP = 65536, TEXT = 20000 };

/* How many bytes the log's disk takes; the linker redirects write() here. */
static size_t disk_room = SIZE_MAX;
ssize_t write_system(int fd, const void *text, size_t bytes) __asm__("__real_write");
ssize_t write_limited(int fd, const void *text, size_t bytes) __asm__("__wrap_write");

ssize_t write_limited(int fd, const void *text, size_t bytes)
{
    const size_t wanted = fd == ictusi_tracer.log_fd && bytes > disk_room ? disk_room : bytes;
    if (wanted == 0) {
        errno = ENOSPC;
        return -1;
    }
    disk_room -= fd == ictusi_tracer.log_fd ? wanted : 0;
    return write_system(fd, text, wanted);
}

static char directory[CHECK_PATH];
static char log_path[CHECK_PATH + 8];
static int joined, left, sampled, mutes, forgotten;

void ictusi_tracer_metrics_join(struct recorder *r)
{
    joined += r != NULL;
}

void ictusi_tracer_metrics_leave(struct recorder *r)
{
    left += r != NULL;
}

void ictusi_tracer_metrics_sample(struct recorder *r)
{
    sampled += r != NULL;
}

void ictusi_openmp_muted(struct recorder *r)
{
    CHECK(!r->muted && !(r->after & AFTER_MUTED)); /* it still writes records */
    mutes++;
}

void ictusi_openmp_forget(struct recorder *r)
{
    forgotten += r != NULL;
}

/* Codes of this library: a class each, and one that is unknown. */
static int model_error_class(int code, int *class)
{
    *class = code - 1000;
    return code == 999 ? MPI_ERR_ARG : MPI_SUCCESS;
}

struct real_mpi ictusi_real = {.P_Error_class = model_error_class};

uint64_t ictusi_sites_find(struct sites *sites, uint64_t address, const void *stack)
{
    (void)sites, (void)address, (void)stack;
    return 1;
}

/* A process whose events go to this directory, which may be none. */
static void process_begins(const char *where)
{
    struct tracer *t = &ictusi_tracer;
    while (t->recorder_count > 0) {
        struct recorder *r = t->recorders[--t->recorder_count];
        char path[CHECK_PATH + 20];
        (void)snprintf(path, sizeof(path), "%s/0.%u.events", directory, t->recorder_count);
        (void)unlink(path);
        ictusi_recorder_free(r);
    }
    t->spare_count = 0;
    t->bare = NULL;
    t->lost = 0;
    t->settings = (struct trace_settings){.buffer_bytes = BUFFER};
    t->windows_left = ictusi_settings_windows(&t->settings);
    t->setup = (struct recorder_setup){.kind = TICKS_MONOTONIC, .limit_bytes = UINT64_MAX};
    (void)snprintf(t->setup.directory, sizeof(t->setup.directory), "%s", where);
    atomic_store(&t->muted, false);
    atomic_store(&t->state, TRACER_RUNNING);
    for (int i = 0; i < TRACE_FUNCTIONS; i++) {
        atomic_store(&t->enabled[i], FILTER_ON);
        atomic_store(&t->tracked[i], FILTER_OFF);
    }
    ictusi_tracer_self = ictusi_tracer_active = NULL;
    joined = left = sampled = mutes = forgotten = 0;
}

/* This thread stands for one more. @return its recorder */
static struct recorder *thread_joins(void)
{
    ictusi_tracer_self = ictusi_tracer_active = NULL;
    struct recorder *r = ictusi_tracer_join();
    REQUIRE(r && ictusi_tracer_self == r && ictusi_tracer_active == r);
    return r;
}

static void thread_ends(struct recorder *r)
{
    ictusi_tracer_self = ictusi_tracer_active = r;
    ictusi_tracer_thread_ended(r);
    CHECK(!ictusi_tracer_self && !ictusi_tracer_active);
}

static void threads_join_while_it_runs(void)
{
    process_begins(directory);
    atomic_store(&ictusi_tracer.state, TRACER_IDLE);
    CHECK(!ictusi_tracer_join());
    atomic_store(&ictusi_tracer.state, TRACER_DONE);
    CHECK(!ictusi_tracer_join() && !ictusi_tracer_self && joined == 0);
    atomic_store(&ictusi_tracer.state, TRACER_RUNNING);
    struct recorder *r = thread_joins();
    CHECK(joined == 1 && ictusi_tracer.recorder_count == 1 && r->enabled == ictusi_tracer.enabled);
    ictusi_tracer_active = NULL; /* within a call */
    CHECK(!ictusi_tracer_join() && ictusi_tracer.recorder_count == 1 && joined == 1);
}

/* Recorders with files are handed on, with all that they hold; windows share the buffer. */
static void recorders_are_handed_on(void)
{
    uint64_t expected = BUFFER / 2;
    process_begins(directory);
    struct recorder *r[3];
    for (int i = 0; i < 3; i++) {
        r[i] = thread_joins();
        CHECK(r[i]->thread == (unsigned)i && r[i]->window_bytes == expected / 2);
        expected -= expected / 2;
        CHECK(ictusi_tracer.windows_left == expected);
        r[i]->lost = 10U + (unsigned)i;
    }
    r[1]->member = (struct openmp_member *)r;
    thread_ends(r[1]);
    CHECK(left == 1 && r[1]->member == NULL);
    thread_ends(r[0]);
    CHECK(ictusi_tracer_count_lost(&ictusi_tracer) == 33);
    struct recorder *again = thread_joins(), *other = thread_joins();
    CHECK((again == r[0] && other == r[1]) || (again == r[1] && other == r[0]));
    CHECK(ictusi_tracer.recorder_count == 3 && ictusi_tracer.spare_count == 0 && joined == 5);
    CHECK(thread_joins()->thread == 3 && forgotten == 0);
    /* However many there are, each gets a window, and the rest of the buffer becomes nothing. */
    for (int i = 4; i < 80; i++) {
        CHECK(thread_joins()->window_bytes >= STEP);
    }
    CHECK(ictusi_tracer.windows_left <= STEP);
}

/* Of threads without a file only the number of lost calls remains, in whatever order they end. */
static void threads_without_files_are_counted(void)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
    for (size_t i = 0; i < 2 * sizeof(orders) / sizeof(*orders); i++) {
        const bool many = i % 2;
        process_begins(many ? directory : "/no/where");
        struct recorder *r[3];
        if (many) { /* more threads than there may be files */
            ictusi_tracer.recorder_count = TRACER_THREADS_MAX;
            for (int j = 0; j < TRACER_THREADS_MAX; j++) {
                ictusi_tracer.recorders[j] = ictusi_recorder_create_bare(&ictusi_tracer.setup);
            }
        }
        for (unsigned j = 0; j < 3; j++) {
            r[j] = thread_joins();
            CHECK(r[j]->after == AFTER_FULL && !r[j]->window);
            r[j]->lost = 1U << j;
        }
        CHECK(ictusi_tracer.recorder_count == (many ? TRACER_THREADS_MAX : 0));
        CHECK(ictusi_tracer.windows_left == BUFFER / 2);
        uint64_t running = 7;
        for (int j = 0; j < 3; j++) {
            CHECK(ictusi_tracer_count_lost(&ictusi_tracer) == 7);
            running -= r[orders[i / 2][j]]->lost;
            thread_ends(r[orders[i / 2][j]]);
            CHECK(ictusi_tracer.lost == 7 - running && forgotten == j + 1);
        }
        CHECK(!ictusi_tracer.bare && ictusi_tracer.spare_count == 0);
        CHECK(ictusi_tracer_count_lost(&ictusi_tracer) == 7);
    }
}

/* A file that has become full keeps its recorder. */
static void full_recorders_are_handed_on(void)
{
    process_begins(directory);
    struct recorder *r = thread_joins();
    ictusi_recorder_divert(r, AFTER_FULL);
    thread_ends(r);
    CHECK(thread_joins() == r && forgotten == 0);
}

static void *thread_runs(void *recorder)
{
    const void *const frame[2] = {NULL, NULL};
    struct recorder *r = trace_begin(FUNCTION_MPI_Send, &frame[1]);
    REQUIRE(r && !ictusi_tracer_active);
    recorder_enter_call(r);
    recorder_leave(r, FUNCTION_MPI_Send, recorder_ticks(r));
    trace_end(r);
    CHECK(ictusi_tracer_active == r);
    *(struct recorder **)recorder = r;
    return NULL;
}

/* A thread that just calls MPI joins at its first call, and leaves when it ends. */
static void real_threads_come_and_go(void)
{
    struct recorder *first = NULL, *second = NULL;
    pthread_t thread;
    process_begins(directory);
    REQUIRE(pthread_key_create(&ictusi_tracer.key, ictusi_tracer_thread_ended) == 0);
    REQUIRE(pthread_create(&thread, NULL, thread_runs, &first) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && left == 1);
    REQUIRE(pthread_create(&thread, NULL, thread_runs, &second) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && left == 2);
    CHECK(first == second && ictusi_tracer.recorder_count == 1 && ictusi_tracer.spare_count == 1);
    CHECK(record_kind(first->window[0]) == RECORD_CALL);
    CHECK(pthread_key_delete(ictusi_tracer.key) == 0);
}

/* Each thread marks where its recording was switched off and on; what it does between is followed
 * as far as later records depend on it. */
static void switches_are_marked(void)
{
    process_begins(directory);
    struct recorder *r = thread_joins();
    ictusi_tracer_active = NULL;
    ictusi_tracer_mute(true); /* from a callback within a call: not yet */
    CHECK(!r->muted && r->pos == r->window);
    ictusi_tracer_active = r;
    ictusi_tracer_mute(true);
    CHECK(r->muted && mutes == 1 && r->enabled == ictusi_tracer.tracked);
    CHECK(record_kind(r->window[0]) == RECORD_OFF && record_small(r->window[0]) == OFF_ASKED);
    CHECK(r->after == AFTER_MUTED && r->pos == r->scratch);
    CHECK(!trace_recorder() && r->lost == 0); /* what is left out on purpose is not lost */
    ictusi_tracer_mute(true);
    CHECK(mutes == 1);
    thread_ends(r);
    CHECK(thread_joins() == r && r->enabled == ictusi_tracer.tracked); /* the next one, too */
    ictusi_tracer_mute(false);
    CHECK(!r->muted && r->after == 0 && r->enabled == ictusi_tracer.enabled);
    CHECK(record_kind(r->window[2]) == RECORD_ON && record_small(r->window[2]) == 0);
    CHECK(r->window[1] > 0 && r->window[3] >= r->window[1] && r->pos == r->window + 4);
    CHECK(trace_recorder() == r);
}

static void log_begins(bool has_file)
{
    struct tracer *t = &ictusi_tracer;
    if (t->log_fd >= 0) {
        CHECK(close(t->log_fd) == 0 && unlink(log_path) == 0);
    }
    free(t->kept_log);
    t->kept_log = NULL;
    t->kept_bytes = 0;
    t->log_bytes = t->log_reserved = 0;
    t->log_fd = has_file ? open(log_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    REQUIRE(!has_file || t->log_fd >= 0);
}

static void log_is(const char *wanted)
{
    static char text[TEXT];
    const ssize_t got = pread(ictusi_tracer.log_fd, text, sizeof(text) - 1, 0);
    REQUIRE(got >= 0);
    text[got] = '\0';
    CHECK_STR(text, wanted);
    CHECK(ictusi_tracer.log_bytes == (uint64_t)got);
}

/* What comes after a call depends on why it was not recorded. */
static void calls_are_followed(void)
{
    process_begins(directory);
    struct recorder *r = thread_joins();
    atomic_store(&ictusi_tracer.enabled[3], FILTER_HIDDEN);
    ictusi_tracer_unusual(r, 3);
    CHECK(r->after == AFTER_HIDDEN && r->pos == r->scratch);
    r->pos += 9;
    ictusi_tracer_after(r);
    CHECK(r->after == 0 && r->pos == r->window && r->lost == 0 && sampled == 0);
    CHECK(atomic_load(&ictusi_tracer.enabled[3]) == FILTER_HIDDEN);
    atomic_store(&ictusi_tracer.enabled[3], FILTER_FRESH);
    log_begins(false);
    ictusi_tracer_unusual(r, 3); /* its first call: the log names it */
    ictusi_tracer_unusual(r, 3);
    CHECK(r->after == 0 && atomic_load(&ictusi_tracer.enabled[3]) == FILTER_ON);
    CHECK(ictusi_tracer.kept_bytes == 4 && memcmp(ictusi_tracer.kept_log, "F\t3\n", 4) == 0);
    ictusi_tracer_after(r);
    CHECK(sampled == 1);
    ictusi_recorder_divert(r, AFTER_MUTED);
    r->pos += 9;
    ictusi_tracer_after(r);
    CHECK(r->pos == r->scratch && r->lost == 0 && sampled == 1);
    ictusi_recorder_divert(r, AFTER_FULL); /* what is switched off would not have been recorded */
    ictusi_tracer_after(r);
    CHECK(r->lost == 0);
    ictusi_recorder_resume(r, AFTER_MUTED);
    r->pos += 9;
    ictusi_tracer_after(r);
    CHECK(r->lost == 1 && r->pos == r->scratch);
    CHECK(!trace_recorder() && r->lost == 2); /* an event of the program's own */
}

/* What MPI refused did not take place; what failed later did. */
static void refusals_are_told_from_failures(void)
{
    static const int refused[] = {
        MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE,     MPI_ERR_TAG,      MPI_ERR_COMM,
        MPI_ERR_RANK,   MPI_ERR_ROOT,  MPI_ERR_GROUP,    MPI_ERR_OP,       MPI_ERR_TOPOLOGY,
        MPI_ERR_ARG,    MPI_ERR_WIN,   MPI_ERR_DISP,     MPI_ERR_LOCKTYPE, MPI_ERR_RMA_SYNC,
        MPI_ERR_ASSERT, MPI_ERR_INFO,  MPI_ERR_RMA_RANGE};
    static const int failed[] = {MPI_ERR_TRUNCATE, MPI_ERR_IN_STATUS, MPI_ERR_OTHER, MPI_ERR_INTERN,
                                 MPI_ERR_PENDING,  MPI_ERR_NO_SPACE,  MPI_ERR_IO,    MPI_SUCCESS};
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        CHECK(ictusi_tracer_refused(1000 + refused[i]) && !trace_took_place(1000 + refused[i]));
    }
    for (size_t i = 0; i < sizeof(failed) / sizeof(*failed); i++) {
        CHECK(!ictusi_tracer_refused(1000 + failed[i]) && trace_took_place(1000 + failed[i]));
    }
    CHECK(!ictusi_tracer_refused(999)); /* not even MPI knows it */
    CHECK(trace_took_place(MPI_SUCCESS));
}

/* Lines of any length are whole, and have a point in their numbers. */
static void lines_are_whole(void)
{
    static char wanted[TEXT], line[6000];
    static const size_t lengths[] = {0, 1, 1021, 1022, 1023, 1024, 1025, 5000};
    const locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(mine);
    size_t used = 0;
    log_begins(true);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        memset(line, 'a' + (int)i, lengths[i]);
        line[lengths[i]] = '\0';
        ictusi_tracer_log("%s", line);
        used += (size_t)snprintf(wanted + used, TEXT - used, "%s\n", line);
    }
    ictusi_tracer_log("N\t%d\t%g", 7, 0.5);
    (void)snprintf(wanted + used, TEXT - used, "N\t7\t0.5\n");
    log_is(wanted);
    CHECK(uselocale(before) == mine); /* the program's own */
    freelocale(mine);
}

/* What is said before there is a file, or while its disk is full, comes first when there is one. */
static void lines_are_kept_in_order(void)
{
    log_begins(false);
    ictusi_tracer_log("one");
    ictusi_tracer_log("two");
    CHECK(ictusi_tracer.kept_bytes == 8);
    char *kept = ictusi_tracer.kept_log;
    ictusi_tracer.kept_log = NULL;
    log_begins(true);
    ictusi_tracer.kept_log = kept;
    ictusi_tracer.kept_bytes = 8;
    ictusi_tracer_log("three");
    log_is("one\ntwo\nthree\n");
    CHECK(ictusi_tracer.kept_bytes == 0);
    const int file = ictusi_tracer.log_fd, full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    REQUIRE(full >= 0);
    ictusi_tracer.log_fd = full;
    ictusi_tracer_log("four");
    ictusi_tracer_log("five");
    CHECK(ictusi_tracer.kept_bytes == 10);
    ictusi_tracer.log_fd = file;
    log_is("one\ntwo\nthree\n");
    ictusi_tracer_log("six");
    log_is("one\ntwo\nthree\nfour\nfive\nsix\n");
    CHECK(close(full) == 0);
    ictusi_tracer.forked = true; /* a child has its parent's file, and nothing to say in it */
    ictusi_tracer_log("seven");
    ictusi_tracer.forked = false;
    log_is("one\ntwo\nthree\nfour\nfive\nsix\n");
    CHECK(ictusi_tracer.kept_bytes == 0);
}

/* A disk that fills in the middle of a line gets the rest of it when there is room again. */
static void lines_are_continued(void)
{
    static const char wanted[] = "first\nsecond\nthird\nfourth\n";
    for (size_t room = 0; room < sizeof(wanted); room++) {
        for (size_t more = 0; more < sizeof(wanted) - room; more++) {
            log_begins(true);
            disk_room = room;
            ictusi_tracer_log("first");
            ictusi_tracer_log("second");
            disk_room = more;
            ictusi_tracer_log("third");
            CHECK(ictusi_tracer.log_bytes + ictusi_tracer.kept_bytes ==
                  strlen("first\nsecond\nthird\n"));
            disk_room = SIZE_MAX;
            ictusi_tracer_log("fourth");
            log_is(wanted);
            CHECK(ictusi_tracer.kept_bytes == 0);
        }
    }
}

/* The limit on file sizes ends no program; a line that fits under it is written. */
static void limits_are_kept(void)
{
    struct rlimit before, limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    log_begins(true);
    limit = before;
    limit.rlim_cur = 12;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    ictusi_tracer_log("12345");
    ictusi_tracer_log("12345"); /* up to the limit */
    ictusi_tracer_log("1");
    log_is("12345\n12345\n");
    CHECK(ictusi_tracer.kept_bytes == 2);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    ictusi_tracer_log("2");
    log_is("12345\n12345\n1\n2\n");
}

/* A disk that others fill has room for the log's last lines: they were reserved long before. */
static void space_is_reserved(void)
{
    struct stat info;
    log_begins(true);
    for (int i = 0; i < 200; i++) {
        ictusi_tracer_log("%-99d", i);
        REQUIRE(fstat(ictusi_tracer.log_fd, &info) == 0 && info.st_size == 100 * (i + 1));
        CHECK(info.st_blocks * 512 >= info.st_size + 4096 - 100);
        CHECK(info.st_blocks * 512 <= info.st_size + 3 * 8192);
    }
}

/* @return what went to standard error */
static const char *text_said(bool speaks)
{
    static char text[3000];
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    REQUIRE(file && kept >= 0 && dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    ictusi_tracer.speaks = speaks;
    ictusi_tracer_say("%s is %g", "half", 0.5);
    REQUIRE(dup2(kept, STDERR_FILENO) == STDERR_FILENO && close(kept) == 0);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    CHECK(fclose(file) == 0);
    return text;
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "tracer")) != NULL);
    (void)snprintf(log_path, sizeof(log_path), "%s/log", directory);
    threads_join_while_it_runs();
    recorders_are_handed_on();
    threads_without_files_are_counted();
    full_recorders_are_handed_on();
    real_threads_come_and_go();
    switches_are_marked();
    calls_are_followed();
    process_begins(directory);
    refusals_are_told_from_failures();
    lines_are_whole();
    lines_are_kept_in_order();
    lines_are_continued();
    limits_are_kept();
    space_is_reserved();
    log_begins(false);
    CHECK_STR(text_said(true), "ictus trace: half is 0.5\n");
    CHECK_STR(text_said(false), "");
    CHECK(rmdir(directory) == 0);
    return check_result();
}
