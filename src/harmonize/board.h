/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A notice board: how the processes of a communicator reduce a few words to rank 0 and hear a few
 * words from it. Processes of one node do so through a page of memory that they share, the first of
 * each node through MPI_Reduce and MPI_Bcast.
 *
 * Why: a message inside a node goes through some ten kilobytes of an MPI library. After a few
 * milliseconds of work these are in no cache, and the way from rank 0's decision to the others
 * takes 3 us, one in a hundred times 20; a line of shared memory takes 0.2 and 0.7.
 *
 * Threads: one call at a time on a board.
 */
#ifndef ICTUS_HARMONIZE_BOARD_H
#define ICTUS_HARMONIZE_BOARD_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { BOARD_WORDS = 3 };

struct board;

/*
 * A board for comm, which must outlive it. *board is NULL, on all processes alike, where no two
 * processes can share memory. crowded: processes outnumber cores. Collective.
 * Errors: ICTUS_ERR_MPI.
 */
int ictusi_board_create(MPI_Comm comm, bool crowded, struct board **board);

/*
 * As ictusi_board_create(), with the processes that share memory given; numbered as in comm, so
 * that rank 0 of comm is rank 0 of its node. Collective.
 */
int ictusi_board_create_on(MPI_Comm comm, MPI_Comm node, bool crowded, struct board **board);

/* The largest of each word, on rank 0; `all` is untouched elsewhere. Collective. */
int ictusi_board_max(struct board *board, const int64_t *mine, int64_t *all);

/* Rank 0's words to all. Collective; after ictusi_board_max(), each time. */
int ictusi_board_tell(struct board *board, int64_t *words);

/* NULL is legal. */
void ictusi_board_free(struct board *board);

#endif
