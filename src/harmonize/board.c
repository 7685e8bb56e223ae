/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words go up a tree of the node's processes and down again. Each process writes to a line of its
 * own and reads the lines of its children or of its parent. A line is written again only after all
 * of its readers have shown that they have read it: a child's line after the parent has answered,
 * and a parent's line after all processes have reported in the next call.
 */
#include "harmonize/board.h"

#include "harmonize/shared_memory.h"

#include <ictus/error.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Number of children of a process in the tree. */
enum { FAN = 4 };

/* Two cache lines, because processors fetch lines in pairs. If two processes wrote to one line,
 * each would take it from the other at every word. */
enum { LINE = 128 };

enum {
    /*
     * Number of looks at a line between two calls of MPI, which take some microseconds to serve
     * other communication of this process. The first call comes later. It may find nothing of MPI
     * in the caches and take ten microseconds, within which most waits would have ended.
     */
    LOOKS = 4000,
    LOOKS_FIRST = 64000,
    /* If processes outnumber cores, the process that is waited for may need this very core at
     * once. */
    LOOKS_CROWDED = 100,
    /* Number of rounds of looks after which each round offers the core to other processes. */
    PATIENCE = 4
};

struct notice {
    _Alignas(LINE) atomic_llong call; /* the call to which the words belong, counted from 1 */
    int64_t words[BOARD_WORDS];
};

struct cell {
    struct notice up;
    struct notice down;
};

struct board {
    MPI_Comm comm;
    /* The first process of each node; every other process is alone. MPI_COMM_NULL if there is
     * only one node. */
    MPI_Comm leaders;
    struct cell *cells;
    int rank; /* within the node */
    int size;
    bool leads; /* this process is the first of its node, and there are several nodes */
    bool crowded;
    long long call;
};

static size_t page_size(const struct board *board)
{
    return (size_t)board->size * sizeof(struct cell);
}

void ictusi_board_free(struct board *board)
{
    if (!board) {
        return;
    }
    ictusi_shared_memory_close(board->cells, page_size(board));
    if (board->leaders != MPI_COMM_NULL) {
        PMPI_Comm_free(&board->leaders);
    }
    free(board);
}

/* Return whether all nodes have shared memory, and any node has at least two processes. */
static bool board_all_can_share(struct board *board, MPI_Comm node)
{
    int most = 0;
    int have = 0;
    int all = 0;
    if (PMPI_Allreduce(&board->size, &most, 1, MPI_INT, MPI_MAX, board->comm) != MPI_SUCCESS ||
        most == 1) {
        return false;
    }
    board->cells = ictusi_shared_memory_open(node, page_size(board));
    have = board->cells != NULL;
    return PMPI_Allreduce(&have, &all, 1, MPI_INT, MPI_MIN, board->comm) == MPI_SUCCESS && all;
}

/* The split includes every process. A process with fewer communicators than others would have
 * another lowest free context id, and Open MPI 4.1 then hangs in several pending MPI_Comm_idup. */
static int board_find_leaders(struct board *board)
{
    int rank = 0;
    int size = 0;
    int nodes = board->rank == 0;
    PMPI_Comm_rank(board->comm, &rank);
    PMPI_Comm_size(board->comm, &size);
    if (PMPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, board->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (nodes == 1) {
        return ICTUS_OK;
    }
    board->leads = board->rank == 0;
    return PMPI_Comm_split(board->comm, board->leads ? 0 : 1 + rank, rank, &board->leaders) ==
                   MPI_SUCCESS
               ? ICTUS_OK
               : ICTUS_ERR_MPI;
}

int ictusi_board_create_on(MPI_Comm comm, MPI_Comm node, bool crowded, struct board **board)
{
    struct board *made = calloc(1, sizeof(*made));
    int enough = made != NULL;
    int all = 0;
    *board = NULL;
    if (PMPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !all || !made) {
        free(made);
        return ICTUS_OK; /* messages work without this memory */
    }
    made->comm = comm;
    made->leaders = MPI_COMM_NULL;
    made->crowded = crowded;
    PMPI_Comm_rank(node, &made->rank);
    PMPI_Comm_size(node, &made->size);
    int err = ICTUS_OK;
    if (!board_all_can_share(made, node) || (err = board_find_leaders(made)) != ICTUS_OK) {
        ictusi_board_free(made);
        return err;
    }
    *board = made;
    return ICTUS_OK;
}

int ictusi_board_create(MPI_Comm comm, bool crowded, struct board **board)
{
    *board = NULL;
#if defined(ICTUS_SIMGRID)
    (void)comm; /* simulated processes have no memory in which simulated time passes */
    (void)crowded;
    return ICTUS_OK;
#else
    MPI_Comm node = MPI_COMM_NULL;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) !=
        MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    const int err = ictusi_board_create_on(comm, node, crowded, board);
    PMPI_Comm_free(&node);
    return err;
#endif
}

