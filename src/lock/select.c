/* SPDX-License-Identifier: BSD-3-Clause */
/* Intersection and combination of sources. */
#include "select.h"

#include <math.h>
#include <string.h>

/* A source whose spread is this much above the best one's does not take part in the mean. */
static const double noisy_factor = 3.0;

static int overlaps(const struct candidate *c, int count, double point)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        n += c[i].usable && c[i].low_ns <= point && point <= c[i].high_ns;
    }
    return n;
}

/*
 * The deepest point set of intervals begins at some interval's low end and ends at some high end.
 * Sources are few: the square of their number does not count.
 */
static int intersect(const struct candidate *c, int count, double *low, double *high)
{
    int deepest = 0;
    for (int i = 0; i < count; i++) {
        const int n = c[i].usable ? overlaps(c, count, c[i].low_ns) : 0;
        if (n > deepest) {
            deepest = n;
            *low = c[i].low_ns;
        }
    }
    *high = INFINITY;
    for (int i = 0; i < count; i++) {
        if (c[i].usable && c[i].low_ns <= *low && *low <= c[i].high_ns) {
            *high = fmin(*high, c[i].high_ns);
        }
    }
    return deepest;
}

/* A source's error: its noise, and the systematic part that its interval only bounds. */
static double error_of(const struct candidate *c)
{
    const double width = c->high_ns - c->low_ns;
    return c->pp + width * width / 12.0;
}

static int mark(struct candidate *c, int count, double low, double high)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        if (!c[i].usable) {
            continue;
        }
        const bool agrees = c[i].low_ns <= high && c[i].high_ns >= low;
        c[i].selection = agrees ? ICTUS_SOURCE_TRUECHIMER : ICTUS_SOURCE_FALSETICKER;
        if (agrees && (best < 0 || error_of(&c[i]) < error_of(&c[best]))) {
            best = i;
        }
    }
    return best;
}

bool ictusi_select(struct candidate *candidates, int count, struct consensus *out)
{
    double low = 0.0, high = 0.0;
    int usable = 0;
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < count; i++) {
        usable += candidates[i].usable;
    }
    const int agreeing = intersect(candidates, count, &low, &high);
    if (agreeing == 0 || 2 * agreeing <= usable) {
        for (int i = 0; i < count; i++) {
            if (candidates[i].usable) {
                candidates[i].selection = ICTUS_SOURCE_FALSETICKER;
            }
        }
        return false;
    }
    out->low_ns = low;
    out->high_ns = high;
    out->selected = mark(candidates, count, low, high);
    const double limit = noisy_factor * noisy_factor * error_of(&candidates[out->selected]);
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        struct candidate *c = &candidates[i];
        if (!c->usable || c->selection != ICTUS_SOURCE_TRUECHIMER || error_of(c) > limit) {
            continue;
        }
        const double w = 1.0 / error_of(c);
        c->selection = i == out->selected ? ICTUS_SOURCE_SELECTED : ICTUS_SOURCE_COMBINED;
        sum += w;
        out->offset_ns += w * c->offset_ns;
        out->frequency += w * c->frequency;
        out->pp += w * w * c->pp;
        out->pf += w * w * c->pf;
        out->ff += w * w * c->ff;
    }
    out->offset_ns /= sum;
    out->frequency /= sum;
    out->pp /= sum * sum;
    out->pf /= sum * sum;
    out->ff /= sum * sum;
    return true;
}
