/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the partners: the pairings of a mesh sweep. They are the 1-factorisation of the complete
 * graph by the circle method, with relabelled nodes and with factors in random order, from a seed
 * that all processes share. Every round pairs all processes (one is idle if the number is odd), no
 * pair occurs twice in a sweep, and few factors form an expander: a Cayley sum graph of a random
 * set.
 */
#ifndef ICTUS_CORE_PAIRING_H
#define ICTUS_CORE_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

struct pairing {
    int size;     /* processes */
    int even;     /* size, or size + 1 with a phantom whose partner is idle */
    int rounds;   /* number of factors drawn, at most even - 1 */
    int *place;   /* of each process on the circle */
    int *process; /* at each place; the phantom is process `size` */
    int *factors; /* the factor of each round */
};

/* Draw pairings for size >= 1 processes. rounds is reduced to what the graph has. Errors:
 * ICTUS_ERR_NOMEM. */
int ictusi_pairing_create(int size, int rounds, uint64_t seed, struct pairing *pairing);

/* Release the pairings. Allowed on a zeroed structure. */
void ictusi_pairing_free(struct pairing *pairing);

/* Return the partner of a process in a round, or -1 if it is idle. */
int ictusi_pairing_partner(const struct pairing *pairing, int round, int process);

/* Return whether the process is the client. Each process is in about half of its rounds. */
bool ictusi_pairing_asks(const struct pairing *pairing, int round, int process);

#endif
