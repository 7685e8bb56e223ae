/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What 'ictus trace' refuses before it starts a program, and what the program finds in its
 * environment: each option in the variable of its name, and the library that is preloaded.
 */
#include "../check.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): its static functions are what is looked at */
#include "traces/cmd_trace.c"

#include <sys/stat.h>

static struct ictus_why failure;
static char directory[CHECK_PATH];
static char library[CHECK_PATH + 40];
static const char *doubt;
static int launched_rank, failed, spoke, started, target_err;

int command_launched_rank(void)
{
    return launched_rank;
}

bool command_speaks(void)
{
    spoke++;
    return false;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK_STR(command, "trace");
    failed++;
    failure = *why;
    return err == ICTUS_ERR_IO ? EXIT_FAILED : EXIT_USAGE;
}

int output_possible_directory(const char *name, struct ictus_why *why)
{
    return name && strcmp(name, "/no/where") == 0
               ? ictus_because(why, ICTUS_ERR_ARG, "there is no directory /no/where")
               : ICTUS_OK;
}

int trace_target_check(const char *program, struct ictus_why *why)
{
    CHECK_STR(program, "./app");
    if (target_err) {
        return ictus_because(why, target_err, "./app is not for MPI");
    }
    if (doubt) {
        (void)ictus_because(why, ICTUS_OK, "%s", doubt);
    }
    return ICTUS_OK;
}

int trace_target_library(char *path, unsigned long size, struct ictus_why *why)
{
    (void)why;
    (void)snprintf(path, size, "%s", library);
    return ICTUS_OK;
}

/* Names that the library would check in its own rooms. */
int ictus_trace_filter_check(const char *list, struct ictus_why *why)
{
    return strcmp(list, "nix") == 0 ? ictus_because(why, ICTUS_ERR_UNKNOWN, "filter nix")
                                    : ICTUS_OK;
}

int ictus_trace_metrics_check(const char *list, struct ictus_why *why)
{
    return strcmp(list, "nix") == 0 ? ictus_because(why, ICTUS_ERR_UNKNOWN, "metric nix")
                                    : ICTUS_OK;
}

int execvp_model(const char *file, char *const *argv) __asm__("__wrap_execvp");

int execvp_model(const char *file, char *const *argv)
{
    CHECK_STR(file, "./app");
    CHECK_STR(argv[1], "-x");
    CHECK(argv[2] == NULL);
    started++;
    errno = ENOENT;
    return -1;
}

static const char *const variables[] = {
    "OUTPUT",       "SCRATCH", "SYNC",   "CLOCK",    "FILTER", "METRICS",        "METRICS_EVERY",
    "RESYNC_EVERY", "BUFFER",  "WINDOW", "LIMIT",    "FORCE",  "KEEP",           "DEFER",
    "STATISTICS",   "OFF",     "QUIET",  "REQUESTS", "PID",    "RESYNC_BARRIERS"};
enum { VARIABLES = sizeof(variables) / sizeof(*variables) };

static const char *variable(const char *name)
{
    char text[60];
    (void)snprintf(text, sizeof text, "ICTUS_TRACE_%s", name);
    return getenv(text);
}

static void environment_clear(void)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        char text[60];
        (void)snprintf(text, sizeof text, "ICTUS_TRACE_%s", variables[i]);
        CHECK(unsetenv(text) == 0);
    }
    CHECK(unsetenv("LD_PRELOAD") == 0 && unsetenv("LD_LIBRARY_PATH") == 0);
    CHECK(unsetenv("ICTUS_CLOCK") == 0 && unsetenv("ICTUS_SYNC") == 0);
    (void)snprintf(library, sizeof library, "/lib/libictus-trace.so");
    doubt = NULL;
    launched_rank = failed = spoke = started = target_err = 0;
    failure.text[0] = '\0';
}

