/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus clocks: which failures end the command, and which only say that a clock is not here. */
#include "../check.h"

#include "main/command.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/progress.h"
#include "main/results.h"

#include <ictus/study.h>
#include <ictus/text.h>
#include <jansson.h>

enum { SOURCES = 2 };

extern const struct command command_clocks;

/* How opening a source ends, in the order of the calls: all are opened before any is measured. */
static struct {
    int ends[2 * SOURCES];
    int opened, results, told, failed;
} world;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why);
int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);

int __wrap_ictus_study_create(MPI_Comm comm, const char *source, struct ictus_study **study,
                              struct ictus_why *why)
{
    (void)comm;
    CHECK_STR(source, world.opened % SOURCES ? "wtime" : "tsc");
    REQUIRE(world.opened < 2 * SOURCES);
    *study = NULL;
    return ictus_because(why, world.ends[world.opened++], "why of %s", source);
}

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    (void)out;
    CHECK_STR(json_string_value(json_object_get(object, "clock")), world.told ? "wtime" : "tsc");
    CHECK(json_is_false(json_object_get(object, "available")));
    CHECK_STR(json_string_value(json_object_get(object, "reason")),
              world.told ? "why of wtime" : "why of tsc");
    world.told++;
    json_decref(object);
    return ICTUS_OK;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int command_rank(void)
{
    return 0;
}

int command_size(void)
{
    return 1;
}

int command_fail(const char *command, int err, const struct ictus_why *why)
{
    (void)why;
    CHECK_STR(command, "clocks");
    world.failed = err;
    return EXIT_FAILED;
}

json_t *header_create(const struct header_facts *facts)
{
    CHECK_STR(facts->command, "clocks");
    return NULL;
}

const char *const results_formats[] = {"text", NULL};

int results_open(const struct results_options *options, const struct ictus_column *columns,
                 json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    (void)options;
    (void)columns;
    (void)header;
    (void)why;
    *out = NULL;
    world.results++;
    return ICTUS_OK;
}

int results_agree(int err, struct ictus_why *why)
{
    (void)why;
    return err;
}

int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why)
{
    (void)out;
    (void)path;
    (void)why;
    return before;
}

void progress_start(struct progress *progress, const struct progress_options *options,
                    const char *what, double total)
{
    (void)progress;
    (void)options;
    (void)what;
    (void)total;
}

void progress_step(struct progress *progress, double done, const char *label)
{
    (void)progress;
    (void)done;
    (void)label;
}

void progress_hide(struct progress *progress)
{
    (void)progress;
}

void interrupt_watch(void)
{
}

bool interrupt_came(void)
{
    return false;
}

/* Run it on two clocks. Opening one ends with `end` at this call, and with `usual` at others. */
static int run(int call, int end, int usual)
{
    static char options[1024];
    REQUIRE(command_clocks.options_size <= sizeof(options));
    memset(&world, 0, sizeof(world));
    for (int i = 0; i < 2 * SOURCES; i++) {
        world.ends[i] = i == call ? end : usual;
    }
    for (const struct option_row *row = command_clocks.options; row->name; row++) {
        if (strcmp(row->name, "clock") == 0) {
            *(const char **)(void *)(options + row->offset) = "tsc,wtime";
        }
    }
    return command_clocks.run(options, 0, NULL);
}

/* A clock that cannot be had here is told as such, and the next one is looked at. */
static void missing_clocks_are_told(void)
{
    static const int ends[] = {ICTUS_ERR_CLOCK, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_IO};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        CHECK(run(SOURCES, ends[i], ICTUS_ERR_CLOCK) == EXIT_OK);
        CHECK(world.told == SOURCES && world.results == 1 && !world.failed);
    }
}

/* Without MPI or memory nothing is known about the clock, and nothing about the next one. */
static void failures_end_the_list(void)
{
    static const int ends[] = {ICTUS_ERR_MPI, ICTUS_ERR_NOMEM};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        for (int last = 0; last < SOURCES; last++) {
            CHECK(run(SOURCES + last, ends[i], ICTUS_ERR_CLOCK) == EXIT_FAILED);
            CHECK(world.failed == ends[i] && world.told == last);
            CHECK(world.opened == SOURCES + last + 1);
        }
    }
}

/* What no machine can have is refused before anything is measured. */
static void wrong_clocks_are_refused_first(void)
{
    static const int ends[] = {ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOMEM};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        for (int which = 0; which < SOURCES; which++) {
            CHECK(run(which, ends[i], ICTUS_ERR_CLOCK) == EXIT_FAILED);
            CHECK(world.failed == ends[i] && world.opened == which + 1 && world.results == 0);
        }
    }
}

int main(void)
{
    missing_clocks_are_told();
    failures_end_the_list();
    wrong_clocks_are_refused_first();
    return check_result();
}
