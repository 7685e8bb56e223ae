/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command's results across the job: rank 0 writes, all ranks know whether it can. The calls are
 * collective where they say so, so that a full disk or a wrong path ends every rank alike.
 */
#ifndef ICTUS_TOOLS_RESULTS_H
#define ICTUS_TOOLS_RESULTS_H

#include <ictus/result.h>
#include <stdbool.h>

/* For option tables: --format=... */
extern const char *const results_formats[];

/* What --format, --output and --force ask for. */
struct results_options {
    int format; /* enum ictus_format */
    const char *file;
    bool force;
};

/*
 * Collective: open the output on rank 0 and tell all whether that worked. In the text format the
 * header is printed first, as "# ..." lines. header and columns as for ictus_output_open(); NULL
 * header on the other ranks. *out is NULL there.
 */
int results_open(const struct results_options *options, const struct ictus_column *columns,
                 json_t *header, struct ictus_output **out, struct ictus_why *why);

/*
 * As results_open(), but without a header above the text: for a command that reads what others
 * measured, about which this machine and the number of this command's processes say nothing.
 */
int results_open_untold(const struct results_options *options, const struct ictus_column *columns,
                        json_t *header, struct ictus_output **out, struct ictus_why *why);

/*
 * As results_open(), but go on with a file that is there, as a daemon does when it starts again.
 */
int results_continue(const struct results_options *options, const struct ictus_column *columns,
                     json_t *header, struct ictus_output **out, struct ictus_why *why);

/*
 * Collective: finish on rank 0; every rank gets the error if something was not written, or the one
 * from before: the first reason is the one to tell. path is for the reason; out may be NULL.
 */
int results_close(struct ictus_output *out, const char *path, int before, struct ictus_why *why);

/* From now on a reader of standard output who goes away (a pager, head) ends nothing: the result
 * file gets all. */
void results_outlive_readers(void);

/* Collective: every rank gets rank 0's error and reason. */
int results_agree(int err, struct ictus_why *why);

#endif
