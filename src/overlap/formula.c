/* SPDX-License-Identifier: BSD-3-Clause */
/* Three formulas that are all called overlap. */
#include "overlap/formula.h"

#include <math.h>

static double formula_clamp(double x)
{
    return fmin(fmax(x, 0.0), 1.0);
}

/* An operation that does not block cannot be hidden, so its overlap is 0. */
double ictusi_overlap_h08(double overhead, double blocking)
{
    return blocking > 0.0 ? formula_clamp(1.0 - overhead / blocking) : 0.0;
}

/*
 * Negative if the tests make the computation longer than the operation saves; OSU clamps that at 0.
 */
double ictusi_overlap_osu(double overall, double compute, double test, double pure)
{
    return pure > 0.0 ? fmax(0.0, 1.0 - (overall - (compute - test)) / pure) : 0.0;
}

/* The divisor is the longer one of the two, since no more than the shorter one can be hidden. */
double ictusi_overlap_imb(double overall, double compute, double pure)
{
    const double longer = fmax(pure, compute);
    return longer > 0.0 ? formula_clamp((pure + compute - overall) / longer) : 0.0;
}
