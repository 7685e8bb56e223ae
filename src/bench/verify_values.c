/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values that are sent where results are verified. Every element is a small integer, which is
 * exact in every datatype, so rounding and overflow cause no false alarms.
 */
#include "bench/verify_values.h"

/* So few ranks contribute to an element that sums stay below 128, however many ranks there are. */
enum { CONTRIBUTORS = 16, VALUE_CYCLE = 7, PLAIN_CYCLE = 101, BIT_STRIDE = 37, ALL_BITS = 0x7f };

/*
 * The distance in rank from the rank whose turn it is to differ in element i of block b:
 *       turn = (rank - (b + i)) mod size
 *
 * Consecutive elements have consecutive ranks that differ, so the contribution of each rank is
 * checked.
 */
static int turn_of(int size, int rank, int b, int64_t i)
{
    return (int)(((int64_t)rank + size - (b + i) % size) % size);
}

/*
 * Numbers of which the largest or the smallest comes from the rank whose turn it is. They depend on
 * the element, so that a shifted result shows, too.
 */
static int64_t verify_contribution_to_extreme(enum reduction_kind kind, int turn, int64_t number,
                                              int64_t element)
{
    if (kind == KIND_MAX) {
        return turn == 0 ? PLAIN_CYCLE + element % VALUE_CYCLE : number;
    }
    return turn == 0 ? element % VALUE_CYCLE : VALUE_CYCLE + number;
}

/* The extreme of pairs occurs once or twice in an element. Where it does twice, the location
 * decides. */
static int64_t verify_contribution_to_located(enum reduction_kind kind, int turn, bool even)
{
    const bool extreme = turn == 0 || (turn == 1 && even);
    const int other = turn % (VALUE_CYCLE - 1);
    return kind == KIND_MINLOC ? (extreme ? 1 : 2 + other) : (extreme ? VALUE_CYCLE : 1 + other);
}

int64_t ictusi_verify_contribution(enum reduction_kind kind, int size, int rank, int b, int64_t i)
{
    const int turn = turn_of(size, rank, b, i);
    /* Each rank gets even and odd turns. The rounds see to that if the number of ranks is even. */
    const int64_t rounds = size % 2 ? 0 : (b + i) / size;
    const bool even = (b + i + rounds) % 2 == 0;
    const int64_t bits = (rank * BIT_STRIDE + b + i) & ALL_BITS;
    switch (kind) {
    case KIND_SUM:
        return turn < CONTRIBUTORS ? turn % VALUE_CYCLE + 1 : 0;
    case KIND_PROD:
        /* Two ranks contribute 2 and 3, whose product shows both, and all others contribute 1. */
        return turn < 2 ? turn + 2 : 1;
    case KIND_LAND:
        return even || turn != 0; /* true on all ranks, or on all but one */
    case KIND_LOR:
    case KIND_LXOR:
        return even && turn == 0; /* true on one rank, or on none */
    case KIND_BAND:
        /* All bits of many ranks together would always be clear, or set in KIND_BOR. */
        return turn < 2 ? bits : ALL_BITS;
    case KIND_BOR:
        return turn < 2 ? bits : 0;
    case KIND_BXOR:
        /* The bits of 128 ranks together would cancel each other out in every element. */
        return turn < CONTRIBUTORS ? bits : 0;
    case KIND_MINLOC:
    case KIND_MAXLOC:
        return verify_contribution_to_located(kind, turn, even) * PAIR_PLACES + rank % PAIR_PLACES;
    case KIND_MIN:
    case KIND_MAX:
        return verify_contribution_to_extreme(kind, turn, bits % PLAIN_CYCLE, b + i);
    default:
        return (rank * BIT_STRIDE + b + i * 3) % PLAIN_CYCLE;
    }
}

int64_t ictusi_verify_plain(int rank, int b, int64_t i)
{
    /*
     * The factors have no common divisor with the cycle. A result that is shifted by less than a
     * cycle of ranks, blocks or elements is therefore wrong in every element.
     */
    return (int64_t)((rank * 31 + b * VALUE_CYCLE + i) % PLAIN_CYCLE);
}

int64_t ictusi_verify_swapped(int target)
{
    return PLAIN_CYCLE + target % VALUE_CYCLE;
}
