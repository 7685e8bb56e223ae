/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of an archive, and of the raw files in it. */
#ifndef ICTUS_TRACER_DIRECTORY_H
#define ICTUS_TRACER_DIRECTORY_H

#include "tracer/settings.h"

#include <stdbool.h>
#include <stddef.h>

/* The result file that statistics become, in the archive's directory. */
#define ARRIVALS_FILE "arrivals.jsonl"

/*
 * Make the archive's directory (and those above it), and in it the one of the raw files, which only
 * one job can. One that holds an archive or raw files is refused, or emptied of them with force.
 * Raw files elsewhere leave a pointer to them there. Done by one process. Errors: ICTUS_ERR_EXISTS,
 * ICTUS_ERR_IO.
 */
int ictusi_directory_make(const struct trace_settings *settings, struct ictus_why *why);

/*
 * Likewise for a world that was spawned: below the given directory, which is changed, under the
 * first name that no other world of the job has. Errors: ICTUS_ERR_IO.
 */
int ictusi_directory_make_spawned(struct trace_settings *settings, struct ictus_why *why);

/* Make and name the directory of the raw files. Every process. Errors: ICTUS_ERR_IO. */
int ictusi_directory_raw(const struct trace_settings *settings, char *path, size_t size,
                         struct ictus_why *why);

/* A scratch directory that no other job has: below the given one. Done by one process. */
void ictusi_directory_scratch_own(struct trace_settings *settings);

/*
 * The directory that holds the raw files of an archive: where they were left, or as collected below
 * scratch, which may be NULL.
 */
void ictusi_directory_raw_find(const char *directory, const char *scratch, char *path, size_t size);

/*
 * One more of the job's processes has ended, for good. @return whether it was the last of them.
 * Where processes do not see each other's files, or append to a file at once over a network, none
 * may be.
 */
bool ictusi_directory_ended(const char *directory, int processes);

/* The raw files are done with: remove what leads to them. Done by one process. */
void ictusi_directory_release(const char *directory);

/* Where the raw files of an archive in directory are, if they are not elsewhere. */
void ictusi_directory_raw_name(const char *directory, char *path, size_t size);

/* Remove the raw files of a process, and the directory when it is empty then. */
void ictusi_directory_clean(const char *raw, int rank);

/* Remove an archive's own files from a directory: never anything else. Errors: ICTUS_ERR_IO. */
int ictusi_directory_drop_archive(const char *directory, struct ictus_why *why);

/* Likewise, and raw files. */
int ictusi_directory_empty(const char *directory, struct ictus_why *why);

#endif
