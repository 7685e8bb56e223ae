/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of a hierarchy below the node, on a machine that hwloc is told of: who belongs
 * together follows from the binding, ranks keep their order, the first of each group is its leader.
 */
#include "sync/level.h"

#include <ictus/error.h>
#include <sched.h>
#include <stdbool.h>

#include "check_mpi.h"
#include "failing_mpi.h"

FAILS(int, PMPI_Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *out), (c, color, key, out))
FAILS(int, PMPI_Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *out),
      (c, type, key, info, out))
FAILS(int, PMPI_Comm_create_group, (MPI_Comm c, MPI_Group g, int tag, MPI_Comm *out),
      (c, g, tag, out))

/* On processors first..last. */
static bool bound_to(size_t first, size_t last)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = first; i <= last; i++) {
        CPU_SET(i, &set);
    }
    return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/* The machine that hwloc describes from here on. It is this one as far as bindings go. */
static void machine_is(const char *description)
{
    REQUIRE(setenv("HWLOC_SYNTHETIC", description, 1) == 0);
    REQUIRE(setenv("HWLOC_THISSYSTEM", "1", 1) == 0);
}

/* Whether a communicator has the world's ranks first, first + step, ... and no others. */
static bool comm_is(MPI_Comm comm, int first, int step)
{
    MPI_Group mine;
    MPI_Group all;
    int size = 0;
    REQUIRE(comm != MPI_COMM_NULL);
    MPI_Comm_size(comm, &size);
    MPI_Comm_group(comm, &mine);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    bool as_wanted = size == (check_size - first + step - 1) / step;
    for (int i = 0; i < size && as_wanted; i++) {
        int rank = -1;
        MPI_Group_translate_ranks(mine, 1, &i, all, &rank);
        as_wanted = rank == first + i * step;
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
    return as_wanted;
}

/* Ranks are bound to two places by turns. */
static void level_has_two_groups(enum level_kind kind)
{
    struct level level;
    REQUIRE(!ictusi_level_create(MPI_COMM_WORLD, kind, &level));
    CHECK(comm_is(level.within, check_rank % 2, 2));
    int size = 0;
    int rank = -1;
    MPI_Comm_size(level.between, &size);
    MPI_Comm_rank(level.between, &rank);
    if (check_rank < 2 && check_size > 1) { /* leaders, in the order of the world */
        CHECK(size == 2 && rank == check_rank);
    } else {
        CHECK(size == 1);
    }
    ictusi_level_free(&level);
    CHECK(level.within == MPI_COMM_NULL && level.between == MPI_COMM_NULL);
    ictusi_level_free(&level);
}

static void level_has_one_group(enum level_kind kind)
{
    struct level level;
    int size = 0;
    REQUIRE(!ictusi_level_create(MPI_COMM_WORLD, kind, &level));
    CHECK(comm_is(level.within, 0, 1));
    MPI_Comm_size(level.between, &size);
    CHECK(size == 1);
    ictusi_level_free(&level);
}

/* A place counts only where it is of the kind that is asked for. */
static void places_are_of_their_kind(void)
{
    static const char *const machines[] = {
        [LEVEL_SOCKET] = "pack:2 pu:1", [LEVEL_NUMA] = "numa:2 pu:1", [LEVEL_L3] = "l3:2 pu:1"};
    static const enum level_kind kinds[] = {LEVEL_SOCKET, LEVEL_NUMA, LEVEL_L3};
    for (size_t i = 0; i < 3; i++) {
        machine_is(machines[kinds[i]]);
        for (size_t k = 0; k < 3; k++) {
            if (i == k) {
                level_has_two_groups(kinds[k]);
            } else {
                level_has_one_group(kinds[k]);
            }
        }
    }
    level_has_one_group(LEVEL_NODE);
}

/* Who may move between places belongs to the first one, and so does everybody where hwloc cannot
 * tell. */
static void the_others_are_in_the_first_place(void)
{
    struct level level;
    machine_is("pack:2 pu:1");
    if (check_rank % 2 == 0) { /* rank 0 would be in the first place in any case */
        REQUIRE(check_rank == 0 ? bound_to(0, 0) : bound_to(0, 1));
    }
    REQUIRE(!ictusi_level_create(MPI_COMM_WORLD, LEVEL_SOCKET, &level));
    CHECK(comm_is(level.within, check_rank % 2, 2));
    ictusi_level_free(&level);
    REQUIRE(bound_to(0, 1));
    level_has_one_group(LEVEL_SOCKET);
}

/* Whichever call of MPI fails, all processes are told. */
static void failures_are_told(void)
{
    machine_is("pack:2 pu:1");
    bool done = false;
    for (int k = 1; !done; k++) {
        struct level level;
        calls = 0;
        failing = k;
        const int err = ictusi_level_create(MPI_COMM_WORLD, LEVEL_SOCKET, &level);
        done = calls < k;
        failing = 0;
        CHECK(err == (done ? ICTUS_OK : ICTUS_ERR_MPI));
        CHECK(!done || (level.within != MPI_COMM_NULL && level.between != MPI_COMM_NULL));
        ictusi_level_free(&level);
    }
}

/* Before MPI has threads of its own: hwloc asks where all threads of a process may run. */
static bool bound_by_turns(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("PMI_RANK");
    const size_t place = rank && strtol(rank, NULL, 10) % 2 ? 1 : 0;
    return bound_to(0, 0) && bound_to(1, 1) && bound_to(place, place);
}

int main(int argc, char **argv)
{
    int possible = bound_by_turns();
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Allreduce(MPI_IN_PLACE, &possible, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!possible) {
        if (check_rank == 0) {
            (void)fprintf(stderr, "skipped: processors 0 and 1 cannot be used\n");
        }
        MPI_Finalize();
        return CHECK_SKIP;
    }
    places_are_of_their_kind();
    failures_are_told();
    the_others_are_in_the_first_place();
    return check_mpi_finish();
}
