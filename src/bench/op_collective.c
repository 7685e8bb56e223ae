/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of MPI as table rows, blocking, nonblocking and persistent, generated from the
 * one list that describes them. Persistent collectives are made once and started in each
 * repetition. MPI-4 has them, and Open MPI 4 offers them as an extension under MPIX_ names.
 */
#include "bench/operation.h"

#include <string.h>

#if MPI_VERSION >= 4
#define PERSISTENT(function) MPI_##function
#elif defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(function) MPIX_##function
#endif
#endif

/* Starting and waiting are different functions here, which the checker cannot pair. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

/*
 * Each row of select/collectives.def has the arguments of its call in parentheses; REST removes
 * these, so that further arguments can follow. N is the count: an int, or an MPI_Count for large
 * counts.
 */
#define REST(...) __VA_ARGS__
#define IS_LARGE false
#define IS_SMALL false
#define IS_PLACED true

#if defined(ICTUS_SIMGRID)
#define NEIGHBORHOOD(...) /* SimGrid's MPI has none: calls to them abort. */
#else
#define NEIGHBORHOOD COLLECTIVE
#endif
#define LOCAL COLLECTIVE

/* Blocking. */
#define N c->count
#define COLLECTIVE(name, Name, shape, counts, arguments)                                           \
    static int call_##name(struct call *c)                                                         \
    {                                                                                              \
        return MPI_##Name arguments;                                                               \
    }
#include "select/collectives.def"
#undef COLLECTIVE
#define COLLECTIVE(operation_name, Name, operation_shape, counts, arguments)                       \
    {                                                                                              \
        .name = #operation_name,                                                                   \
        .summary = "MPI_" #Name,                                                                   \
        .shape = SHAPE_##operation_shape,                                                          \
        .run = call_##operation_name,                                                              \
        .is_placed = IS_##counts,                                                                  \
    },
const struct operation ictusi_blocking[] = {
#include "select/collectives.def"
    {.name = NULL},
};
#undef COLLECTIVE
#undef LOCAL
#define LOCAL(...)

/* Nonblocking, started and then completed at once. The request is the last argument. */
#define COLLECTIVE(name, Name, shape, counts, arguments)                                           \
    static int collective_start_i##name(struct call *c)                                            \
    {                                                                                              \
        return MPI_I##name(REST arguments, &c->request);                                           \
    }                                                                                              \
    static int call_i##name(struct call *c)                                                        \
    {                                                                                              \
        const int err = collective_start_i##name(c);                                               \
        return err == MPI_SUCCESS ? ictusi_operation_wait(c) : err;                                \
    }
#include "select/collectives.def"
#undef COLLECTIVE
#define COLLECTIVE(operation_name, Name, operation_shape, counts, arguments)                       \
    {                                                                                              \
        .name = "i" #operation_name,                                                               \
        .summary = "MPI_I" #operation_name,                                                        \
        .shape = SHAPE_##operation_shape,                                                          \
        .run = call_i##operation_name,                                                             \
        .start = collective_start_i##operation_name,                                               \
        .is_placed = IS_##counts,                                                                  \
    },
const struct operation ictusi_nonblocking[] = {
#include "select/collectives.def"
    {.name = NULL},
};
#undef COLLECTIVE

/* Persistent. The info object and the request are the last arguments. */
#if defined(PERSISTENT)
static int collective_start_persistent(struct call *c)
{
    return MPI_Start(&c->request);
}

static int call_persistent(struct call *c)
{
    const int err = MPI_Start(&c->request);
    return err == MPI_SUCCESS ? ictusi_operation_wait(c) : err;
}

#define COLLECTIVE(name, Name, shape, counts, arguments)                                           \
    static int collective_prepare_##name(struct call *c)                                           \
    {                                                                                              \
        return PERSISTENT(Name##_init)(REST arguments, MPI_INFO_NULL, &c->request);                \
    }
#include "select/collectives.def"
#undef COLLECTIVE
#define COLLECTIVE(operation_name, Name, operation_shape, counts, arguments)                       \
    {                                                                                              \
        .name = #operation_name "_init",                                                           \
        .summary = "MPI_Start of a persistent " #operation_name,                                   \
        .shape = SHAPE_##operation_shape,                                                          \
        .run = call_persistent,                                                                    \
        .start = collective_start_persistent,                                                      \
        .prepare = collective_prepare_##operation_name,                                            \
        .is_placed = IS_##counts,                                                                  \
    },
const struct operation ictusi_persistent[] = {
#include "select/collectives.def"
    {.name = NULL},
};
#undef COLLECTIVE
#else
const struct operation ictusi_persistent[] = {{.name = NULL}};
#endif
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* Large counts, of type MPI_Count, for blocks of more elements than an int can count. */
#undef N
#undef LOCAL
#define N c->elements
#define LOCAL COLLECTIVE
#if MPI_VERSION >= 4
#define FUNCTION_LARGE(name, Name, arguments)                                                      \
    static int call_##name##_c(struct call *c)                                                     \
    {                                                                                              \
        return MPI_##Name##_c arguments;                                                           \
    }
#define FUNCTION_SMALL(name, Name, arguments)
#define FUNCTION_PLACED(name, Name, arguments)
#define ROW_LARGE(operation_name, Name, operation_shape)                                           \
    {.name = #operation_name,                                                                      \
     .summary = "MPI_" #Name "_c",                                                                 \
     .shape = SHAPE_##operation_shape,                                                             \
     .run = call_##operation_name##_c},
#define ROW_SMALL(operation_name, Name, operation_shape)
#define ROW_PLACED(operation_name, Name, operation_shape)
#define COLLECTIVE(name, Name, shape, counts, arguments) FUNCTION_##counts(name, Name, arguments)
#include "select/collectives.def"
#undef COLLECTIVE
#define COLLECTIVE(name, Name, shape, counts, arguments) ROW_##counts(name, Name, shape)
static const struct operation large[] = {
#include "select/collectives.def"
    {.name = NULL},
};
#else
static const struct operation large[] = {{.name = NULL}};
#endif

const struct operation *ictusi_operation_large(const struct operation *operation)
{
    for (const struct operation *row = large; row->name; row++) {
        if (strcmp(row->name, operation->name) == 0) {
            return row;
        }
    }
    return NULL;
}
