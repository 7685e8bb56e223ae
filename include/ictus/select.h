/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Choosing the algorithm of a collective inside the MPI library, while the program runs: Open MPI's
 * coll_tuned_OPERATION_algorithm and MPICH's MPIR_CVAR_OPERATION_INTRA_ALGORITHM, through MPI_T.
 * Operations are named in lower case without MPI_ ("allreduce"), algorithms as the library does.
 *
 * Open MPI takes a choice over when a communicator is made: a forced communicator keeps its own,
 * others keep theirs. It needs OMPI_MCA_coll_tuned_use_dynamic_rules=1 in the environment before
 * MPI_Init. Components with higher priorities than tuned (sm, han, adapt, ...) know nothing of the
 * choice, so that a forced communicator prefers tuned (ompi_comm_coll_preference). MPICH's device
 * may put its own collectives before the algorithms: while one is forced, the device is kept out of
 * that operation (MPIR_CVAR_OPERATION_DEVICE_COLLECTIVE). Its choices act on all communicators at
 * once, for as long as the forced one lives: where several live, ictus_selector_activate() says
 * which is meant. MPICH also switches in silence where an algorithm does not apply: ask
 * ictus_selector_works() for each message size.
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
 * The algorithm of an operation that was chosen when the program started, where the library cannot
 * choose while it runs: in simulations, read back from SimGrid. Local; may be called without MPI.
 * @param operation "allreduce"
 * @return its name, ICTUS_ALGORITHM_DEFAULT for the library's own choice; NULL: nothing was chosen,
 *         or the library chooses while it runs. Valid until the program ends
 */
ICTUS_API const char *ictus_selector_started(const char *operation);

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
 *         algorithm cannot run on that many processes, or the library did not take it),
 * ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_force(struct ictus_selector *selector, MPI_Comm comm,
                                   const char *operation, const char *algorithm, MPI_Comm *forced,
                                   struct ictus_why *why);

/**
 * Whether the forced algorithm carries out its operation at a message size per process. An
 * algorithm that needs more elements than processes fails at small sizes. Collective over the
 * forced communicator.
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
    ICTUS_PROOF_NONE,  /**< nothing was seen that would tell */
    ICTUS_PROOF_HOLDS, /**< the algorithm was seen to run, or, of the default, which one or at least
                            whose */
    ICTUS_PROOF_FAILS  /**< another algorithm or component was seen to run in its place */
};

/** What was seen to run. */
struct ictus_ran {
    enum ictus_proof proof; /**< whether it is what was forced */
    char component[32];     /**< part of the library that ran ("tuned", "han"); "": not known */
    char algorithm[64];     /**< under the library's name; "": not known */
};

/**
 * How a program lets the selector see in which functions a process is while MPI blocks it: the
 * library itself installs no signal handlers. tools/bench/witness.c is one.
 */
struct ictus_witness {
    void *state; /**< handed to the functions */
    /** Begin to note stacks of the calling thread, again and again. @return 0 or ICTUS_ERR_... */
    int (*watch)(void *state);
    /** End that; not called where watch() failed. */
    void (*rest)(void *state);
    /** Beginnings of the functions on stack @p i, outermost first. @return how many; 0: no stack */
    size_t (*stack)(void *state, size_t i, const void **functions, size_t room);
};

/**
 * See whether a forced communicator runs what it is said to run at a message size, with one process
 * kept back so that the others wait inside the algorithm. Open MPI's functions have names; of
 * MPICH, whose functions have none, every algorithm of the operation is tried, and each must be
 * waited for in a function of its own. Takes milliseconds to a second: outside of what is timed.
 * Collective over the forced communicator.
 * @param selector  from ictus_selector_create()
 * @param forced    from ictus_selector_force(); forced to the default, the proof says what that is
 * @param bytes     for each process
 * @param element   bytes of one element, at least 1
 * @param witness   sees the calling thread
 * @param[out] ran  the same on all processes; set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_selector_prove(struct ictus_selector *selector, MPI_Comm forced, size_t bytes,
                                   size_t element, const struct ictus_witness *witness,
                                   struct ictus_ran *ran);

/** What forcing sets beside the choice itself, in words; owned by the selector. Local. */
ICTUS_API const char *ictus_selector_terms(const struct ictus_selector *selector);

/** Put the choices of one forced communicator in force where several live. Local. */
ICTUS_API int ictus_selector_activate(struct ictus_selector *selector, MPI_Comm forced);

/** Free a forced communicator and restore what was in force before it. Collective over it. */
ICTUS_API int ictus_selector_release(struct ictus_selector *selector, MPI_Comm *forced);

ICTUS_END

#endif