static bool board_shown(const struct notice *notice, long long call)
{
    return atomic_load_explicit(&notice->call, memory_order_acquire) == call;
}

/* A barrier must not keep other messages of this process from arriving. If MPI knows that a
 * process has died, this call returns the error. */
static int board_serve_others(const struct board *board)
{
    int flag = 0;
    return PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, board->comm, &flag, MPI_STATUS_IGNORE) ==
                   MPI_SUCCESS
               ? ICTUS_OK
               : ICTUS_ERR_MPI;
}

static int board_looks_in_round(const struct board *board, int round)
{
    if (board->crowded) {
        return LOOKS_CROWDED;
    }
    return round == 0 ? LOOKS_FIRST : LOOKS;
}

/* A look is a load from this core's own cache until the writer takes the line away. Looks
 * therefore cost the writer nothing, and the news arrives one transfer after the write. */
static int board_await(const struct board *board, const struct notice *notice)
{
    int err = ICTUS_OK;
    for (int round = 0; !err; round += round < PATIENCE) {
        const int looks = board_looks_in_round(board, round);
        for (int i = 0; i < looks; i++) {
            if (board_shown(notice, board->call)) {
                return ICTUS_OK;
            }
        }
        err = board_serve_others(board);
        if (board->crowded || round == PATIENCE) {
            (void)sched_yield();
        }
    }
    return err;
}

/* The words are stored before the number of the call, which tells that they are complete
 * (release and acquire). */
static void board_show(struct notice *notice, const int64_t *words, long long call)
{
    memcpy(notice->words, words, sizeof(notice->words));
    atomic_store_explicit(&notice->call, call, memory_order_release);
}

/* This takes ceil(log4 p) lines in a row inside the node, and then one MPI_Reduce among the
 * nodes' first processes. */
int ictusi_board_max(struct board *board, const int64_t *mine, int64_t *all)
{
    int64_t most[BOARD_WORDS];
    int err = ICTUS_OK;
    memcpy(most, mine, sizeof(most));
    board->call++;
    for (int child = FAN * board->rank + 1;
         child <= FAN * board->rank + FAN && child < board->size && !err; child++) {
        const struct notice *notice = &board->cells[child].up;
        err = board_await(board, notice);
        for (int i = 0; i < BOARD_WORDS; i++) {
            most[i] = notice->words[i] > most[i] ? notice->words[i] : most[i];
        }
    }
    if (err) {
        return err;
    }
    if (board->rank > 0) {
        board_show(&board->cells[board->rank].up, most, board->call);
        return ICTUS_OK;
    }
    if (!board->leads) {
        memcpy(all, most, sizeof(most));
        return ICTUS_OK;
    }
    return PMPI_Reduce(most, all, BOARD_WORDS, MPI_INT64_T, MPI_MAX, 0, board->leaders) ==
                   MPI_SUCCESS
               ? ICTUS_OK
               : ICTUS_ERR_MPI;
}

int ictusi_board_tell(struct board *board, int64_t *words)
{
    if (board->leads &&
        PMPI_Bcast(words, BOARD_WORDS, MPI_INT64_T, 0, board->leaders) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    if (board->rank > 0) {
        const struct notice *notice = &board->cells[(board->rank - 1) / FAN].down;
        const int err = board_await(board, notice);
        if (err) {
            return err;
        }
        memcpy(words, notice->words, sizeof(notice->words));
    }
    if (FAN * board->rank + 1 < board->size) {
        board_show(&board->cells[board->rank].down, words, board->call);
    }
    return ICTUS_OK;
}
