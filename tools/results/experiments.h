/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measurements of result files, ours and other programs', gathered by experiment. Two
 * measurements are of the same experiment when all their members that are text, and bytes,
 * processes and root, agree; a file may hold it several times, once a launch.
 */
#ifndef ICTUS_TOOLS_EXPERIMENTS_H
#define ICTUS_TOOLS_EXPERIMENTS_H

#include <ictus/error.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct experiment {
    char *identity;   /* canonical text of what makes it this experiment */
    json_t *members;  /* the same as an object */
    json_t *launches; /* array of its measurement objects, in the file's order */
};

struct experiments {
    const char *path;
    struct experiment *list;
    size_t count;
    json_t *index; /* identity -> place in the list */
    int refused;   /* rows of another program's table that failed its own validation */
};

/*
 * Read a file of ours (ictus-result/1) or the output of OSU, IMB or ReproMPI as an array of
 * objects, a header first. Errors: as ictus_result_read().
 */
int experiments_read_objects(const char *path, json_t **objects, int *skipped,
                             struct ictus_why *why);

/* Say on standard error how many lines of a file are not results, if any. */
void experiments_tell_skipped(const char *command, const char *path, int skipped);

/* Gather the measurements among objects. Errors: ICTUS_ERR_FORMAT (there is none), ICTUS_ERR_NOMEM.
 */
int experiments_gather(const json_t *objects, struct experiments *experiments,
                       struct ictus_why *why);

/*
 * Gather a file's measurements, of one reduction over ranks where that is named; what does not tell
 * its reduction is of any. Free with experiments_free() also after an error.
 */
int experiments_read(const char *path, const char *reduction, struct experiments *experiments,
                     struct ictus_why *why);

/* The same of a file's objects, of which those of another reduction are removed. */
int experiments_take(json_t *objects, const char *path, const char *reduction,
                     struct experiments *experiments, struct ictus_why *why);

void experiments_free(struct experiments *experiments);

/* The members that make up an experiment's identity; a new reference, NULL when out of memory. */
json_t *experiment_members(const json_t *measurement);

/* The same as canonical text: free it; NULL when out of memory. */
char *experiment_identity(const json_t *measurement);

/*
 * The experiment of @p other that is the same as @p wanted: identical, or else the only one that
 * agrees in operation, bytes and every other member that both have (other programs tell less),
 * whichever program measured it.
 * NULL if there is none or more than one; *several says which.
 */
const struct experiment *experiments_find(const struct experiments *other,
                                          const struct experiment *wanted, bool *several);

/* "allreduce, 64 KiB, 4 processes, ring": for people. */
void experiment_describe(const json_t *members, char *text, size_t size);

#endif
