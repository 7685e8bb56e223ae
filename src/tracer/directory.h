/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of an archive and of its raw files. */
#ifndef ICTUS_TRACER_DIRECTORY_H
#define ICTUS_TRACER_DIRECTORY_H

#include "tracer/settings.h"

#include <stdbool.h>
#include <stddef.h>

/* The name of the statistics file in the archive's directory. */
#define ARRIVALS_FILE "arrivals.jsonl"

/*
 * Create the archive's directory (with its parents), and in it that of the raw files, which only
 * one job can create. A directory with an archive or raw files is refused, or emptied of them with
 * force. If raw files are elsewhere, a pointer to them is left there. Called by one process.
 * Errors: ICTUS_ERR_EXISTS, ICTUS_ERR_IO.
 */
int ictusi_directory_make(const struct trace_settings *settings, struct ictus_why *why);

/*
 * The same for a spawned world: below the given directory, which is changed, with the first name
 * that no other world of the job has. Errors: ICTUS_ERR_IO.
 */
int ictusi_directory_make_spawned(struct trace_settings *settings, struct ictus_why *why);

/*
 * Create the directory of the raw files and return its name. Called by every process. Errors:
 * ICTUS_ERR_IO.
 */
int ictusi_directory_raw(const struct trace_settings *settings, char *path, size_t size,
                         struct ictus_why *why);

/* Choose a scratch directory below the given one that no other job has. Called by one process. */
void ictusi_directory_scratch_own(struct trace_settings *settings);

/*
 * Find the directory with the raw files of an archive: where the job left them, or, if they were
 * collected, below scratch, which may be NULL.
 */
void ictusi_directory_raw_find(const char *directory, const char *scratch, char *path, size_t size);

/*
 * One more of the job's processes has ended for good. @return whether it was the last one. If
 * processes do not see each other's files, or append to a file at the same time over a network,
 * possibly none is.
 */
bool ictusi_directory_ended(const char *directory, int processes);

/* The raw files are no longer needed: remove what leads to them. Called by one process. */
void ictusi_directory_release(const char *directory);

/* The name of the directory of raw files within the archive's directory. */
void ictusi_directory_raw_name(const char *directory, char *path, size_t size);

/* Remove the raw files of a process, and the directory if it is then empty. */
void ictusi_directory_clean(const char *raw, int rank);

/* Remove an archive's own files from a directory, and nothing else. Errors: ICTUS_ERR_IO. */
int ictusi_directory_drop_archive(const char *directory, struct ictus_why *why);

/* The same, and raw files too. */
int ictusi_directory_empty(const char *directory, struct ictus_why *why);

#endif
