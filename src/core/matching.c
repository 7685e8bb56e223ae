/* SPDX-License-Identifier: BSD-3-Clause */
/* The circle method: on a circle of n - 1 places plus a centre, factor f pairs a with f - a. */
#include "core/matching.h"
#include "core/random.h"

#include <ictus/error.h>
#include <stdlib.h>

/* The factors' order must not depend on the relabelling: a random stream of its own. */
enum { STREAM_PLACES = 1, STREAM_FACTORS = 2 };

int ictusi_matching_create(int size, int rounds, uint64_t seed, struct matching *matching)
{
    const int even = size + size % 2;
    const int factors = even - 1;
    *matching = (struct matching){.size = size, .even = even};
    int *room = malloc((size_t)(2 * even + factors) * sizeof(*room));
    if (!room) {
        return ICTUS_ERR_NOMEM;
    }
    matching->process = room;
    matching->place = room + even;
    matching->factors = matching->place + even;
    matching->rounds = size < 2 ? 0 : rounds < factors ? rounds : factors;
    struct rng rng;
    ictusi_random_seed(&rng, seed, STREAM_PLACES);
    for (int i = 0; i < even; i++) {
        matching->process[i] = i;
    }
    ictusi_random_shuffle(&rng, matching->process, even);
    for (int i = 0; i < even; i++) {
        matching->place[matching->process[i]] = i;
    }
    ictusi_random_seed(&rng, seed, STREAM_FACTORS);
    for (int f = 0; f < factors; f++) {
        matching->factors[f] = f;
    }
    ictusi_random_shuffle(&rng, matching->factors, factors);
    return ICTUS_OK;
}

void ictusi_matching_free(struct matching *matching)
{
    free(matching->process);
    *matching = (struct matching){0};
}

int ictusi_matching_partner(const struct matching *matching, int round, int process)
{
    const int circle = matching->even - 1;
    const int centre = circle;
    const int factor = matching->factors[round];
    const int place = matching->place[process];
    int other;
    if (place == centre) {
        /* The place that would be its own partner: 2 a = factor modulo the odd circle. */
        other = factor % 2 ? (factor + circle) / 2 : factor / 2;
    } else {
        other = (factor - place + circle) % circle;
        other = other == place ? centre : other;
    }
    const int partner = matching->process[other];
    return partner < matching->size ? partner : -1;
}

bool ictusi_matching_asks(const struct matching *matching, int round, int process)
{
    const int partner = ictusi_matching_partner(matching, round, process);
    if (partner < 0) {
        return false;
    }
    const int circle = matching->even - 1;
    const int a = matching->place[process];
    const int b = matching->place[partner];
    if (a == circle || b == circle) {
        /* The centre asks in every other factor. */
        return (matching->factors[round] % 2 == 0) == (a == circle);
    }
    /* Whoever has the other less than half a circle ahead of it: a regular tournament. */
    return (b - a + circle) % circle <= circle / 2;
}
