/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The largest words arrive on rank 0, and its words on all ranks, whichever processes share memory.
 */
#include "bench/node_trip.h"
#include "harmonize/board.h"
#include "harmonize/shared_memory.h"

#include <ictus/error.h>

#include <dirent.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check_mpi.h"

enum { ROUNDS = 300 };

static int64_t word_of(int rank, int round, int i)
{
    return (int64_t)((rank * 7 + round * 13 + i * 5) % 31) - 15 + (i == 2 ? INT64_MIN / 2 : 0);
}

static void words_travel(struct board *board, int round)
{
    int64_t mine[BOARD_WORDS];
    int64_t all[BOARD_WORDS] = {-1, -2, -3};
    int64_t told[BOARD_WORDS] = {0};
    for (int i = 0; i < BOARD_WORDS; i++) {
        mine[i] = word_of(check_rank, round, i);
    }
    REQUIRE(!ictusi_board_max(board, mine, all));
    for (int i = 0; i < BOARD_WORDS; i++) {
        int64_t most = INT64_MIN;
        for (int rank = 0; rank < check_size; rank++) {
            most = word_of(rank, round, i) > most ? word_of(rank, round, i) : most;
        }
        CHECK(all[i] == (check_rank == 0 ? most : -1 - i));
        told[i] = check_rank == 0 ? most + round : 0;
        all[i] = most + round;
    }
    REQUIRE(!ictusi_board_tell(board, told));
    for (int i = 0; i < BOARD_WORDS; i++) {
        CHECK(told[i] == all[i]);
    }
}

/* Pretend that each "node" has this many processes. */
static void nodes_of(int each, bool crowded)
{
    MPI_Comm node;
    struct board *board = NULL;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank / each, check_rank, &node);
    REQUIRE(!ictusi_board_create_on(MPI_COMM_WORLD, node, crowded, &board));
    MPI_Comm_free(&node);
    CHECK(!board == (each == 1 || check_size == 1));
    for (int round = 0; board && round < ROUNDS; round++) {
        words_travel(board, round);
        if (round % 100 == check_rank) {
            (void)usleep(2000); /* one process is the last */
        }
    }
    ictusi_board_free(board);
}

/* The number of names in shared memory that begin with this process's prefix. */
static int names_left(void)
{
    char mine[64];
    int count = 0;
    DIR *memory = opendir("/dev/shm");
    (void)snprintf(mine, sizeof(mine), "ictus-%ld-", (long)getpid());
    for (struct dirent *entry = NULL; memory && (entry = readdir(memory));) {
        count += strncmp(entry->d_name, mine, strlen(mine)) == 0;
    }
    if (memory) {
        (void)closedir(memory);
    }
    return count;
}

/* If one process has no room for the page, no process gets it, and nothing is left behind. */
static void no_room_leaves_no_name(void)
{
    enum { BYTES = 1 << 16 };
    struct rlimit before;
    void *page = ictusi_shared_memory_open(MPI_COMM_WORLD, BYTES);
    CHECK(page && names_left() == 0);
    ictusi_shared_memory_close(page, BYTES);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit small = {BYTES / 2, before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    REQUIRE(check_rank > 0 || setrlimit(RLIMIT_FSIZE, &small) == 0);
    page = ictusi_shared_memory_open(MPI_COMM_WORLD, BYTES);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(!page && names_left() == 0);
}

/* The number of pages that this process still maps. */
static int pages_mapped(void)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        count += strstr(line, "/dev/shm/ictus-") != NULL;
    }
    if (maps) {
        (void)fclose(maps);
    }
    return count;
}

/* A node of several processes with a core each has a trip through its memory; others have none. */
static void trips_are_timed(void)
{
    struct node_trip *trip = NULL;
    REQUIRE(!ictusi_node_trip_create(MPI_COMM_WORLD, check_rank == check_size - 1, &trip));
    CHECK(!trip && ictusi_node_trip_measure(trip) == 0.0);
    ictusi_node_trip_free(trip);
    REQUIRE(!ictusi_node_trip_create(MPI_COMM_WORLD, false, &trip));
    REQUIRE(trip);
    const double took_s = ictusi_node_trip_measure(trip);
    CHECK(check_rank == 0 && check_size > 1 ? took_s > 0.0 : took_s == 0.0);
    ictusi_node_trip_free(trip);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (int each = 1; each <= 7; each++) {
        nodes_of(each, true);
    }
    nodes_of(check_size, false);
    struct board *board = NULL;
    REQUIRE(!ictusi_board_create(MPI_COMM_WORLD, true, &board));
    CHECK(!board == (check_size == 1));
    CHECK(pages_mapped() == (board ? 1 : 0));
    ictusi_board_free(board);
    CHECK(pages_mapped() == 0); /* of all boards so far */
    no_room_leaves_no_name();
    trips_are_timed();
    return check_mpi_finish();
}