/* @param line  words between blanks; the program is added */
static int trace_runs(const char *line)
{
    static char text[600];
    static long double options[64];
    char *argv[24] = {"trace"}, *rest = NULL;
    struct ictus_why why = {""};
    int n = 1, count = 0;
    (void)snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        argv[n++] = word;
    }
    argv[n++] = "--";
    argv[n++] = "./app";
    argv[n++] = "-x";
    memset(options, 0, sizeof options);
    REQUIRE(sizeof(struct trace_options) <= sizeof options);
    REQUIRE(options_read(rows, n, argv, options, &count, &why) == ICTUS_OK);
    char **words = argv + 1;
    if (strcmp(words[0], "--") == 0) {
        words++;
        count--;
    }
    return command_trace.run(options, count, words);
}

static void options_are_passed_on(void)
{
    static const struct {
        const char *option, *variable, *value;
    } cases[] = {{"--sync=mesh", "SYNC", "mesh"},
                 {"--clock=monotonic", "CLOCK", "monotonic"},
                 {"--filter=p2p", "FILTER", "p2p"},
                 {"--metrics=page_faults", "METRICS", "page_faults"},
                 {"--metrics-every=2ms", "METRICS_EVERY", "0.002000000"},
                 {"--resync-every=1.5s", "RESYNC_EVERY", "1.500000000"},
                 {"--resync-barriers=7", "RESYNC_BARRIERS", "7"},
                 {"--buffer=32M", "BUFFER", "33554432"},
                 {"--window=64k", "WINDOW", "65536"},
                 {"--limit=1G", "LIMIT", "1073741824"},
                 {"--requests=99", "REQUESTS", "99"},
                 {"--scratch=/local", "SCRATCH", "/local"},
                 {"--force", "FORCE", "1"},
                 {"--keep", "KEEP", "1"},
                 {"--defer", "DEFER", "1"},
                 {"--statistics", "STATISTICS", "1"},
                 {"--off", "OFF", "1"},
                 {"--quiet", "QUIET", "1"}};
    static const char *const numbers[] = {
        "METRICS_EVERY", "0.001000000", "RESYNC_EVERY",    "0.000000000", "BUFFER",   "16777216",
        "WINDOW",        "0",           "RESYNC_BARRIERS", "0",           "REQUESTS", "0"};
    char line[200], pid[24], path[2 * PATH_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        environment_clear();
        CHECK(setenv("ICTUS_TRACE_FILTER", "old", 1) == 0); /* is not for this trace */
        (void)snprintf(line, sizeof line, "-o %s/run %s", directory, cases[i].option);
        CHECK(trace_runs(line) == EXIT_FAILED && started == 1);
        CHECK(strstr(failure.text, "cannot run './app': No such file") != NULL);
        (void)snprintf(path, sizeof path, "%s/run", directory);
        CHECK_STR(variable("OUTPUT"), path);
        CHECK_STR(variable(cases[i].variable), cases[i].value);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            const bool is_number = k >= 4 && k <= 10;
            CHECK(k == i || is_number || !variable(cases[k].variable));
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i += 2) {
        CHECK_STR(variable(numbers[i]), numbers[i + 1]);
    }
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    CHECK_STR(variable("PID"), pid);
    REQUIRE(chdir(directory) == 0 && getcwd(path, PATH_MAX));
    environment_clear();
    CHECK(trace_runs("-o run --scratch=there") == EXIT_FAILED);
    (void)strcat(path, "/run"); /* wherever the program goes */
    CHECK_STR(variable("OUTPUT"), path);
    (void)strcpy(path + strlen(path) - 3, "there");
    CHECK_STR(variable("SCRATCH"), path);
}

/* The library comes before what the program preloads anyway; a blank in its path splits nothing. */
static void libraries_are_preloaded(void)
{
    environment_clear();
    CHECK(trace_runs("-o run") == EXIT_FAILED);
    CHECK_STR(getenv("LD_PRELOAD"), "/lib/libictus-trace.so");
    CHECK(!getenv("LD_LIBRARY_PATH"));
    CHECK(setenv("LD_PRELOAD", "libown.so", 1) == 0);
    CHECK(trace_runs("-o run") == EXIT_FAILED);
    CHECK_STR(getenv("LD_PRELOAD"), "/lib/libictus-trace.so:libown.so");
    environment_clear();
    CHECK(setenv("LD_LIBRARY_PATH", "/own", 1) == 0 && setenv("LD_PRELOAD", "", 1) == 0);
    (void)snprintf(library, sizeof library, "/my lib/libictus-trace.so");
    CHECK(trace_runs("-o run") == EXIT_FAILED);
    CHECK_STR(getenv("LD_PRELOAD"), "libictus-trace.so");
    CHECK_STR(getenv("LD_LIBRARY_PATH"), "/my lib:/own");
}

