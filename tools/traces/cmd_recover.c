/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus recover: make the archive of what a traced job left behind. */
#include "main/command.h"
#include "main/shared_rows.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <stdbool.h>
#include <stdio.h>

struct recover_options {
    const char *output, *scratch;
    bool force, keep, local;
    struct progress_options talk;
};

#define AT(member) offsetof(struct recover_options, member)

static const struct option_row rows[] = {
    ROW_OUTPUT(AT(output), "DIR", "directory to write the archive to; by default the same"),
    ROW_FORCE(AT(force)),
    {"scratch", 0, OPTION_TEXT, AT(scratch), NULL, 0, 0, NULL, "DIR",
     "directory of the raw files, if --scratch was given"},
    {"local", 0, OPTION_FLAG, AT(local), NULL, 0, 0, NULL, NULL,
     "write time stamps of the local clocks instead of global ones"},
    {"keep", 0, OPTION_FLAG, AT(keep), NULL, 0, 0, NULL, NULL, "keep the raw files"},
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static void recover_tell(const struct recover_options *o, const char *directory,
                         const struct ictus_trace_summary *s)
{
    printf("%s: %llu events of %llu processes", o->output ? o->output : directory,
           (unsigned long long)s->events, (unsigned long long)s->processes);
    printf(" in %.3f s; %.1f bytes per event", s->length_s,
           s->events ? (double)s->raw_bytes / (double)s->events : 0.0);
    if (!o->local) {
        printf("; clocks +-%.0f ns (bound %.0f ns)", s->sigma_ns, s->bound_ns);
    }
    if (s->jump_ns > 0.0) {
        printf("\n"
               "a clock stepped by %.3g s between two synchronisations, so times "
               "between them are wrong by as much",
               s->jump_ns * 1e-9);
    }
    if (s->lost) {
        printf("\n%llu calls are missing because the buffer or the disk was full",
               (unsigned long long)s->lost);
    }
    if (s->untracked) {
        printf("\n%llu requests could not be followed", (unsigned long long)s->untracked);
    }
    if (s->clamped) {
        printf("\na clock went backwards %llu times; those events have the latest time seen before",
               (unsigned long long)s->clamped);
    }
    printf("\n%llu processes did not reach MPI_Finalize, %llu left nothing\n",
           (unsigned long long)s->cut, (unsigned long long)s->missing);
}

static int recover_run(const void *options, int word_count, char **words)
{
    const struct recover_options *o = options;
    struct ictus_why why = {""};
    struct ictus_trace_summary summary;
    struct progress_watch watch;
    const struct ictus_trace_recover_opts opts = {
        .size = sizeof(opts),
        .output = o->output,
        .scratch = o->scratch,
        .local = o->local,
        .force = o->force,
        .keep = o->keep,
    };
    if (word_count != 1) {
        (void)ictus_because(&why, ICTUS_ERR_ARG,
                            "name one directory, the one that 'ictus trace' wrote to");
        return command_fail("recover", ICTUS_ERR_ARG, &why);
    }
    progress_watch_begin(&watch, &o->talk, "recover", word_count, words);
    const int err = ictus_trace_recover(words[0], &opts, &summary, &why);
    progress_watch_end(&watch);
    if (err) {
        return command_fail("recover", err, &why);
    }
    if (!o->talk.quiet) {
        recover_tell(o, words[0], &summary);
    }
    return EXIT_OK;
}

const struct command command_recover = {
    .name = "recover",
    .summary = "make the archive of a traced job that was killed or deferred",
    .arguments = "DIR",
    .details = "  ictus recover run1",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct recover_options),
    .run = recover_run,
};
