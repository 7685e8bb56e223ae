/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms, not parsers: random intervals through the selection against one that tries every
 * point, and random streams of exchanges, whose truth is known, through the bound.
 */
#include "fuzz.h"
#include "lock/bound.h"
#include "lock/select.h"

#include <math.h>
#include <string.h>

enum { SOURCES = 9, POINTS = 64 };

struct input {
    const uint8_t *bytes;
    size_t length, at;
};

static int take(struct input *in)
{
    return in->at < in->length ? in->bytes[in->at++] : 0;
}

/* Small whole numbers, so that ends coincide often. */
static int read_candidates(struct input *in, struct candidate *c)
{
    const int count = take(in) % (SOURCES + 1);
    memset(c, 0, SOURCES * sizeof(*c));
    for (int i = 0; i < count; i++) {
        const int flags = take(in);
        c[i].votes = flags & 1;
        c[i].counts = (flags & 3) == 3;
        c[i].low_ns = take(in) % POINTS;
        c[i].high_ns = c[i].low_ns + take(in) % POINTS;
        c[i].rate_low = -1.0;
        c[i].rate_high = 1.0;
        c[i].offset_ns = take(in) % POINTS;
        c[i].pp = take(in);
        c[i].selection = ICTUS_SOURCE_SETTLING;
    }
    return count;
}

static int depth_at(const struct candidate *c, int count, double point)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        n += c[i].votes && c[i].low_ns <= point && point <= c[i].high_ns;
    }
    return n;
}

/* The marks agree with the hull. @return how many agree */
static int check_marks(const struct candidate *c, int count, double low, double high)
{
    int agreeing = 0;
    for (int i = 0; i < count; i++) {
        const bool meets = c[i].votes && c[i].low_ns <= high && c[i].high_ns >= low;
        agreeing += meets;
        fuzz_require(!c[i].votes || (c[i].selection == ICTUS_SOURCE_FALSETICKER) == !meets);
        fuzz_require(c[i].selection < ICTUS_SOURCE_COMBINED || (meets && c[i].counts));
    }
    return agreeing;
}

static void check_selection(struct input *in)
{
    struct candidate c[SOURCES];
    struct consensus out;
    const int count = read_candidates(in, c);
    const bool agreed = ictusi_select(c, count, &out);
    int voters = 0;
    for (int i = 0; i < count; i++) {
        voters += c[i].votes;
    }
    const int wanted = voters - (voters ? (voters - 1) / 2 : 0);
    double low = INFINITY, high = -INFINITY;
    for (int point = 0; voters && point < 2 * POINTS; point++) {
        if (depth_at(c, count, point) >= wanted) {
            low = fmin(low, point);
            high = fmax(high, point);
        }
    }
    fuzz_require(agreed == (low <= high));
    if (!agreed) {
        return;
    }
    fuzz_require(out.low_ns == low && out.high_ns == high);
    const int agreeing = check_marks(c, count, low, high);
    fuzz_require(out.agreeing == agreeing && agreeing >= wanted);
    fuzz_require(out.selected < 0 || (out.offset_ns >= low && out.offset_ns <= high));
}

/* A true oscillator within its promises, servers that state their own distance, any delays. */
static void check_bound(struct input *in)
{
    struct bound b;
    double truth = 1e6, rate = (take(in) - 128) * 1e3;
    const double mean = rate;
    int64_t local = 1000000000;
    ictusi_bound_init(&b, 1e-6);
    while (in->at < in->length) {
        struct sample sample;
        double low = 0.0, high = 0.0;
        const double dt = 0.01 * (1 + take(in));
        rate = mean + (take(in) - 128) * 3.9; /* within half the wander of its mean, always */
        local += (int64_t)(dt * 1e9);
        truth += rate * dt;
        if (b.started) {
            ictusi_bound_at(&b, local, &low, &high);
            fuzz_require(truth >= low + (double)b.origin_ns - 2.0 &&
                         truth <= high + (double)b.origin_ns + 2.0);
        }
        const double root = take(in) * 1e3;
        const double error = root * (take(in) - 128) / 128.0;
        const double delay = 1e3 * (1 + take(in));
        const double lean = delay / 2 * (take(in) - 128) / 128.0;
        memset(&sample, 0, sizeof(sample));
        sample.local = local;
        sample.offset_ns = (int64_t)llround(truth + error + lean);
        sample.bound_ns = delay / 2;
        sample.root_ns = root;
        fuzz_require(ictusi_bound_add(&b, &sample, 1));
        ictusi_bound_at(&b, local, &low, &high);
        fuzz_require(high - low <= delay + 2 * root + 201.0);
    }
    fuzz_require(b.broken == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct input in = {.bytes = bytes, .length = length};
    if (take(&in) % 2) {
        check_bound(&in);
    } else {
        check_selection(&in);
    }
    return 0;
}