static void refused(const char *line, const char *reason)
{
    if (trace_runs(line) != EXIT_USAGE || !strstr(failure.text, reason) || started) {
        check_failures++;
        (void)fprintf(stderr, "%s: %s\n", line, failure.text);
    }
}

/* Whatever can be known to be wrong is told before the program starts. */
static void nonsense_is_refused(void)
{
    char *none[] = {NULL, NULL};
    struct trace_options bare;
    environment_clear();
    memset(&bare, 0, sizeof bare);
    CHECK(command_trace.run(&bare, 0, none) == EXIT_USAGE);
    CHECK(strstr(failure.text, "the program to trace is missing") != NULL);
    refused("", "name the directory of the archive with -o DIR");
    refused("-o run --statistics --metrics=cycles", "leave one of them out");
    refused("-o run --filter=nix", "filter nix");
    refused("-o run --metrics=nix", "metric nix");
    refused("-o run --clock=nix", "nix");
    refused("-o run --sync=nix", "nix");
    refused("-o run --scratch=/no/where", "there is no directory /no/where");
    CHECK(setenv("ICTUS_CLOCK", "nix", 1) == 0);
    refused("-o run", "nix");
    CHECK(trace_runs("-o run --clock=monotonic") == EXIT_FAILED && started == 1);
    environment_clear();
    CHECK(setenv("ICTUS_SYNC", "n", 1) == 0);
    refused("-o run", "'n'");
    CHECK(setenv("ICTUS_SYNC", "", 1) == 0 && trace_runs("-o run") == EXIT_FAILED && started == 1);
    environment_clear();
    target_err = ICTUS_ERR_ARG;
    refused("-o run", "./app is not for MPI");
    CHECK(failed == 1 && spoke == 0);
    launched_rank = 1; /* rank 0 tells it, and this one waits until it has */
    CHECK(trace_runs("-o run") == EXIT_USAGE && failed == 1 && spoke == 1);
}

/* What is there is replaced only if the user says so. */
static void archives_are_kept(void)
{
    static const char *const files[] = {"traces.otf2", "arrivals.jsonl"};
    environment_clear();
    CHECK(mkdir("run", 0777) == 0);
    for (int i = 0; i < 2; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "run/%s", files[i]);
        FILE *file = fopen(path, "w");
        REQUIRE(file && fclose(file) == 0);
        started = 0;
        refused("-o run", i == 0 ? "run already holds an archive; use --force"
                                 : "run already holds arrivals.jsonl; use --force");
        CHECK(trace_runs("-o run --force") == EXIT_FAILED && started == 1);
        CHECK(unlink(path) == 0);
    }
    CHECK(rmdir("run") == 0);
}

/* @return what the user is told on standard error */
static const char *warned(void)
{
    static char text[400];
    FILE *const real = stderr, *memory = tmpfile();
    REQUIRE(memory);
    stderr = memory;
    CHECK(trace_runs("-o run") == EXIT_FAILED || launched_rank);
    stderr = real;
    rewind(memory);
    text[fread(text, 1, sizeof text - 1, memory)] = '\0';
    (void)fclose(memory);
    return text;
}

/* A doubt about the program is told once, and it is started all the same. */
static void doubts_are_told(void)
{
    environment_clear();
    CHECK_STR(warned(), "");
    doubt = "./app may not use MPI";
    CHECK_STR(warned(), "ictus trace: ./app may not use MPI\n");
    launched_rank = 2;
    CHECK_STR(warned(), "");
    CHECK(started == 3);
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "cmd-trace")) != NULL);
    options_are_passed_on();
    libraries_are_preloaded();
    nonsense_is_refused();
    archives_are_kept();
    doubts_are_told();
    CHECK(chdir("/") == 0 && rmdir(directory) == 0);
    return check_result();
}
