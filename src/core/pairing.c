/* SPDX-License-Identifier: BSD-3-Clause */
/* The circle method: on a circle of n - 1 places plus a centre, factor f pairs place a with f -
 * a. */
#include "core/pairing.h"
#include "core/random.h"

#include <ictus/error.h>
#include <stdlib.h>

/* The order of the factors must not depend on the relabelling, so it has a random stream of its
 * own. */
enum { STREAM_PLACES = 1, STREAM_FACTORS = 2 };

/*
 * The round robin of chess tournaments. For an odd number of processes one place is empty, and the
 * process paired with it rests. All processes draw the same permutations from the seed, so no
 * messages are needed.
 */
int ictusi_pairing_create(int size, int rounds, uint64_t seed, struct pairing *pairing)
{
    const int even = size + size % 2;
    const int factors = even - 1;
    *pairing = (struct pairing){.size = size, .even = even};
    int *room = malloc((size_t)(2 * even + factors) * sizeof(*room));
    if (!room) {
        return ICTUS_ERR_NOMEM;
    }
    pairing->process = room;
    pairing->place = room + even;
    pairing->factors = pairing->place + even;
    pairing->rounds = size < 2 ? 0 : rounds < factors ? rounds : factors;
    struct rng rng;
    ictusi_random_seed(&rng, seed, STREAM_PLACES);
    for (int i = 0; i < even; i++) {
        pairing->process[i] = i;
    }
    ictusi_random_shuffle(&rng, pairing->process, even);
    for (int i = 0; i < even; i++) {
        pairing->place[pairing->process[i]] = i;
    }
    ictusi_random_seed(&rng, seed, STREAM_FACTORS);
    for (int f = 0; f < factors; f++) {
        pairing->factors[f] = f;
    }
    ictusi_random_shuffle(&rng, pairing->factors, factors);
    return ICTUS_OK;
}

void ictusi_pairing_free(struct pairing *pairing)
{
    free(pairing->process);
    *pairing = (struct pairing){0};
}

int ictusi_pairing_partner(const struct pairing *pairing, int round, int process)
{
    const int circle = pairing->even - 1;
    const int centre = circle;
    const int factor = pairing->factors[round];
    const int place = pairing->place[process];
    int other;
    if (place == centre) {
        /* The place that would be its own partner: 2 a = factor modulo the odd circle. */
        other = factor % 2 ? (factor + circle) / 2 : factor / 2;
    } else {
        /* Places a and f - a (modulo the odd circle) are paired. This is symmetric, so each
         * computes the other. */
        other = (factor - place + circle) % circle;
        other = other == place ? centre : other;
    }
    const int partner = pairing->process[other];
    return partner < pairing->size ? partner : -1;
}

bool ictusi_pairing_asks(const struct pairing *pairing, int round, int process)
{
    const int partner = ictusi_pairing_partner(pairing, round, process);
    if (partner < 0) {
        return false;
    }
    const int circle = pairing->even - 1;
    const int a = pairing->place[process];
    const int b = pairing->place[partner];
    if (a == circle || b == circle) {
        /* The centre is the client in every other factor. */
        return (pairing->factors[round] % 2 == 0) == (a == circle);
    }
    /* The client is the one that has the other less than half a circle ahead: a regular
     * tournament. */
    return (b - a + circle) % circle <= circle / 2;
}
