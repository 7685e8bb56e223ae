/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A notice board, by which the processes of a communicator reduce a few words to rank 0 and receive
 * a few words from it. Processes of one node use a page of shared memory. The first process of each
 * node uses MPI_Reduce and MPI_Bcast.
 *
 * The reason is that a message inside a node runs through some ten kilobytes of an MPI library.
 * After a few milliseconds of work these have left the caches. A message from rank 0 to the others
 * then takes 3 us, and 20 us in one of a hundred cases. A line of shared memory takes 0.2 us and
 * 0.7 us.
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
 * Create a board for `comm`, which must outlive it. *board is NULL on all processes if no two
 * processes can share memory. crowded: processes outnumber cores. Collective. Errors:
 * ICTUS_ERR_MPI.
 */
int ictusi_board_create(MPI_Comm comm, bool crowded, struct board **board);

/* Like ictusi_board_create(), with the communicator of the processes that share memory. Its
 * ranks are in the order of `comm`, so that rank 0 of `comm` is rank 0 of its node. Collective. */
int ictusi_board_create_on(MPI_Comm comm, MPI_Comm node, bool crowded, struct board **board);

/* Find the largest value of each word, on rank 0. `all` is unchanged elsewhere. Collective. */
int ictusi_board_max(struct board *board, const int64_t *mine, int64_t *all);

/* Send rank 0's words to all processes. Collective. Must be called once after each
 * ictusi_board_max(). */
int ictusi_board_tell(struct board *board, int64_t *words);

/* Release the board. NULL is allowed. */
void ictusi_board_free(struct board *board);

#endif
