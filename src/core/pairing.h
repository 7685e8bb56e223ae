/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who talks to whom: the pairings of a mesh sweep. The complete graph's 1-factorisation by the
 * circle method, its nodes relabelled and its factors drawn at random from a seed that all
 * processes share. Every round pairs everybody (one is idle where the number is odd), no pair
 * occurs twice in a sweep, and few factors make an expander: a Cayley sum graph of a random set.
 */
#ifndef ICTUS_CORE_PAIRING_H
#define ICTUS_CORE_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

struct pairing {
    int size;     /* processes */
    int even;     /* size, or size + 1 with a phantom whose partner is idle */
    int rounds;   /* factors drawn, at most even - 1 */
    int *place;   /* of each process on the circle */
    int *process; /* at each place; the phantom is process `size` */
    int *factors; /* the factor of each round */
};

/*
 * Draw pairings for size >= 1 processes. rounds is cut to what the graph has. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_pairing_create(int size, int rounds, uint64_t seed, struct pairing *pairing);

/* Release; legal on a zeroed structure. */
void ictusi_pairing_free(struct pairing *pairing);

/* The partner of a process in a round, or -1 where it is idle. */
int ictusi_pairing_partner(const struct pairing *pairing, int round, int process);

/* Whether the process asks (else it answers): each does so in about half of its rounds. */
bool ictusi_pairing_asks(const struct pairing *pairing, int round, int process);

#endif
