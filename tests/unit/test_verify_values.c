/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values by which results are verified: each rank's contribution to a reduction shows, a result
 * in the wrong place is wrong in every element, and everything fits into a byte.
 */
#include "bench/verify_values.h"

#include "../check.h"

#include <stdbool.h>

enum { SIZES = 9, BYTE_MOST = 127 };

static const int sizes[SIZES] = {1, 2, 3, 4, 5, 16, 17, 128, 131};

static const enum reduction_kind kinds[] = {KIND_SUM,  KIND_PROD, KIND_MAX,    KIND_MIN,
                                            KIND_LAND, KIND_LOR,  KIND_LXOR,   KIND_BAND,
                                            KIND_BOR,  KIND_BXOR, KIND_MINLOC, KIND_MAXLOC};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Over all ranks but one. */
static int64_t reduced_without(enum reduction_kind kind, int size, int lost, int b, int64_t i)
{
    int64_t value = 0;
    bool any = false;
    for (int r = 0; r < size; r++) {
        if (r != lost) {
            const int64_t one = ictusi_verify_contribution(kind, size, r, b, i);
            value = any ? ictusi_reduction_apply(kind, value, one) : one;
            any = true;
        }
    }
    return value;
}

static bool is_noticed(enum reduction_kind kind, int size, int lost, int b)
{
    const int64_t elements = 2 * size > 8 ? 2 * size : 8;
    for (int64_t i = 0; i < elements; i++) {
        if (reduced_without(kind, size, lost, b, i) != reduced_without(kind, size, -1, b, i)) {
            return true;
        }
    }
    return false;
}

static void each_contribution_shows(void)
{
    for (int k = 0; k < KINDS * SIZES; k++) {
        const int size = sizes[k / KINDS];
        for (int lost = 0; lost < size && size > 1; lost += size > 20 ? 10 : 1) {
            const bool noticed = is_noticed(kinds[k % KINDS], size, lost, lost % 3);
            CHECK(noticed);
            if (!noticed) {
                (void)fprintf(stderr, "kind %d, rank %d of %d\n", kinds[k % KINDS], lost, size);
            }
        }
    }
}

/* In one byte with a sign, and logical values 0 or 1; pairs keep the rank as their place. */
static void values_are_small(void)
{
    for (int k = 0; k < KINDS * SIZES; k++) {
        const enum reduction_kind kind = kinds[k % KINDS];
        const int size = sizes[k / KINDS];
        const bool pairs = kind == KIND_MINLOC || kind == KIND_MAXLOC;
        const bool logical = kind == KIND_LAND || kind == KIND_LOR || kind == KIND_LXOR;
        for (int64_t i = 0; i < 260; i++) {
            const int rank = (int)(i % size);
            const int64_t one = ictusi_verify_contribution(kind, size, rank, 1, i);
            const int64_t all = reduced_without(kind, size, -1, 1, i);
            CHECK(one >= 0 && one / (pairs ? PAIR_PLACES : 1) <= (logical ? 1 : BYTE_MOST));
            CHECK(all >= 0 && all / (pairs ? PAIR_PLACES : 1) <= BYTE_MOST);
            CHECK(!pairs || one % PAIR_PLACES == rank);
        }
    }
}

/* The lowest rank's value, which says which block and element it is in. */
static void the_first_is_told(void)
{
    for (int r = 0; r < 20; r++) {
        CHECK(ictusi_verify_contribution(KIND_FIRST, 21, r, 0, 0) !=
              ictusi_verify_contribution(KIND_FIRST, 21, r + 1, 0, 0));
        CHECK(ictusi_verify_contribution(KIND_FIRST, 21, r, 0, 7) !=
              ictusi_verify_contribution(KIND_FIRST, 21, r, 0, 8));
        CHECK(ictusi_verify_contribution(KIND_FIRST, 21, r, 1, 7) !=
              ictusi_verify_contribution(KIND_FIRST, 21, r, 0, 7));
    }
}

/* The most and the least of all differ from element to element, so that a shift shows. */
static void extremes_differ(void)
{
    static const enum reduction_kind extremes[] = {KIND_MAX, KIND_MIN, KIND_MINLOC, KIND_MAXLOC};
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < 30; i++) {
            CHECK(reduced_without(extremes[k], 5, -1, 0, 2 * i) !=
                  reduced_without(extremes[k], 5, -1, 0, 2 * i + 2));
        }
    }
}

/* A library that always gives the same does not pass. */
static void results_vary(void)
{
    static const enum reduction_kind varied[] = {KIND_LAND, KIND_LOR, KIND_LXOR,
                                                 KIND_BAND, KIND_BOR, KIND_BXOR};
    for (int k = 0; k < 6 * SIZES; k++) {
        const int size = sizes[k / 6];
        bool varies = false;
        for (int64_t i = 1; i < 2 * size + 2; i++) {
            varies = varies || reduced_without(varied[k % 6], size, -1, 0, i) !=
                                   reduced_without(varied[k % 6], size, -1, 0, 0);
        }
        CHECK(varies);
        if (!varies) {
            (void)fprintf(stderr, "kind %d of %d ranks\n", varied[k % 6], size);
        }
    }
}

static void plain_values_are_shifted(void)
{
    for (int shift = 1; shift < 101; shift++) {
        for (int at = 0; at < 101; at++) {
            CHECK(ictusi_verify_plain(at + shift, 2, 5) != ictusi_verify_plain(at, 2, 5));
            CHECK(ictusi_verify_plain(3, at + shift, 5) != ictusi_verify_plain(3, at, 5));
            CHECK(ictusi_verify_plain(3, 2, at + shift) != ictusi_verify_plain(3, 2, at));
        }
    }
    for (int at = 0; at < 300; at++) {
        const int64_t plain = ictusi_verify_plain(at, at / 7, at / 3);
        const int64_t swapped = ictusi_verify_swapped(at);
        CHECK(plain >= 0 && plain < 101);
        CHECK(swapped >= 101 && swapped <= BYTE_MOST);
        CHECK(at == 0 || swapped != ictusi_verify_swapped(at - 1));
    }
}

int main(void)
{
    each_contribution_shows();
    values_are_small();
    the_first_is_told();
    extremes_differ();
    results_vary();
    plain_values_are_shifted();
    return check_result();
}
