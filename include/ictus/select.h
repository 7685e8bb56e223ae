/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Choosing the algorithm of a collective inside the MPI library at run time: Open MPI's
 * coll_tuned_OPERATION_algorithm and MPICH's MPIR_CVAR_OPERATION_INTRA_ALGORITHM, by means of
 * MPI_T. Operations are named in lower case without MPI_ ("allreduce"). Algorithms have the
 * library's names.
 *
 * Open MPI applies a choice when a communicator is created. A forced communicator keeps its own
 * choice, and others keep theirs. Open MPI needs OMPI_MCA_coll_tuned_use_dynamic_rules=1 in the
 * environment before MPI_Init. Components with higher priorities than tuned (sm, han, adapt, ...)
 * ignore the choice, so a forced communicator prefers tuned (ompi_comm_coll_preference).
 *
 * MPICH's choices act on all communicators at once, as long as the forced one exists. If several
 * exist, ictus_selector_activate() selects one. MPICH's device may put its own collectives before
 * the algorithms. While one is forced, the device is kept out of that operation
 * (MPIR_CVAR_OPERATION_DEVICE_COLLECTIVE). MPICH also silently takes another algorithm if the
 * chosen one does not apply, so ask ictus_selector_works() for each message size.
 *
 * Threads: one thread at a time for each selector. The library's variables belong to the process.
 */
#ifndef ICTUS_SELECT_H
#define ICTUS_SELECT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <mpi.h>
#include <stddef.h>

ICTUS_BEGIN

struct ictus_selector;

/** The name of the library's own choice, allowed wherever an algorithm is named. */
#define ICTUS_ALGORITHM_DEFAULT "default"

/**
 * Return the algorithm of an operation that was chosen when the program was started, if the library
 * cannot choose at run time: in simulations, as SimGrid reports it. Local; may be called without
 * MPI.
 * @param operation such as "allreduce"
 * @return its name, or ICTUS_ALGORITHM_DEFAULT for the library's own choice; NULL if nothing was
 *         chosen, or if the library chooses at run time. Static.
 */
ICTUS_API const char *ictus_selector_started(const char *operation);

/**
 * Find out what can be chosen. Local; MPI must be initialised.
 * @param[out] selector set only on success; release with ictus_selector_free() before MPI_Finalize
 * @param[out] why      the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI; ICTUS_ERR_UNSUPPORTED if the
 *         library offers no choice, or was started without permitting it
 */
ICTUS_API int ictus_selector_create(struct ictus_selector **selector, struct ictus_why *why);

/**
 * Release a selector and restore every variable. Local. Forced communicators stay valid. NULL is
 * allowed.
 */
ICTUS_API void ictus_selector_free(struct ictus_selector *selector);

/**
 * @return the operations with a choice, sorted, terminated by NULL; owned by the selector. Local.
 */
ICTUS_API const char *const *ictus_selector_operations(const struct ictus_selector *selector);

/**
 * Return the algorithms of an operation in the library's order, terminated by NULL, without the
 * default. Local.
 * @param selector   from ictus_selector_create()
 * @param operation  one of ictus_selector_operations()
 * @param[out] names owned by the selector; set only on success
 * @param[out] why   the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, or ICTUS_ERR_UNKNOWN; the reason names the nearest operation
 */
ICTUS_API int ictus_selector_algorithms(const struct ictus_selector *selector,
                                        const char *operation, const char *const **names,
                                        struct ictus_why *why);

/**
 * Duplicate a communicator so that an algorithm of one operation is in force on the duplicate, read
 * the choice back, and try it once. Forcing a forced communicator keeps its other choices.
 * Collective over @p comm.
 * @param selector    from ictus_selector_create()
 * @param comm        an intra-communicator
 * @param operation   one of ictus_selector_operations()
 * @param algorithm   one of ictus_selector_algorithms(), or ICTUS_ALGORITHM_DEFAULT
 * @param[out] forced set only on success; release with ictus_selector_release()
 * @param[out] why    the reason of a failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_INTERCOMM,
 *         ICTUS_ERR_UNKNOWN, ICTUS_ERR_UNSUPPORTED (the algorithm cannot run on this number of
 *         processes, or the library did not accept it), ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_force(struct ictus_selector *selector, MPI_Comm comm,
                                   const char *operation, const char *algorithm, MPI_Comm *forced,
                                   struct ictus_why *why);

/**
 * Check that the forced algorithm carries out its operation at a message size. An algorithm that
 * needs more elements than processes fails at small sizes. Collective over the forced communicator.
 * @param selector from ictus_selector_create()
 * @param forced   from ictus_selector_force()
 * @param bytes    for each process
 * @param element  bytes of one element, at least 1
 * @return ICTUS_OK, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_works(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                                   size_t element);

/** Whether the label of a forced communicator is true. */
enum ictus_proof {
    ICTUS_PROOF_NONE,  /**< nothing was seen that proves or disproves it */
    ICTUS_PROOF_HOLDS, /**< the algorithm was seen to run; for the default, at least whose */
    ICTUS_PROOF_FAILS  /**< another algorithm or component was seen to run in its place */
};

/** What was seen to run. */
struct ictus_ran {
    enum ictus_proof proof; /**< whether it is what was forced */
    char component[32];     /**< the part of the library that ran ("tuned", "han"); "": not known */
    char algorithm[64];     /**< by the library's name; of "han" the component that serves the
                                 processes of a node ("low=tuned"); "": not known */
};

/**
 * How a program shows the selector in which functions a process is while MPI blocks it. The library
 * itself does not install signal handlers. tools/bench/witness.c is an example.
 */
struct ictus_witness {
    void *state; /**< passed to the functions */
    /** Start to record stacks of the calling thread repeatedly. @return 0 or ICTUS_ERR_... */
    int (*watch)(void *state);
    /** Stop recording. Not called if watch() failed. */
    void (*rest)(void *state);
    /**
     * Write the start addresses of the functions on stack @p i, outermost first.
     * @return their number; 0: there is no such stack
     */
    size_t (*stack)(void *state, size_t i, const void **functions, size_t room);
};

/**
 * Find out whether a forced communicator runs the algorithm that it is labelled with. One process
 * is delayed, so that the others wait inside the algorithm. Open MPI's functions have names.
 * MPICH's have none, so every algorithm of the operation is tried, and each must be seen waiting in
 * a function of its own. This takes milliseconds to a second, so it must not be timed. Collective
 * over the forced communicator.
 * @param selector from ictus_selector_create()
 * @param forced   from ictus_selector_force(); if forced to the default, the proof shows what that
 *                 is
 * @param bytes    for each process
 * @param element  bytes of one element, at least 1
 * @param witness  watches the calling thread
 * @param[out] ran the same on all processes; set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_prove(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                                   size_t element, const struct ictus_witness *witness,
                                   struct ictus_ran *ran);

/**
 * @return what forcing sets in addition to the choice itself, as text; owned by the selector.
 *         Local.
 */
ICTUS_API const char *ictus_selector_terms(const struct ictus_selector *selector);

/**
 * Put the choices of one forced communicator in force if several exist. Local.
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_UNSUPPORTED (the library did not accept it)
 */
ICTUS_API int ictus_selector_activate(struct ictus_selector *selector, MPI_Comm forced);

/**
 * Free a forced communicator and restore what was in force before it. Collective over it. Sets
 * *forced to MPI_COMM_NULL.
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_UNSUPPORTED (a variable could not be restored)
 */
ICTUS_API int ictus_selector_release(struct ictus_selector *selector, MPI_Comm *forced);

ICTUS_END

#endif
