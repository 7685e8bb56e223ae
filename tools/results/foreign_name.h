/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of operations in the titles of other benchmarks' tables. */
#ifndef ICTUS_TOOLS_FOREIGN_NAME_H
#define ICTUS_TOOLS_FOREIGN_NAME_H

#include <stdbool.h>

enum { WORDS_MAX = 24, WORD_MAX = 63 };

struct words {
    char word[WORDS_MAX][WORD_MAX + 1];
    int count;
};

/* Split a line at its blanks. */
void foreign_name_split(const char *line, struct words *words);

bool foreign_name_is_listed(const char *const *names, const char *word);

/*
 * Our name of an operation; WORD_MAX + 1 bytes. "All-to-All Personalized Exchange",
 * "Non-blocking Allreduce", "Persistent Bcast" and "Ibcast_pure" become alltoall, iallreduce,
 * bcast_init and ibcast.
 */
void foreign_name_normalise(const char *name, char *operation);

/*
 * The same of what stands between "# OSU MPI" and "Test". For one-sided operations, the place in
 * the name to which the synchronisation belongs, which OSU tells on another line: "put" and 3,
 * "put_bandwidth" and 3. 0 for all others.
 */
int foreign_name_osu(const char *title, char *operation);

/* Put in what OSU tells, "flush" or "post/start/complete/wait", as it is called here. */
void foreign_name_set_epoch(const char *synchronisation, int *at, char *operation);

#endif
