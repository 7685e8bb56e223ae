/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus at: what it asks of the clock, what it reports about the start, and how it ends. */
#include "../check.h"

#include "main/command.h"
#include "main/header.h"

#include <ictus/lock_daemon.h>
#include <ictus/text.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 1500, ENDED_WITH_7 = 7 << 8, KILLED_BY_9 = 9 };

extern const struct command command_at;

/* The linker makes the command read this clock and start on it. */
static struct {
    int open, now, run; /* return values of the calls */
    int opened, closed, status, words;
    double tolerance_ns;
    bool use_bound, disk_fills;
} world;
static char failure[400];
static char directory[CHECK_PATH];
static char result[128], errors[128];

int __wrap_ictus_lock_open_guarded(const char *name, const char *place, struct ictus_lock **lock,
                                   struct ictus_why *why);
int __wrap_ictus_lock_now(const struct ictus_lock *lock, struct ictus_lock_reading *reading);
void __wrap_ictus_lock_close(struct ictus_lock *lock);
int __wrap_ictus_at_run(const struct ictus_lock *lock, const struct ictus_at_start *start,
                        struct ictus_at_report *report, struct ictus_why *why);

int __wrap_ictus_lock_open_guarded(const char *name, const char *place, struct ictus_lock **lock,
                                   struct ictus_why *why)
{
    CHECK_STR(name, "the-name");
    CHECK_STR(place, "the-directory");
    *lock = NULL;
    world.opened += world.open == ICTUS_OK;
    return world.open ? ictus_because(why, world.open, "no such clock") : ICTUS_OK;
}

int __wrap_ictus_lock_now(const struct ictus_lock *lock, struct ictus_lock_reading *reading)
{
    (void)lock;
    *reading = (struct ictus_lock_reading){.time.ns = INT64_C(1795000000000000000)};
    return world.now;
}

void __wrap_ictus_lock_close(struct ictus_lock *lock)
{
    (void)lock;
    world.closed++;
}

int __wrap_ictus_at_run(const struct ictus_lock *lock, const struct ictus_at_start *start,
                        struct ictus_at_report *report, struct ictus_why *why)
{
    int words = 0;
    (void)lock;
    while (start->command[words]) {
        words++;
    }
    CHECK(words == world.words);
    CHECK_STR(start->command[0], "first");
    CHECK(words == 1 || strcmp(start->command[words - 1], "last") == 0);
    CHECK(start->instant.ns == INT64_C(1795000010500000000));
    CHECK_NEAR(start->tolerance_ns, world.tolerance_ns, 1e-6);
    CHECK(start->use_bound == world.use_bound);
    if (world.run) {
        return ictus_because(why, world.run, "not started");
    }
    *report = (struct ictus_at_report){.instant = start->instant,
                                       .lateness_ns = 1250,
                                       .exec_ns = 345678,
                                       .sigma_ns = 2100,
                                       .bound_ns = 98765,
                                       .status = world.status};
    struct rlimit before;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit little = {2, before.rlim_max};
    REQUIRE(!world.disk_fills || setrlimit(RLIMIT_FSIZE, &little) == 0);
    start->on_start(report, start->context);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    return ICTUS_OK;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    CHECK_STR(command, "at");
    (void)snprintf(failure, sizeof failure, "%d %s", err, why ? why->text : "");
    return err == ICTUS_ERR_SPEC ? EXIT_USAGE : EXIT_FAILED;
}

json_t *header_create(const struct header_facts *facts)
{
    return json_pack("{s:s, s:s}", "type", "header", "command", facts->command);
}

/* The options that the command line sets. */
static char options[1024];

static void *option(const char *name)
{
    for (const struct option_row *row = command_at.options; row->name; row++) {
        if (strcmp(row->name, name) == 0) {
            return options + row->offset;
        }
    }
    REQUIRE(false); /* an option with this name */
    return NULL;
}

static void options_begin(void)
{
    REQUIRE(command_at.options_size <= sizeof options);
    memset(options, 0, sizeof options);
    *(const char **)option("when") = "@1795000010.5";
    *(int64_t *)option("next-odd-minute") = -1;
    *(double *)option("tolerance") = 5e-6;
    *(const char **)option("name") = "the-name";
    *(const char **)option("directory") = "the-directory";
    memset(&world, 0, sizeof world);
    world.tolerance_ns = 5000;
    failure[0] = '\0';
}

/* Run it with this many words. @return its exit code; its messages are in `errors` */
static int run(int count)
{
    static char *words[WORDS];
    for (int i = 0; i < WORDS; i++) {
        words[i] = i == 0 ? "first" : i == WORDS - 1 ? "last" : "more";
    }
    world.words = count;
    (void)fflush(stderr);
    const int saved = dup(2);
    REQUIRE(saved >= 0 && freopen(errors, "w", stderr));
    const int code = command_at.run(options, count, words);
    (void)fflush(stderr);
    REQUIRE(dup2(saved, 2) == 2);
    (void)close(saved);
    CHECK(world.opened == world.closed);
    return code;
}

