/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of commands: files are complete or absent, and progress is reported meanwhile. */
#include "main/command.h"
#include "main/output.h"
#include "main/progress.h"

#include "captured.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>

/* The simulated job. */
static struct job {
    int rank;
    bool launched;
} job;

int command_rank(void)
{
    return job.rank;
}

bool command_launched(void)
{
    return job.launched;
}

/* The instants that the watching thread waits for, which are reached immediately. */
static struct asked {
    int waits;
    double until_s[4];
} asked;

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *abstime)
{
    if (asked.waits < 4) {
        asked.until_s[asked.waits++] = (double)abstime->tv_sec + 1e-9 * (double)abstime->tv_nsec;
        return ETIMEDOUT;
    }
    return pthread_cond_wait(cond, mutex);
}

static struct ictus_why why;

static char place[CHECK_PATH];
static char path_buffer[4][128];

static char *path_of(int slot, const char *name)
{
    (void)snprintf(path_buffer[slot], sizeof(path_buffer[slot]), "%s/%s", place, name);
    return path_buffer[slot];
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Whether a file has this content; NULL: it does not exist. */
static bool reads(const char *path, const char *text)
{
    char found[128] = "";
    FILE *file = fopen(path, "r");
    if (!file || !text) {
        const bool none = !file && errno == ENOENT;
        return !(file && fclose(file)) && none && !text;
    }
    const size_t length = fread(found, 1, sizeof(found) - 1, file);
    found[length] = '\0';
    (void)fclose(file);
    return strcmp(found, text) == 0;
}

static struct stat state_of(const char *path)
{
    struct stat status = {0};
    CHECK(lstat(path, &status) == 0);
    return status;
}

/* Write a text to an output that ends with this error. @return what closing it returned */
static int put(const char *path, const char *text, int err)
{
    struct output out;
    const bool there = access(path, F_OK) == 0;
    REQUIRE(output_open(&out, path, &why) == ICTUS_OK && fputs(text, out.stream) >= 0);
    CHECK(!out.target[0] || (access(path, F_OK) == 0) == there);
    return output_close(&out, err, &why);
}

/* All or nothing, and all other properties of a file stay as they are. */
static void outputs_are_whole(void)
{
    char *file = path_of(0, "file");
    char *link_path = path_of(1, "link");
    char *twin = path_of(2, "twin");
    memset(&why, 0, sizeof(why));
    CHECK(put(file, "one", ICTUS_ERR_NOMEM) == ICTUS_ERR_NOMEM && reads(file, NULL));
    CHECK(why.text[0] == '\0');
    CHECK(put(file, "one", ICTUS_OK) == ICTUS_OK && reads(file, "one"));
    CHECK((state_of(file).st_mode & 07777) == 0644);
    CHECK(chmod(file, 0640) == 0);
    CHECK(put(file, "two", ICTUS_ERR_NOMEM) == ICTUS_ERR_NOMEM && reads(file, "one"));
    CHECK(put(file, "two", ICTUS_OK) == ICTUS_OK && reads(file, "two"));
    CHECK((state_of(file).st_mode & 07777) == 0640);
    REQUIRE(symlink("file", link_path) == 0);
    CHECK(put(link_path, "three", ICTUS_OK) == ICTUS_OK && reads(file, "three"));
    CHECK(S_ISLNK(state_of(link_path).st_mode));
    /* A file with two names is written in place, and removed if that fails. */
    REQUIRE(link(file, twin) == 0);
    CHECK(put(file, "four", ICTUS_OK) == ICTUS_OK && reads(twin, "four"));
    CHECK(put(file, "five", ICTUS_ERR_NOMEM) == ICTUS_ERR_NOMEM && reads(file, NULL));
    REQUIRE(unlink(twin) == 0);
    /* What a killed process with the same number left behind does no harm. */
    char left[32];
    (void)snprintf(left, sizeof(left), ".ictus-%ld", (long)getpid());
    write_text(file, "before");
    write_text(path_of(3, left), "half");
    CHECK(put(file, "after", ICTUS_OK) == ICTUS_OK && reads(file, "after"));
    CHECK(reads(path_buffer[3], NULL) && unlink(file) == 0);
    /* A dangling link gets its target created. */
    CHECK(put(link_path, "six", ICTUS_OK) == ICTUS_OK && reads(file, "six"));
    CHECK(unlink(link_path) == 0 && unlink(file) == 0);
}

/*
 * If the output does not fit, that is reported and nothing of it is left; if a reason is known
 * already, it is kept.
 */
static void files_end_early(void)
{
    char *file = path_of(0, "file");
    struct rlimit before;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit little = {2, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    memset(&why, 0, sizeof(why));
    const int err = put(file, "three", ICTUS_OK);
    CHECK(strstr(why.text, "cannot write '") == why.text && strstr(why.text, place));
    CHECK(err == ICTUS_ERR_IO && reads(file, NULL));
    CHECK(strstr(why.text, "/file': File too large"));
    (void)snprintf(why.text, sizeof(why.text), "said before");
    CHECK(put(file, "three", ICTUS_ERR_IO) == ICTUS_ERR_IO && reads(file, NULL));
    CHECK_STR(why.text, "said before");
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

/* A pipe is written to, and never removed. */
static void pipes_stay(void)
{
    char *pipe_path = path_of(0, "pipe");
    char heard[8] = "";
    REQUIRE(mkfifo(pipe_path, 0600) == 0);
    const int fd = open(pipe_path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    REQUIRE(fd >= 0);
    CHECK(put(pipe_path, "word", ICTUS_OK) == ICTUS_OK && read(fd, heard, 4) == 4);
    CHECK_STR(heard, "word");
    CHECK(put(pipe_path, "x", ICTUS_ERR_NOMEM) == ICTUS_ERR_NOMEM);
    CHECK(S_ISFIFO(state_of(pipe_path).st_mode));
    CHECK(close(fd) == 0 && unlink(pipe_path) == 0);
    /* A file that has been created under the name meanwhile is kept. */
    struct output out;
    memset(&why, 0, sizeof(why));
    REQUIRE(output_open(&out, pipe_path, &why) == ICTUS_OK && mkfifo(pipe_path, 0600) == 0);
    CHECK(output_close(&out, ICTUS_OK, &why) == ICTUS_ERR_IO && strstr(why.text, "File exists"));
    CHECK(S_ISFIFO(state_of(pipe_path).st_mode) && unlink(pipe_path) == 0);
}

static void outputs_tell_why(void)
{
    struct output out;
    memset(&why, 0, sizeof(why));
    CHECK(output_open(&out, path_of(0, "nowhere/file"), &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "cannot write '") == why.text && strstr(why.text, place));
    CHECK(strstr(why.text, "nowhere/file': No such file or directory"));
    files_end_early();
    pipes_stay();
    REQUIRE(output_open(&out, NULL, &why) == ICTUS_OK && out.stream == stdout);
    CHECK(output_close(&out, ICTUS_OK, &why) == ICTUS_OK);
    REQUIRE(output_open(&out, "-", &why) == ICTUS_OK && out.stream == stdout);
    CHECK(output_close(&out, ICTUS_ERR_NOMEM, &why) == ICTUS_ERR_NOMEM && ftell(stdout) != 99);
}

/* Nothing is overwritten without permission, and an input never. */
static void outputs_are_allowed(void)
{
    char *file = path_of(0, "file");
    char *empty = path_of(1, "empty");
    char *twin = path_of(2, "twin");
    char *inputs[] = {empty, twin};
    write_text(file, "x");
    write_text(empty, "");
    CHECK(output_allowed(NULL, false, 2, inputs, &why) == ICTUS_OK);
    CHECK(output_allowed(path_of(3, "new"), false, 2, inputs, &why) == ICTUS_OK);
    CHECK(output_allowed(file, false, 2, inputs, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "/file' exists; use --force to replace it"));
    CHECK(output_allowed(file, true, 2, inputs, &why) == ICTUS_OK);
    CHECK(output_allowed(empty, false, 0, inputs, &why) == ICTUS_OK);
    CHECK(output_allowed(empty, true, 2, inputs, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "/empty' is an input and would be overwritten; name another output"));
    REQUIRE(link(file, twin) == 0);
    CHECK(output_allowed(file, true, 2, inputs, &why) == ICTUS_ERR_EXISTS);
    CHECK(output_allowed(place, false, 0, inputs, &why) == ICTUS_OK); /* the writer reports it */
    CHECK(unlink(file) == 0 && unlink(empty) == 0 && unlink(twin) == 0);
}

/* Nor a file of an archive or of arrivals, whether named by its directory or its anchor. */
static void archives_are_inputs(void)
{
    static const struct {
        const char *name;
        bool by_directory, by_anchor;
    } files[] = {{"traces.otf2", true, true},
                 {"traces.def", true, true},
                 {"traces/0.evt", true, true},
                 {"arrivals.jsonl", true, false},
                 {"report.jsonl", false, false}};
    char words[2][128], *inputs[] = {words[0], words[1]};
    char path[128];
    (void)snprintf(words[0], sizeof(words[0]), "%s", place);
    (void)snprintf(words[1], sizeof(words[1]), "%s/traces.otf2", place);
    (void)snprintf(path, sizeof(path), "%s/traces", place);
    REQUIRE(mkdir(path, 0700) == 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", place, files[i].name);
        write_text(path, "x");
        const bool refused[] = {output_allowed(path, true, 1, inputs, &why) != ICTUS_OK,
                                output_allowed(path, true, 1, inputs + 1, &why) != ICTUS_OK};
        CHECK(refused[0] == files[i].by_directory && refused[1] == files[i].by_anchor);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", place, files[i].name);
        CHECK(unlink(path) == 0);
    }
    (void)snprintf(path, sizeof(path), "%s/traces", place);
    CHECK(rmdir(path) == 0);
}

/* What is written to standard error meanwhile. */
static struct captured told;
static int error_saved;

static void listen_begin(void)
{
    (void)fflush(stderr);
    error_saved = dup(2);
    told.file = tmpfile();
    REQUIRE(error_saved >= 0 && told.file && dup2(fileno(told.file), 2) == 2);
}

static void listen_end(void)
{
    (void)fflush(stderr);
    REQUIRE(dup2(error_saved, 2) == 2);
    (void)close(error_saved);
    rewind(told.file);
    told.text[fread(told.text, 1, sizeof(told.text) - 1, told.file)] = '\0';
    (void)fclose(told.file);
}

/* Standard error is a terminal until listen_end(). */
static void listen_terminal(void)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios raw;
    REQUIRE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(terminal >= 0 && tcgetattr(terminal, &raw) == 0);
    raw.c_oflag &= ~(tcflag_t)OPOST;
    REQUIRE(tcsetattr(terminal, TCSANOW, &raw) == 0);
    (void)fflush(stderr);
    error_saved = dup(2);
    told.file = fdopen(master, "r");
    REQUIRE(error_saved >= 0 && told.file && dup2(terminal, 2) == 2 && close(terminal) == 0);
}

/* What the terminal received: reading ends when no process has it open any more. */
static void terminal_end(void)
{
    size_t length = 0;
    (void)fflush(stderr);
    REQUIRE(dup2(error_saved, 2) == 2);
    (void)close(error_saved);
    for (ssize_t more = 1; more > 0; length += more > 0 ? (size_t)more : 0) {
        more = read(fileno(told.file), told.text + length, sizeof(told.text) - 1 - length);
    }
    told.text[length] = '\0';
    (void)fclose(told.file);
}

static enum progress_mode mode_of(bool quiet, bool progress, bool verbose)
{
    const struct progress_options options = {quiet, progress, verbose};
    return progress_mode_of(&options);
}

static void progress_is_for_those_who_see_it(void)
{
    listen_begin(); /* not a terminal */
    (void)unsetenv("ICTUS_PROGRESS");
    job = (struct job){.rank = 0};
    CHECK(mode_of(false, false, false) == PROGRESS_OFF);
    CHECK(mode_of(false, true, false) == PROGRESS_LINES);
    CHECK(mode_of(false, true, true) == PROGRESS_STEPS);
    CHECK(mode_of(true, true, true) == PROGRESS_OFF);
    job.launched = true;
    CHECK(mode_of(false, false, false) == PROGRESS_LINES);
    (void)setenv("ICTUS_PROGRESS", "0", 1);
    CHECK(mode_of(false, false, false) == PROGRESS_OFF);
    CHECK(mode_of(false, true, false) == PROGRESS_LINES);
    CHECK(mode_of(false, false, true) == PROGRESS_STEPS);
    (void)setenv("ICTUS_PROGRESS", "1", 1);
    CHECK(mode_of(false, false, false) == PROGRESS_LINES);
    job.rank = 1;
    CHECK(mode_of(false, true, true) == PROGRESS_OFF);
    listen_end();
    job = (struct job){.rank = 0};
    CHECK_STR(told.text, "");
    (void)unsetenv("ICTUS_PROGRESS");
    listen_terminal();
    (void)setenv("TERM", "dumb", 1);
    CHECK(mode_of(false, false, false) == PROGRESS_OFF);
    CHECK(mode_of(false, true, false) == PROGRESS_LINES);
    (void)setenv("TERM", "xterm", 1);
    CHECK(mode_of(false, false, false) == PROGRESS_LIVE);
    (void)unsetenv("TERM");
    CHECK(mode_of(false, false, false) == PROGRESS_LIVE);
    CHECK(mode_of(true, false, false) == PROGRESS_OFF);
    terminal_end();
    CHECK_STR(told.text, "");
}

/*
 * A long call: a line after two seconds and another one every five, or every second if the line is
 * overwritten.
 */
static void calls_are_watched(bool live)
{
    const struct progress_options options = {.progress = true};
    struct progress_watch watch;
    asked = (struct asked){0};
    if (live) {
        listen_terminal();
    } else {
        listen_begin();
    }
    progress_watch_measuring(&watch, &options, "rtt", "64 nodes");
    CHECK(watch.mode == (live ? PROGRESS_LIVE : PROGRESS_LINES));
    for (bool waits = true; waits; (void)sched_yield()) {
        (void)pthread_mutex_lock(&watch.lock);
        waits = watch.running && asked.waits < 4;
        (void)pthread_mutex_unlock(&watch.lock);
    }
    const double started_s = watch.started_s;
    progress_watch_end(&watch);
    CHECK(watch.mode == PROGRESS_OFF);
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR(asked.until_s[i], started_s + 2.0 + (live ? 1.0 : 5.0) * i, 1e-3);
    }
    if (live) {
        terminal_end();
        CHECK(strstr(told.text, "\r\033[Kictus rtt: working on 64 nodes, ") == told.text);
        CHECK(strstr(told.text, " s so far\r\033[Kictus") && !strchr(told.text, '\n'));
        CHECK(strcmp(told.text + strlen(told.text) - 4, "\r\033[K") == 0);
    } else {
        listen_end();
        CHECK(strstr(told.text, "ictus rtt: working on 64 nodes, ") == told.text);
        CHECK(strstr(told.text, " s so far\nictus") && !strchr(told.text, '\r'));
    }
}

/* Every step with --verbose; otherwise lines are rare, and a live line is overwritten. */
static void steps_are_told(void)
{
    const struct progress_options verbose = {.verbose = true}, quiet = {.quiet = true};
    struct progress progress;
    listen_begin();
    progress_start(&progress, &verbose, "experiments", 8.0);
    progress.started_s += 1000.0; /* a job that has just begun does not predict its end */
    progress_step(&progress, 2.0, "the third");
    progress_step(&progress, 3.0, NULL);
    progress.started_s -= 7000.0;
    progress_step(&progress, 4.0, NULL);
    progress.total = 1e6;
    progress.started_s -= 9e6 - 6000.0;
    progress_step(&progress, 999999.0, NULL);
    progress.started_s -= 151e6; /* more than 100 s are given in minutes */
    progress_step(&progress, 999999.0, NULL);
    progress.total = 0.0;
    progress.started_s += 1e9;
    progress_step(&progress, 1.0, NULL);
    progress.total = 0.5;
    progress_step(&progress, 0.25, NULL);
    progress_hide(&progress);
    progress_start(&progress, &quiet, "experiments", 8.0);
    progress_step(&progress, 2.0, "nothing");
    progress.mode = PROGRESS_LINES;
    progress.started_s += 1000.0;
    progress.shown_s = progress.started_s;
    progress_step(&progress, 2.0, "too soon");
    progress.shown_s -= 1005.0;
    progress_step(&progress, 2.0, "in time");
    CHECK(progress.shown_s > progress.started_s - 1000.1);
    progress_hide(&progress);
    progress.mode = PROGRESS_LIVE;
    progress.shown_s = 0.0;
    progress_hide(&progress);
    progress_step(&progress, 1.0, NULL);
    progress_hide(&progress);
    progress_hide(&progress);
    listen_end();
    CHECK_STR(told.text, "ictus:  25 %  2 of 8 experiments  the third\n"
                         "ictus:  38 %  3 of 8 experiments\n"
                         "ictus:  50 %  4 of 8 experiments, 100 min left\n"
                         "ictus: 100 %  999999 of 1000000 experiments, 9 s left\n"
                         "ictus: 100 %  999999 of 1000000 experiments, 3 min left\n"
                         "ictus:   0 %  1 of 0 experiments\n"
                         "ictus:  50 %  0 of 0 experiments\n"
                         "ictus:  25 %  2 of 8 experiments  in time\n"
                         "\r\033[K 12 %  1 of 8 experiments\r\033[K");
}

/* If a step may take longer than the interval between lines, the first line says how long. */
static void long_steps_are_foretold(void)
{
    const struct progress_options quiet = {.quiet = true};
    struct progress progress;
    listen_begin();
    progress_start(&progress, &quiet, "experiments", 8.0);
    progress.mode = PROGRESS_LINES;
    progress.shown_s = progress.started_s;
    progress_foretell(&progress, 4.9); /* shorter than the interval between lines */
    progress_foretell(&progress, NAN);
    progress_foretell(&progress, INFINITY);
    progress_step(&progress, 0.0, NULL);
    progress_foretell(&progress, 60.0);
    progress_step(&progress, 0.0, "long");
    progress.total = 1.0;
    progress_foretell(&progress, 600.0);
    progress_step(&progress, 0.0, NULL);
    progress_step(&progress, 0.0, "once");
    listen_end();
    CHECK_STR(told.text, "ictus:   0 %  0 of 8 experiments, measuring each for up to 60 s  long\n"
                         "ictus:   0 %  0 of 1 experiments, measuring for up to 10 min\n");
}

static void write_bytes(const char *path, int64_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    REQUIRE(fd >= 0 && ftruncate(fd, bytes) == 0 && close(fd) == 0);
}

static void work_is_named(int count, char **paths, const char *wanted)
{
    const struct progress_options verbose = {.verbose = true};
    struct progress_watch watch;
    char lines[512];
    char found[128] = "";
    listen_begin();
    progress_watch_begin(&watch, &verbose, "check", count, paths);
    progress_watch_end(&watch);
    progress_watch_end(&watch); /* once is enough */
    listen_end();
    (void)snprintf(lines, sizeof(lines),
                   "ictus check: working on '%s'%s\nictus check: '%s'%s took ", paths[0], wanted,
                   paths[0], wanted);
    CHECK(strncmp(told.text, lines, strlen(lines)) == 0);
    (void)snprintf(found, sizeof(found), "%.120s", told.text + strlen(lines));
    CHECK(strcmp(found, "0.0 s\n") == 0 || strstr(found, " s\n") == found + strlen(found) - 3);
}

/* The size of an archive is that of its anchor, its definitions and one directory level. */
static void watched_work_has_a_size(void)
{
    static const char *const files[] = {"run", "run/one", "run/deep"};
    char *anchor = path_of(0, "run.otf2");
    char *definitions = path_of(1, "run.def");
    char *other = path_of(2, "other");
    char *three[] = {other, definitions, other};
    write_bytes(anchor, 100);
    write_bytes(definitions, 200);
    write_bytes(other, 1000);
    for (int i = 0; i < 3; i++) {
        REQUIRE(mkdir(path_of(3, files[i]), 0755) == 0);
    }
    write_bytes(path_of(3, "run/events"), 30);
    write_bytes(path_of(3, "run/.hidden"), 7000);
    write_bytes(path_of(3, "run/deep/more"), 4);
    work_is_named(1, &anchor, " (334 bytes)");
    work_is_named(1, &other, " (1 kB)");
    write_bytes(other, 999);
    work_is_named(1, &other, " (999 bytes)");
    work_is_named(2, three, " and 1 other (1.2 kB)");
    work_is_named(3, three, " and 2 others (2.2 kB)");
    write_bytes(other, 12340000);
    work_is_named(1, &other, " (12.3 MB)");
    char *directory = path_of(3, "run");
    work_is_named(1, &directory, " (34 bytes)");
    char *missing = path_of(3, "missing");
    work_is_named(1, &missing, " (0 bytes)");
    (void)unlink(anchor);
    (void)unlink(definitions);
    (void)unlink(other);
    (void)unlink(path_of(3, "run/events"));
    (void)unlink(path_of(3, "run/.hidden"));
    (void)unlink(path_of(3, "run/deep/more"));
    (void)rmdir(path_of(3, "run/deep"));
    (void)rmdir(path_of(3, "run/one"));
    (void)rmdir(path_of(3, "run"));
}

int main(void)
{
    (void)umask(022);
    REQUIRE(mkdtemp(check_scratch(place, "options")));
    outputs_are_whole();
    outputs_tell_why();
    outputs_are_allowed();
    archives_are_inputs();
    progress_is_for_those_who_see_it();
    steps_are_told();
    long_steps_are_foretold();
    calls_are_watched(false);
    calls_are_watched(true);
    watched_work_has_a_size();
    CHECK(rmdir(place) == 0); /* nothing was left behind */
    return check_result();
}
