/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a command's results so that all ranks agree. */
#include "main/results.h"

#include "main/command.h"
#include "main/header.h"

#include <ictus/text.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

const char *const results_formats[] = {"text", "csv", "json", NULL};

int results_agree(int err, struct ictus_why *why)
{
    if (command_size() > 1) {
        MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (command_size() > 1 && err) {
        MPI_Bcast(why->text, (int)sizeof(why->text), MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    return err;
}

void results_outlive_readers(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
}

/* results_open(), where a header is printed only if it is told. */
static int results_begin(const struct results_options *options, const struct ictus_column *columns,
                         json_t *header, bool told, struct ictus_output **out,
                         struct ictus_why *why)
{
    int err = ICTUS_OK;
    *out = NULL;
    if (options->file) {
        results_outlive_readers();
    }
    if (command_rank() == 0) {
        /* The output takes the header over and may print nothing before it is known to work. */
        const bool shows = told && options->format == ICTUS_FORMAT_TEXT;
        json_t *shown = shows ? json_deep_copy(header) : NULL;
        err = ictus_output_open((enum ictus_format)options->format, columns, options->file, header,
                                out, why);
        if (!err) {
            header_print(shown);
        }
        json_decref(shown);
    }
    return results_agree(err, why);
}

int results_open(const struct results_options *options, const struct ictus_column *columns,
                 json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    return results_begin(options, columns, header, true, out, why);
}

int results_open_untold(const struct results_options *options, const struct ictus_column *columns,
                        json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    return results_begin(options, columns, header, false, out, why);
}

int results_continue(const struct results_options *options, const struct ictus_column *columns,
                     json_t *header, struct ictus_output **out, struct ictus_why *why)
{
    struct stat status;
    if (!options->file || stat(options->file, &status) || !S_ISREG(status.st_mode) ||
        status.st_size == 0) {
        return results_open(options, columns, header, out, why);
    }
    *out = NULL;
    results_outlive_readers();
    if (options->format == ICTUS_FORMAT_TEXT) {
        header_print(header);
    }
    json_decref(header);
    const int err = command_rank() == 0 ? ictus_output_resume((enum ictus_format)options->format,
                                                              columns, options->file, out, why)
                                        : ICTUS_OK;
    return results_agree(err, why);
}

int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why)
{
    struct ictus_why unsaid = {""};
    struct ictus_why *told = before ? &unsaid : why;
    int err = out ? ictus_output_close(out) : ICTUS_OK;
    if (err) {
        (void)ictus_because(told, err, "%.200s could not be written completely",
                            path ? path : "output");
    }
    err = results_agree(err, told);
    if (before == ICTUS_ERR_IO && why->text[0] == '\0') {
        (void)ictus_because(
            why, before, "cannot write more results; what was written ends with a complete line");
    }
    return before ? before : err;
}
