/* SPDX-License-Identifier: BSD-3-Clause */
/* A command's results: whether they begin or go on, and which reason is told where they fail. */
#include "main/results.h"

#include "../check.h"
#include "main/command.h"
#include "main/header.h"

#include <fcntl.h>
#include <ictus/text.h>
#include <jansson.h>
#include <mpi.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker has the results call these. */
static struct {
    int rank, size;
    int open, resume, close; /* what the calls return */
    int opened, resumed, closed, shown, told_numbers, told_texts;
} world;

int command_rank(void)
{
    return world.rank;
}

int command_size(void)
{
    return world.size;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_ictus_output_open(enum ictus_format format, const struct ictus_column *columns,
                             const char *path, json_t *header, struct ictus_output **out,
                             struct ictus_why *why);
int __wrap_ictus_output_resume(enum ictus_format format, const struct ictus_column *columns,
                               const char *path, struct ictus_output **out, struct ictus_why *why);
int __wrap_ictus_output_close(struct ictus_output *out);

/* What rank 0 tells the others: number and text. */
static int told_number;
static const char told_text[] = "rank 0 says why";

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)comm;
    CHECK(root == 0);
    if (type == MPI_INT) {
        CHECK(count == 1);
        world.told_numbers++;
        *(int *)buffer = world.rank == 0 ? *(int *)buffer : told_number;
    } else {
        CHECK(type == MPI_CHAR && count == (int)sizeof(((struct ictus_why *)NULL)->text));
        world.told_texts++;
        if (world.rank != 0) {
            (void)snprintf(buffer, (size_t)count, "%s", told_text);
        }
    }
    return MPI_SUCCESS;
}

static struct ictus_output *const an_output = (struct ictus_output *)&world;

int __wrap_ictus_output_open(enum ictus_format format, const struct ictus_column *columns,
                             const char *path, json_t *header, struct ictus_output **out,
                             struct ictus_why *why)
{
    (void)format;
    (void)columns;
    (void)path;
    world.opened++;
    CHECK(world.shown == 0);
    json_decref(header);
    *out = world.open ? NULL : an_output;
    return world.open ? ictus_because(why, world.open, "not opened") : ICTUS_OK;
}

int __wrap_ictus_output_resume(enum ictus_format format, const struct ictus_column *columns,
                               const char *path, struct ictus_output **out, struct ictus_why *why)
{
    (void)format;
    (void)columns;
    (void)path;
    world.resumed++;
    *out = world.resume ? NULL : an_output;
    return world.resume ? ictus_because(why, world.resume, "not resumed") : ICTUS_OK;
}

int __wrap_ictus_output_close(struct ictus_output *out)
{
    CHECK(out == an_output);
    world.closed++;
    return world.close;
}

void header_print(const json_t *header)
{
    if (header) {
        CHECK_STR(json_string_value(json_object_get(header, "command")), "this");
        world.shown++;
    }
}

static void world_begin(int rank, int size)
{
    memset(&world, 0, sizeof world);
    world.rank = rank;
    world.size = size;
}

static json_t *header_of_this(void)
{
    return world.rank == 0 ? json_pack("{s:s}", "command", "this") : NULL;
}

static char directory[CHECK_PATH];
static char path[128];

