/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Choosing the algorithm of a collective inside the MPI library, while the program runs: Open MPI's
 * coll_tuned_OPERATION_algorithm and MPICH's MPIR_CVAR_OPERATION_INTRA_ALGORITHM, through MPI_T.
 * Operations are named in lower case without MPI_ ("allreduce"), algorithms as the library does.
 *
 * Open MPI takes a choice over when a communicator is made: a forced communicator keeps its own,
 * others keep theirs. It needs OMPI_MCA_coll_tuned_use_dynamic_rules=1 in the environment before
 * MPI_Init. MPICH's choices act on all communicators at once, for as long as the forced one lives:
 * where several live, ictus_selector_activate() says which is meant. MPICH also switches in silence
 * where an algorithm does not apply: ask ictus_selector_works() for each message size.
 *
 * Threads: one thread at a time per selector; the library's variables are the process's own.
 */
#ifndef ICTUS_SELECT_H
#define ICTUS_SELECT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <mpi.h>
#include <stddef.h>

ICTUS_BEGIN

struct ictus_selector;

/** The name of "what the library itself would choose", legal wherever an algorithm is named. */
#define ICTUS_ALGORITHM_DEFAULT "default"

/**
 * Look up what can be chosen. Local; MPI must be initialised.
 * @param[out] selector set only on success; release with ictus_selector_free() before MPI_Finalize
 * @param[out] why      says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI; ICTUS_ERR_UNSUPPORTED where the library offers
 *         no choice, or was started without allowing it
 */
ICTUS_API int ictus_selector_create(struct ictus_selector **selector, struct ictus_why *why);

/** Release, restoring every variable. Local. Forced communicators stay valid. NULL is legal. */
ICTUS_API void ictus_selector_free(struct ictus_selector *selector);

/** The operations with a choice, sorted, ended by NULL. Local; owned by the selector. */
ICTUS_API const char *const *ictus_selector_operations(const struct ictus_selector *selector);

/**
 * The algorithms of an operation in the library's order, ended by NULL; without the default. Local.
 * @param selector   from ictus_selector_create()
 * @param operation  one of ictus_selector_operations()
 * @param[out] names owned by the selector; set only on success
 * @param[out] why   says why on failure; may be NULL
 * @return ICTUS_OK, or ICTUS_ERR_UNKNOWN with the nearest operation
 */
ICTUS_API int ictus_selector_algorithms(const struct ictus_selector *selector,
                                        const char *operation, const char *const **names,
                                        struct ictus_why *why);

/**
 * Duplicate a communicator with an algorithm of one operation in force on the duplicate, read the
 * choice back, and try it once. Forcing a forced communicator keeps its other choices. Collective
 * over @p comm; an intra-communicator.
 * @param selector    from ictus_selector_create()
 * @param comm        an intra-communicator
 * @param operation   one of ictus_selector_operations()
 * @param algorithm   one of ictus_selector_algorithms(), or ICTUS_ALGORITHM_DEFAULT
 * @param[out] forced set only on success; release with ictus_selector_release()
 * @param[out] why    says why on failure; may be NULL
 * @return ICTUS_OK, or the same on all processes: ICTUS_ERR_UNKNOWN, ICTUS_ERR_UNSUPPORTED (the
 *         algorithm cannot run on so many processes, or the library did not take it), ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_force(struct ictus_selector *selector, MPI_Comm comm,
                                   const char *operation, const char *algorithm, MPI_Comm *forced,
                                   struct ictus_why *why);

/**
 * Whether the forced algorithm carries out its operation at a message size per process. An
 * algorithm that needs more elements than processes fails at small sizes. Collective over the
 * forced communicator.
 * @return ICTUS_OK, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_works(struct ictus_selector *selector, MPI_Comm forced, size_t bytes);

/** Put the choices of one forced communicator in force where several live. Local. */
ICTUS_API int ictus_selector_activate(struct ictus_selector *selector, MPI_Comm forced);

/** Free a forced communicator and restore what was in force before it. Collective over it. */
ICTUS_API int ictus_selector_release(struct ictus_selector *selector, MPI_Comm *forced);

ICTUS_END

#endif