static void file_holds(const char *path, const char *wanted)
{
    char found[1024] = "";
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    (void)fclose(file);
    CHECK_STR(found, wanted);
}

static void starts_are_told(void)
{
    options_begin();
    CHECK(run(WORDS) == EXIT_OK && world.opened == 1 && !failure[0]);
    file_holds(errors,
               "ictus at: waiting for 2026-11-18T11:06:50.500000000Z\n"
               "ictus at: 2026-11-18T11:06:50.500000000Z: 1.250 us late, running 345.678 us "
               "later; clock +-4.200 us, bound 98.765 us\n");
    options_begin();
    CHECK(run(1) == EXIT_OK);
    options_begin();
    *(bool *)option("quiet") = true;
    *(bool *)option("bound") = world.use_bound = true;
    CHECK(run(WORDS) == EXIT_OK);
    file_holds(errors, "");
}

static void starts_are_kept(void)
{
    json_t *lines[3] = {NULL};
    options_begin();
    *(const char **)option("output") = result;
    CHECK(run(WORDS) == EXIT_OK);
    FILE *file = fopen(result, "r");
    REQUIRE(file);
    for (int i = 0; i < 3; i++) {
        lines[i] = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
    }
    (void)fclose(file);
    REQUIRE(lines[0] && lines[1] && !lines[2]);
    CHECK_STR(json_string_value(json_object_get(lines[0], "command")), "at");
    CHECK_STR(json_string_value(json_object_get(lines[0], "schema")), "ictus-result/1");
    CHECK_STR(json_string_value(json_object_get(lines[1], "type")), "at");
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    CHECK_STR(json_string_value(json_object_get(lines[1], "host")), host);
    CHECK(json_integer_value(json_object_get(lines[1], "instant_ns")) ==
          INT64_C(1795000010500000000));
    static const struct {
        const char *key;
        double value;
    } wanted[] = {
        {"lateness_ns", 1250}, {"exec_ns", 345678}, {"sigma_ns", 2100}, {"bound_ns", 98765}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CHECK_NEAR(json_real_value(json_object_get(lines[1], wanted[i].key)), wanted[i].value, 0);
    }
    json_decref(lines[0]);
    json_decref(lines[1]);
}

/* The command's own exit code is passed on, and a signal is reported as a shell does. */
static void ends_are_passed_on(void)
{
    options_begin();
    world.status = ENDED_WITH_7;
    CHECK(run(WORDS) == 7);
    options_begin();
    world.status = KILLED_BY_9;
    CHECK(run(WORDS) == 128 + 9);
    /* A lost result turns success into failure, but does not hide another failure. */
    for (int status = 0; status <= ENDED_WITH_7; status += ENDED_WITH_7) {
        options_begin();
        world.status = status;
        world.disk_fills = true;
        *(const char **)option("output") = result;
        CHECK(run(WORDS) == (status ? 7 : EXIT_FAILED));
    }
}

static void refusals_are_told_apart(void)
{
    static const struct {
        int err, code;
    } refused[] = {{ICTUS_ERR_TOLERANCE, EXIT_BELOW},
                   {ICTUS_ERR_CLOCK, EXIT_BELOW},
                   {ICTUS_ERR_TIMEOUT, EXIT_FAILED},
                   {ICTUS_ERR_IO, EXIT_FAILED}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        options_begin();
        world.run = refused[i].err;
        CHECK(run(WORDS) == refused[i].code && strstr(failure, "not started"));
    }
    options_begin();
    world.now = ICTUS_ERR_CLOCK;
    CHECK(run(WORDS) == EXIT_BELOW && strstr(failure, "the clock is not locked yet"));
    options_begin();
    world.open = ICTUS_ERR_CLOCK;
    CHECK(run(WORDS) == EXIT_FAILED && strstr(failure, "no such clock"));
    options_begin();
    CHECK(run(0) == EXIT_USAGE && strstr(failure, "the command to start is missing"));
    CHECK(world.opened == 0);
    options_begin();
    *(const char **)option("when") = "soon";
    CHECK(run(WORDS) == EXIT_USAGE && world.opened == 0);
    options_begin();
    *(const char **)option("when") = "@1000"; /* it has passed */
    CHECK(run(WORDS) == EXIT_USAGE && world.opened == 1);
    file_holds(errors, "");
    options_begin();
    *(const char **)option("output") = "/nonexistent/at";
    CHECK(run(WORDS) == EXIT_FAILED && world.opened == 1);
    CHECK(strstr(failure, "cannot write /nonexistent/at: No such file or directory"));
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "at")));
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)snprintf(result, sizeof result, "%s/result", directory);
    (void)snprintf(errors, sizeof errors, "%s/errors", directory);
    starts_are_told();
    starts_are_kept();
    ends_are_passed_on();
    refusals_are_told_apart();
    (void)unlink(result);
    (void)unlink(errors);
    (void)rmdir(directory);
    return check_result();
}