static void file_make(const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A file that holds something is gone on with; all others are begun. */
static void results_begin_or_go_on(void)
{
    struct ictus_why why = {""};
    struct ictus_output *out = NULL;
    struct results_options options = {.format = ICTUS_FORMAT_TEXT};
    for (int which = 0; which < 5; which++) { /* none, missing, a device, empty, with results */
        options.file = which == 0 ? NULL : which == 2 ? "/dev/null" : path;
        (void)unlink(path);
        if (which >= 3) {
            file_make(which == 3 ? "" : "{}\n");
        }
        world_begin(0, 1);
        CHECK(results_continue(&options, NULL, header_of_this(), &out, &why) == ICTUS_OK);
        CHECK(world.opened == (which < 4) && world.resumed == (which == 4));
        CHECK(world.shown == 1 && out == an_output && world.told_numbers == 0);
    }
    world_begin(0, 1); /* where it says nothing, no header is told */
    CHECK(results_open_untold(&options, NULL, header_of_this(), &out, &why) == ICTUS_OK);
    CHECK(world.opened == 1 && world.shown == 0 && out == an_output);
    options.format = ICTUS_FORMAT_JSON; /* headers are for people */
    world_begin(0, 1);
    CHECK(results_continue(&options, NULL, header_of_this(), &out, &why) == ICTUS_OK);
    CHECK(world.resumed == 1 && world.shown == 0);
    world_begin(0, 1);
    CHECK(results_open(&options, NULL, header_of_this(), &out, &why) == ICTUS_OK);
    CHECK(world.opened == 1 && world.shown == 0);
    world_begin(0, 1);
    world.resume = ICTUS_ERR_FORMAT;
    CHECK(results_continue(&options, NULL, header_of_this(), &out, &why) == ICTUS_ERR_FORMAT);
    CHECK_STR(why.text, "not resumed");
}

/* Rank 0 alone opens; what it says, all return. */
static void ranks_agree(void)
{
    struct ictus_output *out = an_output;
    const struct results_options options = {.format = ICTUS_FORMAT_TEXT, .file = path};
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        for (int rank = 0; rank < 2; rank++) {
            struct ictus_why why = {""};
            file_make(goes_on ? "{}\n" : "");
            world_begin(rank, 2);
            world.open = world.resume = told_number = ICTUS_ERR_IO;
            CHECK(results_continue(&options, NULL, header_of_this(), &out, &why) == ICTUS_ERR_IO);
            CHECK(world.opened + world.resumed == (rank == 0) && !out);
            CHECK(world.told_numbers == 1 && world.told_texts == 1);
            CHECK_STR(why.text, rank ? told_text : goes_on ? "not resumed" : "not opened");
            CHECK(goes_on || world.shown == 0);
            world_begin(rank, 2);
            told_number = ICTUS_OK;
            CHECK(results_continue(&options, NULL, header_of_this(), &out, &why) == ICTUS_OK);
            CHECK(world.told_numbers == 1 && world.told_texts == 0);
            CHECK(out == (rank == 0 ? an_output : NULL));
        }
    }
}

/* The first reason is the one to tell; output that is lost has one in any case. */
static void ends_are_told(void)
{
    static const struct {
        int before, close, wanted;
        const char *given, *path, *told;
    } ends[] = {
        {ICTUS_OK, ICTUS_OK, ICTUS_OK, "", "a file", ""},
        {ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_IO, "", "a file",
         "a file could not be written completely"},
        {ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_IO, "", NULL, "output could not be written completely"},
        {ICTUS_ERR_MPI, ICTUS_ERR_IO, ICTUS_ERR_MPI, "MPI failed", "a file", "MPI failed"},
        {ICTUS_ERR_MPI, ICTUS_OK, ICTUS_ERR_MPI, "", "a file", ""},
        {ICTUS_ERR_IO, ICTUS_OK, ICTUS_ERR_IO, "", "a file",
         "cannot write more results; what was written ends with a complete line"},
        {ICTUS_ERR_IO, ICTUS_ERR_IO, ICTUS_ERR_IO, "disk full", "a file", "disk full"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct ictus_why why = {""};
        (void)snprintf(why.text, sizeof why.text, "%s", ends[i].given);
        world_begin(0, 1);
        world.close = ends[i].close;
        CHECK(results_close(an_output, ends[i].path, ends[i].before, &why) == ends[i].wanted);
        CHECK(world.closed == 1);
        CHECK_STR(why.text, ends[i].told);
    }
    struct ictus_why why = {""};
    world_begin(1, 2);
    told_number = ICTUS_ERR_IO;
    CHECK(results_close(NULL, NULL, ICTUS_OK, &why) == ICTUS_ERR_IO && world.closed == 0);
    CHECK_STR(why.text, told_text);
}

/* A reader of standard output may go away; the file gets all. Without a file there is no reason to
 * go on. */
static void readers_are_outlived(void)
{
    struct ictus_why why = {""};
    struct ictus_output *out = NULL;
    struct results_options options = {.format = ICTUS_FORMAT_JSON};
    for (int which = 0; which < 3; which++) { /* no file, a new one, one that is gone on with */
        (void)signal(SIGPIPE, SIG_DFL);
        options.file = which ? path : NULL;
        file_make(which == 2 ? "{}\n" : "");
        world_begin(0, 1);
        CHECK(results_continue(&options, NULL, header_of_this(), &out, &why) == ICTUS_OK);
        CHECK(signal(SIGPIPE, SIG_DFL) == (which ? SIG_IGN : SIG_DFL));
    }
}

int main(void)
{
    REQUIRE(mkdtemp(check_scratch(directory, "results")));
    (void)snprintf(path, sizeof path, "%s/results", directory);
    results_begin_or_go_on();
    ranks_agree();
    ends_are_told();
    readers_are_outlived();
    (void)unlink(path);
    (void)rmdir(directory);
    return check_result();
}
