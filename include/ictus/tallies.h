/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Statistics of arrivals that a job under `ictus trace --statistics` keeps in files. They can be
 * read while it runs or after it was killed. In the library libictus-otf2; docs/arrivals.md
 * describes how they are made. The interface serves the tools of ictus and is not yet stable.
 *
 * Threads: all functions are local and need no MPI. A handle belongs to one thread at a time.
 */
#ifndef ICTUS_TALLIES_H
#define ICTUS_TALLIES_H

#include <ictus/api.h>
#include <ictus/arrivals.h>
#include <ictus/error.h>
#include <stdint.h>

ICTUS_BEGIN

struct ictus_tallies;

/** The state of a job. */
enum ictus_tallies_stage {
    ICTUS_TALLIES_RUNNING, /**< as far as is visible; those on other machines are assumed to run */
    ICTUS_TALLIES_ENDED,   /**< all processes have reached MPI_Finalize, or the files are gone */
    ICTUS_TALLIES_KILLED   /**< no process runs, and some did not reach MPI_Finalize */
};

/** What is known about a job in addition to its patterns. */
struct ictus_tallies_state {
    enum ictus_tallies_stage stage; /**< how it stands */
    int processes;                  /**< of the job */
    int missing;                    /**< processes that have left nothing readable */
    uint64_t full;  /**< calls not counted, because there was no room for more call sites */
    uint64_t inter; /**< calls on inter-communicators, which are left out */
};

/**
 * Open the statistics of a job. Local.
 * @param directory    as given to `ictus trace -o`
 * @param[out] tallies set on success; released with ictus_tallies_close()
 * @param[out] why     the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO (there is nothing), ICTUS_ERR_FORMAT (of another
 *         version), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_tallies_open(const char *directory, struct ictus_tallies **tallies,
                                 struct ictus_why *why);

/**
 * Read the present patterns, ordered by the total time for which the first arrival waited for the
 * last. Local.
 * @param tallies    from ictus_tallies_open()
 * @param recent     1: of the latest calls, at most 64 of each site; 0: of a sample of the whole
 *                   run
 * @param rows       largest number of instances in a table, a sample; 0: all that were kept
 * @param[out] list  set on success; may be empty; released with ictus_arrivals_list_free()
 * @param[out] state may be NULL
 * @param[out] why   the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_tallies_read(struct ictus_tallies *tallies, int recent, int64_t rows,
                                 struct ictus_arrivals_list *list,
                                 struct ictus_tallies_state *state, struct ictus_why *why);

/** Release a handle. The files stay. Local. @param tallies from ictus_tallies_open(), or NULL */
ICTUS_API void ictus_tallies_close(struct ictus_tallies *tallies);

ICTUS_END

#endif
